"""The rights of the table of buttons once more, by hand: who may press what is changed in two places or not at all."""

from typing import get_args

import pytest

from bot.cases.buttons import BUTTONS
from bot.cases.case import State
from bot.store.cases import Helper
from tests.store.rows import a_case

SPEAKS = {
    *("case.claim", "case.draft", "case.prepare", "choose.change", "draft.edit", "draft.send"),
    *("relay.claim_send", "relay.send", "submit.change", "submit.draft"),
    *("case.saved", "choose.saved", "submit.saved"),
}
"""What speaks for a case: whoever presses it while another person has the case learns who that is."""
ANYWHERE = {
    *("act.undo", "act.was_done", "act.was_not", "appr.change", "appr.no", "appr.take", "appr.yes"),
    *("kb.add", "kb.discard.covered", "kb.discard.private", "kb.discard.single_case", "kb.discard.wrong"),
    *("fix.done", "fix.write"),
    *("kb.edit", "kb.new", "kb.progress", "kb.suggest", "kb.update"),
    *("metrics.cases", "queue.filter", "queue.next", "queue.search", "relay.note"),
    *("choose.cases", "queue.choose", "submit.cases"),
    *("search.next", "search.previous", "submit.search"),
    *("submit.amount", "submit.article", "submit.refusal"),
}
"""What is about no case, so that every team channel serves."""
HELPERS = {"case.saved", "choose.saved", "submit.saved"}
"""What speaks for a case, and what people who help with it can press too."""
CALLS = {"esc.customer", "esc.accept"}
"""What calls a person and interrupts a running answer."""


def test_what_speaks_for_a_case_what_serves_in_every_channel_and_what_calls_a_person() -> None:
    assert {button.id for button in BUTTONS.values() if button.speaks} == SPEAKS
    assert {button.id for button in BUTTONS.values() if button.anywhere} == ANYWHERE
    assert {button.id for button in BUTTONS.values() if button.helps} == HELPERS
    assert {button.id for button in BUTTONS.values() if button.calls} == CALLS


def test_a_button_for_every_channel_is_staffs_and_one_that_speaks_belongs_to_a_state() -> None:
    for button in BUTTONS.values():
        assert not button.anywhere or button.who == "staff", button.id
        assert not button.speaks or button.states, button.id


CLOSED_DESK, UNCLAIMED, CLAIMED = {"out_of_hours"}, {"waiting", "out_of_hours"}, {"human"}
PEOPLES, ENDED = UNCLAIMED | CLAIMED, {"resolved", "closed"}
EVERY = frozenset(get_args(State))
WORKS = {
    **dict.fromkeys(["esc.cancel", "case.claim", "esc.keep"], UNCLAIMED),
    **dict.fromkeys(["esc.urgent", "esc.wait"], CLOSED_DESK),
    "esc.undo": {"bot"},
    "case.reopen": ENDED,
    "case.snooze": {"waiting"},
    **dict.fromkeys(["case.takeover", "case.join", "case.draft", "draft.send", "relay.send", "case.resolve"], CLAIMED),
    **dict.fromkeys(["case.prepare", "draft.edit", "submit.resolve"], CLAIMED),
    **dict.fromkeys(["choose.change", "submit.change", "submit.draft"], CLAIMED),
    **dict.fromkeys(["case.saved", "choose.saved", "submit.saved"], CLAIMED),
    **dict.fromkeys(["relay.claim_send", "case.handback", "case.more.priority", "case.more.spam"], PEOPLES),
    **dict.fromkeys(["case.more.transfer", "case.more.merge", "submit.handback", "submit.priority"], PEOPLES),
    **dict.fromkeys(["submit.spam", "submit.transfer", "submit.merge"], PEOPLES),
    **dict.fromkeys(["case.assign", "submit.assign", "case.tags", "submit.tags"], PEOPLES),
    "relay.join_send": CLAIMED,
    **dict.fromkeys(["case.unassign", "case.await", "case.later", "case.wake", "submit.later"], CLAIMED),
    "kb.suggest": {*ENDED, "merged", "bot"},
}
"""The states of a case in which a button does something. Every other button works in all of them."""
DONE = {
    "esc.cancel": {"bot"},
    "submit.handback": {"bot"},
    **dict.fromkeys(["esc.undo", "case.reopen", "case.snooze", "case.unassign", "submit.transfer"], UNCLAIMED),
    **dict.fromkeys(["submit.assign", "case.await", "case.wake"], CLAIMED),
    **dict.fromkeys(["esc.urgent", "esc.wait"], CLOSED_DESK),
    "submit.resolve": {"resolved"},
    "submit.spam": {"closed"},
    "submit.merge": {"merged"},
}
"""The states that a button leads to, so that a retry finds its work done."""
OF_OWNERS = {"case.claim", "case.takeover", "relay.claim_send"}
OF_SPEAKERS = {"case.join", "relay.send", "relay.join_send"}


@pytest.mark.parametrize("name", BUTTONS)
def test_a_button_works_in_its_states_and_knows_when_its_work_is_done(name: str) -> None:
    button = BUTTONS[name]
    cases = [a_case(state=state) for state in EVERY]
    assert {case.state for case in cases if not button.is_useless(case)} == WORKS.get(name, EVERY)
    if name not in OF_OWNERS | OF_SPEAKERS:
        assert {case.state for case in cases if button.is_done(case, "A")} == DONE.get(name, set())


def test_work_that_a_person_wanted_is_done_for_them_alone() -> None:
    case = a_case(state="human", owner="A", owner_name="Agent A", helpers=(Helper("H", "Agent H", 1.0),))
    for name in OF_OWNERS | OF_SPEAKERS:
        done = {user for user in ("A", "H", "N") if BUTTONS[name].is_done(case, user)}
        assert done == ({"A"} if name in OF_OWNERS else {"A", "H"}), name


def test_what_a_customer_chose_once_out_of_hours_is_used_up() -> None:
    urged, helped = a_case(state="out_of_hours", step=1), a_case(state="out_of_hours", keeps_helping=True)
    assert {name for name, button in BUTTONS.items() if button.is_used(urged)} == {"esc.urgent"}
    assert {name for name, button in BUTTONS.items() if button.is_used(helped)} == {"esc.keep"}
    assert BUTTONS["esc.urgent"].is_useless(urged)
    assert BUTTONS["esc.keep"].is_useless(helped)
    assert BUTTONS["esc.keep"].is_done(helped, "A")
    assert BUTTONS["case.more.why"].action_id == "case.more"
