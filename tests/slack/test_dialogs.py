"""Dialogs are what Slack accepts, and offer what the code knows."""

from typing import get_args

import pytest

from bot.cases.case import Cause, Outcome, Priority
from bot.cases.dialogs import SUBMISSIONS
from bot.slack import dialogs, staff_cards
from bot.slack.blocks import Block
from demo.slack.blocks import view_faults

ABOUT = '["FD-999999999999", "C0AGENTS", "1795200123.000100", "1795200123.000100"]'
EVERY = (
    dialogs.hand_back(case="FD-999999999999", about=ABOUT),
    dialogs.resolve(case="FD-999999999999", about=ABOUT),
    dialogs.edit_draft(case="FD-999999999999", text="x" * 4_000, about=ABOUT),
    dialogs.priority(case="FD-999999999999", present="medium", about=ABOUT),
    dialogs.spam(case="FD-999999999999", about=ABOUT),
)


@pytest.mark.parametrize("view", EVERY, ids=lambda view: str(view["callback_id"]))
def test_dialogs_are_what_slack_accepts_and_are_handled(view: Block) -> None:
    assert view_faults(view) == []
    assert view["callback_id"] in SUBMISSIONS


def test_what_is_offered_is_what_the_code_knows() -> None:
    assert tuple(staff_cards.OUTCOMES) == get_args(Outcome)
    assert tuple(staff_cards.CAUSES) == get_args(Cause)
    assert {*staff_cards.PRIORITIES} == {*get_args(Priority)}
