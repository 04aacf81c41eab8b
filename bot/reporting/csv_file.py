"""The metrics as a table for spreadsheets: a line for the whole period, for each part of it, and for each group."""

import csv
import io
from collections.abc import Mapping, Sequence

from bot.reporting.groups import CaseGroup, NamedGroups
from bot.reporting.metrics import PeriodMetrics, Report
from bot.store.daily import day_of

COLUMNS = (
    *("by", "name", "conversations", "settled", "resolved", "withdrawn", "with_people", "unanswered", "pending"),
    *("cases", "unclaimed", "open", "first_reply_p50_seconds", "first_replies", "replies_due", "replies_in_time"),
    *("scores", "scores_4_or_5", "cost_usd"),
)
"""A line has an empty cell where a column says nothing about it."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def csv_text(report: Report, groups: Sequence[NamedGroups]) -> str:
    """The table. `groups` are groups of the period's cases."""
    written = io.StringIO()
    table = csv.DictWriter(written, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerow(_of_period("period", report.whole))
    table.writerows(_of_period("day" if report.days == 1 else "days", part) for part in report.parts)
    table.writerows(_of_group(kind.by, name, group) for kind in groups for name, group in kind.groups)
    return written.getvalue()


def _of_period(by: str, figures: PeriodMetrics) -> Mapping[str, object]:
    resolution, people = figures.resolution, figures.people
    return {
        "by": by,
        "name": day_of(figures.since),
        "conversations": resolution.conversations,
        "settled": resolution.settled,
        "resolved": resolution.resolved,
        "withdrawn": resolution.withdrawn,
        "with_people": resolution.with_people,
        "unanswered": resolution.unresolved,
        "pending": resolution.pending,
        "cases": people.cases,
        "unclaimed": people.unclaimed,
        "first_reply_p50_seconds": _seconds(people.time_to_reply.p50),
        "first_replies": people.time_to_reply.n,
        "replies_due": people.replies,
        "replies_in_time": people.replies_met,
        "scores": people.scored,
        "scores_4_or_5": people.satisfactory,
        "cost_usd": f"{figures.money.cost:.6f}",
    }


def _of_group(by: str, name: str, group: CaseGroup) -> Mapping[str, object]:
    return {
        "by": by,
        "name": f"'{name}" if name.startswith(FORMULA) else name,
        "cases": len(group.cases),
        "unclaimed": sum(case.claimed_at is None for case in group.cases),
        "open": group.open,
        "first_reply_p50_seconds": _seconds(group.time_to_reply.p50),
        "first_replies": group.time_to_reply.n,
        "replies_due": sum(case.replies_met + case.replies_missed for case in group.cases),
        "replies_in_time": sum(case.replies_met for case in group.cases),
        "scores": group.scored,
        "scores_4_or_5": group.satisfied,
    }


def _seconds(spent: float | None) -> str:
    return "" if spent is None else f"{spent:.0f}"
