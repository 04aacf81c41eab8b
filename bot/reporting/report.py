"""The metrics of the desk as one HTML page that needs no other file. The page is drawn by `templates/report.html`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from bot.clock import DAY
from bot.reporting import texts
from bot.reporting.groups import CASES_LISTED, CaseGroup, NamedGroups
from bot.reporting.key_metrics import KeyMetric
from bot.reporting.metrics import PeriodMetrics, Report, Resolution, Spread
from bot.reporting.plots import Bar, Columns, Series, bars, columns, even, even_count, even_time, spark
from bot.reporting.texts import MetricLine
from bot.store.cases import ref_of
from bot.store.daily import day_of

REASON_STYLES = ("blue", "violet", "amber", "leaf", "red")
"""Colors of the most frequent reasons. The other reasons share one color."""
OTHERS = "other reasons"
SCORES = (5, 4, 3, 2, 1)
ABOUT = {
    "Resolution": (
        "A conversation is what one customer asks in one thread until a day passes without a question. It is resolved "
        "if its last answer rests on help pages or on the customer's own data, no person was called, and the customer "
        "said that it helped or was silent for a day. It is withdrawn if the customer comes back on the subject within "
        "seven days, so the last seven days can still change."
    ),
    "Escalation": (
        "Conversations in which a person was called, by the reason of their first case. False: staff said that the "
        "assistant could have helped. Missed: the customer asked for a person, or said that it is not solved, after "
        "the conversation had counted as resolved."
    ),
    "People": "From a case's opening to its first claim, and to the first message of a person to the customer.",
    "Changes of orders": (
        "Changes that the assistant prepared and customers confirmed with a button. Money is that of changes that are "
        "done. Nobody knows what became of a stuck one until staff have looked, so there must be none."
    ),
    "Cost": "What models cost by the price table: answers, summaries of long conversations, drafts for staff.",
    "Relay": "What customers and staff write to each other, from the queue to Slack.",
}


class Tile(NamedTuple):
    """One of the most important metrics."""

    name: str
    value: str
    change: str
    """An arrow and the value of the period before. Empty if there was none."""
    of: str
    """What the value was computed from."""
    line: str
    """The points of its line over the period. Empty if there are too few values."""


class Table(NamedTuple):
    """The numbers of a chart."""

    name: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class Chart(NamedTuple):
    """Columns or bars, and their numbers."""

    name: str
    table: Table
    columns: Columns | None = None
    bars: Sequence[Bar] = ()


class CaseLink(NamedTuple):
    """A case of a group."""

    ref: str
    url: str
    """Its card in Slack. Empty if it is not known."""


class GroupTable(NamedTuple):
    """The groups of cases by topic, by person or by hour."""

    chart: Chart
    cases: Sequence[tuple[str, Sequence[CaseLink], int]]
    """Each group's name, its newest cases, and how many others there are."""


class Section(NamedTuple):
    """Metrics that belong together."""

    name: str
    about: str
    lines: Sequence[MetricLine]
    charts: Sequence[Chart]


def page(
    report: Report,
    *,
    made_at: float,
    numbers: Sequence[KeyMetric],
    groups: Sequence[NamedGroups] = (),
    links: Mapping[int, str] = MappingProxyType({}),
    hours: str = "",
) -> str:
    """Return the page.

    `numbers` are those that a lead reads first. `groups` are groups of the period's cases, and `links` are the
    addresses of cases' cards by the case's id. `hours` says which hours count as waiting, if not all of them.
    """
    charts = {
        "Resolution": [_conversations(report)],
        "Escalation": [_cases(report)],
        "People": _people(report),
        "Changes of orders": [],
        "Cost": [_cost(report)],
        "Relay": [_relay(report)],
    }
    pages = Environment(
        loader=PackageLoader("bot.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals["percent"] = _percent
    return pages.get_template("report.html").render(
        period=_period(report.whole),
        made_at=f"{_day(made_at)}, {datetime.fromtimestamp(made_at, UTC):%H:%M}",
        days=report.days,
        hours=hours,
        tiles=_tiles(report, numbers),
        groups=[_group_table(each, links) for each in groups if each.groups],
        sections=[
            Section(group.name, ABOUT[group.name], group.lines, charts[group.name])
            for group in texts.headlines(report.whole)
        ],
    )


def _tiles(report: Report, numbers: Sequence[KeyMetric]) -> list[Tile]:
    """The numbers, each with the line of its values over the period. Of open cases no earlier values are known."""
    over: list[Callable[[PeriodMetrics], float | None]] = [
        lambda part: part.resolution.rate,
        lambda part: part.people.time_to_reply.p50,
        lambda part: part.people.satisfied,
        lambda _: None,
    ]
    return [
        Tile(each.name, each.value, each.change, each.of, spark([of_part(part) for part in report.parts]))
        for each, of_part in zip(numbers, over, strict=True)
    ]


def _group_table(named: NamedGroups, links: Mapping[int, str]) -> GroupTable:
    table = Table(
        named.title,
        [named.head, "cases", "open", "first reply, p50", "4 or 5 of 5"],
        [
            [
                name,
                _count(len(group.cases)),
                _count(group.open),
                texts.duration(group.time_to_reply.p50),
                texts.ratio(group.satisfied, group.scored),
            ]
            for name, group in named.groups
        ],
    )
    chart = Chart(named.title, table, bars=bars([(name, len(group.cases)) for name, group in named.groups]))
    return GroupTable(chart, [_case_links(name, group, links) for name, group in named.groups])


def _case_links(name: str, group: CaseGroup, links: Mapping[int, str]) -> tuple[str, list[CaseLink], int]:
    newest = group.cases[::-1][:CASES_LISTED]
    listed = [CaseLink(ref_of(case.id), links.get(case.id, "")) for case in newest]
    return name, listed, len(group.cases) - len(newest)


def _table(
    report: Report,
    name: str,
    *,
    cells: Mapping[str, Callable[[PeriodMetrics], str]],
    has: Callable[[PeriodMetrics], object],
    first: str = "Day",
) -> Table:
    """Return a table of the parts that have something, the newest first. `cells` are its columns by their heads."""
    rows = [
        [day_of(part.since), *(cell(part) for cell in cells.values())] for part in reversed(report.parts) if has(part)
    ]
    return Table(name, [first, *cells], rows)


def _conversations(report: Report) -> Chart:
    name = f"Conversations {_each(report)}, by what came of them"
    kinds: dict[str, tuple[str, Callable[[Resolution], int]]] = {
        "confirmed": ("green", lambda metrics: metrics.confirmed),
        "assumed": ("leaf", lambda metrics: metrics.assumed),
        "withdrawn": ("amber", lambda metrics: metrics.withdrawn),
        "with people": ("blue", lambda metrics: metrics.with_people),
        "no answer": ("red", lambda metrics: metrics.unresolved),
        "open": ("grey", lambda metrics: metrics.pending),
    }
    series = [
        Series(kind, style, [count(part.resolution) for part in report.parts]) for kind, (style, count) in kinds.items()
    ]
    table = _table(
        report,
        name,
        cells={
            **{kind: partial(_counted, count) for kind, (_, count) in kinds.items()},
            "resolved": lambda part: texts.ratio(part.resolution.resolved, part.resolution.settled),
            "of settled": lambda part: _count(part.resolution.settled),
        },
        has=lambda part: part.resolution.conversations,
        first="Begun",
    )
    return Chart(name, table, columns(_labels(report), series, shown=_count, top=even_count))


def _counted(count: Callable[[Resolution], int], part: PeriodMetrics) -> str:
    return _count(count(part.resolution))


def _cases(report: Report) -> Chart:
    name = f"Cases {_each(report)}, by reason"
    commonest = [*report.whole.opened][: len(REASON_STYLES)]
    kinds = {texts.reason(code): (style, [code]) for code, style in zip(commonest, REASON_STYLES, strict=False)}
    if others := [code for code in report.whole.opened if code not in commonest]:
        kinds[OTHERS] = ("grey", others)
    series = [
        Series(kind, style, [_opened(codes, part) for part in report.parts]) for kind, (style, codes) in kinds.items()
    ]
    table = _table(
        report,
        name,
        cells={kind: partial(_opened_words, codes) for kind, (_, codes) in kinds.items()},
        has=lambda part: part.opened,
        first="Opened",
    )
    return Chart(name, table, columns(_labels(report), series, shown=_count, top=even_count))


def _opened(codes: Sequence[str], part: PeriodMetrics) -> int:
    return sum(part.opened.get(code, 0) for code in codes)


def _opened_words(codes: Sequence[str], part: PeriodMetrics) -> str:
    return _count(_opened(codes, part))


def _people(report: Report) -> list[Chart]:
    scores = [(f"{score} of 5", report.whole.people.scores.get(score, 0)) for score in SCORES]
    table = _table(
        report,
        "CSAT, by when a case was opened",
        cells={
            "4 or 5 of 5": lambda part: texts.ratio(part.people.satisfactory, part.people.scored),
            "mean": lambda part: f"{part.people.mean_score or 0.0:.1f}",
            "n": lambda part: _count(part.people.scored),
        },
        has=lambda part: part.people.scored,
        first="Opened",
    )
    return [
        _wait(report, "Time to claim", lambda part: part.people.time_to_claim),
        _wait(report, "Time to the first human reply", lambda part: part.people.time_to_reply),
        Chart("Cases by their customer's score", table, bars=bars(scores)),
    ]


def _wait(report: Report, what: str, spread: Callable[[PeriodMetrics], Spread]) -> Chart:
    name = f"{what}, by when a case was opened"
    # The longer one is behind the shorter one.
    series = [
        Series("p90", "pale", [spread(part).p90 for part in report.parts]),
        Series("p50", "blue", [spread(part).p50 for part in report.parts]),
    ]
    table = _table(
        report,
        name,
        cells={
            "p50": lambda part: texts.duration(spread(part).p50),
            "p90": lambda part: texts.duration(spread(part).p90),
            "n": lambda part: _count(spread(part).n),
        },
        has=lambda part: spread(part).n,
        first="Opened",
    )
    return Chart(name, table, columns(_labels(report), series, shown=texts.duration, top=even_time, stacked=False))


def _cost(report: Report) -> Chart:
    name = f"Spent on models {_each(report)}"
    series = [Series("US dollars", "violet", [part.money.cost for part in report.parts])]
    table = _table(
        report,
        name,
        cells={
            "cost": lambda part: texts.amount(part.money.cost),
            "tokens": lambda part: _count(part.money.tokens),
            "per conversation": lambda part: texts.amount(part.money.per_conversation),
        },
        has=lambda part: part.money.tokens,
    )
    return Chart(name, table, columns(_labels(report), series, shown=lambda cost: f"${cost:,.4g}", top=even))


def _relay(report: Report) -> Chart:
    name = f"Latency of the relay {_each(report)}"
    series = [
        Series("p95", "pale", [part.relay.latency.p95 for part in report.parts]),
        Series("p50", "blue", [part.relay.latency.p50 for part in report.parts]),
    ]
    table = _table(
        report,
        name,
        cells={
            "p50": lambda part: texts.seconds(part.relay.latency.p50),
            "p95": lambda part: texts.seconds(part.relay.latency.p95),
            "messages": lambda part: _count(part.relay.messages),
            "failed": lambda part: _count(part.relay.failed),
        },
        has=lambda part: part.relay.messages,
    )
    return Chart(name, table, columns(_labels(report), series, shown=texts.seconds, top=even, stacked=False))


def _period(metrics: PeriodMetrics) -> str:
    first, last = _day(metrics.since), _day(metrics.until - DAY)
    return last if first == last else f"{first} to {last}"


def _day(at: float) -> str:
    day = datetime.fromtimestamp(at, UTC)
    return f"{day.day} {day:%b %Y}"


def _labels(report: Report) -> list[str]:
    return [_day(part.since).rpartition(" ")[0] for part in report.parts]


def _each(report: Report) -> str:
    return "per day" if report.days == 1 else f"per {report.days} days"


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _percent(of_a_drawing: float) -> str:
    return f"{of_a_drawing:.2f}%"
