"""When a row can be closed together with its answer."""

import asyncio

from bot.agent.model import Usage
from bot.turns.answers.danger_check import Look, Looking
from bot.turns.row_closing import RowClosing
from tests.doubles.clock import settle


def test_nothing_is_closed_with_the_answer_unless_that_was_allowed() -> None:
    assert not RowClosing().may_follow()


async def test_a_row_stays_open_until_the_look_for_danger_is_over() -> None:
    over, closing = asyncio.Event(), RowClosing()

    async def look() -> Look | None:
        await over.wait()
        return None

    task = asyncio.create_task(look())
    closing.follow()
    closing.wait_for(Looking(task, 1.0).has_found_nothing)
    await settle()
    assert not closing.may_follow()
    over.set()
    await task
    assert closing.may_follow()


async def test_a_row_stays_open_if_the_look_saw_danger_or_was_ended() -> None:
    async def look() -> Look | None:
        return Look("crisis", (), Usage())

    found, ended = asyncio.create_task(look()), asyncio.create_task(look())
    ended.cancel()
    await asyncio.wait({found, ended})
    for task in (found, ended):
        closing = RowClosing()
        closing.follow()
        closing.wait_for(Looking(task, 1.0).has_found_nothing)
        assert not closing.may_follow()
