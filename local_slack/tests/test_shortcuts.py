"""Shortcuts, options that the app offers while somebody types, and the ways in which a view ends."""

import asyncio
import logging
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from local_slack.server import open_workspace
from local_slack.tests.apps import HttpApp, SocketApp, listening
from local_slack.tests.test_interactivity import MODAL, PLAIN, acknowledged
from local_slack.workspace import SlackError, Workspace
from tests.patience import patience

SEARCH = {"type": "external_select", "action_id": "order", "min_query_length": 2}
CARD = [{"type": "actions", "block_id": "orders", "elements": [SEARCH]}]
FOUND: list[dict[str, Any]] = [
    {"text": {"type": "plain_text", "text": f"ORD-{number}"}, "value": str(number)} for number in (1001, 1002)
]


@pytest.fixture
def app(deaf: SocketApp) -> SocketApp:
    return deaf


async def opened(workspace: Workspace, client: AsyncWebClient, app: SocketApp, **view: Any) -> dict[str, Any]:
    payload, _ = await acknowledged(workspace.act.global_shortcut("U0AGENTA", "ask"), app)
    shown: dict[str, Any] = (await client.views_open(trigger_id=payload["trigger_id"], view=MODAL | view))["view"]
    return shown


async def test_a_global_shortcut_opens_a_modal(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    payload, ack = await acknowledged(workspace.act.global_shortcut("U0AGENTA", "ask"), app)
    assert ack.ok
    assert (payload["type"], payload["callback_id"], payload["user"]["id"]) == ("shortcut", "ask", "U0AGENTA")
    assert payload["action_ts"]
    assert not payload.keys() & {"channel", "response_url", "message"}
    await client.views_open(trigger_id=payload["trigger_id"], view=MODAL)
    assert workspace.modals["U0AGENTA"]


async def test_a_message_shortcut_carries_the_message_and_ways_to_answer(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    ts = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "Where is my order?")
    payload, _ = await acknowledged(workspace.act.message_shortcut("U0AGENTA", "C0SUPPORT", ts, "case"), app)
    assert (payload["type"], payload["callback_id"]) == ("message_action", "case")
    assert payload["message_ts"] == payload["message"]["ts"] == ts
    assert payload["message"]["text"] == "Where is my order?"
    assert payload["channel"] == {"id": "C0SUPPORT", "name": "support"}
    await client.views_open(trigger_id=payload["trigger_id"], view=MODAL)
    await AsyncWebhookClient(payload["response_url"]).send(text="noted")
    assert (workspace.ephemerals[-1]["text"], workspace.ephemerals[-1]["user"]) == ("noted", "U0AGENTA")
    with pytest.raises(SlackError, match="not_in_channel"):
        await workspace.act.message_shortcut("U0CUSTOMERA", "C0AGENTS", ts, "case")


async def test_only_installed_shortcuts_are_offered() -> None:
    shortcuts = [{"name": "Ask", "type": "global", "callback_id": "ask", "description": "x"}]
    async with open_workspace(config={"shortcuts": shortcuts}) as workspace:
        ts = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "hello")
        with pytest.raises(SlackError, match="shortcut_not_found"):
            await workspace.act.message_shortcut("U0CUSTOMERA", "C0SUPPORT", ts, "ask")
        with pytest.raises(SlackError, match="shortcut_not_found"):
            await workspace.act.global_shortcut("U0CUSTOMERA", "tell")


async def test_shortcuts_and_suggestions_are_acts_over_http_and_reach_bolt(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    workspace.subscriptions = frozenset()
    bolt, heard = AsyncApp(client=client), []

    @bolt.shortcut("ask")
    async def ask(ack: Any, body: dict[str, Any]) -> None:
        heard.append(body["type"])
        await ack()

    @bolt.options("order")
    async def order(ack: Any, payload: dict[str, Any]) -> None:
        await ack(options=[each for each in FOUND if payload["value"] in each["text"]["text"]])

    ts = str((await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"])
    handler = AsyncSocketModeHandler(bolt, workspace.app_token, web_client=client, logger=logging.getLogger("bolt"))
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        async with aiohttp.ClientSession(headers={"secret": workspace.secret}) as session:
            here = {"user": "U0AGENTA", "channel": "C0AGENTS", "ts": ts}
            acts = {
                "message_shortcut": here | {"callback_id": "ask"},
                "global_shortcut": {"user": "U0AGENTA", "callback_id": "ask"},
                "suggest": here | {"action_id": "order", "query": "1002"},
            }
            answers = {}
            for act, body in acts.items():
                async with session.post(f"{workspace.url}/_local/act/{act}", json=body) as response:
                    answers[act] = await response.json()
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]
    assert heard == ["message_action", "shortcut"]
    assert answers["suggest"]["payload"] == {"options": FOUND[1:]}


async def test_what_was_offered_can_be_chosen_in_a_message(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    ts = str((await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"])
    typed = workspace.act.suggest("U0AGENTA", "order", "ORD", channel="C0AGENTS", ts=ts)
    payload, ack = await acknowledged(typed, app, {"options": FOUND})
    assert (payload["type"], payload["action_id"], payload["block_id"]) == ("block_suggestion", "order", "orders")
    assert payload["value"] == "ORD"
    assert payload["container"]["message_ts"] == payload["message"]["ts"] == ts
    assert ack.payload == {"options": FOUND}
    chosen, _ = await acknowledged(workspace.act.click("U0AGENTA", "C0AGENTS", ts, "order", value="1002"), app)
    assert chosen["actions"][0]["selected_option"] == FOUND[1]
    assert chosen["state"]["values"]["orders"]["order"]["selected_option"] == FOUND[1]
    with pytest.raises(SlackError, match="option_not_found"):
        await workspace.act.click("U0AGENTA", "C0AGENTS", ts, "order", value="1003")
    assert "options" not in workspace.message("C0AGENTS", ts)["blocks"][0]["elements"][0]


async def test_what_was_offered_can_be_chosen_in_a_modal(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    block = {"type": "input", "block_id": "order", "label": PLAIN, "element": SEARCH}
    view = await opened(workspace, client, app, blocks=[block])
    typed = workspace.act.suggest("U0AGENTA", "order", "ORD", view_id=view["id"])
    groups = [{"label": PLAIN, "options": FOUND}]
    payload, ack = await acknowledged(typed, app, {"option_groups": groups})
    assert payload["container"] == {"type": "view", "view_id": view["id"]}
    assert payload["view"]["callback_id"] == "ask"
    assert ack.payload == {"option_groups": groups}
    submit = workspace.act.submit_view("U0AGENTA", view["id"], {"order": {"order": "1001"}})
    payload, _ = await acknowledged(submit, app)
    assert payload["view"]["state"]["values"]["order"]["order"]["selected_option"] == FOUND[0]


@pytest.mark.parametrize(
    "answer", [{}, {"options": [{"value": "1"}]}, {"options": FOUND * 51}, {"options": FOUND, "option_groups": []}]
)
async def test_an_answer_that_is_no_list_of_options_shows_none(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp, answer: dict[str, Any]
) -> None:
    ts = str((await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"])
    _, ack = await acknowledged(
        workspace.act.suggest("U0AGENTA", "order", "ORD", channel="C0AGENTS", ts=ts), app, answer
    )
    assert (ack.ok, ack.error) == (False, "invalid_options")


async def test_the_app_is_asked_once_enough_was_typed(workspace: Workspace, client: AsyncWebClient) -> None:
    ts = str((await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"])
    with pytest.raises(SlackError, match="query_too_short"):
        await workspace.act.suggest("U0AGENTA", "order", "O", channel="C0AGENTS", ts=ts)


async def test_the_cross_closes_the_whole_stack(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    view = await opened(workspace, client, app, notify_on_close=True)
    second = {"response_action": "push", "view": MODAL | {"notify_on_close": True, "callback_id": "second"}}
    state = {"note": {"text": "go"}}
    await acknowledged(workspace.act.submit_view("U0AGENTA", view["id"], state), app, second)
    top = workspace.modals["U0AGENTA"][-1]
    closing = asyncio.create_task(workspace.act.close_view("U0AGENTA", top["id"], whole_stack=True))
    told = []
    for _ in range(2):
        frame = await app.frame()
        await app.ack(frame)
        told.append((frame["payload"]["view"]["callback_id"], frame["payload"]["is_cleared"]))
    await closing
    assert told == [("second", True), ("ask", True)]
    assert not workspace.modals


async def test_a_view_that_did_not_ask_is_closed_silently(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    view = await opened(workspace, client, app)
    await workspace.act.close_view("U0AGENTA", view["id"])
    payload, _ = await acknowledged(workspace.act.global_shortcut("U0AGENTA", "next"), app)
    assert payload["callback_id"] == "next"


async def test_a_view_is_updated_by_the_answer_to_its_submission(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    view = await opened(workspace, client, app)
    update = {"response_action": "update", "view": MODAL | {"callback_id": "thanks"}}
    await acknowledged(workspace.act.submit_view("U0AGENTA", view["id"], {"note": {"text": "go"}}), app, update)
    (shown,) = workspace.modals["U0AGENTA"]
    assert (shown["id"], shown["callback_id"]) == (view["id"], "thanks")


@pytest.mark.parametrize(
    "answer",
    [
        {"response_action": "errors", "errors": {"other": "no such input"}},
        {"response_action": "errors"},
        {"response_action": "vanish"},
    ],
)
async def test_an_answer_that_makes_no_sense_leaves_the_view_open(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp, answer: dict[str, Any]
) -> None:
    view = await opened(workspace, client, app)
    submit = workspace.act.submit_view("U0AGENTA", view["id"], {"note": {"text": "go"}})
    _, ack = await acknowledged(submit, app, answer)
    assert (ack.ok, ack.error) == (False, "invalid_response")
    assert workspace.modals["U0AGENTA"]


async def test_a_submission_brings_addresses_for_the_conversations_that_were_chosen(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    element = {"type": "conversations_select", "action_id": "where", "response_url_enabled": True}
    block = {"type": "input", "block_id": "where", "label": PLAIN, "element": element}
    view = await opened(workspace, client, app, blocks=[block])
    submit = workspace.act.submit_view("U0AGENTA", view["id"], {"where": {"where": "C0AGENTS"}})
    payload, _ = await acknowledged(submit, app)
    (url,) = payload["response_urls"]
    assert (url["block_id"], url["action_id"], url["channel_id"]) == ("where", "where", "C0AGENTS")
    await AsyncWebhookClient(url["response_url"]).send(text="to all", response_type="in_channel")
    assert [message["text"] for message in workspace.messages["C0AGENTS"].values()] == ["to all"]


async def test_a_command_that_takes_too_long_over_http_says_so_and_can_still_answer() -> None:
    async with listening() as app, open_workspace(events_url=app.url, config={"events": []}) as workspace:
        while not workspace.online:
            await workspace.wait_for_change(workspace.counter, timeout=patience(5))
        workspace.rules = type(workspace.rules)(ack_seconds=0.05)
        given = await slow_command(workspace, app)
        assert workspace.ephemerals[-1]["text"] == '/kb failed with the error "operation_timeout"'
        await AsyncWebhookClient(given["response_url"]).send(text="done after all")
        assert workspace.ephemerals[-1]["text"] == "done after all"


async def slow_command(workspace: Workspace, app: HttpApp) -> dict[str, str]:
    """Run a command that the app answers too late; what the app was told."""
    told: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    late = asyncio.Event()

    async def handler(request: aiohttp.web.Request) -> aiohttp.web.Response:
        await told.put({name: str(value) for name, value in (await request.post()).items()})
        await late.wait()
        return aiohttp.web.Response(text="too late")

    app.handler = handler
    assert (await workspace.act.command("U0AGENTA", "C0AGENTS", "/kb refresh")).error == "operation_timeout"
    late.set()
    return await told.get()
