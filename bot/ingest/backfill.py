"""Messages that Slack could not deliver, read from the conversations' history and stored like all others.

Slack delivers an event again for some minutes (https://docs.slack.dev/apis/events-api/#retries). What people write
while nothing takes events for longer would be lost, and nobody would know. So after a start, and after a connection was
away, the history is read from the last event on: the app's channels, and the direct messages and threads in which
somebody wrote lately.

What is stored already is one row by its channel and timestamp, so it does no harm to read too much. What is not read:
a direct message of somebody who had never written before, since only `im:read` would list it.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.clock import DAY, WEEK, Clock
from bot.errors import FrontdeskError
from bot.ingest.inbox import Inbox
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused
from bot.store import case_lists, inbox
from bot.store.database import Database
from bot.store.inbox import Arrival

logger = logging.getLogger(__name__)

DELIVERY_PERIOD = 300.0
"""An outage that is shorter is Slack's matter: its last delivery comes about six minutes after the first."""
OVERLAP = 120.0
"""So much before the last event is read too: events do not arrive in order."""
PERIOD_LIMIT = DAY
"""What is older is not read. Who waited longer has found another way."""
RECENT_PERIOD = WEEK
"""The threads in which somebody wrote within this time are read."""
THREADS_LIMIT = 200
"""At most so many threads, those with the newest messages first. Slack allows 50 calls a minute."""
MESSAGES_LIMIT = 2_000
"""At most so many messages are stored after one outage."""
LOOK_SECONDS = 30.0
"""How often it is looked whether events arrive."""

ReadMessage = Callable[[str, Mapping[str, Any]], Arrival | None]
"""Channel, message as Slack's history has it -> the arrival. None if it is not for Frontdesk."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """Reads after an outage what people wrote meanwhile."""

    chat: Chat
    directory: Directory
    database: Database
    inbox: Inbox
    clock: Clock
    read: ReadMessage

    async def run(self, takes_events: Callable[[], Awaitable[bool]]) -> None:
        """Watch for outages, in which events do not arrive, and read after each of them.

        The time since the last stored event counts as one when it begins: this process may not have run.
        """
        async with self.database.transaction() as tx:
            last = await inbox.last_received(tx)
        while True:
            if await takes_events():
                now = self.clock.now()
                if last is None or now - last < DELIVERY_PERIOD or await self._has_caught_up(last):
                    last = now
            await self.clock.sleep(LOOK_SECONDS)

    async def catch_up(self, since: float) -> int:
        """Store what people wrote since then. Returns how many messages were new.

        Raises FrontdeskError if Slack or the database is away. All can then be read again.
        """
        oldest = max(since - OVERLAP, self.clock.now() - PERIOD_LIMIT)
        missed: dict[tuple[str, str], Arrival] = {}
        async for channel, message in self._written_since(oldest):
            if float(message.get("ts") or 0.0) >= oldest and (arrival := self.read(channel, message)) is not None:
                missed[channel, arrival.ts] = arrival
            if len(missed) >= MESSAGES_LIMIT:
                logger.warning("more was written meanwhile than is read", extra={"messages": len(missed)})
                break
        new = 0
        for arrival in sorted(missed.values(), key=lambda each: float(each.ts)):
            async with self.database.transaction() as tx:
                is_known = await inbox.is_stored(tx, arrival)
            if not is_known:
                await self.inbox.accept(arrival)
                new += 1
        return new

    async def _has_caught_up(self, since: float) -> bool:
        try:
            new = await self.catch_up(since)
        except FrontdeskError as error:
            logger.warning("what was written meanwhile cannot be read yet", extra={"reason": str(error)})
            return False
        minutes = round((self.clock.now() - since) / 60)
        logger.info("the time without events is caught up", extra={"minutes": minutes, "messages": new})
        return True

    async def _written_since(self, oldest: float) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        """The messages of the app's channels and of the threads in which somebody wrote lately."""
        async with self.database.transaction() as tx:
            recent = await inbox.recent_threads(tx, since=oldest - RECENT_PERIOD, limit=THREADS_LIMIT)
            cards = await case_lists.cards(tx, await case_lists.of_view(tx, "all", limit=THREADS_LIMIT))
        threads = dict.fromkeys([*cards.values(), *((each.channel, each.ts) for each in recent)])
        direct = [each.channel for each in recent if each.is_direct]
        for channel in dict.fromkeys([*direct, *await self.directory.channels()]):
            for message in await self._read_or_none(self.chat.history(channel, oldest=oldest)):
                yield channel, message
                if float(message.get("latest_reply") or 0.0) >= oldest:
                    threads[channel, str(message["ts"])] = None
        for channel, ts in list(threads)[:THREADS_LIMIT]:
            for message in await self._read_or_none(self.chat.replies(channel, ts, oldest=oldest)):
                yield channel, message

    async def _read_or_none(self, reading: Awaitable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """The messages; none of a conversation that is gone or that the app has left."""
        try:
            return await reading
        except SlackRefused as error:
            logger.info("a conversation cannot be read", extra={"slack": error.error})
            return []
