"""docs/reference/buttons.md lists the table of buttons, and messages bear no button that is not in it."""

import ast
import re

import pytest

from bot.cases.buttons import BUTTONS
from tests.contracts.tree import read, sources

pytestmark = pytest.mark.contract

ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
MAKERS = {"button", "overflow", "_modal"}


def test_the_document_lists_the_table() -> None:
    rows = [(each.id, each.who, ", ".join(each.states) or "any", each.does) for each in BUTTONS.values()]
    assert ROW.findall(read("docs/reference/buttons.md")) == rows


def test_every_button_of_a_message_is_in_the_table() -> None:
    made = {
        node.args[0].value
        for source in sources()
        if source.name.startswith("bot/views/")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS
        if isinstance(node.args[0], ast.Constant)
    }
    assert len(made) > 20
    assert made - {button.action_id for button in BUTTONS.values()} == set()
