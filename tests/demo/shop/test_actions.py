"""The shop's own rules for what it changes, and what it remembers of requests."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from demo.shop.actions import Clerk, Refused
from demo.shop.keys import KEYS_LIMIT, Keys
from demo.shop.records import Json, Records
from demo.shop.seed import seed
from demo.shop.server import Shop, open_shop

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def records() -> Records:
    return seed(NOW)


def act(records: Records, kind: str, customer: str = "cus_a", **arguments: Any) -> Json:
    return Clerk(records, kind, customer, arguments).carry_out(key=str(uuid4()))


def refusal(records: Records, kind: str, customer: str = "cus_a", **arguments: Any) -> str:
    before = records.digest()
    with pytest.raises(Refused) as refused:
        act(records, kind, customer, **arguments)
    assert records.digest() == before
    return refused.value.code


def balance(records: Records) -> int:
    return int(next(one for one in records.methods["cus_a"] if "amount" in one)["amount"]["amount"])


def test_a_cancelled_order_is_paid_back_and_cannot_be_cancelled_again(records: Records) -> None:
    order = act(records, "cancel_order", order="ORD-67890")["order"]
    assert (order["status"], order["payment"], order["refundable"]["amount"]) == ("cancelled", "refunded", 0)
    assert refusal(records, "cancel_order", order="ORD-67890") == "wrong_status"


def test_an_order_without_its_last_line_is_cancelled(records: Records) -> None:
    order = act(records, "cancel_lines", order="ORD-67890", lines=[{"line": "1", "quantity": 1}])["order"]
    assert (order["status"], order["lines"]) == ("cancelled", [])


def test_refunds_never_add_up_to_more_than_was_paid(records: Records) -> None:
    money = {"amount": 10_000, "currency": "USD"}
    first = act(records, "refund", order="ORD-31415", amount=money, reason="other")["order"]
    assert (first["payment"], first["refundable"]["amount"]) == ("partly_refunded", 6_800)
    assert refusal(records, "refund", order="ORD-31415", amount=money, reason="other") == "too_much"
    rest = act(records, "refund", order="ORD-31415", lines=[{"line": "1", "quantity": 1}], reason="other")
    assert (rest["money"]["amount"], rest["order"]["payment"]) == (-6_800, "refunded")


def test_a_piece_is_returned_once(records: Records) -> None:
    lines = [{"line": "2", "quantity": 2}]
    order = act(records, "return_items", order="ORD-31415", lines=lines, reason="other")["order"]
    assert (order["status"], order["lines"][1]["returnable"]) == ("return_requested", 0)
    assert refusal(records, "return_items", order="ORD-31415", lines=lines, reason="other") == "too_much"
    swaps = [{"line": "2", "variant": "var_socks_41"}]
    assert refusal(records, "exchange_items", order="ORD-31415", swaps=swaps) == "too_much"


def test_what_was_sold_for_good_is_not_taken_back(records: Records) -> None:
    lines = [{"line": "1", "quantity": 1}]
    code = refusal(records, "return_items", "cus_c", order="ORD-33333", lines=lines, reason="changed_mind")
    assert code == "not_allowed"


def test_a_line_is_sent_again_once(records: Records) -> None:
    lines = [{"line": "1", "quantity": 1}]
    act(records, "send_again", order="ORD-12345", lines=lines, reason="damaged")
    assert refusal(records, "send_again", order="ORD-12345", lines=lines, reason="damaged") == "too_much"


def test_a_gift_card_pays_what_it_holds_and_is_filled_again(records: Records) -> None:
    swaps = [{"line": "1", "variant": "var_hollow_ink"}]
    assert refusal(records, "change_order_items", order="ORD-67890", swaps=swaps) == "invalid"
    changed = act(records, "change_order_items", order="ORD-67890", swaps=swaps, method="pm_a_gift")
    assert (changed["money"]["amount"], balance(records)) == (500, 1_500)
    assert refusal(records, "change_order_payment", order="ORD-67890", method="pm_a_gift") == "too_much"
    act(records, "change_order_payment", order="ORD-67890", method="pm_a_wallet")
    assert balance(records) == 2_000


def test_what_is_exchanged_is_no_longer_on_the_shelf(records: Records) -> None:
    act(records, "exchange_items", order="ORD-31415", swaps=[{"line": "1", "variant": "var_talus_38"}])
    left = {variant["id"]: variant["available"] for variant in records.variants_of("prd_talus")}
    assert left["var_talus_38"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"lines": "all"},
        {"lines": [[]]},
        {"lines": [{"line": "1", "quantity": 0}]},
        {"lines": [{"line": "1", "quantity": True}]},
        {"lines": [{"line": "1", "quantity": 1}] * 2},
        {"amount": 5},
        {"amount": {"amount": -1, "currency": "USD"}},
        {"amount": {"amount": 1.5, "currency": "USD"}},
    ],
)
def test_arguments_without_sense_are_refused(records: Records, arguments: dict[str, Any]) -> None:
    assert refusal(records, "refund", order="ORD-31415", reason="other", **arguments) == "invalid"


def test_a_bounded_number_of_keys_is_kept() -> None:
    keys = Keys()
    for number in range(KEYS_LIMIT + 1):
        keys.begin(str(number), b"")
    assert keys.find("0") is None
    assert keys.find(str(KEYS_LIMIT)) is not None


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with open_shop(now=NOW) as running:
        yield running


@pytest.fixture
async def session(shop: Shop) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {shop.token}"}
    async with aiohttp.ClientSession(shop.url, headers=headers) as opened:
        yield opened


BODY: Json = {"kind": "cancel_order", "customer_id": "cus_a", "arguments": {"order": "ORD-67890"}}
HEADERS = {"Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324", "If-Match": '"1"'}
SHOWN = {"amount": -8_950, "currency": "USD"}


@pytest.mark.parametrize(
    ("body", "headers", "answer"),
    [
        (BODY, HEADERS, (200, None)),
        (BODY | {"money": SHOWN}, HEADERS, (200, None)),
        (BODY | {"money": None}, HEADERS, (409, "changed")),
        (BODY | {"money": SHOWN | {"amount": -8_951}}, HEADERS, (409, "changed")),
        (BODY | {"money": SHOWN | {"currency": "EUR"}}, HEADERS, (409, "changed")),
        (BODY, HEADERS | {"If-Match": '"2"'}, (412, "changed")),
        (BODY, {"Idempotency-Key": HEADERS["Idempotency-Key"]}, (428, "invalid")),
        (BODY, {"If-Match": '"1"'}, (400, "invalid")),
        (BODY, HEADERS | {"Idempotency-Key": "1"}, (400, "invalid")),
        (BODY | {"customer_id": "cus_b"}, HEADERS, (404, "not_found")),
        (BODY | {"kind": "sing"}, HEADERS, (422, "not_allowed")),
        (BODY | {"arguments": []}, HEADERS, (422, "invalid")),
        ([], HEADERS, (400, "invalid")),
    ],
)
async def test_a_request_needs_a_key_the_revision_and_the_money_that_was_shown(
    session: aiohttp.ClientSession, shop: Shop, body: Any, headers: dict[str, str], answer: tuple[int, str | None]
) -> None:
    before = await digest(session)
    async with session.post("/actions", json=body, headers=headers) as response:
        code = (await response.json()).get("error", {}).get("code")
        assert (response.status, code) == answer
    assert (await digest(session) == before) is (code is not None)
    assert [(call.key, call.status) for call in shop.calls] == [(headers.get("Idempotency-Key", ""), answer[0])]


async def test_the_warehouse_changes_an_order_from_outside(session: aiohttp.ClientSession) -> None:
    async with session.post("/_local/order", json={"id": "ORD-67890", "status": "shipped"}) as response:
        assert (await response.json())["revision"] == "2"
    async with session.post("/_local/order", json={"id": "ORD-00000", "status": "shipped"}) as response:
        assert response.status == 400


async def test_what_was_asked_is_listed_with_its_key(session: aiohttp.ClientSession) -> None:
    await session.post("/actions", json=BODY, headers=HEADERS)
    await session.get(f"/actions/{HEADERS['Idempotency-Key']}")
    async with session.get("/_local/calls") as response:
        calls = (await response.json())["calls"]
    assert [(call["method"], call["key"]) for call in calls] == [
        ("POST", HEADERS["Idempotency-Key"]),
        ("GET", HEADERS["Idempotency-Key"]),
    ]


async def digest(session: aiohttp.ClientSession) -> str:
    async with session.get("/_local/digest") as response:
        return str((await response.json())["digest"])
