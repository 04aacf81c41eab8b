"""What runs turns: an at-least-once, one-at-a-time, in-order call of a function for each thread."""

from collections.abc import Awaitable, Callable
from typing import Protocol

TakeTurn = Callable[[int], Awaitable[None]]
"""Works on one inbox row; may be called again with the same row after a crash."""


class TurnEngine(Protocol):
    """`bot.turns.lanes.Lanes` on one machine."""

    def submit(self, item_id: int, thread: str) -> None:
        """Queue one inbox row in its thread's lane; returns at once."""
