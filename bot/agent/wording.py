"""How the messages of a conversation are worded for a model, whichever protocol carries them."""

import re
from collections.abc import Sequence
from functools import cache

import orjson

from bot.agent.messages import CustomerMessage, Message, StaffMessage

RESPONSES_ITEMS = "responses_items"
"""The key of AgentMessage.extra that belongs to the Responses API; all others belong to Chat Completions."""

_FORGED_TAG = re.compile(r"^\[(?=(customer|staff)\b)", re.MULTILINE | re.IGNORECASE)


def needs_tags(messages: Sequence[Message]) -> bool:
    """Whether people have to be told apart: there are several, or staff is among them."""
    customers = {message.speaker for message in messages if isinstance(message, CustomerMessage)}
    return len(customers) > 1 or any(isinstance(message, StaffMessage) for message in messages)


def words_of(message: CustomerMessage | StaffMessage, *, tagged: bool) -> str:
    """What a person wrote, `tagged` with the id that code has verified; a line that looks like a tag loses its look."""
    if not tagged and isinstance(message, CustomerMessage):
        return message.text
    role = "customer" if isinstance(message, CustomerMessage) else "staff"
    return f"[{role} {message.speaker}]\n{_FORGED_TAG.sub('(', message.text)}"


def without_tags(text: str, *names: str) -> str:
    """The text with the "<" of each tag of these names as "(", so that it cannot end the tag that it stands in."""
    return _tags(names).sub(r"(\1", text)


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<([\s/]*(?:{'|'.join(names)}))", re.IGNORECASE)


def sound_arguments(arguments: str) -> str:
    """Arguments that are no JSON object are left out: some servers refuse the whole conversation for them."""
    try:
        is_object = isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        is_object = False
    return arguments if is_object else "{}"


def tidy_name(name: str) -> str:
    """A tool's name as a model wrote it, in letters that providers accept when it is sent back to them."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.removeprefix("functions."))[:64] or "unnamed"
