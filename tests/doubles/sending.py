"""The outbox of a test, which sends when it is told to."""

import asyncio

from bot.slack.outbox import Outbox


async def send_all(outbox: Outbox, *, patience: float = 20.0) -> None:
    """Send everything that is queued and what follows from it; an assertion fails when that takes longer.

    `patience` is in seconds of the outbox's own clock.
    """
    running = asyncio.create_task(outbox.run())
    outbox.wake()
    try:
        assert await outbox.flush(patience)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
