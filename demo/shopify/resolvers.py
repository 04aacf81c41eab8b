"""What each query and mutation answers and does. The rules of a change are those of demo/shop."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, get_directive_values

from demo.shop.actions import Clerk, Refused
from demo.shop.keys import Keys, fingerprint
from demo.shop.records import Json, Records
from demo.shopify import wire

_Info = GraphQLResolveInfo[Any]
_RETURN_CODES = {"not_found": "NOT_FOUND", "wrong_status": "INVALID_STATE", "too_much": "LESS_THAN_OR_EQUAL_TO"}
SCOPES = ("read_customers", "read_orders", "read_products", "read_fulfillments", "write_orders", "write_returns")
_NEEDS = {
    "customers": "read_customers",
    "orders": "read_orders",
    "order": "read_orders",
    "product": "read_products",
    "returnableFulfillments": "read_orders",
    "orderCancel": "write_orders",
    "orderUpdate": "write_orders",
    "refundCreate": "write_orders",
    "returnCancel": "write_returns",
    "returnCreate": "write_returns",
    "returnRequest": "write_returns",
}
"""Field of the root -> the scope that it needs. Who may write may read."""


class Shopify:
    """The shop's records, and what Shopify keeps besides."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.scopes = set(SCOPES)
        self.keys = Keys()
        self.returns: dict[str, Json] = {}
        """Id of a return -> its order, name and status."""
        self.notes: dict[str, str] = {}
        """Reference of a refund -> its note."""
        self.subscriptions: list[Json] = []
        """Topic and address of each subscription to events that was made for the shop."""
        self.is_stale = False
        """Whether orders are shown as they were before their last change."""
        self.works_later: Callable[[Callable[[], None]], None] | None = None
        """Set, a refund is worked on for a while before it takes effect."""

    def order_node(self, order: Json) -> Json:
        """An order as Shopify shows it."""
        shown = self.records.before.get(order["id"], order) if self.is_stale else order
        refunds = [
            {
                "id": wire.gid("Refund", entry["reference"]),
                "note": self.notes.get(entry["reference"], ""),
                "totalRefundedSet": wire.bag(-entry["money"]["amount"], entry["money"]["currency"]),
            }
            for entry in self.records.ledger
            if entry["kind"] == "refund" and entry["arguments"]["order"] == order["id"]
        ]
        returns = [
            {"id": ident, "name": each["name"], "status": each["status"]}
            for ident, each in self.returns.items()
            if each["order"] == order["id"]
        ]
        return wire.order(self.records, shown, refunds=refunds, returns=returns)

    def find_order(self, ident: str) -> Json | None:
        """The order with this id of Shopify's."""
        return next(
            (each for each in self.records.orders.values() if wire.number(each["id"]) == wire.tail(ident)), None
        )


def bind(schema: GraphQLSchema, shop: Shopify) -> None:
    """Give each field of the roots its resolver."""
    resolvers = _Resolvers(shop)
    for root in (schema.query_type, schema.mutation_type):
        for name, field in (root.fields if root else {}).items():
            field.resolve = resolvers.guarded(name)
    order: Any = schema.type_map["Order"]
    order.fields["suggestedRefund"].resolve = resolvers.suggested_refund
    order.fields["returns"].resolve = resolvers.returns


class _Resolvers:
    def __init__(self, shop: Shopify) -> None:
        self._shop = shop
        self._records = shop.records

    def guarded(self, name: str) -> Callable[..., Any]:
        """The resolver of a field, if the token has its scope."""
        resolve, scope = getattr(self, _snake(name)), _NEEDS.get(name)

        def resolved(_: object, info: _Info, **arguments: Any) -> Any:
            if scope:
                self._check_scope(scope, name)
            return resolve(info, **arguments)

        return resolved

    def returns(self, node: Json, _: _Info, **__: object) -> Any:
        self._check_scope("read_returns", "returns")
        return node["returns"]

    def _check_scope(self, scope: str, name: str) -> None:
        if not {scope, scope.replace("read_", "write_")} & self._shop.scopes:
            message = f"Access denied for {name} field. Required access: `{scope}` access scope."
            raise GraphQLError(message, extensions={"code": "ACCESS_DENIED"})

    def shop(self, _: _Info) -> Json:
        return {"name": "Fernwick", "currencyCode": "USD"}

    def current_app_installation(self, _: _Info) -> Json:
        return {"accessScopes": [{"handle": scope} for scope in sorted(self._shop.scopes)]}

    def webhook_subscriptions(self, _: _Info, *, first: int = 10) -> Json:
        return {"nodes": self._shop.subscriptions[:first]}

    def customers(self, _: _Info, *, query: str = "", first: int = 10) -> Json:
        email = _searched(query).get("email", "").casefold()
        # Shopify's search is fuzzy: it finds who has a part of it, too.
        found = [each for each in self._records.customers.values() if email.partition("@")[0] in each["email"]]
        return {"nodes": [wire.customer(each) for each in found[:first]]}

    def orders(self, _: _Info, *, query: str = "", first: int = 10, after: str | None = None, **__: object) -> Json:
        wanted = _searched(query)
        if "customer_id" in wanted:
            found = self._records.orders_of(wanted["customer_id"])
        else:
            found = [each for each in self._records.orders.values() if each["id"].startswith(wanted.get("name", "-"))]
        begin = int(after or 0)
        page = found[begin : begin + first]
        has_more = len(found) > begin + first
        info = {"hasNextPage": has_more, "endCursor": str(begin + first) if has_more else None}
        return {"nodes": [self._shop.order_node(each) for each in page], "pageInfo": info}

    def order(self, _: _Info, *, id: str) -> Json | None:  # noqa: A002 - the argument's name at Shopify
        order = self._shop.find_order(id)
        return self._shop.order_node(order) if order else None

    def product(self, _: _Info, *, id: str) -> Json | None:  # noqa: A002 - the argument's name at Shopify
        record = self._records.products.get(wire.tail(id))
        return wire.product(record) if record else None

    def returnable_fulfillments(self, _: _Info, *, orderId: str, first: int = 10) -> Json:  # noqa: N803
        order = self._shop.find_order(orderId) or {"id": "", "lines": []}
        number = order["id"]
        pieces = [
            {
                "quantity": line["quantity"] - self._records.pieces[number, line["id"]].returned,
                "fulfillmentLineItem": {
                    "id": wire.gid("FulfillmentLineItem", f"{wire.tail(orderId)}-{line['id']}"),
                    "lineItem": {"id": wire.gid("LineItem", line["id"])},
                },
            }
            for line in order["lines"]
        ]
        ident = wire.gid("ReturnableFulfillment", wire.tail(orderId))
        return {"nodes": [{"id": ident, "returnableFulfillmentLineItems": {"nodes": pieces}}][:first]}

    def suggested_refund(
        self,
        node: Json,
        _: _Info,
        *,
        refundLineItems: list[Json] | None = None,  # noqa: N803
        suggestFullRefund: bool = False,  # noqa: N803
        **__: object,
    ) -> Json:
        order = self._records.orders[node["name"]]
        currency, rest = order["total"]["currency"], order["refundable"]["amount"]
        prices = {line["id"]: line["unit_price"]["amount"] for line in order["lines"]}
        lines = [(wire.tail(each["lineItemId"]), each["quantity"]) for each in refundLineItems or ()]
        worth = sum(prices.get(line, 0) * quantity for line, quantity in lines)
        amount = wire.bag(rest if suggestFullRefund else min(worth, rest), currency)
        transactions = [
            {
                "gateway": "shopify_payments",
                "formattedGateway": part["label"],
                "amountSet": amount,
                "parentTransaction": {"id": wire.gid("OrderTransaction", f"{wire.tail(node['id'])}{place}")},
            }
            for place, part in enumerate(order["payments"])
        ]
        return {"amountSet": amount, "suggestedTransactions": transactions}

    def order_cancel(self, _: _Info, *, orderId: str, **__: object) -> Json:  # noqa: N803
        with _said("orderCancelUserErrors", {"not_found": "NOT_FOUND"}, other="INVALID") as answer:
            self._clerk("cancel_order", self._shop.find_order(orderId), {"reason": "other"}).carry_out(key="")
            answer["job"] = {"id": wire.gid("Job", wire.tail(orderId)), "done": False}
        return answer

    def order_update(self, _: _Info, *, input: Json) -> Json:  # noqa: A002
        with _said("userErrors", {}) as answer:
            given, order = input["shippingAddress"], self._shop.find_order(input["id"])
            address = {
                "name": wire.name_of(given),
                "line1": given.get("address1") or "",
                "line2": given.get("address2") or "",
                "city": given.get("city") or "",
                "region": given.get("provinceCode") or "",
                "postal_code": given.get("zip") or "",
                "country": given.get("countryCode") or "",
            }
            self._clerk("change_order_address", order, {"address": address}).carry_out(key="")
            answer["order"] = self._shop.order_node(order or {})
        return answer

    def refund_create(self, info: _Info, *, input: Json) -> Json:  # noqa: A002
        directive = info.schema.get_directive("idempotent")
        values = get_directive_values(directive, info.field_nodes[0], info.variable_values) if directive else None
        if not values:
            message = "The @idempotent directive is required for this mutation but was not provided."
            raise GraphQLError(message, extensions={"code": "BAD_REQUEST"})
        key, content = str(values["key"]), repr(sorted(input.items())).encode()
        kept = self._shop.keys.find(key)
        if kept and kept.fingerprint != fingerprint(content):
            message = "The idempotency key was used with other parameters."
            raise GraphQLError(message, extensions={"code": "IDEMPOTENCY_KEY_PARAMETER_MISMATCH"})
        if kept and kept.answer is None:
            message = "A request with this idempotency key is being worked on."
            raise GraphQLError(message, extensions={"code": "IDEMPOTENCY_CONCURRENT_REQUEST"})
        if kept is None:
            kept = self._shop.keys.begin(key, content)
            if later := self._shop.works_later:
                self._shop.works_later = None
                later(lambda: setattr(kept, "answer", self._refunded(input, key)))
                message = "A request with this idempotency key is being worked on."
                raise GraphQLError(message, extensions={"code": "IDEMPOTENCY_CONCURRENT_REQUEST"})
            kept.answer = self._refunded(input, key)
        return kept.answer or {}

    def return_request(self, _: _Info, *, input: Json) -> Json:  # noqa: A002
        return self._returned(input, "REQUESTED")

    def return_create(self, _: _Info, *, returnInput: Json) -> Json:  # noqa: N803
        return self._returned(returnInput, "OPEN")

    def return_cancel(self, _: _Info, *, id: str) -> Json:  # noqa: A002
        with _said("userErrors", _RETURN_CODES, other="INVALID") as answer:
            found = self._shop.returns.get(id)
            if found is None:
                raise Refused("not_found", "Return does not exist.")
            if found["status"] not in ("REQUESTED", "OPEN"):
                raise Refused("wrong_status", "Return is not cancelable.")
            order = self._records.orders[found["order"]]
            self._clerk("cancel_return", order, {"undoes": {"key": id}}).carry_out(key="")
            found["status"] = "CANCELED"
            answer["return"] = {"id": id, "name": found["name"], "status": "CANCELED"}
        return answer

    def _returned(self, given: Json, status: str) -> Json:
        with _said("userErrors", _RETURN_CODES, other="INVALID") as answer:
            order = self._shop.find_order(given["orderId"])
            lines = [
                {"line": wire.tail(each["fulfillmentLineItemId"]).rpartition("-")[2], "quantity": each["quantity"]}
                for each in given["returnLineItems"]
            ]
            ident = wire.gid("Return", str(9_001 + len(self._shop.returns)))
            self._clerk("return_items", order, {"lines": lines, "reason": "other"}).carry_out(key=ident)
            order_id = order["id"] if order else ""
            name = f"{order_id}-R{1 + sum(each['order'] == order_id for each in self._shop.returns.values())}"
            self._shop.returns[ident] = {"order": order_id, "name": name, "status": status}
            answer["return"] = {"id": ident, "name": name, "status": status}
        return answer

    def _refunded(self, given: Json, key: str) -> Json:
        with _said("userErrors", {}) as answer:
            order = self._shop.find_order(given["orderId"])
            currency = order["total"]["currency"] if order else ""
            if given.get("currency") != currency:
                raise Refused("invalid", "Currency must be the presentment currency.")
            amount = sum(wire.minor(each["amount"], currency) for each in given.get("transactions") or ())
            arguments = {"amount": {"amount": amount, "currency": currency}, "reason": "other"}
            done = self._clerk("refund", order, arguments).carry_out(key=key)
            self._shop.notes[done["reference"]] = given.get("note") or ""
            answer["refund"] = {
                "id": wire.gid("Refund", done["reference"]),
                "note": given.get("note"),
                "totalRefundedSet": wire.bag(-done["money"]["amount"], currency),
            }
        return answer

    def _clerk(self, kind: str, order: Json | None, arguments: Json) -> Clerk:
        if order is None:
            raise Refused("not_found", "Order does not exist.")
        return Clerk(self._records, kind, order["customer_id"], {**arguments, "order": order["id"]})


@contextmanager
def _said(errors: str, codes: dict[str, str], *, other: str | None = None) -> Iterator[Json]:
    """The payload of a mutation; a refusal is one of its user errors."""
    answer: Json = {errors: []}
    try:
        yield answer
    except Refused as why:
        answer[errors].append({"field": None, "message": str(why), "code": codes.get(why.code, other)})


def _searched(query: str) -> dict[str, str]:
    """The terms of a search, such as `name:"ORD-1"`."""
    return {name: value.strip('"') for name, value in re.findall(r'(\w+):("[^"]*"|\S+)', query)}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name)
