"""Columns, bars and tables."""

from hypothesis import given
from hypothesis import strategies as st

from bot.reporting.plots import HEIGHT, Series, bars, columns, even, even_count, even_time, table
from tests.desk.outline import Outline


def drawn(html: str) -> list[dict[str, str]]:
    """The columns' parts."""
    return [{name: value or "" for name, value in rect.items()} for rect in Outline(html).named("rect")]


def whole(number: float) -> str:
    return f"{number:.0f}"


TWO = [Series("one", "blue", [1, None, 3]), Series("two", "red", [3, 2, 0])]


def test_columns_stand_on_each_other_and_fill_the_scale() -> None:
    html = columns("Things", ["a", "b", "c"], TWO, shown=whole, top=even_count)
    assert [(rect["class"], float(rect["y"]), float(rect["height"])) for rect in drawn(html)] == [
        ("blue", 75.0, 25.0),
        ("red", 0.0, 75.0),
        ("red", 50.0, 50.0),
        ("blue", 25.0, 75.0),
    ]
    assert "<title>a: one 1, two 3</title>" in html
    assert "<title>b: two 2</title>" in html
    assert "<span>4</span><span>2</span><span>0</span>" in html


def test_columns_that_do_not_add_up_stand_before_each_other() -> None:
    html = columns("Times", ["a", "b", "c"], TWO, shown=whole, top=even_count, stacked=False)
    behind, before = drawn(html)[:2]
    assert float(behind["y"]) + float(behind["height"]) == float(before["y"]) + float(before["height"]) == HEIGHT
    assert float(before["width"]) < float(behind["width"])


def test_what_people_wrote_is_no_markup() -> None:
    evil = "<script>\"'&"
    told = (
        columns(evil, [evil], [Series(evil, "blue", [1])], shown=lambda _: evil, top=even),
        bars(evil, [(evil, 1)], style="blue"),
        table(evil, [evil, evil], [[evil, evil]]),
    )
    for html in told:
        assert "<script" not in html
        assert "&lt;script&gt;&quot;&#x27;&amp;" in html
        Outline(html)


def test_nothing_is_drawn_of_nothing() -> None:
    html = columns("Things", ["a"], [Series("one", "blue", [None])], shown=whole, top=even_count)
    assert drawn(html) == []
    assert "Nothing in this time." in table("Things", ["a"], [])


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
