"""The fields that each record can have in a connector's file, and what each of them is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from bot.shops.declared.file import RecordName
from bot.shops.port import OrderStatus, ParcelStatus, PaymentKind, PaymentStatus

FieldType = Literal["text", "texts", "id", "integer", "money", "time", "word", "record", "list"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    type: FieldType
    is_needed: bool = False
    """Whether a record without it cannot be used."""
    words: frozenset[str] = frozenset()
    """For a `word`: the only ones there are. Empty: any."""
    fields: Mapping[str, "Field"] = field(default_factory=dict)
    """For a `list`: the fields of each entry."""
    record: RecordName | None = None
    """For a `record`: which one."""


def _words(kind: object, *, is_needed: bool = False) -> Field:
    return Field("word", is_needed, words=frozenset(get_args(kind)))


_TEXT, _ID, _MONEY, _TIME, _COUNT = Field("text"), Field("id"), Field("money"), Field("time"), Field("integer")
_A_TEXT, _AN_ID, _AN_AMOUNT = Field("text", is_needed=True), Field("id", is_needed=True), Field("money", is_needed=True)

_METHOD = {"method_id": _AN_ID, "kind": _words(PaymentKind), "label": _A_TEXT, "amount": _MONEY}
_LINE = {
    "title": _A_TEXT,
    "quantity": Field("integer", is_needed=True),
    "unit_price": _AN_AMOUNT,
    "id": _ID,
    "product_id": _ID,
    "variant_id": _ID,
    "options": _TEXT,
    "returnable": _COUNT,
    "cancellable": _COUNT,
    "tags": Field("texts"),
}
_PARCEL_REF = {"tracking_number": _AN_ID, "carrier": _TEXT}
_EVENT = {"at": Field("time", is_needed=True), "description": _A_TEXT, "location": _TEXT}
_VARIANT = {"id": _AN_ID, "title": _A_TEXT, "price": _AN_AMOUNT, "available": _COUNT}

FIELDS: Mapping[RecordName, Mapping[str, Field]] = {
    "customer": {"id": _AN_ID, "email": _A_TEXT, "name": _TEXT},
    "address": {
        "name": _A_TEXT,
        "line1": _A_TEXT,
        "city": _A_TEXT,
        "country": _A_TEXT,
        "line2": _TEXT,
        "region": _TEXT,
        "postal_code": _TEXT,
    },
    "order": {
        "id": _AN_ID,
        "owner": _AN_ID,
        "status": _words(OrderStatus, is_needed=True),
        "placed_at": Field("time", is_needed=True),
        "total": _AN_AMOUNT,
        "lines": Field("list", is_needed=True, fields=_LINE),
        "payment": _words(PaymentStatus),
        "state": Field("word"),
        "delivered_at": _TIME,
        "revision": _ID,
        "refundable": _MONEY,
        "refunded": _MONEY,
        "ships_to": _TEXT,
        "address": Field("record", record="address"),
        "payments": Field("list", fields=_METHOD),
        "parcels": Field("list", fields=_PARCEL_REF),
    },
    "parcel": {
        "tracking_number": _AN_ID,
        "order_id": _ID,
        "status": _words(ParcelStatus, is_needed=True),
        "carrier": _TEXT,
        "expected_at": _TIME,
        "events": Field("list", fields=_EVENT),
    },
    "product": {"id": _AN_ID, "title": _A_TEXT, "variants": Field("list", is_needed=True, fields=_VARIANT)},
    "payment_method": _METHOD,
}
"""Record -> its fields."""

TYPES: Mapping[FieldType, frozenset[str]] = {
    "text": frozenset({"text", "id"}),
    "texts": frozenset({"text"}),
    "id": frozenset({"id", "text"}),
    "integer": frozenset({"integer"}),
    "money": frozenset({"money"}),
    "time": frozenset({"time", "date"}),
    "word": frozenset({"text", "boolean"}),
    "record": frozenset(),
    "list": frozenset(),
}
"""What a file can say a field's type is."""
