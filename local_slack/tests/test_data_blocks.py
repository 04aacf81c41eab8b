"""What the Block Kit validator says of data tables and charts: a row for each rule."""

from typing import Any

import pytest

from local_slack.blocks import message_faults, view_faults

Json = dict[str, Any]

HEAD = [{"type": "raw_text", "text": "Order"}, {"type": "raw_text", "text": "Total"}]
ROW = [{"type": "raw_text", "text": "ORD-1"}, {"type": "raw_number", "text": "€20", "value": 20}]
TABLE: Json = {"type": "data_table", "caption": "Orders", "rows": [HEAD, ROW]}
PIE: Json = {"type": "pie", "segments": [{"label": "Solved", "value": 3}, {"label": "Open", "value": 0.5}]}
AXES: Json = {"categories": ["Mon", "Tue"], "x_label": "Day", "y_label": "Cases"}
POINTS = [{"label": "Mon", "value": 4}, {"label": "Tue", "value": -1}]
BARS: Json = {"type": "bar", "series": [{"name": "Cases", "data": POINTS}], "axis_config": AXES}


def chart(given: Json, title: str = "Cases") -> Json:
    return {"type": "data_visualization", "title": title, "chart": given}


def of_series(*series: Json) -> Json:
    return chart(BARS | {"series": list(series)})


def test_a_valid_data_block_has_no_fault() -> None:
    table = [
        TABLE,
        TABLE | {"rows": [HEAD] + [ROW] * 100, "page_size": 100, "row_header_column_index": 1},
        TABLE | {"rows": [HEAD, [{"type": "rich_text", "elements": []}, ROW[1]]]},
        chart(PIE),
        *(chart(BARS | {"type": kind}) for kind in ("bar", "area", "line")),
        of_series({"name": "Cases", "data": list(reversed(POINTS))}),
    ]
    misses = [(block, got) for block in table if (got := message_faults([block])) != []]
    assert misses == []


def test_an_invalid_data_block_is_refused_with_the_place() -> None:
    table = [
        ({"type": "data_table", "rows": [HEAD, ROW]}, "missing required field: caption", ""),
        (TABLE | {"rows": [HEAD]}, "no fewer than 2 items allowed", "/rows"),
        (TABLE | {"rows": [HEAD] + [ROW] * 101}, "no more than 101 items allowed", "/rows"),
        (TABLE | {"rows": [HEAD, ROW[:1]]}, "must have as many cells as the first row", "/rows/1"),
        (
            TABLE | {"rows": [[{"type": "rich_text", "elements": []}]] * 2},
            "unsupported type: rich_text",
            "/rows/0/0/type",
        ),
        (
            TABLE | {"rows": [HEAD[:1], [{"type": "raw_text", "text": "x" * 9_996}]]},
            "must be less than 10001 characters",
            "/rows",
        ),
        (TABLE | {"page_size": 0}, "must be greater than 0", "/page_size"),
        (TABLE | {"page_size": 101}, "must be less than 101", "/page_size"),
        (TABLE | {"column_settings": []}, "invalid additional property: column_settings", ""),
        (chart(PIE, "x" * 51), "must be less than 51 characters", "/title"),
        (chart({"type": "donut"}), "unsupported type: donut", "/chart/type"),
        (chart({"type": "pie", "segments": []}), "no fewer than 1 items allowed", "/chart/segments"),
        (chart({"type": "pie", "segments": PIE["segments"] * 7}), "no more than 12 items allowed", "/chart/segments"),
        (
            chart({"type": "pie", "segments": [{"label": "a", "value": 0}]}),
            "must be greater than 0",
            "/chart/segments/0/value",
        ),
        (
            chart({"type": "pie", "segments": [{"label": "a", "value": "1"}]}),
            "must be a number",
            "/chart/segments/0/value",
        ),
        (chart({"type": "line", "series": BARS["series"]}), "missing required field: axis_config", "/chart"),
        (of_series({"name": "x" * 21, "data": POINTS}), "must be less than 21 characters", "/chart/series/0/name"),
        (of_series(*BARS["series"], *BARS["series"]), "must be unique", "/chart/series/1/name"),
        (of_series({"name": "Cases", "data": POINTS[:1]}), "must match the categories", "/chart/series/0/data"),
        (
            chart(BARS | {"axis_config": {"categories": ["x"] * 21}}),
            "no more than 20 items allowed",
            "/chart/axis_config/categories",
        ),
    ]
    misses = []
    for block, problem, place in table:
        (fault,) = message_faults([block])
        if (fault.problem, fault.pointer) != (problem, f"/blocks/0{place}"):
            misses.append((block, fault))
    assert misses == []


def test_a_message_holds_so_many_charts_and_so_much_of_tables() -> None:
    cell = {"type": "raw_text", "text": "x" * 6_000}
    assert [str(fault) for fault in message_faults([chart(PIE)] * 3)] == [
        "no more than 2 data_visualization blocks allowed [json-pointer:/blocks]"
    ]
    (fault,) = message_faults([TABLE | {"rows": [HEAD[:1], [cell]]}, {"type": "table", "rows": [[cell]]}])
    assert "tables must be less than 10001 characters" in fault.problem


@pytest.mark.parametrize("kind", ["modal", "home"])
def test_views_take_neither(kind: str) -> None:
    title = {"title": {"type": "plain_text", "text": "x"}} if kind == "modal" else {}
    for block in (TABLE, chart(PIE)):
        (fault,) = view_faults({"type": kind, "blocks": [block]} | title)
        assert fault.problem == f"unsupported type: {block['type']}"
