"""A server that answers by script, and the model behind it, for tests of what goes over the wire."""

from collections.abc import AsyncIterator

import pytest

from bot.agent.model import Model
from bot.models.providers import Server, open_model
from tests.doubles.chat_server import ChatServer, open_chat_server


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with open_chat_server() as opened:
        yield opened


@pytest.fixture
async def model(server: ChatServer) -> AsyncIterator[Model]:
    """By Chat Completions."""
    async with open_model("model-1", Server("key-1", server.url)) as opened:
        yield opened
