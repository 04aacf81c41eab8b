"""Who answers customers: calls a person, passes on what is a colleague's, looks things up, or answers.

telling.py has the words of an answer. Which tools there are and what they are called, it learns from the request;
a desk of one agent has them all and no colleagues.
"""

from collections.abc import Iterable

from demo.model.conversation import PARCEL_HINTS, Call, Offer, Reply, Talk, objects_in, tracking_numbers_in
from demo.model.intents import Wants, read_wants
from demo.model.language import language_of
from demo.model.person import call_person, filled, person_reason, short
from demo.model.phrases import PHRASES, dated
from demo.model.quoting import best_quote, read_passages, search_words, subjects
from demo.model.telling import ARRIVED, GOOD_FIT, open_question, small_talk, tell
from demo.model.topics import Topic, colleague_for, leant_on, named, topic_of

CALLS_AT_ONCE = 8
CHECKED_WITHOUT_ASKING = 4
"""Parcels that are checked when the customer names no order."""


def answer(talk: Talk) -> Reply:
    """The next message of the agent in charge."""
    language = language_of(talk.said, talk.earlier)
    phrases, wants = PHRASES[language], read_wants(talk.said)
    if reason := person_reason(talk, wants):
        return call_person(talk, reason, phrases)
    if words := small_talk(talk, wants, phrases):
        return Reply(words)
    topic = topic_of(talk, wants)
    calls = _calls(talk, wants, topic) if talk.may_call else []
    if calls:
        return Reply(calls=tuple(calls[:CALLS_AT_ONCE]))
    if topic is None and not talk.found:
        return Reply(phrases.ask_back)
    return Reply(dated(tell(talk, wants, phrases, language), language))


def hand_over(talk: Talk, offer: Offer) -> Call:
    """The handover, with what the customer wants for the colleague."""
    return Call(offer.name, filled(offer, {"reason": short(talk.said, 200)}))


def _calls(talk: Talk, wants: Wants, topic: Topic | None) -> list[Call]:
    """A handover, or every look-up that can be made now."""
    return _pass_on(talk, topic) or [*_order_calls(talk, wants), *_search_call(talk, wants, topic)]


def _pass_on(talk: Talk, topic: Topic | None) -> list[Call]:
    """A handover when the topic is a colleague's; once something was looked up, the one in charge goes on."""
    if topic is None or talk.found or _can_serve(talk, topic):
        return []
    colleague = colleague_for(topic, talk.tools.handovers, without=talk.been)
    return [hand_over(talk, colleague)] if colleague else []


def _can_serve(talk: Talk, topic: Topic) -> bool:
    match topic:
        case "shipping":
            return talk.tools.parcel is not None
        case "orders":
            return talk.tools.order is not None or talk.tools.orders is not None
        case "answers":
            return talk.tools.search is not None or _passages_do(talk, talk.said, leant_on(talk))


def _order_calls(talk: Talk, wants: Wants) -> list[Call]:
    """Look up what is named; then, to say where it is, every parcel of what was found."""
    orders, parcels = named(talk, wants)
    calls = [*_each(talk.tools.order, ("order",), orders), *_each(talk.tools.parcel, PARCEL_HINTS, parcels)]
    if not orders and not parcels and wants.own_listed and talk.tools.orders:
        calls.append(Call(talk.tools.orders.name, {}))
    if wants.where or (orders and not wants.contents):
        calls += _each(talk.tools.parcel, PARCEL_HINTS, _numbers_found(talk))
    if not calls and not talk.found and (orders or parcels or wants.own_listed):
        colleague = colleague_for("orders", talk.tools.handovers, without=talk.been)
        calls = [hand_over(talk, colleague)] if colleague else []
    return [call for call in calls if not talk.made(call)]


def _numbers_found(talk: Talk) -> list[str]:
    """Tracking numbers that the order tools have brought up in this turn."""
    looked_up = [found.value for found in talk.results_about("order") if found.value]
    numbers = [number for order in looked_up for number in tracking_numbers_in(order)]
    for found in talk.results_about("orders"):
        on_their_way = [order for order in objects_in(found.value, "orders") if order.get("status") not in ARRIVED]
        numbers += [number for order in on_their_way for number in tracking_numbers_in(order)][:CHECKED_WITHOUT_ASKING]
    return list(dict.fromkeys(numbers))


def _search_call(talk: Talk, wants: Wants, topic: Topic | None) -> list[Call]:
    """Another search when the passages at hand do not carry what is asked beside orders; one in a turn."""
    offer = talk.tools.search
    question, before = (talk.said, leant_on(talk)) if topic == "answers" else (open_question(talk, wants), "")
    whole = f"{question} {before}".strip()
    if offer is None or not subjects(whole) or talk.results_about("pages") or _passages_do(talk, question, before):
        return []
    query = (search_words(whole) or whole)[:300]
    return [Call(offer.name, filled(offer, {"query": query, "question": query, "search": query}))]


def _passages_do(talk: Talk, question: str, before: str) -> bool:
    """Whether the passages at hand carry the question."""
    quote = best_quote(question, read_passages(talk.context), before=before)
    return quote is not None and quote.fit >= GOOD_FIT


def _each(offer: Offer | None, hints: tuple[str, ...], values: Iterable[str]) -> list[Call]:
    """One call for each value."""
    if offer is None:
        return []
    argument = offer.argument(*hints)
    return [Call(offer.name, {argument: value}) for value in values if argument]
