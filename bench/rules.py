"""What it costs to judge a change by the rules, and to read a shop's orders. No network: best of many runs, in CPU.

judge_ms   the facts of an order with ten lines, and a policy of twenty rules over them
map_ms     100 orders of five lines, from JSON to records: by the contract, and by a declared connector
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from bot.actions.facts import CustomerFacts, build_facts
from bot.actions.policy import judge
from bot.actions.policy_file import Policy, PolicyFile, build_policy
from bot.shops.actions import Arguments, LineQuantity
from bot.shops.declared.expressions import Stopwatch
from bot.shops.declared.mapping import RecordMap
from bot.shops.declared.reading import read_connector
from bot.shops.port import Money, Order, OrderLine
from bot.shops.wire import OrderAnswer, OrdersAnswer
from demo.house import wire
from demo.shop.seed import seed

RUNS, LINES, RULES, ORDERS, LINES_EACH = 30, 10, 20, 100, 5
CONNECTOR = Path(__file__).resolve().parent.parent / "demo" / "house" / "store.http.yml"
_NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
_KINDS_OF_RULE: tuple[dict[str, Any], ...] = (
    {"fact": "order.status", "is": "delivered", "else": "refuse", "because": "not_arrived"},
    {"fact": "line.days_since_delivery", "at_most": "30", "else": "refuse", "because": "return_window"},
    {"fact": "line.returnable", "at_least": "1", "else": "refuse", "because": "not_returnable"},
    {"fact": "line.product_tags", "none_of": ["underwear", "earrings"], "else": "person"},
    {
        "any_of": [{"fact": "customer.orders_count", "at_least": "1"}, {"fact": "order.country", "is": "DE"}],
        "else": "staff",
    },
)


def judge_ms() -> float:
    """CPU of one judgement, in ms."""
    rules = [{"id": f"rule_{n}", **_KINDS_OF_RULE[n % len(_KINDS_OF_RULE)]} for n in range(RULES)]
    file = {
        "version": 1,
        "currency_limits": {"USD": {"staff_above": 5_000}},
        "actions": {"return_items": {"rules": rules}},
    }
    return _best(partial(_judge, build_policy(PolicyFile.model_validate(file), digest=""), _big_order()))


def map_ms() -> tuple[float, float]:
    """CPU of reading the orders, in ms: by the contract, and by the declared connector of the demo."""
    records = RecordMap("order", read_connector(CONNECTOR).records, currency="EUR")
    orders = [_order(number) for number in range(ORDERS)]
    by_contract = partial(_read_contract, orjson.dumps({"orders": orders}))
    return _best(by_contract), _best(partial(_read_declared, records, orjson.dumps([*map(wire.order, orders)])))


def _judge(policy: Policy, order: Order) -> None:
    facts = build_facts(
        kind="return_items",
        order=order,
        arguments=Arguments(
            order=order.id, lines=tuple(LineQuantity(line.id, 1) for line in order.lines), reason="damaged"
        ),
        quote=None,
        customer=CustomerFacts(
            orders_count=3, refunds_90d=0, actions_today=0, first_order_at=_NOW - timedelta(days=400)
        ),
        cases_30d=0,
        now=_NOW,
        zone=ZoneInfo("Europe/Berlin"),
    )
    judgement = judge(policy, "return_items", facts, money=-1_000, currency="USD")
    _check(judgement.outcome, "allow")
    _check(sum(rule.id.startswith("rule_") for rule in judgement.rules), RULES)


def _big_order() -> Order:
    line = OrderLine(title="Socks", quantity=2, unit_price=Money(549, "USD"), returnable=2, tags=("socks",))
    return Order(
        id="FW-1",
        customer_id="c1",
        status="delivered",
        payment="paid",
        placed_at=_NOW - timedelta(days=16),
        total=Money(10_980, "USD"),
        lines=tuple(replace(line, id=str(n), product_id=f"p{n}", variant_id=f"v{n}") for n in range(LINES)),
        parcels=(),
        delivered_at=_NOW - timedelta(days=12),
        refundable=Money(10_980, "USD"),
    )


def _read_contract(body: bytes) -> None:
    _check(len([answer.read() for answer in OrdersAnswer.model_validate_json(body).orders]), ORDERS)


def _read_declared(records: RecordMap, body: bytes) -> None:
    stopwatch = Stopwatch()
    answers = [records.read(record, OrderAnswer, stopwatch=stopwatch) for record in orjson.loads(body)]
    _check(sum(len(answer.read().lines) for answer in answers), ORDERS * LINES_EACH)


def _check(found: object, wanted: object) -> None:
    if found != wanted:
        raise RuntimeError(f"{found} instead of {wanted}: something else was measured")


def _best(work: Callable[[], None]) -> float:
    took = []
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return min(took) * 1e3


def _order(number: int) -> dict[str, Any]:
    """One of the demo's orders, with other lines and a number of its own."""
    known = seed(_NOW).orders["ORD-31415"]
    lines = [{**known["lines"][0], "id": str(n)} for n in range(LINES_EACH)]
    return {**known, "id": f"ORD-{number:05}", "lines": lines}
