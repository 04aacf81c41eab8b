"""What requests may cost: Shopify counts points and not requests, in one bucket for each shop and app.

CostBucket  How many points are left, as the last answer said.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

WAIT_LIMIT = 5.0
"""Seconds that a question waits at most for points. Beyond it, it fails at once."""


class CostBucket:
    """The points of one shop, as far as this process knows. Other processes and apps take from them, too."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._available: float | None = None
        self._most = 0.0
        self._restored_a_second = 0.0
        self._noted_at = 0.0
        self._costs: dict[str, float] = {}

    def wait_for(self, document: str) -> float:
        """Seconds until there are points for this document. 0 for a document of unknown cost."""
        if self._available is None or not self._restored_a_second:
            return 0.0
        return max((self._costs.get(document, 0.0) - self._left()) / self._restored_a_second, 0.0)

    def take(self, document: str) -> None:
        """Take the points of a document that is sent now or after its wait."""
        if self._available is not None:
            self._available = self._left() - self._costs.get(document, 0.0)
            self._noted_at = self._now()

    def note(self, document: str, extensions: object) -> None:
        """Take over what an answer says of its cost and of the points that are left."""
        cost = extensions.get("cost") if isinstance(extensions, Mapping) else None
        if not isinstance(cost, Mapping):
            return
        requested, status = _number(cost.get("requestedQueryCost")), cost.get("throttleStatus")
        if requested is not None:
            self._costs[document] = requested
        if isinstance(status, Mapping):
            self._take_over(status)

    def _left(self) -> float:
        restored = (self._now() - self._noted_at) * self._restored_a_second
        return min((self._available or 0.0) + restored, self._most)

    def _take_over(self, status: Mapping[str, Any]) -> None:
        found = [_number(status.get(name)) for name in ("currentlyAvailable", "maximumAvailable", "restoreRate")]
        available, most, rate = found
        if available is not None and most is not None and rate is not None:
            self._available, self._most, self._restored_a_second = available, most, rate
            self._noted_at = self._now()


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
