"""The case's state machine."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cases import case as steps
from bot.cases.case import MovedOn, State
from bot.cases.hours import Hours, Targets, read_week
from bot.store.cases import ERASED, OPEN_STATES, Case, Helper, id_of
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
    "snooze": lambda case: steps.snooze(case, now=20 * DAY, targets=DAYTIME),
    "urge": steps.urge,
    "can wait": steps.can_wait,
    "keep helping": steps.keep_helping,
    "close": steps.close,
    "assign to b": lambda case: steps.assign(case, "B", "Agent B", now=6.5, targets=DAYTIME),
    "unassign": lambda case: steps.unassign(case, now=6.6, targets=DAYTIME),
    "owe a reply": lambda case: steps.owe_reply(case, now=7.0, targets=DAYTIME),
    "answer": lambda case: steps.answer(case, now=7.1),
    "await the customer": lambda case: steps.await_customer(case, now=7.2),
    "put aside": lambda case: steps.put_aside(case, 8.0, now=7.3),
    "wake": lambda case: steps.wake(case, now=8.0),
    "miss the reply": lambda case: steps.miss_reply(case, now=10 * DAY),
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
        if case.state == "human":
            assert case.snoozed_until is None or case.due == case.snoozed_until
            assert case.reply_due is not None or not case.reply_missed
            assert case.reply_due is None or case.reply_missed or case.due is not None
        else:
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
    snoozed = steps.snooze(case, now=22 * MINUTE, targets=ALWAYS_THERE)
    assert snoozed.due == 32 * MINUTE
    assert steps.breach(snoozed, now=32 * MINUTE, targets=ALWAYS_THERE).due == 62 * MINUTE


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
        steps.snooze(moved, now=20 * MINUTE, targets=ALWAYS_THERE)


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


NOW = 50.0
ENDED_AT = 40.0
HELPER = Helper("H", "Agent H", 3.0)
WAITING, PEOPLES = frozenset({"waiting", "out_of_hours"}), frozenset({"waiting", "out_of_hours", "human"})
EVERY = frozenset(get_args(State))
WITH_ASSISTANT = {"state": "bot", "ended_at": NOW, "due": None, "keeps_helping": False}
FRESH = {"owner": None, "owner_name": None, "claimed_at": None}
WAITS_AGAIN = {"state": "waiting", "waiting_since": NOW, "due": NOW + 15 * MINUTE, "step": 0, "keeps_helping": False}
WHOLE_TABLE: dict[str, tuple[Callable[[Case], Case], frozenset[str], dict[str, Any]]] = {
    "open up": (
        lambda case: steps.open_up(case, targets=ALWAYS_THERE),
        frozenset({"out_of_hours"}),
        {"state": "waiting", "waiting_since": 45.0, "due": 45.0 + 15 * MINUTE, "step": 0},
    ),
    "breach": (
        lambda case: steps.breach(case, now=NOW, targets=ALWAYS_THERE),
        frozenset({"waiting"}),
        {"step": 2, "due": 45.0 + 30 * MINUTE, "priority": "high"},
    ),
    "snooze": (
        lambda case: steps.snooze(case, now=NOW, targets=ALWAYS_THERE),
        frozenset({"waiting"}),
        {"due": NOW + 10 * MINUTE},
    ),
    "can wait": (steps.can_wait, frozenset({"out_of_hours"}), {}),
    "claim": (
        lambda case: steps.claim(case, "C", "Agent C", now=NOW),
        WAITING,
        {
            "state": "human",
            "owner": "C",
            "owner_name": "Agent C",
            "claimed_at": NOW,
            "due": None,
            "keeps_helping": False,
        },
    ),
    "take over": (
        lambda case: steps.take_over(case, "C", "Agent C", now=NOW),
        frozenset({"human"}),
        {"owner": "C", "owner_name": "Agent C", "claimed_at": NOW},
    ),
    "take over as a helper": (
        lambda case: steps.take_over(case, "H", "Agent H", now=NOW),
        frozenset({"human"}),
        {"owner": "H", "owner_name": "Agent H", "claimed_at": NOW, "helpers": ()},
    ),
    "join": (
        lambda case: steps.join(case, "N", "Agent N", now=NOW),
        frozenset({"human"}),
        {"helpers": (HELPER, Helper("N", "Agent N", NOW))},
    ),
    "transfer": (
        lambda case: steps.transfer(case, "C0BILLING", now=NOW, targets=ALWAYS_THERE),
        PEOPLES,
        {**FRESH, **WAITS_AGAIN, "desk": "C0BILLING"},
    ),
    "merge": (
        lambda case: steps.merge(case, a_case(id=2), now=NOW),
        PEOPLES,
        {"state": "merged", "merged_into": 2, "ended_at": NOW, "due": None, "keeps_helping": False},
    ),
    "unmerge": (
        lambda case: steps.unmerge(case, now=NOW),
        frozenset({"merged"}),
        {"state": "bot", "ended_at": NOW},
    ),
    "resolve": (
        lambda case: steps.resolve(case, now=NOW),
        frozenset({"human"}),
        {"state": "resolved", "ended_at": NOW, "due": NOW + 7 * DAY, "outcome": "solved", "cause": ""},
    ),
    "resolve with a cause": (
        lambda case: steps.resolve(case, now=NOW, outcome="refunded", cause="late"),
        frozenset({"human"}),
        {"state": "resolved", "ended_at": NOW, "due": NOW + 7 * DAY, "outcome": "refunded", "cause": "late"},
    ),
    "close": (steps.close, frozenset({"resolved"}), {"state": "closed", "due": None}),
    "hand back": (lambda case: steps.hand_back(case, now=NOW), PEOPLES, WITH_ASSISTANT),
    "cancel": (lambda case: steps.cancel(case, now=NOW), WAITING, WITH_ASSISTANT),
    "reopen": (
        lambda case: steps.reopen(case, now=NOW, targets=ALWAYS_THERE),
        frozenset({"resolved"}),
        {**FRESH, **WAITS_AGAIN, "ended_at": None, "outcome": "", "cause": "", "reopened": 2, "last_owner": "A"},
    ),
    "mark as spam": (
        lambda case: steps.mark_spam(case, now=NOW),
        PEOPLES,
        {"state": "closed", "ended_at": NOW, "due": None, "keeps_helping": False, "outcome": "spam"},
    ),
    "erase": (
        lambda case: replace(steps.erase(case, now=NOW), ended_at=None),
        EVERY,
        {"state": "closed", "ended_at": None, "due": None, "keeps_helping": False, "outcome": ERASED},
    ),
}


def in_state(state: str) -> Case:
    """A case in a state, with every field filled in, to see which ones a step leaves alone."""
    is_open = state in OPEN_STATES
    return a_case(
        state=state,
        owner="A",
        owner_name="Agent A",
        opened_at=1.0,
        claimed_at=4.0,
        step=1,
        ended_at=None if is_open else ENDED_AT,
        waiting_since=2.0,
        due=45.0,
        helpers=(HELPER,),
        outcome="known",
        cause="rain",
        reopened=1,
        keeps_helping=state in WAITING,
    )


@pytest.mark.parametrize("name", WHOLE_TABLE)
def test_a_step_changes_its_fields_in_the_states_that_allow_it_and_is_refused_in_all_others(name: str) -> None:
    step, allowed, changes = WHOLE_TABLE[name]
    for state in EVERY:
        case = in_state(state)
        if state in allowed:
            assert step(case) == replace(case, **changes), state
        else:
            with pytest.raises(MovedOn) as moved:
                step(case)
            assert moved.value.case == case


def test_a_step_that_would_change_nothing_is_refused() -> None:
    human, waiting_case, away = in_state("human"), in_state("waiting"), in_state("out_of_hours")
    table: list[Callable[[], Case]] = [
        lambda: steps.take_over(human, "A", "Agent A", now=NOW),
        lambda: steps.join(human, "A", "Agent A", now=NOW),
        lambda: steps.join(human, "H", "Agent H", now=NOW),
        lambda: steps.transfer(replace(human, desk="C0BILLING"), "C0BILLING", now=NOW, targets=ALWAYS_THERE),
        lambda: steps.keep_helping(waiting_case),
        lambda: steps.keep_helping(away),
        lambda: steps.urge(away),
        lambda: steps.snooze(replace(waiting_case, due=None), now=NOW, targets=ALWAYS_THERE),
        lambda: steps.snooze(replace(waiting_case, step=0), now=NOW, targets=ALWAYS_THERE),
    ]
    for step in table:
        with pytest.raises(MovedOn):
            step()
    for state in WAITING:
        waits = replace(in_state(state), keeps_helping=False)
        assert steps.keep_helping(waits) == replace(waits, keeps_helping=True)
    assert steps.urge(replace(away, step=0)) == replace(away, priority="high", step=1)
    with pytest.raises(MovedOn) as moved:
        steps.merge(human, in_state("closed"), now=NOW)
    assert moved.value.case.state == "closed"
    assert [steps.erase(in_state(state), now=NOW).ended_at for state in ("human", "resolved")] == [NOW, ENDED_AT]


def test_a_case_is_reopened_until_a_week_after_its_end_and_not_later() -> None:
    resolved = in_state("resolved")
    last = ENDED_AT + 7 * DAY
    assert steps.may_be_reopened(resolved, now=last)
    assert not steps.may_be_reopened(resolved, now=last + 1)
    assert [state for state in EVERY if steps.may_be_reopened(in_state(state), now=NOW)] == ["resolved"]
    with pytest.raises(MovedOn):
        steps.reopen(resolved, now=last + 1, targets=ALWAYS_THERE)


def test_only_a_graver_danger_is_noted_and_makes_any_case_with_people_urgent() -> None:
    gravity = ["asked_for_person", "legal", "fraud", "threat", "harm", "crisis"]
    assert {*gravity[1:], "upset", "billing", "security"} == steps.URGENT
    for had, before in enumerate(gravity):
        for found, after in enumerate(gravity):
            case = replace(in_state("human"), reason=before)
            if found > had:
                graver = steps.endanger(case, after, now=NOW, targets=ALWAYS_THERE)
                assert graver == replace(case, reason=after, priority="high")
            else:
                with pytest.raises(MovedOn):
                    steps.endanger(case, after, now=NOW, targets=ALWAYS_THERE)
    for state in EVERY - PEOPLES:
        with pytest.raises(MovedOn):
            steps.endanger(in_state(state), "crisis", now=NOW, targets=ALWAYS_THERE)
    with pytest.raises(MovedOn):
        steps.endanger(in_state("human"), "upset", now=NOW, targets=ALWAYS_THERE)


def test_another_priority_moves_only_the_first_two_steps_of_a_case_that_waits() -> None:
    for state in EVERY:
        case = in_state(state)
        if state not in PEOPLES:
            with pytest.raises(MovedOn):
                steps.prioritize(case, "high", now=NOW, targets=ALWAYS_THERE)
        elif state != "waiting":
            assert steps.prioritize(case, "low", now=NOW, targets=ALWAYS_THERE) == replace(case, priority="low")
    dues = [
        steps.prioritize(replace(in_state("waiting"), step=step), "high", now=NOW, targets=ALWAYS_THERE).due
        for step in (0, 1, 2, 3)
    ]
    assert dues == [2.0 + 5 * MINUTE, 2.0 + 10 * MINUTE, 45.0, 45.0]
    unsaid = replace(in_state("waiting"), step=0, waiting_since=None)
    assert steps.prioritize(unsaid, "high", now=NOW, targets=ALWAYS_THERE).due == 1.0 + 5 * MINUTE


def test_only_the_owner_has_a_case_and_helpers_speak_under_their_own_names() -> None:
    case = in_state("human")
    assert steps.owned(case, "A") is case
    assert (steps.speaking(case, "A"), steps.speaking(case, "H")) == ("Agent A", "Agent H")
    for refused in (lambda: steps.owned(case, "H"), lambda: steps.speaking(case, "N")):
        with pytest.raises(MovedOn):
            refused()
