"""The metrics in words: for staff in Slack, and for the operator in a terminal or on the report page.

headlines    the figures with their names, in groups
mrkdwn       a short text for Slack
charts       how it went, day by day, in a line of bars each
table        all of them for a terminal
reason       a reason for calling a person
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.clock import DAY
from bot.reporting.metrics import (
    ActionMetrics,
    Escalation,
    ModelCosts,
    People,
    PeriodMetrics,
    Ratings,
    RelayMetrics,
    Report,
    Resolution,
    Spread,
    share,
)
from bot.reporting.traces import dollars, harmless
from bot.shops.port import Money
from bot.slack.mrkdwn import escape
from bot.store.daily import day_of
from bot.views.cards import NOT_HELPFUL, why_not_helpful
from bot.views.staff_cards import WHY

NONE = "–"
"""In place of a figure of nothing."""
BARS = "▁▂▃▄▅▆▇█"
"""The lowest is nothing."""
FEW = 10
"""Of fewer than these, a share is no percentage."""
REASONS_SHOWN = 3
"""In Slack."""


class MetricLine(NamedTuple):
    """One figure."""

    name: str
    value: str
    of: str = ""
    """Of how many, or what else to know."""
    is_part: bool = False
    """Whether it is a part of the one above it."""


class Group(NamedTuple):
    """Figures that belong together."""

    name: str
    lines: Sequence[MetricLine]


ENDS_OF_PROCEDURES = {
    "done": "done",
    "handed_over": "handed over",
    "left": "left by the customer",
    "silence": "after a day of silence",
    "taken_back": "taken back",
    "withdrawn": "without their action",
    "with_people": "with people",
    "erased": "erased",
}
"""How a procedure ended -> its words."""


def headlines(figures: PeriodMetrics) -> list[Group]:
    """All metrics of a period, in groups."""
    return [
        Group("Resolution", [*_resolution(figures.resolution), *_ratings(figures.ratings)]),
        Group("Escalation", [*_escalation(figures.escalation, figures.resolution)]),
        Group("People", [*_people(figures.people)]),
        *([Group("Changes of orders", [*_actions(figures.actions)])] if _has_actions(figures) else []),
        *([Group("Procedures", [*_procedures(figures.procedures)])] if figures.procedures else []),
        Group("Cost", [*_money(figures.money)]),
        Group("Relay", [*_relay(figures.relay)]),
    ]


def mrkdwn(figures: PeriodMetrics) -> str:
    """The most important metrics, for a message in Slack."""
    return "\n".join(_in_short(figures))


def charts(report: Report) -> str:
    """Conversations, resolutions and cases of each part of the period, as bars for Slack."""
    rows = {
        "Conversations": [part.resolution.conversations for part in report.parts],
        "Resolved by the assistant": [part.resolution.resolved for part in report.parts],
        "Cases": [part.people.cases for part in report.parts],
    }
    each = "one bar per day" if report.days == 1 else f"one bar per {report.days} days"
    lines = [f"`{bars_of(counts)}` {name}, at most {max(counts):,}" for name, counts in rows.items() if any(counts)]
    return "\n".join([*lines, f"_{each}, latest on the right_"]) if lines else ""


def bars_of(counts: Sequence[int]) -> str:
    """A bar for each count. At least one count is not 0."""
    most = max(counts)
    return "".join(BARS[math.ceil(count / most * (len(BARS) - 1))] for count in counts)


def _in_short(figures: PeriodMetrics) -> Iterator[str]:
    resolution, escalation, people, money = figures.resolution, figures.escalation, figures.people, figures.money
    ratings = figures.ratings
    yield f"*In detail, {period(figures)}*"
    yield (
        f"Conversations: *{resolution.conversations:,}*; the assistant resolved "
        f"*{_share_of(resolution.resolved, resolution.settled)}* settled: {resolution.confirmed:,} confirmed, "
        f"{resolution.assumed:,} assumed; {resolution.withdrawn:,} withdrawn"
    )
    commonest = [f"{escape(reason(code))} {count:,}" for code, count in escalation.by_reason.items()][:REASONS_SHOWN]
    listed = f" ({', '.join(commonest)})" if commonest else ""
    yield f"*{_share_of(escalation.escalated, escalation.conversations)}* went to people{listed}"
    yield (
        f"Avoidable handovers: {escalation.needless:,} of {escalation.judged:,} · "
        f"Missed handovers: {resolution.missed:,} of {resolution.resolved + resolution.withdrawn:,}"
    )
    if ratings.rated:
        why = f"; not helpful: {why_not_helpful(ratings.not_helpful)}" if ratings.not_helpful else ""
        yield f"Rated helpful: *{_share_of(ratings.helpful, ratings.rated)}* rated answers{why}"
    yield (
        f"Cases: *{people.cases:,}*, {people.unclaimed:,} unclaimed; "
        f"{_share_of(people.reopened, people.resolved)} resolved were reopened"
    )
    for name, spread in (("Time to claim", people.time_to_claim), ("Time to first reply", people.time_to_reply)):
        yield f"{name}: median *{duration(spread.p50)}*, 90% within {duration(spread.p90)} ({_cases(spread.n)})"
    yield (
        f"Models: {dollars(money.cost)}; {amount(money.per_conversation)} per conversation, "
        f"{amount(money.per_case)} per case, {amount(money.per_resolution)} per resolution"
    )
    actions = figures.actions
    if _has_actions(figures):
        stuck = f"; *{actions.stuck:,} stuck*" if actions.stuck else ""
        yield (
            f"Changes of orders: *{actions.done:,}* done of {actions.offered:,} offered, "
            f"{_share_of(actions.confirmed, actions.offered)} confirmed, "
            f"{sum(actions.refused.values()):,} refused by rules{stuck}"
        )


def table(figures: PeriodMetrics) -> str:
    """All metrics, for a terminal."""
    groups = headlines(figures)
    lines = [line for group in groups for line in group.lines]
    name, value = max(len(line.name) + 2 for line in lines), max(len(line.value) for line in lines)
    parts = [f"The desk, {period(figures)} (UTC)"]
    for group in groups:
        rows = ((f"{'  ' * line.is_part}{line.name}", line.value, line.of) for line in group.lines)
        parts.append(
            "\n".join((group.name, *(f"  {what:{name}}  {much:>{value}}  {of}".rstrip() for what, much, of in rows)))
        )
    return harmless("\n\n".join(parts))


def period(figures: PeriodMetrics) -> str:
    """The days of it."""
    first, last = day_of(figures.since), day_of(figures.until - DAY)
    return first if first == last else f"{first} to {last}"


def reason(code: str) -> str:
    """Why people are called, as their card says it; a code that is not known as it is."""
    return WHY.get(code, code)


def percent(rate: float | None) -> str:
    """A share."""
    return NONE if rate is None else f"{rate:.0%}"


def ratio(part: int, whole: int) -> str:
    """A share. Of few it is `1 of 3`, because a percentage would say more than is known."""
    return f"{part:,} of {whole:,}" if 0 < whole < FEW else percent(share(part, whole))


def amount(cost: float | None) -> str:
    """US dollars."""
    return NONE if cost is None else dollars(cost)


def duration(spent: float | None) -> str:
    """How long people wait, to the minute; less than one in seconds."""
    if spent is None:
        return NONE
    if spent < 60:
        return f"{spent:.0f} s"
    hours, minutes = divmod(round(spent / 60), 60)
    return " ".join(part for part, is_said in ((f"{hours:,} h", hours), (f"{minutes} min", minutes)) if is_said)


def seconds(spent: float | None) -> str:
    """How long programs take; less than a second in milliseconds."""
    if spent is None:
        return NONE
    return f"{spent * 1000:.0f} ms" if 0 < spent < 0.9995 else f"{spent:,.1f} s"


def _resolution(figures: Resolution) -> Iterator[MetricLine]:
    yield MetricLine("Conversations", f"{figures.conversations:,}", f"{figures.pending:,} still open")
    yield _share_line("Resolved by the assistant", figures.resolved, figures.settled, "settled")
    yield MetricLine("confirmed by the customer", f"{figures.confirmed:,}", is_part=True)
    yield MetricLine("assumed after a day of silence", f"{figures.assumed:,}", is_part=True)
    withdrawn = f"{figures.confirmed_withdrawn:,} confirmed, {figures.assumed_withdrawn:,} assumed before"
    yield MetricLine("Withdrawn: the customer came back", f"{figures.withdrawn:,}", withdrawn)
    yield MetricLine("With people", f"{figures.with_people:,}")
    yield MetricLine("Without an answer", f"{figures.unresolved:,}")


def _ratings(figures: Ratings) -> Iterator[MetricLine]:
    yield _share_line("Rated helpful", figures.helpful, figures.rated, "rated answers")
    for rating, count in figures.not_helpful.items():
        yield MetricLine(f"not helpful: {NOT_HELPFUL[rating]}", f"{count:,}", is_part=True)


def _escalation(figures: Escalation, resolution: Resolution) -> Iterator[MetricLine]:
    yield _share_line("Escalated", figures.escalated, figures.conversations, "conversations")
    for code, count in figures.by_reason.items():
        yield MetricLine(reason(code), f"{count:,}", is_part=True)
    yield _share_line("False escalations", figures.needless, figures.judged, "cases that staff judged")
    seemed = resolution.resolved + resolution.withdrawn
    yield _share_line("Missed escalations", resolution.missed, seemed, "that counted as resolved")


def _people(figures: People) -> Iterator[MetricLine]:
    yield MetricLine("Cases", f"{figures.cases:,}", f"{figures.unclaimed:,} unclaimed")
    yield MetricLine("Time to claim", duration(figures.time_to_claim.p50), _p90(figures.time_to_claim))
    yield MetricLine("Time to the first human reply", duration(figures.time_to_reply.p50), _p90(figures.time_to_reply))
    yield _share_line("Replies in time", figures.replies_met, figures.replies, "that were due")
    yield _share_line("Reopened", figures.reopened, figures.resolved, "resolved")
    for name, counted in (("about", figures.by_cause), ("tagged", figures.by_tag)):
        for code, count in counted.items():
            yield MetricLine(f"{name} {code.replace('_', ' ')}", _cases(count), is_part=True)
    mean = "" if figures.mean_score is None else f", mean {figures.mean_score:.1f} of 5"
    csat = ratio(figures.satisfactory, figures.scored)
    yield MetricLine("CSAT: 4 or 5 of 5", csat, f"n = {figures.scored:,}{mean}")


def _money(figures: ModelCosts) -> Iterator[MetricLine]:
    estimated = ", partly estimated" if figures.estimated else ""
    yield MetricLine("Spent on models", dollars(figures.cost), f"{figures.tokens:,} tokens{estimated}")
    yield MetricLine(
        "input from a cache",
        percent(figures.cached_share),
        f"{figures.cached_tokens:,} of {figures.input_tokens:,} tokens",
        is_part=True,
    )
    yield MetricLine(
        "per conversation", amount(figures.per_conversation), _tokens(figures.tokens_per_conversation), is_part=True
    )
    yield MetricLine("per case", amount(figures.per_case), _tokens(figures.tokens_per_case), is_part=True)
    yield MetricLine(
        "per resolution", amount(figures.per_resolution), f"total cost by {figures.resolved:,} resolved", is_part=True
    )


def _has_actions(figures: PeriodMetrics) -> bool:
    return bool(figures.actions.offered or figures.actions.refused)


def _actions(figures: ActionMetrics) -> Iterator[MetricLine]:
    yield MetricLine("Offered", f"{figures.offered:,}", f"{figures.done:,} done")
    yield _share_line("The customer said yes", figures.confirmed, figures.offered, "offers")
    yield _share_line("Expired", figures.expired, figures.offered, "offers")
    yield MetricLine("Refused by rules", f"{sum(figures.refused.values()):,}")
    for rule, count in figures.refused.items():
        yield MetricLine(rule, f"{count:,}", is_part=True)
    yield MetricLine(
        "Approved by staff", f"{figures.approved:,}", f"{figures.rejected:,} refused although rules allowed"
    )
    yield MetricLine("Time to approve", duration(figures.time_to_approve.p50), _p90(figures.time_to_approve))
    for what, minor in figures.money.items():
        kind, _, currency = what.partition(" ")
        to = "to customers" if minor > 0 else "from customers"
        yield MetricLine(kind.replace("_", " "), str(Money(abs(minor), currency)), to, is_part=True)
    yield MetricLine("Stuck", f"{figures.stuck:,}", "must be 0")


def _procedures(ended: Mapping[str, Mapping[str, int]]) -> Iterator[MetricLine]:
    for name, ends in ended.items():
        ways = ", ".join(f"{count:,} {ENDS_OF_PROCEDURES.get(why, why)}" for why, count in sorted(ends.items()))
        yield MetricLine(name, f"{sum(ends.values()):,} ended", ways)


def _relay(figures: RelayMetrics) -> Iterator[MetricLine]:
    yield MetricLine("Messages relayed", f"{figures.messages:,}", f"{figures.waiting:,} on their way")
    yield MetricLine("Latency, p95", seconds(figures.latency.p95), f"p50 {seconds(figures.latency.p50)}")
    yield MetricLine("Failed", f"{figures.failed:,}")


def _share_line(name: str, part: int, whole: int, what: str) -> MetricLine:
    of = what if 0 < whole < FEW else f"{part:,} of {whole:,} {what}"
    return MetricLine(name, ratio(part, whole), of)


def _share_of(part: int, whole: int) -> str:
    """A share and of how many it is, as `33% of 18`, or of few `1 of 3`."""
    return f"{part:,} of {whole:,}" if whole < FEW else f"{percent(share(part, whole))} of {whole:,}"


def _cases(number: int) -> str:
    return f"{number:,} {'case' if number == 1 else 'cases'}"


def _p90(spread: Spread) -> str:
    return f"p50; p90 {duration(spread.p90)}; n = {spread.n:,}"


def _tokens(tokens: float | None) -> str:
    return "" if tokens is None else f"{tokens:,.0f} tokens"
