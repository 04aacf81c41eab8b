"""The list of things to fix, as pure functions that build blocks."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.slack.blocks import Block, Card, actions, button, capped, context, header, moment, one_line, section

DONE, WRITE, PAGE = "fix.done", "fix.write", "fix.page"
"""The buttons below a thing."""


class FixLine(NamedTuple):
    """One thing to fix, in words."""

    text: str
    """In mrkdwn."""
    subject: str
    """Names it for its *Done* button."""
    write_from: str = ""
    """The case from which an article can be made. Empty for none."""
    url: str = ""
    """The page to open. Empty for none."""


def placeholder() -> Card:
    """The list before its words are filled in. It holds nothing about customers, so it can be stored."""
    return Card("Things to fix at this desk", (header("Things to fix"), context("They will be here in a moment.")))


def fix_list(lines: Sequence[FixLine], *, channel: str, weeks: int, until: float) -> Card:
    """The things to fix of the desk with this channel, in the weeks before `until`."""
    if not lines:
        return Card("Nothing to fix", (header("Nothing to fix"), context("Everything on the list is done.")))
    title = "One thing to fix" if len(lines) == 1 else f"{_NUMBERS[len(lines)]} things to fix"
    blocks: list[Block] = [
        header(title),
        context(
            f"From the last {weeks} weeks, until {moment(until, '{date_short_pretty} {time}')}. Most frequent first"
        ),
    ]
    for line in lines:
        blocks += [section(line.text), actions(*_buttons(line, channel))]
    return Card(title, (*blocks,))


def _buttons(line: FixLine, channel: str) -> list[Block]:
    buttons = []
    if line.write_from:
        buttons.append(button(WRITE, "Write article", line.write_from, style="primary"))
    if line.url.startswith(("https://", "http://")) and len(line.url) <= MAX_URL:
        buttons.append({**button(PAGE, "Open page", "page"), "url": line.url})
    return [*buttons, button(DONE, "Done", f"{channel}/{line.subject}")]


_NUMBERS = ("", "One", "Two", "Three", "Four", "Five")
MAX_URL = 3_000
"""The most characters of an address of a button."""


def quoted(words: str, limit: int = 160) -> str:
    """Words between quotation marks, on one line of mrkdwn."""
    return f"“{one_line(words, limit)}”"


def titled(words: str, limit: int = 120) -> str:
    """A title, on one line of mrkdwn."""
    return f"*{one_line(capped(words, limit), limit)}*"
