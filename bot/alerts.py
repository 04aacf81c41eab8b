"""Alerts for operators: a lasting fault is an error the first time, and not each time that it happens."""

import logging
import time
from collections.abc import Callable
from typing import Any

ALERT_SECONDS = 600.0
"""Seconds within which the same fault is not logged as an error again."""
KINDS_KEPT = 1_000
"""Faults that are remembered. Beyond this number the oldest is forgotten, and would be an error again."""


class Alerts:
    """Logs a lasting fault once at ERROR; while it lasts, its repetitions are warnings."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._told: dict[str, float] = {}

    def tell(self, logger: logging.Logger, message: str, *, about: str, **extra: Any) -> None:
        """Log `message` with `extra`. `about` says which fault it is, so that two faults are told apart."""
        is_new = self._is_new(f"{logger.name} {message} {about}")
        logger.log(logging.ERROR if is_new else logging.WARNING, message, extra=extra)

    def tell_once(self, logger: logging.Logger, message: str, *, about: str, **extra: Any) -> None:
        """Do the same for a fault that outsiders can cause at will: its repetitions are not logged at all."""
        if self._is_new(f"{logger.name} {message} {about}"):
            logger.error(message, extra=extra)

    def _is_new(self, key: str) -> bool:
        """Whether the fault was not logged within ALERT_SECONDS. If so, this notes that it is logged now."""
        now = self._now()
        is_new = now - self._told.get(key, -ALERT_SECONDS) >= ALERT_SECONDS
        if is_new:
            self._told.pop(key, None)
            self._told[key] = now
            if len(self._told) > KINDS_KEPT:
                del self._told[next(iter(self._told))]
        return is_new
