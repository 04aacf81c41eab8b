"""What the shop changes, and its own rules for it: a plan says what a change would cost, and carries it out.

A plan is made anew for a quote and for the action, so both say the same as long as the order stays as it is.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from demo.shop.records import Json, Records, refresh

KINDS = (
    "cancel_order",
    "cancel_lines",
    "change_order_address",
    "change_order_items",
    "change_order_payment",
    "return_items",
    "exchange_items",
    "refund",
    "send_again",
    "change_customer_address",
    "cancel_return",
    "cancel_exchange",
    "cancel_replacement",
)
UNDOES = {"cancel_return": "return_items", "cancel_exchange": "exchange_items", "cancel_replacement": "send_again"}
NEEDS_REASON = ("return_items", "refund", "send_again")
_REASONS = (
    "changed_mind",
    "mistake",
    "too_slow",
    "found_cheaper",
    "damaged",
    "wrong_item",
    "not_as_described",
    "other",
)
_IRREVERSIBLE = ("cancel_order", "cancel_lines", "refund")
_OPEN = ("pending", "processing")
_ARRIVED = ("delivered", "return_requested", "exchange_requested", "partly_returned")
_NEEDED = ("name", "line1", "city", "country")
_FIRST_REFERENCE = 5_521


class Refused(Exception):
    """The shop says no, and changes nothing."""

    def __init__(self, code: str, message: str, *, status: int = 409) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@dataclass(slots=True)
class Plan:
    """What a change would be."""

    apply: Callable[[], None]
    money: int = 0
    """Negative: the customer gets it. In minor units."""
    lines: list[Json] = field(default_factory=list)
    to: str = ""
    when: str = ""
    is_later: bool = False
    """Whether the money moves only once the shop has the goods."""


class Clerk:
    """Does for one customer what one request asks."""

    def __init__(self, records: Records, kind: str, customer: str, arguments: Json) -> None:
        self._records = records
        self._kind = kind
        self._customer = customer
        self._arguments = arguments
        if kind not in KINDS:
            raise Refused("not_allowed", "This shop does no such thing.", status=422)
        if customer not in records.customers:
            raise Refused("not_found", "There is no such record.", status=404)
        if kind in NEEDS_REASON and arguments.get("reason") not in _REASONS:
            raise Refused("invalid", "It needs one of the listed reasons.", status=422)
        self.order: Json | None = None
        if kind != "change_customer_address":
            order = records.orders.get(str(arguments.get("order")))
            if order is None or order["customer_id"] != customer:
                raise Refused("not_found", "There is no such record.", status=404)
            self.order = order

    @property
    def currency(self) -> str:
        """The order's."""
        return str(self.order["total"]["currency"]) if self.order else ""

    def quote(self) -> Json:
        """What it would cost, as it can be sent."""
        plan = self._plan()
        return {
            "money": {"amount": plan.money, "currency": self.currency} if plan.money else None,
            "lines": plan.lines,
            "fees": [],
            "to": plan.to,
            "when": plan.when,
            "irreversible": self._kind in _IRREVERSIBLE,
        }

    def carry_out(self, *, key: str, shown: Json | None = None, is_compared: bool = False) -> Json:
        """Do it, and return the outcome. `shown` is the money that the customer was shown."""
        plan = self._plan()
        expected = {"amount": plan.money, "currency": self.currency} if plan.money else None
        if is_compared and shown != expected:
            raise Refused("changed", "It would cost something else by now.")
        order = self.order
        if order:
            self._records.before[order["id"]] = copy.deepcopy(order)
        plan.apply()
        if order:
            refresh(self._records, order)
            order["revision"] = str(int(order["revision"]) + 1)
            self._records.on_change(order["id"])
        outcome: Json = {"state": "done", "reference": f"C-{_FIRST_REFERENCE + len(self._records.ledger)}"}
        if plan.money and not plan.is_later:
            outcome["money"] = {"amount": plan.money, "currency": self.currency}
        entry = {"key": key, "kind": self._kind, "customer_id": self._customer, "arguments": self._arguments}
        self._records.ledger.append({**entry, **copy.deepcopy(outcome)})
        return {**outcome, "order": copy.deepcopy(order)} if order else outcome

    def _plan(self) -> Plan:
        order = self.order
        if order is None:
            address = self._address()
            return Plan(lambda: self._records.addresses.update({self._customer: address}))
        match self._kind:
            case "cancel_order":
                return self._cancel_order(order)
            case "cancel_lines":
                return self._cancel_lines(order)
            case "change_order_address":
                return self._change_address(order)
            case "change_order_items":
                return self._change_items(order)
            case "change_order_payment":
                return self._change_payment(order)
            case "return_items":
                return self._return(order)
            case "exchange_items":
                return self._exchange(order)
            case "refund":
                return self._refund(order)
            case "send_again":
                return self._send_again(order)
            case _:
                return self._undo(order)

    def _cancel_order(self, order: Json) -> Plan:
        _expect(order, _OPEN)
        amount = order["refundable"]["amount"]

        def apply() -> None:
            self._give_back(order, amount)
            order["status"] = "cancelled"

        return self._plan_back(order, amount, apply, [(line, line["quantity"]) for line in order["lines"]])

    def _cancel_lines(self, order: Json) -> Plan:
        _expect(order, (*_OPEN, "partly_shipped"))
        pieces = self._pieces(order, "cancellable")
        amount = min(_worth(pieces), order["refundable"]["amount"])

        def apply() -> None:
            self._give_back(order, amount)
            for line, quantity in pieces:
                line["quantity"] -= quantity
            order["lines"] = [line for line in order["lines"] if line["quantity"]]
            if not order["lines"]:
                order["status"] = "cancelled"

        return self._plan_back(order, amount, apply, pieces)

    def _change_address(self, order: Json) -> Plan:
        _expect(order, _OPEN)
        address = self._address()

        def apply() -> None:
            order["address"] = address
            order["ships_to"] = f"{address['city']}, {address['country']}"

        return Plan(apply)

    def _change_items(self, order: Json) -> Plan:
        _expect(order, _OPEN)
        swaps = self._swaps(order, "cancellable")

        def apply() -> None:
            self._settle(order, plan.money)
            for line, variant in swaps:
                self._take(variant, line["quantity"])
                line.update(
                    title=variant["title"],
                    variant_id=variant["id"],
                    options=variant["options"],
                    unit_price=dict(variant["price"]),
                )

        plan = self._plan_swaps(order, swaps, apply)
        return plan

    def _change_payment(self, order: Json) -> Plan:
        _expect(order, _OPEN)
        if order["payment"] != "paid":
            raise Refused("wrong_status", "Only an order that is paid can move to another payment method.")
        method, total = self._method(), order["total"]["amount"]
        self._check_balance(method, total)

        def apply() -> None:
            for part in order["payments"]:
                self._move_balance(part["method_id"], part["amount"]["amount"])
            order["payments"] = []
            self._pay(order, method, total)

        return Plan(apply, to=method["label"])

    def _return(self, order: Json) -> Plan:
        _expect(order, _ARRIVED)
        pieces = self._pieces(order, "returnable")
        amount = min(_worth(pieces), order["refundable"]["amount"])

        def apply() -> None:
            self._send_back(order, pieces)
            order["status"] = "return_requested"

        plan = self._plan_back(order, amount, apply, pieces)
        plan.when, plan.is_later = "5 to 7 days after the parcel has reached us", True
        return plan

    def _exchange(self, order: Json) -> Plan:
        _expect(order, _ARRIVED)
        swaps = self._swaps(order, "returnable")

        def apply() -> None:
            self._settle(order, plan.money)
            for line, variant in swaps:
                self._take(variant, line["quantity"])
            self._send_back(order, [(line, line["quantity"]) for line, _ in swaps])
            order["status"] = "exchange_requested"

        plan = self._plan_swaps(order, swaps, apply)
        return plan

    def _refund(self, order: Json) -> Plan:
        if order["payment"] not in ("paid", "partly_refunded"):
            raise Refused("wrong_status", "Nothing is paid that could be refunded.")
        asked, rest = self._asked_amount(), order["refundable"]["amount"]
        pieces = self._pieces(order, "quantity") if not asked or self._arguments.get("lines") else []
        amount = min(asked or _worth(pieces), rest)
        if not amount or asked > rest:
            raise Refused("too_much", "It is more than can be refunded.")
        return self._plan_back(order, amount, lambda: self._give_back(order, amount), pieces)

    def _asked_amount(self) -> int:
        """The amount that is asked for. 0 if lines are."""
        asked = self._arguments.get("amount")
        if asked is None:
            return 0
        if not isinstance(asked, dict) or asked.get("currency") != self.currency:
            raise Refused("invalid", "The amount is not in the order's currency.", status=422)
        return _positive(asked.get("amount"))

    def _send_again(self, order: Json) -> Plan:
        _expect(order, ("shipped", "partly_shipped", *_ARRIVED))
        pieces = self._pieces(order, "quantity")
        for line, quantity in pieces:
            state = self._records.pieces[order["id"], line["id"]]
            if state.sent_again + quantity > state.shipped:
                raise Refused("too_much", "It was not sent yet, or sent again already.")
        address = self._address() if self._arguments.get("address") else order["address"]

        def apply() -> None:
            for line, quantity in pieces:
                self._records.pieces[order["id"], line["id"]].sent_again += quantity
            order["sent_again_to"] = address

        return Plan(apply, lines=[_quoted(line, quantity) for line, quantity in pieces])

    def _undo(self, order: Json) -> Plan:
        """Take back what an earlier request with this key has done, once."""
        undoes = self._arguments.get("undoes")
        key = undoes.get("key") if isinstance(undoes, dict) else None
        wanted = {"key": key, "kind": UNDOES[self._kind], "customer_id": self._customer}
        found = next((each for each in self._records.ledger if {name: each[name] for name in wanted} == wanted), None)
        if found is None or found["arguments"].get("order") != order["id"]:
            raise Refused("not_found", "There is no such change of this order.", status=404)
        if any((each["arguments"].get("undoes") or {}).get("key") == key for each in self._records.ledger):
            raise Refused("wrong_status", "It is undone already.")
        done: Json = found["arguments"]
        match self._kind:
            case "cancel_return":
                return self._undo_return(order, done)
            case "cancel_replacement":
                pieces = [(_line(order, each["line"]), each["quantity"]) for each in done["lines"]]

                def apply() -> None:
                    for line, quantity in pieces:
                        self._records.pieces[order["id"], line["id"]].sent_again -= quantity

                return Plan(apply, lines=[_quoted(line, quantity) for line, quantity in pieces])
            case _:
                return self._undo_exchange(order, done, found.get("money"))

    def _undo_return(self, order: Json, done: Json) -> Plan:
        pieces = [(_line(order, each["line"]), each["quantity"]) for each in done["lines"]]

        def apply() -> None:
            self._keep(order, pieces)

        return Plan(apply, lines=[_quoted(line, quantity) for line, quantity in pieces])

    def _undo_exchange(self, order: Json, done: Json, moved: Json | None) -> Plan:
        variants = {each["id"]: each for product in self._records.products.values() for each in product["variants"]}
        swaps = [(_line(order, each["line"]), variants[each["variant"]]) for each in done["swaps"]]
        difference = -moved["amount"] if moved else 0
        if difference > 0:
            raise Refused("not_allowed", "The difference was paid back, and cannot be asked for again.")

        def apply() -> None:
            self._settle(order, difference)
            for line, variant in swaps:
                self._take(variant, -line["quantity"])
            self._keep(order, [(line, line["quantity"]) for line, _ in swaps])

        lines = [_quoted(line, line["quantity"]) for line, _ in swaps]
        to = " + ".join(part["label"] for part in order["payments"]) if difference else ""
        return Plan(apply, difference, lines, to=to, when="5 to 7 days" if difference else "")

    def _keep(self, order: Json, pieces: list[tuple[Json, int]]) -> None:
        """The customer keeps what they would have sent back."""
        self._send_back(order, [(line, -quantity) for line, quantity in pieces])
        if not any(self._records.pieces[order["id"], line["id"]].returned for line in order["lines"]):
            order["status"] = "delivered"

    def _plan_back(self, order: Json, amount: int, apply: Callable[[], None], pieces: list[tuple[Json, int]]) -> Plan:
        lines = [_quoted(line, quantity) for line, quantity in pieces]
        if not amount:
            return Plan(apply, lines=lines)
        chosen = self._method(needed=False)
        to = chosen["label"] if chosen else " + ".join(part["label"] for part in order["payments"])
        return Plan(apply, -amount, lines, to=to, when="5 to 7 days")

    def _plan_swaps(self, order: Json, swaps: list[tuple[Json, Json]], apply: Callable[[], None]) -> Plan:
        difference = sum(
            line["quantity"] * (new["price"]["amount"] - line["unit_price"]["amount"]) for line, new in swaps
        )
        if difference < 0:
            difference = -min(-difference, order["refundable"]["amount"])
        method = self._method(needed=difference > 0)
        if difference > 0 and method:
            self._check_balance(method, difference)
        lines = [
            {"title": new["title"], "quantity": line["quantity"], "money": _times(new["price"], line["quantity"])}
            for line, new in swaps
        ]
        to = method["label"] if method else order["payments"][0]["label"]
        return Plan(apply, difference, lines, to=to if difference else "", when="5 to 7 days" if difference < 0 else "")

    def _pieces(self, order: Json, limit: str) -> list[tuple[Json, int]]:
        asked = self._each_line_once("lines")
        pieces = [(_line(order, each.get("line")), _positive(each.get("quantity"))) for each in asked]
        for line, quantity in pieces:
            self._check_limit(line, quantity, limit)
        return pieces

    def _swaps(self, order: Json, limit: str) -> list[tuple[Json, Json]]:
        swaps = []
        for each in self._each_line_once("swaps"):
            line = _line(order, each.get("line"))
            variants = {variant["id"]: variant for variant in self._records.variants_of(line["product_id"])}
            variant = variants.get(str(each.get("variant")))
            if variant is None or variant["id"] == line["variant_id"]:
                raise Refused("not_available", "It is no other variant of this product.")
            if variant["available"] < line["quantity"]:
                raise Refused("not_available", "It is sold out.")
            self._check_limit(line, line["quantity"], limit)
            swaps.append((line, variant))
        return swaps

    def _each_line_once(self, name: str) -> list[Json]:
        asked: object = self._arguments.get(name)
        lines: list[Json] = [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
        if not lines or asked != lines or len({str(each.get("line")) for each in lines}) != len(lines):
            raise Refused("invalid", "It needs lines of the order, each of them once.", status=422)
        return lines

    def _check_limit(self, line: Json, quantity: int, limit: str) -> None:
        if limit == "returnable" and "final_sale" in line["tags"]:
            raise Refused("not_allowed", "It was sold for good.")
        if quantity > line[limit]:
            raise Refused("too_much", "The line has fewer pieces.")

    def _address(self) -> Json:
        address = self._arguments.get("address")
        if not isinstance(address, dict) or not all(str(address.get(name) or "").strip() for name in _NEEDED):
            raise Refused("invalid", f"An address needs {', '.join(_NEEDED)}.", status=422)
        names = (*_NEEDED, "line2", "region", "postal_code")
        return {name: str(address.get(name) or "") for name in names}

    def _method(self, *, needed: bool = True) -> Json:
        """The payment method that was chosen; an empty one if none was and none is needed."""
        wanted = self._arguments.get("method")
        if not wanted and not needed:
            return {}
        for method in self._records.methods[self._customer]:
            if method["method_id"] == wanted:
                return method
        raise Refused("invalid", "The customer has no such payment method.", status=422)

    def _check_balance(self, method: Json, amount: int) -> None:
        balance = method.get("amount")
        if balance and (balance["currency"] != self.currency or balance["amount"] < amount):
            raise Refused("too_much", "There is not enough on it.")

    def _settle(self, order: Json, difference: int) -> None:
        if difference > 0:
            order["total"]["amount"] += difference
            self._pay(order, self._method(), difference)
        elif difference < 0:
            self._give_back(order, -difference)

    def _pay(self, order: Json, method: Json, amount: int) -> None:
        self._move_balance(method["method_id"], -amount)
        part = {name: method[name] for name in ("method_id", "kind", "label")}
        order["payments"].append({**part, "amount": {"amount": amount, "currency": self.currency}})

    def _give_back(self, order: Json, amount: int) -> None:
        chosen = self._method(needed=False)
        self._move_balance(chosen["method_id"] if chosen else order["payments"][0]["method_id"], amount)
        order["refunded"]["amount"] += amount

    def _move_balance(self, method_id: str, amount: int) -> None:
        for method in self._records.methods[self._customer]:
            if method["method_id"] == method_id and "amount" in method:
                method["amount"]["amount"] += amount

    def _send_back(self, order: Json, pieces: list[tuple[Json, int]]) -> None:
        for line, quantity in pieces:
            self._records.pieces[order["id"], line["id"]].returned += quantity

    def _take(self, variant: Json, quantity: int) -> None:
        variant["available"] -= quantity


def _expect(order: Json, statuses: tuple[str, ...]) -> None:
    if order["status"] not in statuses:
        raise Refused("wrong_status", f"An order that is {order['status']} cannot be changed like this.")


def _line(order: Json, line_id: object) -> Json:
    for line in order["lines"]:
        if line["id"] == line_id:
            found: Json = line
            return found
    raise Refused("no_such_line", "The order has no such line.")


def _positive(number: object) -> int:
    if type(number) is not int or number < 1:
        raise Refused("invalid", "It needs a whole number above zero.", status=422)
    return number


def _worth(pieces: list[tuple[Json, int]]) -> int:
    return sum(quantity * line["unit_price"]["amount"] for line, quantity in pieces)


def _times(price: Json, quantity: int) -> Json:
    return {"amount": quantity * price["amount"], "currency": price["currency"]}


def _quoted(line: Json, quantity: int) -> Json:
    return {"title": line["title"], "quantity": quantity, "money": _times(line["unit_price"], quantity)}
