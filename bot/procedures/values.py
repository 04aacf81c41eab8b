"""What the model notes of the customer's words, checked and made into what is stored.

read_value   a value as it is stored
shown        the same as people and the model read it
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bot.conversation import ShopCustomer
from bot.procedures.file import ValueSpec
from bot.shops.actions import LineQuantity, Shop
from bot.shops.order_numbers import read_order_number
from bot.shops.port import Address, Order
from bot.shops.wire import one_line

Noted = str | Sequence[LineQuantity] | Address
"""What the model can note, as its tool has read it."""
TEXT_LENGTH = 500
"""The most characters of a `text`."""
LINES = 50
"""The most lines of an order that are noted."""

_text = one_line(TEXT_LENGTH)


class WrongValue(Exception):
    """The value is not what is asked for. The words say what is, for the model."""


async def read_value(
    spec: ValueSpec,
    value: Noted,
    *,
    collected: Mapping[str, Any],
    shop: Shop,
    customer: ShopCustomer,
    images: Sequence[str],
) -> Any:
    """The value as it is stored.

    Args:
        collected: what is known already, with the order of the lines.
        images: the names of the images that the customer has sent.

    Raises:
        WrongValue: it is not what is asked for.
        ShopUnavailable: the shop does not say.
    """
    match spec.type, value:
        case "own_order", str():
            try:
                order = await shop.get_order(customer, read_order_number(value))
            except ValueError as error:
                raise WrongValue(str(error)) from None
            if order is None:
                raise WrongValue("The customer has no order with this number.")
            return order.id
        case "lines_of", list() | tuple():
            order = await shop.get_order(customer, collected[spec.of])
            return _lines(order, value)
        case "image", str():
            if value not in images:
                sent = ", ".join(images) or "none"
                raise WrongValue(f"The customer has sent no image of this name. Images so far: {sent}.")
            return value
        case "one_of", str():
            if value not in spec.values:
                raise WrongValue(f"It must be one of: {', '.join(spec.values)}.")
            return value
        case "address", Address():
            return asdict(value)
        case "text", str():
            text = _text(value[: 2 * TEXT_LENGTH])[:TEXT_LENGTH].strip()
            if not text:
                raise WrongValue("It must not be empty.")
            return text
    raise WrongValue(f"It has the wrong form: it must be {FORMS[spec.type]}.")


FORMS = {
    "own_order": "the number of one of the customer's own orders",
    "lines_of": "a list of {line, quantity}, with the numbers that lookup_order shows",
    "image": "the name of an image that the customer has sent",
    "one_of": "one of the values",
    "address": "an address with all its parts, as the customer wrote it",
    "text": f"a text of up to {TEXT_LENGTH} characters",
}
"""Type -> what the model is told to note."""


def shown(value: Any) -> str:
    """A stored value as people and the model read it."""
    match value:
        case list():
            return ", ".join(f"{each['quantity']} x {each['title']} (line {each['line']})" for each in value)
        case dict():
            return ", ".join(part for part in value.values() if part)
    return str(value)


def lines_in(value: Any) -> tuple[LineQuantity, ...]:
    """The lines of a stored value."""
    return tuple(LineQuantity(each["line"], each["quantity"]) for each in value)


def _lines(order: Order | None, named: Sequence[LineQuantity]) -> list[dict[str, Any]]:
    known = {line.id: line for line in order.lines} if order else {}
    if not 1 <= len(named) <= LINES or len({each.line for each in named}) < len(named):
        raise WrongValue("Name each line once, and at least one.")
    for each in named:
        line = known.get(each.line)
        if line is None:
            raise WrongValue(f"The order has no line {each.line}: it has {', '.join(known) or 'none'}.")
        if not 1 <= each.quantity <= line.quantity:
            raise WrongValue(f"Line {each.line} has {line.quantity} pieces.")
    return [{"line": each.line, "quantity": each.quantity, "title": known[each.line].title} for each in named]
