"""The tools with which the assistant prepares a change of the customer's own order. None of them changes anything.

A tool stores what the customer will be shown. Code shows it under the answer, and only the customer's press of Yes,
and above a limit a member of staff, lets it happen. The results tell the model what to say and leave it nothing to
bargain with. Money, rights and rules are never arguments.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, get_args
from unicodedata import category, normalize

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from bot.actions.checking import NeedsMore
from bot.actions.preparing import ChangeRequest, Prepared, Preparing
from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem, tool
from bot.conversation import ShopCustomer
from bot.desk.orders import NO_ORDER_DATA, NOT_FOUND, SHOP_SILENT, shop_customer
from bot.language.sentences import language_for
from bot.shops.actions import ActionKind, Arguments, LineId, LineQuantity, Reason, Swap
from bot.shops.order_numbers import read_order_number
from bot.shops.port import Address, ShopUnavailable
from bot.shops.wire import one_line

CHOICES_SHOWN = 30
"""Variants of one article that are listed."""

# The model reads these tools with every request, so their schemas are as short as they can be. Code checks the rest.

_TEXT = {"type": "string"}
_SEEN_AS = {"Cc": " ", "Zl": " ", "Zp": " ", "Cf": "", "Cs": "", "Co": ""}
"""What stands in an address in place of characters of these categories: of control, of direction, without width."""
Number = Annotated[str, Field(max_length=64), AfterValidator(read_order_number), WithJsonSchema(_TEXT)]
Why = Annotated[Reason, WithJsonSchema(_TEXT | {"enum": list(get_args(Reason))})]
Line = Annotated[LineId, WithJsonSchema(_TEXT)]
Method = Annotated[str, Field(max_length=64), WithJsonSchema(_TEXT)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Pieces(_Strict):
    """Some pieces of a line."""

    line: Line
    quantity: Annotated[int, Field(ge=1, le=1_000)]


class Choice(_Strict):
    """Another variant for a line."""

    line: Line
    variant: LineId


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _plain(text: str) -> str:
    """One line without anything invisible and without marks of mrkdwn, so that it cannot look like our own words."""
    return one_line(100)(text.translate(_NO_MARKS))


_NO_MARKS = str.maketrans("", "", "*_~`|<>")
Part = Annotated[str, Field(max_length=100), AfterValidator(_plain)]
Needed = Annotated[Part, AfterValidator(_not_empty)]


class NewAddress(_Strict):
    """An address that the customer has just written, without what nobody can see."""

    name: Needed
    line1: Needed
    line2: Part
    postal_code: Part
    city: Needed
    region: Part
    country: Annotated[Needed, Field(min_length=2)]

    @field_validator("*", mode="before")
    @classmethod
    def _as_it_is_seen(cls, text: object) -> object:
        """What is confirmed must be what is seen: no character that hides, turns or breaks others."""
        if not isinstance(text, str):
            return text
        seen = (_SEEN_AS.get(category(each), each) for each in normalize("NFC", text))
        return " ".join("".join(seen).split())


def _object(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list(of: Mapping[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"type": "array", "items": of})


SomeLines = Annotated[list[Pieces], Field(max_length=50), _list(_object(line=_TEXT, quantity={"type": "integer"}))]
Swaps = Annotated[list[Choice], Field(min_length=1, max_length=20), _list(_object(line=_TEXT, variant=_TEXT))]
Written = Annotated[NewAddress, WithJsonSchema(_object(**dict.fromkeys(NewAddress.model_fields, _TEXT)))]


def change_tools(preparing: Preparing) -> tuple[Tool, ...]:
    """The tools for the kinds of action that the rules allow, and two to look choices up. None without rules.

    Each kind has one tool. Where both kinds of address may be changed, one tool serves them.
    """
    allowed = preparing.judging.policy().kinds
    made = {**_order_tools(preparing), **_article_tools(preparing), **_address_tools(preparing, allowed)}
    offered = {each.name: each for kind, each in made.items() if kind in allowed}
    return (*offered.values(), *_choice_tools(preparing, allowed)) if offered else ()


def _order_tools(preparing: Preparing) -> dict[str, Tool]:
    @tool(title="Checking what can be changed", private=True, subject="order_id")
    async def prepare_cancel_order(context: Context, order_id: Number, reason: Why) -> ToolOutput:
        """Prepare the cancellation of a whole order.

        As with every prepare_ tool, the customer then sees the details and a button, and only that changes something.
        Lines are numbered as lookup_order shows them.
        """
        return await _prepare(preparing, context, "cancel_order", Arguments(order=order_id, reason=reason))

    @tool(title="Checking what can be changed", private=True, subject="order_id")
    async def prepare_refund(context: Context, order_id: Number, lines: SomeLines, reason: Why) -> ToolOutput:
        """Prepare a refund of an order, or of some lines, which the customer keeps. No lines: all of it."""
        arguments = Arguments(order=order_id, lines=pieces_of(lines), reason=reason)
        return await _prepare(preparing, context, "refund", arguments)

    @tool(title="Checking what can be changed", private=True, subject="order_id")
    async def prepare_change_order_payment(context: Context, order_id: Number, method: Line) -> ToolOutput:
        """Prepare another way to pay for an order."""
        return await _prepare(preparing, context, "change_order_payment", Arguments(order=order_id, method=method))

    return {
        "cancel_order": prepare_cancel_order,
        "refund": prepare_refund,
        "change_order_payment": prepare_change_order_payment,
    }


def _article_tools(preparing: Preparing) -> dict[str, Tool]:
    @tool(title="Checking what can be changed", private=True, subject="order_id")
    async def prepare_cancel_lines(context: Context, order_id: Number, lines: SomeLines, reason: Why) -> ToolOutput:
        """Prepare the cancellation of some lines of an order."""
        arguments = Arguments(order=order_id, lines=pieces_of(lines), reason=reason)
        return await _prepare(preparing, context, "cancel_lines", arguments)

    @tool(title="Checking what can be returned", private=True, subject="order_id")
    async def prepare_return_items(
        context: Context, order_id: Number, lines: SomeLines, reason: Why, refund_to: Method = ""
    ) -> ToolOutput:
        """Prepare the return of some lines of an order that has arrived."""
        arguments = Arguments(order=order_id, lines=pieces_of(lines), reason=reason, method=refund_to)
        return await _prepare(preparing, context, "return_items", arguments)

    @tool(title="Checking what can be sent", private=True, subject="order_id")
    async def prepare_send_again(context: Context, order_id: Number, lines: SomeLines, reason: Why) -> ToolOutput:
        """Prepare to send lines of an order once more, because they arrived broken or never."""
        arguments = Arguments(order=order_id, lines=pieces_of(lines), reason=reason)
        return await _prepare(preparing, context, "send_again", arguments)

    @tool(title="Checking what can be exchanged", private=True, subject="order_id")
    async def prepare_exchange_items(
        context: Context,
        order_id: Number,
        swaps: Swaps,
        reason: Why,
        pay_with: Method = "",
    ) -> ToolOutput:
        """Prepare an exchange of articles that have arrived for other product_choices."""
        arguments = Arguments(order=order_id, swaps=swaps_of(swaps), reason=reason, method=pay_with)
        return await _prepare(preparing, context, "exchange_items", arguments)

    @tool(title="Checking what can be changed", private=True, subject="order_id")
    async def prepare_change_order_items(
        context: Context,
        order_id: Number,
        swaps: Swaps,
        pay_with: Method = "",
    ) -> ToolOutput:
        """Prepare other product_choices for an order that has not been sent."""
        arguments = Arguments(order=order_id, swaps=swaps_of(swaps), method=pay_with)
        return await _prepare(preparing, context, "change_order_items", arguments)

    return {
        "cancel_lines": prepare_cancel_lines,
        "return_items": prepare_return_items,
        "send_again": prepare_send_again,
        "exchange_items": prepare_exchange_items,
        "change_order_items": prepare_change_order_items,
    }


def _address_tools(preparing: Preparing, allowed: Collection[str]) -> dict[str, Tool]:
    @tool(title="Checking the address", private=True, subject="order_id")
    async def prepare_change_address(context: Context, address: Written, order_id: Number = "") -> ToolOutput:
        """Prepare another delivery address for an order, or without order_id for the customer's later orders.

        Only with a whole address that the customer wrote.
        """
        kind: ActionKind = "change_order_address" if order_id else "change_customer_address"
        return await _prepare(preparing, context, kind, Arguments(order=order_id, address=address_of(address)))

    @tool(title="Checking the address", private=True, subject="order_id")
    async def prepare_change_order_address(context: Context, order_id: Number, address: Written) -> ToolOutput:
        """Prepare another delivery address for an order. Only with a whole address that the customer wrote."""
        arguments = Arguments(order=order_id, address=address_of(address))
        return await _prepare(preparing, context, "change_order_address", arguments)

    @tool(title="Checking the address", private=True)
    async def prepare_change_customer_address(context: Context, address: Written) -> ToolOutput:
        """Prepare another address for the customer's later orders. Only with a whole address that they wrote."""
        return await _prepare(preparing, context, "change_customer_address", Arguments(address=address_of(address)))

    if {"change_order_address", "change_customer_address"} <= set(allowed):
        return dict.fromkeys(("change_order_address", "change_customer_address"), prepare_change_address)
    return {
        "change_order_address": prepare_change_order_address,
        "change_customer_address": prepare_change_customer_address,
    }


def _choice_tools(preparing: Preparing, allowed: Collection[str]) -> tuple[Tool, ...]:
    @tool(title="Looking up the choices", private=True, subject="order_id")
    async def product_choices(context: Context, order_id: Number, line: Line) -> ToolOutput:
        """List the variants, such as sizes, of the article in a line of an order."""
        customer = shop_customer(context)
        if customer is None:
            return NO_ORDER_DATA
        try:
            order = await preparing.judging.shop.get_order(customer, order_id)
            found = next((each for each in order.lines if each.id == line), None) if order else None
            product = await preparing.judging.shop.get_product(customer, found.product_id) if found else None
        except ShopUnavailable:
            raise ToolProblem(SHOP_SILENT) from None
        if product is None:
            return NOT_FOUND
        listed = [
            {"variant": each.id, "title": each.title, "price": str(each.price), "available": each.available}
            for each in product.variants[:CHOICES_SHOWN]
        ]
        return ToolOutput({"article": product.title, "choices": listed})

    @tool(title="Looking up how you pay", private=True)
    async def my_payment_methods(context: Context) -> ToolOutput:
        """List the customer's payment methods: ids for method, pay_with and refund_to. None: as it was paid."""
        customer = shop_customer(context)
        if customer is None:
            return NO_ORDER_DATA
        try:
            methods = await preparing.judging.shop.payment_methods(customer)
        except ShopUnavailable:
            raise ToolProblem(SHOP_SILENT) from None
        return ToolOutput({"methods": [{"id": one.method_id, "kind": one.kind, "label": one.label} for one in methods]})

    swaps = {"exchange_items", "change_order_items"} & set(allowed)
    pays = {"change_order_payment", "return_items", "exchange_items", "change_order_items"} & set(allowed)
    return (*((product_choices,) if swaps else ()), *((my_payment_methods,) if pays else ()))


async def _prepare(preparing: Preparing, context: Context, kind: ActionKind, arguments: Arguments) -> ToolOutput:
    customer = shop_customer(context)
    if customer is None:
        return NO_ORDER_DATA
    try:
        prepared = await preparing.prepare(request_of(context, customer), kind, arguments)
    except NeedsMore as missing:
        return ToolOutput({"possible": "not yet", "ask": str(missing)}, ok=False)
    except ShopUnavailable:
        raise ToolProblem(SHOP_SILENT) from None
    return _told(prepared)


def request_of(context: Context, shop: ShopCustomer) -> ChangeRequest:
    """Who wants something changed in this turn."""
    origin = f"turn/{context.turn.partition('/')[0]}"
    return ChangeRequest(context.customer, shop, context.thread, origin, language_for(context.customer.locale))


def _told(prepared: Prepared) -> ToolOutput:
    """What the model reads. Nothing in it says that something was done, because nothing was."""
    match prepared.state:
        case "offered":
            told = {
                "offer": "shown",
                "changed": False,
                "message": "The customer sees the details and two buttons under your answer. Nothing is changed until "
                "they press Yes. Say in one sentence that they can check it and press a button.",
            }
            return ToolOutput(told)
        case "no_order":
            return NOT_FOUND
        case "refused":
            message = "Say this reason as it is. It cannot be changed by asking again. Offer a person."
            return ToolOutput({"possible": False, "reason": prepared.words, "message": message}, ok=False)
        case "missing":
            return ToolOutput({"possible": "not yet", "ask": prepared.words}, ok=False)
        case "under_way":
            message = "A change of this order is already under way. Say so; the customer reads here what comes of it."
        case "too_many":
            message = "There are too many open questions to the customer. Ask them to answer those first."
        case _:
            message = "Only a person can decide this. Call one."
    told = {"possible": False, "message": message, **({"reason": prepared.words} if prepared.words else {})}
    return ToolOutput(told, ok=False)


def pieces_of(lines: list[Pieces]) -> tuple[LineQuantity, ...]:
    """The lines as actions name them."""
    return tuple(LineQuantity(each.line, each.quantity) for each in lines)


def swaps_of(swaps: list[Choice]) -> tuple[Swap, ...]:
    """The swaps as actions name them."""
    return tuple(Swap(each.line, each.variant) for each in swaps)


def address_of(written: NewAddress) -> Address:
    """The address as actions name it."""
    return Address(**written.model_dump())
