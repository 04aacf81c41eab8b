"""How often a row is tried, how long each wait is, and what is sent instead: with an API that answers by a script."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from bot.slack.api.chat import EVENT_TYPE, Chat
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Ready
from bot.slack.outbox import Outbox
from bot.store import outbox as rows
from bot.store.database import Database
from bot.store.outbox import Method, Outgoing
from tests.doubles.clock import ManualClock
from tests.patience import patience

SUPPORT, AGENTS = "C0SUPPORT", "C0AGENTS"
BACKOFF = [0.5, 1.0, 2.0, 5.0, 15.0, 30.0]
REPAIR = [3.0, 10.0, 30.0, 60.0]
BLOCKS = [{"type": "actions", "elements": [{"type": "button", "action_id": "a"}]}]


class Waits(ManualClock):
    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.stuck: list[str | None] = []
        self.outbox: Outbox | None = None

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.stuck.append(self.outbox.stuck if self.outbox else None)
        await super().sleep(seconds)


class ScriptedChat(Chat):
    """Raises what the script says, call by call. Afterwards every call succeeds."""

    def __init__(self, script: Sequence[Exception], shown: Sequence[dict[str, Any]] = ()) -> None:
        self.script = list(script)
        self.shown = list(shown)
        self.calls: list[dict[str, Any]] = []
        self.searches: list[tuple[str, str | None]] = []

    async def post(self, channel: str, *, ready: Ready | None = None, **said: Any) -> str:
        await self._answer(ready, said)
        return "9.9"

    async def update(self, channel: str, ts: str, *, ready: Ready | None = None, **words: Any) -> None:
        await self._answer(ready, {"ts": ts, **words})

    async def react(self, channel: str, ts: str, name: str, *, ready: Ready | None = None) -> None:
        await self._answer(ready, {"ts": ts, "name": name})

    unreact = react

    async def history(self, channel: str, **_: Any) -> list[dict[str, Any]]:
        self.searches.append((channel, None))
        return self.shown

    async def replies(self, channel: str, thread_ts: str, **_: Any) -> list[dict[str, Any]]:
        self.searches.append((channel, thread_ts))
        return self.shown

    async def _answer(self, ready: Ready | None, said: dict[str, Any]) -> None:
        if ready is not None:
            await ready()
        self.calls.append(said)
        if self.script:
            raise self.script.pop(0)


def refused(error: str) -> SlackRefused:
    return SlackRefused("chat.postMessage", error)


def unanswered(reason: str = "timeout", *, sent: bool = False, retry_after: float = 0.0) -> SlackUnanswered:
    return SlackUnanswered("chat.postMessage", reason, sent=sent, retry_after=retry_after)


async def send(
    database: Database, chat: ScriptedChat, method: Method = "post", channel: str = SUPPORT, **fields: Any
) -> tuple[str, Waits]:
    """The state in which the row ends, and the waits on the way there."""
    payload = fields.pop("payload", {"text": "Words", **({} if method == "post" else {"ts": "1.1", "name": "eyes"})})
    async with database.transaction() as tx:
        await rows.add(tx, Outgoing("row", method, channel, payload, **fields), now=0.0)
    clock = Waits()
    outbox = clock.outbox = Outbox(database, chat, None, clock, essential=(AGENTS,))  # type: ignore[arg-type]
    running = asyncio.create_task(outbox.run())
    try:
        async with asyncio.timeout(patience(20)):
            while True:
                async with database.transaction() as tx:
                    row = await rows.by_key(tx, "row")
                if row is None or row.state in ("sent", "failed"):
                    break
                await asyncio.sleep(0.001)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert outbox.stuck is None
    return (row.state if row else "gone"), clock


@pytest.mark.parametrize(
    ("method", "channel", "script", "state", "waits"),
    [
        ("post", SUPPORT, [unanswered()] * 8, "sent", [*BACKOFF, 30.0, 30.0]),
        ("post", SUPPORT, [unanswered("ratelimited", retry_after=20.0)], "sent", [20.0]),
        ("post", SUPPORT, [unanswered("ratelimited", retry_after=0.1)], "sent", [0.5]),
        ("post", SUPPORT, [unanswered("ratelimited", retry_after=99.0)], "sent", [60.0]),
        ("post", SUPPORT, [unanswered("internal_error")] * 9, "sent", [*BACKOFF, 30.0, 30.0, 30.0]),
        ("post", SUPPORT, [unanswered("internal_error")] * 10, "failed", [*BACKOFF, 30.0, 30.0, 30.0]),
        ("update", SUPPORT, [unanswered()] * 6, "sent", BACKOFF),
        ("react", SUPPORT, [unanswered()] * 4, "sent", BACKOFF[:4]),
        ("react", SUPPORT, [unanswered()] * 5, "failed", BACKOFF[:4]),
        ("unreact", SUPPORT, [unanswered("ratelimited")] * 5, "failed", BACKOFF[:4]),
        ("post", SUPPORT, [refused("not_in_channel")], "failed", []),
        ("post", AGENTS, [refused("not_in_channel")] * 5, "sent", [*REPAIR, 60.0]),
        ("post", AGENTS, [refused("msg_blocks_too_long")], "failed", []),
        ("post", SUPPORT, [refused("invalid_auth")] * 2, "sent", REPAIR[:2]),
        ("post", SUPPORT, [refused("missing_scope")], "sent", REPAIR[:1]),
        ("update", AGENTS, [refused("invalid_auth")], "failed", []),
    ],
)
async def test_a_row_is_tried_as_often_and_as_late_as_its_failure_calls_for(
    database: Database, method: Method, channel: str, script: list[Exception], state: str, waits: list[float]
) -> None:
    chat = ScriptedChat(script)
    ended, clock = await send(database, chat, method, channel)
    assert (ended, clock.seconds) == (state, waits)
    assert len(chat.calls) == len(script) + (state == "sent")
    first = script[0]
    waits_for_repair = isinstance(first, SlackRefused) and state == "sent"
    stuck = f"{channel}: chat.postMessage: {first.error}" if isinstance(first, SlackRefused) else None
    assert set(clock.stuck) == ({stuck} if waits_for_repair else {None} if waits else set())


async def test_a_row_of_which_slack_may_have_a_copy_is_searched_for_before_it_is_sent_again(
    database: Database,
) -> None:
    strangers: list[dict[str, Any]] = [
        {"ts": "1.0"},
        {"ts": "2.0", "metadata": {"event_type": "another", "event_payload": {"o": "row"}}},
        {"ts": "3.0", "metadata": {"event_type": EVENT_TYPE, "event_payload": {"o": "other"}}},
    ]
    ours: dict[str, Any] = {"ts": "4.0", "metadata": {"event_type": EVENT_TYPE, "event_payload": {"o": "row"}}}
    found = ScriptedChat([unanswered(sent=True)], [*strangers, ours])
    assert (await send(database, found))[0] == "sent"
    assert (len(found.calls), found.searches) == (1, [(SUPPORT, None)])
    async with database.transaction() as tx:
        row = await rows.by_key(tx, "row")
    assert row is not None
    assert row.ts == "4.0"


async def test_a_row_that_is_found_nowhere_is_sent_again(database: Database) -> None:
    chat = ScriptedChat([unanswered(sent=True)], [{"ts": "1.0"}])
    state, clock = await send(database, chat, thread_ts="1.1")
    assert (state, len(chat.calls), chat.searches) == ("sent", 2, [(SUPPORT, "1.1")])
    assert clock.seconds == [0.5, 0.0]


async def test_a_change_is_made_again_without_a_search(database: Database) -> None:
    chat = ScriptedChat([unanswered(sent=True)])
    assert (await send(database, chat, "update"))[0] == "sent"
    assert (len(chat.calls), chat.searches) == (2, [])


async def test_blocks_are_left_out_when_slack_refuses_them_or_fails_for_long(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    chat = ScriptedChat([refused("invalid_blocks"), *[unanswered("internal_error")] * 2])
    state, clock = await send(database, chat, payload={"text": "Words", "blocks": BLOCKS})
    assert (state, clock.seconds) == ("sent", [1.0, 2.0])
    assert "blocks" in chat.calls[0]
    assert "blocks" not in chat.calls[-1]
    assert chat.calls[-1]["text"] == "Words"


@pytest.mark.parametrize(("reason", "keeps_blocks"), [("internal_error", False), ("timeout", True)])
async def test_after_five_failures_operators_hear_of_it_and_a_server_error_costs_the_blocks(
    database: Database, caplog: pytest.LogCaptureFixture, reason: str, keeps_blocks: bool
) -> None:
    chat = ScriptedChat([unanswered(reason)] * 6)
    with caplog.at_level(logging.WARNING, logger="bot.slack.outbox"):
        assert (await send(database, chat, payload={"text": "Words", "blocks": BLOCKS}))[0] == "sent"
    told = [record for record in caplog.records if record.getMessage() == "Slack does not take a post"]
    assert [record.levelno for record in told] == [logging.ERROR, logging.WARNING]
    assert ["blocks" in call for call in chat.calls] == [*[True] * 5, *[keeps_blocks] * 2]
