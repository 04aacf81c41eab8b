"""A conversation, message by message: the next is written when the reply to the last is whole."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals.conversations.reading import (
    BOT,
    Card,
    Json,
    Reply,
    Seen,
    is_from_app,
    objects_in,
    read_card,
    read_message,
    read_reply,
)
from evals.conversations.world import PEOPLE, PUBLIC_CHANNEL, STAFF_CHANNEL, Refused, World

QUIET = 2.0
"""Seconds of silence after which a reply is whole."""
WITH_CHANGES = ("change_request", "several")
"""Categories of conversations that may ask for a change."""
PREVIEW_QUIET = 3
"""How many times as long the silence is where a preview may still come."""
CARD_LOOKS = 10
"""Looks, a second apart, at the staff's channel for a card."""


@dataclass(slots=True)
class Played:
    """A conversation as it went."""

    talk: Json
    replies: list[Reply] = field(default_factory=list)
    cards: Mapping[str, Card] = field(default_factory=dict)
    fault: str = ""
    """Why it could not be played; empty when it was."""
    seconds: float = 0.0
    first_words: list[float] = field(default_factory=list)
    """Seconds from each message to the first words of its reply."""


@dataclass(slots=True)
class _Thread:
    """Where a conversation is."""

    world: World
    channel: str
    user: str
    root: str | None = None
    waited: list[float] = field(default_factory=list)

    @property
    def is_public(self) -> bool:
        return self.channel == PUBLIC_CHANNEL


async def play(world: World, talk: Json) -> Played:
    """Play a conversation; what goes wrong with that is its fault."""
    played, begun = Played(talk), time.monotonic()
    try:
        await _converse(world, talk, played)
        played.cards = await _cards_of(world, {case for reply in played.replies for case in reply.cases})
    except (Refused, LookupError, OSError, ValueError, TimeoutError) as fault:
        played.fault = f"{type(fault).__name__}: {fault}"
    played.seconds = time.monotonic() - begun
    return played


async def _converse(world: World, talk: Json, played: Played) -> None:
    known: set[str] = set()
    thread: _Thread | None = None
    for number, given in enumerate(talk["messages"]):
        message: dict[str, Any] = {"text": given} if isinstance(given, str) else given
        user, direct = PEOPLE[message.get("by") or talk.get("by", "A")]
        if thread is None:
            thread = _Thread(world, PUBLIC_CHANNEL if talk.get("place") == "channel" else direct, user)
        thread.user = user
        if thread.is_public and number == 0:
            message = {**message, "text": f"<@{BOT}> {message['text']}"}
        sent = await _send(thread, message, played)
        thread.root = thread.root or sent
        asked = message.get("text") or next(
            f"({what}: {message[what]})" for what in ("press", "file") if what in message
        )
        if message.get("wait") is False:
            played.replies.append(read_reply(asked, (), known, is_public=thread.is_public))
            continue
        changes = talk["category"] in WITH_CHANGES
        silent = _is_silent(talk, number + 1)
        seen = await _replies_to(thread, sent, pressed="press" in message, silent=silent, changes=changes)
        reply = read_reply(asked, seen, known, is_public=thread.is_public)
        known.update(reply.cases)
        played.replies.append(reply)
    played.first_words = thread.waited if thread else []


def _is_silent(talk: Json, turn: int) -> bool:
    """Whether no reply is right. Then a reply is waited for only a little."""
    return any(check.get("turn") == turn and check.get("ended") == ["silent"] for check in talk["checks"])


async def _send(thread: _Thread, message: Json, played: Played) -> str:
    """Write, share a file, or press a button; the timestamp after which the reply comes."""
    world, text = thread.world, message.get("text", "")
    if "press" in message:
        await _press(thread, played, message["press"])
        last = played.replies[-1].seen if played.replies else ()
        return last[-1].ts if last else thread.root or ""
    where = {"user": thread.user, "channel": thread.channel, "text": text, "thread_ts": thread.root}
    if "file" in message:
        return str((await world.act("upload", **where, name=message["file"], content="not really a picture"))["ts"])
    return str((await world.act("send", **where))["ts"])


async def _press(thread: _Thread, played: Played, what: str) -> None:
    """Press the newest button whose id or words have the pattern."""
    newest = (seen for reply in reversed(played.replies) for seen in reversed(reply.seen))
    ts, name = next(
        (seen.ts, name)
        for seen in newest
        for name, words in seen.buttons.items()
        if re.search(what, f"{name} {words}", re.IGNORECASE)
    )
    state = await thread.world.state(thread.channel)
    message = next(each for each in state["messages"][thread.channel] if each["ts"] == ts)
    value = next((each.get("value") for each in objects_in(message) if each.get("action_id") == name), None)
    await thread.world.act("click", user=thread.user, channel=thread.channel, ts=ts, action_id=name, value=value)


async def _replies_to(thread: _Thread, sent: str, *, pressed: bool, silent: bool, changes: bool) -> tuple[Seen, ...]:
    """The app's messages since `sent`, once it has nothing more to say.

    A message that only gets a reaction is not replied to. To one that should get no reply (`silent`), none has come
    after some seconds. The preview of a change comes after the answer, so it is waited for longer (`changes`).
    """
    world, begun = thread.world, time.monotonic()
    before: object = None
    since, spoke = begun, False
    while True:
        await world.next_look()
        look, quiet, now = world.looks.get(thread.channel), QUIET * world.slow, time.monotonic()
        if look is None or look.at < begun:
            continue
        messages = look.threads.get(thread.root or sent, ())
        seen = tuple(read_message(each) for each in messages if is_from_app(each) and each["ts"] > sent)
        if not spoke and any(each.text for each in seen):
            spoke = True
            thread.waited.append(now - begun)
        what = [(each.ts, each.text, each.is_done, tuple(each.buttons)) for each in seen]
        if what != before:
            before, since = what, now
        is_busy = (thread.root or sent) in look.busy or any(not each.is_done for each in seen)
        is_marked = any(each["ts"] == sent and each.get("reactions") for each in messages)
        if seen and not is_busy and now - since >= (PREVIEW_QUIET * quiet if changes and not _offers(seen) else quiet):
            return seen
        if (
            not seen
            and not is_busy
            and ((is_marked and now - since >= 3 * quiet) or ((pressed or silent) and now - begun >= 4 * quiet))
        ):
            return ()
        if now - begun > world.patience * world.slow:
            return seen


def _offers(seen: Sequence[Seen]) -> bool:
    """Whether they have a preview, offer a person, or open a case."""
    return not {"offered", "case"}.isdisjoint(read_reply("", tuple(seen), set(), is_public=False).endings)


async def _cards_of(world: World, cases: set[str]) -> Mapping[str, Card]:
    """The cards of these cases; one may come a moment later."""
    found: dict[str, Card] = {}
    for _ in range(CARD_LOOKS if cases else 0):
        messages = (await world.state(STAFF_CHANNEL))["messages"][STAFF_CHANNEL]
        found = {card.case: card for card in map(read_card, messages) if card and card.case in cases}
        if len(found) == len(cases):
            break
        await asyncio.sleep(1)
    return found
