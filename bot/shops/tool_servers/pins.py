"""Pins: the definitions of tools that an operator has read and accepted, and what differs from them now.

A server can change what a tool says of itself after you have read it. A pin covers everything that the SDK reads of a
definition: name, title, description, both schemas, annotations, icons and metadata.

pin_of       the hash of a definition
differences  what has changed, in words for staff
marked       a text with every character that nobody sees made visible
read_pins    the accepted definitions of a file; write_pins stores them
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from bot.errors import ConfigurationError
from bot.shops.actions import digest
from knowledge.text import visible

SDK = "2.3"
"""The minor version of the SDK whose reading of a definition is pinned."""
SIZE_LIMIT = 2_097_152
"""The most bytes of a file with pins."""
DEFINITION_LIMIT = 65_536
"""The most bytes of one definition. A longer one is not accepted."""
_SHOWN = 200
"""Characters of a value in a difference."""
_PER_REQUEST = "io.modelcontextprotocol/"
"""What keys of metadata begin with that belong to one answer, and not to the tool."""

Definition = Mapping[str, Any]


def lasting(definition: Definition) -> dict[str, Any]:
    """The definition without what belongs to one answer alone."""
    kept = dict(definition)
    meta = kept.pop("_meta", None)
    if isinstance(meta, Mapping):
        rest = {name: value for name, value in meta.items() if not name.startswith(_PER_REQUEST)}
        kept |= {"_meta": rest} if rest else {}
    return kept


def pin_of(definition: Definition) -> str:
    """The pin: `sha256:` and the hash of the definition as canonical JSON."""
    return f"sha256:{digest(lasting(definition))}"


def size_of(definition: Definition) -> int:
    """The bytes of a definition."""
    return len(orjson.dumps(lasting(definition)))


def differences(accepted: Definition, now: Definition) -> list[str]:
    """One line for each value that is not as it was accepted. Empty if all are."""
    before, after = dict(_values(lasting(accepted))), dict(_values(lasting(now)))
    return [
        f"{name}: {_quoted(before.get(name))} -> {_quoted(after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def marked(text: str) -> str:
    """The text with each character that nobody sees, or that turns others round, as its code: `[U+200B]`."""
    return "".join(c if c == "\n" or (c.isprintable() and visible(c)) else f"[U+{ord(c):04X}]" for c in text)


def _values(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Each value of a definition by its place, as JSON."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _values(each, f"{name}.{key}" if name else str(key))
        return
    yield name, json.dumps(value, ensure_ascii=False, sort_keys=True)


def _quoted(value: str | None) -> str:
    if value is None:
        return "nothing"
    shown = marked(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def read_pins(path: Path, *, place: str) -> Mapping[str, Definition]:
    """Tool -> its accepted definition. Raises ConfigurationError with sentences that begin with `place`."""
    try:
        with path.open("rb") as file:
            written = file.read(SIZE_LIMIT + 1)
        content = orjson.loads(written) if len(written) <= SIZE_LIMIT else None
        tools = content["tools"] if isinstance(content, dict) else None
    except (OSError, orjson.JSONDecodeError, KeyError):
        tools = None
    if not isinstance(tools, dict):
        raise ConfigurationError([f"{place}: pins: {path} is no file that `frontdesk shop mcp pins --accept` wrote"])
    faults, found = [], {}
    for name, entry in tools.items():
        definition = entry.get("definition") if isinstance(entry, dict) else None
        if not isinstance(definition, dict) or entry.get("pin") != pin_of(definition):
            faults.append(f"{place}: pins: {path}: the pin of {name} is not that of its definition")
        else:
            found[name] = definition
    if faults:
        raise ConfigurationError(faults)
    return found


def write_pins(path: Path, definitions: Mapping[str, Definition]) -> None:
    """Replace the file, whole or not at all."""
    tools = {name: {"pin": pin_of(each), "definition": lasting(each)} for name, each in sorted(definitions.items())}
    text = json.dumps({"sdk": SDK, "tools": tools}, indent=2, ensure_ascii=True, sort_keys=True)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(f"{text}\n", encoding="utf-8")
    beside.replace(path)
