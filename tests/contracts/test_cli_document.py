"""The command line's help and docs/reference/cli.md name the same commands, arguments and meanings."""

import argparse
import re
from collections.abc import Iterator

import pytest

from bot.cli.main import build_parser
from tests.contracts.tree import read

pytestmark = pytest.mark.contract

SECTION = re.compile(r"^## `frontdesk ([a-z -]+)`\n\n(.+?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([A-Z]+|--[a-z-]+)` \| (.+?) \|$", re.MULTILINE)


def commands(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every command that runs something: its words, its help, its arguments with theirs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._get_subactions()}
            for name, child in action.choices.items():
                if any(isinstance(each, argparse._SubParsersAction) for each in child._actions):
                    yield from commands(child, (*path, name))
                else:
                    yield " ".join((*path, name)), helps[name], arguments(child)


def arguments(parser: argparse.ArgumentParser) -> dict[str, str]:
    return {
        action.option_strings[-1] if action.option_strings else action.dest.upper(): action.help or ""
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction)
    }


def sections() -> dict[str, str]:
    return dict(SECTION.findall(read("docs/reference/cli.md")))


def sentence(text: str) -> str:
    """Help as a document writes it: with a capital and without a full stop."""
    return text[:1].upper() + text[1:].removesuffix(".")


COMMANDS = list(commands(build_parser()))


def test_each_command_has_a_section_and_each_section_a_command() -> None:
    assert list(sections()) == [name for name, _, _ in COMMANDS]


@pytest.mark.parametrize(("name", "help_text", "expected"), COMMANDS)
def test_a_section_begins_with_the_help_and_lists_the_arguments(
    name: str, help_text: str, expected: dict[str, str]
) -> None:
    section = sections()[name]
    assert section.startswith(f"{sentence(help_text)}.")
    told = dict(ROW.findall(section))
    assert list(told) == list(expected)
    assert told == {argument: sentence(text) or told[argument] for argument, text in expected.items()}
