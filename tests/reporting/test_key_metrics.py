"""The four numbers, and the groups of cases, as a lead reads them."""

import csv
import io
from dataclasses import replace

from bot.cases.hours import ALWAYS, Hours
from bot.reporting.csv_file import csv_text
from bot.reporting.groups import Group, group_cases, name_groups, read_group
from bot.reporting.key_metrics import key_lines, key_metrics
from bot.reporting.metrics import Report, metrics_of
from bot.store.metrics import MetricsRecord, Opened, Verdict
from tests.desk.month import DAY, HOUR, MINUTE, MONTH, NOW, SINCE, at

HALF = SINCE + 15 * DAY
COMPARED = metrics_of(MONTH, since=HALF, now=NOW, before=SINCE)


def case(number: int, day: int, hour: float = 9.0, **fields: object) -> Opened:
    return replace(Opened(number, f"t{number}", "A", "upset", at(day, hour)), **fields)  # type: ignore[arg-type]


def scored(*scores: int, day: int = 20) -> MetricsRecord:
    cases = [case(number, day) for number, _ in enumerate(scores, 1)]
    return MetricsRecord(
        cases=cases, on_cases={number: Verdict(str(score), at(day)) for number, score in enumerate(scores, 1)}
    )


def said(report: Report, *, now: int = 3, before: int = 3) -> dict[str, tuple[str, str]]:
    return {each.name: each[1:4:2] for each in key_metrics(report, open_now=now, open_before=before)}


def test_a_period_and_the_one_before_are_counted_apart() -> None:
    whole, before = COMPARED.whole, COMPARED.before
    assert before is not None
    month = metrics_of(MONTH, since=SINCE, now=NOW).whole
    assert (before.since, before.until, whole.since) == (SINCE, HALF, HALF)
    assert whole.resolution.conversations + before.resolution.conversations == month.resolution.conversations
    assert before.people.cases + whole.people.cases == month.people.cases


def test_each_number_has_an_arrow_and_what_it_was() -> None:
    assert said(metrics_of(MetricsRecord(), since=SINCE, now=NOW, before=SINCE - DAY), now=0, before=2) == {
        "Resolved without people": ("–", ""),
        "Time to first reply": ("–", ""),
        "CSAT": ("–", ""),
        "Open now": ("0", "▼ from 2"),
    }
    slow, fast = case(1, 2, replied_at=at(2, 11)), case(2, 20, replied_at=at(20, 9.5))
    waited = metrics_of(MetricsRecord(cases=[slow, fast]), since=HALF, now=NOW, before=SINCE)
    assert said(waited)["Time to first reply"] == ("30 min", "▼ from 2 h")
    assert said(waited)["Open now"] == ("3", "→ as before")


def test_a_share_of_few_is_no_percentage() -> None:
    few, many = metrics_of(scored(5, 4, 1), since=SINCE, now=NOW), metrics_of(scored(*[5] * 9, 1), since=SINCE, now=NOW)
    assert said(few)["CSAT"][0] == "2 of 3"
    assert said(many)["CSAT"][0] == "90%"


def test_a_number_that_is_shown_as_before_has_no_arrow_up() -> None:
    earlier, later = scored(*[5] * 99, 1, day=2), scored(*[5] * 199, 1, day=20)
    both = MetricsRecord(
        cases=[*earlier.cases, *(replace(each, id=each.id + 500) for each in later.cases)],
        on_cases={**earlier.on_cases, **{number + 500: verdict for number, verdict in later.on_cases.items()}},
    )
    report = metrics_of(both, since=HALF, now=NOW, before=SINCE)
    assert said(report)["CSAT"] == ("100%", "▲ from 99%")
    again = metrics_of(both, since=HALF, now=NOW, before=HALF)
    assert again.before is None
    assert said(again)["CSAT"] == ("100%", "")


def test_a_terminal_gets_them_in_columns() -> None:
    lines = key_lines(key_metrics(COMPARED, open_now=1_000, open_before=9)).splitlines()
    assert len(lines) == 4
    assert lines[3].split() == ["Open", "now", "1,000", "▲", "from", "9", "cases"]


def test_cases_are_grouped_by_topic_person_and_hour_of_the_desks_clock() -> None:
    cases = [
        case(1, 2, 8, cause="delivery", owner="U1", owner_name="Ana", replied_at=at(2, 8) + 30 * MINUTE),
        case(2, 2, 8.9, cause="delivery", owner="U2", owner_name="Ben", is_open=True),
        case(3, 3, 23.5, owner="U2", owner_name="Ben B."),
        case(4, 4, 8),
    ]
    scores = {1: 5, 2: 3}
    topics = group_cases(cases, scores, by="topic")
    assert [(each.key, len(each.cases), each.open, each.scored, each.satisfied) for each in topics] == [
        ("delivery", 2, 1, 2, 1),
        ("", 2, 0, 0, 0),
    ]
    people = group_cases(cases, scores, by="person")
    assert [(each.key, each.name, each.time_to_reply.n) for each in people] == [
        ("U2", "Ben B.", 0),
        ("U1", "Ana", 1),
        ("", "", 0),
    ]
    there = group_cases(cases, scores, by="hour", hours=Hours(zone="Europe/Berlin"))
    assert [(each.key, len(each.cases)) for each in there] == [("1", 1), ("10", 3)]


def test_a_menus_value_names_a_group_and_nothing_else_does() -> None:
    groups = [Group("topic", "", 7), Group("person", "U1", 30), Group("hour", "9", 1), Group("topic", "a/b", 366)]
    assert [read_group(each.value) for each in groups] == groups
    assert [read_group(value) for value in ("", "topic", "topic/a", "topic/a/0", "desk/a/7", "topic/a/b7")] == [
        None
    ] * 6


def test_a_spreadsheet_gets_a_line_for_the_period_each_day_and_each_group() -> None:
    cases = [case(1, 2, cause="delivery", owner="U1", owner_name="=cmd()"), case(2, 2, HOUR / HOUR)]
    report = metrics_of(MetricsRecord(cases=cases), since=SINCE, now=NOW)
    groups = name_groups(report.cases, report.scores, hours=ALWAYS, topics={"delivery": "Delivery, late"})
    rows = list(csv.DictReader(io.StringIO(csv_text(report, groups))))
    assert [row["by"] for row in rows[:2]] == ["period", "day"]
    assert {(row["by"], row["name"]): row["cases"] for row in rows if row["by"] in ("topic", "person", "hour")} == {
        ("topic", "Delivery, late"): "1",
        ("topic", "No topic yet"): "1",
        ("person", "'=cmd()"): "1",
        ("person", "Unclaimed"): "1",
        ("hour", "1:00"): "1",
        ("hour", "9:00"): "1",
    }
    assert sum(int(row["cases"]) for row in rows if row["by"] == "day") == int(rows[0]["cases"]) == 2
