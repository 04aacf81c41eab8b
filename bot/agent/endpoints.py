"""The models a turn may speak with: where each is, what it costs, and whether it is worth asking just now.

An `Endpoint` is one model at one server. `Models` lists them by tier, the one to prefer first, a fallback after it.
A `Breaker` keeps turns from waiting for a server that is known to be away, and bounds how much is asked twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from bot.agent.model import FailureKind, Model, ModelFailure, Usage

Tier = Literal["strong", "cheap"]
"""strong: answers customers. cheap: routes, summarises."""

TRIP_AFTER = 5
"""Failures, one after the other, after which an endpoint is left alone; what fails at the same time is one failure."""
FIRST_REST_SECONDS = 1.0
"""For how long, the first time; then requests go one by one until one of them is answered. A blip is over by then."""
OPEN_SECONDS = 10.0
"""For how long at the most: each time that such a request fails as well, it is twice as long."""
PROBE_SECONDS = 1.0
"""Between two of these."""
LASTING_SECONDS = 60.0
"""For how long an endpoint is left alone that cannot work: the key is wrong, the account is empty."""
LIMITED_SECONDS = 60.0
"""The longest that one answer of "too many requests" keeps all turns away, whatever it asks for."""
RETRY_SHARE = 0.25
"""Retries that one request earns: a server in trouble gets a quarter more to do, not three times as much."""
RETRY_RESERVE = 20.0
"""Retries that may be saved up, and are there at the start."""

_ILLNESS: frozenset[FailureKind] = frozenset({"model_unreachable", "deadline", "cut"})
"""Failures of a server that is not well. All others are answers, if not those one hoped for."""
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
        self._counted_at = -inf
        self._not_before = -inf
        self._because: FailureKind = "model_unreachable"
        self._next_rest = FIRST_REST_SECONDS
        self._retries = RETRY_RESERVE

    @property
    def rest(self) -> float:
        """Seconds until a request may be made; 0 when one may be made now."""
        return max(0.0, self._not_before - self._now())

    @property
    def is_open(self) -> bool:
        """True while requests are kept away."""
        return self.rest > 0

    @property
    def because(self) -> FailureKind:
        """Why they are."""
        return self._because

    @property
    def is_hopeless(self) -> bool:
        """True when waiting for the end of the rest would be in vain."""
        return self.is_open and self._because in _LASTING

    @property
    def is_ill(self) -> bool:
        """True while requests are kept away because the server is not well, so that nobody knows until when."""
        return self.is_open and self._because in _ILLNESS

    def enter(self) -> float | None:
        """Begin a request; its time, for `failed`. None when it may not be made."""
        if self.is_open:
            return None
        if self._failures >= TRIP_AFTER:
            self._not_before = self._now() + PROBE_SECONDS
        self._retries = min(RETRY_RESERVE, self._retries + RETRY_SHARE)
        return self._now()

    def allows_retry(self) -> bool:
        """Whether a failed request may be made once more; it counts as made."""
        if self._retries < 1:
            return False
        self._retries -= 1
        return True

    def answered(self) -> None:
        """A request is being answered: the server is there."""
        if self._failures:
            self._failures = 0
            self._next_rest = FIRST_REST_SECONDS
            self._not_before = -inf

    def failed(self, failure: ModelFailure, *, begun: float) -> None:
        """The request that began then got no reply."""
        if failure.kind == "rate_limited":
            self.answered()
            self._keep_away(min(failure.retry_after or 0.0, LIMITED_SECONDS), failure.kind)
        elif failure.kind in _LASTING:
            self._failures = TRIP_AFTER
            self._keep_away(LASTING_SECONDS, failure.kind)
        elif failure.kind not in _ILLNESS:
            self.answered()
        elif begun >= self._counted_at:
            self._counted_at = self._now()
            self._failures += 1
            if self._failures >= TRIP_AFTER:
                self._keep_away(self._next_rest, failure.kind)
                self._next_rest = min(2 * self._next_rest, OPEN_SECONDS)

    def _keep_away(self, seconds: float, because: FailureKind) -> None:
        self._not_before = max(self._not_before, self._now() + seconds)
        self._because = because


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
