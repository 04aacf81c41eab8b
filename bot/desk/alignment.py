"""Several machines, each with an index of its own: what one of them comes to serve, all of them shall serve.

An index is files on a machine's disk, so a refresh makes one machine's new and no other's. They meet in the database:
the row `kb/public` says what all are to serve, as a hash of what the documents say (`Status.content`).

- Who came to something else by its own doing (a refresh by the clock, by `/kb`, by the command line or at the start,
  or a rollback) writes it there.
- Who finds something else there than it serves goes over to a generation that says the same, if it keeps one; else it
  reads the sources itself. What comes of that is never written there, or two machines whose sources differ would
  send each other round in circles. `/kb status` tells that they differ.

So no file and no collection has two writers: on a Chroma server, too, each machine has collections of its own. The
rows `kb/public@…`, one for each index, say who serves what, and who still lives; what a machine that is no more has
left on the server is removed after a week.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.clock import Clock
from bot.errors import StoreUnavailable
from bot.store import alias
from bot.store.alias import Alias
from bot.store.database import Database
from knowledge.config import Audience
from knowledge.errors import BuildRefused, KnowledgeError
from knowledge.knowledge_base import KnowledgeBase, Status

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""How often the row is looked at, and whether there is something to say."""
BEAT_SECONDS = 30.0
"""How often a machine says what it serves, when that stays the same."""
LIVE_SECONDS = 120.0
"""How long a machine counts as one of them after that."""
GONE_SECONDS = 7 * 86_400.0
"""After so long it will not come back; if it does, it makes its vectors anew."""
RETRY_SECONDS = 600.0
"""Before sources that could not be read are read again."""
FORCED = " forced"
"""What the target ends in when much was to vanish, by the word of whoever asked."""


class Refresher(Protocol):
    """Brings one base up to its sources."""

    async def __call__(self, audience: Audience, *, force: bool) -> None:
        """`force`: even if much would vanish. Raises KnowledgeError."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What machines serve of one base."""

    wanted: Alias | None
    """What all are to serve; None before anybody has said."""
    machines: tuple[Alias, ...]
    """Those that live, each with what it serves."""

    @property
    def content(self) -> str:
        """What all are to serve; empty before anybody has said."""
        return _content(self.wanted)


async def standing(database: Database, audience: Audience, *, now: float) -> Standing:
    """How things stand for one base. Raises StoreUnavailable."""
    async with database.transaction() as tx:
        rows = await alias.beginning(tx, f"{_name(audience)}@")
        wanted = await alias.of(tx, _name(audience))
    return Standing(wanted, tuple(row for row in rows if row.set_at > now - LIVE_SECONDS))


@dataclass(slots=True)
class _Known:
    """What this process knows of one base."""

    content: str = ""
    """What is served here, as far as the others have heard of it or sent us there."""
    generation: int = 0
    """Its number."""
    wanted: Alias | None = None
    """The row that was last complied with."""
    not_before: float = float("-inf")
    """When it is tried again (monotonic)."""
    told: str = ""
    """What was last said to be served here ..."""
    told_at: float = float("-inf")
    """... and when."""

    def note(self, status: Status) -> None:
        """Remember what is served."""
        self.content, self.generation = status.content, status.generation or 0


class Alignment:
    """Keeps this machine's bases what all machines' are to be."""

    def __init__(
        self,
        bases: Mapping[Audience, KnowledgeBase],
        database: Database,
        clock: Clock,
        refresh: Refresher,
        *,
        machine: str = "",
    ) -> None:
        """`machine` is what people call this one; empty: its host's name."""
        self._bases = bases
        self._database = database
        self._clock = clock
        self._refresh = refresh
        self._machine = machine or socket.gethostname()
        self._known: dict[Audience, _Known] = {audience: _Known() for audience in bases}

    async def begin(self) -> None:
        """Note what is served before the first refresh, which then counts as our own doing."""
        for audience, base in self._bases.items():
            self._known[audience].note(await base.status())

    async def run(self) -> None:
        """Look, and be seen; for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._again(self.look))
            # Beside it: going where the others are may take long.
            tasks.create_task(self._again(self.beat))

    async def look(self) -> None:
        """Tell the others what is new here, or go where they are."""
        for audience, base in self._bases.items():
            if base.is_settled:
                await self._look(audience, base, self._known[audience])

    async def beat(self) -> None:
        """Say what is served here, when that is new or was long ago, and clear up after machines that are no more."""
        for audience, base in self._bases.items():
            content, now, known = (await base.status()).content, self._clock.now(), self._known[audience]
            if content != known.told or now >= known.told_at + BEAT_SECONDS:
                await self._beat(audience, base, content, now)
                known.told, known.told_at = content, now

    async def _beat(self, audience: Audience, base: KnowledgeBase, content: str, now: float) -> None:
        name = f"{_name(audience)}@{await base.identity()}"
        async with self._database.transaction() as tx:
            await alias.point(tx, name, content, by=self._machine, now=now)
            rows = await alias.beginning(tx, f"{_name(audience)}@")
        for row in rows:
            if row.set_at < now - GONE_SECONDS:
                await base.forget(row.name.rpartition("@")[2])
                async with self._database.transaction() as tx:
                    await alias.drop(tx, row)

    async def _again(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                await act()
            except (StoreUnavailable, KnowledgeError, OSError) as error:
                logger.warning("what the machines serve could not be compared", extra={"reason": str(error)})

    async def _look(self, audience: Audience, base: KnowledgeBase, known: _Known) -> None:
        status = await base.status()
        fresh: Alias | None = None
        async with self._database.transaction() as tx:
            wanted = await alias.of(tx, _name(audience))
            # What was built to follow is no news, whichever process on this disk did it; going back to it is.
            is_ours = not (status.follows and (status.generation or 0) > known.generation)
            if is_ours and status.content not in ("", known.content, _content(wanted)):
                target = status.content + (FORCED if status.forced else "")
                fresh = await alias.point(tx, _name(audience), target, by=self._machine, now=self._clock.now())
        known.note(status)
        if fresh:
            known.wanted = fresh
            return
        if wanted is None or wanted == known.wanted or self._clock.monotonic() < known.not_before:
            return
        if _content(wanted) != status.content and not await self._go(audience, base, wanted):
            return
        known.wanted = wanted
        known.note(await base.status())

    async def _go(self, audience: Audience, base: KnowledgeBase, wanted: Alias) -> bool:
        """Come to serve what is wanted, or what our own sources say; False when it is to be tried again."""
        known = self._known[audience]
        logger.info("another machine serves something else", extra={"base": audience, "machine": wanted.set_by})
        try:
            if not await base.serve(_content(wanted)):
                await self._refresh(audience, force=wanted.target.endswith(FORCED))
        except KnowledgeError as error:
            if not (isinstance(error, BuildRefused) and error.reason == "busy"):
                known.not_before = self._clock.monotonic() + RETRY_SECONDS
            return False
        return True


def _name(audience: Audience) -> str:
    return f"kb/{audience}"


def _content(wanted: Alias | None) -> str:
    return wanted.target.removesuffix(FORCED) if wanted else ""
