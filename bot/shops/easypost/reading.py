"""EasyPost's trackers as our parcels (https://docs.easypost.com/docs/trackers, November 2026).

What a tracker says is data of a carrier. A status that is not listed here, and one that says less than our words do,
becomes `unknown`: the scans are still readable, and nothing is said that could be wrong.
"""

from collections.abc import Mapping
from typing import Any

from bot.shops.declared.expressions import Unusable
from bot.shops.port import ParcelStatus
from bot.shops.wire import ParcelAnswer

STATUSES: Mapping[str, ParcelStatus] = {
    "pre_transit": "label_created",
    "in_transit": "in_transit",
    "out_for_delivery": "out_for_delivery",
    "available_for_pickup": "ready_for_pickup",
    "delivered": "delivered",
    "return_to_sender": "returning",
}
"""EasyPost's words besides these are unknown, failure, cancelled and error. They do not say where the parcel is."""
DETAILS: Mapping[tuple[str, str], ParcelStatus] = {
    ("in_transit", "delayed"): "delayed",
    ("in_transit", "weather_delay"): "delayed",
    ("failure", "lost"): "lost",
    ("failure", "refused"): "returning",
    ("failure", "return"): "returning",
}
"""Status and its detail, where the detail says more."""
OF_RETURNS: Mapping[ParcelStatus, ParcelStatus] = {
    "in_transit": "returning",
    "out_for_delivery": "returning",
    "delivered": "returned",
}
"""What the parcel of a return does: it is on its way to the shop, and not to the customer."""


def read_tracker(tracker: Any, *, carrier: str) -> ParcelAnswer:
    """The parcel. `carrier` is what the order calls it, for a tracker without one.

    Raises Unusable or ValidationError if the answer is no tracker.
    """
    if not isinstance(tracker, Mapping):
        raise Unusable("the body", "is no object")
    details = tracker.get("tracking_details")
    scans = details if isinstance(details, list) else []
    return ParcelAnswer.model_validate(
        {
            "tracking_number": tracker.get("tracking_code"),
            "carrier": tracker.get("carrier") or carrier,
            "status": status_of(tracker),
            "expected_at": tracker.get("est_delivery_date") or None,
            "events": [_event(each) for each in scans if isinstance(each, Mapping) and each.get("datetime")],
        }
    )


def status_of(tracker: Mapping[str, Any]) -> ParcelStatus:
    """The status in our words."""
    word, detail = tracker.get("status"), tracker.get("status_detail")
    if not isinstance(word, str):
        return "unknown"
    status = DETAILS.get((word, detail)) if isinstance(detail, str) else None
    status = status or STATUSES.get(word, "unknown")
    return OF_RETURNS.get(status, status) if tracker.get("is_return") is True else status


def _event(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    place = detail.get("tracking_location")
    parts = [place.get(name) for name in ("city", "state", "country")] if isinstance(place, Mapping) else []
    return {
        "at": detail["datetime"],
        "description": str(detail.get("message") or detail.get("description") or detail.get("status") or ""),
        "location": ", ".join(part for part in parts if isinstance(part, str) and part),
    }
