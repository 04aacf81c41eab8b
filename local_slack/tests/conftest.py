"""A served workspace for each test, without rate limits, and the SDK's client in it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import ManualClock, SocketApp, connected
from local_slack.workspace import Rules, Workspace


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    async with open_workspace(rate_limits=False) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def still(clock: ManualClock) -> AsyncIterator[Workspace]:
    """A workspace whose time stands still."""
    async with open_workspace(clock=clock, rules=Rules(rate_limits=False)) as opened:
        yield opened


@pytest.fixture
async def app(workspace: Workspace) -> AsyncIterator[SocketApp]:
    async with connected(workspace) as opened:
        yield opened


@pytest.fixture
async def deaf(workspace: Workspace) -> AsyncIterator[SocketApp]:
    """Connected, and hears no events, so that only interactions arrive."""
    workspace.subscriptions = frozenset()
    async with connected(workspace) as opened:
        yield opened


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def client(workspace: Workspace, http: aiohttp.ClientSession) -> AsyncWebClient:
    return AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/", session=http, retry_handlers=[])
