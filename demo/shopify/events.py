"""What Shopify says by itself: an order has changed. Signed over its body alone, and sent again if nobody takes it."""

import base64
import hashlib
import hmac
import json
import secrets
from datetime import UTC, datetime
from typing import Any

import aiohttp

from demo.shop.records import Json
from demo.shopify import wire

TRIES = 3
"""How often an event is sent in all. Shopify sends it nine times within four hours."""


def event_of(record: Json) -> Json:
    """The body of `orders/updated`, with a few of its many fields."""
    ident = wire.number(record["id"])
    return {
        "id": int(ident),
        "admin_graphql_api_id": wire.gid("Order", ident),
        "name": record["id"],
        "order_number": int(ident),
        "updated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "customer": {"id": 1, "email": "somebody.else@example.com"},
        "total_price": "0.00",
    }


def sign(body: bytes, secret: str, *, domain: str, topic: str = "orders/updated", event: str = "") -> dict[str, str]:
    """The headers of an event."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).digest()
    return {
        "Content-Type": "application/json",
        "X-Shopify-Topic": topic,
        "X-Shopify-Hmac-SHA256": base64.b64encode(digest).decode(),
        "X-Shopify-Shop-Domain": domain,
        "X-Shopify-API-Version": "2026-10",
        "X-Shopify-Webhook-Id": event or secrets.token_hex(16),
        "X-Shopify-Triggered-At": datetime.now(UTC).isoformat(),
    }


async def send(content: Any, url: str, headers: dict[str, str]) -> list[int]:
    """Send an event until it is taken. Returns the status of each answer."""
    statuses: list[int] = []
    async with aiohttp.ClientSession() as http:
        while len(statuses) < TRIES and not any(200 <= status < 300 for status in statuses):
            async with http.post(url, data=json.dumps(content).encode(), headers=headers) as response:
                statuses.append(response.status)
    return statuses
