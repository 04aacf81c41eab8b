"""The shipping tool: where a parcel of the customer's own orders is.

What carriers write is passed to the model as data, in separate fields, and never as an instruction.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem, tool
from bot.desk.orders import NO_ORDER_DATA, SHOP_SILENT, day, minute, shop_customer
from bot.shops.port import Parcel, ShippingBackend, ShopUnavailable

SCANS_SHOWN = 6
"""The most scans of one parcel that the model reads, newest first."""

NOT_FOUND = ToolOutput(
    {
        "found": False,
        "message": "There is no such parcel among this customer's orders. Ask them to check the number.",
    },
    ok=False,
)

_TRACKING_NUMBER = re.compile(r"[A-Z0-9][A-Z0-9-]{5,39}")


def read_tracking_number(text: str) -> str:
    """The number as carriers write it: in capitals, without spaces. Raises ValueError if the text is no number."""
    number = text.replace(" ", "").upper()
    if not text.isascii() or not _TRACKING_NUMBER.fullmatch(number):
        raise ValueError("a tracking number has 6 to 40 characters: A-Z, 0-9 and - only")
    return number


TrackingNumber = Annotated[
    str,
    Field(max_length=64),
    AfterValidator(read_tracking_number),
    WithJsonSchema(
        {
            "type": "string",
            "description": "The tracking number, from an order or as the customer wrote it.",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9 -]{5,63}$",
        }
    ),
]


def shipping_tools(shipping: ShippingBackend) -> tuple[Tool, ...]:
    """Returns `check_shipping`."""

    @tool(title="Checking the shipment", private=True, subject="tracking_number", repeatable=True)
    async def check_shipping(context: Context, tracking_number: TrackingNumber) -> ToolOutput:
        """Find out where a parcel of one of the customer's orders is: status, latest scans, expected day."""
        customer = shop_customer(context)
        if customer is None:
            return NO_ORDER_DATA
        try:
            parcel = await shipping.track(customer, tracking_number)
        except ShopUnavailable:
            raise ToolProblem(SHOP_SILENT) from None
        return NOT_FOUND if parcel is None else ToolOutput(_told(parcel, context.customer.zone))

    return (check_shipping,)


def _told(parcel: Parcel, zone: str) -> Mapping[str, Any]:
    """The parcel as the model reads it; empty fields are left out."""
    told: dict[str, Any] = {
        "tracking_number": parcel.tracking_number,
        "carrier": parcel.carrier,
        "order": parcel.order_id,
        "status": parcel.status,
        # The carrier names a day where the parcel goes to, and no moment.
        "expected": day(parcel.expected_at) if parcel.expected_at else "",
        "scans": [
            {"at": minute(event.at, zone), "place": event.location, "carrier_wrote": event.description}
            for event in parcel.events[:SCANS_SHOWN]
        ],
    }
    return {name: value for name, value in told.items() if value}
