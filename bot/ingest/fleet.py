"""The engine of several processes on one Postgres: DBOS holds the queue, our journal makes the turns durable.

open_fleet   the engine of this process: a worker, or one that only puts rows into the queue
Fleet
  _hand_over    the pump: turn open rows of the inbox into entries of the queue, and mark them in the same transaction
  _run          what DBOS calls on its own event loop; the turn itself runs on ours
  _take_over    put entries back into the queue: those of processes whose lease has expired, and our own lost ones
  _look_after   from time to time, hand over rows that the queue has lost, and delete entries that ended long ago

One entry is one turn. Its partition is the thread, and Postgres lets one entry of a partition run at a time. Its id is
made of the message's address, so handing a row over twice has no further effect. The timestamp in the id has a fixed
width, because entries of the same millisecond run in the order of their ids. We use no steps of DBOS. DBOS identifies
its steps by position, and our journal identifies them by name, so a new version can continue where an old one stopped.

DBOS 3.4 recovers only what its own executor left, and only at start. To take over from other processes, this module
uses `DBOS._recover_pending_workflows` and the table `dbos.workflow_status`. Both are private, so the minor version is
pinned and tests/ingest/test_fleet.py checks them.
"""

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions

from bot.clock import HOUR, JUMP_SECONDS, WEEK, Clock, JumpWatch
from bot.errors import ConfigurationError, StoreUnavailable
from bot.failpoints import failpoint
from bot.ingest.engine import CLEANUP_TIMEOUT, RetryingRunner, TakeTurn, cancel_all
from bot.store import handover, inbox, leases, wakeups
from bot.store.database import Database
from bot.store.handover import OpenRow
from bot.store.leases import Membership
from bot.store.statements import clock_differs

logger = logging.getLogger(__name__)

QUEUE = "turns"
WORKFLOW = "take_turn"
QUEUE_THREAD = f"queue-worker-{QUEUE}"
"""The name that DBOS gives to the queue's thread."""
APPLICATION = "frontdesk"
VERSION = "1"
"""The version of the queue's entries, not of the program. If it changed, older entries would never run."""
QUEUE_POLL_INTERVAL = 1.0
"""Seconds between two queries of a worker for entries that nobody has told it of."""
END_LOOK_DELAYS = (0.05, 0.2)
"""Seconds after the end of a turn until the worker looks for the thread's next one. DBOS first notes that it ended."""
SPREAD_SECONDS = 0.03
"""Within how many seconds the workers look that hear of new entries, so that they do not all claim the same."""
THREADS = 16
"""The number of DBOS' threads for its own statements. Without a bound it starts one for each entry."""
CONNECTIONS = 5
"""The number of DBOS' connections to Postgres, in addition to ours."""
HAND_LIMIT = 50
"""The number of rows handed over in one transaction. Their turns cannot start before it ends."""
KEPT_FREE = 25
"""How many places of a worker are only for interactions and for what staff write, if it has more than these. For the
others, there are as many open messages of customers in the queue, and no more: the queue takes threads at random, so
what waits for long stays out of it.
"""
SHARE = 20
"""How many open rows of one person are in the queue at once. The queue runs in order, so more would delay others."""
HANDOVER_POLL_INTERVAL = 1.0
"""Seconds between two queries of the pump for rows that were not submitted to it."""
SWEEP_INTERVAL = 2.0
"""Seconds between two searches of a worker for entries that no process works on."""
LOST_ROW_DELAY = 120.0
"""Seconds after its handover until an open row is checked against the queue."""
LOST_LIMIT = 500
ENTRY_CLOSE_TIMEOUT = 1.0
"""On shutdown, how long to wait until entries with finished turns are closed, in seconds."""
DBOS_STOP_TIMEOUT = 2.5
"""On shutdown, how long to wait for DBOS, in seconds. If the database is away, DBOS takes longer than a process has."""
DONE_ENTRIES_PERIOD = WEEK
"""How long ended entries are kept, in seconds. Slack redelivers nothing after so long a time."""
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
    """Open the engine on the Postgres at `url`, which is also `database`'s. At most `concurrent` turns run here.

    Without `works`, this process hands rows over but runs none. DBOS allows only one engine in a process.

    Raises:
        ConfigurationError: DBOS cannot use the database.
    """
    address = "postgresql://" + url.partition("://")[2]
    # If we add no handler, DBOS adds its own, which bypasses the log's format and masking.
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


class Waker:
    """Ends the wait of the queue's thread.

    DBOS has no public way to do it. Its thread sleeps by waiting for the event that ends it, so that event's `wait` is
    replaced.
    """

    def __init__(self) -> None:
        self._is_told = threading.Event()

    def wake(self) -> None:
        """Have the thread look for entries now. It may be called from any thread."""
        self._is_told.set()

    def interrupt(self, stopping: Iterable[threading.Event]) -> None:
        """Replace how the queue's thread waits for these events. Other threads wait as before."""
        for event in stopping:
            event.wait = partial(self._wait, event, event.wait)  # type: ignore[method-assign]

    def _wait(self, stop: threading.Event, wait: Callable[[float | None], bool], timeout: float | None = None) -> bool:
        if threading.current_thread().name != QUEUE_THREAD:
            return wait(timeout)
        self._is_told.wait(timeout)
        self._is_told.clear()
        return stop.is_set()


class Fleet:
    """This process's part in the queue that all processes share."""

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
        self._room = concurrent - KEPT_FREE if concurrent > KEPT_FREE else concurrent
        self._works = works
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._is_full = False
        """Whether the queue had no room for all messages when this process looked last."""
        self._side_tasks: list[asyncio.Task[None]] = []
        self._turns: set[asyncio.Task[bool]] = set()
        self._missing: set[str] = set()
        self._jumps = JumpWatch(clock)
        self._next_look = self._next_cleaning = clock.monotonic()
        self._dbos: DBOS | None = None
        self._waker = Waker()
        membership.when_lost(self.let_go)

    async def prepare(self) -> None:
        """Create or migrate the queue's tables. A lock of DBOS lets only one of several processes do it.

        Raises:
            ConfigurationError: the tables cannot be created.
        """
        try:
            await asyncio.to_thread(self._client._sys_db.run_migrations)
        except Exception as error:  # noqa: BLE001 - its driver can raise anything
            # Its text may hold the address with the password.
            raise ConfigurationError(
                [f"DATABASE_URL: the queue's tables cannot be made there ({type(error).__name__})"]
            ) from None

    def submit(self, item_id: int, thread: str) -> None:
        """Wake the pump."""
        del item_id, thread
        self._more.set()

    async def resume(self, database: Database) -> int:
        """Start to hand over waiting rows and to run turns from the queue. Return the number of rows that waited."""
        async with database.transaction() as tx:
            waiting = await handover.count_unhanded(tx)
        failpoint("resuming")
        self._side_tasks.append(asyncio.create_task(self._pump(), name="fleet pump"))
        if self._works:
            await asyncio.to_thread(self._launch)
            listening = wakeups.listen(self._database, self._clock, self._member, self._wake_soon)
            self._side_tasks.append(asyncio.create_task(listening, name="fleet listen"))
            self._side_tasks.append(asyncio.create_task(self._sweep(), name="fleet sweep"))
        return waiting

    async def drain(self, seconds: float) -> None:
        """Start nothing more, wait up to `seconds` for running turns, cancel the rest. Other workers get it at once."""
        self._runner.close()
        for task in self._side_tasks:
            task.cancel()
        await asyncio.gather(*self._side_tasks, return_exceptions=True)
        self._side_tasks.clear()
        if self._dbos is None:
            return
        for event in self._dbos.background_thread_stop_events:
            event.set()
        self._waker.wake()
        if self._turns:
            await asyncio.wait(self._turns, timeout=seconds)
        await cancel_all(tuple(self._turns), CLEANUP_TIMEOUT - DBOS_STOP_TIMEOUT)
        ending, self._dbos = self._dbos, None
        closing = asyncio.create_task(asyncio.to_thread(_end, ending, self._member), name="fleet end")
        await asyncio.wait({closing}, timeout=DBOS_STOP_TIMEOUT)

    def let_go(self) -> None:
        """Cancel running turns: the lease is lost, and other processes may take them. The sweep finds the rest."""
        for turn in tuple(self._turns):
            turn.cancel()

    @property
    def active(self) -> int:
        """The number of turns that run in this process."""
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
        """Put rows into the queue and mark them, in one transaction. Return the number of rows."""
        async with self._database.transaction() as tx:
            rows, self._is_full = await handover.unhanded(
                tx, limit=HAND_LIMIT, share=SHARE, room=self._room, now=self._clock.now()
            )
            for row in rows:
                await tx.run_sync(self._client.enqueue_in_transaction, _options(row), row.id)
            if rows:
                await handover.mark(tx, [row.id for row in rows], handed=True)
                await wakeups.tell(tx, self._member)
        if rows:
            self._waker.wake()
        return len(rows)

    def _launch(self) -> None:
        """Start DBOS. The caller uses a thread without an event loop, so DBOS creates its own and leaves ours alone."""
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

        # DBOS sets no bound: the turn itself gives up a row that fails again and again, and reports it.
        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
        async def take_turn(item_id: int) -> None:
            await self._run(item_id)

        DBOS.launch()
        self._waker.interrupt(self._dbos.background_thread_stop_events)
        # With retries, a thread would repeat a statement that met an outage for ever, with pauses of up to 90 s. Not
        # even the end of the process would end that thread. Without them it fails, and `_take_over` finds its entry.
        self._dbos._sys_db._retry_connection_errors = False
        DBOS.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=self._concurrent,
            polling_interval_sec=QUEUE_POLL_INTERVAL,
            on_conflict="always_update",
        )

    async def _run(self, item_id: int) -> None:
        """Run the turn on our event loop. Raises CancelledError if it is not done, so the entry stays as it is."""
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

    def _wake_soon(self) -> None:
        """Look for entries that another process has put into the queue. All workers hear of them at the same time."""
        delay = random.uniform(0.0, SPREAD_SECONDS)  # noqa: S311 - it protects nothing
        self._loop.call_later(delay, self._waker.wake)

    async def _look_for_next(self, item_id: int) -> None:
        """Look for the thread's next entry soon, if there is one: it cannot begin before this one's end."""
        with contextlib.suppress(StoreUnavailable):
            async with self._database.reading() as tx:
                if await handover.has_next(tx, item_id):
                    for delay in END_LOOK_DELAYS:
                        self._loop.call_later(delay, self._waker.wake)

    async def _take_in_place(self, item_id: int) -> bool:
        """Wait for a slot and run the row. Rows that were running at two crashes run one by one.

        So a row that crashes the process does not use up the tries of all the others.
        """
        try:
            async with self._database.reading() as tx:
                is_suspect = await inbox.is_suspect(tx, item_id)
        except StoreUnavailable:
            # The turn waits for the same database anyway. After the next crash the row is checked again.
            is_suspect = False
        is_done = await self._runner.take(item_id, self._alone if is_suspect else self._places)
        if self._is_full:
            self._more.set()
        await self._look_for_next(item_id)
        return is_done

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
        """Whether leases can be compared with our clock. If it was set forward, all other processes would seem dead."""
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
        async with self._database.reading() as tx:
            alive = await leases.alive(tx, now=self._clock.now())
            at_work = await handover.at_work(tx, QUEUE)
        dead = {member for _, member in at_work} - alive - {self._member}
        if dead:
            logger.warning("turns of processes that are gone are taken over", extra={"members": sorted(dead)})
            await asyncio.to_thread(DBOS._recover_pending_workflows, sorted(dead))
            self._waker.wake()
        if self._dbos is None:
            return
        own = {entry for entry, member in at_work if member == self._member}
        missing = own - set(self._dbos._active_workflows_set.activeList())
        # An entry is also missing between its claim and its start. It is lost if it is missing twice in a row.
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
        """Hand over open rows again whose entry has ended or does not exist."""
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
        """Delete entries and leases that ended long ago. Idempotent."""
        before = self._clock.now() - DONE_ENTRIES_PERIOD
        while True:
            async with self._database.transaction() as tx:
                await leases.prune(tx, now=self._clock.now())
                old = await handover.ended_before(tx, QUEUE, before, limit=DELETE_LIMIT)
            if old:
                await self._client.delete_workflows_async(old)
            if len(old) < DELETE_LIMIT:
                return


def entry_id(row: OpenRow) -> str:
    """Return the id of the row's entry: the same each time, and sorted like the messages."""
    seconds, _, fraction = row.ts.partition(".")
    words = ["turn", row.thread.team, row.thread.channel, row.thread.ts, f"{seconds:0>12}.{fraction:0<6}"]
    if row.kind != "message":
        words.append(row.kind)
    return "|".join(words)


def _options(row: OpenRow) -> EnqueueOptions:
    return EnqueueOptions(
        workflow_name=WORKFLOW,
        queue_name=QUEUE,
        workflow_id=entry_id(row),
        queue_partition_key=row.thread.key,
        app_version=VERSION,
    )


def _end(dbos: DBOS, member: str) -> None:
    """Give back the remaining entries and stop DBOS. Blocks for a second or two."""
    end = time.monotonic() + ENTRY_CLOSE_TIMEOUT
    # DBOS closes its event loop first. An entry that its queue thread took after that could not start.
    for thread in dbos._background_threads:
        thread.join(max(0.0, end - time.monotonic()))
    # DBOS is still closing the entries whose turns are done.
    end = time.monotonic() + ENTRY_CLOSE_TIMEOUT
    while dbos._active_workflows_set.activeList() and time.monotonic() < end:
        time.sleep(0.02)
    try:
        DBOS._recover_pending_workflows([member])
    except Exception:
        # A process that finds our lease expired does it.
        logger.exception("turns were not given back")
    DBOS.destroy(destroy_registry=True)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
