"""Buttons, commands, modals, Home tabs and response_url."""

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from local_slack.server import open_workspace
from local_slack.tests.apps import ManualClock, SocketApp, error_of
from local_slack.workspace import Ack, SlackError, Workspace

PLAIN = {"type": "plain_text", "text": "x"}
BUTTON = {"type": "button", "action_id": "case.claim", "text": PLAIN, "value": "FD-1"}
OPTIONS = [{"text": PLAIN, "value": "low"}, {"text": PLAIN, "value": "high"}]
SELECT = {"type": "static_select", "action_id": "priority", "options": OPTIONS}
CARD = [{"type": "actions", "block_id": "case", "elements": [BUTTON, SELECT]}]
NOTE = {
    "type": "input",
    "block_id": "note",
    "label": PLAIN,
    "element": {"type": "plain_text_input", "action_id": "text", "max_length": 5},
}
MODAL = {"type": "modal", "title": PLAIN, "submit": PLAIN, "callback_id": "ask", "blocks": [NOTE]}


@pytest.fixture
def workspace(still: Workspace) -> Workspace:
    return still


@pytest.fixture
def app(deaf: SocketApp) -> SocketApp:
    return deaf


async def acknowledged(act: Any, app: SocketApp, payload: dict[str, Any] | None = None) -> tuple[dict[str, Any], Ack]:
    """The payload that an act sends, and what the act returns once the app has answered."""
    acting = asyncio.create_task(act)
    frame = await app.frame()
    await app.ack(frame, payload)
    return frame["payload"], await acting


async def test_a_click_carries_the_message_the_action_and_a_way_to_answer(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    ts = (await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"]
    payload, ack = await acknowledged(workspace.act.click("U0AGENTA", "C0AGENTS", ts, "case.claim"), app)
    assert ack.ok
    assert payload["type"] == "block_actions"
    assert payload["user"]["id"] == "U0AGENTA"
    assert payload["container"]["message_ts"] == payload["message"]["ts"] == ts
    assert payload["actions"][0] | {"value": "FD-1", "block_id": "case"} == payload["actions"][0]
    answered = await AsyncWebhookClient(payload["response_url"]).send(text="done", replace_original=True)
    assert answered.status_code == 200
    assert workspace.message("C0AGENTS", ts)["text"] == "done"


async def test_a_select_tells_the_chosen_option_and_the_state(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    ts = (await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"]
    payload, _ = await acknowledged(workspace.act.click("U0AGENTA", "C0AGENTS", ts, "priority", value="high"), app)
    assert payload["actions"][0]["selected_option"]["value"] == "high"
    assert payload["state"]["values"]["case"]["priority"]["selected_option"]["value"] == "high"
    with pytest.raises(SlackError, match="option_not_found"):
        await workspace.act.click("U0AGENTA", "C0AGENTS", ts, "priority", value="none")
    with pytest.raises(SlackError, match="action_not_found"):
        await workspace.act.click("U0AGENTA", "C0AGENTS", ts, "nothing")


async def test_feedback_tells_which_thumb(workspace: Workspace, client: AsyncWebClient, app: SocketApp) -> None:
    thumbs = {name: {"text": PLAIN, "value": name} for name in ("positive_button", "negative_button")}
    element = {"type": "feedback_buttons", "action_id": "fb", **thumbs}
    blocks = [{"type": "context_actions", "elements": [element]}]
    ts = (await client.chat_postMessage(channel="C0SUPPORT", text="x", blocks=blocks))["ts"]
    click = workspace.act.click("U0CUSTOMERA", "C0SUPPORT", ts, "fb", value="negative_button")
    payload, _ = await acknowledged(click, app)
    assert payload["actions"][0]["value"] == "negative_button"


async def test_a_response_url_works_five_times_and_half_an_hour(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp, clock: ManualClock
) -> None:
    payload, _ = await acknowledged(workspace.act.command("U0AGENTA", "C0AGENTS", "/kb status"), app)
    webhook = AsyncWebhookClient(payload["response_url"])
    statuses = [(await webhook.send(text=str(number))).status_code for number in range(6)]
    assert statuses == [200] * 5 + [404]
    assert [each["text"] for each in workspace.ephemerals] == ["0", "1", "2", "3", "4"]
    payload, _ = await acknowledged(workspace.act.command("U0AGENTA", "C0AGENTS", "/kb status"), app)
    await clock.advance(1_801)
    late = await AsyncWebhookClient(payload["response_url"]).send(text="late")
    assert (late.status_code, late.body) == (404, "expired_url")


async def test_a_response_can_replace_or_delete_an_ephemeral_and_speak_in_the_channel(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    await client.chat_postEphemeral(channel="C0AGENTS", user="U0AGENTA", text="x", blocks=CARD)
    ts = workspace.ephemerals[0]["ts"]
    payload, _ = await acknowledged(workspace.act.click("U0AGENTA", "C0AGENTS", ts, "case.claim"), app)
    assert payload["container"]["is_ephemeral"]
    assert "message" not in payload
    webhook = AsyncWebhookClient(payload["response_url"])
    await webhook.send(text="replaced", replace_original=True)
    assert [(each["ts"], each["text"]) for each in workspace.ephemerals] == [(ts, "replaced")]
    await webhook.send(text="for all", response_type="in_channel")
    assert [message["text"] for message in workspace.messages["C0AGENTS"].values()] == ["for all"]
    await webhook.send(delete_original=True)
    assert not workspace.ephemerals
    assert (await webhook.send(text="x", blocks=[{"type": "mystery"}])).body == "invalid_blocks"


async def test_the_address_of_a_command_replaces_nothing(workspace: Workspace, app: SocketApp) -> None:
    payload, _ = await acknowledged(workspace.act.command("U0AGENTA", "C0AGENTS", "/kb refresh"), app)
    webhook = AsyncWebhookClient(payload["response_url"])
    await webhook.send(text="begins", blocks=CARD)
    await webhook.send(text="ended", replace_original=True)
    assert [each["text"] for each in workspace.ephemerals] == ["begins", "ended"]

    press = workspace.act.click("U0AGENTA", "C0AGENTS", workspace.ephemerals[0]["ts"], "case.claim")
    payload, _ = await acknowledged(press, app)
    again = AsyncWebhookClient(payload["response_url"])
    for text in ("half-way", "all of it"):
        await again.send(text=text, replace_original=True)
    assert sorted(each["text"] for each in workspace.ephemerals) == ["all of it", "ended"]


async def test_nobody_clicks_in_a_channel_they_do_not_see(workspace: Workspace, client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=CARD))["ts"]
    with pytest.raises(SlackError, match="not_in_channel"):
        await workspace.act.click("U0CUSTOMERA", "C0AGENTS", ts, "case.claim")


async def test_a_modal_is_opened_once_and_in_time(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp, clock: ManualClock
) -> None:
    payload, _ = await acknowledged(workspace.act.command("U0AGENTA", "C0AGENTS", "/ask"), app)
    view = (await client.views_open(trigger_id=payload["trigger_id"], view=MODAL))["view"]
    assert workspace.modals["U0AGENTA"][0]["id"] == view["id"]
    again = client.views_open(trigger_id=payload["trigger_id"], view=MODAL)
    assert await error_of(again) == "exchanged_trigger_id"
    payload, _ = await acknowledged(workspace.act.command("U0AGENTA", "C0AGENTS", "/ask"), app)
    await clock.advance(3.1)
    assert await error_of(client.views_open(trigger_id=payload["trigger_id"], view=MODAL)) == "expired_trigger_id"


async def opened(workspace: Workspace, client: AsyncWebClient, app: SocketApp, **view: Any) -> dict[str, Any]:
    payload, _ = await acknowledged(workspace.act.command("U0AGENTA", "C0AGENTS", "/ask"), app)
    shown: dict[str, Any] = (await client.views_open(trigger_id=payload["trigger_id"], view=MODAL | view))["view"]
    return shown


async def test_a_submission_carries_the_state_and_closes_the_modal(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    view = await opened(workspace, client, app)
    submit = workspace.act.submit_view("U0AGENTA", view["id"], {"note": {"text": "hello"}})
    payload, ack = await acknowledged(submit, app)
    assert payload["view"]["state"]["values"]["note"]["text"]["value"] == "hello"
    assert ack.ok
    assert not workspace.modals


async def test_inputs_are_checked_by_the_workspace_and_by_the_app(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    view = await opened(workspace, client, app)
    empty = await workspace.act.submit_view("U0AGENTA", view["id"], {})
    long = await workspace.act.submit_view("U0AGENTA", view["id"], {"note": {"text": "too long"}})
    assert list(empty.payload["errors"]) == list(long.payload["errors"]) == ["note"]
    refusal = {"response_action": "errors", "errors": {"note": "not this word"}}
    submit = workspace.act.submit_view("U0AGENTA", view["id"], {"note": {"text": "damn"}})
    _, ack = await acknowledged(submit, app, refusal)
    assert ack.payload["errors"] == {"note": "not this word"}
    assert workspace.modals["U0AGENTA"]


async def test_views_are_stacked_updated_and_cleared(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    view = await opened(workspace, client, app, external_id="mine")
    state = {"note": {"text": "go"}}
    push = {"response_action": "push", "view": MODAL | {"callback_id": "second"}}
    await acknowledged(workspace.act.submit_view("U0AGENTA", view["id"], state), app, push)
    first, second = workspace.modals["U0AGENTA"]
    assert second["previous_view_id"] == second["root_view_id"] == first["id"]
    updated = await client.views_update(external_id="mine", view=MODAL | {"private_metadata": "new"})
    assert updated["view"]["id"] == view["id"]
    stale = client.views_update(view_id=view["id"], view=MODAL, hash=view["hash"])
    assert await error_of(stale) == "hash_conflict"
    clear = {"response_action": "clear"}
    await acknowledged(workspace.act.submit_view("U0AGENTA", second["id"], state), app, clear)
    assert not workspace.modals


async def test_closing_is_told_when_it_was_asked_for(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    view = await opened(workspace, client, app, notify_on_close=True)
    payload, _ = await acknowledged(workspace.act.close_view("U0AGENTA", view["id"]), app)
    assert (payload["type"], payload["is_cleared"]) == ("view_closed", False)
    assert not workspace.modals


async def test_an_invalid_view_is_refused_with_the_place(workspace: Workspace, client: AsyncWebClient) -> None:
    view = {"type": "home", "blocks": [{"type": "section"}]}
    assert await error_of(client.views_publish(user_id="U0CUSTOMERA", view=view)) == "invalid_arguments"


async def test_a_home_tab_is_published_and_its_buttons_work(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp
) -> None:
    await client.views_publish(user_id="U0CUSTOMERA", view={"type": "home", "blocks": CARD})
    home = workspace.homes["U0CUSTOMERA"]
    payload, _ = await acknowledged(workspace.act.click_view("U0CUSTOMERA", home["id"], "case.claim"), app)
    assert payload["container"] == {"type": "view", "view_id": home["id"]}
    assert payload["view"]["type"] == "home"


async def test_a_command_that_is_not_installed_reaches_nobody() -> None:
    async with open_workspace(config={"commands": [{"command": "/kb"}]}) as workspace:
        assert (await workspace.act.command("U0AGENTA", "C0AGENTS", "/weather")).error == "invalid_command"
        assert "`/weather`" in workspace.ephemerals[-1]["text"]


async def test_a_response_url_that_was_never_given_is_unknown(
    workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{workspace.url}/actions/UNKNOWN", json={"text": "x"}) as response:
        assert (response.status, await response.text()) == (404, "no_such_url")


async def test_a_view_has_an_external_id_of_its_own_and_a_size(workspace: Workspace, client: AsyncWebClient) -> None:
    home = {"type": "home", "external_id": "home", "blocks": []}
    await client.views_publish(user_id="U0CUSTOMERA", view=home)
    await client.views_publish(user_id="U0CUSTOMERA", view=home)
    assert await error_of(client.views_publish(user_id="U0CUSTOMERB", view=home)) == "duplicate_external_id"
    modal = MODAL | {"external_id": "home"}
    opening = client.views_open(trigger_id=workspace.triggers.issue("U0CUSTOMERB"), view=modal)
    assert await error_of(opening) == "duplicate_external_id"
    text = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_000}}
    large = {"type": "home", "blocks": [text] * 90}
    assert await error_of(client.views_publish(user_id="U0CUSTOMERB", view=large)) == "view_too_large"
