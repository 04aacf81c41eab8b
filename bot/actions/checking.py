"""Whether what is to be changed exists: the arguments of an action against the customer's own order.

`check` completes what is clear, such as the only line of an order, and raises `NeedsMore` for what only the customer
can say. It never guesses.
"""

from collections.abc import Mapping
from dataclasses import replace

from bot.errors import FrontdeskError
from bot.shops.actions import UNDOES, ActionKind, Arguments, KindSpec, LineQuantity
from bot.shops.port import Money, Order, OrderLine, Product

OF_LINES = frozenset({"cancel_lines", "return_items", "send_again"})
"""The kinds that need lines."""
OF_SWAPS = frozenset({"change_order_items", "exchange_items"})
"""The kinds that put another variant in a line's place."""
WITH_ADDRESS = frozenset({"change_order_address", "change_customer_address"})


class NeedsMore(FrontdeskError):
    """Something is missing or wrong. Its words tell the model what to ask the customer."""


def check(
    kind: ActionKind,
    order: Order | None,
    arguments: Arguments,
    *,
    spec: KindSpec,
    products: Mapping[str, Product],
) -> Arguments:
    """Return the arguments, completed. `products` are those of the swapped lines, by their ids.

    Raises:
        NeedsMore: the customer must say more, or what they named does not exist.
    """
    if spec.needs_reason and not arguments.reason:
        raise NeedsMore("The reason is missing. Ask the customer why they want it.")
    if kind in WITH_ADDRESS and arguments.address is None:
        raise NeedsMore("The new address is missing. Ask for name, street, postal code, city and country.")
    if kind == "change_order_payment" and not arguments.method:
        raise NeedsMore("The payment method is missing. Name those of my_payment_methods and ask which one.")
    if kind in UNDOES and arguments.undoes is None:
        raise NeedsMore("Which change is to be undone?")
    if order is None:
        return arguments
    if kind == "refund" and not arguments.lines and arguments.amount is None:
        arguments = replace(arguments, lines=tuple(LineQuantity(line.id, line.quantity) for line in order.lines))
    arguments = replace(arguments, lines=_lines(order, arguments.lines, is_needed=kind in OF_LINES))
    if kind in OF_SWAPS:
        _check_swaps(order, arguments, products)
    if arguments.amount is not None:
        _check_amount(order, arguments.amount)
    if kind == "change_order_address" and arguments.address == order.address:
        raise NeedsMore("The order already goes to this address. Ask for the new one.")
    return arguments


def _lines(order: Order, named: tuple[LineQuantity, ...], *, is_needed: bool) -> tuple[LineQuantity, ...]:
    known = {line.id: line for line in order.lines}
    if not named:
        if not is_needed:
            return ()
        if len(known) != 1:
            raise NeedsMore("Several articles are in this order. Ask which ones, and how many of each.")
        return tuple(LineQuantity(line.id, line.quantity) for line in order.lines)
    if len({each.line for each in named}) < len(named):
        raise NeedsMore("A line is named twice. Name each line once.")
    for each in named:
        _check_line(known.get(each.line), each)
    return named


def _check_line(line: OrderLine | None, named: LineQuantity) -> None:
    if line is None:
        raise NeedsMore(f"The order has no line {named.line}. Look the order up, and name its lines as it shows them.")
    if named.quantity > line.quantity:
        raise NeedsMore(f"Line {named.line} has {line.quantity} pieces only. Ask how many of them.")


def _check_swaps(order: Order, arguments: Arguments, products: Mapping[str, Product]) -> None:
    if not arguments.swaps:
        raise NeedsMore("Which article should become which? Name a line and one of its product_choices.")
    known = {line.id: line for line in order.lines}
    if len({each.line for each in arguments.swaps}) < len(arguments.swaps):
        raise NeedsMore("A line is named twice. Name each line once.")
    for swap in arguments.swaps:
        line = known.get(swap.line)
        if line is None:
            raise NeedsMore(f"The order has no line {swap.line}. Look the order up first.")
        product = products.get(line.product_id)
        variant = next((each for each in product.variants if each.id == swap.variant), None) if product else None
        if variant is None or variant.id == line.variant_id:
            raise NeedsMore(f"Line {swap.line} has no such choice. Use product_choices, and ask which one they want.")
        if variant.available is not None and variant.available < line.quantity:
            raise NeedsMore(f"{variant.title} is out of stock. Name the choices that are available.")


def _check_amount(order: Order, amount: Money) -> None:
    if amount.minor <= 0 or amount.currency != order.total.currency:
        raise NeedsMore("The amount is not one of this order. Ask what the customer expects back.")
    most = order.refundable or order.total
    if amount.minor > most.minor:
        raise NeedsMore(f"At most {most} of this order can go back. Say so, and offer a person.")
