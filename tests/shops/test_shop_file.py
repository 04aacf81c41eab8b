"""The file that names the connectors: one serves the whole desk, and every fault has its line."""

import asyncio
from pathlib import Path

import pytest

from bot.checked_files import FileFaulty
from bot.errors import ConfigurationError
from bot.integrations import check
from bot.settings import load_settings
from bot.shops.connectors import WebhookKey
from bot.shops.shop_file import open_shop_file, read_shop_file, secrets_of, unprotected, webhooks_of
from demo.house.server import open_house
from demo.shop.server import open_shop
from demo.shopify.server import open_shopify
from tests.shops.contract import CUSTOMER_A

HOUSE = Path("demo/house/shop.yml")
SHOPIFY = Path("demo/shopify/shop.yml")
REST = """\
connectors: {{store: {{kind: rest, url: {url}, token: "env:TOKEN"}}}}
serves: {{customers: store, orders: store}}
"""


async def test_the_house_system_is_reached_by_its_files_alone() -> None:
    async with open_house() as house, open_shop_file(HOUSE, environ=house.environment()) as shop:
        assert await shop.find_customer("customer.a@example.com") == CUSTOMER_A


async def test_a_shop_at_shopify_is_reached_by_its_app_and_what_its_token_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_shopify() as double:
        async with open_shop_file(SHOPIFY, environ=double.environment()) as shop:
            assert await shop.find_customer("customer.a@example.com") == CUSTOMER_A
        with pytest.raises(ConfigurationError, match="env:SHOPIFY_CLIENT_SECRET is missing"):
            async with open_shop_file(SHOPIFY, environ=double.environment() | {"SHOPIFY_CLIENT_SECRET": ""}):
                pass
        double.shopify.scopes.remove("write_returns")
        environment = {"SHOP_FILE": str(SHOPIFY), **double.environment()}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        faults = (await check(load_settings(environment))).faults
        assert [fault for fault in faults if "SHOP_FILE" in fault] == [
            "SHOP_FILE: store: the token of Shopify lacks read_returns, write_returns"
        ]
        assert double.client_secret in secrets_of(SHOPIFY, environ=double.environment())


async def test_a_shopify_store_sends_events_if_the_file_says_where_it_is_subscribed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with open_shopify() as double:
        environment = double.environment() | {"OLD": "the old secret"}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        path = tmp_path / "shop.yml"
        text = await asyncio.to_thread(SHOPIFY.read_text, "utf-8")
        assert webhooks_of(SHOPIFY, environ=environment) == []
        for where in ("app", "shop"):
            webhooks = f'webhooks: {where}, old_webhook_secret: "env:OLD"'
            path.write_text(text.replace("kind: shopify,", f"kind: shopify, {webhooks},"))
            with pytest.raises(ConfigurationError, match="env:OLD is missing"):
                async with open_shop_file(path, environ=double.environment()):
                    pass
            key = WebhookKey("shopify", (double.client_secret, "the old secret"), "127.0.0.1")
            assert webhooks_of(path, environ=environment) == [key]
            assert {"the old secret", double.client_secret} <= set(secrets_of(path, environ=environment))
        settings = load_settings({"SHOP_FILE": str(path), "DATA_DIR": str(tmp_path)})
        told = (
            "SHOP_FILE: store: Shopify has no subscription of ORDERS_UPDATED to an address that ends in /hooks/shopify"
        )
        found = double.shopify.subscriptions
        found.append({"topic": "ORDERS_CANCELLED", "uri": "https://desk.example.com/hooks/shopify"})
        found.append({"topic": "ORDERS_UPDATED", "uri": "pubsub://project:topic"})
        assert [fault for fault in (await check(settings)).faults if "SHOP" in fault] == [told]
        found.append({"topic": "ORDERS_UPDATED", "uri": "https://desk.example.com/hooks/shopify"})
        assert not [fault for fault in (await check(settings)).faults if "SHOP" in fault]


async def test_a_shop_of_the_rest_contract_can_be_named_too(tmp_path: Path) -> None:
    async with open_shop() as double:
        path = tmp_path / "shop.yml"
        path.write_text(REST.format(url=double.url))
        async with open_shop_file(path, environ={"TOKEN": double.token}) as shop:
            assert await shop.find_customer("customer.a@example.com") == CUSTOMER_A
        with pytest.raises(ConfigurationError, match="env:TOKEN is missing"):
            async with open_shop_file(path, environ={}):
                pass


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("orders: store", "orders: other", "names other, which is not among the connectors"),
        ("kind: rest", "kind: gopher", "gopher"),
        (
            'kind: rest, url: https://shop.example.com, token: "env:TOKEN"',
            "kind: shopify, url: env:URL",
            "either token",
        ),
        (
            'kind: rest, url: https://shop.example.com, token: "env:TOKEN"',
            'kind: shopify, url: env:URL, token: "env:TOKEN", webhooks: app',
            "needs webhook_secret",
        ),
        ("https://", "http://", "is http:// to another machine"),
        ("env:TOKEN", "hunter2", "has the wrong form"),
        ("connectors: {", "connectors: {idle: {kind: http, file: x.yml}, ", "serves nothing"),
        (", orders: store", "", "is missing"),
        ("customers: store", "customers: [", "is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(tmp_path: Path, good: str, bad: str, told: str) -> None:
    path = tmp_path / "shop.yml"
    text = REST.format(url="https://shop.example.com")
    assert good in text
    path.write_text(text.replace(good, bad, 1))
    with pytest.raises(FileFaulty) as raised:
        read_shop_file(path)
    assert told in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_plain_http_to_another_machine_is_named(tmp_path: Path) -> None:
    path = tmp_path / "shop.yml"
    path.write_text(REST.format(url="http://shop.example.com, insecure: true"))
    assert unprotected(path) == ["store"]
    assert unprotected(HOUSE) == []


async def test_logs_mask_the_secrets_and_not_the_addresses_or_names() -> None:
    async with open_house() as house:
        assert secrets_of(HOUSE, environ=house.environment()) == (house.client_secret,)
    assert secrets_of(HOUSE, environ={}) == ()


def test_two_ways_to_the_shop_are_one_too_many(tmp_path: Path) -> None:
    given = {"SHOP_FILE": str(tmp_path / "shop.yml"), "SHOP_URL": "https://shop.example.com", "SHOP_TOKEN": "x"}
    with pytest.raises(ConfigurationError, match="SHOP_FILE and SHOP_URL are both set"):
        load_settings(given)


async def test_check_asks_the_connector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with open_house() as house:
        for name, value in house.environment().items():
            monkeypatch.setenv(name, value)
        settings = load_settings({"SHOP_FILE": str(HOUSE), "DATA_DIR": str(tmp_path)})
        assert not [fault for fault in (await check(settings)).faults if "SHOP" in fault]
        monkeypatch.setenv("HOUSE_CLIENT_SECRET", "wrong")
        assert [
            fault
            for fault in (await check(settings)).faults
            if fault.startswith("SHOP_FILE: house: the token server refuses")
        ]
        monkeypatch.delenv("HOUSE_CLIENT_SECRET")
        assert [fault for fault in (await check(settings)).faults if "env:HOUSE_CLIENT_SECRET is missing" in fault]
