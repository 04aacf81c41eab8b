"""When a refresh is due next."""

import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bot.help_center.recurrence import JITTER_SECONDS, read_rule

MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
HOUR = 3_600.0


def test_intervals_count_from_now_and_cron_by_the_clock() -> None:
    table = [
        ("30m", 0.5),
        ("6h", 6),
        ("1d", 24),
        ("15 * * * *", 0.25),
        ("0 3 * * *", 3),
        ("30 22 * * sat", 22.5),
        (" 2h ", 2),
    ]
    misses = [
        (text, got)
        for text, hours in table
        if (got := read_rule(text).after(MIDNIGHT, chance=0.0)) != MIDNIGHT + hours * HOUR
    ]
    assert misses == []


def test_what_is_no_rule_is_refused_with_a_sentence() -> None:
    table = [
        "",
        "6",
        "6s",
        "0h",
        "-1h",
        "31d",
        "1.5h",
        "every hour",
        "* * * *",
        "0 0 3 * * *",
        "61 * * * *",
        "0 0 31 2 *",
        "a b c d e",
    ]
    sentence = re.compile(r"must be an interval|is no cron expression|that no moment fits")
    misses: list[tuple[str, object]] = []
    for text in table:
        try:
            misses.append((text, read_rule(text)))
        except ValueError as refused:
            if not sentence.search(str(refused)):
                misses.append((text, refused))
    assert misses == []


@given(
    text=st.sampled_from(["1m", "30m", "6h", "7d", "*/5 * * * *", "0 3 * * *", "0 0 1 * *"]),
    moment=st.floats(1.7e9, 1.9e9),
    chance=st.floats(0, 1),
)
def test_it_is_late_by_a_tenth_at_the_most_and_never_early(text: str, moment: float, chance: float) -> None:
    rule = read_rule(text)
    planned, due = rule.after(moment, chance=0.0), rule.after(moment, chance=chance)
    gap = rule.after(planned, chance=0.0) - planned
    assert moment < planned <= due <= planned + min(0.1 * gap, JITTER_SECONDS) + 1e-3
