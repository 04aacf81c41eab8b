"""What was retrieved for the messages of a conversation, and how much of it a model reads again.

with_passages      Puts what was retrieved into the latest message of a customer.
without_passages   Removes it from all messages.
fit_passages       Shows each passage once, and drops the oldest ones when they take too much room.

Passages stay with their message. So a conversation only grows at its end, and a provider can read what came before
from its cache.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.agent.messages import CustomerMessage, Message, ToolResult

_OPEN, _CLOSE = "<passage ", "\n</passage>"
_SHOWN, _UPDATED = ' shown="above"/>', ' updated="'
_PLACE = re.compile(r'title="(.*?)(?: › |")')
PART_CHARACTERS = 100
"""Characters of a passage that counts as a part of a longer one of its page. A shorter text may mean something else
under its own heading."""
_Shown = tuple[str, str]
"""The page of a passage and its words."""


def with_passages(messages: Sequence[Message], passages: str) -> list[Message]:
    """Return the conversation with `passages` in the customer's latest message, or at the end if there is none."""
    if not passages:
        return [*messages]
    latest = max((at for at, message in enumerate(messages) if isinstance(message, CustomerMessage)), default=None)
    if latest is None:
        return [*messages, CustomerMessage("", passages=passages)]
    return [
        replace(message, passages=passages) if at == latest and isinstance(message, CustomerMessage) else message
        for at, message in enumerate(messages)
    ]


def without_passages(messages: Iterable[Message]) -> list[Message]:
    """Return the conversation without what was retrieved for its messages."""
    return [
        replace(message, passages="") if isinstance(message, CustomerMessage) and message.passages else message
        for message in messages
    ]


def fit_passages(messages: Sequence[Message], *, characters: int) -> list[Message]:
    """Return the conversation with passages of about `characters`. Those of the latest message stay in any case.

    A passage that an earlier message has is only named. When a message's passages do not fit beside the earlier ones,
    all earlier ones are dropped at once. Until that happens again, the conversation grows only at its end.
    """
    begin, taken, seen = 0, 0, set[_Shown]()
    for at, message in enumerate(messages):
        if isinstance(message, CustomerMessage) and message.passages:
            size = len(_shown_once(message.passages, seen))
            if taken and taken + size > characters:
                begin, taken, seen = at, 0, set()
                size = len(_shown_once(message.passages, seen))
            taken += size
    if not taken:
        return [*messages]
    return [*without_passages(messages[:begin]), *_once(messages[begin:])]


def _once(messages: Sequence[Message]) -> list[Message]:
    seen: set[_Shown] = set()
    whole: list[Message] = []
    for message in messages:
        match message:
            case CustomerMessage(passages=passages) if passages:
                message = replace(message, passages=_shown_once(passages, seen))
            case ToolResult(content=content) if _CLOSE in content:
                # Results may be shortened later, so no message refers to the passages in them.
                message = replace(message, content=_shown_once(content, seen.copy()))
        whole.append(message)
    return whole


def _shown_once(text: str, seen: set[_Shown]) -> str:
    """Return the text with only the marks of the passages in `seen`. The others are added to `seen`."""
    *pieces, end = text.split(_CLOSE)
    for at, piece in enumerate(pieces):
        before, opening, rest = piece.rpartition(_OPEN)
        marks, ends, body = rest.partition(">\n")
        page = found[1] if (found := _PLACE.search(marks)) else ""
        is_known = opening and ends and any(_holds(earlier, (page, body)) for earlier in seen)
        pieces[at] = f"{before}{opening}{_without_day(marks)}{_SHOWN}" if is_known else f"{piece}{_CLOSE}"
        seen.add((page, body))
    return "".join([*pieces, end])


def _holds(earlier: _Shown, passage: _Shown) -> bool:
    """Whether an earlier passage has the same words, alone or, on the same page, as a part."""
    (page, words), (own_page, own_words) = earlier, passage
    is_part = page == own_page and len(own_words) >= PART_CHARACTERS and own_words in words
    return is_part or own_words == words


def _without_day(marks: str) -> str:
    """Return the marks without the day on which the page was updated. The passage above has it."""
    before, found, rest = marks.partition(_UPDATED)
    return before + rest.partition('"')[2] if found else marks
