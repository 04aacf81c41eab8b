"""An OpenAPI document, as far as a draft of a connector's file needs it.

read_document  The document of a file, JSON or YAML.
Document       Where the API is, how it is signed, and its operations.
Operation      One request: its method, path, parameters, and the schema of its answer.

OpenAPI 3.0 and 3.1 are read. References lead to the same document only: nothing is fetched.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from bot.errors import ConfigurationError
from bot.own_files import parse

SIZE_LIMIT = 16_777_216
"""The most bytes of a document. The largest public ones have about half of it."""
DEPTH_LIMIT = 4
"""How deep properties are looked for in a record."""
PROPERTY_LIMIT = 5_000
"""How many properties of a record are looked at. A schema may hold itself."""
_REFERENCE_LIMIT = 16
"""How often a reference may lead to another one."""
_METHODS = ("get", "post", "put", "patch", "delete")
_SENT_IN = ("query", "header")

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One request of the API."""

    method: str
    path: str
    """With its parameters, as `/orders/{orderId}`."""
    query: Sequence[str]
    """The names of the parameters in its query."""
    headers: Sequence[str]
    answer: Schema
    """The schema of what a good answer holds. Empty if the document does not say."""

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True, slots=True)
class Document:
    """A whole document."""

    raw: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The name of the API."""
        return str(_mapping(self.raw.get("info")).get("title", ""))

    @property
    def variables(self) -> list[str]:
        """What the first server's address leaves open."""
        servers = _list(self.raw.get("servers"))
        return list(_mapping(_mapping(servers[0]).get("variables"))) if servers else []

    @property
    def address(self) -> str:
        """The first server's address, with the defaults of its variables. Empty if there is none."""
        servers = _list(self.raw.get("servers"))
        server = _mapping(servers[0]) if servers else {}
        address = str(server.get("url", ""))
        for name, variable in _mapping(server.get("variables")).items():
            address = address.replace(f"{{{name}}}", str(_mapping(variable).get("default", "")))
        return address.rstrip("/")

    def schemes(self) -> list[Schema]:
        """The security schemes, those that the whole API asks for first."""
        known = _mapping(_mapping(self.raw.get("components")).get("securitySchemes"))
        asked = [name for each in self.raw.get("security") or () for name in _mapping(each)]
        names = dict.fromkeys([*(name for name in asked if name in known), *known])
        return [self.follow(known[name]) for name in names]

    def operations(self) -> Iterator[Operation]:
        """Every request of the API, in the document's order."""
        for path, item in _mapping(self.raw.get("paths")).items():
            of_path = self.follow(item)
            for method in _METHODS:
                if isinstance(of_path.get(method), Mapping):
                    yield self._operation(method, str(path), of_path, of_path[method])

    def follow(self, part: object) -> Schema:
        """What a reference leads to, or the part itself. Empty if it leads nowhere."""
        found = _mapping(part)
        for _ in range(_REFERENCE_LIMIT):
            target = found.get("$ref")
            if not isinstance(target, str):
                return found
            found = self._at(target)
        return {}

    def properties(self, schema: Schema) -> dict[str, Schema]:
        """The properties of an object's schema, and of what it is composed of."""
        found = {name: self.follow(each) for name, each in _mapping(schema.get("properties")).items()}
        for part in [*_list(schema.get("allOf")), *_list(schema.get("oneOf"))[:1], *_list(schema.get("anyOf"))[:1]]:
            whole = self.follow(part)
            found |= {name: self.follow(each) for name, each in _mapping(whole.get("properties")).items()}
        return found

    def walk(self, schema: Schema) -> Iterator[tuple[tuple[str, ...], Schema]]:
        """Properties with their paths, the shallow ones first. Lists are not entered."""
        waiting: deque[tuple[tuple[str, ...], Schema]] = deque([((), schema)])
        seen = 0
        while waiting and seen < PROPERTY_LIMIT:
            before, whole = waiting.popleft()
            for name, each in self.properties(whole).items():
                seen += 1
                yield (*before, name), each
                if len(before) + 1 < DEPTH_LIMIT:
                    waiting.append(((*before, name), each))

    def entries(self, schema: Schema) -> Schema | None:
        """The schema of a list's entries. None if it is none of objects."""
        entry = self.follow(schema.get("items"))
        return entry if self.properties(entry) else None

    def _at(self, target: str) -> Schema:
        found: object = self.raw
        for name in target.removeprefix("#/").split("/") if target.startswith("#/") else [""]:
            found = _mapping(found).get(name.replace("~1", "/").replace("~0", "~"))
        return _mapping(found)

    def _operation(self, method: str, path: str, of_path: Schema, raw: Schema) -> Operation:
        shared = [self.follow(each) for each in _list(of_path.get("parameters"))]
        parameters = [*shared, *(self.follow(each) for each in _list(raw.get("parameters")))]
        named = {place: [str(each.get("name")) for each in parameters if each.get("in") == place] for place in _SENT_IN}
        return Operation(method, path, named["query"], named["header"], self._answer(raw))

    def _answer(self, raw: Schema) -> Schema:
        answers = _mapping(raw.get("responses"))
        good = next((answers[status] for status in answers if re.fullmatch("2(\\d\\d|XX)", str(status))), None)
        for kind, content in _mapping(self.follow(good).get("content")).items():
            if "json" in str(kind):
                return self.follow(_mapping(content).get("schema"))
        return {}


def read_document(path: Path) -> Document:
    """The document of a file. Raises ConfigurationError if it is none of OpenAPI 3."""
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise ConfigurationError([f"shop draft: {path} has more than {SIZE_LIMIT:,} bytes"])
        data = path.read_bytes()
        raw = orjson.loads(data) if data.lstrip()[:1] == b"{" else parse(data)
    except OSError as error:
        raise ConfigurationError([f"shop draft: {path} can't be read: {error.strerror}"]) from None
    except (orjson.JSONDecodeError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError([f"shop draft: {path} is neither JSON nor YAML: {_first_line(error)}"]) from None
    version = str(_mapping(raw).get("openapi") or _mapping(raw).get("swagger") or "")
    if not version.startswith("3."):
        told = f"OpenAPI {version}; convert it to 3.0 first" if version else "no OpenAPI document"
        raise ConfigurationError([f"shop draft: {path} is {told}"])
    return Document(raw)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
