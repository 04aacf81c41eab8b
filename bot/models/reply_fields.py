"""Fields of a reply, besides its text, that a provider needs to get back, joined from their pieces.

The list follows the providers' documentation. All other fields are dropped, because strict servers refuse messages
with unknown fields:

- reasoning_content: DeepSeek, Kimi and other models that think refuse a conversation in which a message with tool
  calls comes back without it, even if it is empty. It does not belong in messages without calls.
- reasoning_details (OpenRouter, MiniMax), thinking_blocks (LiteLLM), reasoning_opaque with reasoning_text (Copilot):
  signed or encrypted reasoning, refused if altered.
- extra_content (Gemini): the signature of the thoughts behind a text.

`reasoning` is not among them: no provider needs it, and Groq refuses it from models that do not think.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Any

from bot.agent.messages import JsonObject
from bot.agent.surrogates import sound_value

logger = logging.getLogger(__name__)

FIELDS_LIMIT = 200_000
"""The maximum of characters in one reply's fields. Cut fields would be useless, so with more none is kept."""
_WITH_CALLS = "reasoning_content"
"""It goes back only in a message with tool calls."""
_TEXTS = (_WITH_CALLS, "reasoning_text")
_LISTS = ("reasoning_details", "thinking_blocks")
_OTHERS = ("reasoning_opaque", "extra_content")
_GROWING = ("text", "summary", "thinking")
"""Members of a piece of reasoning that continue those of the piece before."""
_SEALS = ("signature", "data")
"""Members that only a finished piece of reasoning has."""


class ReplyFields:
    """The fields that are kept of one reply."""

    def __init__(self) -> None:
        self._fields: JsonObject = {}
        self._size = 0

    @property
    def names(self) -> Collection[str]:
        """The fields that have content."""
        return self._fields.keys()

    def add(self, delta: Mapping[str, Any]) -> bool:
        """Add the fields of one delta. Returns whether there were any."""
        size = self._size
        for name in _TEXTS:
            if isinstance(text := delta.get(name), str):
                self._keep(name, text, self._fields.get(name, "") + text)
        for name in _LISTS:
            if isinstance(pieces := delta.get(name), list):
                self._keep(name, pieces, _grown(self._fields.get(name, []), pieces))
        for name in _OTHERS:
            if piece := delta.get(name):
                self._keep(name, piece, _filled(self._fields.get(name), piece))
        return self._size > size

    def whole(self, *, with_calls: bool) -> Mapping[str, Any]:
        """The fields that the reply's message must have from now on."""
        if self._size > FIELDS_LIMIT:
            logger.warning("a reply's own fields are too large to keep: %s characters", self._size)
        fields: JsonObject = sound_value(self._fields)
        return {name: value for name, value in fields.items() if with_calls or name != _WITH_CALLS}

    def _keep(self, name: str, piece: object, whole: object) -> None:
        self._size += len(piece) if isinstance(piece, str) else len(str(piece)) if piece else 0
        if self._size > FIELDS_LIMIT:
            self._fields.clear()
        else:
            self._fields[name] = whole


def _grown(so_far: list[Any], pieces: list[Any]) -> list[Any]:
    """A list of pieces of reasoning with the next ones added. A next piece can continue the last one."""
    for piece in pieces:
        if so_far and _goes_on(so_far[-1], piece):
            so_far[-1] = _continued(so_far[-1], piece)
        else:
            so_far.append(piece)
    return so_far


def _goes_on(last: Any, piece: Any) -> bool:
    """Whether the piece continues the last one: it has the same kind and place, and the last one is not sealed yet."""
    if not isinstance(last, dict) or not isinstance(piece, dict):
        return False
    same = all(last.get(name) == piece.get(name) for name in ("type", "index"))
    other_id = last.get("id") and piece.get("id") and last["id"] != piece["id"]
    return same and not other_id and not any(last.get(name) for name in _SEALS) and not piece.get("data")


def _continued(last: JsonObject, piece: JsonObject) -> JsonObject:
    filled = {**last, **{name: value for name, value in piece.items() if value is not None}}
    for name in _GROWING:
        if isinstance(last.get(name), str) and isinstance(piece.get(name), str):
            filled[name] = last[name] + piece[name]
    return filled


def _filled(so_far: Any, piece: Any) -> Any:
    """The later value; objects are merged by member. The mark of a thought is left out, because it is not part of the
    answer.
    """
    if not isinstance(piece, dict):
        return piece
    known = so_far if isinstance(so_far, dict) else {}
    members = {name: _filled(known.get(name), value) for name, value in piece.items() if name != "thought"}
    return {**known, **members}
