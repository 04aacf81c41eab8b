"""The shipping tool: own parcels only, and carriers' words as data."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.agent.tools import RESULT_LIMIT, InvalidArguments, ToolOutput, ToolProblem
from bot.conversation import ShopCustomer
from bot.desk.shipping import shipping_tools
from bot.shops.port import Money, Order, Parcel, ParcelEvent, ParcelRef
from tests.desk.doubles import CUSTOMER_A, CUSTOMER_B, FewOrders, SilentShop, context_of

SCANNED = datetime(2026, 11, 20, 4, 10, tzinfo=UTC)
PARCEL = Parcel(
    tracking_number="1Z999AA10123456784",
    carrier="UPS",
    order_id="ORD-12345",
    status="in_transit",
    expected_at=datetime(2026, 11, 22, 18, 0, tzinfo=UTC),
    events=(ParcelEvent(SCANNED, "Arrived at facility", "Troutdale, OR"),),
)
ORDER = Order(
    id="ORD-12345",
    customer_id=CUSTOMER_A.id,
    status="shipped",
    payment="paid",
    placed_at=datetime(2026, 11, 14, tzinfo=UTC),
    total=Money(15_290, "USD"),
    lines=(),
    parcels=(ParcelRef(PARCEL.tracking_number, "UPS"),),
)


async def check(number: str, shop: ShopCustomer | None = CUSTOMER_A, parcel: Parcel = PARCEL) -> ToolOutput:
    (tool,) = shipping_tools(FewOrders((ORDER,), (parcel,)))
    return await tool.call(context_of(shop), tool.read(json.dumps({"tracking_number": number})))


async def test_a_parcel_is_told_with_its_scans_as_the_carriers_words() -> None:
    output = await check("1Z999AA10123456784")
    assert output.ok
    assert json.loads(output.text()) == {
        "tracking_number": "1Z999AA10123456784",
        "carrier": "UPS",
        "order": "ORD-12345",
        "status": "in_transit",
        "expected": "22 Nov 2026",
        "scans": [{"at": "20 Nov 2026, 04:10 UTC", "place": "Troutdale, OR", "carrier_wrote": "Arrived at facility"}],
    }


@pytest.mark.parametrize(
    ("zone", "at"),
    [
        ("Europe/Berlin", "20 Nov 2026, 05:10 CET"),
        ("America/Los_Angeles", "19 Nov 2026, 20:10 PST"),
        ("America/Sao_Paulo", "20 Nov 2026, 01:10 UTC-03:00"),
        ("Asia/Jakarta", "20 Nov 2026, 11:10 WIB"),
        ("Nowhere/Land", "20 Nov 2026, 04:10 UTC"),
        ("../etc/passwd", "20 Nov 2026, 04:10 UTC"),
        ("", "20 Nov 2026, 04:10 UTC"),
    ],
)
async def test_a_scan_is_told_in_the_customers_time_zone_and_the_carriers_day_stays(zone: str, at: str) -> None:
    (tool,) = shipping_tools(FewOrders((ORDER,), (PARCEL,)))
    context = context_of(CUSTOMER_A)
    theirs = replace(context, customer=replace(context.customer, zone=zone))
    told = json.loads((await tool.call(theirs, tool.read('{"tracking_number": "1Z999AA10123456784"}'))).text())
    assert [scan["at"] for scan in told["scans"]] == [at]
    assert told["expected"] == "22 Nov 2026"


@pytest.mark.parametrize("written", ["1z999aa10123456784", "1Z 999 AA1 0123 4567 84"])
async def test_a_number_is_read_as_customers_write_it(written: str) -> None:
    assert (await check(written)).ok


async def test_a_missing_and_a_foreign_parcel_give_the_same_bytes() -> None:
    foreign, missing = await check("1Z999AA10123456784", CUSTOMER_B), await check("1Z000000000", CUSTOMER_B)
    assert foreign.text().encode() == missing.text().encode()
    assert not foreign.ok


async def test_somebody_without_a_shop_identity_gets_no_parcel() -> None:
    output = await check("1Z999AA10123456784", None)
    assert not output.ok
    assert "not available" in output.text()
    assert output.private is False, "told where they asked"


def test_what_is_no_tracking_number_is_refused_in_words() -> None:
    table = ["", "1Z", "१२३४५६७८९", "1Z999AA1\n", "1Z999\x00AA1", "../../orders", "9" * 10_240]
    (tool,) = shipping_tools(FewOrders(()))
    misses: list[tuple[str, object]] = []
    for number in table:
        try:
            misses.append((number, tool.read(json.dumps({"tracking_number": number}))))
        except InvalidArguments as refused:
            words = refused.output.text()
            if "tracking_number" not in words or len(words) >= 1_000:
                misses.append((number, words))
    assert misses == []


async def test_a_shop_in_trouble_is_told_in_words() -> None:
    (tool,) = shipping_tools(SilentShop())
    with pytest.raises(ToolProblem, match="offer a person"):
        await tool.call(context_of(CUSTOMER_A), tool.read('{"tracking_number": "1Z999AA10123456784"}'))


async def test_the_longest_history_fits_into_one_result_newest_first() -> None:
    events = tuple(ParcelEvent(SCANNED - timedelta(hours=n), "x" * 120, "y" * 60) for n in range(20))
    parcel = Parcel("1Z999AA10123456784", "c" * 60, "ORD-12345", "delayed", SCANNED, events)
    told = (await check("1Z999AA10123456784", parcel=parcel)).text()
    assert len(told) < RESULT_LIMIT
    assert [scan["at"] for scan in json.loads(told)["scans"]][:2] == [
        "20 Nov 2026, 04:10 UTC",
        "20 Nov 2026, 03:10 UTC",
    ]
