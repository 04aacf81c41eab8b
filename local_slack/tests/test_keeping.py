"""A workspace in a file: what a restart leaves, what it ends, and which files are refused."""

import asyncio
import json
import sqlite3
import sys
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import acts, error_of
from local_slack.workspace import Workspace
from tests.patience import patience

HERE = "D0CUSTOMERA"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "slack.db"


def opened(file: Path) -> AbstractAsyncContextManager[Workspace]:
    return open_workspace(keep=file, rate_limits=False)


def client_of(workspace: Workspace) -> AsyncWebClient:
    return AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/", retry_handlers=[])


async def test_people_channels_messages_files_and_tokens_are_there_again(file: Path) -> None:
    async with opened(file) as workspace:
        client, token = client_of(workspace), workspace.bot_token
        first = await workspace.act.send("U0CUSTOMERA", HERE, "frist")
        await workspace.act.edit("U0CUSTOMERA", HERE, first, "first")
        gone = await workspace.act.send("U0CUSTOMERA", HERE, "gone")
        await workspace.act.delete("U0CUSTOMERA", HERE, gone)
        await workspace.act.react("U0CUSTOMERA", HERE, first, "eyes")
        shared = await workspace.act.upload("U0CUSTOMERA", HERE, "log.txt", "it broke")
        made = (await client.conversations_create(name="returns"))["channel"]["id"]
        await acts(workspace, "change_usergroup", user="U0AGENTA", usergroup="S0ONCALL", users="U0AGENTB")
        await client.agents_sessions_setStatus(channel_id=HERE, thread_ts=first, status="suspended", title="An order")
        await client.views_publish(user_id="U0CUSTOMERA", view={"type": "home", "blocks": [{"type": "divider"}]})
    async with opened(file) as workspace:
        client = client_of(workspace)
        assert workspace.bot_token == token
        history = (await client.conversations_history(channel=HERE))["messages"]
        assert [message["ts"] for message in history] == [shared, first]
        assert (history[1]["text"], history[1]["reactions"][0]["name"]) == ("first", "eyes")
        assert workspace.channels[made].name == "returns"
        assert workspace.usergroups["S0ONCALL"].users == ["U0AGENTB"]
        assert workspace.sessions[HERE, first]["title"] == "An order"
        assert workspace.homes["U0CUSTOMERA"]["type"] == "home"
        assert workspace.uploads[history[0]["files"][0]["id"]] == b"it broke"
        known = (await client.files_info(file=history[0]["files"][0]["id"]))["file"]
        assert known["url_private"] == history[0]["files"][0]["url_private"]
        assert known["url_private"].startswith(workspace.url)
        later = await workspace.act.send("U0CUSTOMERA", HERE, "later", thread_ts=first)
    async with opened(file) as workspace:
        assert [message["ts"] for message in workspace.replies(HERE, first)] == [first, later]


async def test_a_stream_that_was_running_has_ended(file: Path) -> None:
    async with opened(file) as workspace:
        client = client_of(workspace)
        root = await workspace.act.send("U0CUSTOMERA", HERE, "hello")
        ts = (await client.chat_startStream(channel=HERE, thread_ts=root, markdown_text="Well, **now**"))["ts"]
    async with opened(file) as workspace:
        assert (workspace.message(HERE, ts)["text"], workspace.streams[HERE, ts].state) == ("Well, *now*", "expired")
        more = client_of(workspace).chat_appendStream(channel=HERE, ts=ts, markdown_text="more")
        assert await error_of(more) == "message_not_in_streaming_state"
    async with opened(file) as workspace:
        assert workspace.message(HERE, ts)["streaming_state"] == "completed"


async def test_a_given_token_counts_more_than_the_kept_one(file: Path) -> None:
    async with opened(file):
        pass
    async with open_workspace(keep=file, bot_token="xoxb-given") as workspace:
        assert workspace.bot_token == "xoxb-given"


async def test_a_killed_process_leaves_its_workspace(file: Path) -> None:
    command = (sys.executable, "-m", "local_slack", "--port", "0", "--keep", str(file))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(patience(20)), aiohttp.ClientSession() as session:
        told = json.loads(await process.stdout.readline())
        said = {"user": "U0CUSTOMERA", "channel": HERE, "text": "hello"}
        url, query = f"{told['url']}/_local/act/send", {"secret": told["secret"]}
        async with session.post(url, params=query, json=said) as response:
            ts = (await response.json())["ts"]
        await asyncio.to_thread(wait_until_written, file)
        process.kill()
        await process.wait()
    async with opened(file) as workspace:
        assert workspace.message(HERE, ts)["text"] == "hello"
        assert workspace.bot_token == told["bot_token"]


def wait_until_written(file: Path) -> None:
    database = sqlite3.connect(file)
    try:
        while not database.execute("SELECT count(*) FROM messages").fetchone()[0]:
            time.sleep(0.01)
    finally:
        database.close()


@pytest.mark.parametrize("kind", ["text", "other"])
def test_a_file_that_is_no_workspace_is_refused_and_left_alone(file: Path, kind: str) -> None:
    if kind == "text":
        file.write_text("no database " * 100)
    else:
        other = sqlite3.connect(file)
        other.execute("CREATE TABLE theirs (a)")
        other.close()
    before = file.read_bytes()

    async def start() -> None:
        async with opened(file):
            pass

    with pytest.raises(ValueError, match="cannot be used"):
        asyncio.run(start())
    assert file.read_bytes() == before
