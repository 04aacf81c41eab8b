"""The tools that prepare changes, with arguments that no honest model sends: each gets a typed answer of the real shop.

Nothing is stored by half, nothing is changed at the shop, and nothing raises.
"""

import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from sqlalchemy import func, select

from bot.actions.deciding import Press
from bot.actions.judging import Judging
from bot.actions.messages import ActionMessages
from bot.actions.policy_file import Policy, PolicyFile, build_policy
from bot.actions.preparing import Preparing, arguments_hash
from bot.actions.stepping import ActionStepping
from bot.agent.tools import InvalidArguments, ToolOutput
from bot.cases.hours import Hours
from bot.desk.changes import change_tools
from bot.language.sentences import load_sentences
from bot.shops.rest import open_rest_shop
from bot.store import actions, audit, schema
from bot.store.actions import Action
from bot.store.database import Database
from demo.shop.server import Shop, open_shop
from tests.desk.doubles import context_of
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.shops.contract import CUSTOMER_A, EVERY_KIND
from tests.turns.answering import build_outbox

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ADDRESS = {
    "name": "Customer A",
    "line1": "2 Mill Street",
    "line2": "",
    "postal_code": "97301",
    "city": "Salem",
    "region": "OR",
    "country": "US",
}
LONG = "A" * 10_000


def allowing(*kinds: str) -> Policy:
    rules: dict[str, Any] = {"rules": []}
    limits = {"USD": {"staff_above": 100_000}}
    allowed = {"version": 1, "currency_limits": limits, "actions": dict.fromkeys(kinds, rules)}
    return build_policy(PolicyFile.model_validate(allowed), digest="d")


class Assistant:
    """Calls the tools as a model does."""

    def __init__(self, database: Database, preparing: Preparing, shop: Shop) -> None:
        self.database, self.preparing, self.shop, self.turns = database, preparing, shop, count(1)
        self.tools = {tool.name: tool for tool in change_tools(preparing)}

    async def calls(self, name: str, **arguments: Any) -> ToolOutput:
        """What the model gets."""
        tool, context = self.tools[name], context_of(CUSTOMER_A)
        object.__setattr__(context, "turn", str(next(self.turns)))
        try:
            return await tool.call(context, tool.read(json.dumps(arguments)))
        except InvalidArguments as invalid:
            return invalid.output

    async def offers(self) -> list[Action]:
        async with self.database.transaction() as tx:
            return await actions.listed(tx, since=0.0, limit=100)

    async def rows(self) -> int:
        """The number of rows in tables that a change is stored in."""
        async with self.database.transaction() as tx:
            tables = (schema.action, schema.outbox)
            return sum([(await tx.execute(select(func.count()).select_from(table))).scalar_one() for table in tables])


@pytest.fixture
async def assistant(database: Database, slack: LocalSlack) -> AsyncIterator[Assistant]:
    clock = ManualClock()
    async with open_shop(now=NOW) as double, open_rest_shop(double.url, double.token, deadline=5) as shop:
        policy = allowing(*EVERY_KIND)
        messages = ActionMessages(load_sentences(), "C0AGENTS", Hours())
        preparing = Preparing(
            ActionStepping(database, build_outbox(database, slack.client, clock), clock, messages),
            Judging(database, clock, shop, lambda: policy, "UTC"),
            offers_an_hour=1_000,
        )
        yield Assistant(database, preparing, double)


MINE, DELIVERED, THEIRS = "ORD-67890", "ORD-31415", "ORD-54321"


def pieces(*named: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"line": line, "quantity": quantity} for line, quantity in named]


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "a number for an order": ("prepare_cancel_order", {"order_id": 7, "reason": "mistake"}),
    "no reason of the list": ("prepare_cancel_order", {"order_id": MINE, "reason": "because"}),
    "more arguments": ("prepare_cancel_order", {"order_id": MINE, "reason": "mistake", "amount": 1}),
    "an order of somebody else": ("prepare_cancel_order", {"order_id": THEIRS, "reason": "mistake"}),
    "no such order": ("prepare_cancel_order", {"order_id": "ORD-00000", "reason": "mistake"}),
    "an order of 10 KB": ("prepare_cancel_order", {"order_id": LONG, "reason": "mistake"}),
    "an order with a NUL": ("prepare_cancel_order", {"order_id": f"{MINE}\0", "reason": "mistake"}),
    "an order that is a path": ("prepare_cancel_order", {"order_id": "../orders", "reason": "mistake"}),
    "lines that are words": ("prepare_return_items", {"order_id": DELIVERED, "lines": "all", "reason": "other"}),
    **{
        f"lines {named}": (
            "prepare_return_items",
            {"order_id": DELIVERED, "lines": pieces(*named), "reason": "changed_mind"},
        )
        for named in (
            (("2", 0),),
            (("2", -1),),
            (("2", 1.5),),
            (("2", 999),),
            (("2", 10**12),),
            (("9", 1),),
            (("2", 1), ("2", 1)),
            (("\u0662", 1),),
            (("2\0", 1),),
            (("2\u200b", 1),),
            (("-", 1),),
            (("", 1),),
            ((LONG, 1),),
            tuple((str(number), 1) for number in range(60)),
        )
    },
    **{
        f"swap {line} to {variant[:20]!r}": (
            "prepare_exchange_items",
            {"order_id": DELIVERED, "swaps": [{"line": line, "variant": variant}], "reason": "wrong_item"},
        )
        for line, variant in (
            ("1", "var_socks_41"),
            ("1", "var_nothing"),
            ("1", "\u202evar"),
            ("1", LONG),
            ("9", "var_talus_40_mid"),
        )
    },
    **{
        f"method {method[:20]!r}": ("prepare_change_order_payment", {"order_id": MINE, "method": method})
        for method in ("pm_b_card", "pm_nothing", "4111 1111 1111 1111", "../x", "\0", LONG)
    },
    **{
        f"refund to {method[:20]!r}": (
            "prepare_return_items",
            {"order_id": DELIVERED, "lines": pieces(("2", 1)), "reason": "damaged", "refund_to": method},
        )
        for method in ("pm_b_card", "pm_\0", "\u202epm")
    },
    **{
        f"an address with {value[:12]!r} for {field}": (
            "prepare_change_address",
            {"order_id": MINE, "address": {**ADDRESS, field: value}},
        )
        for field, value in (("line1", ""), ("line1", LONG), ("country", "X"), ("name", "\u200b\u200b"), ("city", "\0"))
    },
    "half an address": ("prepare_change_address", {"order_id": MINE, "address": {"line1": "2 Mill Street"}}),
    "the address of before": ("prepare_change_address", {"order_id": MINE, "address": None}),
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_arguments_get_a_typed_answer_and_leave_nothing(
    assistant: Assistant, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = assistant.shop.records.digest()
    tool, arguments = BAD[name]
    with caplog.at_level(logging.WARNING):
        output = await assistant.calls(tool, **arguments)
    assert not output.ok
    assert len(output.text()) < 2_000
    assert await assistant.rows() == 0
    assert assistant.shop.records.digest() == before
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


async def test_an_order_of_somebody_else_is_answered_like_none(assistant: Assistant) -> None:
    theirs = await assistant.calls("prepare_cancel_order", order_id=THEIRS, reason="mistake")
    none = await assistant.calls("prepare_cancel_order", order_id="ORD-00000", reason="mistake")
    assert theirs.text() == none.text()


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("2 Mill\0 Street", "2 Mill Street"),
        ("2 \u202eteertS lliM\u202c", "2 teertS lliM"),
        ("2\u200b Mill\u2060 Street\ufeff", "2 Mill Street"),
        ("\n".join(["2 Mill Street", *("x",) * 39]), "2 Mill Street" + " x" * 39),
        ("2 Mill Street\r\n\t*Yes*", "2 Mill Street Yes"),
        ("Stra\u0308ndchen 1", "Str\u00e4ndchen 1"),
    ],
)
async def test_an_address_is_stored_as_it_can_be_read_and_its_hash_holds(
    assistant: Assistant, written: str, stored: str
) -> None:
    output = await assistant.calls("prepare_change_address", order_id=MINE, address={**ADDRESS, "line1": written})
    assert output.ok, output.text()
    (offer,) = await assistant.offers()
    assert offer.arguments["address"]["line1"] == stored
    assert offer.preview["new_address"]["line1"] == stored
    assert arguments_hash(offer.kind, offer.shop_customer, offer.arguments) == offer.arguments_hash


@pytest.mark.parametrize(
    ("named", "kind"), [({"order_id": MINE}, "change_order_address"), ({"order_id": None}, "change_customer_address")]
)
async def test_one_tool_changes_the_address_of_an_order_or_of_all_later_ones(
    assistant: Assistant, named: dict[str, Any], kind: str
) -> None:
    output = await assistant.calls("prepare_change_address", address=ADDRESS, **named)
    assert output.ok, output.text()
    (offer,) = await assistant.offers()
    assert offer.kind == kind


@pytest.mark.parametrize("kind", ["change_order_address", "change_customer_address"])
def test_a_tool_offers_no_address_that_the_rules_do_not_allow(assistant: Assistant, kind: str) -> None:
    judging = replace(assistant.preparing.judging, policy=lambda: allowing(kind))
    (tool,) = change_tools(replace(assistant.preparing, judging=judging))
    assert tool.name == f"prepare_{kind}"
    assert ("order_id" in tool.schema["properties"]) is (kind == "change_order_address")


async def test_what_the_rules_let_nobody_offer_is_noted_without_an_action(assistant: Assistant) -> None:
    output = await assistant.calls("prepare_cancel_order", order_id="ORD-12345", reason="mistake")
    assert not output.ok
    async with assistant.database.transaction() as tx:
        noted = await audit.of_subject(tx, "turn/1")
    assert [entry.action for entry in noted] == ["action.not_offered"]


@pytest.mark.parametrize(
    ("value", "version"),
    [
        *((bad, 0) for bad in ("", "act_a", "act_a/", "act_a/0", "act_a/-1", "act_a/\u0661", "act_a/3/4")),
        *((long, 0) for long in ("act_a/1000000000", f"{LONG}/{LONG}")),
        ("act_a/999999999", 999_999_999),
        ("act_a/3", 3),
    ],
)
def test_a_button_with_a_bad_value_names_no_version(value: str, version: int) -> None:
    press = Press(value, "U1", "T1", "D1", "1.1")
    assert press.version == version
    assert len(press.ref) <= 40
