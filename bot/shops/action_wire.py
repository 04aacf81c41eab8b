"""What is sent to a shop and read from it when something is to be changed (docs/reference/shop-api.md).

A shop's answer is compared with what was asked: an answer about another order, in another currency, or of more money
than the customer confirmed says nothing about what happened.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from bot.shops.actions import ActionKind, Outcome, Quote, QuoteLine, Reason, RefusalReason
from bot.shops.port import Money
from bot.shops.wire import MoneyAnswer, OrderAnswer, PaymentLabel, RecordId, Short, Wire, read_or_none

KEY_HOURS = 168.0
"""How long the contract makes a shop remember a key."""
_REASONS: frozenset[str] = frozenset(get_args(RefusalReason))


def refusal_reason(code: str) -> RefusalReason:
    """The reason that an error code of the contract names. `other` for every other code."""
    return code if code in _REASONS else "other"  # type: ignore[return-value]


def _listed(kinds: object) -> object:
    """Only the kinds that Frontdesk knows: a shop may be newer than we are."""
    known = frozenset(get_args(ActionKind))
    return [kind for kind in kinds if kind in known] if isinstance(kinds, list) else kinds


_Kinds = Annotated[tuple[ActionKind, ...], BeforeValidator(_listed), Field(max_length=50)]


class CapabilitiesAnswer(Wire):
    """`GET /capabilities`."""

    actions: _Kinds
    quotes: bool = False
    needs_reason: _Kinds = ()


class _QuoteLine(Wire):
    title: Short
    quantity: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 1
    money: MoneyAnswer | None = None

    def read(self) -> QuoteLine:
        return QuoteLine(self.title, self.quantity, read_or_none(self.money))


class QuoteAnswer(Wire):
    """`POST /quotes`."""

    money: MoneyAnswer | None = None
    lines: Annotated[tuple[_QuoteLine, ...], Field(max_length=100)] = ()
    fees: Annotated[tuple[_QuoteLine, ...], Field(max_length=20)] = ()
    to: PaymentLabel = ""
    when: Short = ""
    irreversible: bool = False

    def read(self, *, irreversible: bool) -> Quote:
        """The quote, without the form of the answer. `irreversible`: whether the kind itself is."""
        money = read_or_none(self.money)
        return Quote(
            money=money if money and money.minor else None,
            lines=tuple(line.read() for line in self.lines),
            fees=tuple(fee.read() for fee in self.fees),
            to=self.to,
            when=self.when,
            irreversible=irreversible or self.irreversible,
        )


class _ActionArguments(Wire):
    order: str = ""
    lines: tuple[dict[str, Any], ...] = ()
    swaps: tuple[dict[str, Any], ...] = ()
    reason: Reason | Literal[""] = ""


class ActionBody(Wire):
    """The body of `POST /actions`, read again from a stored request."""

    kind: ActionKind
    customer_id: str
    arguments: _ActionArguments
    money: MoneyAnswer | None = None

    def expected(self) -> "Expected":
        """What the answer may say."""
        money = read_or_none(self.money)
        lines = {str(each.get("line")) for each in (*self.arguments.lines, *self.arguments.swaps)}
        return Expected(
            customer=self.customer_id,
            order=self.arguments.order,
            currency=money.currency if money else "",
            back=-min(money.minor, 0) if money else 0,
            charged=max(money.minor, 0) if money else 0,
            lines=frozenset(lines),
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """What an answer about an action may say. What is None is not known, and not compared."""

    customer: str
    order: str | None
    currency: str
    """Empty if it is not known."""
    back: int | None
    """The most that the customer gets, in minor units."""
    charged: int | None
    """The most that the customer pays."""
    lines: frozenset[str] | None = None

    def contradiction(self, outcome: Outcome) -> str:
        """What in the outcome cannot be about the action, in words for the log. Empty if nothing is."""
        if outcome.order is not None:
            if outcome.order.id != self.order or outcome.order.customer_id != self.customer:
                return "another order"
            if self.currency and outcome.order.total.currency != self.currency:
                return "another currency"
        if outcome.money is not None and (fault := self._of_money(outcome.money)):
            return fault
        if self.lines is not None and not self.lines.issuperset(outcome.lines):
            return "another line"
        return ""

    def _of_money(self, money: Money) -> str:
        if money.minor and self.currency and money.currency != self.currency:
            return "another currency"
        if self.back is not None and -money.minor > self.back:
            return "a higher refund"
        if self.charged is not None and money.minor > self.charged:
            return "a higher charge"
        return ""


class OutcomeAnswer(Wire):
    """The answer to `POST /actions` and to `GET /actions/{key}`."""

    state: Literal["done", "partly", "refused", "in_progress"]
    reason: Annotated[str, Field(max_length=60)] = ""
    reference: Short = ""
    money: MoneyAnswer | None = None
    order: OrderAnswer | None = None
    lines: Annotated[tuple[RecordId, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _says_which_lines(self) -> Self:
        if self.state == "partly" and not self.lines:
            raise ValueError("an action that took effect partly names the lines that it took effect for")
        return self

    def read(self) -> Outcome:
        """The outcome, without the form of the answer."""
        if self.state == "refused":
            return Outcome("refused", reason=refusal_reason(self.reason))
        return Outcome(
            self.state,
            reference=self.reference,
            money=read_or_none(self.money),
            order=self.order.read() if self.order else None,
            lines=self.lines,
        )
