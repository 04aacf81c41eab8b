"""Replies that a test writes down beforehand: exact words and calls, errors, stalls, cuts, raw bytes."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from demo.model.conversation import Json, Reply, Talk
from demo.model.reply import decide
from demo.model.roles import ROLES, Role, role_of

_ROLES: Mapping[str, Role | Literal[""]] = {"": "", **{role: role for role in ROLES}}


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call with its arguments exactly as they shall arrive, be they JSON or not."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """One reply. `error` and `raw` exclude everything else; `stall` and `cut` come after the text, the rest before."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str = ""
    """Empty: stop, or tool_calls when there are calls."""
    stall: float = 0.0
    """Seconds of silence after the text, before the reply goes on."""
    cut: bool = False
    """Closes the connection where the reply would go on."""
    reset: bool = False
    """Ends the connection before anything was answered."""
    wait: float = 0.0
    """Seconds of silence before the first byte."""
    drip: float = 0.0
    """Seconds of keep-alive comments, and nothing else, before the reply begins."""
    error: Json | None = None
    """{"status": 429, "headers": {"Retry-After": "1"}, "body": {…} or text}"""
    raw: tuple[str, ...] = ()
    """Lines of the event stream, sent as they are with a line break after each; a lone surrogate from U+DC80 to U+DCFF
    is the byte that is no UTF-8 (0x80 to 0xFF)."""
    when: str = ""
    """Only for a request whose last customer message holds this text."""
    role: Role | Literal[""] = ""
    """Only for a request to this role. Empty: for whoever answers customers, which is a specialist or a lead."""

    def fits(self, said: str, *, question: str, role: Role) -> bool:
        """Whether it may answer a request; for one question of a message `when` must be about that question."""
        about = self.when in said and (self.when in question or question in self.when)
        return about and (role == self.role if self.role else role in ("answer", "lead"))


@dataclass(slots=True)
class Script:
    """Rounds that are waiting for their request."""

    rounds: deque[Round] = field(default_factory=deque)

    def next_for(self, said: str, *, question: str = "", role: Role = "answer") -> Round | None:
        """The first round that may answer this message, or this question of it; it is used up."""
        if round_ := self.waiting_for(said, question=question, role=role):
            self.rounds.remove(round_)
        return round_

    def waiting_for(self, said: str, *, question: str = "", role: Role = "answer") -> Round | None:
        """The same, left where it is."""
        question = question or said
        return next((each for each in self.rounds if each.fits(said, question=question, role=role)), None)


def next_round(script: Script, talk: Talk) -> tuple[Round, Literal["script", "rules"]]:
    """The reply to a request: the round that waits for it, else what the rules make of it.

    While a round waits for those who answer this message, whoever sorts messages passes it on to them.
    """
    role = role_of(talk)
    if scripted := script.next_for(talk.whole, question=talk.said, role=role):
        return scripted, "script"
    if role == "triage" and script.waiting_for(talk.whole, question=talk.said):
        talk = replace(talk, passes_on=True)
    return _ruled(decide(talk)), "rules"


def _ruled(reply: Reply) -> Round:
    calls = tuple(ScriptedCall(call.name, json.dumps(call.arguments, ensure_ascii=False)) for call in reply.calls)
    return Round(text=reply.text, calls=calls)


def read_rounds(body: object) -> list[Round]:
    """`{"rounds": [...]}` or the list alone. ValueError, with words, for anything else."""
    rounds = body.get("rounds") if isinstance(body, Mapping) else body
    if not isinstance(rounds, list):
        raise ValueError("a script is a list of rounds, or an object with one under rounds")  # noqa: TRY004
    return [_round(number, value) for number, value in enumerate(rounds)]


def _round(number: int, value: Any) -> Round:
    """`"triage": true` is short for that role."""
    if isinstance(value, str):
        return Round(text=value)
    try:
        fields = dict(value)
        calls = tuple(_call(call) for call in fields.pop("calls", ()))
        raw = tuple(map(str, fields.pop("raw", ())))
        role = "triage" if fields.pop("triage", False) else fields.pop("role", "")
        return Round(calls=calls, raw=raw, role=_ROLES[role], **fields)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        known = ", ".join(Round.__dataclass_fields__)
        raise ValueError(f"rounds[{number}] is not a round with some of {known}: {error}") from None


def _call(value: Json) -> ScriptedCall:
    arguments = value.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ScriptedCall(str(value["name"]), text, str(value.get("id", "")))
