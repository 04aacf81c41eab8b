"""The arguments of a server's tool, as the model sees and gives them.

arguments_of    The arguments of a definition that the model may give.
build_model     What checks the model's arguments before anything is sent.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from bot.shops.tool_servers.pins import Definition
from bot.shops.wire import one_line

TEXT_LIMIT = 400
"""The most characters of a text that the model gives, unless the definition says fewer."""
ENTRIES_LIMIT = 50
"""The most entries of a list, and words of an enumeration."""
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
_described = one_line(200)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument."""

    name: str
    schema: Mapping[str, Any]
    """What the model sees of it."""
    kind: Any
    """The type that checks it."""
    is_required: bool


def arguments_of(definition: Definition, hidden: Collection[str]) -> tuple[Argument, ...]:
    """The arguments without those that code sets.

    One that cannot be shown to a model is left out if the tool does not need it. Raises ValueError with a sentence for
    any other, and for a hidden one that the tool does not have.
    """
    schema = definition.get("inputSchema")
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    required = schema.get("required", ()) if isinstance(schema, Mapping) else ()
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        raise ValueError("has no list of its arguments")  # noqa: TRY004 - a sentence for the operator
    if missing := sorted(set(hidden) - set(properties)):
        raise ValueError(f"has no argument {missing[0]}, which inject sets")
    found = []
    for name, each in properties.items():
        if name in hidden:
            continue
        read = _read(name, each, is_required=name in required)
        if read is not None:
            found.append(read)
        elif name in required:
            raise ValueError(f"needs the argument {name}, whose form cannot be offered to a model")
    return tuple(found)


def schema_of(arguments: Sequence[Argument]) -> dict[str, Any]:
    """The schema that the model sees."""
    return {
        "type": "object",
        "properties": {each.name: dict(each.schema) for each in arguments},
        "required": [each.name for each in arguments if each.is_required],
        "additionalProperties": False,
    }


def build_model(name: str, arguments: Sequence[Argument]) -> type[BaseModel]:
    """A model with the fields `a0`, `a1` …, in the arguments' order. None stands for one that is not given."""
    fields: dict[str, Any] = {
        f"a{place}": (each.kind, Field(alias=each.name))
        if each.is_required
        else (each.kind | None, Field(default=None, alias=each.name))
        for place, each in enumerate(arguments)
    }
    return create_model(name, __config__=ConfigDict(strict=True, extra="forbid"), **fields)


def _read(name: str, schema: object, *, is_required: bool) -> Argument | None:
    """The argument. None if its form cannot be offered."""
    if not isinstance(schema, Mapping):
        return None
    plain = _without_null(schema)
    form = _form(plain)
    if form is None:
        return None
    shown, kind = form
    words = schema.get("description")
    if isinstance(words, str) and words.strip():
        shown = {**shown, "description": _described(words)}
    return Argument(name, shown, kind, is_required)


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The form of an argument that can also be null, without that."""
    branches = schema.get("anyOf")
    if not isinstance(branches, Sequence):
        return schema
    others = [each for each in branches if isinstance(each, Mapping) and each.get("type") != "null"]
    return others[0] if len(others) == 1 else {}


def _form(schema: Mapping[str, Any]) -> tuple[dict[str, Any], Any] | None:
    """What the model sees of a form, and the type that checks it."""
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        entry = _form(schema["items"])
        if entry is None or entry[0].get("type") == "array":
            return None
        return {"type": "array", "items": entry[0]}, Annotated[list[entry[1]], Field(max_length=ENTRIES_LIMIT)]  # type: ignore[valid-type]
    if not isinstance(kind, str) or kind not in _TYPES:
        return None
    if "enum" in schema:
        return _words(schema["enum"]) if kind == "string" else None
    if kind == "string":
        limit = schema.get("maxLength")
        most = min(limit, TEXT_LIMIT) if isinstance(limit, int) and limit > 0 else TEXT_LIMIT
        return {"type": kind}, Annotated[str, Field(max_length=most)]
    return {"type": kind}, _TYPES[kind]


def _words(words: object) -> tuple[dict[str, Any], Any] | None:
    if not isinstance(words, list) or not 0 < len(words) <= ENTRIES_LIMIT:
        return None
    if not all(isinstance(word, str) and word == _described(word) for word in words):
        return None
    return {"type": "string", "enum": words}, Literal[tuple(words)]
