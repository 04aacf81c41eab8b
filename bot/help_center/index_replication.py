"""Index replication: several machines, each with an index of its own, come to serve the same content.

An index is files on a machine's disk, so a refresh changes one machine only. The machines agree through the database:
the row `kb/public` holds what all of them must serve, as a hash of what the documents say (`Status.content`).

- A machine whose content changed by its own refresh or rollback writes its hash into that row.
- A machine that finds another hash there catches up: it serves a generation of its own with the same content if it
  keeps one, else it reads the sources again. It never writes the result into the row; otherwise two machines with
  different sources would send each other round in circles. `/kb status` shows that they differ.

So no file and no collection has two writers: on a Chroma server too, each machine has its own collections. The rows
`kb/public@…`, one for each index, say who serves what and when it was last seen. Collections of a machine that has
been gone for a week are removed from the server.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.clock import WEEK, Clock
from bot.errors import StoreUnavailable
from bot.store import alias
from bot.store.alias import Alias
from bot.store.database import Database
from knowledge.audience import Audience
from knowledge.errors import BuildRefused, KnowledgeError
from knowledge.knowledge_base import KnowledgeBase
from knowledge.status import Status

logger = logging.getLogger(__name__)

SYNC_SECONDS = 5.0
"""The time between two reads of the row."""
HEARTBEAT_SECONDS = 30.0
"""The time between two heartbeats of a machine whose content stays the same."""
MAX_HEARTBEAT_AGE_SECONDS = 120.0
"""A machine with an older heartbeat no longer counts."""
ABSENT_MACHINE_PERIOD = WEEK
"""A machine that was not seen for this long is forgotten. If it comes back, it computes its vectors again."""
SOURCE_RETRY_DELAY = 600.0
"""The delay before sources that failed are read again."""
FORCED = " forced"
"""The suffix of a target whose refresh was allowed to remove many documents."""


class Refresher(Protocol):
    """Refreshes one base from its sources."""

    async def __call__(self, audience: Audience, *, force: bool) -> None:
        """`force`: even if many documents would be removed. Raises KnowledgeError."""


@dataclass(frozen=True, slots=True)
class ReplicationStatus:
    """What each machine serves of one base."""

    wanted: Alias | None
    """What all machines must serve. None before the first machine has written it."""
    machines: tuple[Alias, ...]
    """The live machines, each with the content it serves."""

    @property
    def content(self) -> str:
        """What all machines must serve. Empty before the first machine has written it."""
        return _content(self.wanted)


async def replication_status(database: Database, audience: Audience, *, now: float) -> ReplicationStatus:
    """Read the replication status of one base. Raises StoreUnavailable."""
    async with database.transaction() as tx:
        rows = await alias.beginning(tx, f"{_name(audience)}@")
        wanted = await alias.of(tx, _name(audience))
    return ReplicationStatus(wanted, tuple(row for row in rows if row.set_at > now - MAX_HEARTBEAT_AGE_SECONDS))


@dataclass(slots=True)
class _Known:
    """What this process knows of one base."""

    content: str = ""
    """The content served here that the other machines know of."""
    generation: int = 0
    """The number of its generation."""
    wanted: Alias | None = None
    """The last row that this process caught up with."""
    not_before: float = float("-inf")
    """The next attempt (monotonic)."""
    reported: str = ""
    """The content in the last heartbeat."""
    reported_at: float = float("-inf")
    """The time of the last heartbeat."""

    def note(self, status: Status) -> None:
        """Remember what this machine serves."""
        self.content, self.generation = status.content, status.generation or 0


class IndexReplication:
    """Keeps the bases of this machine equal to those of the other machines."""

    def __init__(
        self,
        bases: Mapping[Audience, KnowledgeBase],
        database: Database,
        clock: Clock,
        refresh: Refresher,
        *,
        machine: str = "",
    ) -> None:
        """`machine` names this machine for people. Empty: the host name."""
        self._bases = bases
        self._database = database
        self._clock = clock
        self._refresh = refresh
        self._machine = machine or socket.gethostname()
        self._known: dict[Audience, _Known] = {audience: _Known() for audience in bases}

    async def begin(self) -> None:
        """Remember what is served before the first refresh, so that the refresh counts as a change of this machine."""
        for audience, base in self._bases.items():
            self._known[audience].note(await base.status())

    async def run(self) -> None:
        """Synchronise and send heartbeats until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._again(self.sync))
            # A task of its own: catching up can take long.
            tasks.create_task(self._again(self.heartbeat))

    async def sync(self) -> None:
        """Write a change of this machine into the row, or catch up with another machine's."""
        for audience, base in self._bases.items():
            if base.is_settled:
                await self._sync(audience, base, self._known[audience])

    async def heartbeat(self) -> None:
        """Send a heartbeat if it is due, and remove what machines left that are gone."""
        for audience, base in self._bases.items():
            content, now, known = (await base.status()).content, self._clock.now(), self._known[audience]
            if content != known.reported or now >= known.reported_at + HEARTBEAT_SECONDS:
                await self._send_heartbeat(audience, base, content, now)
                known.reported, known.reported_at = content, now

    async def _send_heartbeat(self, audience: Audience, base: KnowledgeBase, content: str, now: float) -> None:
        name = f"{_name(audience)}@{await base.identity()}"
        async with self._database.transaction() as tx:
            await alias.point(tx, name, content, by=self._machine, now=now)
            rows = await alias.beginning(tx, f"{_name(audience)}@")
        for row in rows:
            if row.set_at < now - ABSENT_MACHINE_PERIOD:
                await base.forget(row.name.rpartition("@")[2])
                async with self._database.transaction() as tx:
                    await alias.drop(tx, row)

    async def _again(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._clock.sleep(SYNC_SECONDS)
            try:
                await act()
            except (StoreUnavailable, KnowledgeError, OSError) as error:
                logger.warning(
                    "the index could not be synchronised with the other machines", extra={"reason": str(error)}
                )

    async def _sync(self, audience: Audience, base: KnowledgeBase, known: _Known) -> None:
        status = await base.status()
        fresh: Alias | None = None
        async with self._database.transaction() as tx:
            wanted = await alias.of(tx, _name(audience))
            # A generation that was built to catch up is no change, whichever process on this disk built it. A
            # rollback to it is one.
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
        if _content(wanted) != status.content and not await self._catch_up(audience, base, wanted):
            return
        known.wanted = wanted
        known.note(await base.status())

    async def _catch_up(self, audience: Audience, base: KnowledgeBase, wanted: Alias) -> bool:
        """Serve the wanted content, or what our own sources say now. Return False if it must be tried again."""
        known = self._known[audience]
        logger.info("another machine serves something else", extra={"base": audience, "machine": wanted.set_by})
        try:
            if not await base.serve(_content(wanted)):
                await self._refresh(audience, force=wanted.target.endswith(FORCED))
        except KnowledgeError as error:
            if not (isinstance(error, BuildRefused) and error.reason == "busy"):
                known.not_before = self._clock.monotonic() + SOURCE_RETRY_DELAY
            return False
        return True


def _name(audience: Audience) -> str:
    return f"kb/{audience}"


def _content(wanted: Alias | None) -> str:
    return wanted.target.removesuffix(FORCED) if wanted else ""
