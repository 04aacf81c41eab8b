"""Dialogs are what Slack accepts, and offer what the code knows."""

from typing import get_args

from bot.cases.buttons import SUBMISSIONS
from bot.cases.case import Cause, Outcome, Priority
from bot.views import dialogs, staff_cards
from local_slack.blocks import view_faults

ABOUT = '["FD-999999999999", "C0AGENTS", "1795200123.000100", "1795200123.000100"]'
EVERY = (
    dialogs.hand_back(case="FD-999999999999", about=ABOUT),
    dialogs.resolve(case="FD-999999999999", about=ABOUT),
    dialogs.edit_draft(case="FD-999999999999", text="x" * 4_000, about=ABOUT),
    dialogs.priority(case="FD-999999999999", present="medium", about=ABOUT),
    dialogs.spam(case="FD-999999999999", about=ABOUT),
)


def test_dialogs_are_what_slack_accepts_and_are_handled() -> None:
    misses = [view for view in EVERY if view_faults(view) != [] or view["callback_id"] not in SUBMISSIONS]
    assert misses == []


def test_what_is_offered_is_what_the_code_knows() -> None:
    assert tuple(staff_cards.OUTCOMES) == get_args(Outcome)
    assert tuple(staff_cards.CAUSES) == get_args(Cause)
    assert {*staff_cards.PRIORITIES} == {*get_args(Priority)}
