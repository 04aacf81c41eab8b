"""What buttons run, against the table of buttons."""

from bot.actions.dialogs import CHOOSE
from bot.actions.dialogs import DIALOGS as ACTION_DIALOGS
from bot.cases.buttons import BUTTONS, SUBMISSIONS
from bot.cases.dialogs import DIALOGS
from bot.turns.interactions.action_steps import ActionSteps
from bot.turns.interactions.article_steps import ArticleSteps
from bot.turns.interactions.case_steps import CaseSteps
from bot.turns.interactions.customers import CustomerInteractions
from bot.turns.interactions.draft_steps import DraftSteps
from tests.turns.answering import NOTHING


def test_each_button_that_is_stored_runs_something_and_nothing_else_does() -> None:
    stored = {button.id: button.who for button in BUTTONS.values() if button.lane != "at_once"}
    of_actions = ActionSteps(NOTHING, NOTHING, NOTHING, NOTHING)
    customers = CustomerInteractions(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, more=of_actions.for_customers())
    of_staff = (
        CaseSteps(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING).table(),
        DraftSteps(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING).table(),
        ArticleSteps(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING).table(),
        of_actions.for_staff(),
    )
    assert customers.table().keys() == {id_ for id_, who in stored.items() if who == "customer"}
    assert sorted(id_ for table in of_staff for id_ in table) == sorted(
        id_ for id_, who in stored.items() if who == "staff"
    )
    of_others = {who: id_ for id_, who in stored.items() if who not in ("customer", "staff")}
    assert of_others == {"author": "case.escalate", "anyone": "home.erase"}, "each runs one thing, by who may press it"


def test_each_dialog_is_built_and_its_submission_is_in_the_table() -> None:
    assert BUTTONS.keys() >= SUBMISSIONS
    about_no_case = SUBMISSIONS - DIALOGS.keys() - ACTION_DIALOGS.keys()
    second_pages = {"submit.cases", "submit.change", "submit.saved"}
    others = {"choose.cases", "submit.article", "submit.search", CHOOSE}
    assert about_no_case == others | second_pages, "of an article, a search, several cases, a change, and second pages"
