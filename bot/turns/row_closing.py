"""Closing a row together with its answer: one transaction keeps the turn and closes the row.

That saves a transaction for an ordinary answer. It is done only if nothing else is left to do for the row. A crash
before it leaves a row with a journal, and after it a closed one. In all other cases the turn is kept first, then what
is left is done, and the row is closed at the end (`Turns._close`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from bot.turns.summaries import Episode


def _never() -> bool:
    return False


@dataclass(slots=True)
class RowClosing:
    """What the parts of one attempt tell each other about the end of its row."""

    may_follow: Callable[[], bool] = _never
    """Whether the row can be closed as soon as the turn is kept. It is asked at that moment."""
    is_done: bool = False
    """Whether the row was closed with the turn."""
    episode: Episode | None = None
    """The episode with the kept turn as its last. None if it is not known."""

    def follow(self) -> None:
        """Allow it: what follows the answer changes nothing."""
        self.may_follow = lambda: True

    def wait_for(self, is_over: Callable[[], bool]) -> None:
        """Allow it only if this is over, too."""
        before = self.may_follow
        self.may_follow = lambda: before() and is_over()
