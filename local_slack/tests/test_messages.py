"""Messages of the app: posting, editing, deleting, threads, metadata, reactions."""

from collections.abc import Callable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.tests.apps import SocketApp, error_of
from local_slack.workspace import Workspace


async def test_a_text_comes_back_as_rich_text_with_the_bot_profile(client: AsyncWebClient) -> None:
    message = (await client.chat_postMessage(channel="C0SUPPORT", text="*hi* <@U0CUSTOMERA> & co"))["message"]
    assert message["text"] == "*hi* <@U0CUSTOMERA> &amp; co"
    assert message["bot_profile"]["user_id"] == "U0FRONTDESK"
    assert "client_msg_id" not in message
    (block,) = message["blocks"]
    assert 3 <= len(block["block_id"]) <= 6
    assert block["elements"][0]["elements"] == [
        {"type": "text", "text": "hi", "style": {"bold": True}},
        {"type": "text", "text": " "},
        {"type": "user", "user_id": "U0CUSTOMERA"},
        {"type": "text", "text": " & co"},
    ]


async def test_timestamps_are_unique_and_increase(client: AsyncWebClient) -> None:
    stamps = [(await client.chat_postMessage(channel="C0SUPPORT", text="x"))["ts"] for _ in range(20)]
    assert len(set(stamps)) == 20
    assert stamps == sorted(stamps, key=float)


async def test_blocks_are_completed_with_what_slack_adds(client: AsyncWebClient) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    blocks: list[dict[str, Any]] = [section, {"type": "actions", "elements": [button]}]
    message = (await client.chat_postMessage(channel="C0SUPPORT", text="x", blocks=blocks))["message"]
    assert message["blocks"][0]["text"]["verbatim"] is False
    assert message["blocks"][1]["elements"][0]["text"]["emoji"] is True
    assert all(block["block_id"] for block in message["blocks"])


async def test_a_bad_message_is_refused_by_name(client: AsyncWebClient) -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({"text": " "}, "no_text"),
        ({"text": "x", "blocks": "{not json"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": [{"type": "mystery"}]}, "invalid_blocks"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"markdown_text": "x", "blocks": [{"type": "divider"}]}, "markdown_text_conflict"),
        ({"text": "x", "metadata": {"event_type": "only"}}, "invalid_metadata_schema"),
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "thread_ts": "soon"}, "invalid_thread_ts"),
    ]
    misses = []
    for arguments, error in table:
        call = client.api_call("chat.postMessage", json={"channel": "C0SUPPORT", **arguments})
        if await error_of(call) != error:
            misses.append((arguments, error))
    assert misses == []


async def test_invalid_blocks_say_where(client: AsyncWebClient) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_001}}
    with pytest.raises(SlackApiError) as refused:
        await client.chat_postMessage(channel="C0SUPPORT", text="x", blocks=[section])
    assert refused.value.response["errors"] == ["must be less than 3001 characters [json-pointer:/blocks/0/text/text]"]
    assert refused.value.response["response_metadata"]["messages"][0].startswith("[ERROR] must be less")


async def test_more_text_in_blocks_than_a_message_holds_is_refused(client: AsyncWebClient) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2_900}}
    error = await error_of(client.chat_postMessage(channel="C0SUPPORT", text="x", blocks=[section] * 5))
    assert error == "msg_blocks_too_long"


async def test_very_long_text_is_cut_and_the_answer_warns(client: AsyncWebClient) -> None:
    answer = await client.chat_postMessage(channel="C0SUPPORT", text="x" * 40_001)
    assert len(answer["message"]["text"]) == 40_000
    assert answer["warning"] == "message_truncated"


async def test_metadata_is_returned_only_when_asked_for(client: AsyncWebClient) -> None:
    metadata = {"event_type": "turn", "event_payload": {"id": "7"}}
    await client.chat_postMessage(channel="C0SUPPORT", text="x", metadata=metadata)
    plain = await client.conversations_history(channel="C0SUPPORT")
    whole = await client.conversations_history(channel="C0SUPPORT", include_all_metadata=True)
    assert "metadata" not in plain["messages"][0]
    assert whole["messages"][0]["metadata"] == metadata


async def test_a_reply_changes_the_root_and_stays_out_of_the_history(
    workspace: Workspace, client: AsyncWebClient
) -> None:
    root = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "help")
    reply = (await client.chat_postMessage(channel="C0SUPPORT", text="yes", thread_ts=root))["ts"]
    await client.chat_postMessage(channel="C0SUPPORT", text="loud", thread_ts=root, reply_broadcast=True)
    history = (await client.conversations_history(channel="C0SUPPORT"))["messages"]
    assert [message["text"] for message in history] == ["loud", "help"]
    assert history[1]["reply_count"] == 2
    thread = (await client.conversations_replies(channel="C0SUPPORT", ts=root))["messages"]
    assert [message["text"] for message in thread] == ["help", "yes", "loud"]
    assert await error_of(client.chat_postMessage(channel="C0SUPPORT", text="x", thread_ts=reply)) == (
        "cannot_reply_to_message"
    )


async def test_history_can_be_read_between_two_times(client: AsyncWebClient) -> None:
    stamps = [(await client.chat_postMessage(channel="C0SUPPORT", text=str(n)))["ts"] for n in range(4)]
    between = await client.conversations_history(channel="C0SUPPORT", oldest=stamps[0], latest=stamps[3])
    around = await client.conversations_history(channel="C0SUPPORT", oldest=stamps[0], inclusive=True, limit=2)
    assert [message["text"] for message in between["messages"]] == ["2", "1"]
    assert [message["text"] for message in around["messages"]] == ["3", "2"]
    assert around["has_more"]


async def test_only_the_apps_own_messages_can_be_changed(workspace: Workspace, client: AsyncWebClient) -> None:
    theirs = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "mine")
    ours = (await client.chat_postMessage(channel="C0SUPPORT", text="first"))["ts"]
    updated = await client.chat_update(channel="C0SUPPORT", ts=ours, text="second")
    assert updated["message"]["edited"]["user"] == "U0FRONTDESK"
    assert await error_of(client.chat_update(channel="C0SUPPORT", ts=theirs, text="x")) == "cant_update_message"
    assert await error_of(client.chat_delete(channel="C0SUPPORT", ts=theirs)) == "cant_delete_message"
    assert await error_of(client.chat_update(channel="C0SUPPORT", ts="1.2", text="x")) == "message_not_found"
    assert await error_of(client.chat_update(channel="C0SUPPORT", ts=ours, text="x" * 4_001)) == "msg_too_long"
    await client.chat_delete(channel="C0SUPPORT", ts=ours)
    assert ours not in workspace.messages["C0SUPPORT"]


async def test_a_deleted_root_leaves_a_tombstone_for_its_replies(workspace: Workspace, client: AsyncWebClient) -> None:
    root = (await client.chat_postMessage(channel="C0SUPPORT", text="root"))["ts"]
    reply = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "reply", thread_ts=root)
    await client.chat_delete(channel="C0SUPPORT", ts=root)
    thread = (await client.conversations_replies(channel="C0SUPPORT", ts=root))["messages"]
    assert [message.get("subtype") for message in thread] == ["tombstone", None]
    await workspace.act.delete("U0CUSTOMERA", "C0SUPPORT", reply)
    assert root not in workspace.messages["C0SUPPORT"]


async def test_a_name_of_its_own_makes_a_bot_message(client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel="C0SUPPORT", text="x", username="Agent A", icon_emoji=":wave:")
    assert posted["message"]["subtype"] == "bot_message"
    assert posted["message"]["username"] == "Agent A"
    assert "user" not in posted["message"]


async def test_an_ephemeral_is_for_one_member_only(workspace: Workspace, client: AsyncWebClient) -> None:
    await client.chat_postEphemeral(channel="C0SUPPORT", user="U0CUSTOMERA", text="psst")
    (ephemeral,) = workspace.ephemerals
    assert (ephemeral["user"], ephemeral["text"]) == ("U0CUSTOMERA", "psst")
    assert not workspace.messages.get("C0SUPPORT")
    refused = client.chat_postEphemeral(channel="C0AGENTS", user="U0CUSTOMERA", text="x")
    assert await error_of(refused) == "user_not_in_channel"


async def test_reactions_are_added_once_and_taken_back(client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel="C0SUPPORT", text="x"))["ts"]
    await client.reactions_add(channel="C0SUPPORT", timestamp=ts, name="eyes")
    again = client.reactions_add(channel="C0SUPPORT", timestamp=ts, name="eyes")
    assert await error_of(again) == "already_reacted"
    seen = await client.reactions_get(channel="C0SUPPORT", timestamp=ts)
    assert seen["message"]["reactions"] == [{"name": "eyes", "users": ["U0FRONTDESK"], "count": 1}]
    await client.reactions_remove(channel="C0SUPPORT", timestamp=ts, name="eyes")
    gone = client.reactions_remove(channel="C0SUPPORT", timestamp=ts, name="eyes")
    assert await error_of(gone) == "no_reaction"


async def test_a_permalink_leads_to_the_reply_in_its_thread(workspace: Workspace, client: AsyncWebClient) -> None:
    root = await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "root")
    reply = (await client.chat_postMessage(channel="C0SUPPORT", text="reply", thread_ts=root))["ts"]
    link = (await client.chat_getPermalink(channel="C0SUPPORT", message_ts=reply))["permalink"]
    assert link.endswith(f"/archives/C0SUPPORT/p{reply.replace('.', '')}?thread_ts={root}&cid=C0SUPPORT")


async def test_attachments_are_numbered_and_their_blocks_completed(client: AsyncWebClient) -> None:
    given: list[dict[str, object]] = [{"text": "x"}, {"blocks": [{"type": "divider"}]}]
    told = (await client.chat_postMessage(channel="C0SUPPORT", text="x", attachments=given))["message"]["attachments"]
    assert [each["id"] for each in told] == [1, 2]
    assert told[1]["blocks"][0]["block_id"]


@pytest.mark.parametrize(
    ("attachments", "error"),
    [
        ("{", "invalid_attachments"),
        ({"text": "x"}, "invalid_attachments"),
        ([{"blocks": [{"type": "mystery"}]}], "invalid_attachments"),
        ([{"text": "x"}] * 101, "too_many_attachments"),
    ],
)
async def test_attachments_that_are_none_are_refused(client: AsyncWebClient, attachments: object, error: str) -> None:
    asked = {"channel": "C0SUPPORT", "text": "x", "attachments": attachments}
    assert await error_of(client.api_call("chat.postMessage", json=asked)) == error


async def test_an_update_leaves_what_it_does_not_name(client: AsyncWebClient, workspace: Workspace) -> None:
    where = {"channel": "C0SUPPORT"}
    metadata = {"event_type": "order", "event_payload": {"id": "1"}}
    given: Any = {"blocks": [{"type": "divider"}], "attachments": [{"text": "below"}], "metadata": metadata}
    ts = (await client.chat_postMessage(channel="C0SUPPORT", text="first", **given))["ts"]

    async def updated(**changes: Any) -> dict[str, Any]:
        await client.api_call("chat.update", json=where | {"ts": ts, "text": "second"} | changes)
        return workspace.message("C0SUPPORT", ts)

    kept = await updated()
    assert (kept["text"], kept["blocks"][0]["type"]) == ("second", "divider")
    assert (kept["attachments"][0]["text"], kept["metadata"]) == ("below", metadata)
    cleared = await updated(blocks=[], attachments=[], metadata={})
    assert cleared["blocks"][0]["type"] == "rich_text"
    assert not cleared.keys() & {"attachments", "metadata"}
    assert (await updated(text="third"))["blocks"][0]["elements"][0]["elements"][0]["text"] == "third"


PARAGRAPH, HEADING, TABLE, RULE = "Some words.", "# Returns", "| a | b |\n|---|---|\n| 1 | 2 |", "---"
SECTION: Any = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}


def as_block(markdown: str) -> dict[str, Any]:
    return {"text": "x", "blocks": [{"type": "markdown", "text": markdown}]}


def as_markdown_text(markdown: str) -> dict[str, Any]:
    return {"markdown_text": markdown}


@pytest.mark.parametrize("said", [as_block, as_markdown_text])
async def test_rich_text_alone_does_not_become_blocks_without_any(
    client: AsyncWebClient, said: Callable[[str], dict[str, Any]]
) -> None:
    """What Slack answered to each of these steps when it was tried; rules are believed to be as headings are."""
    for other in (HEADING, TABLE, RULE):
        where = {"channel": "C0SUPPORT"}
        posted = await client.api_call("chat.postMessage", json=where | said(PARAGRAPH))
        for taken in ((), (f"{other}\n\n{PARAGRAPH}", other, PARAGRAPH)):
            for shown in taken:
                await client.api_call("chat.update", json=where | {"ts": posted["ts"]} | said(shown))
            refused = client.api_call("chat.update", json=where | {"ts": posted["ts"]} | said(other))
            assert await error_of(refused) == "block_mismatch"


async def test_text_alone_and_mixed_blocks_become_any_others(client: AsyncWebClient, workspace: Workspace) -> None:
    where = {"channel": "C0SUPPORT"}
    rich = as_block(PARAGRAPH)
    mixed = rich | {"blocks": [*rich["blocks"], {"type": "divider"}]}
    for first in ({"text": PARAGRAPH}, mixed, {"text": "x", "blocks": [SECTION]}):
        ts = (await client.api_call("chat.postMessage", json=where | first))["ts"]
        await client.api_call("chat.update", json=where | {"ts": ts, "text": "x", "blocks": [SECTION]})
    ts = (await client.api_call("chat.postMessage", json=where | rich))["ts"]
    refused = client.api_call("chat.update", json=where | {"ts": ts, "text": "x", "blocks": [SECTION]})
    assert await error_of(refused) == "block_mismatch"
    assert workspace.message("C0SUPPORT", ts)["blocks"][0]["text"] == PARAGRAPH
    await client.api_call("chat.update", json=where | {"ts": ts, "text": "x", "blocks": []})
    await client.api_call("chat.update", json=where | {"ts": ts, "text": "x", "blocks": [SECTION]})


async def test_a_reply_to_all_carries_the_root(client: AsyncWebClient, app: SocketApp) -> None:
    root = (await client.chat_postMessage(channel="C0SUPPORT", text="root"))["ts"]
    await client.chat_postMessage(channel="C0SUPPORT", text="reply", thread_ts=root, reply_broadcast=True)
    assert (await app.event("message.thread_broadcast"))["root"]["text"] == "root"
