"""Replies that a test writes down beforehand: exact words and calls, errors, stalls, cuts, raw bytes."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.model.conversation import Json


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call with its arguments exactly as they shall arrive, be they JSON or not."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """One reply. `error` and `raw` exclude everything else; `stall` and `cut` happen after the text."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str = ""
    """Empty: stop, or tool_calls when there are calls."""
    stall: float = 0.0
    """Seconds of silence after the text, before the reply goes on."""
    cut: bool = False
    """Closes the connection where the reply would go on."""
    error: Json | None = None
    """{"status": 429, "headers": {"Retry-After": "1"}, "body": {…} or text}"""
    raw: tuple[str, ...] = ()
    """Lines of the event stream, sent as they are with a line break after each."""
    when: str = ""
    """Only for a request whose last customer message holds this text."""


@dataclass(slots=True)
class Script:
    """Rounds that are waiting for their request."""

    rounds: deque[Round] = field(default_factory=deque)

    def next_for(self, said: str) -> Round | None:
        """The first round that may answer this message; it is used up."""
        for round_ in self.rounds:
            if round_.when in said:
                self.rounds.remove(round_)
                return round_
        return None


def read_rounds(body: object) -> list[Round]:
    """`{"rounds": [...]}` or the list alone. ValueError, with words, for anything else."""
    rounds = body.get("rounds") if isinstance(body, Mapping) else body
    if not isinstance(rounds, list):
        raise ValueError("a script is a list of rounds, or an object with one under rounds")  # noqa: TRY004
    return [_round(number, value) for number, value in enumerate(rounds)]


def _round(number: int, value: Any) -> Round:
    if isinstance(value, str):
        return Round(text=value)
    try:
        fields = dict(value)
        calls = tuple(_call(call) for call in fields.pop("calls", ()))
        raw = tuple(map(str, fields.pop("raw", ())))
        return Round(calls=calls, raw=raw, **fields)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        known = ", ".join(Round.__dataclass_fields__)
        raise ValueError(f"rounds[{number}] is not a round with some of {known}: {error}") from None


def _call(value: Json) -> ScriptedCall:
    arguments = value.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ScriptedCall(str(value["name"]), text, str(value.get("id", "")))
