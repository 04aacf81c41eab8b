"""The customer reads staff under their own names and pictures, or with the name in the first line."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.stories.stage import Stage
from tests.stories.world import ROOT, Post, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCOPE = "      - chat:write.customize\n"


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_case_stays_open(world: World) -> AsyncIterator[None]:
    yield
    await world.hands_all_back()


async def claimed(world: World) -> tuple[Post, Post]:
    """The customer's message, and the thread of the card that Agent A has claimed."""
    asked = await world.customer.says("May I talk to a real person?")
    told = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    ref = re.search(r"FD-\d+", told.text)
    assert ref is not None
    card = await world.card(having=ref[0])
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    return asked, Post(card.channel, card.ts, card.ts)


async def test_a_reply_has_the_name_and_picture_of_who_wrote_it_and_keeps_them_when_edited(world: World) -> None:
    asked, card = await claimed(world)
    written = await world.staff.says("It *left*\nthis morning.", to=card)
    reply = await world.customer.reads(asked, having=lambda seen: "this morning" in seen.text)
    assert reply.raw["username"] == "Agent A (support)"
    assert reply.raw["icons"]["image_48"].endswith("/avatars/U0AGENTA.svg")
    assert reply.raw["text"] == "It *left*\nthis morning."
    body = {"user": world.staff.user, "channel": written.channel, "ts": written.ts, "text": "It left at nine."}
    await world.act("edit", body)
    edited = await world.customer.reads(asked, having=lambda seen: "at nine" in seen.text)
    assert edited.ts == reply.ts
    assert edited.raw["text"] == "It left at nine. _(edited)_"
    assert edited.raw["username"] == "Agent A (support)"


async def test_without_the_scope_the_name_is_the_first_line(tmp_path: Path, stage: Stage) -> None:
    async with open_without_scope(tmp_path, stage) as world:
        asked, card = await claimed(world)
        written = await world.staff.says("It left this morning.", to=card)
        reply = await world.customer.reads(asked, having=lambda seen: "this morning" in seen.text)
        assert "username" not in reply.raw
        assert reply.raw["text"] == "*Agent A (support)*\nIt left this morning."
        body = {"user": world.staff.user, "channel": written.channel, "ts": written.ts, "text": "It left at nine."}
        await world.act("edit", body)
        edited = await world.customer.reads(asked, having=lambda seen: "at nine" in seen.text)
        assert edited.raw["text"] == "*Agent A (support)*\nIt left at nine. _(edited)_"


@asynccontextmanager
async def open_without_scope(folder: Path, stage: Stage) -> AsyncIterator[World]:
    whole = (ROOT / "manifest.yml").read_text("utf-8")
    assert SCOPE in whole
    manifest = folder / "manifest.yml"
    manifest.write_text(whole.replace(SCOPE, ""), "utf-8")
    async with stage.open_world(folder, manifest=manifest) as world:
        yield world
