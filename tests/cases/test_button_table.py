"""The rights of the table of buttons once more, by hand: who may press what is changed in two places or not at all."""

from bot.cases.buttons import BUTTONS

SPEAKS = {
    *("case.claim", "case.draft", "case.prepare", "choose.change", "draft.edit", "draft.send"),
    *("relay.claim_send", "relay.send", "submit.change", "submit.draft"),
}
"""What speaks for a case: whoever presses it while another person has the case learns who that is."""
ANYWHERE = {
    *("act.was_done", "act.was_not", "appr.change", "appr.no", "appr.take", "appr.yes"),
    *("kb.add", "kb.discard.covered", "kb.discard.private", "kb.discard.single_case", "kb.discard.wrong"),
    *("kb.edit", "kb.new", "kb.progress", "kb.suggest", "kb.update"),
    *("submit.amount", "submit.article", "submit.refusal"),
}
"""What is about no case, so that every team channel serves."""
CALLS = {"esc.customer", "esc.accept"}
"""What calls a person and interrupts a running answer."""


def test_what_speaks_for_a_case_what_serves_in_every_channel_and_what_calls_a_person() -> None:
    assert {button.id for button in BUTTONS.values() if button.speaks} == SPEAKS
    assert {button.id for button in BUTTONS.values() if button.anywhere} == ANYWHERE
    assert {button.id for button in BUTTONS.values() if button.calls} == CALLS


def test_a_button_for_every_channel_is_staffs_and_one_that_speaks_belongs_to_a_state() -> None:
    for button in BUTTONS.values():
        assert not button.anywhere or button.who == "staff", button.id
        assert not button.speaks or button.states, button.id
