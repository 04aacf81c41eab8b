"""The JSON schema of a connector's file, with which editors complete and check it."""

from collections.abc import Mapping
from typing import Any, get_args

from bot.shops.actions import RefusalReason
from bot.shops.declared.expressions import LENGTH_LIMIT
from bot.shops.declared.file import ConnectorFile, Verdict


def json_schema() -> Mapping[str, Any]:
    """The schema, generated from the models. docs/reference/connector.schema.json is what it gives."""
    schema = ConnectorFile.model_json_schema()
    definitions = schema["$defs"]
    words = [word for word in get_args(Verdict.model_fields["state"].annotation) if word != "refused"]
    definitions["Verdict"] = {
        "anyOf": [
            {"enum": words},
            {
                "type": "object",
                "properties": {"refused": {"enum": list(get_args(RefusalReason))}},
                "required": ["refused"],
                "additionalProperties": False,
            },
        ],
        "description": definitions["Verdict"]["description"],
    }
    whole = definitions.pop("FieldSpec")
    definitions["FieldObject"] = whole
    expression = {"type": "string", "minLength": 1, "maxLength": LENGTH_LIMIT}
    definitions["FieldSpec"] = {"anyOf": [expression, {"$ref": "#/$defs/FieldObject"}]}
    _close(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Frontdesk connector, version 1",
    }


def _close(schema: Any) -> None:
    """Refuse the keys of a mapping that are not of the form that its keys have."""
    if isinstance(schema, dict):
        if "patternProperties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            _close(value)
    elif isinstance(schema, list):
        for value in schema:
            _close(value)
