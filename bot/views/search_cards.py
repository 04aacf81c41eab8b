"""What a search for cases shows the person who made it, as pure functions that build blocks."""

import re
from collections.abc import Mapping, Sequence

from bot.slack.blocks import Card, actions, button, context, moment, one_line, section
from bot.store.case_search import FoundCases
from bot.views.queue_cards import choose_buttons, line

_MENTION = re.compile(r"&lt;([@#][A-Z0-9]+)(?:\|[^&]*)?&gt;")
NEXT, PREVIOUS = "search.next", "search.previous"


def page(
    found: FoundCases,
    *,
    typed: str,
    number: int,
    most: int,
    chooses: bool,
    links: Mapping[int, str],
    following: str,
    previous: str,
) -> Card:
    """A page of cases, the newest first. `links` are the addresses of their cards by the case's id.

    The page has the `number` among `most` pages that can be shown. `following` and `previous` are the values of the
    buttons for the page behind and before. Empty: there is none. `chooses` is whether the cases can be changed there.
    """
    heading = f"*Cases found* for “{_shown(typed)}”" + (f" · page {number}" if number > 1 else "")
    lines = [f"• {line(case, links.get(case.id, ''))}" for case in found.cases]
    if not lines:
        heading = f"No {'more ' if number > 1 else ''}cases found for “{_shown(typed)}”."
    blocks = [section(heading), *([section("\n".join(lines))] if lines else [])]
    if found.stopped_at is not None:
        until = moment(found.stopped_at, "{date_short_pretty} {time}")
        blocks.append(context(f"Looked through cases back to {until}."))
    if following and number >= most:
        blocks.append(context("There may be more. Narrow the search to see them."))
    further = "Search older cases" if found.stopped_at is not None else "Next"
    buttons = [
        *([button(PREVIOUS, "Previous", previous)] if previous else []),
        *([button(NEXT, further, following)] if following and number < most else []),
        *(choose_buttons(found.cases) if chooses else []),
    ]
    return Card("\n".join([heading, *lines]), (*blocks, *([actions(*buttons)] if buttons else [])))


def _shown(typed: str) -> str:
    """What the person has typed, with the people and channels that Slack has put into it."""
    return _MENTION.sub(r"<\1>", one_line(typed, 300))


def not_understood(faults: Sequence[str]) -> Card:
    """What is wrong with what the person has typed."""
    lines = "\n".join(f"• {fault}" for fault in faults)
    words = f"Nothing was searched:\n{lines}"
    return Card(words, (section(words),))
