"""The case's state machine."""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cases import case as steps
from bot.cases.case import MovedOn
from bot.store.cases import OPEN_STATES, Case, id_of
from tests.store.rows import a_case

STEPS: dict[str, Callable[[Case], Case]] = {
    "claim by a": lambda case: steps.claim(case, "A", "Agent A", now=1.0),
    "claim by b": lambda case: steps.claim(case, "B", "Agent B", now=1.0),
    "take over by b": lambda case: steps.take_over(case, "B", "Agent B", now=2.0),
    "resolve": lambda case: steps.resolve(case, now=3.0),
    "hand back": lambda case: steps.hand_back(case, now=4.0),
    "cancel": lambda case: steps.cancel(case, now=5.0),
    "reopen": lambda case: steps.reopen(case, now=6.0),
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


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=12))
def test_whatever_is_pressed_an_owner_and_an_open_human_case_go_together(pressed: list[str]) -> None:
    case = a_case()
    for name in pressed:
        with contextlib.suppress(MovedOn):
            case = STEPS[name](case)
        assert case.state in (*OPEN_STATES, "resolved", "bot")
        assert (case.state == "waiting") <= (case.owner is None)
        assert (case.state in ("human", "resolved")) <= (case.owner is not None)
        assert (case.state in OPEN_STATES) == (case.ended_at is None)


@pytest.mark.parametrize(
    ("ref", "row"), [("FD-1042", 42), ("FD-1001", 1), ("FD-", None), ("FD-١٠٤٢", None), ("x", None)]
)
def test_a_reference_names_its_row(ref: str, row: int | None) -> None:
    assert id_of(ref) == row
