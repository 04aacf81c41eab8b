"""A server that takes the events of one sender, and records what is accepted."""

import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp.test_utils import TestClient, TestServer

from bot.actions.shop_events import ShopEvents
from handlers.hook_senders import Sender
from handlers.http import Serving, build_web_app


@dataclass(slots=True)
class Events:
    """Records what is accepted, or raises."""

    accepted: list[tuple[str, str]] = field(default_factory=list)
    """Event, and the order or the tracker."""
    error: Exception | None = None

    async def accept(self, event: str, order: str) -> None:
        if self.error:
            raise self.error
        self.accepted.append((event, order))

    async def accept_parcel(self, event: str, tracker: str) -> None:
        await self.accept(event, tracker)


@asynccontextmanager
async def listening(sender: Sender, events: Events) -> AsyncIterator[TestClient[Any, Any]]:
    """A client of the server."""
    serving = Serving(shop_events=cast(ShopEvents, events))
    app = build_web_app(serving, metrics=None, takes_events=False, senders=[sender])
    async with TestClient(TestServer(app)) as client:
        yield client


async def post(client: TestClient[Any, Any], sender: Sender, body: bytes, headers: Mapping[str, str]) -> int:
    """Send an event. Returns the status of the answer."""
    async with client.post(sender.path, data=io.BytesIO(body), headers=headers) as response:
        return response.status
