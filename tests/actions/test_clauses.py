"""Each operator of a rule, over each type of fact."""

from datetime import date
from typing import Any

import pytest

from bot.actions.clauses import OPERATORS, Operator, all_fulfilled, any_fulfilled, build_check, read_operand
from bot.actions.facts import FACTS
from bot.shops.port import Money

TODAY = date(2026, 11, 23)
EUR = {"EUR": "4000", "USD": "4500"}


def check(fact: str, operator: Operator, written: Any, facts: dict[str, Any], line: int = 0) -> bool | None:
    return build_check(fact, operator, read_operand(fact, operator, written))(facts, line)


@pytest.mark.parametrize(
    ("fact", "operator", "written", "fulfilled", "unfulfilled"),
    [
        ("order.status", "is", "pending", "pending", "shipped"),
        ("order.status", "is_not", "pending", "shipped", "pending"),
        ("order.status", "one_of", ["pending", "shipped"], "shipped", "delivered"),
        ("order.status", "none_of", ["pending", "shipped"], "delivered", "shipped"),
        ("order.country", "matches", "[A-Z]{2}", "DE", "DEU"),
        ("order.country", "is", "no", "no", "NO"),
        ("order.state", "exists", "yes", "x", None),
        ("order.parcels", "is", "007", 7, 8),
        ("order.parcels", "is_not", "7", 8, 7),
        ("order.parcels", "one_of", ["1", "2"], 2, 3),
        ("order.parcels", "none_of", ["1", "2"], 3, 2),
        ("order.parcels", "at_least", "2", 2, 1),
        ("order.parcels", "at_most", "2", 2, 3),
        ("order.parcels", "exists", "true", 0, None),
        ("method.is_original", "is", "yes", True, False),
        ("method.is_original", "is_not", "true", False, True),
        ("method.is_original", "exists", "yes", False, None),
        ("order.total", "at_least", EUR, Money(4000, "EUR"), Money(3999, "EUR")),
        ("order.total", "at_most", EUR, Money(4500, "USD"), Money(4501, "USD")),
        ("order.total", "exists", "yes", Money(0, "CHF"), None),
        ("customer.tags", "one_of", ["vip", "staff"], frozenset({"vip", "new"}), frozenset({"new"})),
        ("customer.tags", "none_of", ["vip", "staff"], frozenset(), frozenset({"staff"})),
        ("now.date", "is", "2026-11-23", TODAY, date(2026, 11, 24)),
        ("now.date", "is_not", "2026-11-23", date(2026, 11, 24), TODAY),
        ("now.date", "before", "2026-11-24", TODAY, date(2026, 11, 24)),
        ("now.date", "after", "2026-11-22", TODAY, date(2026, 11, 22)),
    ],
)
def test_an_operator_compares_a_fact_with_a_value(
    fact: str, operator: Operator, written: Any, fulfilled: Any, unfulfilled: Any
) -> None:
    assert check(fact, operator, written, {fact: fulfilled}) is True
    assert check(fact, operator, written, {} if unfulfilled is None else {fact: unfulfilled}) is False


@pytest.mark.parametrize(
    ("operator", "other", "fulfilled"),
    [("at_most", 3, True), ("at_most", 1, False), ("at_least", 2, True), ("is", 2, True), ("is_not", 2, False)],
)
def test_a_fact_is_compared_with_another_of_the_same_line(operator: Operator, other: int, fulfilled: bool) -> None:
    facts = {"line.quantity": (9, 2), "line.bought": (1, other)}
    assert check("line.quantity", operator, {"fact": "line.bought"}, facts, line=1) is fulfilled


@pytest.mark.parametrize(
    ("fact", "operator", "written", "value"),
    [
        ("order.total", "at_most", EUR, Money(1, "CHF")),
        ("order.total", "at_most", {"fact": "order.refunded"}, Money(1, "EUR")),
        ("order.status", "is_not", "pending", "unknown"),
        ("order.status", "none_of", ["pending"], "dispatched"),
        ("order.status", "is_not", "pending", 7),
        ("order.country", "is_not", "DE", "x" * 201),
        ("order.parcels", "at_most", "1", True),
        ("order.parcels", "at_most", "1", 0.5),
        ("order.parcels", "at_most", {"fact": "order.lines"}, 1),
        ("customer.tags", "none_of", ["vip"], ("new",)),
        ("method.is_original", "is_not", "yes", 0),
        ("line.returnable", "at_least", "1", 4),
        ("line.returnable", "at_least", "1", (None,)),
        ("line.returnable", "at_least", "1", ()),
    ],
)
def test_a_comparison_with_something_unknown_has_no_answer(
    fact: str, operator: Operator, written: Any, value: Any
) -> None:
    assert check(fact, operator, written, {fact: value, "order.refunded": Money(1, "USD")}) is None


def fixed(value: bool | None) -> Any:
    return lambda facts, line: value


@pytest.mark.parametrize(
    ("values", "every", "some"),
    [
        ((True, True), True, True),
        ((True, False), False, True),
        ((False, False), False, False),
        ((True, None), None, True),
        ((False, None), None, None),
        ((None, False), None, None),
    ],
)
def test_several_clauses_have_an_answer_if_nothing_is_open(
    values: tuple[bool | None, ...], every: bool | None, some: bool | None
) -> None:
    assert all_fulfilled([fixed(value) for value in values])({}, 0) is every
    assert any_fulfilled([fixed(value) for value in values])({}, 0) is some


@pytest.mark.parametrize(
    ("fact", "operator", "written", "problem"),
    [
        ("order.statu", "is", "pending", "do you mean order.status?"),
        ("order.status", "is", "pendin", "do you mean pending?"),
        ("order.status", "is", "unknown", "known here are pending"),
        ("order.status", "one_of", "pending", "must be a list"),
        ("order.status", "one_of", [], "must be a list with 1 to"),
        ("order.status", "at_most", "3", "is not possible with order.status"),
        ("order.status", "is", {"fact": "order.parcels"}, "compares order.status"),
        ("order.status", "is", None, "must be a text"),
        ("order.parcels", "at_most", "many", "must be a whole number"),
        ("order.parcels", "at_most", "1.5", "must be a whole number"),
        ("order.parcels", "at_most", "9" * 13, "must be a whole number"),
        ("order.parcels", "at_most", {"fact": "order.parcel"}, "do you mean order.parcels?"),
        ("order.total", "at_most", "40", "sums in minor units"),
        ("order.total", "at_most", {"eur": "40"}, "no currency"),
        ("method.is_original", "is", "maybe", "must be yes or no"),
        ("method.is_original", "exists", "no", "must be yes"),
        ("now.date", "before", "23.11.2026", "must be a day"),
        ("order.state", "matches", "(a", "without its )"),
    ],
)
def test_what_cannot_be_compared_is_refused(fact: str, operator: Operator, written: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        read_operand(fact, operator, written)


def test_every_type_of_fact_has_operators_and_each_can_be_missing() -> None:
    assert {spec.type for spec in FACTS.values()} == set(OPERATORS)
    assert all("exists" in operators for operators in OPERATORS.values())
