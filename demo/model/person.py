"""Calling a person, and filling in what a tool wants to know."""

import re
from collections.abc import Mapping
from typing import Any

from demo.model.conversation import Call, Json, Offer, Reply, Talk
from demo.model.intents import Reason, Wants, offers_person
from demo.model.phrases import Phrases

_REASON_WORDS: Mapping[Reason, tuple[str, ...]] = {
    "security": ("security", "account", "other"),
    "legal": ("legal", "law", "other"),
    "billing": ("billing", "payment", "other"),
    "person": ("asked", "person", "human", "request", "other"),
    "upset": ("upset", "anger", "angry", "frustrat", "other"),
    "change": ("change", "cancel", "action", "other"),
}
_SUBJECTS: Mapping[Reason, str] = {
    "security": "The safety of an account",
    "legal": "A legal matter",
    "billing": "A payment",
    "person": "A talk with a person",
    "upset": "A complaint",
    "change": "A change",
}
_URGENT = frozenset({"security", "legal", "billing", "upset"})
_PEOPLE = ("escalat", "human", "person", "complain", "billing")
"""How a colleague's description says that it can call people."""
_ORDER = re.compile(r"\bORD-[0-9]+\b")


def person_reason(talk: Talk, wants: Wants) -> Reason | None:
    """Why a person should take over: the customer's words, or their yes to the offer of one."""
    if wants.person:
        return wants.person
    return "person" if wants.agrees and offers_person(talk.answered) else None


def call_person(talk: Talk, reason: Reason, phrases: Phrases) -> Reply:
    """The call, by the tool for it or by a colleague who has one; without either, where to press."""
    others = (offer for offer in talk.tools.handovers if offer.colleague not in talk.been)
    colleague = next((offer for offer in others if any(word in offer.wording for word in _PEOPLE)), None)
    offer = talk.tools.person or colleague
    if offer is None or not talk.may_call or talk.results_of(offer):
        return Reply(phrases.person_missing)
    return Reply(calls=(Call(offer.name, filled(offer, _escalation(talk, reason))),))


def filled(offer: Offer, known: Mapping[str, Any]) -> Json:
    """Arguments for the tool: what is known by a property's name, cut and chosen as its schema wants it."""
    arguments: Json = {}
    for name, schema in offer.properties.items():
        value = next((value for hint, value in known.items() if hint in name.lower()), None)
        if value is None and name in offer.required:
            value = next(iter(known.values()))
        if value is not None:
            arguments[name] = _fitting(value, schema)
    return arguments


def short(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _escalation(talk: Talk, reason: Reason) -> Json:
    """The arguments a call for a person may want, by what their names hold."""
    tried = sorted({found.call.name for found in talk.found})
    summary = f"The customer writes: “{short(talk.said, 300)}”"
    if talk.earlier:
        summary += f" Before that: “{short(talk.earlier[0], 120)}”"
    if tried:
        summary += f" Tried: {', '.join(tried)}."
    return {
        "reason": _REASON_WORDS[reason],
        "priority": ("high" if reason in _URGENT else "medium",),
        "summary": summary,
        "subject": " ".join((_SUBJECTS[reason], *dict.fromkeys(_ORDER.findall(talk.said.upper())))),
        "next": "Read what was tried, and answer the customer.",
    }


def _fitting(value: Any, schema: Json) -> Any:
    """Words to choose from meet the allowed values; text is cut to its length."""
    options = schema.get("enum")
    allowed = [option for option in options if isinstance(option, str)] if isinstance(options, list) else []
    words = value if isinstance(value, tuple) else (value,)
    if allowed:
        return next((option for word in words for option in allowed if str(word) in option), allowed[-1])
    longest = schema.get("maxLength")
    return str(words[0])[: longest if isinstance(longest, int) and longest > 0 else 1_000]
