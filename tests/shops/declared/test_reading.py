"""A connector's file is read whole or not at all, and every fault of it has its line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.checked_files import FileFaulty
from bot.errors import ConfigurationError
from bot.shops.declared.reading import SIZE_LIMIT, address_fault, read_connector
from bot.shops.declared.shop import open_declared_shop

HOUSE = Path("demo/house/store.http.yml").read_text()


def read(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "store.http.yml"
    path.write_text(text)
    return read_connector(path)


def faults(tmp_path: Path, text: str) -> str:
    with pytest.raises(FileFaulty) as raised:
        read(tmp_path, text)
    return "\n".join(map(str, raised.value.found))


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("customerNumber", "nosuch(id)", "calls nosuch(), which JMESPath does not have"),
        ("customerNumber\n", "'a['\n", "is no JMESPath expression"),
        ("NEU: pending", "NEU: waiting", "becomes waiting: known are"),
        ("unit: decimal, currency: amounts.currency", "currency: amounts.currency", "it needs unit"),
        ("    owner: customer.customerNumber\n", "", "lacks owner, which every record needs"),
        ("    revision: etag\n", "", "uses {order.revision}, and records.order has no revision"),
        ("placed_at: createdAt", "placed_at: {at: createdAt, type: integer}", "is another one here: date, time"),
        ("placed_at: createdAt", "placed_on: createdAt", "is unknown: known here are"),
        ('"{address.line1}"', '"{address.line9}"', "the placeholder {address.line9}, which nothing fills"),
        ('"{address.line1}"', '"{address.line1"', "has a brace that is no placeholder's"),
        ("{order.id}/cancellation", "{key}{nothing}/cancellation", "the placeholder {nothing}"),
        ("key: none", "key: {header: X, json: y}", "needs header or json"),
        ("key: none", "keys: none", "do you mean key?"),
        ("key: {json: clientReference, keeps: 7d}", "key: none", "is none, and the request has {key}"),
        ("409 sold_out", "sold_out", "has the wrong form"),
        ("{refused: not_available}", "{refused: funds}", "is unknown: "),
        ("base_url: env:HOUSE_URL", "base_url: http://shop.example.com", "is http:// to another machine"),
        ("base_url: env:HOUSE_URL", "base_url: https://a:b@shop.example.com", "use auth"),
        ("client_secret: env:HOUSE_CLIENT_SECRET", "client_secret: hunter2", "has the wrong form"),
        ("same: address", "same: address, is: status", "needs a condition in is, or"),
        ("other: SONSTIGES}\n    json", "others: SONSTIGES}\n    json", "is unknown: known here are"),
        ("each: lines, as: {id", "each: parcels, as: {id", "is one of lines, swaps"),
        ("  get_order: {get:", "  get_order: {delete:", "it is a get or a post"),
        ("last: page.totalPages", "step: 5, kind: x", "is there twice"),
        ("records:", "records: &all", ""),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(tmp_path: Path, good: str, bad: str, told: str) -> None:
    assert good in HOUSE
    text = HOUSE.replace(good, bad, 1)
    if not told:
        assert read(tmp_path, text)  # an anchor that nobody names
        return
    found = faults(tmp_path, text)
    assert told in found
    assert found.startswith("line ")
    assert "hunter2" not in found


def test_all_faults_are_found_at_once(tmp_path: Path) -> None:
    text = HOUSE.replace("NEU: pending", "NEU: waiting").replace("revision: etag", "version: etag")
    assert len(faults(tmp_path, text).splitlines()) == 4  # the word, the field, and two requests without a revision


def test_an_alias_is_refused_so_that_a_short_file_stays_short(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    assert "must be written out" in faults(tmp_path, bomb)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="more than"):
        read(tmp_path, "#" * (SIZE_LIMIT + 1))


async def test_every_missing_secret_is_named_and_none_is_shown(tmp_path: Path) -> None:
    environ = {"HOUSE_URL": "https://shop.example.com", "HOUSE_CLIENT_SECRET": "hunter2"}
    path = tmp_path / "store.http.yml"
    path.write_text(HOUSE)
    with pytest.raises(ConfigurationError) as raised:
        async with open_declared_shop(path, environ=environ):
            pass
    told = str(raised.value)
    assert "env:HOUSE_TOKEN_URL" in told
    assert "env:HOUSE_CLIENT_ID" in told
    assert "hunter2" not in told


async def test_an_address_in_a_variable_is_checked_too(tmp_path: Path) -> None:
    names = ("HOUSE_URL", "HOUSE_TOKEN_URL", "HOUSE_CLIENT_ID", "HOUSE_CLIENT_SECRET")
    environ = dict.fromkeys(names, "http://shop.example.com")
    path = tmp_path / "store.http.yml"
    path.write_text(HOUSE)
    with pytest.raises(ConfigurationError) as raised:
        async with open_declared_shop(path, environ=environ):
            pass
    assert "base_url is http:// to another machine" in str(raised.value)
    assert "token_url is http:// to another machine" in str(raised.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://localhost", "https://shop.example.com/api"])
def test_these_addresses_can_be_asked(url: str) -> None:
    assert address_fault(url, is_insecure=False) == ""


def test_an_insecure_address_needs_to_be_allowed() -> None:
    assert address_fault("http://10.0.0.7/api", is_insecure=True) == ""
    assert address_fault("ftp://10.0.0.7", is_insecure=True) == "is no address"
    assert address_fault("http://[::1", is_insecure=True) == "is no address"


def test_a_json_body_keeps_the_types_of_its_values(tmp_path: Path) -> None:
    file = read(tmp_path, HOUSE)
    body = file.actions["cancel_order"].json_
    assert body["notifyCustomer"].value() is True
    assert yaml.safe_load(HOUSE)["actions"]["cancel_order"]["json"]["notifyCustomer"] is True
