"""What a customer asks for, one request at a time, each with the orders and parcels that it speaks of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from demo.model.addresses import read_address
from demo.model.asking import Earlier, can_prepare, earlier_request
from demo.model.conversation import Talk
from demo.model.intents import Change, Wants, means_all, motive_of, read_wants
from demo.model.memory import meant, whole_number
from demo.model.quoting import names_subject, subjects
from demo.model.splitting import requests_in
from demo.model.topics import Topic, leant_on

_SHORT = 90
"""The most characters of a request that can speak of an order without naming it."""
_DETAILS = frozenset({"express", "cost", "price", "free"})
"""Subjects that need another to be about something."""
_WAITING = frozenset({"late", "arrive", "back"})
"""Subjects of those who wait."""
_PAGES: Mapping[Change, str] = {
    "cancel": "cancelling order processing",
    "refund": "",
    "address": "changing delivery address redirect parcel",
    "faster": "",
    "items": "adding removing items order",
    "change": "changing order",
    "return": "",
}
"""What the help pages are asked about a change, in their language."""


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that a message asks for."""

    text: str
    wants: Wants
    orders: tuple[str, ...] = ()
    parcels: tuple[str, ...] = ()
    named: bool = False
    """True when the message names them; false when an earlier one did."""
    unclear: bool = False
    """True when it is one of `orders`, and nothing tells which."""
    listed: bool = False
    """Asks about all of the customer's own orders."""
    change: Change | None = None
    """What is to be done with the order."""
    page: str = ""
    """What the help pages are asked; empty when the order tells it all."""
    before: str = ""
    """The earlier message that `page` needs to make sense."""
    words: str = ""
    """All that the customer has said about it, where this message completes an earlier one."""
    tells_reason: bool = False
    """Whether some of that answers the question why."""

    @property
    def is_about_orders(self) -> bool:
        return bool(self.orders or self.parcels or self.listed)


def read_requests(talk: Talk) -> list[Request]:
    """The requests of the message, in order; one that completes an earlier wish is all of that wish."""
    if (earlier := earlier_request(talk)) and (completed := _completed(talk, earlier)):
        return [completed]
    requests: list[Request] = []
    for text in requests_in(talk.said) or [talk.said]:
        request, last = _read(talk, text), requests[-1] if requests else None
        leans = bool(request.page) and not (request.is_about_orders or names_subject(text, besides=_DETAILS))
        if leans and last and last.page and not last.change:
            request = replace(request, before=last.page)
        requests.append(request)
    return requests


def _completed(talk: Talk, earlier: Earlier) -> Request | None:
    """The wish with what the message adds to it; None if no tool may prepare it."""
    parts = [_read(talk, text) for text in requests_in(earlier.first) or [earlier.first]]
    request = next((each for each in parts if each.change and can_prepare(talk, each.change)), None)
    if request is None:
        return None
    answer = _read(talk, talk.said) if earlier.names_order else None
    if answer and answer.orders and not answer.unclear:
        orders: tuple[str, ...] = answer.orders
    elif request.orders and not request.unclear:
        orders = request.orders
    else:
        orders = tuple(whole_number(talk, number) for number in read_wants(earlier.words).orders[-1:]) or request.orders
    unclear = request.unclear and orders == request.orders
    told = replace(request, words=earlier.words, tells_reason=earlier.tells_reason)
    return replace(told, orders=orders, named=bool(orders), unclear=unclear)


def _wished(talk: Talk, text: str, wants: Wants) -> Wants:
    """The same, with a wish that only counts where a tool prepares it."""
    names = bool(wants.orders) or wants.leans or wants.own_orders
    if wants.returns and wants.change != "cancel" and names and can_prepare(talk, "return"):
        return replace(wants, change="return")
    if not wants.change and wants.orders and read_address(talk.whole, besides=wants.orders).is_whole:
        return replace(wants, change="address") if can_prepare(talk, "address") else wants
    thinks_better = not (wants.change or wants.asks or wants.how or wants.where) and motive_of(text) == "changed_mind"
    return replace(wants, change="cancel") if thinks_better and can_prepare(talk, "cancel") else wants


def _read(talk: Talk, text: str) -> Request:
    wants = _wished(talk, text, read_wants(text))
    orders = tuple(dict.fromkeys(whole_number(talk, number) for number in wants.orders))
    named, unclear, parcels = bool(orders or wants.parcels), False, wants.parcels
    if not named and _leans_on_order(talk, text, wants):
        reference = meant(talk, text, wants)
        orders, parcels, unclear = reference.orders, reference.parcels, reference.unclear
    is_prepared = wants.change is not None and can_prepare(talk, wants.change)
    unclear = unclear and not (is_prepared and means_all(text))
    spoken_of = bool(orders or parcels)
    listed = not spoken_of and wants.own_listed
    change = wants.change if spoken_of or wants.own_orders else None
    asks_page = not (spoken_of or listed or change) or (
        spoken_of and (wants.how or (wants.trouble and not wants.where))
    )
    page = _PAGES[change] if change and not is_prepared else text if asks_page and not change else ""
    before = _before(talk, text, wants) if asks_page and not spoken_of else ""
    return Request(text, wants, orders, parcels, named, unclear, listed, change, page, before)


def _before(talk: Talk, text: str, wants: Wants) -> str:
    """The earlier message without which it makes no sense: of a follow-up, and of one that only says what is late."""
    if wants.late and not names_subject(text, besides=_WAITING):
        return next((earlier for earlier in talk.earlier[:4] if subjects(earlier)), "")
    return leant_on(replace(talk, said=text))


def _leans_on_order(talk: Talk, text: str, wants: Wants) -> bool:
    """Whether it may speak of an order that was shown before."""
    if len(text) > _SHORT or wants.own_orders or wants.how or wants.chat:
        return False
    subject_count = len(subjects(text))
    if wants.place is not None or wants.other:
        return subject_count <= 2
    if wants.change:
        return wants.leans or subject_count <= 2 or not meant(talk, text, wants).unclear
    if wants.aspect:
        return wants.leans or wants.goes_on or subject_count <= (3 if wants.aspect == "paid" else 2)
    # "And do you ship to Norway?" goes on, but names a matter of its own besides.
    return (wants.where or wants.contents) and (wants.leans or subject_count <= 1)


def topic_of(requests: Sequence[Request]) -> Topic | None:
    """Whose work the message is; None when nothing in it tells.

    An order number alone is a question for its whereabouts.
    """
    about = [request for request in requests if request.is_about_orders or request.change]
    if any(_is_whereabouts(request) for request in about):
        return "shipping"
    if about:
        return "orders"
    return "answers" if any(subjects(request.page) or request.before for request in requests) else None


def _is_whereabouts(request: Request) -> bool:
    wants = request.wants
    if request.change or wants.returns:
        return False
    tells_itself = wants.contents or (wants.aspect is not None and not wants.where)
    return bool(request.parcels) or wants.where or (bool(request.orders) and not tells_itself)
