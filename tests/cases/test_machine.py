"""Whatever people do with a case, in whatever order, and however often it is begun again after a crash."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, or_, select

from bot.cases.case import MovedOn
from bot.conversation import Customer, ThreadRef
from bot.store import inbox, outbox, schema
from bot.store.cases import OPEN_STATES, Case, card_key, latest_of
from bot.store.database import Database
from bot.store.inbox import Arrival, InboxItem
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack, open_local_slack
from tests.patience import patience
from tests.store.test_interrupts import deletion, edit
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_edits import Desk

PATIENCE = patience(20.0)
DM, AGENTS = "D0CUSTOMERA", "C0AGENTS"
A, B = "U0AGENTA", "U0AGENTB"
Step = Callable[["Bench"], Awaitable[None]]


@dataclass
class Written:
    """What somebody of the team wrote under the card."""

    ts: str
    author: str
    words: str
    to_customer: bool
    gone: bool = False


@dataclass
class Bench:
    """One thread of a customer's, and what must be so in it."""

    desk: Desk
    thread: ThreadRef
    customer: Customer
    crashes: bool = False
    """Whether the next row is worked on twice."""
    written: list[Written] = field(default_factory=list)
    versions: dict[int, int] = field(default_factory=dict)

    async def open(self) -> None:
        await self.desk.cases.open(self.thread, self.customer, reason="upset", priority="medium")
        await self.send()

    async def claim(self, who: str) -> None:
        await self._step(lambda case: self.desk.cases.claim(case.ref, who))

    async def take_over(self, who: str) -> None:
        await self._step(lambda case: self.desk.cases.take_over(case.ref, who))

    async def hand_back(self) -> None:
        await self._step(lambda case: self.desk.cases.hand_back(case.ref, A, note="As agreed"))

    async def resolve(self) -> None:
        await self._step(lambda case: self.desk.cases.resolve(case.ref, A))

    async def await_customer(self) -> None:
        await self._step(lambda case: self.desk.cases.await_customer(case.ref, A))

    async def put_aside(self) -> None:
        later = self.desk.clock.now() + 60.0
        await self._step(lambda case: self.desk.cases.put_aside(case.ref, A, later))

    async def wake(self) -> None:
        await self._step(lambda case: self.desk.cases.wake(case.ref, A))

    async def reopen(self) -> None:
        await self._step(lambda case: self.desk.cases.reopen(case.ref, self.customer.user))

    async def write(self, who: str, note: str = "") -> None:
        case = await self.case()
        if case is None:
            return
        words = f"{note}word{len(self.written)}"
        async with self.desk.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(case))
        assert card is not None
        assert card.ts is not None
        ts = await self.desk.slack.workspace.act.send(who, AGENTS, words, thread_ts=card.ts)
        said = arrival(ts, text=words, thread_ts=card.ts, channel=AGENTS, kind="staff", author=who)
        self.written.append(Written(ts, who, words, to_customer=not note and case.is_with(who)))
        await self._work(said, self.desk.relay.from_staff)

    async def say(self) -> None:
        """The customer writes while people have the case."""
        case = await self.case()
        if case is None or not case.is_open:
            return
        ts = await self.desk.slack.client.chat.post(DM, text="And my lamp?", thread_ts=self.thread.ts)
        said = arrival(ts, text="And my lamp?", thread_ts=self.thread.ts, author=self.customer.user)

        async def relay(item: InboxItem) -> None:
            await self.desk.relay.from_customer(case, item, self.customer)

        await self._work(said, relay)

    async def reword(self) -> None:
        if (last := self._latest()) is not None:
            last.words = f"{last.words}x"
            place = {"thread_ts": last.ts, "channel": AGENTS, "author": last.author}
            await self._work(edit(last.ts, self._ts(), last.words, **place), self.desk.thoughts.edited)

    async def delete(self) -> None:
        if (last := self._latest()) is not None:
            last.gone = True
            place = {"thread_ts": last.ts, "channel": AGENTS, "author": last.author}
            await self._work(deletion(last.ts, self._ts(), **place), self.desk.thoughts.deleted)

    async def crash(self) -> None:
        self.crashes = True

    async def send(self) -> None:
        running = asyncio.create_task(self.desk.outbox.run())
        self.desk.outbox.wake()
        async with asyncio.timeout(PATIENCE):
            while not await self.desk.outbox.flush(20.0):
                pass
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    async def case(self) -> Case | None:
        async with self.desk.database.transaction() as tx:
            return await latest_of(tx, self.thread)

    async def check(self) -> None:
        """What holds after every step."""
        table = schema.kase
        async with self.desk.database.transaction() as tx:
            ours = table.c.thread == self.thread.key
            count = select(func.count()).where(ours, table.c.state.in_(OPEN_STATES))
            assert (await tx.execute(count)).scalar_one() <= 1
            for row in await tx.execute(select(table.c.id, table.c.version).where(ours)):
                assert row.version >= self.versions.get(row.id, 1)
                self.versions[row.id] = row.version
            marked = or_(table.c.reply_due.is_not(None), table.c.snoozed_until.is_not(None), table.c.reply_missed)
            strays = select(func.count()).where(ours, table.c.state != "human", marked)
            assert (await tx.execute(strays)).scalar_one() == 0, "only a case that a person has is marked"

    async def check_what_was_read(self) -> None:
        """What holds once everything is said: each of the owner's messages is read once, in order, as it is now."""
        await self.send()
        kept = sorted(self.desk.slack.workspace.messages[DM].items())
        there = [each for _, each in kept if each.get("thread_ts") == self.thread.ts]
        read = [each["text"] if "username" in each else each["text"].partition("\n")[2] for each in there]
        words = [text.partition(" _")[0] for text in read if "word" in text]
        assert words == [each.words for each in self.written if each.to_customer and not each.gone]
        await self._check_map()

    async def _check_map(self) -> None:
        """Each message has one copy, and each copy is of one message."""
        table = schema.outbox
        pairs = select(table.c.channel, table.c.ts, table.c.source_channel, table.c.source_ts)
        relayed = pairs.where(table.c.method == "post", table.c.state == "sent", table.c.source_ts.is_not(None))
        async with self.desk.database.transaction() as tx:
            rows = (await tx.execute(relayed)).all()
        assert len({row[:2] for row in rows}) == len({row[2:] for row in rows}) == len(rows)

    async def _step(self, change: Callable[[Case], Awaitable[Case]]) -> None:
        case = await self.case()
        for _ in range(1 + self._crashed()):
            if case is not None:
                with contextlib.suppress(MovedOn):
                    await change(case)

    async def _work(self, arrived: Arrival, work: Callable[[InboxItem], Awaitable[object]]) -> None:
        (item,) = await self.desk.receives(arrived)
        await work(item)
        if self._crashed():
            async with self.desk.database.transaction() as tx:
                again = await inbox.start(tx, item.id)
            if again is not None:
                await work(again)

    def _crashed(self) -> bool:
        crashed, self.crashes = self.crashes, False
        return crashed

    def _latest(self) -> Written | None:
        return next((each for each in reversed(self.written) if each.to_customer and not each.gone), None)

    def _ts(self) -> str:
        return str(self.desk.slack.workspace.new_ts())


STEPS: dict[str, Step] = {
    "open": Bench.open,
    "claim by a": lambda bench: bench.claim(A),
    "claim by b": lambda bench: bench.claim(B),
    "take over by b": lambda bench: bench.take_over(B),
    "reply of a": lambda bench: bench.write(A),
    "reply of b": lambda bench: bench.write(B),
    "words of the customer": Bench.say,
    "note of a": lambda bench: bench.write(A, "// "),
    "edit": Bench.reword,
    "delete": Bench.delete,
    "await the customer": Bench.await_customer,
    "put aside": Bench.put_aside,
    "wake": Bench.wake,
    "hand back": Bench.hand_back,
    "resolve": Bench.resolve,
    "reopen": Bench.reopen,
    "crash": Bench.crash,
    "send": Bench.send,
}


@pytest.fixture
async def hasty() -> AsyncIterator[LocalSlack]:
    """A local Slack whose client need not wait for its pace."""
    async with open_local_slack(ManualClock()) as slack:
        yield slack


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=20))
async def test_a_thread_has_one_open_case_and_the_customer_reads_its_owner_once_and_in_order(
    database: Database, hasty: LocalSlack, steps: list[str]
) -> None:
    desk = Desk(database, hasty)
    root = await hasty.client.chat.post(DM, text="Where is my lamp?")
    # Nobody may have many cases open, and each example leaves one.
    bench = Bench(desk, ThreadRef(TEAM, DM, root), replace(CUSTOMER, user=f"U{root}"))
    for name in ("open", "claim by a", *steps):
        await STEPS[name](bench)
        await bench.check()
    await bench.check_what_was_read()
