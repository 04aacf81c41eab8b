"""Who of the team is there: people say that they are away, and Slack knows who is active and who is not disturbed."""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field

from bot.clock import Clock
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store import away
from bot.store.database import Database

logger = logging.getLogger(__name__)

PRESENCE_SECONDS = 5.0
"""How long Slack can take to say whether a person is active."""
PRESENCE_KEPT = 60.0
"""How long that is cached, in seconds. Slack answers about fifty such questions a minute."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Knows who is there."""

    database: Database
    directory: Directory
    clock: Clock
    _active: dict[str, tuple[float, bool]] = field(default_factory=dict)
    """Person -> when Slack was asked, and whether they are active."""

    async def leave(self, person: str, *, seconds: float | None) -> None:
        """The person is away for that long, or until they are back."""
        now = self.clock.now()
        async with self.database.transaction() as tx:
            await away.begin(tx, person, now=now, until=None if seconds is None else now + seconds)

    async def come_back(self, person: str) -> bool:
        """The person is there again. False if they had not said that they were away."""
        async with self.database.transaction() as tx:
            return await away.end(tx, person)

    async def away_since(self, people: Collection[str]) -> dict[str, float]:
        """Those of the people who said that they are away -> since when."""
        async with self.database.reading() as tx:
            return await away.since(tx, people, now=self.clock.now())

    async def is_active(self, person: str) -> bool:
        """Whether the person is active in Slack and may be disturbed. True if Slack does not say. Cached."""
        now = self.clock.monotonic()
        kept = self._active.get(person)
        if kept is None or now >= kept[0] + PRESENCE_KEPT:
            kept = self._active[person] = now, await self._ask_slack(person)
        return kept[1]

    async def _ask_slack(self, person: str) -> bool:
        try:
            async with asyncio.timeout(PRESENCE_SECONDS):
                if not await self.directory.is_active(person):
                    return False
                return not await self.directory.is_undisturbed(person, now=self.clock.now())
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.info("Slack does not say whether a person is there", extra={"reason": str(error)})
            return True
