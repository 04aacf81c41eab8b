"""EasyPost's parcels: each number is tracked once, and what a tracker says is never more than it says."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from bot.errors import ConfigurationError
from bot.integrations import check, find_webhooks
from bot.settings import load_settings
from bot.shops.actions import Throttled
from bot.shops.connectors import WebhookKey
from bot.shops.declared.file import Limits
from bot.shops.easypost.parcels import HOOK_PATH, EasyPostParcels, open_easypost
from bot.shops.easypost.reading import status_of
from bot.shops.port import Order, Parcel, ParcelRef, ShopRefuses, ShopUnavailable
from bot.shops.rest import open_rest_shop
from bot.shops.router import Route, RoutedShop, Routes
from bot.shops.shop_file import open_shop_file, secrets_of
from bot.store import schema, trackers
from bot.store.database import Database
from demo.easypost import server as double
from demo.easypost.wire import TEST_NUMBERS
from demo.shop.faults import Fault
from demo.shop.server import open_shop
from tests.actions.orders import ORDER
from tests.shops.contract import CUSTOMER_A, PARCEL, ParcelContract, ParcelStand

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
LIMITS = Limits(seconds=2)
FILE = """\
connectors:
  store: {{kind: rest, url: {url}, token: "env:TOKEN"}}
  parcels:
    {{kind: easypost, url: "env:EASYPOST_URL", key: "env:EASYPOST_KEY", webhook_secret: "env:EASYPOST_WEBHOOK_SECRET"}}
serves: {{customers: store, orders: store, parcels: parcels}}
"""


@pytest.fixture
async def easypost() -> AsyncIterator[double.EasyPost]:
    async with double.open_easypost(now=NOW) as running:
        yield running


@pytest.fixture
async def connector(easypost: double.EasyPost) -> AsyncIterator[EasyPostParcels]:
    async with open_easypost(easypost.key, url=easypost.url, limits=LIMITS) as opened:
        yield opened


def order_with(number: str, carrier: str = "UPS") -> tuple[Order]:
    return (replace(ORDER, customer_id=CUSTOMER_A.id, parcels=(ParcelRef(number, carrier),)),)


async def track(connector: EasyPostParcels, number: str, carrier: str = "UPS") -> Parcel:
    found = await connector.parcel_of(CUSTOMER_A, order_with(number, carrier), number)
    assert found is not None
    return found


class TestParcels(ParcelContract):
    @pytest.fixture
    async def parcels(self, easypost: double.EasyPost, connector: EasyPostParcels) -> AsyncIterator[ParcelStand]:
        async with open_shop(now=NOW) as store, open_rest_shop(store.url, store.token) as rest:
            routes = replace(Routes.to_one("store", rest), parcels=Route("parcels", connector))
            yield ParcelStand(RoutedShop(routes), easypost.add_fault)


async def test_each_number_is_tracked_once_also_by_two_processes_and_after_a_restart(
    easypost: double.EasyPost, database: Database
) -> None:
    for _ in range(2):
        async with (
            open_easypost(easypost.key, url=easypost.url, database=database) as one,
            open_easypost(easypost.key, url=easypost.url, database=database) as other,
        ):
            for connector in (one, other):
                assert (await track(connector, PARCEL)).status == "in_transit"
    assert easypost.made == [PARCEL]
    ident = easypost.trackers[PARCEL]["id"]
    assert list(easypost.requests) == ["POST /v2/trackers", *[f"GET /v2/trackers/{ident}"] * 3]
    async with database.transaction() as tx:
        assert await trackers.order_of(tx, ident) == ORDER.id


async def test_a_tracker_that_is_gone_or_too_old_is_made_anew(easypost: double.EasyPost, database: Database) -> None:
    async with open_easypost(easypost.key, url=easypost.url, database=database) as connector:
        await track(connector, PARCEL)
        easypost.trackers.clear()
        assert (await track(connector, PARCEL)).status == "in_transit"
        assert easypost.made == [PARCEL] * 2
        async with database.transaction() as tx:
            later = NOW.timestamp() + 10 * trackers.KEPT_SECONDS
            assert await trackers.find(tx, PARCEL, now=later) == ""
            await trackers.save(tx, "EZ1000000001", "trk_1", order="ORD-1", now=later)
            assert (await tx.execute(select(func.count()).select_from(schema.tracker))).scalar_one() == 1


async def test_the_numbers_of_the_test_mode_read_as_what_they_stand_for(connector: EasyPostParcels) -> None:
    assert {TEST_NUMBERS[number]: (await track(connector, number)).status for number in TEST_NUMBERS} == {
        "pre_transit": "label_created",
        "in_transit": "in_transit",
        "out_for_delivery": "out_for_delivery",
        "delivered": "delivered",
        "return_to_sender": "returning",
        "failure": "unknown",
        "unknown": "unknown",
    }


async def test_a_status_that_nobody_knows_is_unknown_and_its_scans_are_readable(
    easypost: double.EasyPost, connector: EasyPostParcels
) -> None:
    await track(connector, PARCEL)
    easypost.update(PARCEL, "handed_to_drone", message="Handed to a drone\n<!channel>")
    parcel = await track(connector, PARCEL)
    assert parcel.status == "unknown"
    assert parcel.events[0].description == "Handed to a drone <!channel>"


@pytest.mark.parametrize(
    ("tracker", "status"),
    [
        ({"status": "in_transit", "status_detail": "weather_delay"}, "delayed"),
        ({"status": "failure", "status_detail": "lost"}, "lost"),
        ({"status": "failure", "status_detail": "delivery_exception"}, "unknown"),
        ({"status": "delivered", "status_detail": "lost"}, "delivered"),
        ({"status": "delivered", "is_return": True}, "returned"),
        ({"status": "in_transit", "is_return": True}, "returning"),
        ({"status": "cancelled"}, "unknown"),
        ({"status": "error", "status_detail": ["lost"]}, "unknown"),
        ({"status": ["delivered"]}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_a_status_never_says_more_than_easypost_does(tracker: dict[str, Any], status: str) -> None:
    assert status_of(tracker) == status


async def test_a_number_that_easypost_cannot_track_is_a_parcel_of_which_nothing_is_known(
    connector: EasyPostParcels,
) -> None:
    parcel = await track(connector, "PIGEON-42", "Pigeon Post")
    assert parcel == Parcel("PIGEON-42", "Pigeon Post", ORDER.id, "unknown", None, ())


async def test_no_tracker_is_made_for_a_number_that_no_order_names(
    easypost: double.EasyPost, connector: EasyPostParcels
) -> None:
    assert await connector.parcel_of(CUSTOMER_A, (), PARCEL) is None
    assert easypost.made == []


async def test_a_carrier_is_named_in_easyposts_words_or_not_at_all(easypost: double.EasyPost) -> None:
    carriers = {"DHL": "DHLExpress"}
    async with open_easypost(easypost.key, url=easypost.url, carriers=carriers) as connector:
        assert (await track(connector, PARCEL, "DHL")).carrier == "DHLExpress"
        assert (await track(connector, "EZ2000000002", "The yellow van")).carrier == "USPS"


@pytest.mark.parametrize(
    "change",
    [
        {"tracking_code": "EZ1000000001"},
        {"tracking_code": None},
        {"tracking_details": [{"datetime": "yesterday", "message": "x"}]},
        {"est_delivery_date": "soon"},
    ],
)
async def test_an_answer_that_is_not_about_this_parcel_or_not_usable_is_none(
    easypost: double.EasyPost, connector: EasyPostParcels, change: dict[str, Any]
) -> None:
    await track(connector, PARCEL)
    easypost.trackers[PARCEL] |= change
    with pytest.raises(ShopUnavailable):
        await track(connector, PARCEL)


async def test_a_tracker_without_scans_or_with_odd_ones_is_readable(
    easypost: double.EasyPost, connector: EasyPostParcels
) -> None:
    await track(connector, PARCEL)
    for scans in (None, [], ["x", {"datetime": None}, {"message": "no time"}]):
        easypost.trackers[PARCEL]["tracking_details"] = scans
        assert (await track(connector, PARCEL)).events == ()


async def test_a_wrong_key_is_refused_and_never_shown(
    easypost: double.EasyPost, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_easypost("EZTK-wrong", url=easypost.url) as connector:
        with pytest.raises(ShopRefuses, match="refuses the key with status 401"):
            await track(connector, PARCEL)
    assert "EZTK" not in caplog.text


async def test_easypost_is_left_alone_for_longer_each_time_that_it_is_busy(
    easypost: double.EasyPost, connector: EasyPostParcels
) -> None:
    easypost.lists_a_second = 0
    waits = []
    for _ in range(2):
        with pytest.raises(Throttled) as busy:
            await connector.check()
        waits.append(busy.value.retry_after)
    assert waits == [1.0, 2.0]


async def test_easypost_is_not_asked_before_the_time_that_it_names(
    easypost: double.EasyPost, connector: EasyPostParcels
) -> None:
    easypost.add_fault(Fault("busy", seconds=7))
    with pytest.raises(Throttled) as asked:
        await track(connector, PARCEL)
    assert asked.value.retry_after == 7.0
    asked_before = len(easypost.requests)
    with pytest.raises(Throttled):
        await track(connector, PARCEL)
    assert len(easypost.requests) == asked_before


async def test_frontdesk_check_names_what_is_missing(
    easypost: double.EasyPost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "shop.yml"
    async with open_shop(now=NOW) as store:
        path.write_text(FILE.format(url=store.url))
        environment = {"TOKEN": store.token, **easypost.environment()}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        settings = load_settings({"SHOP_FILE": str(path), "DATA_DIR": str(tmp_path)})

        async def faults() -> list[str]:
            return [fault for fault in (await check(settings)).faults if "SHOP" in fault]

        told = f"EasyPost has no enabled webhook whose address ends in {HOOK_PATH}, so it tells of no change"
        assert await faults() == [f"SHOP_FILE: parcels: {told}"]
        hook = {"id": "hook_1", "url": f"https://desk.example.com{HOOK_PATH}", "disabled_at": "2026-11-01T00:00:00Z"}
        easypost.webhooks.append(hook)
        assert await faults() == [f"SHOP_FILE: parcels: {told}"]
        hook["disabled_at"] = ""
        assert await faults() == []
        assert find_webhooks(settings) == [WebhookKey("easypost", (easypost.webhook_secret,))]
        assert set(secrets_of(path, environ=environment)) == {store.token, easypost.key, easypost.webhook_secret}
        monkeypatch.setenv("EASYPOST_KEY", "wrong")
        assert await faults() == ["SHOP_FILE: parcels: EasyPost refuses the key with status 401"]
        monkeypatch.delenv("EASYPOST_KEY")
        assert [fault for fault in await faults() if "env:EASYPOST_KEY is missing" in fault]


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("parcels: parcels}", "parcels: store, products: parcels}", "EasyPost has parcels only"),
        ('"env:EASYPOST_KEY"', "EZTK123", "has the wrong form"),
        ('url: "env:EASYPOST_URL"', "url: http://api.example.com", "is http:// to another machine"),
        ("kind: easypost,", "kind: easypost, carrier: UPS,", "carrier is unknown"),
    ],
)
async def test_a_wrong_entry_is_named(tmp_path: Path, good: str, bad: str, told: str) -> None:
    path = tmp_path / "shop.yml"
    text = FILE.format(url="https://shop.example.com")
    assert good in text
    path.write_text(text.replace(good, bad))
    with pytest.raises(ConfigurationError) as raised:
        async with open_shop_file(path, environ={}):
            pass
    assert told in str(raised.value.faults)
    assert "EZTK123" not in str(raised.value.faults)
