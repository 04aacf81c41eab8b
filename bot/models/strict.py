"""Schemas in the form that providers can hold a model to: strict mode.

strict_schema    Returns a tool's or a reply's schema in that form.

In strict mode every property is required, so an optional one can be null instead. A tool reads null as left out.
The rules are those of OpenAI's guide to structured outputs, read in November 2026.
"""

from collections.abc import Mapping
from typing import Any

from bot.agent.messages import JsonObject

_NOT_KNOWN = frozenset({"default", "minLength", "maxLength", "uniqueItems", "examples"})
"""Keywords that strict mode refuses. Our code checks them anyway."""
_KNOWN = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description"}
    | {"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minItems", "maxItems", "$ref", "$defs"}
)

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
"""The formats that the mode knows. It refuses a schema with any other."""


def strict_schema(schema: Mapping[str, Any]) -> JsonObject | None:
    """Return the schema for strict mode. None if it has something that the mode doesn't know, such as free keys."""
    try:
        return _strict(schema)
    except _NotStrict:
        return None


class _NotStrict(Exception):
    pass


def _strict(schema: Mapping[str, Any]) -> JsonObject:
    kept = {name: value for name, value in schema.items() if name not in _NOT_KNOWN}
    if not kept.keys() <= _KNOWN or kept.get("additionalProperties", False) is not False:
        raise _NotStrict
    if kept.get("format", "date") not in _FORMATS:
        del kept["format"]
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(choice) for choice in kept["anyOf"]]
    if "$defs" in kept:
        kept["$defs"] = {name: _strict(part) for name, part in kept["$defs"].items()}
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if kept.get("type") == "object":
        required, properties = kept.get("required", ()), kept.get("properties", {})
        kept["properties"] = {
            name: _strict(part) if name in required else _nullable(_strict(part)) for name, part in properties.items()
        }
        kept["required"] = [*properties]
        kept["additionalProperties"] = False
    return kept


def _nullable(schema: JsonObject) -> JsonObject:
    match schema:
        case {"type": str(kind)} if kind != "null":
            enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            return {**schema, "type": [kind, "null"], **enum}
        case {"anyOf": [*choices]}:
            return schema if {"type": "null"} in choices else {**schema, "anyOf": [*choices, {"type": "null"}]}
        case {"$ref": _}:
            return {"anyOf": [schema, {"type": "null"}]}
    return schema
