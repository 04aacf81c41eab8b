"""Files between a customer and the person who looks after them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.test_cases import claimed_card, in_thread_of, open_case
from tests.stories.world import PATIENCE, Post, Seen, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_case_stays_open(world: World) -> AsyncIterator[None]:
    yield
    await world.hands_all_back()


def files_of(seen: Seen) -> list[str]:
    """The names of the files that a message still has."""
    return [file["name"] for file in seen.raw.get("files") or () if file.get("mode") != "tombstone"]


async def content(world: World, seen: Seen) -> bytes:
    """What is in the message's first file."""
    (file, *_) = seen.raw["files"]
    headers = {"Authorization": f"Bearer {world.ready['slack']['bot_token']}"}
    async with world.http.get(file["url_private_download"], headers=headers) as response:
        return await response.read()


async def gone(world: World, post: Post) -> None:
    """Return when nothing of the app's in the thread has a file any more."""
    await world.until(
        lambda state: (
            not any(
                message.get("bot_id") and any(file.get("mode") != "tombstone" for file in message.get("files") or ())
                for message in state["messages"][post.channel]
                if message.get("thread_ts") == post.thread_ts
            )
            or None
        ),
        what="no file",
        channel=post.channel,
    )


async def test_a_customer_of_another_organisation_and_the_team_send_each_other_files(world: World) -> None:
    asked, card, ref = await open_case(world, world.stranger)
    photo = await world.stranger.shares("lamp.png", "not quite a picture", text="It came broken", to=asked)
    shown = await world.staff.reads(in_thread_of(card), having=lambda seen: files_of(seen) == ["lamp.png"])
    assert "Partner D" in shown.text
    assert "It came broken" in shown.text
    assert await content(world, shown) == b"not quite a picture"

    await world.staff.presses(card, "case.claim")
    await claimed_card(world, ref)
    label = await world.staff.shares("label.pdf", "a label", text="Please send it back", to=in_thread_of(card))
    sent = await world.stranger.reads(asked, having=lambda seen: files_of(seen) == ["label.pdf"])
    assert "Agent A" in sent.text
    assert "Please send it back" in sent.text
    assert await content(world, sent) == b"a label"

    await world.staff.deletes(label)
    await gone(world, asked)
    await world.stranger.deletes(photo)
    await gone(world, in_thread_of(card))


async def test_a_file_for_the_assistant_is_there_when_a_person_is_called(world: World) -> None:
    asked = await world.customer.shares("lamp.png", "not quite a picture")
    told = await world.customer.reads(asked, having=lambda seen: "I couldn't open" in seen.text)
    await world.customer.says("Then let me talk to a person", to=asked)
    await world.customer.reads(asked, after=told.ts, having=lambda seen: "FD-" in seen.text)
    card = await world.card_of(asked)
    await world.staff.reads(in_thread_of(card), having=lambda seen: "[attached: lamp.png]" in seen.text)
    await world.staff.reads(in_thread_of(card), having=lambda seen: files_of(seen) == ["lamp.png"])


async def test_words_beside_a_file_are_answered_as_without_it_and_the_file_is_named(world: World) -> None:
    words = "How many days do I have to return an item?"
    asked = await world.customer.shares("bill of_may.pdf", "pages", text=words)
    answer = await world.customer.reads(asked, having=lambda seen: "https://help.example.com/" in seen.text)
    assert "30 days" in answer.text
    assert "bill of_may.pdf" in answer.text


async def test_a_file_that_may_not_be_read_is_told_to_both_sides_and_the_words_go(world: World) -> None:
    asked, card, _ = await open_case(world, world.customer)
    await world.breaks(method="files.info", do="missing_scope", count=1)
    await world.customer.shares("lamp.png", "not quite a picture", text="It came broken", to=asked)
    line = await world.staff.reads(in_thread_of(card), having=lambda seen: "Not delivered" in seen.text)
    assert "lamp.png" in line.text
    assert "files:read" in line.text
    await world.staff.reads(in_thread_of(card), having=lambda seen: "It came broken" in seen.text)
    await world.customer.reads(asked, having=lambda seen: "lamp.png: I couldn't pass this on" in seen.text)


async def test_a_file_that_is_too_large_is_told_and_the_next_one_arrives(world: World) -> None:
    asked, card, ref = await open_case(world, world.customer)
    await world.staff.presses(card, "case.claim")
    await claimed_card(world, ref)
    await world.breaks(method="files.getUploadURLExternal", do="file_too_large", count=1)
    await world.staff.shares("film.mov", "a long film", text="See for yourself", to=in_thread_of(card))
    line = await world.staff.reads(in_thread_of(card), having=lambda seen: "Not delivered" in seen.text)
    assert "film.mov: larger than 25 MB" in line.text
    sent = await world.customer.reads(asked, having=lambda seen: "See for yourself" in seen.text)
    assert "couldn't be delivered" in sent.text
    assert files_of(sent) == []
    await world.staff.shares("frame.png", "a frame of it", to=in_thread_of(card))
    await world.customer.reads(asked, having=lambda seen: files_of(seen) == ["frame.png"])


async def test_a_kill_while_files_are_on_their_way_doubles_none(world: World) -> None:
    asked, card, _ = await open_case(world, world.customer)

    async def kill(name: str, *, at: str) -> None:
        """Kill the product when Slack has done this call for the file and not answered yet."""
        calls = [each["name"] for each in await world.log("call")].count(at)
        await world.breaks(method=at, do="late", seconds=20, count=1)
        await world.customer.shares(name, name, text=f"Look at {name}", to=asked)
        async with asyncio.timeout(PATIENCE):
            while [each["name"] for each in await world.log("call")].count(at) == calls:
                await world.next_change()
        await world.bot("kill")
        await world.bot("restart")

    await kill("announced.png", at="files.getUploadURLExternal")
    await kill("shared.png", at="files.completeUploadExternal")
    await world.customer.shares("last.png", "last.png", to=asked)
    await world.staff.reads(in_thread_of(card), having=lambda seen: files_of(seen) == ["last.png"])
    shown = [seen for seen in await world.replies(in_thread_of(card)) if files_of(seen)]
    assert [files_of(seen) for seen in shown] == [["announced.png"], ["shared.png"], ["last.png"]]
    assert [await content(world, seen) for seen in shown] == [b"announced.png", b"shared.png", b"last.png"]


async def test_what_no_message_shows_whole_is_a_file_under_the_card_and_what_is_deleted_is_not_in_it(
    world: World,
) -> None:
    long = f"What does a return cost? {'My boots are still in their box. ' * 30}They are of the kind quokkaboots."
    asked = await world.customer.says(long)
    told = await world.customer.reads(asked)
    wants = await world.customer.says("Let me talk to a person", to=asked)
    await world.customer.reads(asked, after=told.ts, having=lambda seen: "FD-" in seen.text)
    card = await world.card_of(asked)
    below = in_thread_of(card)
    first = await world.staff.reads(below, having=lambda seen: bool(files_of(seen)))
    whole = (await content(world, first)).decode()
    assert "quokkaboots" in whole
    assert "Let me talk to a person" in whole
    await world.customer.deletes(asked)
    second = await world.staff.reads(below, after=first.ts, having=lambda seen: bool(files_of(seen)))
    rest = (await content(world, second)).decode()
    assert "quokkaboots" not in rest
    assert "Let me talk to a person" in rest
    shown = [seen for seen in await world.replies(below) if files_of(seen)]
    assert [seen.ts for seen in shown] == [second.ts]
    assert wants.ts
