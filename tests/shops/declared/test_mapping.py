"""What a shop says becomes our records exactly, or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.checked_files import Plain
from bot.shops.actions import NotSupported
from bot.shops.declared.answers import Verdicts, read_json
from bot.shops.declared.expressions import Expression, Stopwatch, Unusable
from bot.shops.declared.file import Call, Errors, FieldSpec
from bot.shops.declared.mapping import RecordMap, decimal_text, read_amount
from bot.shops.declared.templates import Scope, build_request
from bot.shops.port import Money
from bot.shops.transport import Reply
from bot.shops.wire import OrderAnswer

ORDER: dict[str, Any] = {
    "id": "R-1",
    "owner": "cus_a",
    "status": {"at": "state", "map": {"NEW": "pending", "true": "shipped"}},
    "placed_at": {"at": "day", "format": "%d.%m.%Y"},
    "total": {"at": "total", "unit": "decimal", "currency": "currency"},
    "lines": {"each": "items", "fields": {"title": "t", "quantity": "n", "unit_price": {"at": "p", "unit": "decimal"}}},
}
RECORD: dict[str, Any] = {
    "id": "R-1",
    "owner": "cus_a",
    "state": "NEW",
    "day": "03.11.2026",
    "total": "19.90",
    "currency": "EUR",
    "items": [{"t": "A cap", "n": "2", "p": 9.95}],
}


def spec(value: Any) -> Any:
    if isinstance(value, str):
        return {"at": value}
    fields = {name: spec(each) for name, each in value.get("fields", {}).items()}
    return {**value, **({"fields": fields} if fields else {})}


def read(**changes: Any) -> OrderAnswer:
    told = {"id": "id", "owner": "owner", **{name: ORDER[name] for name in ORDER if name not in ("id", "owner")}}
    fields = {name: FieldSpec.model_validate(spec(value)) for name, value in told.items()}
    mapped = RecordMap("order", {"order": fields}, currency=None)
    return mapped.read({**RECORD, **changes}, OrderAnswer, stopwatch=Stopwatch())


def test_an_order_is_mapped_with_the_currency_of_its_total() -> None:
    order = read().read()
    assert (order.id, order.status, order.state) == ("R-1", "pending", "NEW")
    assert order.total == Money(1_990, "EUR")
    assert order.lines[0].unit_price == Money(995, "EUR")
    assert (order.lines[0].id, order.lines[0].quantity) == ("1", 2)
    assert order.placed_at.isoformat() == "2026-11-03T00:00:00+00:00"


def test_an_order_without_a_revision_gets_one_that_changes_with_it() -> None:
    assert read().revision == read().revision != read(total="19.91").revision


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"state": "OLD"}, "order.status"),
        ({"state": None}, "order.status"),
        ({"owner": None}, "order.owner"),
        ({"owner": "../x"}, "order.customer_id"),
        ({"total": "19.905"}, "order.total"),
        ({"total": "a lot"}, "order.total"),
        ({"total": True}, "order.total"),
        ({"total": "1e16"}, "order.total"),
        ({"total": "Infinity"}, "order.total"),
        ({"currency": None}, "order.total"),
        ({"currency": "eur"}, "order.total"),
        ({"day": "yesterday"}, "order.placed_at"),
        ({"items": None}, "order.lines"),
        ({"items": {"t": "A cap"}}, "order.lines"),
        ({"items": [{"t": "A cap", "n": -1, "p": 1}]}, "order.lines.0.quantity"),
        ({"items": [{"t": "A cap", "n": 1.5, "p": 1}]}, "order.lines.quantity"),
        ({"items": ["A cap"]}, "order.lines"),
    ],
)
def test_an_answer_that_cannot_be_read_is_not_guessed_at(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Unusable) as raised:
        read(**changes)
    assert raised.value.field == field
    assert not any(str(value) in str(raised.value) for value in changes.values() if isinstance(value, str))


def test_a_truth_value_is_a_word_for_a_map() -> None:
    assert read(state=True).status == "shipped"


@given(st.integers(-(10**15), 10**15), st.sampled_from(["EUR", "JPY", "KWD"]))
def test_an_amount_survives_its_way_as_a_decimal_text(minor: int, currency: str) -> None:
    text = ("-" if minor < 0 else "") + decimal_text(Money(minor, currency))
    found = read_amount(text, unit="decimal", currency=currency, field="total")
    assert found == {"amount": minor, "currency": currency}


def test_a_sum_of_floats_is_the_amount_that_was_meant() -> None:
    total = Expression("sum(items[*].p)").search({"items": [{"p": 0.1}, {"p": 0.2}]}, "total")
    assert read_amount(total, unit="decimal", currency="EUR", field="total")["amount"] == 30


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 10_000, "<html>", "", "[" * 66 + "]" * 66]
)
def test_a_body_with_surprises_is_no_answer(text: str) -> None:
    with pytest.raises(Unusable):
        read_json(text.encode())


def test_a_condition_is_true_or_false_and_nothing_else() -> None:
    assert Expression("status == 'cancelled'").holds({"status": "cancelled"})
    assert not Expression("status == 'cancelled'").holds({})
    for text in ("status", "missing", "length(status)", "to_number(status) < `3`"):
        with pytest.raises(Unusable):
            Expression(text).holds({"status": "cancelled"})


def test_a_wrong_address_does_not_look_like_a_missing_order() -> None:
    statuses = {"404 gone": {"state": "not_found"}, "4xx *": {"state": "busy"}}
    verdicts = Verdicts(Errors.model_validate({"code": "error", "statuses": statuses}))

    def told(status: int, body: object = None) -> str:
        verdict = verdicts.of(Reply(status, json.dumps(body).encode()))
        return verdict.state if verdict else ""

    assert told(404, {"error": "gone"}) == "not_found"
    assert told(404, {"error": "no route"}) == "busy"
    assert told(200) == ""
    bare = Verdicts(Errors.model_validate({"code": "error"}))
    assert [v.state for s in (404, 401, 409, 429, 500, 302) if (v := bare.of(Reply(s, b"<html>")))] == [
        "unavailable",
        "unauthorized",
        "refused",
        "busy",
        "unavailable",
        "unavailable",
    ]


CALL = {
    "post": "/orders/{order.id}/x",
    "query": {"mail": "{email}", "empty": "{reason}"},
    "json": {
        "n": "{amount.minor}",
        "why": "{reason}",
        "text": "for {email}",
        "on": Plain("true"),
        "rows": {"each": "lines", "as": {"id": "{line.id}", "qty": "{line.quantity}"}},
    },
}


def test_a_request_keeps_types_and_leaves_out_what_stands_for_nothing() -> None:
    scope = Scope(
        {"order.id": "R-1", "email": "a+b@example.com", "amount.minor": 5, "reason": ""},
        {"lines": [{"line.id": "7", "line.quantity": 2}]},
    )
    made = build_request(Call.model_validate(CALL), scope)
    assert made.path == "/orders/R-1/x?mail=a%2Bb%40example.com"
    rows = [{"id": "7", "qty": 2}]
    assert json.loads(made.body) == {"n": 5, "text": "for a+b@example.com", "on": True, "rows": rows}


@pytest.mark.parametrize("value", ["", "..", ".", "a/b", "a\\b", "a\nb", "a\x00"])
def test_a_value_that_leads_elsewhere_is_not_put_into_a_path(value: str) -> None:
    with pytest.raises(NotSupported):
        build_request(Call.model_validate(CALL), Scope({"order.id": value}))


def test_a_value_with_a_line_break_is_not_put_into_a_header() -> None:
    call = Call.model_validate({"post": "/x", "headers": {"If-Match": "{order.revision}"}})
    with pytest.raises(NotSupported):
        build_request(call, Scope({"order.revision": "1\r\nX-Evil: 1"}))
    assert build_request(call, Scope({"order.revision": ""})).headers == {}


def test_expressions_that_take_too_long_end_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.shops.declared.expressions.SECONDS_LIMIT", -1.0)
    stopwatch = Stopwatch()
    assert stopwatch.search(Expression("a.b"), {"a": {"b": 1}}, "a") == 1
    with pytest.raises(Unusable, match="of expressions"):
        stopwatch.search(Expression("length(a)"), {"a": [1]}, "a")
