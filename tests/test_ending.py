"""How a process ends: turns first, with all that they need; nothing is waited for past the time it has."""

import asyncio
from contextlib import suppress
from typing import Any, cast

from bot.app import SHUTDOWN_TIMEOUT, TURN_DRAIN_TIMEOUT, App, wind_up
from bot.clock import SystemClock
from bot.errors import StoreUnavailable
from tests.patience import patience


async def hang() -> None:
    await asyncio.Event().wait()


class Engine:
    """Notes what was still alive while its turns ended."""

    def __init__(self, watch: asyncio.Task[None]) -> None:
        self._watch = watch
        self.given = 0.0
        self.was_watched = False

    async def drain(self, seconds: float) -> None:
        """As TurnEngine.drain."""
        self.given = seconds
        await asyncio.sleep(0)
        self.was_watched = not self._watch.done()


class Outbox:
    """Has more to send than there is time for, or nobody to ask."""

    def __init__(self, *, is_away: bool) -> None:
        self._is_away = is_away
        self.asked = False

    async def flush(self, seconds: float) -> bool:
        """As Outbox.flush."""
        self.asked = True
        if self._is_away:
            raise StoreUnavailable("Postgres does not answer")
        await hang()
        return False


def ending(engine: Engine, outbox: Outbox, background: asyncio.Task[None], watch: asyncio.Task[None]) -> App:
    nothing = cast(Any, None)
    values = dict.fromkeys(App.__slots__, nothing)
    values |= {"engine": engine, "outbox": outbox, "clock": SystemClock()}
    return App(**{**values, "background": {background}, "watches": {watch}})


async def test_turns_end_while_what_they_need_is_there_and_the_database_may_be_away() -> None:
    work, watch = asyncio.create_task(hang()), asyncio.create_task(hang())
    engine, outbox = Engine(watch), Outbox(is_away=True)
    await wind_up(ending(engine, outbox, work, watch), SystemClock().monotonic() + SHUTDOWN_TIMEOUT)
    assert engine.was_watched
    assert 0 < engine.given <= TURN_DRAIN_TIMEOUT
    assert outbox.asked
    assert work.cancelled()
    assert watch.cancelled()


async def test_what_does_not_end_is_not_waited_for() -> None:
    let_go = asyncio.Event()

    async def stubborn() -> None:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    work, watch = asyncio.create_task(stubborn()), asyncio.create_task(hang())
    await asyncio.sleep(0)
    async with asyncio.timeout(patience(20)):
        await wind_up(ending(Engine(watch), Outbox(is_away=False), work, watch), SystemClock().monotonic() + 0.2)
    assert not work.done()
    let_go.set()
    await work
