"""What buttons run, against the table of buttons."""

from bot.cases.buttons import BUTTONS, SUBMISSIONS
from bot.cases.dialogs import DIALOGS
from bot.turns.interactions import CUSTOMER_STEPS, STEPS


def test_each_button_that_is_stored_runs_something_and_nothing_else_does() -> None:
    stored = {button.id: button.who for button in BUTTONS.values() if button.lane != "at_once"}
    assert CUSTOMER_STEPS.keys() == {id_ for id_, who in stored.items() if who == "customer"}
    assert STEPS.keys() == stored.keys() - CUSTOMER_STEPS.keys()


def test_each_dialog_is_built_and_its_submission_is_in_the_table() -> None:
    assert BUTTONS.keys() >= SUBMISSIONS
    assert SUBMISSIONS - DIALOGS.keys() == {"submit.article"}, "the dialog of an article is about no case"
