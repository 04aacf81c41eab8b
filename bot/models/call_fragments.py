"""Joins the tool calls of a Chat Completions stream from their fragments.

Servers are known to differ in this: an index that is always 0 or missing; ids that are missing, empty, repeated, or
late; a name in pieces or on every fragment; arguments whole in one delta, as an object, once more at the end, or
after an empty object; two calls in one delta; names with a namespace before them or a token of the model's own format
behind them.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from bot.agent.messages import ToolCall
from bot.agent.surrogates import sound, sound_value
from bot.agent.wording import tidy_name

CALLS_LIMIT = 128
"""The maximum of calls in one reply, which is OpenAI's. Further calls are left out."""
EXTRA_LIMIT = 64_000
"""The maximum of characters that a provider can attach to one call. With more, all are dropped."""
_OWN_FIELDS = frozenset({"index", "id", "type", "function"})


class CallFragments:
    """The calls of one reply."""

    def __init__(self, offered: Collection[str] = ()) -> None:
        self._offered = offered
        """Names of the tools that the model was offered."""
        self._all: list[_Call] = []

    def add(self, fragment: Mapping[str, Any]) -> int:
        """Add one fragment. Returns how many characters it brought."""
        function = fragment.get("function") or {}
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        id_, name = str(fragment.get("id") or ""), str(function.get("name") or "")
        extra = {key: value for key, value in fragment.items() if key not in _OWN_FIELDS and value is not None}
        piece = _Call(fragment.get("index"), id_, name, arguments, extra)
        call = self._continued_by(piece)
        if call is None:
            self._all += [piece] if len(self._all) < CALLS_LIMIT else []
        elif not call.is_repeated_by(piece):
            call.extend(piece)
        return len(arguments) + 1

    def whole(self) -> list[ToolCall]:
        """The calls that have a name, in the order in which they began. A missing id stays missing."""
        return [
            ToolCall(sound(call.id), repaired_name(call.name, self._offered), sound(call.arguments), call.kept())
            for call in self._all
            if call.name
        ]

    @property
    def any(self) -> bool:
        """Whether a call was begun, even if only by a placeholder."""
        return bool(self._all)

    @property
    def lost(self) -> bool:
        """Whether there are arguments without the name of a tool."""
        return any(call.arguments and not call.name for call in self._all)

    def _continued_by(self, piece: "_Call") -> "_Call | None":
        """The call that this piece continues. None if it begins one."""
        near = [call for call in reversed(self._all) if piece.index is None or call.index == piece.index]
        call = next((call for call in near if piece.id and call.id == piece.id), near[0] if near else None)
        if call is None or call.is_repeated_by(piece):
            return call
        if piece.id and call.id and piece.id != call.id and (piece.name or call.is_whole()):
            return None
        begins_again = piece.name and (piece.name != call.name or (piece.arguments and call.is_whole()))
        return None if call.arguments and begins_again else call


def repaired_name(name: str, offered: Collection[str]) -> str:
    """The tool that is meant, without a namespace and without tokens that leaked into the name.

    If no tool on offer is meant, the name in a form that can be sent back, so that the model learns that there is no
    such tool.
    """
    if name in offered:
        return name
    meant = [part for part in re.findall(r"[A-Za-z0-9_-]+", name) if part in offered]
    return meant[0] if len(set(meant)) == 1 else tidy_name(name)


@dataclass(slots=True)
class _Call:
    index: object
    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict)

    def extend(self, piece: "_Call") -> None:
        self.id = self.id or piece.id
        if piece.name != self.name:
            self.name = piece.name if piece.name.startswith(self.name) else self.name + piece.name
        begins_anew = piece.arguments.startswith("{") and self.arguments.strip() == "{}"
        self.arguments = piece.arguments if begins_anew else self.arguments + piece.arguments
        self.extra |= piece.extra

    def is_whole(self) -> bool:
        try:
            return isinstance(orjson.loads(self.arguments), dict)
        except orjson.JSONDecodeError:
            return False

    def is_repeated_by(self, piece: "_Call") -> bool:
        """Whether the piece is the whole call once more. Some servers end with that."""
        same = (piece.id, piece.name, piece.arguments) == (self.id, self.name, self.arguments)
        return bool(piece.id) and same and self.is_whole()

    def kept(self) -> Mapping[str, Any]:
        """The provider's fields, verbatim. Empty if they are too large."""
        extra: dict[str, Any] = sound_value(self.extra)
        return extra if len(str(extra)) <= EXTRA_LIMIT else {}
