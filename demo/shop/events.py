"""What the shop says by itself: an order has changed. Signed in the manner of Standard Webhooks, and sent again."""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import aiohttp

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between the tries to send one event."""
REQUEST_SECONDS = 5.0
_LIMIT = 100
"""Events that wait to be sent. The oldest goes when there are more."""


@dataclass(slots=True)
class Webhook:
    """Where events go."""

    url: str
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    waiting: deque[str] = field(default_factory=lambda: deque(maxlen=_LIMIT))
    """Orders."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def secret(self) -> str:
        """The key as both sides write it."""
        return f"whsec_{base64.b64encode(self.key).decode()}"

    def tell(self, order: str) -> None:
        """Send soon that this order has changed."""
        self.waiting.append(order)
        self._news.set()

    async def run(self, http: aiohttp.ClientSession) -> None:
        """Send what waits until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self.waiting:
                await self._send(http, self.waiting.popleft())

    async def _send(self, http: aiohttp.ClientSession, order: str) -> None:
        event = f"evt_{secrets.token_hex(12)}"
        content = {"type": "order.changed", "timestamp": datetime.now(UTC).isoformat(), "data": {"order_id": order}}
        body = json.dumps(content).encode()
        for pause in (*PAUSES, None):
            try:
                async with http.post(self.url, data=body, headers=sign(event, body, self.key)) as response:
                    if response.status not in (429, 503):
                        return
            except (aiohttp.ClientError, OSError):
                pass  # nobody listens yet, or any more
            if pause is not None:
                await asyncio.sleep(pause)


def sign(event: str, body: bytes, key: bytes, *, at: datetime | None = None) -> dict[str, str]:
    """The headers of an event."""
    timestamp = str(int((at or datetime.now(UTC)).timestamp()))
    digest = hmac.new(key, f"{event}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {
        "Content-Type": "application/json",
        "webhook-id": event,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
    }


@asynccontextmanager
async def sending(webhook: Webhook) -> AsyncIterator[None]:
    """Send what it is told until the block is left."""
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        task = asyncio.create_task(webhook.run(http))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
