"""Failures on demand: what `/_local/fault` takes, and what then befalls calls, deliveries, connections and streams."""

import asyncio
import json

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import HttpApp, ManualClock, breaks, connected, error_of, listening
from local_slack.workspace import Rules, Workspace
from tests.patience import patience


@pytest.fixture
def workspace(still: Workspace) -> Workspace:
    return still


async def says(workspace: Workspace, *texts: str) -> None:
    for text in texts:
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", text)


async def test_a_fault_that_is_not_known_is_refused_in_words(workspace: Workspace) -> None:
    table: list[tuple[dict[str, object], str]] = [
        ({"weather": "rain"}, "give one of method, deliveries, downloads, sockets, stream, behind, clear"),
        ({"method": "chat.update", "sockets": "cut"}, "give one of"),
        ({"method": "chat.update"}, "missing field 'do'"),
        ({"method": "chat.sing", "do": "500"}, "unknown method 'chat.sing'"),
        ({"method": "chat.update", "do": "explode"}, "unknown failure 'explode'; known are 429, 500"),
        ({"method": "chat.update", "do": "500", "times": 2}, "unknown field 'times'; known are method, do, count"),
        ({"method": "chat.update", "do": "500", "count": 0}, "count must be"),
        ({"method": "chat.update", "do": "500", "count": True}, "count must be"),
        ({"method": "chat.update", "do": "slow", "seconds": "soon"}, "seconds must be"),
        ({"deliveries": "eat"}, "unknown fault 'eat'; known are drop, duplicate, forget, hasty, hold, reorder"),
        ({"behind": "rain"}, "unknown fault 'rain'"),
        ({"deliveries": "drop", "seconds": 1}, "unknown field 'seconds'"),
        ({"sockets": "melt"}, "unknown fault 'melt'; known are mute"),
        ({"stream": "1.1"}, "no such stream is running: '1.1'"),
    ]
    misses = []
    for fault, reason in table:
        if not (await breaks(workspace, **fault)).startswith(f"not a fault: {reason}"):
            misses.append((fault, reason))
    assert misses == []


@pytest.mark.parametrize("asked", ["7", "0.5", "", "soon"])
async def test_a_rate_limit_asks_for_whatever_wait_it_is_told(
    workspace: Workspace, client: AsyncWebClient, asked: str
) -> None:
    assert not await breaks(workspace, method="auth.test", do="429", retry_after=asked, said="asked to wait")
    with pytest.raises(SlackApiError) as limited:
        await client.auth_test()
    assert limited.value.response.status_code == 429
    assert limited.value.response.headers.get("Retry-After", "") == asked
    await client.auth_test()


async def test_what_stands_behind_the_app_is_broken_in_the_words_of_who_knows_it() -> None:
    closed: list[bool] = []
    async with open_workspace(behind={"The shop is closed": lambda: closed.append(True)}) as workspace:
        await breaks(workspace, behind="The shop is closed")
        assert closed == [True]
        page = f"{workspace.url}/?secret={workspace.secret}"
        async with aiohttp.ClientSession() as http, http.get(page) as answer:
            assert "The shop is closed" in await answer.text()


async def test_a_running_stream_is_killed_and_others_go_on(workspace: Workspace, client: AsyncWebClient) -> None:
    await says(workspace, "hello")
    root = next(iter(workspace.messages["D0CUSTOMERA"]))
    first, second = [
        (await client.chat_startStream(channel="D0CUSTOMERA", thread_ts=root, markdown_text="Well"))["ts"]
        for _ in range(2)
    ]
    assert not await breaks(workspace, stream=first)
    more = client.chat_appendStream(channel="D0CUSTOMERA", ts=first, markdown_text="more")
    assert await error_of(more) == "message_not_in_streaming_state"
    assert workspace.message("D0CUSTOMERA", first)["text"] == "Well"
    await client.chat_appendStream(channel="D0CUSTOMERA", ts=second, markdown_text="more")
    assert await breaks(workspace, stream="*", channel="C0SUPPORT")
    assert not await breaks(workspace, stream="*", channel="D0CUSTOMERA")
    assert workspace.streams["D0CUSTOMERA", second].state == "expired"


async def test_deliveries_are_reordered_over_sockets(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        assert not await breaks(workspace, deliveries="reorder", count=3)
        await says(workspace, "a", "b", "c", "d")
        texts = [(await app.frame())["payload"]["event"]["text"] for _ in range(4)]
    assert texts == ["c", "b", "a", "d"]


async def test_sockets_end_in_good_order_behind_what_was_sent(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        await says(workspace, "a")
        assert not await breaks(workspace, sockets="close")
        assert (await app.frame())["payload"]["event"]["text"] == "a"
        assert await app.ended()
        assert app.close_code == aiohttp.WSCloseCode.GOING_AWAY


async def test_an_app_over_http_has_no_sockets_to_break() -> None:
    async with listening() as app, open_workspace(events_url=app.url) as workspace:
        assert "signed HTTP" in await breaks(workspace, sockets="cut")


async def test_a_held_delivery_comes_behind_the_next_one(workspace: Workspace) -> None:
    async with connected(workspace) as app:
        assert not await breaks(workspace, deliveries="hold")
        await says(workspace, "a", "b")
        texts = [(await app.frame())["payload"]["event"]["text"] for _ in range(2)]
    assert texts == ["b", "a"]


async def heard(app: HttpApp, count: int) -> list[tuple[str, str]]:
    """The next requests' texts, and of which retry they are."""
    found = []
    for _ in range(count):
        request, content = await app.request()
        found.append((json.loads(content)["event"]["text"], request.headers.get("X-Slack-Retry-Num", "")))
    return found


async def test_deliveries_are_reordered_held_doubled_and_forgotten_over_http(clock: ManualClock) -> None:
    async with (
        listening() as app,
        open_workspace(clock=clock, rules=Rules(rate_limits=False), events_url=app.url) as workspace,
    ):
        while not workspace.online:
            await workspace.wait_for_change(workspace.counter, timeout=patience(5))
        assert not await breaks(workspace, deliveries="reorder", count=3)
        await says(workspace, "a", "b", "c")
        assert await heard(app, 3) == [("c", ""), ("b", ""), ("a", "")]
        assert not await breaks(workspace, deliveries="hold")
        await says(workspace, "d", "e")
        assert await heard(app, 2) == [("e", ""), ("d", "")]
        assert not await breaks(workspace, deliveries="duplicate")
        await says(workspace, "f")
        assert await heard(app, 2) == [("f", ""), ("f", "")]
        assert not await breaks(workspace, deliveries="forget")
        await says(workspace, "g")
        assert await heard(app, 2) == [("g", ""), ("g", "1")]


async def test_a_held_delivery_that_nothing_follows_comes_late(clock: ManualClock) -> None:
    async with (
        listening() as app,
        open_workspace(clock=clock, rules=Rules(rate_limits=False), events_url=app.url) as workspace,
    ):
        while not workspace.online:
            await workspace.wait_for_change(workspace.counter, timeout=patience(5))
        assert not await breaks(workspace, deliveries="hold")
        await says(workspace, "a")
        await clock.advance(3.1)
        assert await heard(app, 1) == [("a", "")]


async def test_an_event_is_given_up_early_over_http() -> None:
    reasons: asyncio.Queue[str | None] = asyncio.Queue()

    async def answer(request: web.Request) -> web.Response:
        if challenge := (await request.json()).get("challenge"):
            return web.json_response({"challenge": challenge})
        await reasons.put(request.headers.get("X-Slack-Retry-Reason"))
        await asyncio.sleep(0.1)
        return web.Response()

    rules = Rules(rate_limits=False, ack_seconds=0.5)
    async with listening() as app, open_workspace(rules=rules, events_url=app.url) as workspace:
        app.handler = answer
        while not workspace.online:
            await workspace.wait_for_change(workspace.counter, timeout=patience(5))
        assert not await breaks(workspace, deliveries="hasty")
        await says(workspace, "a")
        async with asyncio.timeout(patience(5)):
            assert [await reasons.get(), await reasons.get()] == [None, "http_timeout"]
