"""What the stand-in does next: call a person, call tools, or answer (telling.py has the words).

It follows rules over the messages of the request and knows nothing else. Which tools there are and what they
are called, it learns from the request.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.model.conversation import Call, Json, Offer, Talk, objects_in, tracking_numbers_in
from demo.model.intents import Reason, Wants, read_wants
from demo.model.language import language_of
from demo.model.phrases import PHRASES, Phrases, dated
from demo.model.quoting import best_quote, read_passages, search_words, subjects
from demo.model.telling import ARRIVED, GOOD_FIT, tell

CALLS_AT_ONCE = 8
CHECKED_WITHOUT_ASKING = 4
"""Parcels that are checked when the customer names no order."""

_REASON_WORDS: Mapping[Reason, tuple[str, ...]] = {
    "security": ("security", "account", "other"),
    "legal": ("legal", "law", "other"),
    "billing": ("billing", "payment", "other"),
    "person": ("asked", "person", "human", "request", "other"),
    "upset": ("upset", "anger", "angry", "frustrat", "other"),
    "change": ("change", "cancel", "action", "other"),
}
_URGENT = frozenset({"security", "legal", "billing", "upset"})


@dataclass(frozen=True, slots=True)
class Reply:
    """Either words or calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def decide(talk: Talk) -> Reply:
    """Continue the conversation by one message."""
    language = language_of(talk.said, talk.earlier)
    phrases, wants = PHRASES[language], read_wants(talk.said)
    if person := _person_reason(talk, wants):
        return _call_person(talk, person, phrases)
    calls = (_order_calls(talk, wants) or _search_call(talk, wants)) if talk.may_call else []
    if calls:
        return Reply(calls=tuple(calls[:CALLS_AT_ONCE]))
    return Reply(dated(tell(talk, wants, phrases, language), language))


def _person_reason(talk: Talk, wants: Wants) -> Reason | None:
    if wants.person:
        return wants.person
    offered = any(talk.answered.rstrip().endswith(phrases.person_offer) for phrases in PHRASES.values())
    return "person" if offered and wants.agrees else None


def _call_person(talk: Talk, reason: Reason, phrases: Phrases) -> Reply:
    offer = talk.tools.person or talk.tools.colleague("escalat", "human", "person", "complain", "billing")
    if offer is None or not talk.may_call or talk.results_of(offer):
        return Reply(phrases.person_missing)
    return Reply(calls=(Call(offer.name, _filled(offer, _escalation(talk, reason))),))


def _escalation(talk: Talk, reason: Reason) -> Json:
    """The arguments a call for a person may want, by what their names hold."""
    tried = sorted({found.call.name for found in talk.found})
    summary = f"The customer writes: “{_short(talk.said, 300)}”"
    if talk.earlier:
        summary += f" Before that: “{_short(talk.earlier[0], 120)}”"
    if tried:
        summary += f" Tried: {', '.join(tried)}."
    return {
        "reason": _REASON_WORDS[reason],
        "priority": ("high" if reason in _URGENT else "medium",),
        "summary": summary,
    }


def _order_calls(talk: Talk, wants: Wants) -> list[Call]:
    """Look up what is named; then, to say where it is, every parcel of what was found."""
    orders, parcels = _named(talk, wants)
    calls = [
        *_each(talk.tools.order, "order", orders),
        *_each(talk.tools.parcel, ("tracking", "parcel", "shipment"), parcels),
    ]
    unnamed = not orders and not parcels
    if unnamed and wants.own_listed and talk.tools.orders:
        calls.append(Call(talk.tools.orders.name, {}))
    if _tells_where(talk, wants):
        calls += _each(talk.tools.parcel, ("tracking", "parcel", "shipment"), _numbers_found(talk))
    if not calls and not talk.found and (orders or parcels or wants.own_listed):
        colleague = talk.tools.colleague("order", "shipping", "parcel", "delivery")
        calls = [Call(colleague.name, _filled(colleague, {"reason": _short(talk.said, 200)}))] if colleague else []
    return [call for call in calls if not talk.made(call)]


def _named(talk: Talk, wants: Wants) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The numbers in the message; for "and where is it?" those of the latest message that had any."""
    if wants.orders or wants.parcels:
        return wants.orders, wants.parcels
    if wants.where and not wants.own_orders and len(talk.said) <= 80 and len(subjects(talk.said)) <= 2:
        for earlier in map(read_wants, talk.earlier[:4]):
            if earlier.orders or earlier.parcels:
                return earlier.orders, earlier.parcels
    return (), ()


def _tells_where(talk: Talk, wants: Wants) -> bool:
    """An order number alone is a question for its whereabouts."""
    return wants.where or (bool(wants.orders) and not wants.contents)


def _numbers_found(talk: Talk) -> list[str]:
    """Tracking numbers that the order tools have brought up in this turn."""
    looked_up = [found.value for found in talk.results_of(talk.tools.order) if found.value]
    numbers = [number for order in looked_up for number in tracking_numbers_in(order)]
    for found in talk.results_of(talk.tools.orders):
        on_their_way = [order for order in objects_in(found.value, "orders") if order.get("status") not in ARRIVED]
        numbers += [number for order in on_their_way for number in tracking_numbers_in(order)][:CHECKED_WITHOUT_ASKING]
    return list(dict.fromkeys(numbers))


def _search_call(talk: Talk, wants: Wants) -> list[Call]:
    """Another search when the passages at hand do not carry the question; one in a turn."""
    offer = talk.tools.search
    if wants.only_talk or talk.found or not talk.said.strip() or _about_orders_only(talk, wants):
        return []
    quote = best_quote(talk.said, read_passages(talk.context))
    if quote and quote.fit >= GOOD_FIT:
        return []
    if offer is None:
        colleague = talk.tools.colleague("knowledge", "answer", "faq", "help", "general")
        return [Call(colleague.name, _filled(colleague, {"reason": _short(talk.said, 200)}))] if colleague else []
    query = search_words(talk.said) or talk.said
    return [Call(offer.name, _filled(offer, {"query": query[:300], "question": query[:300], "search": query[:300]}))]


def _about_orders_only(talk: Talk, wants: Wants) -> bool:
    return bool(wants.orders or wants.parcels or wants.own_listed)


def _each(offer: Offer | None, hints: str | tuple[str, ...], values: Iterable[str]) -> list[Call]:
    """One call for each value."""
    if offer is None:
        return []
    argument = offer.argument(*((hints,) if isinstance(hints, str) else hints))
    return [Call(offer.name, {argument: value}) for value in values if argument]


def _filled(offer: Offer, known: Mapping[str, Any]) -> Json:
    """Arguments for the tool: what is known by a property's name, cut and chosen as its schema wants it."""
    arguments: Json = {}
    for name, schema in offer.properties.items():
        value = next((value for hint, value in known.items() if hint in name.lower()), None)
        if value is None and name in offer.required:
            value = next(iter(known.values()))
        if value is not None:
            arguments[name] = _fitting(value, schema)
    return arguments


def _fitting(value: Any, schema: Json) -> Any:
    """Words to choose from meet the allowed values; text is cut to its length."""
    options = schema.get("enum")
    allowed = [option for option in options if isinstance(option, str)] if isinstance(options, list) else []
    words = value if isinstance(value, tuple) else (value,)
    if allowed:
        return next((option for word in words for option in allowed if str(word) in option), allowed[-1])
    longest = schema.get("maxLength")
    return str(words[0])[: longest if isinstance(longest, int) and longest > 0 else 1_000]


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
