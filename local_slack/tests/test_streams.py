"""Streamed messages, from the first chunk to every kind of end."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from slack_sdk.models.messages.chunk import MarkdownTextChunk, PlanUpdateChunk, TaskUpdateChunk
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import ManualClock, acts, error_of
from local_slack.workspace import AppKind, Rules, Workspace

CHANNEL = "C0SUPPORT"


@pytest.fixture
async def workspace(clock: ManualClock) -> AsyncIterator[Workspace]:
    async with open_workspace(clock=clock, rules=Rules(rate_limits=False)) as opened:
        yield opened


@pytest.fixture
async def root(workspace: Workspace) -> str:
    return await workspace.act.send("U0CUSTOMERA", CHANNEL, "Where is my order?")


async def start(client: AsyncWebClient, root: str, *, text: str | None = None) -> str:
    started = await client.chat_startStream(
        channel=CHANNEL,
        thread_ts=root,
        recipient_user_id="U0CUSTOMERA",
        recipient_team_id="T0FRONTDESK",
        markdown_text=text,
    )
    return str(started["ts"])


async def test_the_sdks_own_stream_arrives_whole(workspace: Workspace, client: AsyncWebClient, root: str) -> None:
    stream = await client.chat_stream(
        channel=CHANNEL, thread_ts=root, recipient_user_id="U0CUSTOMERA", recipient_team_id="T0FRONTDESK", buffer_size=4
    )
    for word in ("Your ", "**order** ", "is ", "on its way."):
        await stream.append(markdown_text=word)
    metadata = {"event_type": "turn", "event_payload": {"id": 1}}
    stopped = await stream.stop(blocks=[{"type": "divider"}], metadata=metadata)
    message = stopped["message"]
    assert message["text"] == "Your *order* is on its way."
    assert message["streaming_state"] == "completed"
    assert [block["type"] for block in message["blocks"]] == ["rich_text", "divider"]
    assert message["metadata"] == metadata
    assert workspace.sessions[CHANNEL, root]["status"] == "active"


async def test_a_growing_stream_shows_its_parts_and_no_text(
    workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    ts = await start(client, root)
    await client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="One ")
    await client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="two")
    message = workspace.message(CHANNEL, ts)
    assert (message["text"], message["streaming_state"]) == ("", "in_progress")
    assert workspace.streams[CHANNEL, ts].parts == [{"type": "markdown", "text": "One two"}]
    assert workspace.sessions[CHANNEL, root]["status"] == "processing"


async def test_task_updates_replace_title_and_status_and_append_details(
    workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    ts = await start(client, root)
    first = TaskUpdateChunk(id="1", title="Looking", status="in_progress", details="asked ")
    last = TaskUpdateChunk(id="1", title="Looked", status="complete", details="answered", output="found")
    await client.chat_appendStream(channel=CHANNEL, ts=ts, chunks=[first, MarkdownTextChunk(text="Here.")])
    await client.chat_appendStream(channel=CHANNEL, ts=ts, chunks=[last, PlanUpdateChunk(title="The plan")])
    task = workspace.streams[CHANNEL, ts].parts[0]
    assert (task["title"], task["status"], task["details"]) == ("Looked", "complete", "asked answered")
    message = (await client.chat_stopStream(channel=CHANNEL, ts=ts))["message"]
    assert [block["type"] for block in message["blocks"]] == ["plan", "rich_text"]
    assert message["blocks"][0]["tasks"][0]["task_id"] == "1"


async def test_a_stream_dies_of_age_and_keeps_its_text(
    workspace: Workspace, client: AsyncWebClient, root: str, clock: ManualClock
) -> None:
    ts = await start(client, root, text="Half an ans")
    await clock.advance(305)
    await client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="wer")
    await clock.advance(2)
    late = client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text=" more")
    assert await error_of(late) == "message_not_in_streaming_state"
    assert await error_of(client.chat_stopStream(channel=CHANNEL, ts=ts)) == "message_not_in_streaming_state"
    assert workspace.message(CHANNEL, ts)["text"] == "Half an answer"
    await client.chat_update(channel=CHANNEL, ts=ts, text="Half an answer, continued")
    assert (CHANNEL, ts) not in workspace.streams


async def test_a_stream_grows_by_text_or_by_chunks_for_all_of_its_life(client: AsyncWebClient, root: str) -> None:
    chunk: list[dict[str, object]] = [{"type": "markdown_text", "text": "more"}]
    both: dict[str, object] = {"markdown_text": "more", "chunks": chunk}
    ts = await start(client, root)
    twice = {"channel": CHANNEL, "ts": ts} | both
    for method in ("chat.appendStream", "chat.stopStream"):
        refused = client.api_call(method, json=twice)
        assert await error_of(refused) == "cannot_provide_both_markdown_text_and_chunks"
    for first, then in (({"markdown_text": "Well"}, {"chunks": chunk}), ({"chunks": chunk}, {"markdown_text": "Well"})):
        ts = await start(client, root)
        for given, error in ((first, ""), (then, "streaming_mode_mismatch"), (first, "")):
            asked = client.api_call("chat.appendStream", json={"channel": CHANNEL, "ts": ts} | given)
            if error:
                assert await error_of(asked) == error
            else:
                await asked
        ended = client.api_call("chat.stopStream", json={"channel": CHANNEL, "ts": ts} | then)
        assert await error_of(ended) == "streaming_mode_mismatch"
        await client.chat_stopStream(channel=CHANNEL, ts=ts)


async def test_an_agents_status_line_and_its_session_are_one_place(
    workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    async def line(text: str) -> None:
        await client.assistant_threads_setStatus(channel_id=CHANNEL, thread_ts=root, status=text)

    def shown() -> tuple[str, bool]:
        return workspace.sessions[CHANNEL, root]["status"], bool(workspace.statuses)

    await line("is thinking")
    assert shown() == ("processing", True)
    await client.chat_postMessage(channel=CHANNEL, thread_ts=root, text="Here")
    assert shown() == ("active", False)
    await line("is thinking")
    answer = await client.agents_sessions_setStatus(channel_id=CHANNEL, thread_ts=root, status="suspended")
    assert (answer["status"], answer["agent_status"]) == ("suspended", "suspended")
    assert shown() == ("suspended", False)
    await client.agents_sessions_setStatus(channel_id=CHANNEL, thread_ts=root, status="processing")
    await client.chat_postMessage(channel=CHANNEL, thread_ts=root, text="Here")
    assert shown() == ("processing", False), "a session is ended by whoever began it"


@pytest.mark.parametrize("kind", ["assistant", "plain"])
async def test_only_agents_have_sessions(
    kind: AppKind, workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    workspace.kind = kind
    refused = client.agents_sessions_setStatus(channel_id=CHANNEL, thread_ts=root, status="active")
    assert await error_of(refused) == "not_authorized"
    await client.assistant_threads_setStatus(channel_id=CHANNEL, thread_ts=root, status="is thinking")
    await client.assistant_threads_setTitle(channel_id=CHANNEL, thread_ts=root, title="An order")
    await client.chat_stopStream(channel=CHANNEL, ts=await start(client, root, text="Well"))
    assert workspace.sessions == {}
    assert "agent_session" not in workspace.message(CHANNEL, root)


async def test_a_person_can_stop_a_stream(workspace: Workspace, client: AsyncWebClient, root: str) -> None:
    ts = await start(client, root, text="Well")
    await workspace.act.stop("U0CUSTOMERA", CHANNEL, root)
    more = client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="more")
    assert await error_of(more) == "stopped_by_user"
    assert await error_of(client.chat_stopStream(channel=CHANNEL, ts=ts)) == "stopped_by_user"
    assert workspace.streams[CHANNEL, ts].state == "stopped"


async def test_slack_shows_its_stop_button_for_an_agent_that_wants_to_hear_of_it(
    workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    table: list[tuple[AppKind, frozenset[str]]] = [
        ("plain", workspace.subscriptions),
        ("assistant", workspace.subscriptions),
        ("agent", workspace.subscriptions - {"agent_session_stopped"}),
    ]
    ts = await start(client, root, text="Well")
    for workspace.kind, workspace.subscriptions in table:
        pressed = await acts(workspace, "stop", user="U0CUSTOMERA", channel=CHANNEL, thread_ts=root)
        assert pressed["error"] == "not_stoppable"
    assert workspace.streams[CHANNEL, ts].state == "in_progress"


async def test_a_running_stream_cannot_be_updated_but_deleted(
    workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    ts = await start(client, root)
    assert await error_of(client.chat_update(channel=CHANNEL, ts=ts, text="x")) == "streaming_state_conflict"
    await client.chat_delete(channel=CHANNEL, ts=ts)
    assert (CHANNEL, ts) not in workspace.streams


async def test_a_completed_stream_of_words_is_rich_text_that_other_blocks_cannot_replace(
    client: AsyncWebClient, root: str
) -> None:
    ts = await start(client, root, text="Here is what I found.")
    await client.chat_stopStream(channel=CHANNEL, ts=ts)

    def shown(*blocks: dict[str, Any]) -> Awaitable[object]:
        return client.chat_update(channel=CHANNEL, ts=ts, text="x", blocks=list(blocks))

    table = {"type": "markdown", "text": "| a | b |\n|---|---|\n| 1 | 2 |"}
    assert await error_of(shown(table)) == "block_mismatch"
    assert await error_of(shown(table, {"type": "divider"})) == "block_mismatch"
    await shown({"type": "markdown", "text": "Here is what I found."}, table)


async def test_a_call_and_a_whole_stream_have_a_size(client: AsyncWebClient, root: str) -> None:
    ts = await start(client, root)
    too_much = client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="x" * 12_001)
    assert await error_of(too_much) == "msg_too_long"
    await client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="x" * 9_000)
    over_the_brim = client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="x" * 3_000)
    assert await error_of(over_the_brim) == "msg_too_long"
    await client.chat_appendStream(channel=CHANNEL, ts=ts, markdown_text="and a little")


async def test_outside_direct_messages_the_recipient_must_be_named(client: AsyncWebClient, root: str) -> None:
    assert await error_of(client.chat_startStream(channel=CHANNEL, thread_ts=root)) == "missing_recipient_team_id"


async def test_a_malformed_chunk_is_refused(client: AsyncWebClient, root: str) -> None:
    table: list[dict[str, object]] = [
        {"type": "surprise"},
        {"type": "markdown_text"},
        {"type": "markdown_text", "text": "x", "style": "bold"},
        {"type": "task_update", "id": "1", "title": "x", "status": "done"},
        {"type": "task_update", "id": "1", "title": "x" * 257, "status": "complete"},
        {"type": "blocks", "blocks": [{"type": "section"}]},
    ]
    misses = []
    for chunk in table:
        ts = await start(client, root)
        if await error_of(client.chat_appendStream(channel=CHANNEL, ts=ts, chunks=[chunk])) != "invalid_chunks":
            misses.append(chunk)
    assert misses == []


async def test_a_status_line_goes_with_the_answer_or_after_two_minutes(
    workspace: Workspace, client: AsyncWebClient, root: str, clock: ManualClock
) -> None:
    await client.assistant_threads_setStatus(
        channel_id=CHANNEL, thread_ts=root, status="is thinking...", loading_messages=["Reading", "Looking"]
    )
    assert workspace.statuses[CHANNEL, root]["status"] == "is thinking..."
    await start(client, root)
    assert not workspace.statuses
    await client.assistant_threads_setStatus(channel_id=CHANNEL, thread_ts=root, status="still here")
    long = client.assistant_threads_setStatus(
        channel_id=CHANNEL, thread_ts=root, status="x", loading_messages=["x", "y" * 51]
    )
    assert await error_of(long) == "invalid_arguments"
    await clock.advance(121)
    assert not workspace.statuses


async def test_a_session_that_keeps_processing_calms_down_after_an_hour(
    workspace: Workspace, client: AsyncWebClient, root: str, clock: ManualClock
) -> None:
    await client.agents_sessions_setStatus(channel_id=CHANNEL, thread_ts=root, status="processing", title="An order")
    await client.agents_sessions_rename(channel_id=CHANNEL, thread_ts=root, title="Order 1001")
    assert workspace.message(CHANNEL, root)["agent_session"]["title"] == "Order 1001"
    await clock.advance(3_601)
    assert workspace.sessions[CHANNEL, root]["status"] == "active"
    await client.agents_sessions_setStatus(channel_id=CHANNEL, thread_ts=root, status="closed", title="Too late")
    assert workspace.sessions[CHANNEL, root]["title"] == "Order 1001"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"status": "is thinking..."}, "invalid_arguments"),
        ({"thread_ts": ""}, "thread_ts_required"),
        ({"initiator_user_id": "U0NONE"}, "user_not_found"),
        ({"channel_id": "C0NONE"}, "channel_not_found"),
        ({"title": "x" * 201}, "invalid_arguments"),
    ],
)
async def test_a_session_that_cannot_be_is_refused(
    client: AsyncWebClient, root: str, given: dict[str, str], error: str
) -> None:
    asked = {"channel_id": CHANNEL, "thread_ts": root, "status": "active"} | given
    assert await error_of(client.api_call("agents.sessions.setStatus", json=asked)) == error


async def test_sessions_are_of_channels_with_the_app_and_of_threads_that_have_one(
    workspace: Workspace, client: AsyncWebClient, root: str
) -> None:
    rename = client.agents_sessions_rename(channel_id=CHANNEL, thread_ts=root, title="x")
    assert await error_of(rename) == "session_not_found"
    channel = workspace.channel(CHANNEL)
    table: list[tuple[dict[str, Any], str, str]] = [
        ({"is_archived": True}, "is_archived", "is_archived"),
        ({"members": []}, "not_authorized", "no_permission"),
    ]
    for there, of_status, of_title in table:
        workspace.channels[CHANNEL] = replace(channel, **there)
        status = client.agents_sessions_setStatus(channel_id=CHANNEL, thread_ts=root, status="active")
        assert await error_of(status) == of_status
        rename = client.agents_sessions_rename(channel_id=CHANNEL, thread_ts=root, title="x")
        assert await error_of(rename) == of_title


async def test_the_status_of_a_thread_that_is_not_there_is_refused(client: AsyncWebClient) -> None:
    gone = client.assistant_threads_setStatus(channel_id=CHANNEL, thread_ts="1.1", status="is thinking")
    assert await error_of(gone) == "invalid_thread_ts"


async def test_suggested_prompts_are_kept_for_the_page(workspace: Workspace, client: AsyncWebClient) -> None:
    prompts = [{"title": "Track an order", "message": "Where is my order?"}]
    await client.assistant_threads_setSuggestedPrompts(channel_id="D0CUSTOMERA", prompts=prompts)
    assert workspace.prompts["D0CUSTOMERA", ""]["prompts"] == prompts


async def test_streams_start_twenty_times_a_minute(clock: ManualClock, http: aiohttp.ClientSession) -> None:
    async with open_workspace(clock=clock) as workspace:
        client = AsyncWebClient(token=workspace.bot_token, base_url=f"{workspace.url}/api/", session=http)
        root = await workspace.act.send("U0CUSTOMERA", CHANNEL, "hello")
        for _ in range(20):
            await start(client, root)
        assert await error_of(start(client, root)) == "ratelimited"
        await clock.advance(3)
        await start(client, root)
