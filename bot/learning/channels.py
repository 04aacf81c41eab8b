"""The channels whose answered threads become suggested articles: the sources of the knowledge base with `slack:`.

Once an hour, one of all processes that share a database looks for threads in which nobody has written for a day, and
asks for a suggestion from each. It withdraws the undecided suggestions from threads that were edited or deleted since.
A process that hears of an edit or a deletion in one of the channels does that at once.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.clock import DAY, HOUR, Clock
from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable
from bot.help_center.articles import suggestion_key, withdraw
from bot.learning.conversations import ChannelThreads
from bot.slack.api.directory import SlackChannel
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.outbox import Outbox
from bot.store import inbox, schedule, suggestions
from bot.store.bodies import InteractionBody
from bot.store.database import Database
from bot.store.inbox import Arrival
from knowledge.config import read_config
from knowledge.errors import SourcesFaulty

logger = logging.getLogger(__name__)

NAME = "kb-channels"
"""The name of the row in the table of schedules."""
LOOK_INTERVAL = HOUR
QUIET = DAY
"""How long nobody may have written in a thread before it counts as answered."""
LATEST = 3 * DAY
"""Threads in which nobody has written for longer are left alone."""
OLDEST = 14 * DAY
"""Threads that began earlier are left alone."""
UNDECIDED = 10
"""Suggestions from channels that wait for a decision at a time. While there are as many, none is added."""
ASKED = "kb.suggest"
"""The entry of the table of buttons that asks for a suggestion."""


@dataclass(slots=True)
class Channels:
    """Looks through the channels."""

    database: Database
    clock: Clock
    outbox: Outbox
    threads: ChannelThreads
    accept: Callable[[Arrival], Awaitable[None]]
    """Stores the request for a suggestion."""
    sources: Path
    """Where the sources of the knowledge base are listed."""
    _known: frozenset[str] = frozenset()
    """The ids of the channels, as of the last look."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, channel: str) -> None:
        """A message of a channel was edited or deleted."""
        if channel in self._known:
            self._changed.set()

    async def run(self) -> None:
        """Look whenever it is due, until cancelled."""
        while True:
            try:
                if await self._falls_to_us():
                    await self.look()
                else:
                    await self.follow()
            except (SlackRefused, SlackUnanswered, StoreUnavailable) as error:
                logger.warning("the channels of the knowledge base were not read", extra={"reason": str(error)})
            self._changed.clear()
            waited = asyncio.ensure_future(self._changed.wait())
            slept = asyncio.ensure_future(self.clock.sleep(LOOK_INTERVAL))
            try:
                await asyncio.wait({waited, slept}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waited.cancel()
                slept.cancel()

    async def look(self) -> None:
        """Withdraw what is outdated, and ask for suggestions from the threads that were answered."""
        await self.follow()
        for channel in await self._channels():
            await self._ask(channel)

    async def follow(self) -> None:
        """Withdraw the undecided suggestions from threads in which something was edited or deleted since."""
        async with self.database.transaction() as tx:
            undecided = await suggestions.undecided_of_threads(tx)
        for made in undecided:
            if not await self.threads.still_says(ThreadRef.of(made.thread), made.key):
                async with self.database.transaction() as tx:
                    gone = await suggestions.drop_undecided(tx, [made.id])
                    await withdraw(tx, [suggestion_key(number) for number in gone], now=self.clock.now())
                self.outbox.wake()
                logger.info("a suggestion was withdrawn: its thread has changed", extra={"conversation": made.thread})

    async def _channels(self) -> Sequence[SlackChannel]:
        try:
            wanted = (await asyncio.to_thread(read_config, self.sources)).channels
        except SourcesFaulty as error:
            # The refresh of the base tells staff.
            logger.warning("the channels of the knowledge base were not read", extra={"reason": str(error)})
            wanted = ()
        if not wanted:
            self._known = frozenset()
            return ()
        there = await self.threads.directory.public_channels()
        found = {name: each for each in there for name in (each.id, f"#{each.name}")}
        for name in wanted:
            if name not in found:
                logger.warning("a channel of the knowledge base is not public, or the app is not in it: %s", name)
        read = [found[name] for name in dict.fromkeys(wanted) if name in found]
        read = [each for each in read if each.id not in self.threads.staff.channels]
        self._known = frozenset(each.id for each in read)
        return read

    async def _ask(self, channel: SlackChannel) -> None:
        now = self.clock.now()
        async with self.database.transaction() as tx:
            room = UNDECIDED - len(await suggestions.undecided_of_threads(tx))
        answered = [
            self._request(ThreadRef(self.threads.me.team, channel.id, str(root.get("ts"))), root)
            for root in reversed(await self.threads.chat.history(channel.id, oldest=now - OLDEST))
            if now - LATEST < _seconds(root.get("latest_reply")) <= now - QUIET
        ]
        async with self.database.transaction() as tx:
            known = await inbox.stored(tx, [each.event_id for each in answered])
        for request in [each for each in answered if each.event_id not in known][: max(0, room)]:
            await self.accept(request)

    def _request(self, thread: ThreadRef, root: Mapping[str, Any]) -> Arrival:
        """The request for a suggestion, in a lane of its own. It is the same until somebody writes in the thread."""
        event_id = f"{ASKED}/{thread.key}/{root.get('latest_reply')}"
        lane = f"thread-{hashlib.blake2b(event_id.encode(), digest_size=10).hexdigest()}"
        return Arrival(
            event_id=event_id,
            kind="interaction",
            thread=ThreadRef(thread.team, self.threads.agent_channel, lane),
            ts=lane,
            author=self.threads.me.user,
            author_team=thread.team,
            body=InteractionBody(ASKED, thread.key, message_ts=lane),
            addressed=True,
        )

    async def _falls_to_us(self) -> bool:
        now = self.clock.now()
        async with self.database.transaction() as tx:
            await schedule.plan(tx, NAME, rule="hourly", due=now)
            return await schedule.take(tx, NAME, now=now, then=now + LOOK_INTERVAL)


def _seconds(ts: object) -> float:
    """Slack's time of a message. 0.0 for none."""
    try:
        return float(str(ts or 0))
    except ValueError:
        return 0.0
