"""The metrics of the desk as one HTML page that needs no other file."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from importlib import resources

from bot.reporting import texts as words
from bot.reporting.metrics import PeriodMetrics, Report, Resolution, Spread, day_of
from bot.reporting.plots import Series, bars, columns, even, even_count, even_time, table
from bot.reporting.texts import Group

REASON_STYLES = ("blue", "violet", "amber", "leaf", "red")
"""Colors of the commonest reasons; the others are one."""
OTHERS = "other reasons"
SCORES = (5, 4, 3, 2, 1)
ABOUT = {
    "Resolution": (
        "A conversation is what one customer asks in one thread until a day goes by without a question. It is resolved "
        "when its last answer rests on help pages or on the customer's own data, nobody was called, and the customer "
        "said that it helped, or was silent for a day. It is taken back when they return on the subject within seven "
        "days; so the last seven days may still change."
    ),
    "Escalation": (
        "Conversations in which a person was called, by the reason of their first case. False: staff said that the "
        "assistant could have helped. Missed: the customer asked for a person, or said that it is not solved, after "
        "the conversation had counted as resolved."
    ),
    "People": "From a case's opening to its first claim, and to the first message of a person to the customer.",
    "Cost": "What models cost by the price table: answers, summaries of long conversations, drafts for staff.",
    "Relay": "What customers and staff write to each other, from the queue to Slack.",
}


def page(report: Report, *, made_at: float, hours: str = "") -> str:
    """The page; `hours` says by which hours waiting is counted, if not by all of them."""
    whole = report.whole
    groups = {group.name: group for group in words.headlines(whole)}
    pictures: dict[str, Callable[[Report], str]] = {
        "Resolution": _conversations,
        "Escalation": _cases,
        "People": _people,
        "Cost": _cost,
        "Relay": _relay,
    }
    sections = "".join(_section(groups[name], picture(report)) for name, picture in pictures.items())
    style = resources.files("bot.reporting").joinpath("report.css").read_text(encoding="utf-8")
    title = f"The desk, {words.period(whole)}"
    of_days = f" A column stands for {report.days} days." if report.days > 1 else ""
    counted = f" Waiting is counted by {escape(hours)}." if hours else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<header><h1>{escape(title)}</h1>\n"
        f"<p>Made {datetime.fromtimestamp(made_at, UTC):%Y-%m-%d %H:%M} UTC; days are UTC's.{of_days}{counted}</p>"
        f"</header>\n<main>\n{_tiles(whole)}\n{sections}</main>\n</body>\n</html>\n"
    )


def _tiles(figures: PeriodMetrics) -> str:
    resolution, escalation = figures.resolution, figures.escalation
    people, money = figures.people, figures.money
    tiles = (
        ("Conversations", f"{resolution.conversations:,}", f"{resolution.pending:,} still open"),
        ("Resolved by the assistant", words.percent(resolution.rate), f"of {resolution.settled:,} settled"),
        ("Escalated", words.percent(escalation.rate), f"of {escalation.conversations:,} conversations"),
        ("Time to claim", words.duration(people.time_to_claim.p50), f"p90 {words.duration(people.time_to_claim.p90)}"),
        ("CSAT", words.percent(people.satisfied), f"n = {people.scored:,}"),
        ("Cost per resolution", words.amount(money.per_resolution), f"{words.amount(money.cost)} in all"),
        ("Relay, p95", words.seconds(figures.relay.latency.p95), f"{figures.relay.failed:,} failed"),
    )
    told = "".join(
        f'<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd class="of">{escape(of)}</dd></div>'
        for name, value, of in tiles
    )
    return f'<dl class="tiles">{told}</dl>'


def _section(group: Group, pictures: str) -> str:
    rows = "".join(
        f'<tr class="{"part" * line.is_part}"><th scope="row">{escape(line.name)}</th>'
        f"<td>{escape(line.value)}</td><td>{escape(line.of)}</td></tr>"
        for line in group.lines
    )
    name = escape(group.name)
    return (
        f'<section aria-label="{name}"><h2>{name}</h2><p>{escape(ABOUT[group.name])}</p>'
        f'<table class="lines"><tbody>{rows}</tbody></table>{pictures}</section>\n'
    )


def _pair(
    report: Report,
    picture: str,
    *,
    name: str,
    cells: Mapping[str, Callable[[PeriodMetrics], str]],
    has: Callable[[PeriodMetrics], object],
    first: str = "Day",
) -> str:
    """A picture, and beside it a table of the parts that have something, the newest first; `cells` by their heads."""
    rows = [
        [day_of(part.since), *(cell(part) for cell in cells.values())] for part in reversed(report.parts) if has(part)
    ]
    return f'<div class="pair">{picture}{table(name, [first, *cells], rows)}</div>'


def _conversations(report: Report) -> str:
    name = f"Conversations {_each(report)}, by what came of them"
    kinds: dict[str, tuple[str, Callable[[Resolution], int]]] = {
        "confirmed": ("green", lambda figures: figures.confirmed),
        "assumed": ("leaf", lambda figures: figures.assumed),
        "withdrawn": ("amber", lambda figures: figures.withdrawn),
        "with people": ("blue", lambda figures: figures.with_people),
        "no answer": ("red", lambda figures: figures.unresolved),
        "open": ("grey", lambda figures: figures.pending),
    }
    series = [
        Series(kind, style, [count(part.resolution) for part in report.parts]) for kind, (style, count) in kinds.items()
    ]
    cells = {kind: partial(_counted, count) for kind, (_, count) in kinds.items()}
    return _pair(
        report,
        columns(name, _labels(report), series, shown=_count, top=even_count),
        name=name,
        cells={
            **cells,
            "resolved": lambda part: words.percent(part.resolution.rate),
            "of settled": lambda part: _count(part.resolution.settled),
        },
        has=lambda part: part.resolution.conversations,
        first="Begun",
    )


def _counted(count: Callable[[Resolution], int], part: PeriodMetrics) -> str:
    return _count(count(part.resolution))


def _cases(report: Report) -> str:
    name = f"Cases {_each(report)}, by reason"
    commonest = [*report.whole.opened][: len(REASON_STYLES)]
    kinds = {words.reason(code): (style, [code]) for code, style in zip(commonest, REASON_STYLES, strict=False)}
    if others := [code for code in report.whole.opened if code not in commonest]:
        kinds[OTHERS] = ("grey", others)
    series = [
        Series(kind, style, [_opened(codes, part) for part in report.parts]) for kind, (style, codes) in kinds.items()
    ]
    return _pair(
        report,
        columns(name, _labels(report), series, shown=_count, top=even_count),
        name=name,
        cells={kind: partial(_opened_words, codes) for kind, (_, codes) in kinds.items()},
        has=lambda part: part.opened,
        first="Opened",
    )


def _opened(codes: Sequence[str], part: PeriodMetrics) -> int:
    return sum(part.opened.get(code, 0) for code in codes)


def _opened_words(codes: Sequence[str], part: PeriodMetrics) -> str:
    return _count(_opened(codes, part))


def _people(report: Report) -> str:
    claimed = _wait(report, "Time to claim", lambda part: part.people.time_to_claim)
    replied = _wait(report, "Time to the first human reply", lambda part: part.people.time_to_reply)
    scores = [(f"{score} of 5", report.whole.people.scores.get(score, 0)) for score in SCORES]
    return (
        claimed
        + replied
        + _pair(
            report,
            bars("Cases by their customer's score", scores, style="blue"),
            name="CSAT, by when a case was opened",
            cells={
                "4 or 5 of 5": lambda part: words.percent(part.people.satisfied),
                "mean": lambda part: f"{part.people.mean_score or 0.0:.1f}",
                "n": lambda part: _count(part.people.scored),
            },
            has=lambda part: part.people.scored,
            first="Opened",
        )
    )


def _wait(report: Report, what: str, spread: Callable[[PeriodMetrics], Spread]) -> str:
    name = f"{what}, by when a case was opened"
    # The longer one behind the shorter one.
    series = [
        Series("p90", "pale", [spread(part).p90 for part in report.parts]),
        Series("p50", "blue", [spread(part).p50 for part in report.parts]),
    ]
    return _pair(
        report,
        columns(name, _labels(report), series, shown=words.duration, top=even_time, stacked=False),
        name=name,
        cells={
            "p50": lambda part: words.duration(spread(part).p50),
            "p90": lambda part: words.duration(spread(part).p90),
            "n": lambda part: _count(spread(part).n),
        },
        has=lambda part: spread(part).n,
        first="Opened",
    )


def _cost(report: Report) -> str:
    name = f"Spent on models {_each(report)}"
    series = [Series("US dollars", "violet", [part.money.cost for part in report.parts])]
    return _pair(
        report,
        columns(name, _labels(report), series, shown=lambda cost: f"${cost:,.4g}", top=even),
        name=name,
        cells={
            "cost": lambda part: words.amount(part.money.cost),
            "tokens": lambda part: _count(part.money.tokens),
            "a conversation": lambda part: words.amount(part.money.per_conversation),
        },
        has=lambda part: part.money.tokens,
    )


def _relay(report: Report) -> str:
    name = f"Latency of the relay {_each(report)}"
    series = [
        Series("p95", "pale", [part.relay.latency.p95 for part in report.parts]),
        Series("p50", "blue", [part.relay.latency.p50 for part in report.parts]),
    ]
    return _pair(
        report,
        columns(name, _labels(report), series, shown=words.seconds, top=even, stacked=False),
        name=name,
        cells={
            "p50": lambda part: words.seconds(part.relay.latency.p50),
            "p95": lambda part: words.seconds(part.relay.latency.p95),
            "messages": lambda part: _count(part.relay.messages),
            "failed": lambda part: _count(part.relay.failed),
        },
        has=lambda part: part.relay.messages,
    )


def _labels(report: Report) -> list[str]:
    return [day_of(part.since) for part in report.parts]


def _each(report: Report) -> str:
    return "a day" if report.days == 1 else f"in {report.days} days"


def _count(number: float) -> str:
    return f"{number:,.0f}"
