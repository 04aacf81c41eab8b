"""When the next call of an answer is made: what wakes the writer, and how long it waits."""

import asyncio
import math

from bot.clock import Clock
from bot.slack.api.errors import SlackUnanswered

LONGEST_REST = 30.0
"""The longest wait, in seconds, because of a rate limit."""


class StreamPace:
    """What the writer of one answer waits for."""

    def __init__(self, clock: Clock, retry_seconds: float) -> None:
        self.more = asyncio.Event()
        """Set when there is something to show."""
        self.end = asyncio.Event()
        """Set when the text is complete."""
        self.flushed = -math.inf
        """When the last calls were made."""
        self.dry_until = -math.inf
        """Before this time, Slack's rate limits leave nothing for words that can wait."""
        self._clock = clock
        self._retry_seconds = retry_seconds

    def now(self) -> float:
        """The present moment on a clock that only goes forward."""
        return self._clock.monotonic()

    def note_flush(self) -> None:
        """Calls were made just now."""
        self.flushed = self.now()

    def hold_back(self, failure: SlackUnanswered) -> None:
        """Keep the words back. They go with later ones, or with the end."""
        self.dry_until = self.now() + min(failure.retry_after, LONGEST_REST)
        self.more.set()

    async def rest(self, failures: int, retry_after: float) -> None:
        """Wait before another try, but not longer than until the text ends."""
        wait = self._retry_seconds * 2 ** (failures - 1)
        resting: list[asyncio.Task[object]] = [
            asyncio.create_task(self._clock.sleep(max(wait, min(retry_after, LONGEST_REST))))
        ]
        if not self.end.is_set():
            resting.append(asyncio.create_task(self.end.wait()))
        try:
            await asyncio.wait(resting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in resting:
                each.cancel()
