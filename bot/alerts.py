"""What operators are rung up for: the first time, not every time."""

import logging
import time
from collections.abc import Callable
from typing import Any

ALERT_SECONDS = 600.0
"""For so long the same fault is not told as an error again."""
KINDS_KEPT = 1_000
"""Faults that are remembered; past it the oldest are told anew."""


class Alerts:
    """One line at ERROR for a fault that lasts; while it does, its repetitions are warnings."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._told: dict[str, float] = {}

    def tell(self, logger: logging.Logger, message: str, *, about: str, **extra: Any) -> None:
        """Log `message` with `extra`; `about` says which fault it is, so that two are not taken for one."""
        is_new = self._is_new(f"{logger.name} {message} {about}")
        logger.log(logging.ERROR if is_new else logging.WARNING, message, extra=extra)

    def tell_once(self, logger: logging.Logger, message: str, *, about: str, **extra: Any) -> None:
        """The same for a fault that others can bring about as often as they like: its repetitions are not logged."""
        if self._is_new(f"{logger.name} {message} {about}"):
            logger.error(message, extra=extra)

    def _is_new(self, key: str) -> bool:
        """Whether this has not been told lately; from now on it has."""
        now = self._now()
        is_new = now - self._told.get(key, -ALERT_SECONDS) >= ALERT_SECONDS
        if is_new:
            self._told.pop(key, None)
            self._told[key] = now
            if len(self._told) > KINDS_KEPT:
                del self._told[next(iter(self._told))]
        return is_new
