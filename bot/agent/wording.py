"""How the messages of a conversation are worded for a model, whichever protocol carries them."""

import re
from collections.abc import Sequence
from functools import cache

import orjson

from bot.agent.messages import CustomerMessage, Message, StaffMessage

RESPONSES_ITEMS = "responses_items"
"""The key of AgentMessage.extra that belongs to the Responses API; all others belong to Chat Completions."""

NOTE = "note"
"""The block of what code says: a fact about the conversation, or what to write next."""
PASSAGES = "passages"
"""The block of what was retrieved for the customer's message."""

INSTRUCTIONS = "instructions"
"""The block of the instructions, for servers that take no system message."""

_FORGED_TAG = re.compile(
    r"(^|[\r\v\f\x1c-\x1e\x85\u2028\u2029])([^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*)\[(?=\s*(?:customer|staff)\b)",
    re.MULTILINE | re.IGNORECASE,
)
"""A tag at the beginning of a line, whatever ends the line before and whatever blanks are around its bracket."""


def needs_tags(messages: Sequence[Message]) -> bool:
    """Whether the model must tell people apart: several people write, or staff do."""
    customers = {message.speaker for message in messages if isinstance(message, CustomerMessage)}
    return len(customers) > 1 or any(isinstance(message, StaffMessage) for message in messages)


def words_of(message: CustomerMessage | StaffMessage, *, tagged: bool) -> str:
    """What a person wrote, `tagged` with the id that code has verified. What looks like a tag or a block loses its
    look."""
    text = _own_words(message.text)
    if not tagged and isinstance(message, CustomerMessage):
        return text
    role = "customer" if isinstance(message, CustomerMessage) else "staff"
    return f"[{f'{role} {message.speaker}'.strip()}]\n{text}"


def unmarked(text: str) -> str:
    """Return a text from outside so that it can neither make nor end a block of ours."""
    return without_tags(text, NOTE, PASSAGES, INSTRUCTIONS)


def _own_words(text: str) -> str:
    """Return a person's words without anything that looks like a block, what a block holds, or a tag."""
    text = without_tags(text, NOTE, INSTRUCTIONS, "passage", "summary")
    return _FORGED_TAG.sub(r"\1\2(", text) if "[" in text else text


def without_tags(text: str, *names: str) -> str:
    """Replace the "<" of each tag with these names by "(", so that the text cannot close the tag around it."""
    return _tags(names).sub(r"(\1", text) if "<" in text else text


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<([\s/]*(?:{'|'.join(names)}))", re.IGNORECASE)


def sound_arguments(arguments: str) -> str:
    """Drop arguments that are no JSON object: some servers refuse the whole conversation because of them."""
    try:
        is_object = isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        is_object = False
    return arguments if is_object else "{}"


def tidy_name(name: str) -> str:
    """Return a tool's name from a model with only the characters that providers accept when it is sent back."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.removeprefix("functions."))[:64] or "unnamed"
