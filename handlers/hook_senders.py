"""Who sends signed events: how each one signs, and what its events say.

ShopSender      the shop itself, in the manner of Standard Webhooks (https://www.standardwebhooks.com)
EasyPostSender  EasyPost (https://docs.easypost.com/guides/webhooks-guide, November 2026)
ShopifySender   Shopify (https://shopify.dev/docs/apps/build/webhooks, November 2026)

Every signature is HMAC-SHA256 over the raw bytes, compared in constant time. Nothing unsigned is parsed.
"""

import base64
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from bot.shops.connectors import WebhookKey
from bot.shops.declared.answers import read_json
from bot.shops.declared.expressions import Unusable
from bot.shops.easypost.parcels import HOOK_PATH as EASYPOST_PATH
from bot.shops.order_numbers import read_order_number
from bot.shops.shopify.shop import HOOK_PATH as SHOPIFY_PATH

SHOP_PATH = "/hooks/shop"
SIGNATURE_SECONDS = 300
"""The largest age of a signature with a time, in seconds."""
SIGNATURES_READ = 8
"""Signatures of one request. A shop that changes its secret signs with the old and the new one."""

_ID = re.compile(r"[!-~]{1,200}", re.ASCII)
_SERVICE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,11}", re.ASCII)
_HEX = "hmac-sha256-hex="


@dataclass(frozen=True, slots=True)
class Told:
    """What an event says: look again. It can be about something else, and then it names nothing."""

    event: str
    """The id of the event. It is the same when the event is sent once more."""
    order: str = ""
    tracker: str = ""
    """The service's id of what tracks a parcel."""


class Sender(Protocol):
    """One sender of events."""

    @property
    def path(self) -> str:
        """Where its events arrive."""
        ...

    @property
    def body_limit(self) -> int:
        """The largest of its requests, in bytes."""
        ...

    def is_signed(self, headers: Mapping[str, str], body: bytes, *, now: float) -> bool:
        """Whether somebody who knows the secret signed these bytes."""
        ...

    def read(self, headers: Mapping[str, str], body: bytes) -> Told:
        """What a signed event says. Raises ValueError."""
        ...


def build_senders(shop: bytes, services: Sequence[WebhookKey]) -> list[Sender]:
    """Everybody who may send events: the shop with its key, and services with theirs."""
    senders: list[Sender] = [ShopSender(shop)] if shop else []
    for key in services:
        match key.sender:
            case "easypost":
                senders.append(EasyPostSender(key.secrets))
            case "shopify":
                senders.append(ShopifySender(key.secrets, key.domain))
    return senders


@dataclass(frozen=True, slots=True)
class ShopSender:
    """The shop itself. It signs id, time and body."""

    secret: bytes
    path: str = SHOP_PATH
    body_limit: int = 64 * 1024

    def is_signed(self, headers: Mapping[str, str], body: bytes, *, now: float) -> bool:
        """See Sender. The signature is at most five minutes old."""
        event, timestamp, signatures = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        if not _ID.fullmatch(event) or not _TIMESTAMP.fullmatch(timestamp):
            return False
        if abs(now - int(timestamp)) > SIGNATURE_SECONDS:
            return False
        digest = hmac.new(self.secret, f"{event}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(digest)
        given = [_bytes(each) for each in signatures[:2_000].split(" ")[:SIGNATURES_READ]]
        return any(hmac.compare_digest(expected, each) for each in given)

    def read(self, headers: Mapping[str, str], body: bytes) -> Told:
        """See Sender."""
        event = headers.get("webhook-id", "")
        match _json(body):
            case {"type": "order.changed", "data": {"order_id": str(order)}}:
                return Told(event, order=read_order_number(order))
            case {"type": "order.changed"}:
                raise ValueError("data.order_id is missing or no text")
            case {"type": str()}:
                return Told(event)
            case _:
                raise ValueError("the body is no object with a type")


@dataclass(frozen=True, slots=True)
class EasyPostSender:
    """EasyPost. It signs the body, and in a newer header time, method and path, too.

    One of the two is enough. The older one has no time, so an event can be sent again by whoever saw it. It then
    only makes an order be read once more.
    """

    secrets: Sequence[str]
    path: str = EASYPOST_PATH
    body_limit: int = 1 << 20
    """A tracker comes with all its scans."""

    def is_signed(self, headers: Mapping[str, str], body: bytes, *, now: float) -> bool:
        """See Sender."""
        newer, older = headers.get("X-Hmac-Signature-V2", ""), headers.get("X-Hmac-Signature", "")
        timestamp, path = headers.get("X-Timestamp", "")[:100], headers.get("X-Path", "")[:1_000]
        is_recent = bool(newer) and _is_recent(timestamp, now)
        return any(
            (is_recent and _is_hex_of(newer, secret, _bytes(f"{timestamp}POST{path}") + body))
            or (bool(older) and _is_hex_of(older, secret, body))
            for secret in self.secrets
        )

    def read(self, headers: Mapping[str, str], body: bytes) -> Told:
        """See Sender. Everything else in the event is left: the tracker is read anew."""
        match _json(body):
            case {"id": str(event), "description": str(what), **rest} if _SERVICE_ID.fullmatch(event):
                told = f"easypost/{event}"
                if not what.startswith("tracker."):
                    return Told(told)
                result: Any = rest.get("result")
                tracker = result.get("id") if isinstance(result, Mapping) else None
                if not isinstance(tracker, str) or not _SERVICE_ID.fullmatch(tracker):
                    raise ValueError("result.id is missing or none of EasyPost's")
                return Told(told, tracker=tracker)
            case _:
                raise ValueError("the body is no event with an id and a description")


@dataclass(frozen=True, slots=True)
class ShopifySender:
    """Shopify. It signs the body alone, so an event can be sent again by whoever saw it, as EasyPost's."""

    secrets: Sequence[str]
    domain: str
    """The shop, such as `fernwick.myshopify.com`. Events of other shops are left."""
    path: str = SHOPIFY_PATH
    body_limit: int = 1 << 20
    """An order comes with all its lines."""

    def is_signed(self, headers: Mapping[str, str], body: bytes, *, now: float) -> bool:
        """See Sender. While the secret is changed, the old one may sign, too."""
        del now
        given = _bytes(headers.get("X-Shopify-Hmac-SHA256", ""))
        expected = (hmac.new(secret.encode(), body, hashlib.sha256).digest() for secret in self.secrets)
        return any(hmac.compare_digest(base64.b64encode(digest), given) for digest in expected)

    def read(self, headers: Mapping[str, str], body: bytes) -> Told:
        """See Sender. Orders whose number nobody can write are left, as where orders are read."""
        event = headers.get("X-Shopify-Webhook-Id", "")
        if not _SERVICE_ID.fullmatch(event):
            raise ValueError("the header X-Shopify-Webhook-Id is missing or none of Shopify's")
        told = Told(f"shopify/{event}")
        is_ours = headers.get("X-Shopify-Shop-Domain", "").lower() == self.domain
        if not is_ours or not headers.get("X-Shopify-Topic", "").startswith("orders/"):
            return told
        match _json(body):
            case {"name": str(name)}:
                return replace(told, order=_order_number(name))
            case _:
                raise ValueError("the body is no order with a name")


def _order_number(name: str) -> str:
    try:
        return read_order_number(name)
    except ValueError:
        return ""


def _json(body: bytes) -> object:
    try:
        found: object = read_json(body)
    except Unusable:
        raise ValueError("the body is no JSON that can be used") from None
    return found


def _bytes(text: str) -> bytes:
    """A header's value as it arrived."""
    return text.encode("utf-8", "surrogateescape")


def _is_hex_of(signature: str, secret: str, signed: bytes) -> bool:
    """Whether it is EasyPost's form of the digest. Its libraries normalize the secret (NFKD)."""
    key = unicodedata.normalize("NFKD", secret).encode()
    expected = _HEX + hmac.new(key, signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(_bytes(expected), _bytes(signature))


def _is_recent(timestamp: str, now: float) -> bool:
    """Whether a time as in e-mails (RFC 2822) is at most five minutes away."""
    try:
        at = parsedate_to_datetime(timestamp)
    except (ValueError, IndexError):
        return False
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return abs(now - at.timestamp()) <= SIGNATURE_SECONDS
