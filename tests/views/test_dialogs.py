"""Dialogs are what Slack accepts, and offer what the code knows."""

from typing import get_args

from bot.cases.buttons import SUBMISSIONS
from bot.cases.case import Priority
from bot.desk_file.model import BUILT_IN_OUTCOMES, OTHER_CAUSE, DeskFile
from bot.store.cases import ERASED
from bot.views import dialogs, staff_cards
from local_slack.blocks import view_faults
from tests.store.rows import a_case

ABOUT = '["FD-999999999999", "C0AGENTS", "1795200123.000100", "1795200123.000100"]'
CASE = a_case(id=999_999_998_999)
FULL = DeskFile.model_validate(
    {
        "cases": {
            "causes": {f"cause_{number}": "c" * 70 for number in range(30)},
            "tags": {f"tag_{number}": {"label": "t" * 70} for number in range(30)},
            "outcomes": {f"outcome_{number}": "o" * 70 for number in range(5)},
        }
    }
)
"""A desk with as many choices as there can be."""


EVERY = (
    dialogs.hand_back(CASE, about=ABOUT),
    dialogs.resolve(CASE, about=ABOUT, desk=DeskFile()),
    dialogs.resolve(CASE, about=ABOUT, desk=FULL),
    dialogs.edit_draft(CASE, text="x" * 4_000, about=ABOUT),
    dialogs.priority(CASE, about=ABOUT),
    dialogs.spam(CASE, about=ABOUT),
    dialogs.transfer(CASE, desks={"C0BILLING": "Billing"}, about=ABOUT),
    dialogs.search(about=ABOUT, tags=FULL.cases.tags),
    dialogs.tags(CASE, about=ABOUT, desk=FULL, tags=["tag_1"]),
    dialogs.merge(CASE, others=[a_case(id=41)], about=ABOUT),
)


def test_dialogs_are_what_slack_accepts_and_are_handled() -> None:
    misses = [view for view in EVERY if view_faults(view) != [] or view["callback_id"] not in SUBMISSIONS]
    assert misses == []


def test_what_is_offered_is_what_the_code_knows() -> None:
    assert {*staff_cards.OUTCOMES, ERASED} == BUILT_IN_OUTCOMES
    assert OTHER_CAUSE in staff_cards.CAUSES
    assert {*staff_cards.PRIORITIES} == {*get_args(Priority)}
