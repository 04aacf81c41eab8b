"""Interrupts reach turns at once from their own process, and soon from others."""

import asyncio
from contextlib import suppress

import pytest

from bot.ingest.interrupts import Interrupt, Interrupts
from bot.store import inbox
from bot.store import interrupts as stored_interrupts
from bot.store.database import Database
from bot.store.inbox import InterruptKind
from tests.doubles.clock import ManualClock
from tests.doubles.unwell import Unwell
from tests.patience import patience
from tests.store.test_interrupts import deletion, stop
from tests.turns.arrivals import arrival


def test_an_interrupt_reaches_the_turn_of_the_row_and_no_other() -> None:
    interrupts = Interrupts()

    async def work() -> None:
        with interrupts.running(1) as first, interrupts.running(2) as second:
            interrupts.tell(1, "edited")
            interrupts.tell(3, "stop")
            assert (first.kind, first.is_set()) == ("edited", True)
            assert (second.kind, second.is_set()) == ("", False)
        interrupts.tell(1, "stop")
        assert first.kind == "edited"

    asyncio.run(work())


async def test_of_several_interrupts_the_gravest_counts() -> None:
    interrupt, heard = Interrupt(), []
    kinds: tuple[InterruptKind, ...] = ("edited", "stop", "edited", "deleted", "stop")
    for kind in kinds:
        interrupt.tell(kind)
        heard.append(interrupt.kind)
    assert heard == ["edited", "stop", "stop", "deleted", "deleted"]


async def test_a_bounded_wait_ends_when_an_interrupt_comes() -> None:
    interrupt, waited = Interrupt(), False
    with suppress(TimeoutError):
        async with asyncio.timeout(patience(20)) as clock:
            with interrupt.bounding(clock):
                asyncio.get_running_loop().call_soon(interrupt.tell, "stop")
                await asyncio.Event().wait()
        waited = True
    assert not waited
    assert interrupt.kind == "stop"


@pytest.mark.parametrize("is_well", [True, False])
async def test_what_another_process_stored_is_found(database: Database, *, is_well: bool) -> None:
    interrupts, clock = Interrupts(), ManualClock()
    read = database if is_well else Unwell(database)
    async with database.transaction() as tx:
        first = await inbox.add(tx, arrival("1.1"), now=1.0)
        then = await inbox.add(tx, arrival("1.2"), now=1.0)
        assert first is not None
        assert then is not None
        await stored_interrupts.store_all(tx, [stop("1.1", "2.0"), deletion("1.2", "2.0")], now=1.0)
    with interrupts.running(first) as one, interrupts.running(then) as other:
        watching = asyncio.create_task(interrupts.watch(read, clock))
        async with asyncio.timeout(patience(20)):
            while not (one.is_set() and other.is_set()):
                clock.advance(1.0)
                await asyncio.sleep(0)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
    assert (one.kind, other.kind) == ("stop", "deleted")
