"""How EasyPost writes trackers and events, and how it signs these.

The shapes are those of its documentation and of the recordings in its own library, as of November 2026.
"""

import hashlib
import hmac
import unicodedata
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

Json = dict[str, Any]

TEST_NUMBERS = {
    "EZ1000000001": "pre_transit",
    "EZ2000000002": "in_transit",
    "EZ3000000003": "out_for_delivery",
    "EZ4000000004": "delivered",
    "EZ5000000005": "return_to_sender",
    "EZ6000000006": "failure",
    "EZ7000000007": "unknown",
}
"""The numbers that EasyPost knows in its test mode, and their status."""
STATUSES = {
    "label_created": ("pre_transit", "label_created"),
    "in_transit": ("in_transit", "arrived_at_facility"),
    "out_for_delivery": ("out_for_delivery", "out_for_delivery"),
    "delivery_attempted": ("failure", "delivery_exception"),
    "ready_for_pickup": ("available_for_pickup", "arrived_at_pickup_location"),
    "delivered": ("delivered", "arrived_at_destination"),
    "delayed": ("in_transit", "delayed"),
    "lost": ("failure", "lost"),
    "returning": ("return_to_sender", "return"),
    "returned": ("return_to_sender", "return"),
}
"""The status of a parcel of demo/shop -> EasyPost's status and its detail."""


def tracker(ident: str, number: str, *, carrier: str, status: str, detail: str, scans: list[Json]) -> Json:
    """A Tracker."""
    now = moment(datetime.now(UTC))
    return {
        "id": ident,
        "object": "Tracker",
        "mode": "test",
        "tracking_code": number,
        "status": status,
        "status_detail": detail,
        "created_at": now,
        "updated_at": now,
        "signed_by": None,
        "weight": 17.6,
        "est_delivery_date": None,
        "shipment_id": None,
        "carrier": carrier,
        "tracking_details": scans,
        "carrier_detail": {"object": "CarrierDetail", "service": "Ground", "guaranteed_delivery_date": None},
        "finalized": True,
        "is_return": False,
        "public_url": f"https://track.easypost.example/{ident}",
        "fees": [],
    }


def scan(message: str, status: str, *, at: str, city: str = "", carrier: str = "") -> Json:
    """A TrackingDetail."""
    place = {"object": "TrackingLocation", "city": city or None, "state": None, "country": None, "zip": None}
    return {
        "object": "TrackingDetail",
        "message": message,
        "description": "",
        "status": status,
        "status_detail": "status_update",
        "datetime": at,
        "source": carrier,
        "carrier_code": "",
        "tracking_location": place,
    }


def event(ident: str, result: Json, *, before: str) -> Json:
    """An Event about a tracker whose status was another one before."""
    now = moment(datetime.now(UTC))
    return {
        "id": ident,
        "object": "Event",
        "created_at": now,
        "updated_at": now,
        "description": "tracker.updated",
        "mode": "test",
        "previous_attributes": {"status": before},
        "pending_urls": [],
        "completed_urls": [],
        "result": result,
    }


def error(code: str, message: str) -> Json:
    """The body of an error."""
    return {"error": {"code": code, "message": message, "errors": []}}


def sign(body: bytes, secret: str, *, path: str, at: datetime | None = None) -> dict[str, str]:
    """The headers of an event: the older signature over its body, and the newer one over more."""
    timestamp = format_datetime(at or datetime.now(UTC))
    return {
        "Content-Type": "application/json",
        "X-Hmac-Signature": _digest(secret, body),
        "X-Hmac-Signature-V2": _digest(secret, f"{timestamp}POST{path}".encode() + body),
        "X-Timestamp": timestamp,
        "X-Path": path,
    }


def _digest(secret: str, signed: bytes) -> str:
    key = unicodedata.normalize("NFKD", secret).encode()
    return f"hmac-sha256-hex={hmac.new(key, signed, hashlib.sha256).hexdigest()}"


def moment(at: datetime) -> str:
    """A time as EasyPost writes it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
