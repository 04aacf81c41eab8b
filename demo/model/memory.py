"""What the thread showed last, and which of it a message speaks of: "the first one", "it", "the other parcel"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from demo.model.conversation import Talk, objects_in, text_in
from demo.model.intents import Wants, read_wants
from demo.model.quoting import subjects

LOOKED_BACK = 12
"""Messages that are looked through for what was spoken of."""

_EXAMPLE = re.compile(r"\b([A-Z]{2,6}[-_])\d{3,}\b")
"""An order number in a tool's description, with its beginning apart."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The orders and parcels that a message speaks of without naming them."""

    orders: tuple[str, ...] = ()
    parcels: tuple[str, ...] = ()
    unclear: bool = False
    """True when it may be any of `orders`."""


NOTHING = Reference()


def whole_number(talk: Talk, number: str) -> str:
    """The order's number as the shop writes it, for digits alone: as it was shown, or as the tool's example begins."""
    if not number.isdigit():
        return number
    known = (order for line in _spoken(talk) for order in line.orders)
    if same := next((order for order in known if re.sub(r"\D", "", order) == number), None):
        return same
    offer = talk.tools.order
    argument = offer.argument("order") if offer else None
    described = f"{offer.properties[argument].get('description', '')} {offer.description}" if offer and argument else ""
    example = _EXAMPLE.search(described)
    return f"{example[1] if example else ''}{number}"


def meant(talk: Talk, text: str, wants: Wants) -> Reference:
    """What a part of the customer's message speaks of by its place, its article, or as "it"; NOTHING when nothing."""
    spoken = _spoken(talk)
    shown = next((line for line in spoken if line.orders or line.parcels), None)
    if shown is None:
        return NOTHING
    if of_article := _with_article(talk, text, shown.orders):
        return Reference((of_article,))
    last = _in_focus(spoken)
    if wants.other and len(last.orders) == 1 and (others := _others(spoken, last.orders[0])):
        return Reference(others, unclear=len(others) > 1)
    listed = next((line.orders for line in spoken if len(line.orders) > 1), ())
    if wants.place is not None and -len(listed) <= wants.place < len(listed) and not wants.of_parcel:
        return Reference((listed[wants.place],))
    return last


def _in_focus(spoken: Sequence["_Said"]) -> Reference:
    """The one order that was spoken of last; of an answer with several, the one that the customer had named."""
    for place, said in enumerate(spoken):
        if len(said.orders) == 1 or (said.parcels and not said.orders):
            return Reference(said.orders, () if said.orders else said.parcels)
        if said.orders:
            asked = next((line for line in spoken[place:] if line.is_customer), None)
            if asked and len(asked.orders) == 1 and asked.orders[0] in said.orders:
                return Reference(asked.orders)
            return Reference(said.orders, unclear=True)
    return NOTHING


def _others(spoken: Sequence["_Said"], last: str) -> tuple[str, ...]:
    """The orders beside the last one: of the list that was shown before."""
    for said in spoken:
        if len(said.orders) > 1:
            return tuple(order for order in said.orders if order != last)
    earlier = (order for said in spoken for order in said.orders if order != last)
    return (other,) if (other := next(earlier, "")) else ()


def _with_article(talk: Talk, text: str, shown: Sequence[str]) -> str:
    """The shown order that holds the article the text names; empty when none or several do."""
    about = set().union(*subjects(text)) if subjects(text) else set()
    holding: dict[str, None] = {}
    for found in reversed(talk.known):
        orders = objects_in(found.value, "orders") if found.about == "orders" else [found.value or {}]
        for order in orders if found.about in ("order", "orders") else ():
            number = text_in(order, "order", "id")
            titles = [text_in(article, "title") for article in objects_in(order, "articles")]
            titles.append(text_in(order, "first_article"))
            named = set().union(*(stems for title in titles for stems in subjects(title)), set())
            if number in shown and about & named:
                holding[number] = None
    return next(iter(holding)) if len(holding) == 1 else ""


@dataclass(frozen=True, slots=True)
class _Said:
    """The numbers of one message, in the order of its words."""

    is_customer: bool
    orders: tuple[str, ...]
    parcels: tuple[str, ...]


def _spoken(talk: Talk) -> list[_Said]:
    """What was said before the part that is being answered, the latest first."""
    lines = list(talk.lines)
    while lines and lines[-1].speaker == "customer" and lines[-1].text in (talk.said, talk.whole):
        lines.pop()
    said = [_numbers(line.text, is_customer=line.speaker == "customer") for line in lines[-LOOKED_BACK:]]
    if talk.said != talk.whole:
        said.append(_numbers(talk.whole.split(talk.said)[0], is_customer=True))
    summaries = [note for note in talk.context if "<summary>" in note]
    if summaries:
        summed_up = _numbers("\n".join(summaries), is_customer=True)
        said.insert(0, replace(summed_up, orders=summed_up.orders[:1]))
    return said[::-1]


def _numbers(text: str, *, is_customer: bool) -> _Said:
    wants = read_wants(text)
    orders = wants.orders if is_customer else tuple(order for order in wants.orders if not order.isdigit())
    return _Said(is_customer, orders, wants.parcels)
