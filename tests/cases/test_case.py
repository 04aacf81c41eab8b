"""The case's state machine."""

import contextlib
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cases import case as steps
from bot.cases.case import MovedOn, State
from bot.cases.hours import Hours, Targets, read_week
from bot.store.cases import OPEN_STATES, Case, id_of
from tests.store.rows import a_case

DAY, MINUTE = 86_400.0, 60.0
NIGHT = 20 * 3_600.0
DAYTIME = Targets(Hours(read_week("Mon-Sun 00:00-12:00")))
ALWAYS_THERE = Targets()

STEPS: dict[str, Callable[[Case], Case]] = {
    "claim by a": lambda case: steps.claim(case, "A", "Agent A", now=1.0),
    "claim by b": lambda case: steps.claim(case, "B", "Agent B", now=1.0),
    "take over by b": lambda case: steps.take_over(case, "B", "Agent B", now=2.0),
    "resolve": lambda case: steps.resolve(case, now=3.0),
    "hand back": lambda case: steps.hand_back(case, now=4.0),
    "cancel": lambda case: steps.cancel(case, now=5.0),
    "reopen": lambda case: steps.reopen(case, now=6.0, targets=DAYTIME),
    "reopen at night": lambda case: steps.reopen(case, now=NIGHT, targets=DAYTIME),
    "open up": lambda case: steps.open_up(case, targets=DAYTIME),
    "breach": lambda case: steps.breach(case, now=10 * DAY, targets=DAYTIME),
    "snooze": lambda case: steps.snooze(case, targets=DAYTIME),
    "urge": steps.urge,
    "can wait": steps.can_wait,
    "keep helping": steps.keep_helping,
    "close": steps.close,
}


def test_a_case_is_claimed_resolved_and_reopened_for_anybody() -> None:
    claimed = STEPS["claim by a"](a_case())
    assert (claimed.state, claimed.owner) == ("human", "A")
    resolved = STEPS["resolve"](claimed)
    assert (resolved.state, resolved.ended_at) == ("resolved", 3.0)
    reopened = STEPS["reopen"](resolved)
    assert (reopened.state, reopened.owner, reopened.ended_at) == ("waiting", None, None)
    assert (reopened.waiting_since, reopened.reopened, reopened.last_owner) == (6.0, 1, "A")


def test_a_claimed_case_is_not_claimed_again() -> None:
    with pytest.raises(MovedOn) as told:
        STEPS["claim by b"](STEPS["claim by a"](a_case()))
    assert told.value.case.owner == "A"


def test_the_owner_does_not_take_over_from_themselves() -> None:
    with pytest.raises(MovedOn):
        STEPS["take over by b"](STEPS["claim by b"](a_case()))


def test_a_customer_cannot_cancel_once_somebody_has_claimed() -> None:
    with pytest.raises(MovedOn):
        STEPS["cancel"](STEPS["claim by a"](a_case()))


def test_a_merged_case_is_the_assistants_again_and_ended_when_the_other_one_ends() -> None:
    unmerged = steps.unmerge(a_case(state="merged", merged_into=2), now=7.0)
    assert (unmerged.state, unmerged.ended_at) == ("bot", 7.0)
    with pytest.raises(MovedOn):
        steps.unmerge(unmerged, now=8.0)


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=12))
def test_whatever_is_pressed_an_owner_and_an_open_human_case_go_together(pressed: list[str]) -> None:
    case = steps.wait(a_case(), now=NIGHT if pressed[:1] == ["urge"] else 0.0, targets=DAYTIME)
    for name in pressed:
        with contextlib.suppress(MovedOn):
            case = STEPS[name](case)
        assert case.state in get_args(State)
        assert case.waits <= (case.owner is None)
        assert (case.state in ("human", "resolved", "closed")) <= (case.owner is not None)
        assert (case.state in OPEN_STATES) == (case.ended_at is None)
        assert (case.due is not None) == (
            (case.state == "waiting" and case.step < 3) or case.state in ("out_of_hours", "resolved")
        )
        assert case.keeps_helping <= case.waits


def waiting(**fields: Any) -> Case:
    return steps.wait(a_case(opened_at=0.0, **fields), now=0.0, targets=ALWAYS_THERE)


def test_the_rungs_are_climbed_at_one_two_and_four_times_the_target_and_the_second_makes_it_more_urgent() -> None:
    case = waiting()
    seen = []
    while case.due is not None:
        with pytest.raises(MovedOn):
            steps.breach(case, now=case.due - 1, targets=ALWAYS_THERE)
        at = case.due
        case = steps.breach(case, now=at, targets=ALWAYS_THERE)
        seen.append((at / MINUTE, case.step, case.priority))
    assert seen == [(15, 1, "medium"), (30, 2, "high"), (60, 3, "high")]


@pytest.mark.parametrize(("minutes", "step", "due"), [(29, 1, 30), (31, 2, 60), (5_000, 3, None)])
def test_of_rungs_that_were_missed_the_highest_is_climbed_once(minutes: int, step: int, due: float | None) -> None:
    case = steps.breach(waiting(), now=minutes * MINUTE, targets=ALWAYS_THERE)
    assert (case.step, case.due) == (step, due and due * MINUTE)
    with pytest.raises(MovedOn):
        steps.breach(case, now=minutes * MINUTE, targets=ALWAYS_THERE)


def test_a_snooze_puts_the_next_rung_off_and_leaves_the_time_between_the_others() -> None:
    case = steps.breach(waiting(), now=15 * MINUTE, targets=ALWAYS_THERE)
    snoozed = steps.snooze(case, targets=ALWAYS_THERE)
    assert snoozed.due == 40 * MINUTE
    assert steps.breach(snoozed, now=40 * MINUTE, targets=ALWAYS_THERE).due == 70 * MINUTE


def test_what_turns_out_to_be_more_urgent_is_called_for_sooner_and_still_step_by_step() -> None:
    now = 30 * MINUTE
    urgent = steps.prioritize(waiting(priority="low"), "high", now=now, targets=ALWAYS_THERE)
    assert urgent.due == now
    called = steps.breach(urgent, now=now, targets=ALWAYS_THERE)
    assert (called.step, called.due) == (1, now + 5 * MINUTE)
    later = steps.prioritize(waiting(priority="high"), "low", now=0.0, targets=ALWAYS_THERE)
    assert later.due == 60 * MINUTE


def test_what_was_called_for_at_another_desk_is_not_snoozed_any_more() -> None:
    called = steps.breach(waiting(), now=15 * MINUTE, targets=ALWAYS_THERE)
    moved = steps.transfer(called, "C0BILLING", now=16 * MINUTE, targets=ALWAYS_THERE)
    assert (moved.step, moved.due) == (0, 31 * MINUTE)
    with pytest.raises(MovedOn):
        steps.snooze(moved, targets=ALWAYS_THERE)


def test_a_case_that_comes_at_night_waits_from_the_opening_on() -> None:
    away = steps.wait(a_case(priority="low"), now=NIGHT, targets=DAYTIME)
    assert (away.state, away.due) == ("out_of_hours", DAY)
    opened = steps.open_up(away, targets=DAYTIME)
    assert (opened.state, opened.waiting_since, opened.due) == ("waiting", DAY, DAY + 60 * MINUTE)


def test_no_time_passes_for_a_case_while_the_desk_is_closed() -> None:
    late = 12 * 3_600.0 - 5 * MINUTE
    case = steps.wait(a_case(), now=late, targets=DAYTIME)
    assert (case.state, case.due) == ("waiting", DAY + 10 * MINUTE)


def test_it_is_urgent_once() -> None:
    away = steps.wait(a_case(priority="low"), now=NIGHT, targets=DAYTIME)
    urgent = steps.urge(away)
    assert (urgent.priority, urgent.due) == ("high", away.due)
    with pytest.raises(MovedOn):
        steps.urge(urgent)
    assert steps.open_up(urgent, targets=DAYTIME).due == DAY + 5 * MINUTE


@pytest.mark.parametrize("name", ["claim by a", "hand back", "cancel"])
@pytest.mark.parametrize("now", [0.0, NIGHT])
def test_who_is_claimed_or_back_with_the_assistant_climbs_no_further(name: str, now: float) -> None:
    case = STEPS[name](steps.keep_helping(steps.wait(a_case(), now=now, targets=DAYTIME)))
    assert (case.due, case.keeps_helping) == (None, False)


def test_a_solved_case_is_closed_after_a_week_and_not_opened_again() -> None:
    solved = STEPS["resolve"](STEPS["claim by a"](waiting()))
    assert solved.due == 3.0 + 7 * DAY
    closed = steps.close(solved)
    assert (closed.state, closed.due) == ("closed", None)
    with pytest.raises(MovedOn):
        STEPS["reopen"](closed)


def test_a_reference_names_its_row() -> None:
    table = [("FD-1042", 42), ("FD-1001", 1), ("FD-", None), ("FD-١٠٤٢", None), ("x", None)]
    misses = [(ref, got) for ref, row in table if (got := id_of(ref)) != row]
    assert misses == []
