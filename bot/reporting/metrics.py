"""The metrics of the desk, computed from the database. Each metric is defined at its field.

A metric counts what began in the period: a conversation with its first question, a case when it was opened, a relayed
message when it was queued. Its outcome counts too, even if it came after the period.

report_of    Reads the database and computes the metrics of a period and its parts.
roll_up      Stores the metrics of days for good, before their rows go.
metrics_of   Computes the metrics from a record, which must reach back to `history_of`.
history_of   Returns when the record must begin, which is before the period.
"""

import asyncio
import gc
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from bot.clock import DAY, WEEK
from bot.reporting.daily import combined, from_json, to_json
from bot.reporting.outcomes import (
    RETURN_SECONDS,
    SILENCE_SECONDS,
    Conversation,
    Ending,
    Judged,
    judge_all,
    parted,
)
from bot.store import daily
from bot.store.daily import day_of
from bot.store.database import Database
from bot.store.metrics import (
    AskedMessage,
    EndedProcedure,
    MetricsRecord,
    Offered,
    Opened,
    RefusedByRule,
    Relayed,
    Use,
    read,
)
from bot.views.cards import NOT_HELPFUL

PARTS = 62
"""The most parts of a period."""
COULD_HAVE = "assistant_could_have"
"""The outcome that staff choose for a case that needed no person."""
LATE_SECONDS = 3 * WEEK
"""How much longer than its conversations can be withdrawn a day's ratings, and what happened to its cases, count when
its figures are stored for good."""
SATISFIED = 4
"""The least score, of 5, that counts as satisfied."""

Item = TypeVar("Item")
Between = Callable[[float, float], float]
"""A function from two times to the seconds between them that count."""


def all_the_time(start: float, end: float) -> float:
    """Every second counts."""
    return end - start


@dataclass(frozen=True, slots=True)
class Spread:
    """Durations in seconds."""

    counted: Mapping[float, int] = field(default_factory=dict)
    """Duration -> how often it was measured, the shortest first."""

    @property
    def n(self) -> int:
        """The number of durations."""
        return sum(self.counted.values())

    @property
    def p50(self) -> float | None:
        """Half of the durations are no longer. Each percentile is a measured value, or None if there is none."""
        return self._reached_by(50)

    @property
    def p90(self) -> float | None:
        """90 of a hundred are no longer."""
        return self._reached_by(90)

    @property
    def p95(self) -> float | None:
        """95 of a hundred are no longer."""
        return self._reached_by(95)

    def _reached_by(self, percent: int) -> float | None:
        """The nearest-rank percentile."""
        left = math.ceil(self.n * percent / 100)
        for duration, times in self.counted.items():
            left -= times
            if left <= 0:
                return duration
        return None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The outcomes of conversations (bot/reporting/outcomes.py). Every conversation is in one of the seven counts."""

    confirmed: int = 0
    """Resolved by the assistant, and the customer said that it helped."""
    assumed: int = 0
    """Resolved by the assistant, by the customer's silence."""
    confirmed_withdrawn: int = 0
    assumed_withdrawn: int = 0
    """Resolved by the assistant, by the customer's silence, but the customer has returned to the subject."""
    with_people: int = 0
    """People had the last word, or have the conversation now."""
    unresolved: int = 0
    """The customer has no grounded answer, and no person was called."""
    pending: int = 0
    """Answered less than a day ago, or not answered yet."""
    missed: int = 0
    """The number of withdrawn conversations in which a person should have been called."""

    @property
    def conversations(self) -> int:
        """All conversations."""
        return self.settled + self.pending

    @property
    def settled(self) -> int:
        """The conversations whose outcome is known."""
        return self.resolved + self.withdrawn + self.with_people + self.unresolved

    @property
    def resolved(self) -> int:
        """Resolved by the assistant, and not withdrawn."""
        return self.confirmed + self.assumed

    @property
    def withdrawn(self) -> int:
        """The conversations that seemed to be resolved by the assistant, until the customer returned."""
        return self.confirmed_withdrawn + self.assumed_withdrawn

    @property
    def rate(self) -> float | None:
        """The share of the settled conversations that the assistant resolved."""
        return share(self.resolved, self.settled)


@dataclass(frozen=True, slots=True)
class Ratings:
    """What customers thought of the answers to the period's messages: the latest rating of each."""

    helpful: int
    not_helpful: Mapping[str, int]
    """Rating, a key of `bot.views.cards.NOT_HELPFUL` -> number of answers, the most frequent first."""

    @property
    def rated(self) -> int:
        """The number of answers with a rating."""
        return self.helpful + sum(self.not_helpful.values())


@dataclass(frozen=True, slots=True)
class Escalation:
    """The conversations in which people were called."""

    conversations: int
    """All conversations."""
    by_reason: Mapping[str, int]
    """Reason of a conversation's first case -> number of conversations, the most frequent first."""
    judged: int
    """The number of cases whose outcome staff recorded."""
    needless: int
    """The number of these cases in which, according to staff, the assistant could have helped: false escalations."""

    @property
    def escalated(self) -> int:
        """The number of conversations in which a person was called."""
        return sum(self.by_reason.values())

    @property
    def rate(self) -> float | None:
        """The share of all conversations in which a person was called."""
        return share(self.escalated, self.conversations)


@dataclass(frozen=True, slots=True)
class People:
    """The metrics of cases. A merged case counts as part of the case that it was merged into."""

    cases: int
    unclaimed: int
    """The number of cases that no one has ever claimed."""
    time_to_claim: Spread
    """From a case's opening to its first claim."""
    time_to_reply: Spread
    """From a case's opening to the first message of a person to the customer."""
    resolved: int
    reopened: int
    """The number of resolved cases that were reopened. Each counts once."""
    scores: Mapping[int, int]
    """Score from 1 to 5 -> number of cases. Only the customer's own latest score of each case counts."""
    replies_met: int = 0
    """The number of people's replies that came within their target."""
    replies: int = 0
    """The number of people's replies for which a target ran."""
    by_cause: Mapping[str, int] = field(default_factory=dict)
    """Cause -> number of cases for which staff chose it, the most frequent first."""
    by_tag: Mapping[str, int] = field(default_factory=dict)
    """Tag -> number of cases that have it, the most frequent first. A case can have several."""

    @property
    def scored(self) -> int:
        """Cases with a score."""
        return sum(self.scores.values())

    @property
    def mean_score(self) -> float | None:
        """From 1 to 5."""
        return share(sum(score * times for score, times in self.scores.items()), self.scored)

    @property
    def satisfactory(self) -> int:
        """The number of scores of 4 and 5."""
        return sum(times for score, times in self.scores.items() if score >= SATISFIED)

    @property
    def satisfied(self) -> float | None:
        """CSAT: the share of scores of 4 and 5."""
        return share(self.satisfactory, self.scored)


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """The cost of models in US dollars, by the price table: answers, summaries, and drafts for staff."""

    cost: float
    tokens: int
    estimated: bool
    """Whether a part of it is estimated, and not counted by a provider."""
    conversations: int
    of_conversations: float
    """The cost of the period's conversations. The rest was for greetings and for conversations that began before."""
    tokens_of_conversations: int
    cases: int
    of_cases: float
    """The cost of the conversations with a case, including drafts."""
    tokens_of_cases: int
    resolved: int
    """Conversations that the assistant resolved."""
    input_tokens: int = 0
    """The part of the tokens that models read."""
    cached_tokens: int = 0
    """The part of the input that was read from a provider's cache."""

    @property
    def cached_share(self) -> float | None:
        """The share of the input that was read from a provider's cache."""
        return share(self.cached_tokens, self.input_tokens)

    @property
    def per_conversation(self) -> float | None:
        """What a conversation costs."""
        return share(self.of_conversations, self.conversations)

    @property
    def tokens_per_conversation(self) -> float | None:
        """Tokens, read and written, that a conversation takes."""
        return share(self.tokens_of_conversations, self.conversations)

    @property
    def per_case(self) -> float | None:
        """What models cost for a case: before people were called, and drafts since."""
        return share(self.of_cases, self.cases)

    @property
    def tokens_per_case(self) -> float | None:
        """Tokens, read and written, that a case takes."""
        return share(self.tokens_of_cases, self.cases)

    @property
    def per_resolution(self) -> float | None:
        """The total cost of the period, divided by the conversations that the assistant resolved."""
        return share(self.cost, self.resolved)


@dataclass(frozen=True, slots=True)
class RelayMetrics:
    """The relay between customers and staff, both ways."""

    messages: int
    failed: int
    """The number of messages that Slack finally refused."""
    waiting: int
    latency: Spread
    """From the queue to Slack."""


@dataclass(frozen=True, slots=True)
class ActionMetrics:
    """The changes of orders that were offered."""

    offered: int
    confirmed: int
    """The number of offers to which the customer said yes."""
    expired: int
    """The number of offers that ended because nobody said anything in time."""
    done: int
    approved: int
    """The number of changes that staff decided in the customer's favor."""
    rejected: int
    """The number of changes that the rules allowed and staff refused: overrides."""
    time_to_approve: Spread
    """From the customer's yes to the decision of staff."""
    money: Mapping[str, int]
    """`refund EUR` -> what customers got for it, in minor units. Negative: what they paid."""
    refused: Mapping[str, int]
    """Rule -> changes that were not offered because of it, the commonest first."""
    stuck: int
    """The number of changes of which nobody knows what happened. It must be 0."""


@dataclass(frozen=True, slots=True)
class PeriodMetrics:
    """All of a period, or of a part of it."""

    since: float
    until: float
    resolution: Resolution
    ratings: Ratings
    escalation: Escalation
    opened: Mapping[str, int]
    """Reason -> cases that were opened, the commonest first; a conversation may have had several."""
    people: People
    money: ModelCosts
    relay: RelayMetrics
    actions: ActionMetrics
    procedures: Mapping[str, Mapping[str, int]]
    """Procedure -> how it ended -> how often."""


@dataclass(frozen=True, slots=True)
class Report:
    """A period and its parts, oldest first. Days are UTC days."""

    whole: PeriodMetrics
    parts: Sequence[PeriodMetrics]
    days: int
    """The number of days of a part."""
    before: PeriodMetrics | None = None
    """The period of the same length before this one, to compare with. None if it was not asked for."""
    cases: Sequence[Opened] = ()
    """The cases of the period whose rows are kept, without merged ones."""
    scores: Mapping[int, int] = field(default_factory=dict)
    """Case -> its customer's score from 1 to 5."""


async def report_of(database: Database, *, days: int, now: float, between: Between = all_the_time) -> Report:
    """The metrics of the given number of days, today (UTC) included, and of as many days before."""
    since = midnight_before(now, days=days)
    with _uncollected():
        return await _computed(database, since=since, before=since - days * DAY, now=now, between=between)


async def _computed(database: Database, *, since: float, before: float, now: float, between: Between) -> Report:
    async with database.transaction() as tx:
        stored = await daily.since(tx, "report", before)
    kept = [from_json(PeriodMetrics, figures) for figures in stored.values()]
    live = kept[-1].since + DAY if kept else before
    record = await read(database, since=history_of(live))
    # A year's figures take seconds, in which others shall be answered.
    return await asyncio.to_thread(
        partial(metrics_of, record, since=since, now=now, between=between, kept=kept, before=before)
    )


async def roll_up(database: Database, start: float, end: float, *, between: Between = all_the_time) -> None:
    """Compute and store the figures of the days from a midnight (UTC) to another one. Their rows can then go."""
    settled = end + SILENCE_SECONDS + RETURN_SECONDS
    record = await read(database, since=history_of(start), until=settled, steps_until=settled + LATE_SECONDS)
    whole = await asyncio.to_thread(partial(metrics_of, record, since=start, now=settled, between=between))
    days = {day_of(part.since): to_json(part) for part in whole.parts if part.until <= end}
    async with database.transaction() as tx:
        await daily.put(tx, "report", days)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Nothing is looked through for garbage, or a record that grows is, again and again, and nobody runs meanwhile.

    It holds no cycles, so it is gone before the next look. Of two at once the first to end lets the other be looked
    through.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def history_of(since: float) -> float:
    """When the record must begin. It shows which conversations were already running and do not belong to the period."""
    return since - SILENCE_SECONDS


def midnight_before(now: float, *, days: int) -> float:
    """The beginning (UTC) of the given number of days, today included."""
    return now - now % DAY - (days - 1) * DAY


def metrics_of(
    record: MetricsRecord,
    *,
    since: float,
    now: float,
    between: Between = all_the_time,
    kept: Sequence[PeriodMetrics] = (),
    before: float | None = None,
) -> Report:
    """The metrics of everything since `since`, which is a midnight (UTC).

    `kept` are the figures of the first days. `record` must reach back to `history_of` of the day after these.
    `between` counts waiting times, by the desk's hours. With `before`, an earlier midnight, the metrics from then to
    `since` are computed too.
    """
    first = since if before is None else before
    live = kept[-1].since + DAY if kept else first
    conversations = parted(record)
    judged = [each for each in judge_all(conversations, record, now=now) if each.conversation.is_whole]
    spent = _spent(conversations, record.uses)
    days = int((now - since) // DAY) + 1
    kept_from = [part.since for part in kept]
    step = next((step for step in (1, 7) if days <= step * PARTS), math.ceil(days / PARTS))
    starts = [since + day * DAY for day in range(0, days, step)]
    ends = [*starts[1:], since + days * DAY]

    def over(start: float, end: float) -> PeriodMetrics:
        early = kept[bisect_left(kept_from, start) : bisect_left(kept_from, end)]
        late = [lately(max(start, live), end)] if end > live or not early else []
        return replace(combined([*early, *late]), since=start, until=end)

    def lately(start: float, end: float) -> PeriodMetrics:
        begun = _within(judged, start, end, lambda each: each.conversation.begun)
        cases = _within(record.cases, start, end, lambda case: case.at)
        resolution = _resolution(begun)
        return PeriodMetrics(
            start,
            end,
            resolution,
            _ratings(_within(record.written, start, end, lambda message: message.at), record),
            _escalation(begun, cases),
            _commonest(case.reason for case in cases),
            _people(cases, record, between),
            _money(begun, _within(record.uses, start, end, lambda use: use.at), spent, resolution),
            _relay(_within(record.relayed, start, end, lambda each: each.at)),
            _actions(
                _within(record.offered, start, end, lambda each: each.at),
                _within(record.refused, start, end, lambda each: each.at),
                between,
            ),
            _procedures(_within(record.procedures, start, end, lambda each: each.at)),
        )

    cases = [case for case in _within(record.cases, since, ends[-1], lambda case: case.at) if not case.was_merged]
    return Report(
        over(since, ends[-1]),
        [over(*part) for part in zip(starts, ends, strict=True)],
        step,
        before=over(first, since) if first < since else None,
        cases=cases,
        scores={case.id: int(record.on_cases[case.id].value) for case in cases if case.id in record.on_cases},
    )


def spread_of(durations: Iterable[float]) -> Spread:
    """The spread of the durations."""
    return Spread(dict(sorted(Counter(durations).items())))


def share(part: float, whole: float) -> float | None:
    """The part divided by the whole. None if the whole is 0."""
    return part / whole if whole else None


def _within(items: Sequence[Item], start: float, end: float, at: Callable[[Item], float]) -> Sequence[Item]:
    """Those from the start to the end, of items in the order of their times."""
    return items[bisect_left(items, start, key=at) : bisect_left(items, end, key=at)]


def _spent(conversations: Iterable[Conversation], uses: Iterable[Use]) -> dict[Conversation, list[Use]]:
    """What was used for each conversation: the latest of the customer in the thread that had begun."""
    begun: dict[tuple[str, str], list[Conversation]] = {}
    for conversation in conversations:
        begun.setdefault((conversation.thread, conversation.customer), []).append(conversation)
    spent: dict[Conversation, list[Use]] = {}
    for use in uses:
        theirs = begun.get((use.thread, use.customer), ())
        if until := bisect_right(theirs, use.at, key=lambda conversation: conversation.begun):
            spent.setdefault(theirs[until - 1], []).append(use)
    return spent


def _resolution(judged: Iterable[Judged]) -> Resolution:
    judged = list(judged)
    counted: Counter[tuple[Ending, bool]] = Counter((each.ending, each.withdrawn) for each in judged)
    return Resolution(
        confirmed=counted["confirmed", False],
        assumed=counted["assumed", False],
        confirmed_withdrawn=counted["confirmed", True],
        assumed_withdrawn=counted["assumed", True],
        with_people=counted["with_people", False],
        unresolved=counted["unresolved", False],
        pending=counted["pending", False],
        missed=sum(each.missed for each in judged),
    )


def _ratings(written: Iterable[AskedMessage], record: MetricsRecord) -> Ratings:
    given = [verdict.value for message in written if (verdict := record.on_answers.get(message.id))]
    return Ratings(given.count("up"), _commonest(value for value in given if value in NOT_HELPFUL))


def _escalation(judged: Sequence[Judged], cases: Sequence[Opened]) -> Escalation:
    called = [each.conversation.cases[0] for each in judged if each.conversation.cases]
    outcomes = [case.outcome for case in cases if case.outcome]
    return Escalation(
        len(judged),
        _commonest(case.reason for case in called),
        judged=len(outcomes),
        needless=outcomes.count(COULD_HAVE),
    )


def _people(cases: Iterable[Opened], record: MetricsRecord, between: Between) -> People:
    cases = [case for case in cases if not case.was_merged]
    resolved = [case for case in cases if case.was_resolved]
    scores = Counter(int(verdict.value) for case in cases if (verdict := record.on_cases.get(case.id)))
    return People(
        len(cases),
        sum(case.claimed_at is None for case in cases),
        spread_of(between(case.at, case.claimed_at) for case in cases if case.claimed_at is not None),
        spread_of(between(case.at, case.replied_at) for case in cases if case.replied_at is not None),
        len(resolved),
        sum(case.reopened > 0 for case in resolved),
        dict(sorted(scores.items())),
        sum(case.replies_met for case in cases),
        sum(case.replies_met + case.replies_missed for case in cases),
        _commonest(case.cause for case in cases if case.cause),
        _commonest(tag for case in cases for tag in case.tags),
    )


def _money(
    begun: Sequence[Judged],
    uses: Sequence[Use],
    spent: Mapping[Conversation, Sequence[Use]],
    resolution: Resolution,
) -> ModelCosts:
    conversations = [each.conversation for each in begun]
    of_conversations = [use for conversation in conversations for use in spent.get(conversation, ())]
    of_cases = [use for conversation in conversations if conversation.cases for use in spent.get(conversation, ())]
    return ModelCosts(
        cost=math.fsum(use.cost for use in uses),
        tokens=sum(use.tokens for use in uses),
        estimated=any(use.estimated for use in uses),
        conversations=len(conversations),
        of_conversations=math.fsum(use.cost for use in of_conversations),
        tokens_of_conversations=sum(use.tokens for use in of_conversations),
        cases=sum(len(conversation.cases) for conversation in conversations),
        of_cases=math.fsum(use.cost for use in of_cases),
        tokens_of_cases=sum(use.tokens for use in of_cases),
        resolved=resolution.resolved,
        input_tokens=sum(use.input_tokens for use in uses),
        cached_tokens=sum(use.cached_tokens for use in uses),
    )


def _relay(relayed: Sequence[Relayed]) -> RelayMetrics:
    sent = [each.sent_at - each.at for each in relayed if each.sent_at is not None]
    failed = sum(each.failed for each in relayed)
    return RelayMetrics(len(relayed), failed, len(relayed) - len(sent) - failed, spread_of(sent))


def _procedures(ended: Sequence[EndedProcedure]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for each in ended:
        found.setdefault(each.procedure, Counter())[each.why] += 1
    return dict(sorted(found.items()))


def _actions(offered: Sequence[Offered], refused: Sequence[RefusedByRule], between: Between) -> ActionMetrics:
    money: Counter[str] = Counter()
    for each in offered:
        if each.state == "done" and each.money:
            money[f"{each.kind} {each.currency}"] -= each.money
    decided = [each for each in offered if each.decided_at is not None]
    rejected = sum(each.state == "rejected" for each in decided)
    return ActionMetrics(
        offered=len(offered),
        confirmed=sum(each.confirmed_at is not None for each in offered),
        expired=sum(each.state == "expired" and each.confirmed_at is None for each in offered),
        done=sum(each.state == "done" for each in offered),
        approved=len(decided) - rejected,
        rejected=rejected,
        time_to_approve=spread_of(
            between(each.confirmed_at, each.decided_at)
            for each in decided
            if each.confirmed_at is not None and each.decided_at is not None
        ),
        money=dict(sorted(money.items())),
        refused=_commonest(rule for each in refused for rule in each.rules),
        stuck=sum(each.state in ("stuck", "partly") and not each.settled for each in offered),
    )


def _commonest(reasons: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(reasons).items(), key=lambda each: (-each[1], each[0])))
