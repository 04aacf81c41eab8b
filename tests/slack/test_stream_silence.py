"""An answer whose thread goes to a person while it is written."""

import asyncio

import pytest

from bot.errors import Silenced
from tests.slack.test_stream import BUTTONS, breathe, exactly, opened
from tests.slack.thread import Thread


class Guard:
    """Whose the thread is."""

    def __init__(self) -> None:
        self.is_ours = True

    async def check(self) -> None:
        if not self.is_ours:
            raise Silenced("a person has the thread")


@pytest.mark.parametrize("cannot", ["", "unknown_method"])
@pytest.mark.parametrize("is_written_on", [True, False])
async def test_from_then_on_it_shows_no_more_and_ends(cannot: str, *, is_written_on: bool) -> None:
    thread, guard = Thread(always={"start": cannot}), Guard()
    async with opened(thread, may_speak=guard.check) as writer:
        writer.text("Your lamp is on its way. ")
        await breathe()
        before = list(thread.read)
        guard.is_ours = False
        writer.text("It comes on Monday. ")
        if is_written_on:
            await breathe()
        with pytest.raises(Silenced):
            await writer.finish(blocks=BUTTONS)
    assert thread.read == before
    assert "".join(before).strip() == "Your lamp is on its way."
    assert not thread.open
    assert not any(message.blocks for message in thread.messages.values())


async def test_before_its_first_words_it_shows_nothing() -> None:
    thread, guard = Thread(), Guard()
    guard.is_ours = False
    async with opened(thread, may_speak=guard.check) as writer:
        writer.text("Your lamp is on its way. ")
        await breathe()
        await asyncio.sleep(0)
        with pytest.raises(Silenced):
            await writer.finish()
    exactly(thread, "")
