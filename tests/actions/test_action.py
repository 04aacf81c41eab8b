"""The steps of an action: which are allowed in which state, and what follows from a shop's answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.actions import action as steps
from bot.actions.action import LOOK_DELAYS, ActionMovedOn
from bot.conversation import ThreadRef
from bot.shops.actions import Outcome, OutcomeState
from bot.store.actions import RUNNING, Action, State

NOW = 1_000.0
ENDS = frozenset(get_args(State)) - {"offered", *RUNNING}

Step = Callable[[Action], Action]
STEPS: dict[str, tuple[Step, tuple[State, ...]]] = {
    "confirm": (lambda one: steps.confirm(one, now=NOW), ("offered",)),
    "ask_staff": (lambda one: steps.ask_staff(one, "much", now=NOW, due=NOW + 60, case=0), ("offered",)),
    "move": (lambda one: steps.move(one, 3), ("approving",)),
    "show_again": (steps.show_again, ("offered",)),
    "offer_again": (lambda one: steps.offer_again(one, now=NOW, due=NOW + 60), ("approving",)),
    "approve": (lambda one: steps.approve(one, now=NOW), ("approving",)),
    "decline": (lambda one: steps.decline(one, now=NOW), ("offered", "approving", "ready")),
    "withdraw": (lambda one: steps.withdraw(one, "changed", now=NOW), ("offered", "approving", "ready")),
    "expire": (lambda one: steps.expire(one, now=NOW), ("offered", "approving")),
    "reject": (lambda one: steps.reject(one, now=NOW), ("approving",)),
    "fail": (lambda one: steps.fail(one, now=NOW), ("ready",)),
    "mark": (lambda one: steps.mark(one, "worker", now=NOW), ("ready",)),
    "lose": (lambda one: steps.lose(one, now=NOW), ("executing",)),
    "look": (lambda one: steps.look(one, now=NOW, lease=30.0), ("unknown",)),
    "settle": (lambda one: steps.settle(one, Outcome("done"), now=NOW, has_key=True), ("executing", "unknown")),
    "answer_for": (lambda one: steps.answer_for(one, was_done=True, now=NOW), ("stuck", "partly")),
}


def an_action(state: State = "offered", **values: object) -> Action:
    action = Action(
        ref="act_a",
        version=1,
        state=state,
        thread=ThreadRef("T1", "D1", "1.0"),
        origin="turn/1",
        customer="U1",
        customer_team="T1",
        customer_name="",
        language="en",
        zone="",
        shop_customer="cus_a",
        subject="order/ORD-1",
        kind="cancel_order",
        arguments={},
        arguments_hash="",
        facts_hash="",
        preview={},
        money=-100,
        currency="EUR",
        policy="",
        rules={},
        request={},
        key="k",
        offered_at=NOW,
        due=NOW,
    )
    return replace(action, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("state", get_args(State))
def test_a_step_is_made_only_from_the_states_that_allow_it(name: str, state: State) -> None:
    step, allowed = STEPS[name]
    if state in allowed:
        assert step(an_action(state)) != an_action(state)
    else:
        with pytest.raises(ActionMovedOn):
            step(an_action(state))


@pytest.mark.parametrize("name", ["decline", "withdraw", "fail"])
def test_what_has_once_left_is_never_called_undone(name: str) -> None:
    with pytest.raises(ActionMovedOn):
        STEPS[name][0](an_action("ready", attempts=1))


def test_a_shop_that_could_not_be_reached_at_all_changed_nothing() -> None:
    sent = steps.mark(an_action("ready"), "w", now=NOW)
    assert steps.settle(sent, Outcome("unavailable"), now=NOW, has_key=True).state == "failed"


def test_a_repeated_request_that_does_not_arrive_says_nothing_about_the_first() -> None:
    sent = an_action("executing", attempts=2)
    assert steps.settle(sent, Outcome("unavailable"), now=NOW, has_key=True).state == "unknown"


@pytest.mark.parametrize(("has_key", "state"), [(True, "ready"), (False, "unknown")])
def test_only_with_a_key_is_a_request_that_never_arrived_sent_again(*, has_key: bool, state: State) -> None:
    looked = an_action("unknown", attempts=1, looks=1)
    assert steps.settle(looked, Outcome("not_found"), now=NOW, has_key=has_key).state == state


def test_a_key_that_the_shop_knows_with_other_content_is_a_matter_for_people() -> None:
    sent = an_action("executing", attempts=1)
    ended = steps.settle(sent, Outcome("refused", "key_reused"), now=NOW, has_key=True)
    assert (ended.state, ended.reason) == ("stuck", "key_reused")


ANSWERS = st.lists(st.sampled_from(get_args(OutcomeState)), max_size=40)


@given(ANSWERS, st.booleans())
def test_whatever_a_shop_answers_an_action_ends_or_is_due(answers: list[str], has_key: bool) -> None:
    """And it ends after at most as many questions as there are delays, plus one request after each."""
    action, sent = an_action("ready", due=NOW), 0
    silence = ["unknown"] * 3 * len(LOOK_DELAYS)
    for answer in [*answers, *silence]:
        if action.state == "ready":
            action, sent = steps.mark(action, "w", now=NOW), sent + 1
        elif action.state == "unknown":
            action = steps.look(action, now=NOW, lease=30.0)
        if action.state in ENDS:
            break
        action = steps.settle(action, Outcome(cast("OutcomeState", answer)), now=NOW, has_key=has_key)
        assert action.state in ENDS or action.due is not None
    assert action.state in ENDS
    assert has_key or sent == 1


def test_a_shop_that_refuses_the_repetition_says_nothing_about_the_first_request() -> None:
    """It may refuse because the first one took effect meanwhile."""
    repeated = an_action("executing", attempts=2)
    assert steps.settle(repeated, Outcome("refused", "changed"), now=NOW, has_key=True).state == "unknown"


def test_a_request_that_never_arrives_is_not_repeated_for_ever() -> None:
    looked = an_action("unknown", attempts=5, looks=len(LOOK_DELAYS))
    assert steps.settle(looked, Outcome("not_found"), now=NOW, has_key=True).state == "stuck"


def test_what_was_sent_and_waits_to_be_sent_again_can_be_doubted() -> None:
    assert steps.doubt(an_action("ready", attempts=1), now=NOW).state == "unknown"
    with pytest.raises(ActionMovedOn):
        steps.doubt(an_action("ready"), now=NOW)


@pytest.mark.parametrize(("was_done", "reason"), [(True, "rest_done"), (False, "rest_not_done")])
def test_what_staff_say_of_the_rest_is_kept(*, was_done: bool, reason: str) -> None:
    settled = steps.answer_for(an_action("partly"), was_done=was_done, now=NOW)
    assert (settled.state, settled.reason, settled.settled) == ("partly", reason, True)
