"""Pins and reactions of a message, as the app sets and reads them."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.tests.apps import connected, error_of
from local_slack.workspace import Workspace

CHANNEL = "C0SUPPORT"


@pytest.fixture
async def ts(workspace: Workspace) -> str:
    return await workspace.act.send("U0CUSTOMERA", CHANNEL, "Opening hours?")


async def test_a_pinned_message_is_listed_and_the_app_hears_of_it(
    client: AsyncWebClient, workspace: Workspace, ts: str
) -> None:
    async with connected(workspace) as app:
        await client.pins_add(channel=CHANNEL, timestamp=ts)
        told = await app.event("pin_added")
    (pin,) = (await client.pins_list(channel=CHANNEL))["items"]
    assert pin == told["item"]
    assert (pin["created_by"], pin["message"]["ts"], pin["message"]["pinned_to"]) == ("U0FRONTDESK", ts, [CHANNEL])
    assert (told["item_user"], told["pin_count"], told["channel_id"]) == ("U0CUSTOMERA", 1, CHANNEL)
    history = await client.conversations_history(channel=CHANNEL)
    assert (history["pin_count"], history["messages"][0]["pinned_info"]["pinned_by"]) == (1, "U0FRONTDESK")


async def test_a_pin_is_taken_out_again(client: AsyncWebClient, workspace: Workspace, ts: str) -> None:
    await client.pins_add(channel=CHANNEL, timestamp=ts)
    async with connected(workspace) as app:
        await client.pins_remove(channel=CHANNEL, timestamp=ts)
        assert (await app.event("pin_removed"))["has_pins"] is False
    assert (await client.pins_list(channel=CHANNEL))["items"] == []
    assert "pinned_to" not in workspace.message(CHANNEL, ts)


async def test_a_deleted_message_is_pinned_no_more(client: AsyncWebClient, workspace: Workspace, ts: str) -> None:
    await workspace.act.send("U0CUSTOMERA", CHANNEL, "Anybody?", thread_ts=ts)
    await client.pins_add(channel=CHANNEL, timestamp=ts)
    await workspace.act.delete("U0CUSTOMERA", CHANNEL, ts)
    assert (await client.pins_list(channel=CHANNEL))["items"] == []
    assert await error_of(client.pins_add(channel=CHANNEL, timestamp=ts)) == "not_pinnable"


async def test_pins_are_refused_in_slacks_words(client: AsyncWebClient, ts: str) -> None:
    await client.pins_add(channel=CHANNEL, timestamp=ts)
    assert await error_of(client.pins_add(channel=CHANNEL, timestamp=ts)) == "already_pinned"
    assert await error_of(client.pins_add(channel=CHANNEL)) == "no_item_specified"
    assert await error_of(client.pins_add(channel=CHANNEL, timestamp="now")) == "bad_timestamp"
    assert await error_of(client.pins_add(channel=CHANNEL, timestamp="1.000001")) == "message_not_found"
    await client.pins_remove(channel=CHANNEL, timestamp=ts)
    assert await error_of(client.pins_remove(channel=CHANNEL, timestamp=ts)) == "no_pin"


async def test_a_hundred_pins_are_enough_for_a_channel(client: AsyncWebClient, workspace: Workspace) -> None:
    for number in range(101):
        ts = await workspace.act.send("U0CUSTOMERA", CHANNEL, str(number))
        if number < 100:
            await client.pins_add(channel=CHANNEL, timestamp=ts)
    assert await error_of(client.pins_add(channel=CHANNEL, timestamp=ts)) == "too_many_pins"


async def test_reactions_are_read_with_the_message_and_its_address(
    client: AsyncWebClient, workspace: Workspace, ts: str
) -> None:
    await client.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")
    await workspace.act.react("U0AGENTA", CHANNEL, ts, "eyes")
    message = (await client.reactions_get(channel=CHANNEL, timestamp=ts))["message"]
    assert message["reactions"] == [{"name": "eyes", "users": ["U0FRONTDESK", "U0AGENTA"], "count": 2}]
    assert message["permalink"].endswith(f"/archives/{CHANNEL}/p{ts.replace('.', '')}")
    assert await error_of(client.reactions_get()) == "no_item_specified"
    assert await error_of(client.reactions_get(channel=CHANNEL, timestamp="now")) == "bad_timestamp"
    assert await error_of(client.reactions_get(file="F0NONE")) == "file_not_found"


async def test_a_persons_reactions_are_listed_the_newest_first(
    client: AsyncWebClient, workspace: Workspace, ts: str
) -> None:
    later = await workspace.act.send("U0CUSTOMERB", CHANNEL, "And on Sunday?")
    for each in (ts, later):
        await workspace.act.react("U0AGENTA", CHANNEL, each, "eyes")
    pages = await client.reactions_list(user="U0AGENTA", limit=1)
    assert [item["message"]["ts"] async for page in pages for item in page["items"]] == [later, ts]
    assert (await client.reactions_list())["items"] == []
    assert await error_of(client.reactions_list(user="U0NOBODY")) == "user_not_found"
