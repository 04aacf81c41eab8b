"""The play that every client gives: what people do, and what they must then see in the workspace.

The app's part is told in tests/clients/apps/script.py; the apps of other kinds say the same words in their own way.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import aiohttp

from local_slack.http_events import signed
from tests.clients.processes import Client, Json, Slack

CUSTOMER, DIRECT, CHANNEL, BOT = "U0CUSTOMERA", "D0CUSTOMERA", "C0SUPPORT", "U0FRONTDESK"


async def play(slack: Slack, client: Client) -> None:
    """Every scene; nobody may have complained before the forged request, which clients do warn of."""
    await a_message_is_answered(slack)
    await a_mention_is_answered_by_a_stream(slack)
    await a_command_is_acknowledged_and_opens_a_modal(slack)
    await a_submission_is_refused_and_then_taken(slack)
    await the_home_tab_is_published(slack)
    await an_event_that_was_not_acknowledged_comes_again(slack, client)
    refused = [each for each in await slack.log() if not each["ok"] and each["detail"] != {"outcome": "http_error"}]
    assert refused == []
    assert client.complaints() == ""
    if client.events_url:
        await a_forged_request_is_refused(slack, client)


async def a_message_is_answered(slack: Slack) -> None:
    await slack.act("send", user=CUSTOMER, channel=DIRECT, text="hello")
    answer = await slack.until(said(DIRECT, "heard hello"))
    assert answer["user"] == BOT


async def a_mention_is_answered_by_a_stream(slack: Slack) -> None:
    asked = await slack.act("send", user=CUSTOMER, channel=CHANNEL, text=f"<@{BOT}> count")
    answer = await slack.until(said(CHANNEL, "one *two* three"))
    assert answer["streaming_state"] == "completed"
    assert answer["thread_ts"] == asked["ts"]
    calls = [each["name"] for each in await slack.log() if each["kind"] == "call" and "Stream" in each["name"]]
    assert calls == ["chat.startStream", "chat.appendStream", "chat.stopStream"]


async def a_command_is_acknowledged_and_opens_a_modal(slack: Slack) -> None:
    answer = await slack.act("command", user=CUSTOMER, channel=CHANNEL, command="/ask", text="why")
    assert answer["ok"]
    shown = await slack.until(lambda state: state["ephemerals"])
    assert [each["text"] for each in shown] == ["you asked why"]
    assert (await open_modal(slack))["private_metadata"] == "why"


async def a_submission_is_refused_and_then_taken(slack: Slack) -> None:
    view = (await open_modal(slack))["id"]
    refusal = await slack.act("submit_view", user=CUSTOMER, view_id=view, state={"note": {"text": "no"}})
    assert refusal["payload"] == {"errors": {"note": "not that"}}
    assert (await open_modal(slack))["id"] == view
    assert (await slack.act("submit_view", user=CUSTOMER, view_id=view, state={"note": {"text": "yes"}}))["ok"]
    await slack.until(said(DIRECT, "noted yes"))
    assert (await slack.state())["modals"] == {}


async def the_home_tab_is_published(slack: Slack) -> None:
    await slack.act("open_home", user=CUSTOMER)
    home = await slack.until(lambda state: state["homes"].get(CUSTOMER))
    assert home["blocks"][0]["text"]["text"] == "at home"


async def an_event_that_was_not_acknowledged_comes_again(slack: Slack, client: Client) -> None:
    """By Socket Mode the app keeps silent, over HTTP it answers 503."""
    if not client.events_url:
        await slack.breaks(deliveries="hasty")
    await slack.act("send", user=CUSTOMER, channel=DIRECT, text="again")
    await slack.until(said(DIRECT, f"again, 1, {'http_error' if client.events_url else 'timeout'}"))
    log = [each["detail"] for each in await slack.log() if each["kind"] in ("delivery", "retry")]
    sent = [each["payload"] for each in log if each.get("payload", {}).get("event", {}).get("text") == "again"]
    ids = [each["event_id"] for each in sent]
    assert len(ids) == 2
    assert len(set(ids)) == 1


async def a_forged_request_is_refused(slack: Slack, client: Client) -> None:
    """Signed with another secret, or long ago; the same body with the right signature is taken."""
    event = {
        "type": "message",
        "channel": DIRECT,
        "channel_type": "im",
        "user": CUSTOMER,
        "text": "forged",
        "ts": "1.0",
    }
    body = json.dumps({"type": "event_callback", "team_id": "T0FRONTDESK", "event_id": "Ev0", "event": event}).encode()
    secret, now = slack.addresses["signing_secret"], time.time()
    assert await status_of(client, body, signed(body, "another secret", at=now)) == 401
    assert await status_of(client, body, signed(body, secret, at=now - 600)) == 401
    assert not said(DIRECT, "heard forged")(await slack.state())
    assert await status_of(client, body, signed(body, secret, at=now)) == 200
    await slack.until(said(DIRECT, "heard forged"))


async def a_client_that_is_sent_away_comes_back(slack: Slack) -> None:
    """Slack asks every connection to come anew from time to time. Some come before they leave, some after."""
    before = connections(await slack.log())
    await slack.breaks(sockets="refresh_requested")
    await slack.until_logged(lambda log: len(now := connections(log)) >= len(before) + 2 and now[-1] == 1)
    await slack.act("send", user=CUSTOMER, channel=DIRECT, text="still there?")
    await slack.until(said(DIRECT, "heard still there?"))


def connections(log: list[Json]) -> list[int]:
    """How many connections there were after each coming and going."""
    return [each["detail"]["open"] for each in log if each["name"] == "sockets"]


def said(channel: str, *texts: str) -> Callable[[Json], Any]:
    """Looks for a message with one of these texts."""
    return lambda state: next((each for each in state["messages"][channel] if each["text"] in texts), None)


async def open_modal(slack: Slack) -> Any:
    return (await slack.until(lambda state: state["modals"].get(CUSTOMER)))[-1]


async def status_of(client: Client, body: bytes, headers: dict[str, str]) -> int:
    headers = headers | {"Content-Type": "application/json"}
    async with aiohttp.ClientSession() as http, http.post(client.events_url, data=body, headers=headers) as response:
        return response.status
