"""A connector's file as it is read: YAML, checked against the models, and every part against the others.

read_connector  The file, or every fault of it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from bot.checked_files import FileFormat, KeyPath
from bot.shops.actions import Reason
from bot.shops.declared.fields import FIELDS, TYPES, Field
from bot.shops.declared.file import ActionCall, Call, ConnectorFile, FieldMap, FieldSpec, Key, LookUp
from bot.shops.declared.templates import LISTS, is_list, placeholders

SETTING = "SHOP_FILE"
SIZE_LIMIT = 262_144
"""The most bytes of a file."""

_CUSTOMER = frozenset({"customer.id", "customer.email"})
LOOK_UP_NAMES: Mapping[str, frozenset[str]] = {
    "find_customer": frozenset({"email"}),
    "list_orders": _CUSTOMER,
    "get_order": _CUSTOMER | {"order.id"},
    "track": _CUSTOMER | {"parcel.tracking_number"},
    "get_product": _CUSTOMER | {"product.id"},
    "payment_methods": _CUSTOMER,
}
"""A look-up -> what its placeholders can stand for."""
_LOOK_UP_RECORDS = {
    "find_customer": "customer",
    "list_orders": "order",
    "get_order": "order",
    "track": "parcel",
    "get_product": "product",
    "payment_methods": "payment_method",
}
_ADDRESS = frozenset(f"address.{name}" for name in FIELDS["address"])
_AMOUNT = frozenset({"amount.minor", "amount.decimal", "amount.currency"})
_ACTION = (
    _CUSTOMER
    | _ADDRESS
    | _AMOUNT
    | {"order.id", "order.revision", "payment_method.id", "reason", "undone.key", "undone.reference"}
)
_LINE = frozenset({"line.id", "line.quantity", "line.product_id", "line.variant_id"})
_ENTRIES = {"lines": _LINE, "swaps": _LINE | {"variant.id"}}
_REASONS = frozenset(get_args(Reason))
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

Found = Iterator[tuple[KeyPath, str]]


def read_connector(path: Path, *, setting: str = SETTING) -> ConnectorFile:
    """The file. Raises ConfigurationError; a FileFaulty has the place of every fault."""
    form = FileFormat(ConnectorFile, setting=setting, size_limit=SIZE_LIMIT, forms=FORMS, check=_check)
    return form.read(path)


def address_fault(url: str, *, is_insecure: bool) -> str:
    """What is wrong with an address. Empty if nothing is."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in ("http", "https") or not host:
        return "is no address"
    if parts.username is not None or parts.password is not None:
        return "has a user or a password in it: use auth"
    if parts.scheme == "http" and host not in _LOOPBACK and not is_insecure:
        return "is http:// to another machine: use https://, or say insecure: true"
    return ""


def _check(file: ConnectorFile) -> Found:
    yield from _check_addresses(file)
    for record, fields in file.records.items():
        yield from _check_fields(("records", record), fields, FIELDS[record], file)
    for name in _LOOK_UP_RECORDS:
        look_up: LookUp | None = getattr(file.look_ups, name)
        if look_up is not None:
            yield from _check_look_up(("look_ups", name), name, look_up, file)
    for kind, action in file.actions.items():
        yield from _check_action(("actions", kind), action, file)
    yield from _check_names(("headers",), file.headers, frozenset())


def _check_addresses(file: ConnectorFile) -> Found:
    addresses: dict[KeyPath, str] = {("base_url",): file.base_url}
    if file.auth.kind == "oauth_client_credentials":
        addresses["auth", "token_url"] = file.auth.token_url
    for path, url in addresses.items():
        if not url.startswith("env:") and (fault := address_fault(url, is_insecure=file.insecure)):
            yield path, fault


def _check_fields(path: KeyPath, specs: FieldMap, fields: Mapping[str, Field], file: ConnectorFile) -> Found:
    for name, field in fields.items():
        if field.is_needed and name not in specs:
            yield path, f"lacks {name}, which every record needs"
    for name, spec in specs.items():
        if name not in fields:
            yield (*path, name), f"is unknown: known here are {', '.join(sorted(fields))}"
        else:
            yield from _check_field((*path, name), spec, fields[name], file)


def _check_field(path: KeyPath, spec: FieldSpec, field: Field, file: ConnectorFile) -> Found:
    if spec.type and spec.type not in TYPES[field.type]:
        yield (*path, "type"), f"is another one here: {', '.join(sorted(TYPES[field.type])) or 'leave it out'}"
    match field.type:
        case "list":
            if spec.each is None or spec.fields is None:
                yield path, "is a list: it needs each and fields"
            else:
                yield from _check_fields((*path, "fields"), spec.fields, field.fields, file)
            return
        case "record":
            if spec.record != field.record:
                yield path, f"needs record: {field.record}"
            elif spec.record not in file.records:
                yield (*path, "record"), f"needs records.{spec.record}, which is not there"
            return
        case "money":
            yield from _check_money(path, spec)
        case "word":
            told = [((*path, "map", word), ours) for word, ours in (spec.map or {}).items()]
            told += [((*path, "otherwise"), spec.otherwise)] if spec.otherwise is not None else []
            for place, ours in told:
                if field.words and ours not in field.words:
                    yield place, f"becomes {ours}: known are {', '.join(sorted(field.words))}"
        case _:
            pass
    if spec.at is None and spec.value is None:
        yield path, "needs at, an expression"
    if spec.each or spec.fields or spec.record:
        yield path, "is one value: it has no each, fields or record"


def _check_money(path: KeyPath, spec: FieldSpec) -> Found:
    if spec.unit is None:
        yield path, "is money: it needs unit, which is minor for 1999 or decimal for 19.99"


def _check_look_up(path: KeyPath, name: str, look_up: LookUp, file: ConnectorFile) -> Found:
    record = _LOOK_UP_RECORDS[name]
    if look_up.record != record:
        yield (*path, "record"), f"is {record} here"
    elif record not in file.records:
        yield (*path, "record"), f"needs records.{record}, which is not there"
    if look_up.method not in ("GET", "POST"):
        yield path, "is a question: it is a get or a post"
    if (name in ("list_orders", "payment_methods")) and look_up.each is None:
        yield path, "is a list: it needs each"
    if look_up.pages and name != "list_orders":
        yield (*path, "pages"), "are possible for list_orders only"
    yield from _check_call(path, look_up, LOOK_UP_NAMES[name])


def _check_action(path: KeyPath, action: ActionCall, file: ConnectorFile) -> Found:
    if action.get:
        yield (*path, "get"), "changes nothing: an action is a post, put, patch or delete"
    yield from _check_call(path, action, _ACTION | {"key"})
    used = {name for call in (action, action.quote) if call for _, name in _templates((), call)}
    if "order.revision" in used and "revision" not in file.records.get("order", {}):
        yield path, "uses {order.revision}, and records.order has no revision"
    yield from _check_words(path, action, used)
    yield from _check_key(path, action)
    if action.quote:
        yield from _check_call((*path, "quote"), action.quote, _ACTION)
        yield from _check_money((*path, "quote", "amount"), action.quote.amount)
    if action.money:
        yield from _check_money((*path, "money"), action.money)
    done = action.done_when
    if done.look_up and getattr(file.look_ups, done.look_up) is None:
        yield (*path, "done_when", "look_up"), f"needs look_ups.{done.look_up}, which is not there"
    for name in _unknown((done.get, done.query), _ACTION | {"key"}):
        yield (*path, "done_when"), _not_filled(name, _ACTION | {"key"})
    if done.same and done.same not in file.records.get("order", {}):
        yield (*path, "done_when", "same"), f"needs records.order.{done.same}, which is not there"


def _check_words(path: KeyPath, action: ActionCall, used: set[str]) -> Found:
    words = action.words.get("reason")
    if words is None:
        return
    for word in words:
        if word not in _REASONS:
            yield (*path, "words", "reason", word), f"is unknown: known here are {', '.join(sorted(_REASONS))}"
    if "other" not in words and not set(words) >= _REASONS:
        yield (*path, "words", "reason"), "needs every reason, or other for those that it lacks"
    if "reason" not in used:
        yield (*path, "words"), "are not used: the request has no {reason}"


def _check_key(path: KeyPath, action: ActionCall) -> Found:
    if not isinstance(action.key, Key):
        if any(name == "key" for _, name in _templates((), action)):
            yield (*path, "key"), "is none, and the request has {key}"
        return
    if action.key.json_ is None:
        return
    if not isinstance(action.json_, Mapping) or is_list(action.json_):
        yield (*path, "key"), "goes into json, and the request has no such body"
    elif action.json_.get(action.key.json_, "{key}") != "{key}":
        yield (*path, "json", action.key.json_), "is where the key goes: it is {key}"


def _check_call(path: KeyPath, call: Call, known: frozenset[str]) -> Found:
    lists = _LINE | {"variant.id"}
    allowed = known if "reason" in known else known - lists
    for part, value in (("path", call.path), ("query", call.query), ("headers", call.headers), ("form", call.form)):
        for name in _unknown(value, allowed):
            yield (*path, call.method.lower() if part == "path" else part), _not_filled(name, allowed)
    yield from _check_json((*path, "json"), call.json_, allowed)


def _check_json(path: KeyPath, template: object, known: frozenset[str]) -> Found:
    if is_list(template) and isinstance(template, Mapping):
        if template["each"] not in LISTS or "reason" not in known:
            yield (*path, "each"), f"is one of {', '.join(LISTS)}, in an action"
        else:
            yield from _check_json((*path, "as"), template["as"], known | _ENTRIES[template["each"]])
    elif isinstance(template, Mapping):
        for name, value in template.items():
            yield from _check_json((*path, name), value, known)
    elif isinstance(template, list):
        for place, value in enumerate(template):
            yield from _check_json((*path, place), value, known)
    else:
        for name in _unknown(template, known):
            yield path, _not_filled(name, known)


def _check_names(path: KeyPath, template: object, known: frozenset[str]) -> Found:
    for name in _unknown(template, known):
        yield path, _not_filled(name, known)


def _templates(path: KeyPath, call: Call) -> Iterator[tuple[KeyPath, str]]:
    for value in (call.path, call.query, call.headers, call.form, call.json_):
        for name in placeholders(value):
            yield path, name


def _unknown(template: object, known: frozenset[str]) -> Iterator[str]:
    values = template if isinstance(template, tuple) else (template,)
    for value in values:
        yield from (name for name in placeholders(value) if name not in known)


def _not_filled(name: str, known: frozenset[str]) -> str:
    if name == "{":
        return "has a brace that is no placeholder's"
    told = f"known here are {', '.join(sorted(known))}" if known else "none are possible here"
    return f"has the placeholder {{{name}}}, which nothing fills: {told}"


FORMS = {
    "": "connector: http",
    "connector": "connector: http",
    "version": "version: 1",
    "base_url": "base_url: https://orders.example.com/api",
    "insecure": "insecure: true",
    "auth": "auth: {kind: bearer, token: env:SHOP_TOKEN}",
    "currency": "currency: EUR",
    "limits": "limits: {seconds: 9.5, at_once: 20, per_second: 10}",
    "headers": "headers: {X-Client: frontdesk}",
    "errors": "errors: {code: error.code, statuses: {404 not_found: not_found}}",
    "errors.statuses": "statuses: {409 too_late: {refused: wrong_status}}",
    "records": "records: {customer: {id: id, email: email}}",
    "look_ups": 'look_ups: {get_order: {get: "/orders/{order.id}", record: order}}',
    "actions": "actions: {cancel_order: {post: …, key: none, done_when: …}}",
    "actions.key": "key: {header: Idempotency-Key, keeps: 24h}",
    "actions.done_when": "done_when: {look_up: get_order, is: \"status == 'cancelled'\"}",
}
"""Key -> the right form. A list's entries and a mapping's names are left out of the key."""
