"""From a shop's answer to our records, as a connector's file says.

RecordMap    Maps one kind of record. `read` gives the record whose form is checked.
read_amount  An amount of money in minor units, by decimal arithmetic alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bot.shops.actions import digest
from bot.shops.declared.expressions import Expression, Stopwatch, Unusable
from bot.shops.declared.fields import FIELDS, Field
from bot.shops.declared.file import FieldMap, FieldSpec, RecordName
from bot.shops.port import Money, minor_digits
from bot.shops.rest_client import faulty_fields

ENTRIES_LIMIT = 500
"""Entries of one list in a record."""
MOST = 10**15
"""The largest amount, in minor units."""
_NEAREST = Decimal("0.001")
"""How far an amount can be from a whole minor unit. Sums in expressions are floats."""

_Answer = TypeVar("_Answer", bound=BaseModel)
_NAMES = {"owner": "customer_id"}
"""Names in the file -> names in the answer that is checked."""
_DEFAULTS: Mapping[RecordName, Mapping[str, object]] = {
    "customer": {"name": ""},
    "order": {"parcels": []},
    "parcel": {"carrier": "", "events": []},
}
"""What a shop need not say."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One field, compiled."""

    spec: FieldSpec
    field: Field
    at: Expression | None
    currency: Expression | None
    each: Expression | None
    entries: "_Entries | None" = None


_Entries = Mapping[str, _Place]


class RecordMap:
    """Maps one kind of record."""

    def __init__(self, name: RecordName, records: Mapping[RecordName, FieldMap], *, currency: str | None) -> None:
        self._name = name
        self._currency = currency
        specs = dict(records[name])
        if name == "order":
            specs.setdefault("state", FieldSpec(at=specs["status"].at, value=specs["status"].value))
        self._places = _compiled(specs, FIELDS[name])
        self._others = {
            place.field.record: _compiled(records[place.field.record], FIELDS[place.field.record])
            for place in self._places.values()
            if place.field.record is not None
        }

    def read(self, record: object, kind: type[_Answer], *, stopwatch: Stopwatch, **more: object) -> _Answer:
        """The record, with its form checked. Raises Unusable with the name of the field, and never what is in it."""
        found = self._values(self._places, record, self._currency, self._name, stopwatch)
        values = {**_DEFAULTS.get(self._name, {}), **found}
        if self._name == "order":
            _complete(values)
        try:
            return kind.model_validate({**values, **more})
        except ValidationError as error:
            raise Unusable(f"{self._name}.{faulty_fields(error)[0]}", "has the wrong form") from None

    def _values(
        self, places: _Entries, record: object, currency: str | None, where: str, stopwatch: Stopwatch
    ) -> dict[str, Any]:
        if not isinstance(record, Mapping):
            raise Unusable(where, "is no object")
        values: dict[str, Any] = {}
        for name, place in places.items():
            path = f"{where}.{name}"
            value = self._value(place, record, currency, path, stopwatch)
            if value is None:
                if place.field.is_needed:
                    raise Unusable(path, "is missing")
                continue
            if name == "total":
                currency = value["currency"]
            values[_NAMES.get(name, name)] = value
        return values

    def _value(
        self, place: _Place, record: Mapping[str, Any], currency: str | None, path: str, stopwatch: Stopwatch
    ) -> Any:
        spec = place.spec
        if spec.value is not None:
            raw: Any = spec.value
        elif place.each is not None:
            return self._list(place, record, currency, path, stopwatch)
        else:
            raw = stopwatch.search(place.at, record, path) if place.at else record
        if raw is None:
            return None
        if place.field.record is not None:
            return self._values(self._others[place.field.record], raw, currency, path, stopwatch)
        if isinstance(raw, str) and spec.strip_prefix:
            raw = raw.removeprefix(spec.strip_prefix)
        if spec.map is not None:
            raw = _mapped(raw, spec, path)
        if place.field.type == "money":
            stated = stopwatch.search(place.currency, record, path) if place.currency else currency
            return read_amount(raw, unit=spec.unit or "decimal", currency=stated, field=path)
        return _converted(raw, spec, place.field, path)

    def _list(
        self, place: _Place, record: Mapping[str, Any], currency: str | None, path: str, stopwatch: Stopwatch
    ) -> list[dict[str, Any]] | None:
        found = stopwatch.search(place.each, record, path) if place.each else None
        if found is None:
            return None
        if not isinstance(found, list) or len(found) > ENTRIES_LIMIT:
            raise Unusable(path, f"is no list of at most {ENTRIES_LIMIT} entries")
        return [self._values(place.entries or {}, entry, currency, path, stopwatch) for entry in found]


def _compiled(specs: FieldMap, fields: Mapping[str, Field]) -> _Entries:
    """The fields. The total comes first: its currency is that of the lines, if they do not name one."""
    return {
        name: _Place(
            spec,
            fields[name],
            at=_expression(spec.at),
            currency=_expression(spec.currency),
            each=_expression(spec.each),
            entries=_compiled(spec.fields, fields[name].fields) if spec.fields else None,
        )
        for name, spec in sorted(specs.items(), key=lambda each: each[0] != "total")
    }


def _expression(text: str | None) -> Expression | None:
    return Expression(text) if text else None


def read_amount(raw: object, *, unit: str, currency: object, field: str) -> dict[str, Any]:
    """The amount in minor units, with its currency. Raises Unusable if it is none, or not a whole minor unit."""
    if not (isinstance(currency, str) and len(currency) == 3 and currency.isascii() and currency.isupper()):
        raise Unusable(field, "has no currency")
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)) or len(str(raw)) > 40:
        raise Unusable(field, "is no amount")
    try:
        amount = Decimal(str(raw))
    except InvalidOperation:
        raise Unusable(field, "is no amount") from None
    if not amount.is_finite() or abs(amount) > MOST:
        raise Unusable(field, "is no amount that can be")
    if unit == "decimal":
        amount = amount.scaleb(minor_digits(currency))
    whole = amount.to_integral_value()
    if abs(amount - whole) > _NEAREST or abs(whole) > MOST:
        raise Unusable(field, "is no whole minor unit")
    return {"amount": int(whole), "currency": currency}


def decimal_text(money: Money) -> str:
    """The amount without a sign as other systems write it, such as `19.90`."""
    digits = minor_digits(money.currency)
    return f"{Decimal(abs(money.minor)).scaleb(-digits):.{digits}f}"


def _mapped(raw: object, spec: FieldSpec, path: str) -> str:
    word = str(raw).lower() if isinstance(raw, bool) else str(raw) if isinstance(raw, (str, int)) else ""
    found = (spec.map or {}).get(word, spec.otherwise)
    if found is None:
        raise Unusable(path, "is a word that the map lacks")
    return found


def _converted(raw: object, spec: FieldSpec, field: Field, path: str) -> Any:
    match field.type:
        case "integer":
            return _integer(raw, path)
        case "time":
            return _time(raw, spec, path)
        case "word" if isinstance(raw, bool):
            return str(raw).lower()
        case "texts" if isinstance(raw, list):
            return [_text(each, path) for each in raw[:20]]
        case _:
            return _text(raw, path)


def _text(raw: object, path: str) -> str:
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        raise Unusable(path, "is no text")
    return str(raw)


def _integer(raw: object, path: str) -> int:
    if isinstance(raw, float) and raw.is_integer() and abs(raw) < MOST:
        return int(raw)
    if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) <= 9:
        return int(raw)
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise Unusable(path, "is no whole number")
    return raw


def _time(raw: object, spec: FieldSpec, path: str) -> datetime:
    try:
        if spec.format in ("unix", "unix_ms"):
            return datetime.fromtimestamp(float(str(raw)) / (1_000 if spec.format == "unix_ms" else 1), UTC)
        if not isinstance(raw, str) or len(raw) > 60:
            raise Unusable(path, "is no time")
        found = datetime.strptime(raw, spec.format) if spec.format else datetime.fromisoformat(raw)  # noqa: DTZ007
    except (ValueError, OverflowError, OSError):
        raise Unusable(path, "is no time") from None
    if found.tzinfo is None:
        if not spec.format and spec.type != "date":
            raise Unusable(path, "is a time without a zone")
        found = found.replace(tzinfo=UTC)
    return found


def _complete(values: dict[str, Any]) -> None:
    """What follows from the rest of an order."""
    address = values.get("address")
    if address and "ships_to" not in values:
        values["ships_to"] = f"{address['city']}, {address['country']}"
    for parcel in values["parcels"]:
        parcel.setdefault("carrier", "")
    if "revision" not in values:
        values["revision"] = digest(values)[:32]
