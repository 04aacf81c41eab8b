"""Every paged call stays at or below what Slack documents, and reads a list of several pages to its end."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bot.slack.api import transport
from bot.slack.api.transport import PAGE_LIMITS
from bot.slack.client import SlackClient
from local_slack.workspace import Channel, User, Workspace
from tests.doubles.local_slack import LocalSlack, open_local_slack

DOCUMENTED = {
    "conversations.history": 999,
    "conversations.members": 999,
    "conversations.replies": 1_000,
    "users.conversations": 999,
}
"""The largest `limit` of each method's reference page."""
CHANNEL = "C0SUPPORT"
ITEMS = 1_100
"""More than fit on one page of any method."""

Read = Callable[[SlackClient, str], Awaitable[int]]


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with open_local_slack() as slack:
        yield slack


def fill(workspace: Workspace) -> str:
    """Give the channel many members, messages, and replies to one of them, whose ts comes back."""
    root = workspace.new_ts()
    for number in range(ITEMS):
        user = User(f"U0MANY{number}", f"many.{number}", f"Many {number}")
        workspace.users[user.id] = user
        channel = Channel(f"C0MANY{number}", f"many-{number}", members=["U0FRONTDESK"])
        workspace.channels[channel.id] = channel
        workspace.channels[CHANNEL].members.append(user.id)
        said = {"type": "message", "user": user.id, "text": "Hello"}
        workspace.keep_message(CHANNEL, said | {"ts": workspace.new_ts() if number else root})
        workspace.keep_message(CHANNEL, said | {"ts": workspace.new_ts(), "thread_ts": root})
    return root


async def count_members(slack: SlackClient, _: str) -> int:
    return len([member for member in await slack.directory.members(CHANNEL) if member.startswith("U0MANY")])


async def count_messages(slack: SlackClient, _: str) -> int:
    return len({message["ts"] for message in await slack.chat.history(CHANNEL)})


async def count_replies(slack: SlackClient, root: str) -> int:
    return len({message["ts"] for message in await slack.chat.replies(CHANNEL, root)}) - 1


async def count_channels(slack: SlackClient, _: str) -> int:
    return len([channel for channel in await slack.directory.channels() if channel.startswith("C0MANY")])


READS: dict[str, Read] = {
    "conversations.history": count_messages,
    "conversations.members": count_members,
    "conversations.replies": count_replies,
    "users.conversations": count_channels,
}


@pytest.mark.parametrize("method", PAGE_LIMITS)
async def test_a_list_of_several_pages_is_read_whole_with_documented_limits(slack: LocalSlack, method: str) -> None:
    root = fill(slack.workspace)
    assert await READS[method](slack.client, root) == ITEMS
    asked = [entry["detail"]["args"] for entry in slack.workspace.log if entry["name"] == method]
    assert len(asked) > 1
    assert {int(args["limit"]) for args in asked} == {PAGE_LIMITS[method]}
    assert PAGE_LIMITS[method] <= DOCUMENTED[method]


def test_the_table_names_every_paged_call() -> None:
    calls = "".join(path.read_text("utf-8") for path in Path(transport.__file__).parent.glob("*.py"))
    paged = re.findall(r'self\._api\.pages\(\s*"([^"]+)"', calls)
    assert sorted(set(paged)) == sorted(PAGE_LIMITS)
    assert calls.count("cursor=cursor") == 1, "a paged call goes through SlackApi.pages, which reads the table"
