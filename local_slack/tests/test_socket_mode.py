"""Socket Mode: the real client of slack_bolt, and one by hand that forgets to acknowledge."""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import ManualClock, connected, error_of
from local_slack.workspace import Rules, Workspace
from tests.patience import patience


async def test_bolt_hears_a_message_and_answers_a_command(workspace: Workspace, client: AsyncWebClient) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    app = AsyncApp(client=client)

    @app.event("message")
    async def message(event: dict[str, Any]) -> None:
        await heard.put(event["text"])

    @app.command("/kb")
    async def command(ack: Any, command: dict[str, Any]) -> None:
        await ack(f"you said {command['text']}")

    handler = AsyncSocketModeHandler(app, workspace.app_token, web_client=client, logger=logging.getLogger("bolt"))
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        async with asyncio.timeout(patience(5)):
            assert await heard.get() == "hello"
        answer = await workspace.act.command("U0AGENTA", "C0AGENTS", "/kb status")
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]
    assert answer.ok
    assert workspace.ephemerals[-1]["text"] == "you said status"


async def test_an_unacknowledged_event_comes_again_with_the_same_id(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as app:
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        first = await app.frame()
        await clock.advance(3.1)
        second = await app.frame()
        await app.ack(second)
        assert (first["retry_attempt"], first["retry_reason"]) == (0, "")
        assert (second["retry_attempt"], second["retry_reason"]) == (1, "timeout")
        assert first["payload"]["event_id"] == second["payload"]["event_id"]
        assert first["envelope_id"] == second["envelope_id"]


async def test_redeliveries_follow_the_schedule_and_end(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as app:
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        for seconds in (3.1, 63.1, 303.1):
            await app.frame()
            await clock.advance(seconds)
        assert (await app.frame())["retry_attempt"] == 3
        await clock.advance(3.1)
        assert still.log[-1]["kind"] == "error"


async def test_an_app_that_died_gets_its_work_again_when_it_returns(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as app:
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "in hand")
        lost = await app.frame()
    await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "while away")
    await clock.advance(3.1)
    async with connected(still) as app:
        frames = [await app.frame(), await app.frame()]
        found = {frame["payload"]["event"]["text"]: frame["retry_attempt"] for frame in frames}
    assert found == {"while away": 0, "in hand": 1}
    assert lost["envelope_id"] in {frame["envelope_id"] for frame in frames}


async def test_an_event_that_rests_is_sent_as_soon_as_the_app_returns(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as app:
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        for _ in range(2):
            await app.frame()
            await clock.advance(3.1)
    async with connected(still) as app:
        assert (await app.frame())["retry_attempt"] == 2


async def test_an_event_can_be_given_up_early(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as app, aiohttp.ClientSession(headers={"secret": still.secret}) as http:
        await (await http.post(f"{still.url}/_local/fault", json={"deliveries": "hasty"})).release()
        for text in ("hasty", "patient"):
            await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", text)
            await app.frame()
        await clock.advance(0.4)
        again = await app.frame()
        assert (again["payload"]["event"]["text"], again["retry_reason"]) == ("hasty", "timeout")
        assert [each["name"] for each in still.log if each["kind"] == "retry"] == ["message"]


async def test_a_client_is_pinged_though_it_says_something(still: Workspace, clock: ManualClock) -> None:
    url = still.transport.connection_url()
    async with aiohttp.ClientSession() as session, session.ws_connect(url, autoping=False) as websocket:
        assert (await websocket.receive(timeout=patience(5))).json()["type"] == "hello"
        for _ in range(2):
            await clock.advance(9)
            await websocket.ping(b"from the client")
            assert (await websocket.receive(timeout=patience(5))).type is aiohttp.WSMsgType.PONG
            await clock.advance(1)
            ping = await websocket.receive(timeout=patience(5))
            assert (ping.type, bytes(ping.data[:9])) == (aiohttp.WSMsgType.PING, b"Ping from")
            await websocket.pong(ping.data)


async def test_each_envelope_goes_to_one_socket(workspace: Workspace) -> None:
    async with connected(workspace) as one, connected(workspace) as other:
        assert workspace.online == 2
        for text in ("a", "b"):
            await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", text)
        frames = [await one.frame(), await other.frame()]
        assert {frame["payload"]["event"]["text"] for frame in frames} == {"a", "b"}


async def test_a_ticket_opens_one_socket(workspace: Workspace, client: AsyncWebClient) -> None:
    url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url):
            pass
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_bolt_returns_when_it_is_asked_to_reconnect(workspace: Workspace, client: AsyncWebClient) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    app = AsyncApp(client=client)

    @app.event("message")
    async def message(event: dict[str, Any]) -> None:
        await heard.put(event["text"])

    handler = AsyncSocketModeHandler(app, workspace.app_token, web_client=client, ping_interval=0.2)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    counter = workspace.counter
    fault = {"sockets": "refresh_requested"}
    async with aiohttp.ClientSession(headers={"secret": workspace.secret}) as session, asyncio.timeout(patience(10)):
        await (await session.post(f"{workspace.url}/_local/fault", json=fault)).release()
        opened_closed_and_opened = 3
        while sum(each["name"] == "sockets" for each in workspace.log) < opened_closed_and_opened:
            counter = await workspace.wait_for_change(counter, timeout=patience(5))
        await workspace.act.send("U0CUSTOMERA", "D0CUSTOMERA", "still there?")
        assert await heard.get() == "still there?"
    await handler.close_async()  # type: ignore[no-untyped-call]


async def breaks_sockets(workspace: Workspace, how: str) -> None:
    async with aiohttp.ClientSession(headers={"secret": workspace.secret}) as session:
        await (await session.post(f"{workspace.url}/_local/fault", json={"sockets": how})).release()


async def test_a_socket_is_warned_before_its_life_ends(clock: ManualClock) -> None:
    async with open_workspace(clock=clock, rules=Rules(refresh_seconds=60)) as short, connected(short) as app:
        await clock.advance(49)
        await short.act.send("U0CUSTOMERA", "D0CUSTOMERA", "still here")
        await app.ack(await app.frame())
        await clock.advance(1)
        assert (await app.frame())["reason"] == "warning"
        await clock.advance(9)
        await short.act.send("U0CUSTOMERA", "D0CUSTOMERA", "and now")
        await app.ack(await app.frame())
        await clock.advance(1)
        last = await app.frame()
        assert (last["type"], last["reason"]) == ("disconnect", "refresh_requested")
        assert await app.ended()


@pytest.mark.parametrize("reason", ["refresh_requested", "link_disabled", "too_many_websockets"])
async def test_a_client_that_is_asked_to_leave_and_stays_loses_its_connection(
    still: Workspace, clock: ManualClock, reason: str
) -> None:
    async with connected(still) as app:
        await breaks_sockets(still, reason)
        assert (await app.frame())["reason"] == reason
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "one more")
        await app.ack(await app.frame())
        await clock.advance(10)
        assert await app.ended()


async def test_hello_tells_the_life_and_the_number_of_connections(workspace: Workspace, client: AsyncWebClient) -> None:
    async with connected(workspace), aiohttp.ClientSession() as session:
        url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
        async with session.ws_connect(url) as websocket:
            hello = await websocket.receive_json()
    assert (hello["type"], hello["num_connections"]) == ("hello", 2)
    assert hello["debug_info"]["approximate_connection_time"] == 18_060
    assert hello["connection_info"] == {"app_id": "A0FRONTDESK"}


async def test_an_app_has_ten_sockets_at_most(workspace: Workspace, client: AsyncWebClient) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(connected(workspace))
        url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
        session = await stack.enter_async_context(aiohttp.ClientSession())
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url)
        assert refused.value.status == 429


async def test_a_redelivery_goes_to_the_next_socket(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as one, connected(still) as other:
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "hello")
        first = await one.frame()
        await clock.advance(3.1)
        again = await other.frame()
        assert again["envelope_id"] == first["envelope_id"]
        await one.ack(first)
        await still.act.send("U0CUSTOMERA", "D0CUSTOMERA", "next")
        assert (await one.frame())["payload"]["event"]["text"] == "next"


async def test_without_an_app_a_command_fails_in_words(still: Workspace, clock: ManualClock) -> None:
    waiting = asyncio.create_task(still.act.command("U0AGENTA", "C0AGENTS", "/kb status"))
    await clock.advance(3.1)
    assert (await waiting).error == "dispatch_failed"
    assert still.ephemerals[-1]["text"] == '/kb failed with the error "dispatch_failed"'


async def test_an_app_that_is_slow_with_a_command_is_told_apart(still: Workspace, clock: ManualClock) -> None:
    async with connected(still) as app:
        waiting = asyncio.create_task(still.act.command("U0AGENTA", "C0AGENTS", "/kb status"))
        frame = await app.frame()
        assert frame["accepts_response_payload"]
        await clock.advance(3.1)
        assert (await waiting).error == "operation_timeout"


async def test_sockets_need_the_app_token(client: AsyncWebClient) -> None:
    assert await error_of(client.apps_connections_open(app_token="xapp-wrong")) == "invalid_auth"
