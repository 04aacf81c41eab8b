"""Where columns, bars and lines are drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reporting.plots import FULL, Series, bars, columns, even, even_count, even_time, spark


def whole(number: float) -> str:
    return f"{number:.0f}"


TWO = [Series("one", "blue", [1, None, 3]), Series("two", "red", [3, 2, 0])]


def test_columns_stand_on_each_other_and_fill_the_scale() -> None:
    chart = columns(["a", "b", "c"], TWO, shown=whole, top=even_count)
    assert [(rect.style, rect.y, rect.height) for column in chart.columns for rect in column.rects] == [
        ("blue", 75.0, 25.0),
        ("red", 0.0, 75.0),
        ("red", 50.0, 50.0),
        ("blue", 25.0, 75.0),
    ]
    assert [column.title for column in chart.columns] == ["a: one 1, two 3", "b: two 2", "c: one 3"]
    assert chart.ticks == ["4", "2", "0"]


def test_every_column_has_its_own_place() -> None:
    chart = columns(["a", "b", "c"], TWO, shown=whole, top=even_count)
    for column in chart.columns:
        assert all(column.x < rect.x and rect.x + rect.width < column.x + chart.width for rect in column.rects)
    assert chart.columns[-1].x + chart.width == pytest.approx(FULL)


def test_columns_that_do_not_add_up_stand_before_each_other() -> None:
    chart = columns(["a", "b", "c"], TWO, shown=whole, top=even_count, stacked=False)
    behind, before = chart.columns[0].rects
    assert behind.y + behind.height == before.y + before.height == FULL
    assert before.width < behind.width


def test_few_labels_stand_below_many_columns() -> None:
    rows = [(1, 1), (6, 6), (7, 3), (30, 6), (60, 6), (62, 6)]
    misses = []
    for days, at_most in rows:
        chart = columns([str(day) for day in range(days)], [], shown=whole, top=even)
        labels = [column.label for column in chart.columns if column.label]
        if labels[0] != "0" or len(labels) > at_most:
            misses.append((days, labels))
    assert misses == []


def test_the_longest_bar_has_the_full_width() -> None:
    assert [(bar.value, bar.width) for bar in bars([("a", 4), ("b", 1), ("c", 0)])] == [(4, 100.0), (1, 25.0), (0, 0.0)]
    assert [bar.width for bar in bars([("a", 0)])] == [0.0]


def test_a_spark_goes_through_the_values_that_are_known() -> None:
    assert spark([2.0, None, 4.0]) == "0.0,94.0 100.0,6.0"
    assert spark([3.0, 3.0]) == "0.0,50.0 100.0,50.0"
    assert [spark(values) for values in ([], [1.0], [None, 1.0, None])] == ["", "", ""]


def test_nothing_is_drawn_of_nothing() -> None:
    (column,) = columns(["a"], [Series("one", "blue", [None])], shown=whole, top=even_count).columns
    assert (column.title, column.rects) == ("", [])


@given(st.floats(1e-6, 1e9))
def test_a_scale_holds_what_it_is_for_and_not_much_more(highest: float) -> None:
    for top in (even, even_count, even_time):
        assert top(highest) >= highest * (1 - 1e-6)
    assert even(highest) <= 2 * highest
    assert even_count(highest) <= max(2.0, 2 * highest)


def test_a_scale_of_whole_numbers_has_a_whole_half() -> None:
    rows = [(0, 2), (1, 2), (3, 4), (9, 10), (11, 20), (21, 30), (420, 500)]
    misses = [(highest, end) for highest, end in rows if even_count(highest) != end or not (end / 2).is_integer()]
    assert misses == []


def test_a_scale_of_time_ends_at_minutes_hours_or_days() -> None:
    rows = [(0.0, 10), (61.0, 120), (3_000.0, 3_600), (9_000.0, 10_800), (400_000.0, 5 * 86_400)]
    misses = [(seconds, got) for seconds, end in rows if (got := even_time(seconds)) != end]
    assert misses == []
