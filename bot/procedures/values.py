"""What the model notes of the customer's words, checked and made into what is stored.

read_value   a value as it is stored
shown        the same as people and the model read it
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bot.conversation import ShopCustomer
from bot.procedures.file import ValueSpec
from bot.shops.actions import LineQuantity, Shop, Swap
from bot.shops.order_numbers import read_order_number
from bot.shops.port import Address, Order
from bot.shops.wire import one_line

Noted = str | Sequence[LineQuantity] | Sequence[Swap] | Address
"""What the model can note, as its tool has read it."""
TEXT_LENGTH = 500
"""The most characters of a `text`."""
SWAPS = 20
"""The most lines that become other variants."""
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
            return _lines(order, [each for each in value if isinstance(each, LineQuantity)])
        case "swaps_of", list() | tuple():
            order = await shop.get_order(customer, collected[spec.of])
            return await _swaps(order, [each for each in value if isinstance(each, Swap)], shop, customer)
        case "payment_method", str():
            methods = {each.method_id: each.label for each in await shop.payment_methods(customer)}
            if value not in methods:
                known = ", ".join(f"{id_} ({label})" for id_, label in methods.items()) or "none"
                raise WrongValue(f"The customer has no such payment method. Known are: {known}.")
            return {"method": value, "label": methods[value]}
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
    "swaps_of": "a list of {line, variant}, with the variants that product_choices shows",
    "payment_method": "an id that my_payment_methods shows",
    "image": "the name of an image that the customer has sent",
    "one_of": "one of the values",
    "address": "an address with all its parts, as the customer wrote it",
    "text": f"a text of up to {TEXT_LENGTH} characters",
}
"""Type -> what the model is told to note."""


def shown(value: Any) -> str:
    """A stored value as people and the model read it."""
    match value:
        case [{"variant": _}, *_]:
            return ", ".join(f"{each['title']} becomes {each['becomes']} (line {each['line']})" for each in value)
        case list():
            return ", ".join(f"{each['quantity']} x {each['title']} (line {each['line']})" for each in value)
        case dict():
            return ", ".join(part for part in value.values() if part)
    return str(value)


def lines_in(value: Any) -> tuple[LineQuantity, ...]:
    """The lines of a stored value."""
    return tuple(LineQuantity(each["line"], each["quantity"]) for each in value)


def swaps_in(value: Any) -> tuple[Swap, ...]:
    """The swaps of a stored value."""
    return tuple(Swap(each["line"], each["variant"]) for each in value)


async def _swaps(
    order: Order | None, named: Sequence[Swap], shop: Shop, customer: ShopCustomer
) -> list[dict[str, Any]]:
    known = {line.id: line for line in order.lines} if order else {}
    if not 1 <= len(named) <= SWAPS or len({each.line for each in named}) < len(named):
        raise WrongValue("Name each line once, and at least one.")
    found = []
    for each in named:
        line = known.get(each.line)
        if line is None:
            raise WrongValue(f"The order has no line {each.line}: it has {', '.join(known) or 'none'}.")
        product = await shop.get_product(customer, line.product_id) if line.product_id else None
        variant = next((one for one in product.variants if one.id == each.variant), None) if product else None
        if variant is None or variant.id == line.variant_id:
            raise WrongValue(f"Line {each.line} has no such choice. Use product_choices, and ask which one they want.")
        found.append({"line": each.line, "variant": variant.id, "title": line.title, "becomes": variant.title})
    return found


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
