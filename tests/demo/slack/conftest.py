"""A served workspace for each test, without rate limits, and the SDK's client in it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from demo.slack.server import open_workspace
from demo.slack.workspace import Workspace


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    async with open_workspace(rate_limits=False) as opened:
        yield opened


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def client(workspace: Workspace, http: aiohttp.ClientSession) -> AsyncWebClient:
    return AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/", session=http, retry_handlers=[])
