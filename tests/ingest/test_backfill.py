"""What people write while nothing takes events is read from Slack's history afterwards, and stored once."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable
from bot.ingest.backfill import DELIVERY_PERIOD, LOOK_SECONDS, OVERLAP, PERIOD_LIMIT, Backfill
from bot.ingest.inbox import Inbox
from bot.slack.api.transport import Identity
from bot.store import inbox as rows
from bot.store.bodies import MessageBody
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.telemetry import Metrics
from handlers.messages import read_event, read_missed
from local_slack import timeline
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack

TEAM, CUSTOMER, STAFF = "T0FRONTDESK", "U0CUSTOMERA", "U0AGENTA"
DIRECT, SUPPORT, AGENTS = "D0CUSTOMERA", "C0SUPPORT", "C0AGENTS"
HOUR = 3_600.0


@dataclass
class Desk:
    """A workspace, and a Frontdesk of which only the inbox runs."""

    slack: LocalSlack
    database: Database
    me: Identity
    clock: ManualClock
    inbox: Inbox
    submitted: list[int] = field(default_factory=list)

    def submit(self, item_id: int, _thread: str) -> None:
        self.submitted.append(item_id)

    @property
    def backfill(self) -> Backfill:
        read = partial(read_missed, me=self.me, team_channels=frozenset((AGENTS,)))
        return Backfill(
            self.slack.client.chat, self.slack.client.directory, self.database, self.inbox, self.clock, read
        )

    def writes(self, text: str, *, channel: str = DIRECT, user: str = CUSTOMER, thread: str = "") -> dict[str, Any]:
        """Somebody writes, and no event comes of it."""
        workspace = self.slack.workspace
        said = {"type": "message", "user": user, "text": text} | ({"thread_ts": thread} if thread else {})
        return timeline.post(workspace, workspace.channel(channel), said) | {"channel": channel}

    async def hears(self, message: dict[str, Any]) -> str:
        """The event of a message comes; its ts."""
        event_id = f"Ev{message['ts']}"
        body = {"type": "event_callback", "team_id": TEAM, "event_id": event_id, "event": message}
        arrival = read_event(body, self.me, team_channels={AGENTS})
        assert arrival is not None
        await self.inbox.accept(arrival)
        return str(message["ts"])

    async def stored(self) -> list[InboxItem]:
        async with self.database.transaction() as tx:
            return [item for number, _ in await rows.unfinished(tx) if (item := await rows.start(tx, number))]

    async def words(self) -> list[str]:
        return [item.words for item in await self.stored()]


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> AsyncIterator[Desk]:
    me = await slack.client.api.auth()
    clock = ManualClock(time.time())
    made = Desk(slack, database, me, clock, Inbox(database, clock, Metrics()))
    writer = asyncio.create_task(made.inbox.run(made))
    yield made
    writer.cancel()
    with suppress(asyncio.CancelledError):
        await writer


async def test_what_was_written_meanwhile_is_stored_once_in_its_order(desk: Desk) -> None:
    known = await desk.hears(desk.writes("Where is my order?"))
    before = desk.clock.now()
    desk.writes("And which parcel service is it?", thread=known)
    desk.writes("Another matter: how do I return a lamp?")
    for new in (2, 0):
        assert await desk.backfill.catch_up(before) == new
    assert await desk.words() == [
        "Where is my order?",
        "And which parcel service is it?",
        "Another matter: how do I return a lamp?",
    ]
    assert len(desk.submitted) == 3


async def test_an_event_that_comes_after_all_is_the_same_message(desk: Desk) -> None:
    await desk.hears(desk.writes("Hello"))
    late = desk.writes("Where is my order?")
    await desk.backfill.catch_up(desk.clock.now())
    await desk.hears(late)
    assert await desk.words() == ["Hello", "Where is my order?"]


async def test_in_channels_only_what_is_meant_for_the_app_is_stored(desk: Desk) -> None:
    mention = f"<@{desk.me.user}>"
    asked = await desk.hears(desk.writes(f"{mention} where is my order?", channel=SUPPORT))
    desk.writes("Lunch, anybody?", channel=SUPPORT)
    desk.writes("Nobody asked the app here", channel=SUPPORT, thread=desk.writes("Noon?", channel=SUPPORT)["ts"])
    desk.writes("And my parcel?", channel=SUPPORT, thread=asked)
    root = desk.writes("Can somebody help?", channel=SUPPORT)["ts"]
    desk.writes(f"{mention} do you know it?", channel=SUPPORT, thread=root)
    desk.writes("Not for customers", channel=AGENTS, user=STAFF)
    await desk.backfill.catch_up(desk.clock.now())
    assert [item.thread.ts for item in await desk.stored()] == [asked, asked, root]


async def test_what_the_app_itself_wrote_and_what_is_too_old_is_left(desk: Desk) -> None:
    known = await desk.hears(desk.writes("Hello"))
    await desk.slack.client.chat.post(DIRECT, text="Hello!", thread_ts=known)
    desk.writes("Is anybody there?", thread=known)
    desk.clock.advance(PERIOD_LIMIT + HOUR)
    assert await desk.backfill.catch_up(0.0) == 0


async def test_a_conversation_that_cannot_be_read_keeps_no_other_from_being_read(desk: Desk) -> None:
    await desk.hears(desk.writes("Hello"))
    desk.writes("Where is my order?")
    async with desk.database.transaction() as tx:
        gone = rows.Arrival(
            "Ev1", "message", ThreadRef(TEAM, "D0GONE", "1.1"), "1.1", CUSTOMER, TEAM, MessageBody("Hi"), True
        )
        await rows.insert(tx, gone, now=desk.clock.now())
    assert await desk.backfill.catch_up(desk.clock.now()) == 1


async def test_it_is_read_after_an_outage_and_again_when_reading_failed(desk: Desk) -> None:
    await desk.hears(desk.writes("Hello"))
    desk.writes("Where is my order?")
    caught: list[float] = []
    failures = [StoreUnavailable("away")]

    class Reading(Backfill):
        async def catch_up(self, since: float) -> int:
            caught.append(since)
            if failures:
                raise failures.pop()
            return 1

    reading = Reading(*(getattr(desk.backfill, name) for name in Backfill.__slots__))
    began = desk.clock.now()
    connected = iter([True, False, True, True, True])
    outages = iter([0.0, DELIVERY_PERIOD, 0.0, 0.0, 0.0])

    async def takes_events() -> bool:
        desk.clock.advance(next(outages))
        try:
            return next(connected)
        except StopIteration:
            raise asyncio.CancelledError from None

    with suppress(asyncio.CancelledError, RuntimeError):
        await reading.run(takes_events)
    assert len(caught) == 2
    assert caught[0] == caught[1] == pytest.approx(began, abs=LOOK_SECONDS)


async def test_messages_around_the_last_event_are_read_too(desk: Desk) -> None:
    earlier = desk.writes("Where is my order?")
    await desk.hears(desk.writes("Hello"))
    assert await desk.backfill.catch_up(float(earlier["ts"]) + OVERLAP / 2) == 1
