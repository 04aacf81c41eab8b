"""Who answers customers: calls a person, passes on what is a colleague's, looks things up, or answers.

telling.py has the words of an answer. Which tools there are and what they are called, it learns from the request;
a desk of one agent has them all and no colleagues.
"""

from collections.abc import Iterable, Sequence

from demo.model.changing import change_calls, dropped, is_prepared
from demo.model.conversation import (
    PARCEL_HINTS,
    SEARCH_HINTS,
    Call,
    Found,
    Offer,
    Reply,
    Talk,
    objects_in,
    tracking_numbers_in,
)
from demo.model.images import without_names
from demo.model.intents import read_wants
from demo.model.language import language_of
from demo.model.orders import ARRIVED
from demo.model.person import call_person, filled, person_reason, short
from demo.model.phrases import PHRASES, dated
from demo.model.playbook import follow
from demo.model.requests import Request, read_requests, topic_of
from demo.model.telling import passages_for, search_query, small_talk, tell
from demo.model.topics import Topic, colleague_for

CALLS_AT_ONCE = 8
CHECKED_WITHOUT_ASKING = 4
"""Parcels that are checked when the customer names no order."""


def answer(talk: Talk) -> Reply:
    """The next message of the agent in charge."""
    language = language_of(talk.said, talk.earlier)
    phrases, wants = PHRASES[language], read_wants(talk.said)
    if reason := person_reason(talk, wants):
        return call_person(talk, reason, phrases)
    shown = ", ".join(f"{width} × {height}" for width, height in talk.images)
    unseen = phrases.image_unseen if talk.misses_image else ""
    seen = phrases.image_unread.format(sizes=shown) if shown else unseen
    if seen and not without_names(talk.said):
        return Reply(f"{seen.rstrip('.')}: {phrases.ask_back}")
    if reply := follow(talk, phrases, language):
        return reply
    if words := dropped(talk, language) or small_talk(talk, wants, phrases):
        return Reply(words)
    requests = read_requests(talk)
    topic = topic_of(requests)
    calls = _calls(talk, requests, topic) if talk.may_call else []
    if calls:
        return Reply(calls=tuple(calls[:CALLS_AT_ONCE]))
    if topic is None and not talk.found:
        return Reply(phrases.ask_back)
    told = tell(talk, requests, phrases, language)
    called = call_person(talk, "change", phrases) if told.calls_person else Reply()
    words = "\n\n".join(filter(None, [seen, told.text, called.text]))
    return Reply(dated(words, language), called.calls)


def hand_over(talk: Talk, offer: Offer) -> Call:
    """The handover, with what the customer wants for the colleague."""
    return Call(offer.name, filled(offer, {"reason": short(talk.said, 200)}))


def _calls(talk: Talk, requests: Sequence[Request], topic: Topic | None) -> list[Call]:
    """A handover, or every look-up that can be made now."""
    if handover := _pass_on(talk, requests, topic):
        return handover
    is_alone = len(requests) == 1
    calls = [
        call
        for request in requests
        for call in (*_order_calls(talk, request), *_search_call(talk, request, is_alone=is_alone))
    ]
    return [call for call in _unique(calls) if not talk.made(call)] or _last_resort(talk, requests)


def _pass_on(talk: Talk, requests: Sequence[Request], topic: Topic | None) -> list[Call]:
    """A handover when the topic is a colleague's; once something was looked up, the one in charge goes on."""
    if topic is None or talk.found or all(each.unclear for each in requests) or _can_serve(talk, requests, topic):
        return []
    colleague = colleague_for(topic, talk.tools.handovers, without=talk.been)
    return [hand_over(talk, colleague)] if colleague else []


def _can_serve(talk: Talk, requests: Sequence[Request], topic: Topic) -> bool:
    match topic:
        case "shipping":
            return talk.tools.parcel is not None
        case "orders":
            return talk.tools.order is not None or talk.tools.orders is not None
        case "answers":
            return talk.tools.search is not None or all(passages_for(talk, each).carry for each in requests)


def _last_resort(talk: Talk, requests: Sequence[Request]) -> list[Call]:
    """A colleague who sees orders, for one who has no tool for what was named."""
    if talk.found or not any(request.is_about_orders and not request.unclear for request in requests):
        return []
    colleague = colleague_for("orders", talk.tools.handovers, without=talk.been)
    return [hand_over(talk, colleague)] if colleague else []


def _order_calls(talk: Talk, request: Request) -> list[Call]:
    """Look up what is named; then, to say where it is, every parcel of what was found."""
    if request.unclear:
        return []
    wants = request.wants
    if is_prepared(talk, request) and (request.orders or talk.results_about("orders")):
        return change_calls(talk, request)
    calls = [*_each(talk.tools.order, ("order",), request.orders)]
    calls += _each(talk.tools.parcel, PARCEL_HINTS, request.parcels)
    if not request.orders and (request.listed or request.change) and talk.tools.orders:
        calls.append(Call(talk.tools.orders.name, {}))
    if request.change in (None, "faster") and (
        wants.where or (request.orders and not wants.contents and not wants.aspect)
    ):
        calls += _each(talk.tools.parcel, PARCEL_HINTS, _numbers_found(talk, request))
    return calls


def _numbers_found(talk: Talk, request: Request) -> list[str]:
    """Tracking numbers that the order tools have brought up for this request."""
    looked_up = [found for found in talk.results_about("order") if _number(found) in request.orders]
    numbers = [number for found in looked_up for number in tracking_numbers_in(found.value or {})]
    for found in talk.results_about("orders") if request.listed else ():
        on_their_way = [order for order in objects_in(found.value, "orders") if order.get("status") not in ARRIVED]
        numbers += [number for order in on_their_way for number in tracking_numbers_in(order)][:CHECKED_WITHOUT_ASKING]
    return list(dict.fromkeys(numbers))


def _search_call(talk: Talk, request: Request, *, is_alone: bool) -> list[Call]:
    """A search of its own for each request that the passages at hand do not carry.

    Those that came with a message were found for all of it, so a part of it is searched for unless a page is about it.
    """
    offer, query = talk.tools.search, search_query(talk, request)
    if offer is None or not offer.argument(*SEARCH_HINTS) or not query:
        return []
    material = passages_for(talk, request)
    if material.carry and (is_alone or (material.quote and material.quote.titled)):
        return []
    return [Call(offer.name, filled(offer, {"query": query, "question": query, "search": query}))]


def _number(found: Found) -> str:
    return next((str(value) for name, value in found.call.arguments.items() if "order" in name.lower()), "")


def _unique(calls: Iterable[Call]) -> list[Call]:
    kept: list[Call] = []
    for call in calls:
        if call not in kept:
            kept.append(call)
    return kept


def _each(offer: Offer | None, hints: tuple[str, ...], values: Iterable[str]) -> list[Call]:
    """One call for each value."""
    if offer is None:
        return []
    argument = offer.argument(*hints)
    return [Call(offer.name, {argument: value}) for value in values if argument]
