"""What a conversation is, and what came of it: each rule at its edge."""

from dataclasses import replace

import pytest

from bot.reporting.outcomes import Judged, judge_all, parted
from bot.store.metrics import AskedMessage, MetricsRecord, Opened, Verdict
from tests.desk.month import DAY, HOUR, RETURNS, SHIPPING, SIZES, START

NOW = START + 60 * DAY
ANSWERED = AskedMessage(1, "t1", "A", START, "How do I return an item?", "answered", frozenset({RETURNS}))
PERSON = Opened(1, "t1", "A", "asked_for_person", START)


def ask(number: int, after: float, **fields: object) -> AskedMessage:
    """The same as ANSWERED later, if nothing else is said of it."""
    return replace(ANSWERED, id=number, at=START + after, **fields)  # type: ignore[arg-type]


def judged(*written: AskedMessage, now: float = NOW, up: float | None = None, **record: object) -> list[Judged]:
    verdicts = {} if up is None else {1: Verdict("up", START + up)}
    whole = MetricsRecord(written, on_answers=verdicts, **record)  # type: ignore[arg-type]
    return judge_all(parted(whole), whole, now=now)


def endings(*written: AskedMessage, **more: object) -> list[str]:
    """What came of each conversation, as `assumed`, or `assumed, withdrawn, missed`."""
    return [
        ", ".join(filter(None, (each.ending, "withdrawn" * each.withdrawn, "missed" * each.missed)))
        for each in judged(*written, **more)  # type: ignore[arg-type]
    ]


def test_a_day_of_silence_ends_a_conversation() -> None:
    assert endings(ANSWERED, ask(2, DAY - 1)) == ["assumed"]
    assert endings(ANSWERED, ask(2, DAY)) == ["assumed, withdrawn", "assumed"]


def test_it_is_assumed_after_a_day_and_not_before() -> None:
    assert endings(ANSWERED, now=START + DAY - 1) == ["pending"]
    assert endings(ANSWERED, now=START + DAY) == ["assumed"]


def test_what_is_minutes_old_is_neither_resolved_nor_withdrawn() -> None:
    thanks, elsewhere = ask(2, HOUR, text="thank you"), ask(3, HOUR / 2, thread="t2")
    assert endings(ANSWERED, thanks, now=START + 2 * HOUR - 1) == ["pending"]
    assert endings(ANSWERED, thanks, now=START + 2 * HOUR) == ["confirmed"]
    assert endings(ANSWERED, elsewhere, now=START + HOUR) == ["pending", "pending"]
    assert endings(ANSWERED, elsewhere, now=START + DAY) == ["assumed, withdrawn", "pending"]
    case = replace(PERSON, at=START + HOUR + 60)
    assert endings(ANSWERED, thanks, cases=[case], now=START + HOUR + 120) == ["pending"]
    assert endings(ANSWERED, thanks, cases=[case], now=START + 2 * HOUR) == ["confirmed, withdrawn, missed"]


def test_helpful_counts_whenever_it_is_pressed_and_only_under_the_last_answer() -> None:
    assert endings(ANSWERED, up=3 * DAY) == ["confirmed"]
    assert endings(ANSWERED, ask(2, HOUR), up=HOUR / 2) == ["assumed"]


def test_the_last_question_decides() -> None:
    table: list[tuple[dict[str, object], str]] = [
        ({"sources": frozenset()}, "unresolved"),
        ({"sources": frozenset(), "looked_up": True}, "assumed"),
        ({"ended": "no_answer"}, "unresolved"),
        ({"ended": "stopped"}, "unresolved"),
        ({"ended": "too_fast"}, "unresolved"),
        ({"ended": "failed"}, "with_people"),
        ({"ended": "over_budget"}, "with_people"),
        ({"ended": ""}, "pending"),
        # It may answer what was asked back.
        ({"text": "yes", "sources": frozenset()}, "unresolved"),
    ]
    misses = []
    for last, ending in table:
        asked, thanked = ask(2, HOUR, **last), ask(3, 2 * HOUR, text="thanks")
        came = endings(ANSWERED, asked), endings(ANSWERED, asked, thanked)
        if came != ([ending], [ending.replace("assumed", "confirmed")]):
            misses.append((last, came))
    assert misses == []


def test_greetings_and_thanks_are_no_conversation_and_no_return() -> None:
    table = ["Hello!", "bye", "danke", "👍"]
    misses = []
    for text in table:
        courtesy = ask(2, 2 * DAY, text=text, sources=frozenset())
        if endings(courtesy) != [] or endings(ANSWERED, courtesy)[0] not in ("assumed", "confirmed"):
            misses.append(text)
    assert misses == []


@pytest.mark.parametrize(
    ("text", "sources", "first"),
    [
        ("And when it is worn?", {RETURNS, SIZES}, "assumed, withdrawn"),
        ("Which size is it?", {SIZES}, "assumed"),
        ("Where is my parcel?", set(), "assumed"),
    ],
)
def test_in_another_thread_a_page_tells_the_subject(text: str, sources: set[str], first: str) -> None:
    again = ask(2, 2 * DAY, thread="t2", text=text, sources=frozenset(sources))
    assert endings(ANSWERED, again)[0] == first


@pytest.mark.parametrize(("number", "first"), [("ord-10020", "assumed, withdrawn"), ("ORD-10021", "assumed")])
def test_in_another_thread_a_number_tells_the_subject(number: str, first: str) -> None:
    order = replace(ANSWERED, text="Where is ORD-10020?", sources=frozenset(), looked_up=True)
    again = ask(2, 2 * DAY, thread="t2", text=f"Is {number} late?", sources=frozenset(), ended="no_answer")
    assert endings(order, again)[0] == first


def test_a_return_is_the_same_customers_and_within_a_week() -> None:
    assert endings(ANSWERED, ask(2, 7 * DAY, thread="t2"))[0] == "assumed, withdrawn"
    assert endings(ANSWERED, ask(2, 7 * DAY + 1, thread="t2"))[0] == "assumed"
    assert endings(ANSWERED, ask(2, 7 * DAY + 1))[0] == "assumed"
    assert endings(ANSWERED, ask(2, 2 * DAY, customer="B")) == ["assumed", "assumed"]


def test_one_subject_in_several_threads_is_resolved_once() -> None:
    at_once = [ask(number, 0, thread=f"t{number}") for number in (1, 2, 3)]
    assert endings(*at_once) == ["assumed, withdrawn", "assumed, withdrawn", "assumed"]
    between = [ANSWERED, ask(2, HOUR, thread="t2"), ask(3, 2 * HOUR)]
    assert endings(*between) == ["assumed", "assumed, withdrawn"]


def test_who_gets_a_person_before_it_counts_was_not_resolved() -> None:
    assert endings(ANSWERED, cases=[replace(PERSON, at=START + HOUR)]) == ["with_people"]
    thanks = ask(2, 2 * HOUR, text="thanks")
    assert endings(ANSWERED, thanks, cases=[replace(PERSON, at=START + HOUR)]) == ["with_people"]


@pytest.mark.parametrize(("reason", "missed"), [("asked_for_person", ", missed"), ("no_answer", "")])
def test_who_gets_a_person_afterwards_was_not_either(reason: str, missed: str) -> None:
    thanks = ask(2, HOUR, text="thanks")
    soon, late = (replace(PERSON, reason=reason, at=START + after) for after in (2 * HOUR, 3 * DAY))
    assert endings(ANSWERED, thanks, cases=[soon]) == [f"confirmed, withdrawn{missed}"]
    assert endings(ANSWERED, cases=[late]) == [f"assumed, withdrawn{missed}", "with_people"]


def test_a_person_who_is_asked_for_in_another_thread_was_missed_when_the_subject_is_the_same() -> None:
    for page, first in ((RETURNS, "assumed, withdrawn, missed"), (SHIPPING, "assumed")):
        again = ask(2, 2 * DAY, thread="t2", sources=frozenset({page}))
        case = replace(PERSON, thread="t2", at=START + 2 * DAY + HOUR)
        assert endings(ANSWERED, again, cases=[case]) == [first, "with_people"]


def test_not_solved_after_the_assistant_has_answered_again_was_missed() -> None:
    case = replace(PERSON, at=START - DAY, reopened_at=(START + 2 * DAY,))
    asked = replace(ANSWERED, at=START - DAY, id=0)
    assert endings(asked, replace(ANSWERED, at=START + 1), cases=[case]) == [
        "with_people",
        "assumed, withdrawn, missed",
    ]


def test_people_keep_a_conversation_going_for_as_long_as_it_takes() -> None:
    case = replace(PERSON, at=START + HOUR)
    assert endings(ANSWERED, ask(2, 5 * DAY, ended="relayed"), cases=[case]) == ["with_people"]


def test_what_people_had_begun_before_the_record_is_known_as_a_part() -> None:
    (part,) = judged(ask(2, HOUR, ended="relayed"))
    assert not part.conversation.is_whole
