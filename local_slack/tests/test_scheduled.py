"""Messages that wait for their time, listed and called off."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.tests.apps import ManualClock, connected, error_of
from local_slack.workspace import Workspace

CHANNEL = "C0SUPPORT"


@pytest.fixture
def workspace(still: Workspace) -> Workspace:
    return still


def texts(workspace: Workspace, channel: str = CHANNEL) -> list[str]:
    return [message["text"] for message in workspace.messages.get(channel, {}).values()]


async def test_a_scheduled_message_is_posted_when_its_time_has_come(
    client: AsyncWebClient, workspace: Workspace, clock: ManualClock
) -> None:
    at = int(clock.now) + 3_600
    answer = await client.chat_scheduleMessage(channel=CHANNEL, text="Good morning", post_at=at)
    assert (answer["post_at"], answer["message"]["type"]) == (at, "delayed_message")
    (waiting,) = (await client.chat_scheduledMessages_list())["scheduled_messages"]
    assert waiting == {
        "id": answer["scheduled_message_id"],
        "channel_id": CHANNEL,
        "post_at": at,
        "date_created": int(clock.now),
        "text": "Good morning",
    }
    await clock.advance(3_599)
    assert texts(workspace) == []
    async with connected(workspace) as app:
        await clock.advance(1)
        assert (await app.event("message"))["text"] == "Good morning"
    assert (await client.chat_scheduledMessages_list())["scheduled_messages"] == []


async def test_it_goes_into_its_thread(client: AsyncWebClient, workspace: Workspace, clock: ManualClock) -> None:
    root = await workspace.act.send("U0CUSTOMERA", CHANNEL, "Remind me")
    await client.chat_scheduleMessage(channel=CHANNEL, text="Now", post_at=int(clock.now) + 60, thread_ts=root)
    await clock.advance(60)
    assert workspace.replies(CHANNEL, root)[1]["text"] == "Now"


async def test_a_scheduled_message_is_called_off(
    client: AsyncWebClient, workspace: Workspace, clock: ManualClock
) -> None:
    answer = await client.chat_scheduleMessage(channel=CHANNEL, text="Never", post_at=int(clock.now) + 60)
    waiting = answer["scheduled_message_id"]
    elsewhere = client.chat_deleteScheduledMessage(channel="C0GENERAL", scheduled_message_id=waiting)
    assert await error_of(elsewhere) == "invalid_scheduled_message_id"
    await client.chat_deleteScheduledMessage(channel=CHANNEL, scheduled_message_id=waiting)
    await clock.advance(60)
    assert texts(workspace) == []
    again = client.chat_deleteScheduledMessage(channel=CHANNEL, scheduled_message_id=waiting)
    assert await error_of(again) == "invalid_scheduled_message_id"


async def test_scheduled_messages_are_listed_by_channel_time_and_page(
    client: AsyncWebClient, clock: ManualClock
) -> None:
    now = int(clock.now)
    for channel, minutes in ((CHANNEL, 30), (CHANNEL, 10), ("C0GENERAL", 20)):
        await client.chat_scheduleMessage(channel=channel, text=str(minutes), post_at=now + 60 * minutes)

    async def listed(**wanted: str) -> list[str]:
        pages = await client.chat_scheduledMessages_list(limit=1, **wanted)
        return [each["text"] async for page in pages for each in page["scheduled_messages"]]

    assert await listed() == ["10", "20", "30"]
    assert await listed(channel=CHANNEL) == ["10", "30"]
    assert await listed(oldest=str(now + 700), latest=str(now + 1_300)) == ["20"]
    assert await error_of(client.chat_scheduledMessages_list(channel="C0NONE")) == "invalid_channel"


async def test_times_are_refused_in_slacks_words(client: AsyncWebClient, clock: ManualClock) -> None:
    now = int(clock.now)
    for post_at, error in (
        ("soon", "invalid_time"),
        (now, "time_in_past"),
        (now + 120 * 86_400 + 1, "time_too_far"),
    ):
        assert await error_of(client.chat_scheduleMessage(channel=CHANNEL, text="x", post_at=post_at)) == error
    empty = client.api_call("chat.scheduleMessage", json={"channel": CHANNEL, "post_at": now + 60})
    assert await error_of(empty) == "no_text"


async def test_thirty_messages_within_five_minutes_are_enough_for_a_channel(
    client: AsyncWebClient, clock: ManualClock
) -> None:
    now = int(clock.now)
    for number in range(30):
        await client.chat_scheduleMessage(channel=CHANNEL, text="x", post_at=now + 1_000 + number)
    near = client.chat_scheduleMessage(channel=CHANNEL, text="x", post_at=now + 1_010)
    assert await error_of(near) == "restricted_too_many"
    await client.chat_scheduleMessage(channel=CHANNEL, text="x", post_at=now + 2_000)
    await client.chat_scheduleMessage(channel="C0GENERAL", text="x", post_at=now + 1_010)


async def test_nothing_is_posted_to_a_channel_that_was_archived_meanwhile(
    client: AsyncWebClient, workspace: Workspace, clock: ManualClock
) -> None:
    await client.chat_scheduleMessage(channel=CHANNEL, text="Too late", post_at=int(clock.now) + 60)
    workspace.channels[CHANNEL].is_archived = True
    await clock.advance(60)
    assert texts(workspace) == []
