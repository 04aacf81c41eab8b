"""`/_local/*`: acting, looking and breaking things over HTTP, and who may."""

import asyncio
import json
import os
import signal
import sys
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.changes import Change
from local_slack.server import open_workspace
from local_slack.tests.apps import connected, error_of
from local_slack.tests.test_org import ORG
from local_slack.workspace import Workspace
from tests.patience import patience

SAY: dict[str, Any] = {"user": "U0CUSTOMERA", "channel": "D0CUSTOMERA", "text": "hello"}


@pytest.fixture
def http(workspace: Workspace, http: aiohttp.ClientSession) -> aiohttp.ClientSession:
    """Knows the secret."""
    http.headers["secret"] = workspace.secret
    return http


async def post(http: aiohttp.ClientSession, url: str, body: object) -> tuple[int, dict[str, object]]:
    async with http.post(url, json=body) as response:
        return response.status, await response.json()


async def test_a_person_acts_and_the_state_shows_it(workspace: Workspace, http: aiohttp.ClientSession) -> None:
    status, answer = await post(http, f"{workspace.url}/_local/act/send", SAY)
    async with http.get(f"{workspace.url}/_local/state", params={"channel": "D0CUSTOMERA"}) as response:
        state = await response.json()
    assert (status, answer["ok"]) == (200, True)
    assert [message["ts"] for message in state["messages"]["D0CUSTOMERA"]] == [answer["ts"]]


@pytest.mark.parametrize(
    ("act", "body", "error"),
    [
        ("sing", SAY, "unknown act"),
        ("send", {"user": "U0CUSTOMERA"}, "missing field: channel"),
        ("send", SAY | {"channel": "C0AGENTS"}, "not_in_channel"),
        ("click", SAY | {"ts": "1.1", "action_id": "x"}, "message_not_found"),
    ],
)
async def test_a_wrong_act_is_refused_in_words(
    workspace: Workspace, http: aiohttp.ClientSession, act: str, body: dict[str, str], error: str
) -> None:
    status, answer = await post(http, f"{workspace.url}/_local/act/{act}", body)
    assert status == 400
    assert str(answer["error"]).startswith(error)


async def test_changes_are_waited_for(workspace: Workspace, http: aiohttp.ClientSession) -> None:
    seen: list[Change] = []
    unsubscribe = workspace.subscribe(seen.append)
    before = workspace.counter
    url = f"{workspace.url}/_local/changes"
    waiting = asyncio.create_task(http.get(url, params={"after": before, "timeout": "5"}).__aenter__())
    ts = await workspace.act.send(**SAY)
    async with await waiting as response:
        assert (await response.json())["n"] > before
    async with http.get(url, params={"after": workspace.counter, "timeout": "0"}) as response:
        assert (await response.json())["n"] == workspace.counter
    assert Change("message", "D0CUSTOMERA", ts) in seen
    unsubscribe()


async def test_the_secret_and_a_loopback_name_are_needed(workspace: Workspace) -> None:
    async with aiohttp.ClientSession() as session:
        status, _ = await post(session, f"{workspace.url}/_local/act/send", SAY)
        assert status == 403
        async with session.get(f"{workspace.url}/api/api.test", headers={"Host": "evil.example"}) as response:
            assert response.status == 403
        async with session.get(f"{workspace.url}/_local/log?secret={workspace.secret}") as response:
            assert response.status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com"])  # noqa: S104
async def test_only_loopback_is_bound(host: str) -> None:
    with pytest.raises(ValueError, match="loopback only"):
        async with open_workspace(host=host):
            pass


@pytest.mark.parametrize(
    ("fault", "status"), [("429", 429), ("500", 500), ("503", 503), ("html", 200), ("fatal_error", 200)]
)
async def test_a_call_fails_as_often_as_it_was_asked_to(
    workspace: Workspace, http: aiohttp.ClientSession, client: AsyncWebClient, fault: str, status: int
) -> None:
    await post(http, f"{workspace.url}/_local/fault", {"method": "chat.postMessage", "do": fault, "seconds": 7})
    with pytest.raises(SlackApiError) as failed:
        await client.chat_postMessage(channel="C0SUPPORT", text="x")
    assert getattr(failed.value.response, "status_code", status) == status
    await client.chat_postMessage(channel="C0SUPPORT", text="x")
    assert len(workspace.messages["C0SUPPORT"]) == 1


async def test_a_lost_answer_leaves_the_message_and_a_dropped_call_does_not(
    workspace: Workspace, http: aiohttp.ClientSession, client: AsyncWebClient
) -> None:
    for fault in ("lost", "drop"):
        await post(http, f"{workspace.url}/_local/fault", {"method": "chat.postMessage", "do": fault})
        with pytest.raises(aiohttp.ClientError):
            await client.chat_postMessage(channel="C0SUPPORT", text=fault)
    assert [message["text"] for message in workspace.messages["C0SUPPORT"].values()] == ["lost"]


async def test_deliveries_are_doubled_and_sockets_cut(workspace: Workspace, http: aiohttp.ClientSession) -> None:
    async with connected(workspace) as app:
        await post(http, f"{workspace.url}/_local/fault", {"deliveries": "duplicate"})
        await workspace.act.send(**SAY)
        first, second = await app.frame(), await app.frame()
        assert first["payload"]["event_id"] == second["payload"]["event_id"]
        assert first["envelope_id"] != second["envelope_id"]
        await post(http, f"{workspace.url}/_local/fault", {"sockets": "cut"})
        assert await app.ended()
    status, _ = await post(http, f"{workspace.url}/_local/fault", {"weather": "rain"})
    assert status == 400


async def test_faults_can_be_cleared(workspace: Workspace, http: aiohttp.ClientSession, client: AsyncWebClient) -> None:
    await post(http, f"{workspace.url}/_local/fault", {"method": "*", "do": "fatal_error", "count": 5})
    assert await error_of(client.auth_test()) == "fatal_error"
    await post(http, f"{workspace.url}/_local/fault", {"clear": True})
    await client.auth_test()


async def test_the_log_tells_calls_and_hides_tokens(
    workspace: Workspace, http: aiohttp.ClientSession, client: AsyncWebClient
) -> None:
    await client.chat_postMessage(channel="C0SUPPORT", text="x")
    async with http.get(f"{workspace.url}/_local/log", params={"kind": "call"}) as response:
        text = await response.text()
    (entry,) = json.loads(text)["entries"]
    assert (entry["name"], entry["ok"], entry["detail"]["args"]["text"]) == ("chat.postMessage", True, "x")
    assert workspace.bot_token not in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--host", "0.0.0.0"), "loopback only"),  # noqa: S104
        (("--config", "nowhere.yml"), "nowhere.yml"),
    ],
)
async def test_the_program_says_why_it_does_not_start(arguments: tuple[str, str], reason: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "local_slack", "--port", "0", *arguments, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(patience(20)):
        _, said = await process.communicate()
    assert process.returncode == 1
    assert said.decode().count("\n") == 1
    assert reason in said.decode()


async def test_the_program_prints_one_line_and_ends_on_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "local_slack", "--port", "0", "--config", str(ORG)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(patience(20)):
        told = json.loads(await process.stdout.readline())
        client = AsyncWebClient(token=told["bot_token"], base_url=told["api_url"])
        assert (await client.auth_test())["user_id"] == told["bot_user"]
        assert told["app_token"].startswith("xapp-")
        assert told["signing_secret"]
        assert (told["users"]["visitor.f"], told["channels"]["second-support"]) == ("U0VISITOR", "C0SECOND")
        assert told["direct_messages"]["customer.a"] == "D0CUSTOMERA"
        os.kill(process.pid, signal.SIGTERM)
        assert await process.wait() == 0
