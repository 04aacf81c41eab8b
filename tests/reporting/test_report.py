"""The page: nothing besides itself, all of the figures, readable without its pictures."""

import re
from dataclasses import replace
from typing import Any

from bot.cases.hours import ALWAYS
from bot.reporting.groups import name_groups
from bot.reporting.key_metrics import key_metrics
from bot.reporting.metrics import Report, metrics_of, midnight_before
from bot.reporting.report import page
from bot.store.metrics import MetricsRecord, Opened
from tests.desk.month import MONTH, NOW, SINCE, at
from tests.desk.outline import Outline


def drawn(report: Report, *, groups: bool = False, **more: Any) -> str:
    """The page. With `groups`, its cases are shown in groups too."""
    numbers = key_metrics(report, open_now=3, open_before=1)
    named = name_groups(report.cases, report.scores, hours=ALWAYS, topics={}) if groups else ()
    return page(report, numbers=numbers, groups=named, **more)


def rows_of(html: str, name: str) -> list[list[str]]:
    """The rows of the table with this name."""
    (found,) = re.findall(rf"<caption>{re.escape(name)}</caption>.*?<tbody>(.*?)</tbody>", html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", found)]


def test_it_fetches_nothing_and_runs_nothing() -> None:
    html = drawn(metrics_of(MONTH, since=SINCE, now=NOW), made_at=NOW)
    outline = Outline(html)
    assert not {"script", "link", "img", "iframe", "object", "a", "use", "form"} & {tag for tag, _ in outline.elements}
    assert not {"src", "href", "style", "srcset"} & {key for _, found in outline.elements for key in found}
    assert not re.search(r"url\(|@import|https?:|//", html)
    (policy,) = [meta for meta in outline.named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_chart_has_a_table_of_its_numbers() -> None:
    outline = Outline(drawn(metrics_of(MONTH, since=SINCE, now=NOW), made_at=NOW))
    pairs = [found for found in outline.named("div") if found.get("class") == "pair"]
    tables = [found for found in outline.named("div") if found.get("class") == "table"]
    assert len(outline.named("figure")) == len(pairs) == len(tables) == 7
    assert all(found["tabindex"] == "0" and found["role"] == "region" and found["aria-label"] for found in tables)
    assert all(found.get("aria-label") or found.get("aria-hidden") for found in outline.named("svg"))


def test_tables_hold_the_days_that_have_something_and_add_up() -> None:
    html = drawn(metrics_of(MONTH, since=SINCE, now=NOW), made_at=NOW)
    rows = rows_of(html, "Conversations per day, by what came of them")
    assert [row[0] for row in rows][:2] == ["2024-11-02", "2024-11-01"]
    assert len(rows) == 12
    assert [sum(int(row[place]) for row in rows) for place in range(1, 7)] == [2, 2, 3, 6, 3, 2]
    reasons = rows_of(html, "Cases per day, by reason")
    assert [sum(int(row[place]) for row in reasons) for place in range(1, 4)] == [4, 1, 1]
    assert rows_of(html, "Time to claim, by when a case was opened")[0] == ["2024-10-15", "1 h", "1 h", "1"]
    assert rows_of(html, "Spent on models per day")[-1] == ["2024-10-04", "$0.03500", "3,500", "$0.01250"]


def test_rare_reasons_are_one_and_none_is_lost() -> None:
    cases = [
        Opened(number, f"t{number}", "A", reason, at(2))
        for number, reason in enumerate(["legal"] * 2 + ["upset", "billing", "other", "budget", "change", "<b>strange"])
    ]
    html = drawn(metrics_of(MetricsRecord(cases=cases), since=SINCE, now=NOW), made_at=NOW)
    (row,) = rows_of(html, "Cases per day, by reason")
    assert sum(map(int, row[1:])) == len(cases)
    assert "other reasons" in html
    assert "&lt;b&gt;strange" in html
    assert "<b>strange" not in html


def test_a_long_period_says_for_how_long_a_column_stands() -> None:
    report = metrics_of(MONTH, since=midnight_before(NOW, days=365), now=NOW)
    assert "Each column is 7 days." in drawn(report, made_at=NOW)
    assert "Waiting is counted by" not in drawn(report, made_at=NOW)
    assert "Waiting is counted by &lt;9 to 5&gt;." in drawn(report, made_at=NOW, hours="<9 to 5>")


def test_what_people_wrote_is_no_markup() -> None:
    evil = "<script>\"'&"
    record = MetricsRecord(cases=[Opened(1, "t1", "A", evil, at(2))])
    html = drawn(metrics_of(record, since=SINCE, now=NOW), made_at=NOW, hours=evil)
    assert "script" not in {tag for tag, _ in Outline(html).elements}
    # The hours, the reason in its line, the legend, a tooltip and the table.
    assert html.count("&lt;script&gt;&#34;&#39;&amp;") == 5


def test_there_is_a_page_of_nothing() -> None:
    html = drawn(metrics_of(MetricsRecord(), since=SINCE, now=NOW), made_at=NOW)
    assert html.count("Nothing in this time.") == 7
    Outline(html)


def test_the_parts_of_a_page_are_those_of_its_report() -> None:
    report = metrics_of(MONTH, since=SINCE, now=NOW)
    none = replace(report, parts=report.parts[:1])
    assert len(rows_of(drawn(none, made_at=NOW), "Conversations per day, by what came of them")) == 1


def test_each_group_leads_to_its_cases() -> None:
    cases = [Opened(number, f"t{number}", "A", "upset", at(2), owner="U1", owner_name="<i>Ana") for number in (1, 2)]
    report = metrics_of(MetricsRecord(cases=cases), since=SINCE, now=NOW)
    address = "https://acme.slack.com/archives/C1/p1"
    html = drawn(report, made_at=NOW, groups=True, links={1: address})
    assert [link["href"] for link in Outline(html).named("a")] == [address] * 3
    assert "FD-1002" in html
    assert rows_of(html, "Cases by person") == [["&lt;i&gt;Ana", "2", "0", "–", "–"]]
