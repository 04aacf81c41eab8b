"""What an action costs, computed from the order, for a shop that gives no quotes of its own.

Pure: the same order gives the same quote. Where the order does not say enough, there is no quote and no guess.
"""

from collections.abc import Callable, Mapping, Sequence

from bot.shops.actions import ActionKind, Arguments, LineQuantity, NotSupported, Quote, QuoteLine
from bot.shops.port import Money, Order, OrderLine, PaymentMethod, ShopUnavailable, Variant

IRREVERSIBLE: frozenset[ActionKind] = frozenset({"cancel_order", "cancel_lines", "refund"})
"""Kinds that no other action can undo."""
QUOTED_ONLY: frozenset[ActionKind] = frozenset({"cancel_exchange"})
"""Kinds of which only the shop knows what they cost."""
OF_NO_ORDER: frozenset[ActionKind] = frozenset({"change_customer_address"})
"""Kinds that change a customer's account, and no order."""


def compute_quote(
    kind: ActionKind,
    order: Order | None,
    arguments: Arguments,
    *,
    variants: Mapping[str, Variant] | None = None,
    methods: Sequence[PaymentMethod] = (),
) -> Quote:
    """What the action would cost.

    `variants` holds the variants that swaps name, and `methods` the ways in which the customer can pay. Raises
    NotSupported with the reason if the action is impossible, or if the order does not say what it costs.
    """
    if kind in OF_NO_ORDER:
        return Quote(None, computed=True)
    if order is None:
        raise NotSupported(f"{kind} needs an order", "not_found")
    money, lines = _priced(kind, order, arguments, variants or {})
    return Quote(
        money=money,
        lines=lines,
        to=_label(order, arguments, methods, money),
        irreversible=kind in IRREVERSIBLE,
        computed=True,
    )


def check_quote(quote: Quote, order: Order | None, arguments: Arguments) -> Quote:
    """The shop's quote. Raises ShopUnavailable if it cannot be one of this action."""
    money = quote.money
    if money is None or order is None:
        return quote
    limits = [limit for limit in (arguments.amount, order.refundable) if limit is not None]
    if money.currency != order.total.currency or any(-money.minor > limit.minor for limit in limits):
        raise ShopUnavailable("the shop's quote is in another currency, or of more than can be refunded")
    return quote


def _priced(
    kind: ActionKind, order: Order, arguments: Arguments, variants: Mapping[str, Variant]
) -> tuple[Money | None, tuple[QuoteLine, ...]]:
    match kind:
        case "cancel_order":
            return _back(order, _rest(order)), _quoted([(line, line.quantity) for line in order.lines])
        case "cancel_lines":
            pieces = _pieces(order, arguments.lines, lambda line: line.cancellable)
            return _back(order, _worth(pieces)), _quoted(pieces)
        case "return_items":
            pieces = _pieces(order, arguments.lines, lambda line: line.returnable)
            return _back(order, _worth(pieces)), _quoted(pieces)
        case "refund":
            return _refund(order, arguments)
        case "exchange_items" | "change_order_items":
            return _swap(kind, order, arguments, variants)
        case "cancel_exchange":
            raise NotSupported("only the shop knows what becomes of the difference", "not_allowed")
        case "send_again":
            return None, _quoted(_pieces(order, arguments.lines, lambda line: line.quantity))
        case _:
            return None, ()


def _refund(order: Order, arguments: Arguments) -> tuple[Money | None, tuple[QuoteLine, ...]]:
    asked = arguments.amount
    pieces = _pieces(order, arguments.lines, lambda line: line.quantity) if arguments.lines or asked is None else []
    if asked is not None and (asked.currency != order.total.currency or asked.minor <= 0):
        raise NotSupported("the amount is not one of this order", "invalid")
    if not _rest(order) or (asked is not None and asked.minor > _rest(order)):
        raise NotSupported("it is more than can be refunded", "too_much")
    return _back(order, asked.minor if asked else _worth(pieces)), _quoted(pieces)


def _swap(
    kind: ActionKind, order: Order, arguments: Arguments, variants: Mapping[str, Variant]
) -> tuple[Money | None, tuple[QuoteLine, ...]]:
    """Every piece of a line becomes the other variant."""
    whole = [LineQuantity(swap.line, max(_line(order, swap.line).quantity, 1)) for swap in arguments.swaps]
    pieces = _pieces(order, whole, lambda line: line.returnable if kind == "exchange_items" else line.cancellable)
    difference, lines = 0, []
    for swap, (line, quantity) in zip(arguments.swaps, pieces, strict=True):
        variant = variants.get(swap.variant)
        if variant is None or (variant.available is not None and variant.available < quantity):
            raise NotSupported("there are not enough pieces of this variant", "not_available")
        if variant.price.currency != line.unit_price.currency:
            raise NotSupported("the variant is sold in another currency", "not_available")
        price = Money(quantity * variant.price.minor, variant.price.currency)
        difference += price.minor - quantity * line.unit_price.minor
        lines.append(QuoteLine(variant.title, quantity, price))
    money = Money(difference, order.total.currency) if difference > 0 else _back(order, -difference)
    return money, tuple(lines)


def _rest(order: Order) -> int:
    """What can still be refunded: the shop's own figure, else what was paid less what was refunded."""
    for stated in (order.refundable, order.refunded):
        if stated is not None and stated.currency != order.total.currency:
            raise NotSupported("the order has two currencies")
    if order.refundable is not None:
        return max(order.refundable.minor, 0)
    match order.payment:
        case "unpaid" | "failed" | "refunded":
            return 0
        case "paid" | "partly_refunded" if order.refunded is not None:
            return max(order.total.minor - order.refunded.minor, 0)
        case "paid":
            return max(order.total.minor, 0)
        case _:
            raise NotSupported("the order does not say what was paid for it")


def _back(order: Order, amount: int) -> Money | None:
    """What the customer gets, never above what can still be refunded. None for nothing."""
    amount = min(amount, _rest(order)) if amount else 0
    return Money(-amount, order.total.currency) if amount > 0 else None


def _pieces(
    order: Order, asked: Sequence[LineQuantity], at_most: Callable[[OrderLine], int | None]
) -> list[tuple[OrderLine, int]]:
    """The lines that are asked for, each once and with no more pieces than it has."""
    if not asked or len({each.line for each in asked}) != len(asked):
        raise NotSupported("it needs lines of the order, each of them once", "invalid")
    pieces = [(_line(order, each.line), each.quantity) for each in asked]
    for line, quantity in pieces:
        limit = at_most(line)
        if quantity > min(line.quantity, line.quantity if limit is None else limit):
            raise NotSupported("the line has fewer pieces", "too_much")
    return pieces


def _line(order: Order, line_id: str) -> OrderLine:
    for line in order.lines:
        if line.id == line_id:
            if line.unit_price.currency != order.total.currency:
                raise NotSupported("the order has two currencies")
            return line
    raise NotSupported("the order has no such line", "no_such_line")


def _worth(pieces: Sequence[tuple[OrderLine, int]]) -> int:
    return sum(quantity * line.unit_price.minor for line, quantity in pieces)


def _quoted(pieces: Sequence[tuple[OrderLine, int]]) -> tuple[QuoteLine, ...]:
    return tuple(
        QuoteLine(line.title, quantity, Money(quantity * line.unit_price.minor, line.unit_price.currency))
        for line, quantity in pieces
    )


def _label(order: Order, arguments: Arguments, methods: Sequence[PaymentMethod], money: Money | None) -> str:
    """How the money moves: by the method that was chosen, else back to the only one that was paid with."""
    known = {method.method_id: method.label for method in (*methods, *order.payments)}
    if arguments.method:
        if arguments.method not in known:
            raise NotSupported("the customer has no such payment method", "invalid")
        return known[arguments.method]
    return order.payments[0].label if money and money.minor < 0 and len(order.payments) == 1 else ""
