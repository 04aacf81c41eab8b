"""The figures of days come back from the database as they were, and add up to those of the period."""

import json
from dataclasses import fields, replace

import pytest

from bot.reporting.daily import combined, from_json, to_json
from bot.reporting.metrics import PeriodMetrics, metrics_of, spread_of
from bot.store.metrics import EndedProcedure
from tests.desk.month import DAY, MONTH, NOW, SINCE

ENDED = [EndedProcedure(SINCE + day * DAY, name, "done") for day, name in ((0, "b"), (1, "a"), (1, "b"))]
REPORT = metrics_of(replace(MONTH, procedures=ENDED), since=SINCE, now=NOW)


def stored(figures: PeriodMetrics) -> PeriodMetrics:
    """The figures after the database had them."""
    found: PeriodMetrics = from_json(PeriodMetrics, json.loads(json.dumps(to_json(figures))))
    return found


@pytest.mark.parametrize("name", [each.name for each in fields(PeriodMetrics)])
def test_the_figures_come_back_as_they_were(name: str) -> None:
    assert getattr(stored(REPORT.whole), name) == getattr(REPORT.whole, name)


@pytest.mark.parametrize("name", [each.name for each in fields(PeriodMetrics)])
def test_the_days_add_up_to_the_period(name: str) -> None:
    days = combined([stored(part) for part in REPORT.parts])
    told, whole = getattr(days, name), getattr(REPORT.whole, name)
    if name == "money":
        told, whole = (
            replace(told, cost=0.0, of_conversations=0.0, of_cases=0.0),
            replace(whole, cost=0.0, of_conversations=0.0, of_cases=0.0),
        )
    assert told == whole


def test_a_duration_is_kept_to_three_digits() -> None:
    spread = from_json(type(spread_of([])), to_json(spread_of([0.123456, 0.123499, 86_461.0])))
    assert spread.counted == {0.123: 2, 86_500.0: 1}
