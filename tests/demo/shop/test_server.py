"""The seeded shop keeps to docs/reference/shop-api.md."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import pytest

from demo.shop.seed import seed
from demo.shop.server import Shop, open_shop

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with open_shop(now=NOW) as running:
        yield running


@pytest.fixture
async def session(shop: Shop) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {shop.token}"}
    async with aiohttp.ClientSession(shop.url, headers=headers) as opened:
        yield opened


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer wr\u00f6ng"}])
async def test_nothing_is_told_without_the_token(shop: Shop, header: dict[str, str]) -> None:
    async with aiohttp.ClientSession() as stranger:
        for path in ("/customers?email=customer.a@example.com", "/orders/ORD-12345", "/nowhere"):
            async with stranger.get(shop.url + path, headers=header) as response:
                assert response.status == 401
                assert (await response.json())["error"]["code"] == "unauthorized"


async def test_a_refusal_says_why(session: aiohttp.ClientSession) -> None:
    table = [
        ("/orders/ORD-00000", 404, "not_found"),
        ("/parcels/1Z000", 404, "not_found"),
        ("/customers/cus_zzz/orders", 404, "not_found"),
        ("/customers", 400, "bad_request"),
        ("/customers/cus_a/orders?limit=0", 400, "bad_request"),
        ("/customers/cus_a/orders?limit=%C2%B2", 400, "bad_request"),
        ("/nowhere", 404, "no_such_path"),
    ]
    misses = []
    for path, status, code in table:
        async with session.get(path) as response:
            if response.status != status or (await response.json())["error"]["code"] != code:
                misses.append((path, status, code))
    assert misses == []


async def test_a_fault_happens_as_often_as_told_and_where_told(session: aiohttp.ClientSession) -> None:
    fault = {"kind": "error", "times": 2, "path": "/orders"}
    async with session.post("/_local/fault", json=fault) as response:
        assert response.status == 200
    statuses = [await _status(session, path) for path in ("/customers/cus_a/orders", *["/orders/ORD-12345"] * 3)]
    assert statuses == [200, 500, 500, 200]


@pytest.mark.parametrize("body", ["[]", "{}", "nonsense", '{"kind": "flood"}', '{"kind": "error", "more": 1}'])
async def test_a_fault_nobody_knows_is_refused(session: aiohttp.ClientSession, body: str) -> None:
    async with session.post("/_local/fault", data=body) as response:
        assert response.status == 400


def test_the_seed_holds_what_stories_are_told_about() -> None:
    records = seed(NOW)
    shipped, packing = records.orders["ORD-12345"], records.orders["ORD-67890"]
    assert (shipped["customer_id"], shipped["status"]) == ("cus_a", "shipped")
    assert (packing["customer_id"], packing["status"], packing["parcels"]) == ("cus_a", "processing", [])
    assert records.parcels["1Z999AA10123456784"]["order_id"] == "ORD-12345"
    assert records.parcels["1Z999AA10123456784"]["carrier"] == "UPS"
    assert len(records.orders["ORD-24680"]["parcels"]) == 2
    assert "lost" in {parcel["status"] for parcel in records.parcels.values()}
    assert {order["total"]["currency"] for order in records.orders.values()} >= {"USD", "EUR", "GBP", "IDR", "JPY"}


def test_every_parcel_is_on_its_owners_order_and_scanned_in_the_past() -> None:
    records = seed(NOW)
    for number, parcel in records.parcels.items():
        order = records.orders[parcel["order_id"]]
        assert number in {listed["tracking_number"] for listed in order["parcels"]}
        assert parcel["customer_id"] == order["customer_id"]
        scanned = [event["at"] for event in parcel["events"]]
        assert scanned == sorted(scanned, reverse=True)
        assert order["placed_at"] < min(scanned)
        assert max(scanned) < NOW.isoformat()


async def _status(session: aiohttp.ClientSession, path: str) -> int:
    async with session.get(path) as response:
        return response.status
