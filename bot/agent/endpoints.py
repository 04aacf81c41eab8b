"""The models a turn may speak with: where each is, what it costs, and whether it is worth asking just now.

An `Endpoint` is one model at one server. `Models` lists them by tier, the one to prefer first, a fallback after it.
A `Breaker` keeps turns from waiting for a server that is known to be away, and bounds how much is asked twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from bot.agent.model import FailureKind, Model, Usage

Tier = Literal["strong", "cheap"]
"""strong: answers customers. cheap: routes, summarises."""

TRIP_AFTER = 5
"""Failures in a row after which an endpoint is left alone."""
OPEN_SECONDS = 30.0
"""For how long; then one request finds out."""
RETRY_SHARE = 0.25
"""Retries that one request earns: a server in trouble gets a quarter more to do, not three times as much."""
RETRY_RESERVE = 20.0
"""Retries that may be saved up, and are there at the start."""

_OUR_FAULT: frozenset[FailureKind] = frozenset({"refused_request", "context_length", "filtered", "refused", "blank"})
"""Failures that say nothing about the server's health."""
_LASTING: frozenset[FailureKind] = frozenset({"unauthorized", "insufficient_quota"})
"""Failures that the next request will meet as well."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    cached: float
    output: float

    def of(self, usage: Usage) -> float:
        """What these tokens cost, in dollars."""
        fresh = max(0, usage.input_tokens - usage.cached_tokens)
        return (fresh * self.input + usage.cached_tokens * self.cached + usage.output_tokens * self.output) / 1e6


class Breaker:
    """Whether a server is asked, and whether it is asked again. Shared by all turns of a process."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures = 0
        self._open_until = 0.0
        self._retries = RETRY_RESERVE

    @property
    def is_open(self) -> bool:
        """True while requests are kept away."""
        return self._now() < self._open_until

    def allows(self) -> bool:
        """Whether a request may be made now; it counts as made, so that after a rest a single one goes ahead."""
        if self.is_open:
            return False
        if self._failures >= TRIP_AFTER:
            self._open_until = self._now() + OPEN_SECONDS
        self._retries = min(RETRY_RESERVE, self._retries + RETRY_SHARE)
        return True

    def allows_retry(self) -> bool:
        """Whether a failed request may be made once more; it counts as made."""
        if self._retries < 1:
            return False
        self._retries -= 1
        return True

    def succeeded(self) -> None:
        """A request got its reply."""
        self._failures = 0
        self._open_until = 0.0

    def failed(self, kind: FailureKind) -> None:
        """A request got none."""
        if kind in _OUR_FAULT:
            return
        self._failures = max(self._failures + 1, TRIP_AFTER if kind in _LASTING else 0)
        if self._failures >= TRIP_AFTER:
            self._open_until = self._now() + OPEN_SECONDS


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one server."""

    name: str
    """The model's name as its server knows it."""
    model: Model
    price: Price | None = None
    """None: unknown; its tokens count as free."""
    thinking_seconds: float = 0.0
    """How long it may be silent whatever the turn's limits say: a model that reasons does not show its thoughts."""
    breaker: Breaker = field(default_factory=Breaker)


@dataclass(frozen=True, slots=True)
class Models:
    """What a process may speak with."""

    strong: tuple[Endpoint, ...]
    """At least one; the first is preferred."""
    cheap: tuple[Endpoint, ...] = ()
    """Empty: the strong ones do this work too."""

    def of(self, tier: Tier) -> tuple[Endpoint, ...]:
        """The endpoints of a tier, the preferred one first."""
        return self.cheap or self.strong if tier == "cheap" else self.strong
