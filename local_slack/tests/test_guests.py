"""Guests, whom Slack keeps out of agents and assistants, and of no other apps."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.tests.apps import SocketApp, acts
from local_slack.workspace import AppKind, Workspace

GUEST = {"user": "U0GUEST"}
IN_CHANNEL, IN_DIRECT = GUEST | {"channel": "C0SUPPORT"}, GUEST | {"channel": "D0GUEST"}
BUTTON: dict[str, Any] = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
CLOSED = "user_is_restricted"


async def errors(workspace: Workspace, client: AsyncWebClient) -> set[str]:
    """What a guest is answered to each use of the app; "" to what is done."""
    blocks = [{"type": "actions", "elements": [BUTTON]}]
    ts = (await client.chat_postMessage(channel="C0SUPPORT", text="Press", blocks=blocks))["ts"]
    uses: list[tuple[str, dict[str, Any]]] = [
        ("open_home", GUEST),
        ("open_dm_tab", GUEST),
        ("send", IN_DIRECT | {"text": "hello"}),
        ("upload", IN_DIRECT | {"name": "a.txt", "content": "x"}),
        ("command", IN_CHANNEL | {"command": "/kb", "text": "status"}),
        ("global_shortcut", GUEST | {"callback_id": "ask"}),
        ("message_shortcut", IN_CHANNEL | {"ts": ts, "callback_id": "ask"}),
        ("click", IN_CHANNEL | {"ts": ts, "action_id": "go"}),
    ]
    return {(await acts(workspace, act, **given)).get("error", "") for act, given in uses}


@pytest.mark.parametrize("kind", ["agent", "assistant"])
async def test_an_agent_or_assistant_is_closed_to_guests_and_hears_of_them_in_channels_alone(
    kind: AppKind, workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    workspace.kind = kind
    assert await errors(workspace, client) == {CLOSED}
    begun = await acts(workspace, "start_assistant", **GUEST)
    assert begun["error"] == {"agent": "assistant_not_found", "assistant": CLOSED}[kind]
    await acts(workspace, "look_at", **IN_CHANNEL)
    await acts(workspace, "send", **IN_CHANNEL, text="hello")
    heard = []
    while (event := (await app.frame())["payload"]["event"]).get("text") != "hello":
        heard.append((event["type"], event.get("user")))
    assert heard == [("message", "U0FRONTDESK")], "its own post"
    assert not workspace.messages.get("D0GUEST")


async def test_what_a_closed_app_sends_a_guest_is_taken_and_cannot_be_used(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    ts = (await client.chat_postMessage(channel="D0GUEST", text="Hello"))["ts"]
    assert (await acts(workspace, "react", **IN_DIRECT, ts=ts, name="eyes"))["error"] == CLOSED
    assert (await acts(workspace, "send", **IN_DIRECT, thread_ts=ts, text="Hi"))["error"] == CLOSED


async def test_other_apps_are_open_to_guests(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    workspace.kind = "plain"
    assert CLOSED not in await errors(workspace, client)
    assert [message["user"] for message in workspace.messages["D0GUEST"].values()] == ["U0GUEST"] * 2


@pytest.mark.parametrize("user", ["U0STRANGER", "U0CUSTOMERA"])
async def test_an_agent_is_open_to_members_and_to_people_of_other_workspaces(user: str, workspace: Workspace) -> None:
    assert (await acts(workspace, "open_home", user=user))["ok"]
