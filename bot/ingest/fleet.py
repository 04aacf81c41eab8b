"""The engine of several processes on one Postgres: DBOS holds the queue, our journal makes the turns durable.

open_fleet   the engine of this process: a worker, or only the door through which rows get into the queue
Fleet
  _hand_over    the pump: open rows of the inbox become entries of the queue, in the transaction that notes it
  _run          what DBOS calls, on a loop of its own: the turn itself runs on ours
  _take_over    entries of processes whose lease is over go back into the queue, and so do our own that got lost
  _look_after   now and then: rows that the queue has forgotten, entries that ended long ago

One entry is one turn. Its partition is the thread, of which Postgres lets one be at work. Its id is made of the
message's address, so that handing a row over twice is handing it over once; the timestamp in it has a fixed width,
because entries of the same millisecond run in the order of their ids. No steps of DBOS are used: they are told apart
by position, ours by name, so that a new version goes on where an old one stopped.

DBOS 3.4 recovers what its own executor had left, and only at start. Taking over from others rests on
`DBOS._recover_pending_workflows` and on the table `dbos.workflow_status`; both are private, so the minor version is
pinned and tests/ingest/test_fleet.py holds them.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions

from bot.clock import HOUR, JUMP_SECONDS, WEEK, Clock, JumpWatch
from bot.errors import ConfigurationError, StoreUnavailable
from bot.failpoints import failpoint
from bot.ingest.engine import CLEANUP_TIMEOUT, RetryingRunner, TakeTurn, cancel_all
from bot.store import handover, inbox, leases
from bot.store.database import Database
from bot.store.handover import Waiting
from bot.store.leases import Membership
from bot.store.statements import clock_differs

logger = logging.getLogger(__name__)

QUEUE = "turns"
WORKFLOW = "take_turn"
APPLICATION = "frontdesk"
VERSION = "1"
"""Of what is in the queue, not of the program: with another one, what an older program left would never run."""
QUEUE_POLL_INTERVAL = 0.15
"""How often a worker looks for entries."""
THREADS = 16
"""DBOS' threads for its own statements; without a bound it starts one for each entry."""
CONNECTIONS = 5
"""DBOS' connections to Postgres, beside ours."""
HAND_LIMIT = 50
"""Rows that are handed over in one transaction, for as long as which their turns cannot begin."""
SHARE = 20
"""Open rows of one person that are in the queue at once; it works through them in order, so others would wait."""
HANDOVER_POLL_INTERVAL = 1.0
"""How often the pump looks for rows that nobody told it of."""
SWEEP_INTERVAL = 2.0
"""How often workers look for entries that nobody works on."""
LOST_ROW_DELAY = 120.0
"""After which an open row is looked for in the queue."""
LOST_LIMIT = 500
ENTRY_CLOSE_TIMEOUT = 1.0
"""How long, at the end, entries may take to be closed whose turns are done."""
DBOS_STOP_TIMEOUT = 2.5
"""How long the end of DBOS is waited for: a database that is away keeps it for longer than a process has."""
DONE_ENTRIES_PERIOD = WEEK
"""How long ended entries are kept: longer than Slack delivers anything again."""
DELETE_LIMIT = 1_000


@asynccontextmanager
async def open_fleet(
    url: str,
    database: Database,
    clock: Clock,
    take_turn: TakeTurn,
    membership: Membership,
    *,
    concurrent: int,
    works: bool = True,
) -> AsyncIterator["Fleet"]:
    """The engine on the Postgres at `url`, which is `database`'s too; at most `concurrent` turns in this process.

    Without `works` rows are handed over and none is taken. One a process: DBOS is made so.

    Raises:
        ConfigurationError: DBOS cannot use the database.
    """
    address = "postgresql://" + url.partition("://")[2]
    # Without a handler of ours DBOS adds its own, past the log's format and its masks.
    logging.getLogger("dbos").addHandler(logging.NullHandler())
    logging.getLogger("dbos").setLevel(logging.WARNING)
    client = DBOSClient(
        system_database_url=address,
        serializer=DBOSPortableJSONSerializer(),
        system_database_pool_size=2,
        application_name=APPLICATION,
        retry_connection_errors=False,
        lazy=True,
    )
    fleet = Fleet(address, client, database, clock, take_turn, membership, concurrent=concurrent, works=works)
    try:
        await fleet.prepare()
        yield fleet
    finally:
        await fleet.drain(0.0)
        await asyncio.to_thread(client.destroy)


class Fleet:
    """This process's part in the queue that all of them share."""

    def __init__(
        self,
        address: str,
        client: DBOSClient,
        database: Database,
        clock: Clock,
        take_turn: TakeTurn,
        membership: Membership,
        *,
        concurrent: int,
        works: bool,
    ) -> None:
        self._address = address
        self._client = client
        self._database = database
        self._clock = clock
        self._runner = RetryingRunner(take_turn, clock)
        self._member = membership.id
        self._places = asyncio.Semaphore(concurrent)
        self._alone = asyncio.Semaphore(1)
        self._concurrent = concurrent
        self._works = works
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._side_tasks: list[asyncio.Task[None]] = []
        self._turns: set[asyncio.Task[bool]] = set()
        self._missing: set[str] = set()
        self._jumps = JumpWatch(clock)
        self._next_look = self._next_cleaning = clock.monotonic()
        self._dbos: DBOS | None = None
        membership.when_lost(self.let_go)

    async def prepare(self) -> None:
        """Make the queue's tables, or bring them up to date; of several processes one does it, by a lock of DBOS'."""
        try:
            await asyncio.to_thread(self._client._sys_db.run_migrations)
        except Exception as error:  # noqa: BLE001 - whatever its driver raises
            # Its text may hold the address, password and all.
            raise ConfigurationError(
                [f"DATABASE_URL: the queue's tables cannot be made there ({type(error).__name__})"]
            ) from None

    def submit(self, item_id: int, thread: str) -> None:
        """Wake the pump."""
        del item_id, thread
        self._more.set()

    async def resume(self, database: Database) -> int:
        """Begin: hand over what waits, and take turns from the queue. How many rows waited."""
        async with database.transaction() as tx:
            waiting = await handover.count_unhanded(tx)
        failpoint("resuming")
        self._side_tasks.append(asyncio.create_task(self._pump(), name="fleet pump"))
        if self._works:
            await asyncio.to_thread(self._launch)
            self._side_tasks.append(asyncio.create_task(self._sweep(), name="fleet sweep"))
        return waiting

    async def drain(self, seconds: float) -> None:
        """Begin nothing, wait up to `seconds` for what runs, cancel the rest; other workers have it at once."""
        self._runner.close()
        for task in self._side_tasks:
            task.cancel()
        await asyncio.gather(*self._side_tasks, return_exceptions=True)
        self._side_tasks.clear()
        if self._dbos is None:
            return
        for event in self._dbos.background_thread_stop_events:
            event.set()
        if self._turns:
            await asyncio.wait(self._turns, timeout=seconds)
        await cancel_all(tuple(self._turns), CLEANUP_TIMEOUT - DBOS_STOP_TIMEOUT)
        ending, self._dbos = self._dbos, None
        closing = asyncio.create_task(asyncio.to_thread(_end, ending, self._member), name="fleet end")
        await asyncio.wait({closing}, timeout=DBOS_STOP_TIMEOUT)

    def let_go(self) -> None:
        """Cancel what runs, since others may soon have it; what they do not take is found by the sweep."""
        for turn in tuple(self._turns):
            turn.cancel()

    @property
    def active(self) -> int:
        """Turns at work in this process."""
        return len(self._turns)

    async def _pump(self) -> None:
        while True:
            self._more.clear()
            try:
                is_empty = await self._hand_over() < HAND_LIMIT
            except StoreUnavailable as error:
                logger.warning("the database is away; rows wait", extra={"reason": str(error)})
                is_empty = True
            except Exception:
                logger.exception("rows were not handed over")
                is_empty = True
            if is_empty:
                await _wait(self._more, HANDOVER_POLL_INTERVAL)

    async def _hand_over(self) -> int:
        """Put rows into the queue, and note it, in one transaction; how many."""
        async with self._database.transaction() as tx:
            rows = await handover.unhanded(tx, limit=HAND_LIMIT, share=SHARE)
            for row in rows:
                await tx.run_sync(self._client.enqueue_in_transaction, _options(row), row.id)
            if rows:
                await handover.mark(tx, [row.id for row in rows], handed=True)
        return len(rows)

    def _launch(self) -> None:
        """Start DBOS in a thread without a loop, so that it makes one of its own and leaves ours alone."""
        config = DBOSConfig(
            name=APPLICATION,
            system_database_url=self._address,
            application_version=VERSION,
            executor_id=self._member,
            serializer=DBOSPortableJSONSerializer(),
            sys_db_pool_size=CONNECTIONS,
            max_executor_threads=THREADS,
            use_listen_notify=False,
            log_level="WARNING",
            enable_otlp=False,
        )
        self._dbos = DBOS(config=config)

        # No bound of DBOS' own: a row that fails again and again is given up by the turn, which tells somebody.
        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
        async def take_turn(item_id: int) -> None:
            await self._run(item_id)

        DBOS.launch()
        # Else a statement that met an outage is tried again for ever by a thread that not even the end of the process
        # ends, with pauses of up to 90 s in which its thread waits. Failed, its entry is found by `_take_over`.
        self._dbos._sys_db._retry_connection_errors = False
        DBOS.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=self._concurrent,
            polling_interval_sec=QUEUE_POLL_INTERVAL,
            on_conflict="always_update",
        )

    async def _run(self, item_id: int) -> None:
        """Take the turn on our loop. What is raised leaves the entry as it is, since its turn is not done."""
        is_done = False
        try:
            is_done = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._take(item_id), self._loop))
        except Exception:
            logger.exception("a turn could not be begun", extra={"turn": item_id})
        if not is_done:
            raise asyncio.CancelledError

    async def _take(self, item_id: int) -> bool:
        turn = asyncio.create_task(self._take_in_place(item_id), name=f"turn {item_id}")
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)
        return await turn

    async def _take_in_place(self, item_id: int) -> bool:
        """What was at work at two crashes is taken one by one: it must not use up the tries of all others."""
        try:
            async with self._database.transaction() as tx:
                is_suspect = await inbox.is_suspect(tx, item_id)
        except StoreUnavailable:
            # Its turn waits for the same database, and a row that ends processes is looked at again after the next end.
            is_suspect = False
        return await self._runner.take(item_id, self._alone if is_suspect else self._places)

    async def _sweep(self) -> None:
        while True:
            try:
                if await self._trusts_clock():
                    await self._take_over()
                    await self._look_after()
            except StoreUnavailable as error:
                logger.warning("the database is away; nothing is taken over", extra={"reason": str(error)})
            except Exception:
                logger.exception("nothing was taken over")
            await self._clock.sleep(SWEEP_INTERVAL)

    async def _trusts_clock(self) -> bool:
        """Whether leases can be read by our clock: one that was set forward would take everybody else for dead."""
        if jump := self._jumps.look():
            async with self._database.transaction() as tx:
                differs = await clock_differs(tx, self._clock.now())
            if abs(differs) >= JUMP_SECONDS:
                ahead = {"seconds": round(jump, 1), "ahead": round(differs, 1)}
                logger.warning(
                    "the clock has jumped and differs from the database's; nothing is taken over", extra=ahead
                )
                return False
            self._jumps.settle()
        return True

    async def _take_over(self) -> None:
        async with self._database.transaction() as tx:
            alive = await leases.alive(tx, now=self._clock.now())
            at_work = await handover.at_work(tx, QUEUE)
        dead = {member for _, member in at_work} - alive - {self._member}
        if dead:
            logger.warning("turns of processes that are gone are taken over", extra={"members": sorted(dead)})
            await asyncio.to_thread(DBOS._recover_pending_workflows, sorted(dead))
        if self._dbos is None:
            return
        own = {entry for entry, member in at_work if member == self._member}
        missing = own - set(self._dbos._active_workflows_set.activeList())
        # Between the claim of an entry and its start it is missing too; twice in a row it is lost.
        lost, self._missing = missing & self._missing, missing
        for entry in lost:
            logger.warning("a turn got lost and is queued again", extra={"entry": entry})
            await asyncio.to_thread(self._dbos._sys_db.reenqueue_for_recovery, entry, [self._member], QUEUE)

    async def _look_after(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOST_ROW_DELAY / 2
            await self._find_lost_rows()
        if now >= self._next_cleaning:
            self._next_cleaning = now + HOUR
            await self._clean()

    async def _find_lost_rows(self) -> None:
        """An open row whose entry has ended, or is not there, is handed over again."""
        async with self._database.transaction() as tx:
            rows = await handover.handed_before(tx, self._clock.now() - LOST_ROW_DELAY, limit=LOST_LIMIT)
            entries = {entry_id(row): row.id for row in rows}
            lost = entries.keys() - (await handover.still_open(tx, entries) if entries else set())
        if not lost:
            return
        turns = sorted(entries[one] for one in lost)
        logger.error("rows had got lost and are handed over again", extra={"turns": turns})
        await self._client.delete_workflows_async(sorted(lost))
        async with self._database.transaction() as tx:
            await handover.mark(tx, turns, handed=False)
        self._more.set()

    async def _clean(self) -> None:
        """Forget entries and processes that ended long ago; done twice it does no harm."""
        before = self._clock.now() - DONE_ENTRIES_PERIOD
        while True:
            async with self._database.transaction() as tx:
                await leases.prune(tx, now=self._clock.now())
                old = await handover.ended_before(tx, QUEUE, before, limit=DELETE_LIMIT)
            if old:
                await self._client.delete_workflows_async(old)
            if len(old) < DELETE_LIMIT:
                return


def entry_id(row: Waiting) -> str:
    """The name of the row's entry: the same however often, sorted as the messages are."""
    seconds, _, fraction = row.ts.partition(".")
    words = ["turn", row.thread.team, row.thread.channel, row.thread.ts, f"{seconds:0>12}.{fraction:0<6}"]
    if row.kind != "message":
        words.append(row.kind)
    return "|".join(words)


def _options(row: Waiting) -> EnqueueOptions:
    return EnqueueOptions(
        workflow_name=WORKFLOW,
        queue_name=QUEUE,
        workflow_id=entry_id(row),
        queue_partition_key=row.thread.key,
        app_version=VERSION,
    )


def _end(dbos: DBOS, member: str) -> None:
    """Give back what is left, and stop DBOS; blocks for a second or two."""
    end = time.monotonic() + ENTRY_CLOSE_TIMEOUT
    # DBOS closes its loop first: what its queue thread takes out meanwhile could not even be begun.
    for thread in dbos._background_threads:
        thread.join(max(0.0, end - time.monotonic()))
    # Those whose turn is done are being closed.
    end = time.monotonic() + ENTRY_CLOSE_TIMEOUT
    while dbos._active_workflows_set.activeList() and time.monotonic() < end:
        time.sleep(0.02)
    try:
        DBOS._recover_pending_workflows([member])
    except Exception:
        # Whoever finds our lease gone does it.
        logger.exception("turns were not given back")
    DBOS.destroy(destroy_registry=True)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Until the event, or so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
