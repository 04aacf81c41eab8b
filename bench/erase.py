"""What the erasure of one customer costs on a big desk, and what others notice of it; the last line is JSON.

python -m bench.erase                      500,000 messages, 50,000 cases, of which 1,000 and 100 are the customer's
python -m bench.erase --messages 5000000   ten times as many
python -m bench.erase --postgres           on a Postgres of its own instead of a SQLite file
python -m bench.erase --database URL       in this empty database

Besides, the customer wrote 400 messages in a channel, of 1,200: 100 and 100 in two long threads, and four in each of
fifty.

wall_s, cpu_s             the erasure, from the press to the last row; nothing is said to a Slack, and there is none
longest_transaction_ms    how long it held the database at once; `transactions` says how often
transaction_p99_ms        of all but one in a hundred; longest_transaction_cpu_ms, the most of this process's CPU in one
floor_transaction_ms      the longest of transactions that change one row and nothing else: one is made after each of
                          the others, so that as many meet the same machine. Their time is in no other figure
refused                   events that came meanwhile, 20 a second, and were refused
longest_ack_ms            how late an event was stored, the latest one, and ack_p99_ms all but one in a hundred
idle_longest_ack_ms, idle_ack_p99_ms
                          the same before it
look_ups_ms               what a message looks up by its thread and its place, before the erasure
left                      rows that still bear the customer's id, besides the line that says they were erased
"""

import argparse
import asyncio
import gc
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from sqlalchemy import select, update

from bench.big_desk import AGENTS, TEAM, customer, fill, message, share
from bot.cases.cases import Cases
from bot.cases.messages import CaseMessages
from bot.cases.relay import Relay
from bot.cases.staff import Staff
from bot.cases.step import Stepping
from bot.clock import SystemClock
from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable
from bot.ingest.inbox import Inbox
from bot.ingest.interrupts import Interrupts
from bot.language.sentences import load_sentences
from bot.slack.api.errors import SlackRefused
from bot.store import attempts, cases, inbox, persons, schema
from bot.store.bodies import InteractionBody, MessageBody
from bot.store.database import Database, Transaction, open_database
from bot.store.inbox import Arrival
from bot.telemetry import Metrics
from bot.turns.edits import MessageEdits
from bot.turns.erasure import Erasure
from tests.doubles.postgres import CAREFREE, open_postgres

EVERY_SECONDS = 0.05
"""Between two events."""
QUIET_SECONDS = 5.0
"""How long events come before the erasure."""
OF_ONE = 500
"""A customer of so many has one message in as many."""


class Timed(Database):
    """A database that remembers how long each of its transactions was open, and the CPU that this process took then.

    After each it makes one of the floor.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.seconds: list[float] = []
        self.cpu: list[float] = []
        self.floor: list[float] = []
        self.spent_on_floor, self.cpu_of_floor = 0.0, 0.0

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[Transaction]:
        """As Database.transaction."""
        async with self._database.transaction(urgent=urgent) as tx:
            began, cpu = time.monotonic(), time.process_time()
            yield tx
        self.seconds.append(time.monotonic() - began)
        self.cpu.append(time.process_time() - cpu)
        await self._make_one_of_the_floor()

    async def _make_one_of_the_floor(self) -> None:
        began, cpu, table = time.monotonic(), time.process_time(), schema.inbox
        async with self._database.transaction() as tx:
            opened = time.monotonic()
            await tx.execute(update(table).where(table.c.id == 1).values(reason="answered"))
        self.floor.append(time.monotonic() - opened)
        self.spent_on_floor += time.monotonic() - began
        self.cpu_of_floor += time.process_time() - cpu

    async def scrub(self) -> None:
        """As Database.scrub."""
        await self._database.scrub()


class Nowhere:
    """Stands for Slack, the outbox, the engine and answers: nothing is sent, and nobody is known."""

    cases: Cases

    def wake(self) -> None:
        """As Outbox.wake."""

    def submit(self, item_id: int, thread: str) -> None:
        """As TurnQueue.submit."""

    async def identify(self, user: str, *, with_shop: bool = True) -> None:
        """As Identities.identify, of somebody who is gone."""
        raise SlackRefused("users.info", "user_not_found")

    async def show(self, user: str) -> None:
        """As Home.show, of somebody who has none."""
        raise SlackRefused("views.publish", "user_not_found")


class Events:
    """Messages of other customers, which come all the time."""

    def __init__(self, database: Database) -> None:
        self._inbox = Inbox(database, SystemClock(), Metrics())
        self.seconds: list[float] = []
        self.refused = 0

    async def run(self) -> None:
        """Let them come until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._inbox.run(Nowhere()))
            number = 0
            while True:
                number += 1
                tasks.create_task(self._one(f"{time.time():.6f}", number))
                await asyncio.sleep(EVERY_SECONDS)

    async def _one(self, ts: str, number: int) -> None:
        thread = ThreadRef(TEAM, f"D9{number:07}", ts)
        body = MessageBody("Where is my order?")
        arrival = Arrival(f"Ev9{ts}/{number}", "message", thread, ts, f"U9{number:07}", TEAM, body, addressed=True)
        began = time.monotonic()
        try:
            await self._inbox.accept(arrival)
        except StoreUnavailable:
            self.refused += 1
        self.seconds.append(time.monotonic() - began)


async def measure(database: Database, *, customers: int, messages: int) -> dict[str, Any]:
    """Erase one customer while others write."""
    user, looked_up = customer(7), await _look_ups(database, customers=customers, messages=messages)
    shared = await share(database, user, first=messages + 1)
    events = Events(database)
    coming = asyncio.create_task(events.run())
    await asyncio.sleep(QUIET_SECONDS)
    idle, events.seconds = events.seconds, []
    timed, item = Timed(database), await _ask(database, user)
    began, cpu = time.monotonic(), time.process_time()
    with attempts.working_on(item.id, item.fence):
        await _erasure(timed).carry_out(item)
    wall = time.monotonic() - began - timed.spent_on_floor
    cpu = time.process_time() - cpu - timed.cpu_of_floor
    await asyncio.sleep(EVERY_SECONDS)
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    return {
        "messages": messages,
        "of_the_customer": messages // customers + shared,
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "transactions": len(timed.seconds),
        "longest_transaction_ms": _ms(max(timed.seconds)),
        "floor_transaction_ms": _ms(max(timed.floor)),
        "transaction_p99_ms": _p99(timed.seconds),
        "longest_transaction_cpu_ms": _ms(max(timed.cpu)),
        "refused": events.refused,
        "longest_ack_ms": _ms(max(events.seconds)),
        "ack_p99_ms": _p99(events.seconds),
        "idle_longest_ack_ms": _ms(max(idle)),
        "idle_ack_p99_ms": _p99(idle),
        "look_ups_ms": looked_up,
        "left": await _left(database, user),
    }


def _erasure(database: Database) -> Erasure:
    nothing, clock = cast(Any, Nowhere()), SystemClock()
    sentences = load_sentences()
    messages = CaseMessages(sentences, AGENTS)
    of_cases = Cases(Stepping(database, nothing, clock, messages), nothing, nothing, Metrics())
    nothing.cases = of_cases
    relay = Relay(database, nothing, nothing, nothing, clock, messages, Staff(nothing, clock, agent_channel=AGENTS))
    thoughts = MessageEdits(database, nothing, clock, sentences, nothing, relay)
    running, show = Interrupts(), Nowhere().show
    return Erasure(database, nothing, clock, nothing, nothing, of_cases, thoughts, running, show, lambda user: None)


async def _ask(database: Database, user: str) -> inbox.InboxItem:
    body = InteractionBody(persons.REQUEST, message_ts="V")
    interaction = Arrival(
        "Ev-erase", "interaction", ThreadRef(TEAM, "V0HOME", "V0HOME"), "1.1", user, TEAM, body, addressed=True
    )
    async with database.transaction() as tx:
        row = await inbox.add(tx, interaction, now=time.time())
        item = await inbox.start(tx, row or 0)
    if item is None:
        raise RuntimeError("the database is not empty")
    return item


async def _look_ups(database: Database, *, customers: int, messages: int, times: int = 50) -> float:
    """Milliseconds: whose turn it is in a thread, what became of it, and what was written at a place."""
    seconds = []
    for number in range(0, messages, messages // times):
        thread, ts = message(number, customers=customers)
        began = time.monotonic()
        async with database.transaction() as tx:
            await cases.find_open(tx, thread)
            await cases.latest_of(tx, thread)
            await inbox.body_at(tx, thread.channel, ts, author=customer(number % customers))
        seconds.append(time.monotonic() - began)
    return round(1_000 * statistics.median(seconds), 2)


async def _left(database: Database, user: str) -> int:
    kept = (schema.inbox.c.author, schema.turn.c.customer, schema.kase.c.customer, schema.spending.c.customer)
    async with database.transaction() as tx:
        return sum([len((await tx.execute(select(each).where(each == user))).all()) for each in kept])


def _ms(seconds: float) -> float:
    return round(1_000 * seconds, 1)


def _p99(seconds: list[float]) -> float:
    return _ms(statistics.quantiles(seconds, n=100)[98]) if len(seconds) > 1 else 0.0


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--postgres", action="store_true", help="on a Postgres of its own")
    parser.add_argument("--database", help="the address of an empty database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = given.database or f"sqlite+aiosqlite:///{Path(folder) / 'frontdesk.db'}"
        if given.postgres:
            # What tests leave out for speed belongs to what is measured.
            careful = {**CAREFREE, "fsync": "on", "full_page_writes": "on"}
            url = await stack.enter_context(open_postgres(careful)).create()
        async with open_database(url) as database:
            await database.migrate()
            began = time.monotonic()
            await fill(database, messages=given.messages, customers=OF_ONE)
            # As the product does when it has started: what lasts is not looked through for garbage again and again.
            gc.collect()
            gc.freeze()
            print(f"{given.messages} messages were made in {time.monotonic() - began:.0f} s")
            print(json.dumps(await measure(database, customers=OF_ONE, messages=given.messages)))


if __name__ == "__main__":
    asyncio.run(_main())
