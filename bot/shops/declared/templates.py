"""Texts with placeholders, such as `/orders/{order.id}`, and the requests that are made of them.

Scope          What placeholders stand for.
placeholders   The names in a template, for the check of a file.
build_request  The request of a call. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from bot.checked_files import Plain
from bot.shops.actions import NotSupported
from bot.shops.declared.file import Call

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LEFT_OUT = object()
LISTS = ("lines", "swaps")
"""What `{each: …, as: …}` can repeat."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What placeholders stand for. None and an empty text are nothing."""

    values: Mapping[str, str | int | None]
    lists: Mapping[str, Sequence[Mapping[str, str | int | None]]] = field(default_factory=dict)

    def entry(self, values: Mapping[str, str | int | None]) -> "Scope":
        """The scope for one entry of a list."""
        return Scope({**self.values, **values})


@dataclass(frozen=True, slots=True)
class Rendered:
    """A request without its credentials."""

    method: str
    path: str
    """The path and the query, below the connector's address."""
    headers: Mapping[str, str]
    body: str


def build_request(call: Call, scope: Scope, *, query: Mapping[str, str] | None = None) -> Rendered:
    """The request. Raises NotSupported if a path or a header would have a value that cannot be in one."""
    path = _PLACEHOLDER.sub(lambda found: _segment(scope, found[1]), call.path)
    pairs = {name: text for name, template in call.query.items() if (text := _text(template, scope)) is not None}
    pairs.update(query or {})
    if pairs:
        path += "?" + urlencode(pairs, quote_via=quote)
    headers = {name: text for name, template in call.headers.items() if (text := _text(template, scope)) is not None}
    for name, text in headers.items():
        if not (text.isascii() and text.isprintable()):
            raise NotSupported(f"the header {name} cannot have this value", "invalid")
    body = ""
    if call.json_ is not None:
        headers.setdefault("Content-Type", "application/json")
        body = orjson.dumps(_json(call.json_, scope)).decode()
    elif call.form is not None:
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        texts = {name: text for name, template in call.form.items() if (text := _text(template, scope)) is not None}
        body = urlencode(texts)
    return Rendered(call.method, path, headers, body)


def placeholders(template: object) -> Iterator[str]:
    """The names in a template, in lists and objects too. A brace that is no placeholder's is the name ``{``."""
    match template:
        case str():
            yield from _PLACEHOLDER.findall(template)
            if set(_PLACEHOLDER.sub("", template)) & {"{", "}"}:
                yield "{"
        case Mapping():
            for value in template.values():
                yield from placeholders(value)
        case list():
            for value in template:
                yield from placeholders(value)


def is_list(template: object) -> bool:
    """Whether it is `{each: …, as: …}`."""
    return isinstance(template, Mapping) and set(template) == {"each", "as"}


def _segment(scope: Scope, name: str) -> str:
    """A value in a path: never empty, and nothing that leads elsewhere."""
    text = str(scope.values.get(name) or "")
    if not text.strip(".") or "/" in text or "\\" in text or not text.isprintable():
        raise NotSupported(f"{name} cannot be in a path", "invalid")
    return quote(text, safe="")


def _text(template: str, scope: Scope) -> str | None:
    """The text. None if it is one placeholder that stands for nothing."""
    alone = _PLACEHOLDER.fullmatch(template)
    if alone and scope.values.get(alone[1]) in (None, ""):
        return None
    return _PLACEHOLDER.sub(lambda found: str(_or_empty(scope.values.get(found[1]))), template)


def _or_empty(value: str | int | None) -> str | int:
    return "" if value is None else value


def _json(template: Any, scope: Scope) -> Any:
    """The value. A key whose placeholder stands for nothing is left out."""
    if is_list(template):
        return [_json(template["as"], scope.entry(entry)) for entry in scope.lists.get(template["each"], ())]
    match template:
        case Plain():
            return template.value()
        case str():
            alone = _PLACEHOLDER.fullmatch(template)
            if alone:
                value = scope.values.get(alone[1])
                return _LEFT_OUT if value in (None, "") else value
            return _text(template, scope)
        case Mapping():
            values = ((name, _json(value, scope)) for name, value in template.items())
            return {name: value for name, value in values if value is not _LEFT_OUT}
        case list():
            return [value for each in template if (value := _json(each, scope)) is not _LEFT_OUT]
        case _:
            return template
