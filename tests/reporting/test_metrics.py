"""The figures of a month, each worked out by hand; and what holds of any month."""

import gc
from dataclasses import astuple, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reporting.metrics import (
    Escalation,
    PeriodMetrics,
    Resolution,
    Spread,
    history_of,
    metrics_of,
    midnight_before,
    report_of,
    spread_of,
)
from bot.store import cases
from bot.store.database import Database
from bot.store.metrics import AskedMessage, MetricsRecord, Offered, Opened, RefusedByRule, Relayed, Use, Verdict
from tests.desk.month import DAY, HOUR, MINUTE, MONTH, NOW, SINCE, START, at
from tests.store.rows import a_case

REPORT = metrics_of(MONTH, since=SINCE, now=NOW)
WHOLE = REPORT.whole


def reached(spread: Spread) -> tuple[int, float | None, float | None, float | None]:
    return spread.n, spread.p50, spread.p90, spread.p95


def test_every_conversation_of_the_month_is_counted_once_by_what_came_of_it() -> None:
    assert WHOLE.resolution == Resolution(
        confirmed=2,  # A's, and B's first
        assumed=2,  # B's second, and C's second
        confirmed_withdrawn=1,  # D's
        assumed_withdrawn=2,  # C's first, and G's second
        with_people=6,  # E's, D's second, I's, J's, and M's two
        unresolved=3,  # F's, G's first, H's
        pending=2,  # K's two
        missed=2,  # D's, who asked for a person, and G's, who said that it did not help after all
    )
    assert WHOLE.resolution.conversations == 18
    assert WHOLE.resolution.rate == 4 / 16


def test_people_are_called_for_a_reason_once_a_conversation() -> None:
    reasons = {"asked_for_person": 4, "legal": 1, "no_answer": 1}
    assert WHOLE.escalation == Escalation(18, reasons, judged=3, needless=2)
    assert (WHOLE.escalation.escalated, WHOLE.escalation.rate) == (6, 6 / 18)
    assert WHOLE.opened == reasons


def test_waiting_is_measured_from_the_opening_to_the_first_claim_and_to_the_first_words() -> None:
    people = WHOLE.people
    assert (people.cases, people.unclaimed) == (5, 1)
    # 15, 30, 60 and 240 minutes; 30, 60 and 360.
    assert people.time_to_claim == spread_of(each * MINUTE for each in (15, 30, 60, 240))
    assert reached(people.time_to_claim) == (4, 30 * MINUTE, 240 * MINUTE, 240 * MINUTE)
    assert reached(people.time_to_reply) == (3, 60 * MINUTE, 360 * MINUTE, 360 * MINUTE)


def test_waiting_counts_as_the_desks_hours_say() -> None:
    def until_noon(start: float, end: float) -> float:
        noon = start - start % DAY + 12 * HOUR
        return max(0.0, min(end, noon) - start)

    people = metrics_of(MONTH, since=SINCE, now=NOW, between=until_noon).whole.people
    assert people.time_to_claim.p90 == 180 * MINUTE
    assert people.time_to_reply.p90 == 180 * MINUTE


def test_a_case_that_was_opened_again_twice_was_opened_again_once() -> None:
    assert (WHOLE.people.resolved, WHOLE.people.reopened) == (3, 1)


def test_scores_come_with_their_number() -> None:
    assert WHOLE.people.scores == {1: 1, 4: 1, 5: 1}
    assert WHOLE.people.scored == 3
    assert WHOLE.people.mean_score == pytest.approx(10 / 3)
    assert WHOLE.people.satisfied == 2 / 3


def test_money_is_told_by_conversation_case_and_resolution() -> None:
    money = WHOLE.money
    assert money.cost == pytest.approx(0.106)
    assert (money.tokens, money.estimated) == (10_600, True)
    # Without what began before the month, and the greeting.
    assert money.of_conversations == pytest.approx(0.095)
    assert money.tokens_of_conversations == 9_500
    assert money.per_conversation == pytest.approx(0.095 / 18)
    assert money.tokens_per_conversation == 9_500 / 18
    assert money.per_case == pytest.approx(0.07 / 6)
    assert money.tokens_per_case == 7_000 / 6
    assert money.per_resolution == pytest.approx(0.106 / 4)


def test_the_relay_is_measured_from_the_queue_to_slack() -> None:
    relay = WHOLE.relay
    assert (relay.messages, relay.failed, relay.waiting) == (22, 1, 1)
    assert (relay.latency.n, relay.latency.p95) == (20, 0.5)


def test_a_day_has_what_began_on_it() -> None:
    fourth = REPORT.parts[3]
    assert (fourth.since, fourth.until) == (at(4, 0), at(5, 0))
    assert fourth.resolution == Resolution(with_people=2)
    assert fourth.opened == {"asked_for_person": 1, "no_answer": 1}
    assert fourth.people.time_to_claim.p50 == 15 * MINUTE
    assert fourth.money.cost == pytest.approx(0.07)
    assert (len(REPORT.parts), REPORT.days) == (30, 1)


def test_a_long_period_has_parts_of_several_days() -> None:
    table = [(1, 1, 1), (62, 62, 1), (63, 9, 7), (434, 62, 7), (435, 55, 8), (3_650, 62, 59)]
    misses = []
    for days, parts, of_days in table:
        since = midnight_before(NOW, days=days)
        report = metrics_of(MONTH, since=since, now=NOW)
        if (
            (len(report.parts), report.days) != (parts, of_days)
            or (report.parts[0].since, report.parts[-1].until) != (since, START + 30 * DAY)
            or not all(one.until == other.since for one, other in pairwise(report.parts))
        ):
            misses.append((days, len(report.parts), report.days))
    assert misses == []


def test_nothing_is_no_figure() -> None:
    nothing = metrics_of(MetricsRecord(), since=SINCE, now=NOW).whole
    assert nothing.resolution.conversations == 0
    assert nothing.resolution.rate is None
    assert reached(nothing.people.time_to_claim) == (0, None, None, None)
    assert nothing.people.satisfied is None
    assert nothing.money.per_resolution is None
    assert nothing.relay.latency.p95 is None


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert reached(spread_of(range(1, 11))) == (10, 5, 9, 10)
    assert reached(spread_of([7.0])) == (1, 7.0, 7.0, 7.0)


def test_a_period_begins_at_midnight_and_knows_the_day_before() -> None:
    assert midnight_before(NOW, days=30) == START
    assert midnight_before(START, days=1) == START
    assert history_of(START) == START - DAY


TIMES = st.integers(0, 10 * 24).map(lambda hours: START - DAY + hours * HOUR)
CUSTOMERS, THREADS = st.sampled_from("AB"), st.sampled_from(("t1", "t2", "t3"))
TEXTS = st.sampled_from(("How?", "Where is ORD-12345?", "thanks", "hello"))
ENDS = st.sampled_from(("answered", "no_answer", "escalated", "relayed", "failed", "", "no_words"))
PAGES = st.frozensets(st.sampled_from(("x", "y")))
WRITTEN = st.builds(AskedMessage, st.just(0), THREADS, CUSTOMERS, TIMES, TEXTS, ENDS, PAGES, st.booleans())
CASES = st.builds(
    Opened,
    st.just(0),
    THREADS,
    CUSTOMERS,
    st.sampled_from(("asked_for_person", "legal")),
    TIMES,
    was_resolved=st.booleans(),
    reopened=st.integers(0, 2),
    outcome=st.sampled_from(("", "assistant_could_have")),
)
USES = st.builds(Use, THREADS, CUSTOMERS, TIMES, st.integers(0, 9), st.integers(0, 9).map(float))
RELAYED = st.builds(Relayed, TIMES, st.none() | TIMES, st.just(value=False))


@st.composite
def records(draw: st.DrawFn) -> MetricsRecord:
    written = sorted(draw(st.lists(WRITTEN, max_size=12)), key=lambda each: each.at)
    cases = sorted(draw(st.lists(CASES, max_size=4)), key=lambda each: each.at)
    verdict = st.builds(Verdict, st.sampled_from(("up", "down")), TIMES)
    return MetricsRecord(
        [replace(each, id=number) for number, each in enumerate(written)],
        [replace(each, id=number) for number, each in enumerate(cases)],
        draw(st.dictionaries(st.integers(0, 11), verdict, max_size=3)),
        draw(st.dictionaries(st.integers(0, 3), st.builds(Verdict, st.sampled_from("12345"), TIMES), max_size=3)),
        sorted(draw(st.lists(USES, max_size=6)), key=lambda use: use.at),
        sorted(draw(st.lists(RELAYED, max_size=6)), key=lambda each: each.at),
    )


def test_offers_are_counted_by_how_they_ended_and_money_by_kind_and_currency() -> None:
    def one(state: str, **more: object) -> Offered:
        return replace(
            Offered(START + 1, "refund", state, 0, -500, "EUR", START + 11, None, settled=False),
            **more,  # type: ignore[arg-type]
        )

    offered = [
        one("done"),
        one("done", decided_at=START + 71, money=-700),
        one("done", kind="exchange_items", money=300),
        one("rejected", decided_at=START + 31),
        one("expired", confirmed_at=None),
        one("expired"),
        one("stuck", settled=True),
        one("partly"),
    ]
    refused = [RefusedByRule(START + 1, "refund", "refuse", rules) for rules in (("paid",), ("paid", "window"))]
    found = metrics_of(MetricsRecord(offered=offered, refused=refused), since=START, now=START + DAY).whole.actions
    assert (found.offered, found.confirmed, found.expired, found.done) == (8, 7, 1, 3)
    assert (found.approved, found.rejected, found.stuck) == (1, 1, 1)
    assert (found.time_to_approve.n, found.time_to_approve.p50, found.time_to_approve.p90) == (2, 20.0, 60.0)
    assert found.money == {"exchange_items EUR": -300, "refund EUR": 1200}
    assert found.refused == {"paid": 2, "window": 1}


@given(records())
def test_nothing_is_counted_twice_and_sums_agree(record: MetricsRecord) -> None:
    report = metrics_of(record, since=START, now=START + 9 * DAY)
    whole = report.whole
    for counts in (lambda day: astuple(day.resolution), _counts):
        assert [sum(column) for column in zip(*map(counts, report.parts), strict=True)] == list(counts(whole))
    assert whole.resolution.conversations == whole.escalation.conversations == whole.money.conversations
    assert whole.resolution.missed <= whole.resolution.withdrawn
    assert whole.escalation.escalated <= whole.resolution.conversations
    assert sum(whole.opened.values()) == sum(case.at >= START for case in record.cases)
    assert whole.people.time_to_claim.n + whole.people.unclaimed == whole.people.cases
    assert whole.people.reopened <= whole.people.resolved
    assert whole.money.of_cases <= whole.money.of_conversations <= whole.money.cost
    assert whole.money.cost == sum(use.cost for use in record.uses if use.at >= START)


@given(records())
def test_what_is_known_by_now_of_a_week_ago_stays(record: MetricsRecord) -> None:
    """Once seven days have gone by, no conversation is counted otherwise any more."""
    then = metrics_of(record, since=START, now=START + 17 * DAY).whole.resolution
    assert metrics_of(record, since=START, now=START + 40 * DAY).whole.resolution == then
    unanswered = sum(each.ended == "" for each in record.written)
    assert then.pending <= unanswered


def _counts(figures: PeriodMetrics) -> tuple[float, ...]:
    return (
        figures.escalation.conversations,
        figures.escalation.escalated,
        figures.escalation.judged,
        figures.people.cases,
        figures.people.unclaimed,
        figures.people.time_to_claim.n,
        figures.people.resolved,
        figures.people.reopened,
        figures.people.scored,
        sum(figures.opened.values()),
        figures.money.cost,
        figures.money.of_conversations,
        figures.money.cases,
        figures.relay.messages,
        figures.relay.waiting,
    )


async def test_a_report_leaves_the_collection_of_garbage_as_it_was(database: Database) -> None:
    seen: list[bool] = []

    def look(start: float, end: float) -> float:
        seen.append(gc.isenabled())
        return end - start

    async with database.transaction() as tx:
        case = await cases.add(tx, a_case(opened_at=NOW - 60.0))
        assert case is not None
        await cases.change(tx, case, a_case(id=case.id, state="human", claimed_at=NOW))
    await report_of(database, days=1, now=NOW, between=look)
    assert seen
    assert not any(seen)
    assert gc.isenabled()
