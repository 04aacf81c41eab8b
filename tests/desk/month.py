"""A month of a desk, small enough to be counted by hand."""

from bot.store.metrics import AskedMessage, MetricsRecord, Opened, Relayed, Use, Verdict

DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0
START = 20_000 * DAY
"""The first of thirty days, 2024-10-04."""
NOW = START + 29 * DAY + 12 * HOUR
"""Noon of the last of them."""
SINCE = START
RETURNS, SHIPPING, SIZES = "https://help.example.com/returns", "https://help.example.com/shipping", "Sizes"


def at(day: int, hour: float = 9.0) -> float:
    """An hour of a day; the days count from 1."""
    return START + (day - 1) * DAY + hour * HOUR


def said(
    number: int,
    day: int,
    text: str = "How do I return an item?",
    *,
    hour: float = 9.0,
    ended: str = "answered",
    sources: tuple[str, ...] = (),
    looked_up: bool = False,
    who: str = "A",
    thread: str = "",
) -> AskedMessage:
    """A message; of a thread of its own, if nothing else is said of it."""
    return AskedMessage(number, thread or f"t{number}", who, at(day, hour), text, ended, frozenset(sources), looked_up)


MONTH = MetricsRecord(
    written=(
        # Before the month, and going on into it: none of its conversations.
        said(1, 0, hour=20, sources=(SIZES,), who="Z", thread="old"),
        said(2, 1, "And for boots?", hour=8, sources=(SIZES,), who="Z", thread="old"),
        # A, day 1: confirmed in words.
        said(10, 1, hour=9, sources=(RETURNS,), who="A"),
        said(11, 1, "Thanks, that works!", hour=10, who="A", thread="t10"),
        # B, day 1: a greeting, then an order; confirmed by "Helpful".
        said(19, 1, "Hello", hour=8, who="B", thread="t20"),
        said(20, 1, "Where is ORD-10020?", hour=9, looked_up=True, who="B"),
        # B, day 3: another order; assumed.
        said(21, 3, "Where is ORD-10021?", looked_up=True, who="B"),
        # C, day 2: assumed, then withdrawn: the same page in another thread five days later, which stands.
        said(30, 2, sources=(RETURNS,), who="C"),
        said(31, 7, "How many days do I have?", sources=(RETURNS, SHIPPING), who="C"),
        # D, day 2: confirmed, then withdrawn and missed: they asked for a person two days later.
        said(40, 2, "How long is shipping?", sources=(SHIPPING,), who="D"),
        said(41, 2, "Vielen Dank", hour=10, who="D", thread="t40"),
        # E, day 4: no answer, then a person, who solves it; a word of thanks, and what was said to the person.
        said(50, 4, "Do you repair tents?", ended="no_answer", who="E"),
        said(51, 4, "It is an old one", hour=11, ended="relayed", who="E", thread="t50"),
        said(52, 6, "Yes, that one", ended="relayed", who="E", thread="t50"),
        said(53, 6, "thanks", hour=10, ended="relayed", who="E", thread="t50"),
        # F, day 5: no answer, and nobody was called.
        said(60, 5, "Do you sell kayaks?", ended="no_answer", who="F"),
        # G, day 5: a question back and nothing else; day 20: assumed; "Not helpful" on the next day, so withdrawn.
        said(70, 5, "It is broken", who="G"),
        said(71, 20, "Do you ship to Iceland?", sources=(SHIPPING,), who="G"),
        # H, day 8: "Not helpful" at once; never counted.
        said(80, 8, sources=(RETURNS,), who="H"),
        # I, day 10: the assistant called a person itself.
        said(90, 10, "I will sue you", ended="escalated", who="I"),
        # J, day 12: answered, then a person within the day.
        said(100, 12, sources=(RETURNS,), who="J"),
        # K, day 29, 15:00: answered less than a day ago. Day 30: not answered yet.
        said(110, 29, hour=15, sources=(RETURNS,), who="K"),
        said(111, 30, "Where is ORD-10111?", hour=11.9, ended="", who="K"),
        # L, day 15: a greeting and a good-bye: no conversation.
        said(120, 15, "Hi there!", who="L"),
    ),
    cases=(
        Opened(1, "t50", "E", "no_answer", at(4, 10), at(4, 10.5), at(4, 11), was_resolved=True),
        Opened(2, "t40", "D", "asked_for_person", at(4, 9), at(4, 9.25), at(4, 9.5), outcome="assistant_could_have"),
        Opened(3, "t90", "I", "legal", at(10, 9), at(10, 13), at(10, 15), was_resolved=True, outcome="solved"),
        Opened(
            4,
            "t100",
            "J",
            "asked_for_person",
            at(12, 11),
            at(12, 12),
            None,
            was_resolved=True,
            reopened=2,
            reopened_at=(at(13), at(14)),
            outcome="assistant_could_have",
        ),
        # Pressed by somebody who had asked nothing; nobody has claimed it.
        Opened(5, "t130", "M", "asked_for_person", at(30, 10)),
        Opened(6, "t131", "M", "asked_for_person", at(30, 11), was_merged=True),
    ),
    on_answers={
        20: Verdict("up", at(1, 9.5)),
        71: Verdict("wrong", at(21, 10)),
        80: Verdict("down", at(8, 9.5)),
    },
    on_cases={1: Verdict("5", at(6, 12)), 3: Verdict("4", at(11)), 4: Verdict("1", at(14))},
    uses=(
        Use("old", "Z", at(1, 8), 1_000, 0.01, input_tokens=800, cached_tokens=600),
        Use("t10", "A", at(1, 9), 2_000, 0.02),
        Use("t10", "A", at(1, 10), 500, 0.005),
        Use("t50", "E", at(4, 9), 3_000, 0.03),
        # Drafts for staff.
        Use("t50", "E", at(4, 10.75), 4_000, 0.04, estimated=True),
        Use("t120", "L", at(15), 100, 0.001),
    ),
    relayed=(
        *(Relayed(at(4, 11) + second, at(4, 11) + second + 0.5) for second in range(19)),
        Relayed(at(6), at(6) + 7.0),
        Relayed(at(10), None, failed=True),
        Relayed(NOW - 1, None),
    ),
)
