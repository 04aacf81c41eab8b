"""Signed HTTP: verification, signatures, retries."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import HttpApp, ManualClock, listening
from local_slack.workspace import Rules, Workspace
from tests.patience import patience


@asynccontextmanager
async def reaching(app: HttpApp, clock: ManualClock | None = None) -> AsyncIterator[Workspace]:
    """A workspace that has verified the app's address."""
    async with open_workspace(clock=clock, rules=Rules(rate_limits=False), events_url=app.url) as workspace:
        while not workspace.online:
            await workspace.wait_for_change(workspace.counter, timeout=patience(5))
        yield workspace


async def test_an_event_is_signed_and_comes_from_slackbot() -> None:
    async with listening() as app, reaching(app) as workspace:
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        request, content = await app.request()
        assert SignatureVerifier(workspace.signing_secret).is_valid_request(content, dict(request.headers))
        assert request.headers["User-Agent"].startswith("Slackbot 1.0")
        assert json.loads(content)["event"]["text"] == "hello"
        assert "X-Slack-Retry-Num" not in request.headers


async def test_a_failing_app_is_tried_again_at_once_after_one_minute_and_after_five(clock: ManualClock) -> None:
    async with listening() as app, reaching(app, clock) as workspace:
        app.statuses = [500, 500, 500]
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        seen = [await app.request(), await app.request()]
        for seconds in (60, 300):
            await logged(workspace, "ack", len(seen))
            await clock.advance(seconds)
            seen.append(await app.request())
    retries = [request.headers.get("X-Slack-Retry-Num") for request, _ in seen]
    assert retries == [None, "1", "2", "3"]
    assert seen[1][0].headers["X-Slack-Retry-Reason"] == "http_error"
    assert len({json.loads(content)["event_id"] for _, content in seen}) == 1


async def test_an_app_can_decline_retries(clock: ManualClock) -> None:
    async with listening() as app, reaching(app, clock) as workspace:
        app.statuses, app.headers = [500], {"x-slack-no-retry": "1"}
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "one")
        await app.request()
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "two")
        _, content = await app.request()
        assert json.loads(content)["event"]["text"] == "two"


async def test_a_commands_answer_is_shown_to_the_person() -> None:
    async with listening() as app, reaching(app) as workspace:
        app.body = "3 documents"
        answer = await workspace.act.command("U0AGENTA", "C0AGENTS", "/kb status")
        _, content = await app.request()
        assert parse_qs(content.decode())["text"] == ["status"]
        assert answer.ok
        assert workspace.ephemerals[-1]["text"] == "3 documents"


@pytest.mark.parametrize(("redirects", "attempts"), [(2, 1), (3, 2)])
async def test_two_redirects_are_followed_and_no_more(redirects: int, attempts: int) -> None:
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        content = await request.read()
        if challenge := json.loads(content).get("challenge"):
            return web.json_response({"challenge": challenge})
        hop = int(request.query.get("hop", 0))
        if hop == 0:
            seen.append(request.headers.get("X-Slack-Retry-Reason"))
        if hop < redirects and len(seen) == 1:
            raise web.HTTPTemporaryRedirect(f"/slack/events?hop={hop + 1}")
        return web.Response()

    async with listening() as app, reaching(app) as workspace:
        app.handler = answer
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        await logged(workspace, "ack", attempts)
    assert seen == [None, "too_many_redirects"][:attempts]


async def test_an_app_that_takes_almost_nothing_hears_no_more_until_it_is_switched_on(clock: ManualClock) -> None:
    rules = Rules(rate_limits=False, events_to_disable=20, retry_delays=())
    async with (
        listening() as app,
        open_workspace(clock=clock, rules=rules, events_url=app.url) as workspace,
        aiohttp.ClientSession(headers={"secret": workspace.secret}) as session,
    ):
        while not workspace.online:
            await workspace.wait_for_change(workspace.counter, timeout=patience(5))
        app.statuses = [500] * 20
        for number in range(20):
            await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", f"{number}")
        await logged(workspace, "ack", 20)
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "unheard")
        async with session.get(f"{workspace.url}/_local/state") as response:
            state = await response.json()
        assert (state["events_enabled"], state["failed_deliveries"]) == (False, 20)
        await session.post(f"{workspace.url}/_local/act/enable_events", json={"user": "U0AGENTA"})
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "heard")
        texts = [json.loads((await app.request())[1])["event"]["text"] for _ in range(21)]
        assert texts[-1] == "heard"


async def test_commands_and_interactions_may_have_addresses_of_their_own() -> None:
    async with listening() as events, listening() as commands, listening() as interactions, listening() as options:
        config = {
            "events": [],
            "commands": [{"command": "/kb", "url": commands.url}, {"command": "/ask"}],
            "urls": {"interactivity": interactions.url, "options": options.url},
        }
        async with open_workspace(events_url=events.url, config=config) as workspace:
            client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/")
            search = {"type": "external_select", "action_id": "order", "min_query_length": 0}
            blocks = [{"type": "actions", "elements": [search]}]
            ts = str((await client.chat_postMessage(channel="C0AGENTS", text="x", blocks=blocks))["ts"])
            options.body = json.dumps({"options": []})
            assert (await workspace.act.command("U0AGENTA", "C0AGENTS", "/kb status")).ok
            assert (await workspace.act.command("U0AGENTA", "C0AGENTS", "/ask")).ok
            assert (await workspace.act.global_shortcut("U0AGENTA", "ask")).ok
            assert (await workspace.act.suggest("U0AGENTA", "order", "", channel="C0AGENTS", ts=ts)).ok
        asked = [parse_qs((await app.request())[1].decode()) for app in (commands, events)]
        assert [each["command"] for each in asked] == [["/kb"], ["/ask"]]
        told = [
            json.loads(parse_qs((await app.request())[1].decode())["payload"][0]) for app in (interactions, options)
        ]
        assert [each["type"] for each in told] == ["shortcut", "block_suggestion"]


async def test_bolt_hears_over_http() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with listening() as app:
        bolt = AsyncApp(client=AsyncWebClient(token="xoxb-http"), signing_secret="shared", authorize=authorize)

        @bolt.event("message")
        async def message(event: dict[str, Any]) -> None:
            await heard.put(event["text"])

        async def answer(request: web.Request) -> web.Response:
            return await to_aiohttp_response(await bolt.async_dispatch(await to_bolt_request(request)))

        app.handler = answer
        async with open_workspace(signing_secret="shared", events_url=app.url) as workspace:
            while not workspace.online:
                await workspace.wait_for_change(workspace.counter, timeout=patience(5))
            await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
            async with asyncio.timeout(patience(5)):
                assert await heard.get() == "hello"


async def authorize() -> AuthorizeResult:
    return AuthorizeResult(
        enterprise_id=None,
        team_id="T0FRONTDESK",
        bot_user_id="U0FRONTDESK",
        bot_id="B0FRONTDESK",
        bot_token="xoxb-http",
    )


async def logged(workspace: Workspace, kind: str, count: int) -> None:
    """Wait until the log holds so many entries of a kind about a message."""
    while sum((each["kind"], each["name"]) == (kind, "message") for each in workspace.log) < count:
        await workspace.wait_for_change(workspace.counter, timeout=patience(5))
