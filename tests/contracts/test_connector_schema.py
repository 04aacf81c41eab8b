"""docs/reference/connector.schema.json is generated, and takes the files that Frontdesk takes."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
import yaml

from bot.shops.declared.schema import json_schema
from tests.contracts.tree import ROOT

pytestmark = pytest.mark.contract

HOUSE = ROOT / "demo" / "house" / "store.http.yml"
SCHEMA = ROOT / "docs" / "reference" / "connector.schema.json"
GUIDE = ROOT / "docs" / "guides" / "connect-your-shop.md"


def test_the_document_is_what_the_models_give() -> None:
    assert json.loads(SCHEMA.read_text("utf-8")) == json_schema(), "frontdesk shop schema > the document"


def test_the_schema_takes_the_connector_of_the_demo() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(yaml.safe_load(HOUSE.read_text("utf-8")), json_schema())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.pop("auth"),
        lambda file: file.update(version=2),
        lambda file: file.update(base_url="ftp://shop.example.com"),
        lambda file: file["auth"].update(client_secret="hunter2"),
        lambda file: file["actions"]["cancel_order"].pop("key"),
        lambda file: file["actions"].update(paint_it=file["actions"]["refund"]),
        lambda file: file["errors"]["statuses"].update({"404": "not_found"}),
        lambda file: file["errors"]["statuses"].update({"404 x": "perhaps"}),
        lambda file: file["records"]["order"]["total"].update(unit="cents"),
        lambda file: file["look_ups"]["get_order"].pop("record"),
    ],
)
def test_the_schema_refuses_what_frontdesk_refuses(spoil: Callable[[dict[str, Any]], object]) -> None:
    file = yaml.safe_load(HOUSE.read_text("utf-8"))
    spoil(file)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(file, json_schema())


def test_the_guide_names_every_field_and_every_action_that_a_file_can_have() -> None:
    guide = GUIDE.read_text("utf-8")
    definitions = json_schema()["$defs"]
    for name in ("ConnectorFile", "Limits", "Errors", "Key", "DoneWhen", "ActionCall", "Pages"):
        properties = (json_schema() if name == "ConnectorFile" else definitions[name])["properties"]
        missing = [key for key in properties if f"`{key}`" not in guide and f"{key}:" not in guide]
        assert not missing, name
