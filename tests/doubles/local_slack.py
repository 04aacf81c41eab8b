"""A local Slack inside the test's own process, and the product's client in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from bot.clock import Clock
from bot.slack.client import SlackClient, open_slack_client
from local_slack.server import open_workspace
from local_slack.workspace import Workspace


class LocalSlack:
    """The workspace's state, and ways to break it."""

    def __init__(self, workspace: Workspace, client: SlackClient) -> None:
        self.workspace = workspace
        self.client = client

    def texts(self, channel: str) -> list[str]:
        """What stands in a channel, oldest first, below the name of its own that a post has."""
        return [_read(message) for _, message in sorted(self.workspace.messages.get(channel, {}).items())]

    def marks(self, channel: str, ts: str) -> list[str]:
        """The reactions on a message that stands or stood there."""
        message = self.workspace.messages[channel].get(ts, {})
        return [reaction["name"] for reaction in message.get("reactions", ())]

    async def breaks(self, **fault: Any) -> None:
        """See local_slack/local.py."""
        url, query = f"{self.workspace.url}/_local/fault", {"secret": self.workspace.secret}
        async with aiohttp.ClientSession() as http, http.post(url, json=fault, params=query) as response:
            assert response.status == 200, await response.text()


def _read(message: dict[str, Any]) -> str:
    name, text = message.get("username"), str(message["text"])
    return f"*{name}*\n{text}" if name else text


@asynccontextmanager
async def open_local_slack(clock: Clock | None = None) -> AsyncIterator[LocalSlack]:
    """A fresh workspace; `clock` is the client's."""
    async with (
        open_workspace(rate_limits=False) as workspace,
        open_slack_client(token=workspace.bot_token, base_url=f"{workspace.url}/api/", clock=clock) as client,
    ):
        yield LocalSlack(workspace, client)
