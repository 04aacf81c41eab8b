"""Parcels that EasyPost tracks (https://docs.easypost.com, November 2026).

open_easypost    The connector.
EasyPostParcels  A ParcelBackend. It has a tracker made once for each number, and reads it from then on.

Who owns a parcel is not asked here: only numbers that an order of the customer names get this far.
"""

import base64
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic import ValidationError
from yarl import URL

from bot.alerts import Alerts
from bot.conversation import ShopCustomer
from bot.shops.declared.answers import read_json
from bot.shops.declared.expressions import Unusable
from bot.shops.declared.file import Limits
from bot.shops.declared.pace import Pace
from bot.shops.easypost.reading import read_tracker
from bot.shops.easypost.trackers import Trackers
from bot.shops.lookups import within
from bot.shops.port import Order, Parcel, ShopRefuses, ShopUnavailable
from bot.shops.rest_client import faulty_fields
from bot.shops.transport import Reply, Transport, open_transport
from bot.store.database import Database

logger = logging.getLogger(__name__)

LIVE = "https://api.easypost.com"
HOOK_PATH = "/hooks/easypost"
"""Where EasyPost says that a tracker has changed."""
BUSY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""How long EasyPost is left alone after the first, second … 429 in a row, unless it says so itself."""
_TRACKER_ID = re.compile(r"trk_[A-Za-z0-9]{1,60}")
_JSON = {"Content-Type": "application/json"}


@asynccontextmanager
async def open_easypost(
    key: str,
    *,
    url: str = LIVE,
    carriers: Mapping[str, str] | None = None,
    has_webhook: bool = False,
    database: Database | None = None,
    limits: Limits | None = None,
) -> AsyncIterator["EasyPostParcels"]:
    """The connector. It connects at the first question.

    `carriers`: the orders' word for a carrier -> EasyPost's. For other words EasyPost finds the carrier by the number.
    `has_webhook`: whether `check` looks for a webhook to HOOK_PATH.
    """
    limits = limits or Limits()
    basic = base64.b64encode(f"{key}:".encode()).decode()
    headers = {"Authorization": f"Basic {basic}"}
    async with open_transport(headers, limit=limits.bytes, connections=limits.at_once) as transport:
        yield EasyPostParcels(url, transport, Trackers(database), limits, carriers or {}, has_webhook=has_webhook)


class EasyPostParcels:
    """Parcels at EasyPost."""

    def __init__(
        self,
        url: str,
        transport: Transport,
        trackers: Trackers,
        limits: Limits,
        carriers: Mapping[str, str],
        *,
        has_webhook: bool,
    ) -> None:
        self._url = url.rstrip("/")
        self._transport = transport
        self._trackers = trackers
        self._pace = Pace(limits)
        self._seconds = limits.seconds
        self._carriers = carriers
        self._has_webhook = has_webhook
        self._busy = 0
        self._alerts = Alerts()

    async def parcel_of(self, customer: ShopCustomer, orders: Sequence[Order], tracking_number: str) -> Parcel | None:
        """See ParcelBackend. A number that EasyPost cannot track is a parcel of which nothing is known.

        A tracker costs money, so none is made for a number that no order names.
        """
        order = next(iter(orders), None)
        if order is None:
            return None
        carrier = next((each.carrier for each in order.parcels if each.tracking_number == tracking_number), "")
        async with within(self._seconds):
            tracker = await self._tracker(tracking_number, carrier, order.id)
        if tracker is None:
            return Parcel(tracking_number, carrier, order.id, "unknown", None, ())
        try:
            answer = read_tracker(tracker, carrier=carrier)
        except Unusable as fault:
            raise self._unusable([fault.field]) from None
        except ValidationError as error:
            raise self._unusable(faulty_fields(error)) from None
        if answer.tracking_number != tracking_number:
            raise ShopUnavailable("EasyPost answered with another parcel than it was asked for")
        return answer.read(order.id)

    async def check(self) -> list[str]:
        """See Connector. It asks for one tracker, and whether EasyPost sends its events here."""
        async with within(self._seconds):
            await self._ask("GET", "/v2/trackers?page_size=1", "trackers")
            if not self._has_webhook:
                return []
            answer = await self._ask("GET", "/v2/webhooks", "webhooks")
        listed = answer.get("webhooks") if isinstance(answer, Mapping) else None
        if any(_leads_here(each) for each in listed or ()):
            return []
        return [f"EasyPost has no enabled webhook whose address ends in {HOOK_PATH}, so it tells of no change"]

    async def _tracker(self, number: str, carrier: str, order: str) -> Any | None:
        """The tracker of the number, made if there is none. None if EasyPost cannot track the number."""
        if ident := await self._trackers.find(number):
            found = await self._ask("GET", f"/v2/trackers/{ident}", "tracker", missing=(404,))
            if found is not None:
                return found
        wanted = {"tracking_code": number}
        if named := self._carriers.get(carrier):
            wanted["carrier"] = named
        body = orjson.dumps({"tracker": wanted})
        made = await self._ask("POST", "/v2/trackers", "tracker", body, missing=(400, 422))
        if made is None:
            self._alerts.tell(logger, "EasyPost cannot track a number", about=carrier, carrier=carrier)
            return None
        if isinstance(made, Mapping) and made.get("tracking_code") == number:
            ident = str(made.get("id"))
            if not _TRACKER_ID.fullmatch(ident):
                raise self._unusable(["id"])
            await self._trackers.save(number, ident, order=order)
        return made

    async def _ask(
        self, method: str, path: str, what: str, body: bytes | None = None, *, missing: Sequence[int] = ()
    ) -> Any | None:
        """The body of an answer. None for one of the statuses in `missing`. Raises ShopUnavailable."""
        url, headers = URL(self._url + path, encoded=True), _JSON if body else None
        reply = await self._pace.exchange(lambda: self._transport.ask(method, url, headers=headers, body=body))
        return self._read(reply, what, missing)

    def _read(self, reply: Reply, what: str, missing: Sequence[int]) -> Any | None:
        if reply.status == 429:
            after = reply.headers.get("Retry-After") or f"{BUSY_SECONDS[min(self._busy, len(BUSY_SECONDS) - 1)]:.0f}"
            self._busy += 1
            raise self._pace.throttled(after)
        self._busy = 0
        if reply.status in (401, 403):
            self._alerts.tell(logger, "EasyPost refuses the key", about="", status=reply.status)
            raise ShopRefuses(f"EasyPost refuses the key with status {reply.status}")
        if reply.status in missing:
            return None
        if reply.status not in (200, 201):
            raise ShopUnavailable(f"EasyPost answered with status {reply.status}")
        try:
            return read_json(reply.body)
        except Unusable as fault:
            raise self._unusable([what, fault.field]) from None

    def _unusable(self, fields: Sequence[str]) -> ShopUnavailable:
        self._alerts.tell(logger, "EasyPost's answer is not what its API says", about=str(fields), fields=fields[:8])
        return ShopUnavailable("EasyPost's answer is not what its API says")


def _leads_here(webhook: object) -> bool:
    """Whether it is an enabled webhook to HOOK_PATH."""
    if not isinstance(webhook, Mapping) or webhook.get("disabled_at"):
        return False
    url = webhook.get("url")
    return isinstance(url, str) and urlsplit(url).path.rstrip("/").endswith(HOOK_PATH)
