"""Several connectors serve one shop: each what it is named for, and none takes another with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import pytest
import yaml

from bot.cli.main import main
from bot.errors import ConfigurationError
from bot.integrations import check
from bot.settings import load_settings
from bot.shops.actions import ActionKind, Outcome
from bot.shops.declared.pace import FAILURES
from bot.shops.port import ShopUnavailable
from bot.shops.router import ROUTE, RoutedShop
from bot.shops.shop_file import open_shop_file
from demo.house.server import House, open_house
from demo.shop.faults import Fault
from demo.shop.server import Shop, open_shop
from tests.shops.contract import CUSTOMER_A, CUSTOMER_B, EVERY_KIND, PARCEL

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUSE_FILE = Path("demo/house/store.http.yml")
SERVES = {
    "customers": "store",
    "orders": "store",
    "parcels": "depot",
    "actions": {"default": "store", "return_items": "depot"},
}


@dataclass(slots=True)
class Two:
    """A shop of the REST contract with the orders, and a house system that has parcels and takes returns."""

    shop: RoutedShop
    store: Shop
    depot: House
    path: Path
    environment: dict[str, str]

    def asked(self) -> tuple[int, int]:
        """How many requests each of them has had, without those for tokens."""
        return len(self.store.requests), len([each for each in self.depot.requests if "oauth" not in each])


def write_files(folder: Path, url: str, serves: dict[str, Any] = SERVES) -> Path:
    """The shop file, and the house system's without what it is not asked for."""
    file = yaml.safe_load(HOUSE_FILE.read_text("utf-8"))
    file["look_ups"] = {name: file["look_ups"][name] for name in ("track", "get_order")}
    file["limits"]["seconds"] = 2
    del file["records"]["parcel"]["order_id"]
    (folder / "depot.http.yml").write_text(yaml.safe_dump(file), "utf-8")
    store = {"kind": "rest", "url": url, "token": "env:TOKEN"}
    named = {"connectors": {"store": store, "depot": {"kind": "http", "file": "depot.http.yml"}}, "serves": serves}
    path = folder / "shop.yml"
    path.write_text(yaml.safe_dump(named), "utf-8")
    return path


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Two]:
    async with open_shop(now=NOW) as store, open_house(now=NOW) as depot:
        path = write_files(folder, store.url)
        environment = {"TOKEN": store.token, **depot.environment()}
        async with open_shop_file(path, environ=environment) as shop:
            yield Two(shop, store, depot, path, environment)


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with running(tmp_path) as opened:
        yield opened


async def test_each_question_goes_to_the_connector_that_serves_it(two: Two) -> None:
    order = await two.shop.get_order(CUSTOMER_A, "ORD-31415")
    assert order is not None
    assert await two.shop.get_product(CUSTOMER_A, order.lines[0].product_id)
    assert await two.shop.payment_methods(CUSTOMER_A)
    assert two.asked() == (3, 0)
    parcel = await two.shop.track(CUSTOMER_A, PARCEL)
    assert parcel is not None
    assert (parcel.order_id, parcel.status) == ("ORD-12345", "in_transit")
    assert two.asked() == (4, 1), "the orders say whose it is, and the other connector where"


async def test_who_has_no_order_with_a_parcel_makes_nobody_ask_about_it(two: Two) -> None:
    assert await two.shop.track(CUSTOMER_B, PARCEL) is None
    assert await two.shop.track(CUSTOMER_A, "../" + PARCEL) is None
    assert two.asked()[1] == 0


@pytest.mark.parametrize("fault", ["error", "garbage", "reset", "hang"])
async def test_a_connector_that_is_down_takes_no_other_with_it(two: Two, fault: str) -> None:
    calls: list[tuple[str, str, str]] = []
    two.shop.observe = lambda connector, call, ended, _: calls.append((connector, call, ended))
    two.depot.add_fault(Fault(fault, times=100, seconds=30))
    with pytest.raises(ShopUnavailable):
        await two.shop.track(CUSTOMER_A, PARCEL)
    assert await two.shop.list_orders(CUSTOMER_A)
    assert calls == [("store", "list_orders", "ok"), ("depot", "track", "unavailable"), ("store", "list_orders", "ok")]
    assert [fault.split(":")[0] for fault in two.shop.faults()] == ["the shop's connector depot"]
    assert [fault.connector for fault in await two.shop.check()] == ["depot"]
    two.depot.add_fault(Fault("none"))
    assert await two.shop.track(CUSTOMER_A, PARCEL)
    assert two.shop.faults() == []


async def test_a_connector_that_is_given_up_with_its_question_is_named_too(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.shops.router.DEADLINE", 0.7)
    two.depot.add_fault(Fault("hang"))
    with pytest.raises(ShopUnavailable):
        await two.shop.track(CUSTOMER_A, PARCEL)
    assert two.shop.faults() == ["the shop's connector depot: it did not answer in time"]


async def test_a_connector_that_fails_too_often_is_left_alone_by_itself(two: Two) -> None:
    two.depot.add_fault(Fault("error", times=FAILURES))
    for _ in range(FAILURES + 1):
        with pytest.raises(ShopUnavailable):
            await two.shop.track(CUSTOMER_A, PARCEL)
    assert two.asked() == (FAILURES + 1, FAILURES), "the last question about the parcel was not asked"


async def test_an_action_goes_to_the_connector_of_its_kind_also_after_a_restart(two: Two) -> None:
    arguments = EVERY_KIND["return_items"]
    order = await two.shop.get_order(CUSTOMER_A, arguments.order)
    assert order is not None
    quote = await two.shop.quote(CUSTOMER_A, "return_items", order, arguments)
    key = str(uuid4())
    request = two.shop.render(CUSTOMER_A, "return_items", order, arguments, quote=quote, key=key)
    assert request.about[ROUTE] == "depot"
    gone = replace(request, about={**request.about, ROUTE: "warehouse"})
    assert await two.shop.send(gone) == Outcome("unavailable")
    async with open_shop_file(two.path, environ=two.environment) as restarted:
        done = await restarted.send(request)
        assert (done.state, done.order) == ("done", None)
        found = await restarted.outcome(CUSTOMER_A, "return_items", arguments, key=key)
        assert found == Outcome("done"), "what another connector reads is not the order that customers see"
    assert (len(two.depot.records.ledger), len(two.store.records.ledger)) == (1, 0)


async def test_what_is_about_no_order_goes_to_the_connector_of_the_customers(two: Two) -> None:
    arguments = EVERY_KIND["change_customer_address"]
    path = write_files(two.path.parent, two.store.url, SERVES | {"actions": {"default": "depot"}})
    async with open_shop_file(path, environ=two.environment) as shop:
        quote = await shop.quote(CUSTOMER_A, "change_customer_address", None, arguments)
        request = shop.render(CUSTOMER_A, "change_customer_address", None, arguments, quote=quote, key=str(uuid4()))
        assert (await shop.send(request)).state == "done"
    assert len(two.store.records.ledger) == 1


async def test_the_revision_of_one_connector_is_not_sent_to_another(two: Two) -> None:
    arguments = EVERY_KIND["cancel_order"]
    order = await two.shop.get_order(CUSTOMER_A, arguments.order)
    assert order is not None
    assert order.revision
    own = two.shop.render(
        CUSTOMER_A,
        "cancel_order",
        order,
        arguments,
        quote=await two.shop.quote(CUSTOMER_A, "cancel_order", order, arguments),
        key=str(uuid4()),
    )
    assert own.headers["If-Match"] == f'"{order.revision}"'
    serves = SERVES | {"actions": {"default": "depot"}}
    path = write_files(two.path.parent, two.store.url, serves)
    async with open_shop_file(path, environ=two.environment) as other:
        quote = await other.quote(CUSTOMER_A, "cancel_order", order, arguments)
        request = other.render(CUSTOMER_A, "cancel_order", order, arguments, quote=quote, key=str(uuid4()))
        assert "If-Match" not in request.headers


async def test_a_connector_that_never_said_what_it_can_do_is_away_and_does_not_lack_it(two: Two) -> None:
    two.store.add_fault(Fault("error", times=100))
    kinds = await two.shop.kinds()
    assert set(kinds) == set(get_args(ActionKind))
    assert kinds["return_items"].key_hours is None
    with pytest.raises(ShopUnavailable):
        await two.shop.quote(CUSTOMER_A, "cancel_order", None, EVERY_KIND["cancel_order"])


@pytest.mark.parametrize(
    ("serves", "told"),
    [
        ({"orders": "depot"}, "serves.orders is another connector than that of the customers, store"),
        ({"parcels": "pigeon"}, "serves.parcels names pigeon"),
        ({"products": "depot"}, "look_ups lacks get_product, which a connector that serves products needs"),
        ({"actions": {"change_customer_address": "depot"}}, "is about the customer, so store serves it"),
        ({"actions": {"paint_it": "depot"}}, "paint_it"),
    ],
)
async def test_a_connector_that_cannot_serve_it_is_named(tmp_path: Path, serves: dict[str, Any], told: str) -> None:
    path = write_files(tmp_path, "https://shop.example.com", SERVES | serves)
    async with open_house() as house:
        with pytest.raises(ConfigurationError, match=told):
            async with open_shop_file(path, environ={"TOKEN": "x", **house.environment()}):
                pass


async def test_the_faults_of_all_connectors_are_named_at_once(tmp_path: Path) -> None:
    path = write_files(tmp_path, "https://shop.example.com")
    with pytest.raises(ConfigurationError) as raised:
        async with open_shop_file(path, environ={}):
            pass
    assert [fault for fault in raised.value.faults if "env:TOKEN" in fault]
    assert [fault for fault in raised.value.faults if "env:HOUSE_CLIENT_SECRET" in fault]


async def test_frontdesk_check_names_the_connector_that_has_no_answer(
    two: Two, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in two.environment.items():
        monkeypatch.setenv(name, value)
    settings = load_settings({"SHOP_FILE": str(two.path), "DATA_DIR": str(tmp_path)})
    assert not [fault for fault in (await check(settings)).faults if "SHOP" in fault]
    two.depot.add_fault(Fault("error", times=100))
    assert [fault for fault in (await check(settings)).faults if "SHOP" in fault] == [
        "SHOP_FILE: depot: the shop answered with status 500"
    ]


def test_frontdesk_shop_check_names_each_connector_and_what_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_files(tmp_path, "https://shop.example.com")
    monkeypatch.setenv("SHOP_FILE", str(path))
    assert main(["shop", "check"]) == 0
    told = capsys.readouterr().out
    assert "store: rest, serves customers, orders, actions\n" in told
    assert "depot: http, serves parcels, actions\n" in told
    assert f"{path.parent / 'depot.http.yml'} has no fault." in told
    write_files(tmp_path, "https://shop.example.com", SERVES | {"products": "depot"})
    assert main(["shop", "check"]) == 2
    assert "look_ups lacks get_product" in capsys.readouterr().out
