"""An answer whose thread goes to a person while it is written."""

import asyncio
from typing import Any

import pytest

from bot.agent.guardrails import OutputGate
from bot.errors import Silenced
from bot.slack.stream import open_stream
from tests.doubles.clock import ManualClock
from tests.slack.test_stream import AT_ONCE, BUTTONS, breathe, exactly
from tests.slack.thread import Thread


class Floor:
    """Whose the thread is."""

    def __init__(self) -> None:
        self.is_ours = True

    async def check(self) -> None:
        if not self.is_ours:
            raise Silenced("a person has the thread")


def opened(thread: Thread, floor: Floor) -> Any:
    return open_stream(
        thread,
        channel="D1",
        thread_ts="1795000000.000100",
        user="U1",
        team="T1",
        gate=OutputGate(frozenset()),
        may_speak=floor.check,
        limits=AT_ONCE,
        clock=ManualClock(),
    )


@pytest.mark.parametrize("cannot", ["", "unknown_method"])
@pytest.mark.parametrize("is_written_on", [True, False])
async def test_from_then_on_it_shows_no_more_and_ends(cannot: str, *, is_written_on: bool) -> None:
    thread, floor = Thread(always={"start": cannot}), Floor()
    async with opened(thread, floor) as writer:
        writer.text("Your lamp is on its way. ")
        await breathe()
        before = list(thread.read)
        floor.is_ours = False
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
    thread, floor = Thread(), Floor()
    floor.is_ours = False
    async with opened(thread, floor) as writer:
        writer.text("Your lamp is on its way. ")
        await breathe()
        await asyncio.sleep(0)
        with pytest.raises(Silenced):
            await writer.finish()
    exactly(thread, "")
