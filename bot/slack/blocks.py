"""Slack's blocks: the parts of every card, dialog and tab.

What people wrote is escaped and shortened here. It is shown literally and cannot imitate anything else.

Card       one message
plainer    the same blocks with old kinds only
mrkdwn_in  the texts of blocks
labels_in  the labels of their buttons
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bot.slack.mrkdwn import escape

Block = dict[str, Any]

LINK = "https://link.invalid"
"""A placeholder for the address of another message. When a row of the outbox is sent, the address of the message that
it names as `link_to` replaces it."""


@dataclass(frozen=True, slots=True)
class Card:
    """One message."""

    text: str
    """The mrkdwn for notifications, for screen readers and for places without blocks."""
    blocks: tuple[Block, ...]


def section(text: str) -> Block:
    """A paragraph of mrkdwn."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": capped(text, 3_000)}}


def alert(text: str) -> Block:
    """A paragraph of mrkdwn that catches the eye."""
    return {"type": "alert", "level": "warning", "text": {"type": "mrkdwn", "text": capped(text, 3_000)}}


def context(text: str) -> Block:
    """A line of small print, in mrkdwn."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def header(text: str) -> Block:
    """A heading in plain text."""
    return {"type": "header", "text": plain(capped(" ".join(text.split()), 150), emoji=False)}


def fields(*named: tuple[str, str]) -> Block:
    """A table of names and values in mrkdwn. Names without a value are left out."""
    return {
        "type": "section",
        "fields": [{"type": "mrkdwn", "text": f"*{name}*\n{value}"} for name, value in named if value],
    }


def actions(*elements: Block, block_id: str = "") -> Block:
    """A row of buttons and menus."""
    block: Block = {"type": "actions", "elements": list(elements)}
    return {**block, "block_id": block_id} if block_id else block


def button(action_id: str, text: str, value: str, *, style: str = "", label: str = "") -> Block:
    """A button. A screen reader reads `label` instead of its text."""
    made: Block = {"type": "button", "action_id": action_id, "text": plain(capped(text, 75)), "value": value}
    if style:
        made["style"] = style
    if label:
        made["accessibility_label"] = label
    return made


def overflow(action_id: str, *options: tuple[str, str], label: str = "") -> Block:
    """A menu behind three dots. Options are at most five pairs of value and text."""
    listed = [{"text": plain(capped(text, 75)), "value": value} for value, text in options]
    made: Block = {"type": "overflow", "action_id": action_id, "options": listed}
    return {**made, "accessibility_label": label} if label else made


def plain(text: str, *, emoji: bool = True) -> Block:
    """Text without any markup except emoji."""
    return {"type": "plain_text", "text": text, "emoji": emoji}


def moment(seconds: float, form: str) -> str:
    """A time that Slack shows in the reader's own time zone, or with `{ago}` as the time that has passed since."""
    clock = datetime.fromtimestamp(seconds, UTC).strftime("%H:%M")
    words = re.sub(r"\{date\w*\} ", "", form.replace("{time}", clock).replace("{ago}", f"at {clock}"))
    return f"<!date^{int(seconds)}^{form}|{words} UTC>"


def one_line(text: str, limit: int) -> str:
    """A person's words as one line of mrkdwn."""
    return escape(capped(" ".join(text.split()), limit))


def capped(text: str, limit: int) -> str:
    """The text, shortened if it is longer than `limit`."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def plainer(blocks: Sequence[Mapping[str, Any]]) -> list[Block]:
    """The blocks without the kinds that only newer workspaces know."""
    return [_plainer(block) for block in blocks]


def mrkdwn_in(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts in mrkdwn that the blocks show, in order."""
    return _texts(blocks, "mrkdwn")


def labels_in(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The plain texts that the blocks show, in order, such as the labels of buttons."""
    return _texts(blocks, "plain_text")


def _texts(shown: object, kind: str) -> list[str]:
    if isinstance(shown, Mapping):
        own = [str(shown["text"])] if shown.get("type") == kind else []
        return own + _texts(list(shown.values()), kind)
    if isinstance(shown, Sequence) and not isinstance(shown, str):
        return [text for each in shown for text in _texts(each, kind)]
    return []


def _plainer(block: Mapping[str, Any]) -> Block:
    if block["type"] == "alert":
        return {"type": "section", "text": block["text"]}
    if block["type"] != "context_actions":
        return dict(block)
    elements: list[Block] = []
    for element in block["elements"]:
        if element["type"] == "feedback_buttons":
            # One action_id for both would not be unique in its block. The handler takes fb and fb.*.
            elements += [
                {"type": "button", "action_id": f"{element['action_id']}.{name}", **element[f"{name}_button"]}
                for name in ("positive", "negative")
            ]
    return {"type": "actions", "elements": elements}
