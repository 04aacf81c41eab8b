"""What has been kept long enough goes, by kind, and nothing else does; the figures of its days stay."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import astuple
from typing import Any

import pytest
from sqlalchemy import Float, func, select, update

from bench.big_desk import START, fill
from bot.clock import DAY
from bot.privacy.retention import Retention
from bot.reporting.metrics import report_of
from bot.store import cases, daily, inbox, retention, schedule, schema, spending
from bot.store.database import Database, Transaction
from bot.store.erasure import NO_LONGER_KEPT
from bot.turns.retention import RetentionSweep
from bot.turns.upkeep import Upkeep
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.patience import patience
from tests.turns.arrivals import arrival
from tests.turns.test_erasure import CANARY, Company, filled

LASTING = {
    *("away", "shop_event", "tracker"),
    *("schedule", "alias", "pause", "preference", "desk", "fix_list", "daily", "pace", "member", "claim"),
    # An article is the shop's.
    "suggestion",
}
"""The tables that keep rows for good, or from which others take them."""
NEWEST = {"inbox", "outbox"}
"""The tables whose newest row stays, so that its number is not given out again."""


@pytest.fixture
async def company(database: Database, slack: LocalSlack) -> AsyncIterator[Company]:
    """A desk that two customers have filled, and whose cases are closed."""
    company = Company(database, slack)
    async with asyncio.timeout(patience(120.0)):
        await filled(company)
        await company.sends()
        async with database.transaction() as tx:
            closed = {"state": "closed", "ended_at": company.clock.now(), "due": None}
            await tx.execute(update(schema.kase).values(**closed))
            inbox = schema.inbox
            await tx.execute(update(inbox).where(inbox.c.state == "new").values(state="done"))
            await tx.execute(update(schema.action).values(state="done"))
            ended = {"ended_at": company.clock.now(), "why": "silent", "source": "", "collected": {}}
            await tx.execute(update(schema.procedure_run).values(**ended))
            for table in schema.metadata.sorted_tables:
                for column in table.columns:
                    if isinstance(column.type, Float):
                        await tx.execute(update(table).where(column == 1.0).values({column: company.clock.now()}))
        yield company


def sweep_of(company: Company, rule: Retention | None = None) -> RetentionSweep:
    return RetentionSweep(company.database, company.clock, rule or Retention())


async def counts(database: Database) -> dict[str, int]:
    """The number of rows of every table."""
    found = {}
    async with database.transaction() as tx:
        for table in schema.metadata.sorted_tables:
            found[table.name] = (await tx.execute(select(func.count()).select_from(table))).scalar_one()
    return found


async def holding(company: Company, *words: str) -> set[str]:
    """The columns that hold one of the words."""
    return {
        f"{name[0]}.{column}"
        for name, row in (await company.rows()).items()
        for column, value in row.items()
        if any(word in str(value) for word in words)
    }


async def test_the_words_of_ended_conversations_go_and_their_rows_stay(company: Company) -> None:
    before, told = await counts(company.database), await holding(company, *CANARY.values())
    assert {"inbox.body", "turn.messages", "outbox.payload", "case_.summary", "audit.detail", "action.preview"} <= told
    company.clock.advance(89 * DAY)
    await sweep_of(company).sweep()
    assert await holding(company, *CANARY.values()) == told
    company.clock.advance(2 * DAY)
    swept = await sweep_of(company).sweep()
    await company.sends()
    assert await holding(company, *CANARY.values()) == set()
    after = await counts(company.database)
    kept = ("inbox", "turn", "thread", "case_", "action", "action_vote", "audit", "spending", "feedback")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert swept["words"] == before["inbox"]
    assert (await company.rows())[("case_", "1")]["title"] == NO_LONGER_KEPT


async def test_copies_of_files_are_deleted_in_slack_and_messages_stay(company: Company) -> None:
    async with company.database.transaction() as tx:
        copies = schema.file_copy
        shared = list((await tx.execute(select(copies.c.copy).where(copies.c.copy != ""))).scalars())
    assert shared
    messages = said(company)
    company.clock.advance(91 * DAY)
    await sweep_of(company).sweep()
    await company.sends()
    assert {company.slack.workspace.files[each].get("mode") for each in shared} == {"tombstone"}
    assert (await counts(company.database))["file_copy"] == 0
    assert said(company) == messages


def said(company: Company) -> int:
    """How many messages without files Slack shows."""
    messages = company.slack.workspace.messages
    return sum(not message.get("files") for each in messages.values() for message in each.values())


async def test_a_conversation_that_goes_on_keeps_all(company: Company) -> None:
    async with company.database.transaction() as tx:
        await tx.execute(update(schema.kase).where(schema.kase.c.id == 1).values(state="human", ended_at=None))
    company.clock.advance(91 * DAY)
    await sweep_of(company).sweep()
    told = await holding(company, *CANARY.values())
    assert {"inbox.body", "turn.messages", "outbox.payload", "case_.summary"} <= told
    rows = await company.rows()
    assert (rows[("case_", "1")]["title"], rows[("case_", "2")]["title"])[1] == NO_LONGER_KEPT
    # It ends, and then its words go, too.
    async with company.database.transaction() as tx:
        ended = {"state": "closed", "ended_at": company.clock.now()}
        await tx.execute(update(schema.kase).where(schema.kase.c.id == 1).values(**ended))
    company.clock.advance(91 * DAY)
    await sweep_of(company).sweep()
    assert await holding(company, *CANARY.values()) == set()


async def test_after_the_records_nothing_is_left_but_figures_and_what_was_chosen(company: Company) -> None:
    company.clock.advance(401 * DAY)
    await sweep_of(company).sweep()
    await company.sends()
    # What told Slack to delete the files is a delivery.
    company.clock.advance(8 * DAY)
    await sweep_of(company).sweep()
    left = await counts(company.database)
    assert {name for name, number in left.items() if number} <= LASTING | NEWEST
    assert (left["inbox"], left["outbox"], left["daily"] > 0) == (1, 1, True)


async def test_nothing_goes_where_everything_is_kept(company: Company) -> None:
    before = await company.rows()
    company.clock.advance(5_000 * DAY)
    await sweep_of(company, Retention(0, 0, 0)).sweep()
    assert await company.rows() == before


async def test_a_sweep_that_ends_in_between_is_gone_over_again(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    company.clock.advance(401 * DAY)
    for name in ("empty_posts", "empty_rest", "delete_cases", "delete_messages", "delete_threads", "delete_audit"):
        whole = getattr(retention, name)

        async def dies(*_: Any, **__: Any) -> None:
            raise MemoryError

        monkeypatch.setattr(retention, name, dies)
        with pytest.raises(MemoryError):
            await sweep_of(company).sweep()
        monkeypatch.setattr(retention, name, whole)
    await sweep_of(company).sweep()
    company.clock.advance(8 * DAY)
    await company.sends()
    await sweep_of(company).sweep()
    assert {name for name, number in (await counts(company.database)).items() if number} <= LASTING | NEWEST


async def test_what_would_go_is_counted_and_stays(company: Company) -> None:
    company.clock.advance(91 * DAY)
    before = await company.rows()
    due = await sweep_of(company).due()
    assert await company.rows() == before
    assert (due.words["messages"], due.words["cases"]) == ((await counts(company.database))["inbox"], 2)
    assert due.words["files"] > 0
    assert due.delivery["posts"] > 0
    assert not due.records
    await sweep_of(company).sweep()
    due = await sweep_of(company).due()
    assert (due.words, due.delivery) == ({}, {})


async def test_days_on_which_nothing_happened_take_a_count_no_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = (0, 1, 3_000, 20_000)
    async with database.transaction() as tx:
        for day in days:
            there = arrival(f"{day}.1", channel=f"D{day}")
            assert await inbox.add(tx, there, now=day * DAY + DAY - 1)
        await tx.execute(update(schema.inbox).values(state="done"))
    looks: list[float] = []
    look = retention.happened_on

    async def counted(tx: Transaction, start: float, **page: Any) -> retention.Happened:
        looks.append(start)
        return await look(tx, start, **page)

    monkeypatch.setattr(retention, "happened_on", counted)
    due = await RetentionSweep(database, ManualClock(21_000 * DAY), Retention()).due()
    assert due.words["messages"] == len(days)
    assert set(looks) == {day * DAY for day in days}


async def test_one_process_sweeps_once_a_day(database: Database) -> None:
    clock = ManualClock(START + 100 * DAY)
    await fill(database, messages=40, customers=4)
    first, second = (Upkeep(database, clock, RetentionSweep(database, clock, Retention())) for _ in range(2))
    async with database.transaction() as tx:
        await schedule.plan(tx, "retention", rule="daily", due=clock.now())
        assert await schedule.take(tx, "retention", now=clock.now(), then=clock.now() + 3_600)
    await first.look()
    assert await titles(database) != {NO_LONGER_KEPT}
    clock.advance(3_601)
    await second.look()
    assert await titles(database) == {NO_LONGER_KEPT}
    async with database.transaction() as tx:
        due = await schedule.due(tx, "retention")
    assert due is not None
    assert clock.now() < due <= clock.now() + DAY + 3_600


async def titles(database: Database) -> set[str]:
    async with database.transaction() as tx:
        return set((await tx.execute(select(schema.kase.c.title))).scalars())


@pytest.mark.parametrize("kind", ["words", "records"])
async def test_the_report_and_the_costs_stay_as_they_were(database: Database, kind: str) -> None:
    await fill(database, messages=400, customers=8)
    async with database.transaction() as tx:
        # Spread over some days, so that conversations, weeks and days are cut in several places.
        for table, columns in SPREAD.items():
            stretched = {name: START + (table.c[name] - START) * 2_000 for name in columns}
            await tx.execute(update(table).values(**stretched))
    now = START + 10 * DAY
    async with database.transaction() as tx:
        costs = await spending.totals(tx, since=START - START % DAY, by="day")
    clock = ManualClock(now + (91 if kind == "words" else 401) * DAY)
    days = round((clock.now() - START) / DAY) + 2
    before = await report_of(database, days=days, now=clock.now())
    assert before.whole.resolution.conversations > 20
    await RetentionSweep(database, clock, Retention()).sweep()
    after = await report_of(database, days=days, now=clock.now())
    assert astuple(after.whole.resolution) == astuple(before.whole.resolution)
    assert after.whole.ratings == before.whole.ratings
    assert after.whole.escalation == before.whole.escalation
    assert after.whole.people.cases == before.whole.people.cases
    assert after.whole.money.of_conversations == pytest.approx(before.whole.money.of_conversations)
    assert after.whole.relay.messages == before.whole.relay.messages
    assert [part.resolution for part in after.parts] == [part.resolution for part in before.parts]
    async with database.transaction() as tx:
        kept = await spending.totals(tx, since=START - START % DAY, by="day")
        by_model = await spending.totals(tx, since=START - START % DAY, by="model")
        by_customer = await spending.totals(tx, since=START - START % DAY, by="customer")
        stored = await daily.since(tx, "spending", START)
    assert [(each.group, each.uses, round(each.usage.cost, 6)) for each in kept] == [
        (each.group, each.uses, round(each.usage.cost, 6)) for each in costs
    ]
    assert {each.group for each in by_model} == {"small"}
    assert (bool(stored), {each.group for each in by_customer} == {spending.EARLIER}) == (kind == "records",) * 2
    assert (await counts(database))["spending"] == (0 if kind == "records" else sum(each.uses for each in costs))


SPREAD = {
    schema.inbox: ("received_at", "finished_at"),
    schema.turn: ("finished_at",),
    schema.kase: ("opened_at", "claimed_at", "ended_at"),
    schema.outbox: ("created_at", "sent_at"),
    schema.spending: ("at",),
    schema.audit: ("at",),
    schema.feedback: ("given_at",),
}


async def test_an_erasure_still_finds_what_has_lost_its_words(company: Company) -> None:
    company.clock.advance(91 * DAY)
    await sweep_of(company).sweep()
    await company.erases(await company.interrupts())
    await company.sends()
    async with company.database.transaction() as tx:
        left = await tx.execute(
            select(func.count()).select_from(schema.turn).where(schema.turn.c.customer == "U0CUSTOMERA")
        )
        assert left.scalar_one() == 0
        assert await cases.find(tx, 2) is not None
