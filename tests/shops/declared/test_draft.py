"""A draft of a connector's file, from documents as APIs publish them."""

import re
from pathlib import Path

import pytest
import yaml

from bot.checked_files import FileFaulty
from bot.cli.main import main
from bot.shops.declared.draft import UNSURE, draft
from bot.shops.declared.expressions import Stopwatch
from bot.shops.declared.file import ConnectorFile
from bot.shops.declared.mapping import RecordMap
from bot.shops.declared.openapi import PROPERTY_LIMIT, read_document
from bot.shops.declared.reading import read_connector
from bot.shops.wire import OrderAnswer

DOCUMENTS = Path(__file__).with_name("openapi")


def drafted(name: str) -> str:
    return draft(read_document(DOCUMENTS / name))


def read(text: str, folder: Path) -> ConnectorFile:
    path = folder / "store.http.yml"
    path.write_text(text, "utf-8")
    return read_connector(path)


def test_a_document_in_usual_words_becomes_a_file_without_a_fault(tmp_path: Path) -> None:
    file = read(drafted("plain.yml"), tmp_path)
    assert file.base_url == "https://api.shop.example/v1"
    assert file.auth.kind == "bearer", "what the whole API asks for goes before what it only knows"
    found, listed = file.look_ups.find_customer, file.look_ups.list_orders
    assert found
    assert listed
    assert listed.pages
    assert found.query == {"email": "{email}"}
    assert (listed.path, listed.pages.last) == ("/customers/{customer.id}/orders", "total_pages")
    assert file.look_ups.track is not None


def test_its_records_map_what_such_an_api_sends(tmp_path: Path) -> None:
    file = read(drafted("plain.yml"), tmp_path)
    sent = {
        "id": "7f1",
        "number": "1001",
        "customer": {"id": "c1", "email": "customer.a@example.com"},
        "status": "shipped",
        "created_at": "2026-11-02T10:00:00Z",
        "total": {"amount": "19.90", "currency": "EUR"},
        "line_items": [{"id": "l1", "title": "Lamp", "quantity": 1, "unit_price": "19.90", "product_id": "p1"}],
        "shipping_address": {"name": "A", "address1": "B 1", "city": "C", "zip": "1", "country_code": "DE"},
    }
    order = RecordMap("order", file.records, currency=None).read(sent, OrderAnswer, stopwatch=Stopwatch())
    assert (order.id, order.customer_id, order.status, order.total.amount) == ("1001", "c1", "shipped", 1990)


def test_what_could_mean_something_else_is_a_question() -> None:
    text = drafted("odd.json")
    asked = [line.strip() for line in text.splitlines() if UNSURE in line]
    for part in ("no https address", "complete:", "read as cents", "# lines:"):
        assert any(part in line for line in asked), f"{part} is not asked: {asked}"
    assert "shipped: shipped" in text
    assert "track:" not in text, "its path has the order's number, which nobody knows there"


def test_odd_shapes_are_found(tmp_path: Path) -> None:
    entries = yaml.safe_load(drafted("odd.json"))
    assert entries["auth"]["scope"] == "orders customers"
    assert entries["look_ups"] == {
        "find_customer": {
            "get": "/accounts",
            "query": {"filter[email]": "{email}"},
            "each": "data",
            "record": "customer",
        },
        "list_orders": {
            "get": "/orders",
            "query": {"customer_id": "{customer.id}"},
            "each": "data",
            "pages": {"kind": "cursor", "query": "after", "next": "meta.next_cursor"},
            "record": "order",
        },
        "get_order": {"get": "/orders/{order.id}", "each": "[data]", "record": "order"},
    }
    assert entries["records"]["order"]["owner"] == 'attributes."customer-id"'
    with pytest.raises(FileFaulty) as refused:
        read(drafted("odd.json"), tmp_path)
    assert any("lines" in str(fault) for fault in refused.value.found), "what is needed and left open is a fault"


@pytest.mark.parametrize("name", ["plain.yml", "odd.json"])
def test_nothing_that_changes_an_order_is_switched_on(name: str) -> None:
    text = drafted(name)
    assert "actions" not in yaml.safe_load(text)
    assert re.search(r"^#   (cancel_order|refund):$", text, re.MULTILINE)


def test_a_schema_that_holds_itself_has_an_end() -> None:
    document = read_document(DOCUMENTS / "odd.json")
    assert len(list(document.walk(document.raw["components"]["schemas"]["Order"]))) < PROPERTY_LIMIT
    assert document.follow({"$ref": "#/components/schemas/Loop"}) == {}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"swagger": "2.0"}', "convert it to 3.0"),
        ("[1, 2]", "no OpenAPI document"),
        ("{", "neither JSON nor YAML"),
        ("\xff\xfe", "no OpenAPI document"),
        ("a: [" * 5_000, "neither JSON nor YAML"),
        ("openapi: !!python/object/apply:os.getcwd []", "neither JSON nor YAML"),
        (None, "can't be read"),
    ],
)
def test_what_is_no_document_is_told_in_a_sentence(
    content: str | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "openapi.yml"
    if content is not None:
        path.write_text(content, "latin-1")
    assert main(["shop", "draft", str(path)]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        "openapi: 3.1.0",
        "openapi: 3.1.0\npaths: 7\nservers: x\nsecurity: {a: b}\ncomponents: []\ninfo: []",
        'openapi: 3.1.0\npaths: {"/orders/{id}": {get: {parameters: [7], responses: [1]}, post: 3}, 5: null}',
    ],
)
def test_a_document_with_odd_parts_still_gives_a_draft(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "openapi.yml"
    path.write_text(content)
    assert main(["shop", "draft", str(path)]) == 0
    assert "# find_customer:" in capsys.readouterr().out
