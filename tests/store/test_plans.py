"""No statement of a message's way, of a case's or of an erasure reads a whole table that grows: EXPLAIN says so.

The statements are those that the product itself makes, as they come to the database: questions are answered, a person
is called, claims the case, writes and solves it; a desk of two customers is filled and one of them erased
(tests/turns/test_erasure.py). What is looked up besides is called by name.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text, update

from bench.big_desk import AGENTS, START, TEAM, channel, customer, fill, message
from bot.clock import DAY
from bot.conversation import ThreadRef
from bot.privacy.retention import Retention
from bot.reporting import metrics
from bot.store import (
    case_lists,
    case_search,
    cases,
    drafts,
    erasure,
    forgetting,
    inbox,
    limits,
    outages,
    outbox,
    pauses,
    persons,
    preferences,
    schema,
    spending,
    summaries,
    threads,
    transcripts,
    turns,
)
from bot.store import (
    interrupts as interrupts,
)
from bot.store.case_search import CaseQuery
from bot.store.database import Database, Transaction
from bot.turns.retention import RetentionSweep
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import says
from tests.store.test_interrupts import deletion, edit
from tests.turns.answering import build_outbox
from tests.turns.arrivals import arrival
from tests.turns.test_calling import sent as sends
from tests.turns.test_erasure import Company, filled
from tests.turns.test_stopping import BOOTS, PATIENCE, Desk

GROWING = (
    *("inbox", "thread", "turn", "case_", "outbox", "file_copy", "spending", "summary", "draft", "feedback", "audit"),
    *("case_helper", "suggestion", "preference"),
)
"""Tables that have a row for each message, conversation, case or customer."""
OF_A_FEW = ("uq_case_open_thread",)
"""Indexes that hold only rows of which there are never many."""
MESSAGES, CUSTOMERS = 20_000, 200

Statement = tuple[str, Any]


@contextmanager
def statements(database: Database) -> Iterator[dict[str, Any]]:
    """What is sent to the database meanwhile: each statement, with one set of its values."""
    sent: dict[str, Any] = {}

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, _context: Any, executemany: bool) -> None:
        sent.setdefault(statement, values[0] if executemany else values)

    engine = database._engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


@pytest.fixture
async def big(database: Database) -> Database:
    """A database as it is after years, so that its plans are those of then."""
    await fill(database, messages=MESSAGES, customers=CUSTOMERS)
    return database


async def scans(database: Database, sent: dict[str, Any]) -> list[str]:
    """The statements that read a whole table that grows, and the plan of each."""
    found = []
    for statement, values in sent.items():
        if statement.split()[0].lower() not in ("select", "insert", "update", "delete", "with"):
            continue
        async with database.transaction() as tx:
            plan = await _plan(tx, statement, values)
        found += [f"{step}: {statement}" for step in plan]
    return found


async def _plan(tx: Transaction, statement: str, values: Any) -> list[str]:
    """The steps of a statement's plan that read all of a table that grows."""
    if tx.dialect.name == "sqlite":
        rows = (await tx.exec_driver_sql(f"explain query plan {statement}", values)).all()
        aliases = dict(re.findall(r'\b(\w+) AS "?(\w+)"?', statement))
        names = {*GROWING, *(alias for table, alias in aliases.items() if table in GROWING)}
        read = [step for step in (str(row.detail) for row in rows) if step.startswith("SCAN ")]
        return [step for step in read if step.split()[1].strip('"') in names]
    # What remains of a whole reading is what no index can do.
    await tx.execute(text("set local enable_seqscan = off"))
    (found,) = (await tx.exec_driver_sql(f"explain (format json) {statement}", values)).one()
    plan = found if isinstance(found, list) else json.loads(found)
    return [step for top in plan for step in _whole(top["Plan"])]


def _whole(node: dict[str, Any], *, few: bool = False) -> Iterator[str]:
    """`few`: only the first rows are read of what an index puts in order."""
    reads = node["Node Type"] in ("Seq Scan", "Index Scan", "Index Only Scan")
    is_first = (few and "Filter" not in node) or node.get("Index Name") in OF_A_FEW
    if reads and node.get("Relation Name") in GROWING and "Index Cond" not in node and not is_first:
        yield f"{node['Node Type']} of {node['Relation Name']}"
    for child in node.get("Plans", ()):
        yield from _whole(child, few=node["Node Type"] == "Limit")


async def test_a_statement_that_reads_a_whole_table_is_found(big: Database) -> None:
    with statements(big) as sent:
        async with big.transaction() as tx:
            await tx.execute(text("select id from inbox where reason = 'nothing'"))
            await tx.execute(text("select id from outbox where key like '%/card'"))
            await tx.execute(text("select id from inbox where author = 'U1'"))
    assert len(await scans(big, sent)) == 2


async def test_what_a_message_looks_up_is_found_by_index(big: Database) -> None:
    thread, ts = message(17, customers=CUSTOMERS)
    who = customer(17)
    with statements(big) as sent:
        async with big.transaction() as tx:
            await _message(tx, thread, ts, who)
            await _case(tx, thread, who)
    assert len(sent) > 40
    assert not (found := await scans(big, sent)), "\n\n".join(found)


async def _message(tx: Transaction, thread: ThreadRef, ts: str, who: str) -> None:
    """All that is read and written from an event to the end of its turn."""
    said = arrival("1900000000.000001", thread_ts=thread.ts, channel=thread.channel, author=who)
    await interrupts.store_all(tx, [said], now=2e9)
    await inbox.unfinished(tx)
    await inbox.suspects(tx)
    await inbox.last_received(tx)
    await inbox.is_stored(tx, said)
    await inbox.recent_threads(tx, since=2e9, limit=10)
    item = await inbox.start(tx, 2)
    stored = await interrupts.written(tx, TEAM, thread.channel, said.ts)
    assert (item, stored is not None) == (None, True)
    item = await inbox.start(tx, stored.id if stored else 0)
    assert item is not None
    await turns.ended(tx, item.id, thread)
    await threads.set_language(tx, thread, "en")
    await threads.find_thread(tx, thread)
    await cases.find_open(tx, thread)
    await cases.latest_of(tx, thread)
    await pauses.is_paused(tx, thread.channel)
    await pauses.with_thread(tx, thread)
    await preferences.language(tx, who)
    await summaries.latest(tx, thread, 0)
    await turns.of_episode(tx, thread, 0, latest=20)
    await turns.latest_customer(tx, thread)
    await turns.began(tx, item.id)
    await turns.record(tx, item.id, {"round-1": {"text": "x"}, "call-1": {}}, attempt=1, now=2e9)
    await turns.look_up(tx, item.id, "round-1", attempt=1)
    await spending.spent(tx, TEAM, who, since=2e9 - 86_400)
    await spending.expected_cost(tx, TEAM, who, since=2e9 - 86_400)
    await spending.set_aside(tx, item, 0.01, now=2e9)
    await limits.take(tx, f"tools/{TEAM}/{who}", times=5, seconds=60.0, now=2e9)
    await threads.epoch_of(tx, thread.key)
    await inbox.last_said(tx, thread, who)
    await inbox.body_at(tx, thread.channel, ts, author=who)
    await inbox.with_files(tx, thread, author=who, latest=3)
    await interrupts.claim(tx, thread)
    await interrupts.find_requested(tx, [item.id])
    await outbox.open_rows(tx)
    await outbox.heads(tx, besides=[(AGENTS, "/x")], channels=["C0"], limit=20)
    await outbox.head(tx, AGENTS, "/case/1/card")
    await outbox.relayed(tx, thread, latest=20)
    await outbox.mirrors(tx, thread.channel, ts)
    await outbox.posts_under(tx, "turn/17/")
    await outbox.by_place(tx, AGENTS, "1700000001.000001")
    await inbox.finish(tx, item.id, "done", now=2e9)


async def _case(tx: Transaction, thread: ThreadRef, who: str) -> None:
    """All that a case looks up, from its opening to its end."""
    case = await cases.latest_of(tx, thread)
    assert case is not None
    await cases.claims_since(tx, 1e9, latest=200)
    await cases.find_open_of(tx, TEAM, who)
    await cases.merged_into(tx, case.id)
    await cases.due_by(tx, 2e9, states=("resolved", "waiting", "out_of_hours"), limit=50)
    await case_lists.of_view(tx, "all", limit=20)
    await case_lists.of_customer(tx, TEAM, who, limit=20)
    await case_lists.cards(tx, [case])
    await transcripts.of_thread(tx, thread)
    await outbox.said_in_case(tx, case.id, thread.channel, latest=6)
    await outbox.standing(tx, case.id, AGENTS, f"/case/{case.id}/card")
    await drafts.conversation(tx, case)
    await drafts.deleted_since(tx, case, 1)
    await erasure.written_by_others(tx, thread, author=who)
    await erasure.said_besides(tx, [thread.key], besides=[1])
    await erasure.cases_of(tx, [thread.key], more=[case.id])


async def test_what_desks_and_outages_look_up_is_found_by_index(big: Database) -> None:
    thread, _ = message(17, customers=CUSTOMERS)
    at = case_lists.Desks(frozenset(("",)))
    with statements(big) as sent:
        async with big.transaction() as tx:
            for view in ("mine", "unassigned", "late", "claimed", "customer", "snoozed", "solved", "all"):
                await case_lists.of_view(tx, view, limit=20)
            await case_lists.count_owned(tx, at=at)
            await case_lists.owing_replies(tx, at=at, limit=20)
            await outages.waiting_cases(tx, limit=20)
            await outages.count(tx, since=4e9)
            await inbox.last_said_in(tx, thread, customer(17))
    assert await scans(big, sent) == []


async def test_what_a_search_looks_up_is_found_by_index(big: Database) -> None:
    queries = [
        CaseQuery(),
        CaseQuery(words=("unicorn", "order")),
        CaseQuery(words=("FD-1017",)),
        CaseQuery(customer=customer(17), since=START, before=START + 1e6),
        CaseQuery(owner="U0AGENTZ", tag="refund", states=("human", "closed")),
        CaseQuery(owner=""),
    ]
    with statements(big) as sent:
        async with big.transaction() as tx:
            for query in queries:
                for after in (None, 7):
                    await case_search.search_cases(tx, query, limit=10, after=after)
    assert len(sent) > 6
    assert not (found := await scans(big, sent)), "\n\n".join(found)


async def test_what_an_erasure_looks_up_is_found_by_index(big: Database) -> None:
    user, direct = customer(17), channel(17)
    with statements(big) as sent:
        async with big.transaction() as tx:
            await persons.count(tx, await persons.find(tx, user))
            await persons.interrupt_deleted(tx, user)
            within = await forgetting.bounds(tx)
            batch = await forgetting.next_items(tx, user, within, after=0, besides=0, limit=20)
            assert batch is not None
            thread = ThreadRef(TEAM, direct, "1700000017.000000")
            for place in (forgetting.in_channel(direct), forgetting.in_thread(thread), forgetting.of_case(18)):
                await forgetting.erase_posts(tx, user, place, within, limit=20, now=2e9)
            await forgetting.close_items(tx, batch, now=2e9)
            await forgetting.erase_items_posts(tx, user, batch, now=2e9)
            await forgetting.erase_items_answers(tx, batch, now=2e9)
            await forgetting.erase_items(tx, batch)
            answers = await forgetting.next_answers(tx, user, within, limit=20)
            await forgetting.forget_threads(tx, user, {thread})
            await forgetting.erase_answers(tx, answers, now=2e9)
            theirs = await forgetting.cases_of(tx, user)
            await forgetting.forget_drafting(tx, theirs)
            case = await forgetting.the_case(tx, user, theirs[0])
            await forgetting.erase_below(tx, case.cards[0], after=0, limit=20)
            await forgetting.erase_case(tx, user, case)
            await forgetting.erase_costs(tx, user, limit=20)
            await forgetting.erase_preferences(tx, user)
            await persons.close_requests(tx, user, item=1, now=2e9)
    assert len(sent) > 40
    assert not (found := await scans(big, sent)), "\n\n".join(found)


async def test_what_a_sweep_looks_up_and_changes_is_found_by_index(
    big: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rolled_up(*_: Any, **__: Any) -> None:
        """As the report itself, it reads all of a time."""

    monkeypatch.setattr(metrics, "roll_up", rolled_up)
    clock = ManualClock(START + 500 * DAY)
    async with big.transaction() as tx:
        # A few conversations of one day, among all that goes on.
        later = {"received_at": clock.now(), "finished_at": clock.now()}
        await tx.execute(update(schema.inbox).where(schema.inbox.c.id > 2_000).values(**later))
        for table, at in ((schema.spending, schema.spending.c.at), (schema.feedback, schema.feedback.c.given_at)):
            await tx.execute(update(table).where(at > START + 2_000).values({at: clock.now()}))
        await tx.execute(update(schema.audit).where(schema.audit.c.id > 200).values(at=clock.now()))
        await tx.execute(update(schema.kase).where(schema.kase.c.id > 200).values(ended_at=clock.now()))
        young = update(schema.outbox).where(schema.outbox.c.created_at > START + 2_000)
        await tx.execute(young.values(created_at=clock.now()))
    with statements(big) as sent:
        swept = await RetentionSweep(big, clock, Retention()).sweep()
        due = await RetentionSweep(big, clock, Retention(words=14)).due()
    assert min(swept["words"], swept["records"]) > 100
    assert not due.words
    assert len(sent) > 40
    assert not (found := await scans(big, sent)), "\n\n".join(found)


async def test_what_a_whole_desk_and_an_erasure_in_it_do_is_found_by_index(big: Database, slack: LocalSlack) -> None:
    company = Company(big, slack)
    company.outbox = build_outbox(big, slack.client, company.clock)
    with statements(big) as sent:
        async with asyncio.timeout(3 * PATIENCE):
            await _serves(Desk(big, slack, says("All about boots."), says("They are brown.")))
        answering = len(sent)
        await filled(company)
        await company.erases(await company.interrupts())
        await company.sends()
    # What the test itself reads of everything, and what a person who searches or counts asks for.
    ours = {statement: values for statement, values in sent.items() if "WHERE" in statement}
    assert (answering > 80, len(ours) > 130) == (True, True), "less was done than is to be looked at"
    assert not (found := await scans(big, ours)), "\n\n".join(found)


async def _serves(desk: Desk) -> None:
    """Two questions are answered, a person is called, claims and solves the case; what was said is edited, deleted."""
    root, row = await desk.asked(BOOTS)
    await desk.turns.take(row)
    for words in ("And their colour?", "I need a human", "Is anybody there?"):
        ts = await desk.slack.client.chat.post("C0SUPPORT", text=words, thread_ts=root)
        more = arrival(ts, text=words, thread_ts=root, channel="C0SUPPORT")
        await desk.turns.take(await desk.receives(more))
    await sends(desk)
    async with desk.database.transaction() as tx:
        case = await cases.find_open(tx, ThreadRef(TEAM, "C0SUPPORT", root))
    assert case is not None
    await desk.cases.claim(case.ref, "U0AGENTA")
    for change in (
        edit(ts, "1999999999.000001", "Is somebody there?", thread_ts=root, channel="C0SUPPORT"),
        deletion(ts, "1999999999.000002", thread_ts=root, channel="C0SUPPORT"),
    ):
        await sends(desk)
        await desk.turns.take(await desk.receives(change))
    await desk.cases.resolve(case.ref, "U0AGENTA")
    await sends(desk)
