"""A first draft of a connector's file, from the OpenAPI document of the shop's API.

draft  The file as YAML.

Requests and fields are found by the names that APIs commonly give them. What is found stands in the file. What is not,
or could mean something else, is a comment that begins with `# ?`. A change of an order is always a comment: nothing
that moves money is switched on by a guess.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from bot.shops.declared.draft_names import (
    ABOUT_ANSWERS,
    ACTIONS,
    AFTERWARDS,
    AMOUNT,
    CURRENCY,
    EMAIL,
    ENTRIES,
    KEY_HEADERS,
    LAST,
    LISTS,
    NAMES,
    NEXT,
    NOUNS,
    PAGE,
    PLACEHOLDERS,
    TRANSPARENT,
    WORDS,
)
from bot.shops.declared.fields import FIELDS, Field
from bot.shops.declared.file import RecordName
from bot.shops.declared.openapi import Document, Operation, Schema
from bot.shops.declared.reading import LOOK_UP_NAMES
from bot.shops.declared.templates import placeholders

UNSURE = "# ?"
"""How a comment begins that asks something of the reader."""


def draft(document: Document) -> str:
    """The file as YAML. It is complete if it has no comment that begins with `# ?`."""
    return "\n".join(_Draft(document, list(document.operations())).lines()) + "\n"


@dataclass(frozen=True, slots=True)
class _Draft:
    document: Document
    operations: Sequence[Operation]

    def lines(self) -> Iterator[str]:
        look_ups = dict(self._look_ups())
        yield "# A draft from an OpenAPI document. Read every line. `# ?` marks what you have to decide."
        yield "connector: http"
        yield "version: 1"
        if self.document.title:
            yield f"name: {_flow(self.document.title[:80])}"
        yield from self._base()
        yield from self._auth()
        yield from ("errors:", *self._errors(), "records:")
        for record, whole in self._records(look_ups):
            yield f"  {record}:"
            yield from self._record(record, whole)
        yield "look_ups:"
        for name in ("find_customer", "list_orders", "get_order", "track", "get_product", "payment_methods"):
            yield from self._look_up(name, look_ups.get(name))
        yield from self._actions()

    def _base(self) -> Iterator[str]:
        address = self.document.address
        if re.match(r"https://[^\s?#{}]+$", address):
            note = f"  {UNSURE} the document leaves {', '.join(left)} open" if (left := self.document.variables) else ""
            yield f"base_url: {_flow(address)}{note}"
        else:
            yield f"base_url: env:SHOP_API_URL  {UNSURE} the document has no https address"

    def _auth(self) -> Iterator[str]:
        schemes = self.document.schemes()
        found = next((auth for scheme in schemes if (auth := _auth_of(scheme))), None)
        note = "" if found else f"  {UNSURE} the document names no way to sign requests that is known here"
        yield f"auth: {_flow(found or {'kind': 'none'})}{note}"

    def _errors(self) -> Iterator[str]:
        yield f"  code: error.code  {UNSURE} where the body of an error has its code"
        yield f"  # statuses: {{404 order_not_found: not_found}}  {UNSURE} the code for an order that does not exist"

    def _look_ups(self) -> Iterator[tuple[str, Operation]]:
        gets = [each for each in self.operations if each.method == "get"]
        wanted: Mapping[str, Callable[[Operation], object]] = {
            "find_customer": lambda each: _ends_with(each, "customer", many=True) and _email(each),
            "list_orders": lambda each: _ends_with(each, "order", many=True) and (_has_owner(each) or _owner(each)),
            "get_order": lambda each: _ends_with(each, "order"),
            "track": lambda each: _ends_with(each, "parcel"),
            "get_product": lambda each: _ends_with(each, "product"),
            "payment_methods": lambda each: _ends_with(each, "payment_method", many=True) and _has_owner(each),
        }
        for name, is_it in wanted.items():
            fits = [each for each in gets if is_it(each) and _is_filled(each.path, LOOK_UP_NAMES[name])]
            fits.sort(key=lambda each: each.path.count("/"))
            if fits:
                yield name, fits[0]

    def _records(self, look_ups: Mapping[str, Operation]) -> Iterator[tuple[RecordName, Schema]]:
        sources: Mapping[RecordName, Sequence[str]] = {
            "customer": ("find_customer",),
            "order": ("get_order", "list_orders"),
            "parcel": ("track",),
            "product": ("get_product",),
            "payment_method": ("payment_methods",),
        }
        for record, names in sources.items():
            operation = next((look_ups[name] for name in names if name in look_ups), None)
            if operation is not None:
                _, whole = self._unwrapped(operation.answer)
                yield record, whole
                if record == "order" and (address := self._found(whole, "order.address")):
                    yield "address", address[1]
            elif record in ("customer", "order"):
                yield record, {}

    def _record(self, record: str, whole: Schema, indent: str = "    ", *, inside: str = "") -> Iterator[str]:
        for name, spec in _fields(record).items():
            found = self._found(whole, f"{record}.{name}")
            if found is None:
                if spec.is_needed and not inside:
                    yield f"{indent}# {name}:  {UNSURE} not found in the document"
                elif spec.is_needed:
                    yield f"{indent}# {name}:  {UNSURE} not found in the entries of {inside}"
                continue
            yield from self._field(name, spec, *found, indent=indent, whole=whole)

    def _field(self, name: str, spec: Field, path: str, schema: Schema, *, indent: str, whole: Schema) -> Iterator[str]:
        match spec.type:
            case "list":
                entry = self.document.entries(schema) or {}
                yield from (f"{indent}{name}:", f"{indent}  each: {_flow(path)}", f"{indent}  fields:")
                yield from self._entry(name, entry, f"{indent}    ")
            case "record":
                yield f"{indent}{name}: {_flow({'at': path, 'record': spec.record})}"
            case "word":
                yield from self._word(name, spec, path, schema, indent)
            case "money":
                yield self._money(name, path, schema, whole, indent)
            case _:
                yield f"{indent}{name}: {_flow(path)}"

    def _entry(self, name: str, entry: Schema, indent: str) -> Iterator[str]:
        if name == "parcels":
            for field_name in ("tracking_number", "carrier"):
                if found := self._found(entry, f"parcel.{field_name}"):
                    yield f"{indent}{field_name}: {_flow(found[0])}"
            return
        yield from self._record(ENTRIES[name], entry, indent, inside=name)

    def _word(self, name: str, spec: Field, path: str, schema: Schema, indent: str) -> Iterator[str]:
        words = [str(each) for each in schema.get("enum") or () if each is not None]
        known = {word: ours for word in words if (ours := _word_of(word, spec.words))}
        yield f"{indent}{name}:"
        yield f"{indent}  at: {_flow(path)}"
        yield f"{indent}  map:" + ("" if known else " {}" + f"  {UNSURE} the shop's words, each with one of ours")
        for word, ours in known.items():
            yield f"{indent}    {_flow(word)}: {ours}"
        for word in words:
            if word not in known:
                yield f"{indent}    # {_flow(word)}:  {UNSURE} one of {', '.join(sorted(spec.words))}"
        yield f"{indent}  otherwise: unknown"

    def _money(self, name: str, path: str, schema: Schema, whole: Schema, indent: str) -> str:
        amount, at, currency = schema, path, ""
        if parts := self.document.properties(schema):
            inner = next((each for each in parts if _plain(each) in AMOUNT), None)
            if inner is not None:
                amount, at = parts[inner], f"{path}.{_name(inner)}"
            currency = next((f"{path}.{_name(each)}" for each in parts if _plain(each) in CURRENCY), "")
        elif name == "total":
            beside = path.rpartition(".")[0]
            paths = {_joined(each): schema for each, schema in self.document.walk(whole)}
            options = [each for each in paths if _plain(each.rpartition(".")[2]) in CURRENCY]
            currency = next((each for each in options if each.rpartition(".")[0] == beside), next(iter(options), ""))
        is_whole = amount.get("type") in ("integer", ["integer", "null"])
        spec = {"at": at, "unit": "minor" if is_whole else "decimal"} | ({"currency": currency} if currency else {})
        note = f"  {UNSURE} a whole number is read as cents" if is_whole else ""
        return f"{indent}{name}: {_flow(spec)}{note}"

    def _found(self, whole: Schema, key: str) -> tuple[str, Schema] | None:
        """The likeliest property for a field, as an expression with its schema."""
        likely = NAMES.get(key, ())
        best: tuple[tuple[int, int], str, Schema] | None = None
        wants_list = key.rpartition(".")[2] in ENTRIES
        for path, schema in self.document.walk(whole):
            rank = _rank(path, likely)
            if rank is None or wants_list != (self.document.entries(schema) is not None):
                continue
            if best is None or rank < best[0]:
                best = (rank, _joined(path), schema)
        return None if best is None else best[1:]

    def _unwrapped(self, answer: Schema) -> tuple[str, Schema]:
        """Where an answer has its records, and the schema of one. The place is empty if the answer is the record."""
        if (entry := self.document.entries(answer)) is not None:
            return "@", entry
        parts = self.document.properties(answer)
        lists = {name: entry for name, each in parts.items() if (entry := self.document.entries(each)) is not None}
        known = (*LISTS, *(f"{noun}s" for nouns in NOUNS.values() for noun in nouns))
        if len(parts) - len(lists) <= 4 and (name := next((each for each in lists if _plain(each) in known), "")):
            return _name(name), lists[name]
        told = {name: each for name, each in parts.items() if _plain(name) not in ABOUT_ANSWERS}
        for name, each in told.items():
            if len(told) == 1 and self.document.properties(each):
                return f"[{_name(name)}]", each
        return "", answer

    def _look_up(self, name: str, operation: Operation | None) -> Iterator[str]:
        if operation is None:
            if name in ("find_customer", "list_orders", "get_order"):
                yield f"  # {name}:  {UNSURE} no such request was found, and it is needed"
            return
        record = {"find_customer": "customer", "track": "parcel", "payment_methods": "payment_method"}.get(
            name, name.rpartition("_")[2].removesuffix("s")
        )
        each, _ = self._unwrapped(operation.answer)
        query = {"find_customer": lambda: {_email(operation): "{email}"}, "list_orders": lambda: _owner_of(operation)}
        spec: dict[str, Any] = {"get": _path(operation.path)}
        if made := query.get(name, dict)():
            spec["query"] = made
        if each:
            spec["each"] = each
        pages = self._pages(operation) if name == "list_orders" else None
        if pages:
            spec["pages"] = pages
        yield f"  {name}: {_flow(spec | {'record': record})}"
        if name == "list_orders" and not each:
            yield f"  {UNSURE} list_orders needs each: where the answer has its list"

    def _pages(self, operation: Operation) -> dict[str, Any] | None:
        answer = {_plain(path[-1]): _joined(path) for path, _ in self.document.walk(operation.answer)}
        named = {kind: next((each for each in operation.query if _plain(each) in PAGE[kind]), "") for kind in PAGE}
        if named["cursor"] and (following := next((answer[each] for each in NEXT if each in answer), "")):
            return {"kind": "cursor", "query": named["cursor"], "next": following}
        if named["page"]:
            last = next((answer[each] for each in LAST if each in answer), "")
            return {"kind": "page", "query": named["page"]} | ({"last": last} if last else {})
        return None

    def _actions(self) -> Iterator[str]:
        found = [(kind, each) for kind, names in ACTIONS.items() for each in self.operations if _is_action(each, names)]
        if not found:
            return
        yield "# Changes of orders. Each needs its body, its key and its condition before you take the marks away."
        yield "# actions:"
        for kind, operation in found:
            header = next((each for each in operation.headers if _plain(each) in KEY_HEADERS), "")
            yield f"#   {kind}:"
            yield f"#     {operation.method}: {_flow(_path(operation.path))}"
            yield "#     json: {}  # ? what goes into the body"
            yield f"#     key: {_flow({'header': header}) if header else 'none'}  # ? whether the shop keeps to it"
            yield f"#     done_when: {_flow(_done_when(kind))}  # ? what is true afterwards, and was not before"


def _fields(record: str) -> Mapping[str, Field]:
    for whole, name in (("order", "lines"), ("product", "variants")):
        if ENTRIES[name] == record:
            return FIELDS["order" if whole == "order" else "product"][name].fields
    return {name: each for name, each in FIELDS[record].items() if f"{record}.{name}" in NAMES}  # type: ignore[index]


def _rank(path: Sequence[str], names: Sequence[str]) -> tuple[int, int] | None:
    """How likely a property is the field: the place of its name in the list, then its depth. None if it is not."""
    kept = [each for each in path if each not in TRANSPARENT]
    tail, pair = _plain("".join(kept[-1:])), _plain("".join(kept[-2:]))
    if pair in names and len(kept) > 1:
        return names.index(pair), len(path)
    if tail in names and (len(kept) == 1 or len(tail) > 6 or tail == "email"):
        return names.index(tail), len(path)
    return None


def _word_of(word: str, ours: frozenset[str]) -> str:
    return next((each for each, theirs in WORDS.items() if each in ours and _plain(word) in theirs), "")


def _segments(path: str) -> list[str]:
    return [each for each in path.split("/") if each]


def _noun_of(segment: str) -> str:
    plain = _plain(segment)
    singular = plain.removesuffix("ies") + "y" if plain.endswith("ies") else plain.removesuffix("s")
    return next((record for record, nouns in NOUNS.items() if singular in nouns or plain in nouns), "")


def _path(path: str) -> str | None:
    """The path with the placeholders of a connector's file. None if nothing here fills one of its parameters."""
    made: list[str] = []
    before = ""
    for segment in _segments(path):
        if segment.startswith("{"):
            placeholder = PLACEHOLDERS.get(before)
            if placeholder is None:
                return None
            made.append(placeholder)
        elif "{" in segment:
            return None
        else:
            made.append(segment)
            before = _noun_of(segment)
    return "/" + "/".join(made)


def _is_filled(path: str, known: frozenset[str]) -> bool:
    """Whether everything in the path stands for something that is known there."""
    made = _path(path)
    return made is not None and all(name in known for name in placeholders(made))


def _ends_with(operation: Operation, record: str, *, many: bool = False) -> bool:
    """Whether the request is for one such record, or for many."""
    segments = _segments(operation.path)
    if len(segments) < 2 - many:
        return False
    noun = segments[-1] if many else segments[-2]
    is_one = segments[-1].startswith("{")
    return is_one != many and _noun_of(noun) == record


def _email(operation: Operation) -> str:
    return next((each for each in operation.query if _plain(each) in EMAIL), "")


def _has_owner(operation: Operation) -> bool:
    return "{customer.id}" in (_path(operation.path) or "")


def _owner(operation: Operation) -> str:
    return next((each for each in operation.query if _plain(each) in (*NAMES["order.owner"], *NOUNS["customer"])), "")


def _owner_of(operation: Operation) -> dict[str, str]:
    return {} if _has_owner(operation) else {_owner(operation): "{customer.id}"}


def _is_action(operation: Operation, names: Sequence[str]) -> bool:
    segments = _segments(operation.path)
    return (
        operation.method != "get"
        and _plain(segments[-1] if segments else "") in names
        and "{order.id}" in (_path(operation.path) or "")
    )


def _done_when(kind: str) -> dict[str, str]:
    match kind:
        case "change_order_address":
            return {"look_up": "get_order", "same": "address"}
        case _:
            return {"look_up": "get_order", "is": f"status == '{AFTERWARDS[kind]}'"}


def _auth_of(scheme: Schema) -> dict[str, str] | None:
    kind, name = str(scheme.get("type", "")).lower(), str(scheme.get("scheme", "")).lower()
    match kind, name:
        case "http", "bearer":
            return {"kind": "bearer", "token": "env:SHOP_TOKEN"}
        case "http", "basic":
            return {"kind": "basic", "user": "env:SHOP_USER", "password": "env:SHOP_PASSWORD"}
        case "apikey", _ if scheme.get("in") in ("header", "query"):
            return {"kind": str(scheme["in"]), "name": str(scheme.get("name", "")), "value": "env:SHOP_KEY"}
        case "oauth2", _:
            flow = (scheme.get("flows") or {}).get("clientCredentials") or {}
            if not str(flow.get("tokenUrl", "")).startswith("https://"):
                return None
            made = {"kind": "oauth_client_credentials", "token_url": str(flow["tokenUrl"])}
            scopes = " ".join(flow.get("scopes") or ())
            secrets = {"client_id": "env:SHOP_CLIENT_ID", "client_secret": "env:SHOP_CLIENT_SECRET"}
            return made | secrets | ({"scope": scopes[:500]} if scopes else {})
        case _:
            return None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _name(name: str) -> str:
    """A name in an expression: in quotes unless JMESPath reads it without."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f'"{name}"'


def _joined(path: Sequence[str]) -> str:
    return ".".join(_name(each) for each in path)


def _flow(value: object) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), sort_keys=False, allow_unicode=True)
    return str(text).strip().removesuffix("...").strip()
