"""Journeys that play by themselves: what they are, and the hands with which they act in the two halves.

A journey is handed to the page by whoever serves it; nothing of what it says or looks for is known here. It acts
through `Acts`, as the clicks and keys of a person do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from local_slack.blocks import elements
from local_slack.page import compose
from local_slack.page.half import is_root, newest
from local_slack.page.loose import Json
from local_slack.page.screen import Screen
from local_slack.workspace import Workspace

PATIENCE_SECONDS = 60.0
"""How long a journey waits for anything the app does."""
SECONDS_A_LETTER = 0.028
LONGEST_TYPING = 1.8
HAND_SECONDS = 0.9
"""A button is pointed at for this long before it is pressed."""


@dataclass(frozen=True, slots=True)
class Journey:
    """Something that happens between the people of the workspace and the app, to be watched."""

    id: str
    title: str
    look_at: str
    """What is worth seeing, in one sentence."""
    play: Callable[["Guide"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Playlist:
    """Journeys that play one after the other."""

    id: str
    label: str
    """What its button says."""
    journeys: Sequence[str]
    """The ids of the journeys, in the order in which they play."""


@dataclass(frozen=True, slots=True)
class Tour:
    """The journeys in the order in which they are offered."""

    journeys: Sequence[Journey]
    title: str
    pace: float = 1.0
    """A factor of all pauses; 0 for none."""
    playlists: Sequence[Playlist] = ()
    """What can be played with one press. Without any, it is all journeys in their order."""

    def chosen(self, wanted: str) -> list[Journey]:
        """The journeys of a playlist or the journey of that id; all of them for ""."""
        known = {each.id: each for each in self.journeys}
        listed = next((each.journeys for each in self.playlists if each.id == wanted), [wanted] if wanted else known)
        return [known[id_] for id_ in listed if id_ in known]


@dataclass(slots=True)
class _Stand:
    """Where a journey stands in one half, wherever that half looks by now."""

    user: str = ""
    channel: str = ""
    thread: str = ""


@dataclass(slots=True)
class Guide:
    """The hands of one journey on one page. Whatever waits raises TimeoutError after PATIENCE_SECONDS."""

    workspace: Workspace
    screen: Screen
    send: Callable[[Json], None]
    """Sends an operation to the browser."""
    tell: Callable[[str], None]
    """Shows a sentence beside the journey."""
    pace: float = 1.0
    _stands: dict[str, _Stand] = field(default_factory=lambda: {"left": _Stand(), "right": _Stand()}, init=False)
    _since: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._since = newest(self.workspace)

    def tells(self, words: str) -> None:
        """What is to be seen now, in a sentence."""
        self.tell(words)

    async def shows(self, side: str, user: str, channel: str, thread: str = "") -> None:
        """Let a half look at a place, with the eyes of `user`; a narrow window shows this half."""
        half = self.screen.halves[side]
        if half.user != user:
            self.screen.go(half, user=user)
        if half.channel != channel or half.tab != "messages":
            self.screen.go(half, channel=channel)
        if half.thread != thread:
            self.screen.go(half, thread=thread)
        self._stands[side] = _Stand(user, channel, thread)
        self.send({"op": "front", "half": side})

    def thread(self, side: str) -> str:
        """The ts of the thread in which the journey stands in a half."""
        return self._stands[side].thread

    async def writes(self, side: str, words: str) -> str:
        """Type and send: a new message where no thread is open, and its thread opens; else a reply. Gives its ts."""
        stand = self._stands[side]
        box = f"{side}-text-{stand.channel}{'-' + stand.thread if stand.thread else ''}"
        seconds = min(len(words) * SECONDS_A_LETTER, LONGEST_TYPING) * self.pace
        self.send({"op": "type", "id": box, "text": words, "seconds": seconds})
        await asyncio.sleep(seconds)
        said = compose.to_mrkdwn(words, self.workspace)
        ts = await self.workspace.act.send(stand.user, stand.channel, said, thread_ts=stand.thread or None)
        if not stand.thread:
            await self.shows(side, stand.user, stand.channel, ts)
        return ts

    async def presses(self, side: str, action_id: str) -> None:
        """Press the newest such button in the half's channel, as soon as there is one."""
        stand = self._stands[side]
        ts = await self.finds(side, action_id)
        self.send({"op": "point", "half": side, "ts": ts, "action_id": action_id})
        await asyncio.sleep(HAND_SECONDS * self.pace)
        await self.workspace.act.click(stand.user, stand.channel, ts, action_id)

    async def submits(self, side: str) -> None:
        """Submit the dialog that is open in the half as it is, once there is one and it has been read."""
        user = self._stands[side].user
        await self.sees(lambda: bool(self.workspace.modals.get(user)))
        await self.pauses(2.5)
        await self.workspace.act.submit_view(user, self.workspace.modals[user][-1]["id"])

    async def finds(self, side: str, action_id: str) -> str:
        """The ts of the newest message with such an element, as soon as there is one."""
        stand = self._stands[side]

        def having() -> str:
            mine = (each for each in reversed(self._said(stand)) if _offers(each, action_id))
            return next((str(each["ts"]) for each in mine), "")

        await self.sees(lambda: bool(having()))
        return having()

    async def hears(self, side: str, characters: int) -> None:
        """Until this much of an answer is written in the half's thread, or all of it."""
        stand = self._stands[side]
        await self.sees(lambda: self._written(stand) >= characters or self._is_answered(stand))

    async def is_answered(self, side: str) -> None:
        """Until the app has said what it had to say to the newest message in the half's thread."""
        stand = self._stands[side]
        await self.sees(lambda: self._is_answered(stand))

    async def reads(self, side: str, words: str) -> None:
        """Until these words stand in the half's thread, be it as the name that a message is posted under."""
        stand = self._stands[side]
        await self.sees(
            lambda: any(words in f"{each.get('username')} {each.get('text')}" for each in self._thread(stand))
        )

    async def is_back(self) -> None:
        """Until the app is connected."""
        await self.sees(lambda: bool(self.workspace.online))

    async def sees(self, condition: Callable[[], bool]) -> None:
        """Until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await self.workspace.wait_for_change(self.workspace.counter, timeout=PATIENCE_SECONDS)

    async def pauses(self, seconds: float) -> None:
        """Time to read."""
        await asyncio.sleep(seconds * self.pace)

    def _said(self, stand: _Stand) -> list[Json]:
        """What was said in the channel since the journey began."""
        kept = self.workspace.messages.get(stand.channel, {}).values()
        return [each for each in kept if each["ts"] > self._since]

    def _thread(self, stand: _Stand) -> list[Json]:
        return self.workspace.replies(stand.channel, stand.thread)

    def _written(self, stand: _Stand) -> int:
        return sum(len(part) for part in self._parts(stand))

    def _parts(self, stand: _Stand) -> Iterator[str]:
        for stream in self.workspace.streams.values():
            if (stream.channel, stream.thread_ts, stream.state) == (stand.channel, stand.thread, "in_progress"):
                yield from (str(part.get("text", "")) for part in stream.parts)

    def _is_answered(self, stand: _Stand) -> bool:
        """The last word is the app's, and it is neither writing nor busy."""
        replies = [each for each in self._thread(stand) if not is_root(each)]
        is_busy = bool(self.workspace.statuses.get((stand.channel, stand.thread), {}).get("status"))
        is_open = any(each.get("streaming_state") == "in_progress" for each in replies)
        return bool(replies) and "bot_id" in replies[-1] and not is_open and not is_busy


def _offers(message: Json, action_id: str) -> bool:
    return any(each["action_id"] == action_id for _, each in elements(message.get("blocks", [])))
