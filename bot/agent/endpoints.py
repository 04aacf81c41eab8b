"""The models a turn may speak with: where each is, what it costs, and whether it is worth asking just now.

An `Endpoint` is one model at one server. `Models` lists them by tier, the one to prefer first, a fallback after it.
A `Breaker` keeps turns from waiting for a server that is known to be away, and bounds how much is asked twice.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from bot.agent.model import FailureKind, Model, ModelFailure, Usage
from bot.clock import HOUR

Tier = Literal["strong", "cheap"]
"""strong: answers customers. cheap: routes, summarises."""

TRIP_AFTER = 5
"""Failures, one after the other, after which an endpoint is left alone; what fails at the same time is one failure."""
FIRST_REST_SECONDS = 1.0
"""For how long, the first time; then requests go one by one until one of them is answered. A blip is over by then."""
BREAKER_OPEN_PERIOD = 10.0
"""For how long at the most: each time that such a request fails as well, it is twice as long."""
PROBE_INTERVAL = 1.0
"""Between two of these."""
LASTING_SECONDS = 60.0
"""For how long an endpoint is left alone that cannot work: the key is wrong, the account is empty."""
FAULT_SECONDS = HOUR
"""How old the latest failure may be for a server to be called ill: of one that nobody asks nothing is known."""
LIMITED_SECONDS = 60.0
"""The longest that one answer of "too many requests" keeps all turns away, whatever it asks for."""
RETRY_SHARE = 0.25
"""Retries that one request earns: a server in trouble gets a quarter more to do, not three times as much."""
RETRY_RESERVE = 20.0
"""Retries that may be saved up, and are there at the start."""
RETRIES_PER_SECOND = 8.0
"""How fast retries come back by themselves: beyond the reserve they are made at this pace, none is refused for it."""
LET_IN = 2
"""Turns that wait for a server and go on at once when it answers one: so all are back within some round trips, and a
server that has just come to is not met by all of them together."""

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
        self._failed_at = -inf
        self._not_before = -inf
        self._because: FailureKind = "model_unreachable"
        self._next_rest = FIRST_REST_SECONDS
        self._retries = RETRY_RESERVE
        """Less than 0: how many retries have been put off."""
        self._counted_retries_at = now()
        self._waiting: deque[asyncio.Future[None]] = deque()

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

    @property
    def fault(self) -> FailureKind | None:
        """Why requests are kept away, or why the latest ones failed since one was answered.

        None while all is well, and when the latest failure is so old that nobody can tell.
        """
        is_told = self._failures >= TRIP_AFTER and self._now() - self._failed_at < FAULT_SECONDS
        return self._because if self.is_open or is_told else None

    def enter(self) -> float | None:
        """Begin a request; its time, for `failed`. None when it may not be made."""
        if self.is_open:
            return None
        if self._failures >= TRIP_AFTER:
            self._not_before = self._now() + PROBE_INTERVAL
        self._retries = min(RETRY_RESERVE, self._retries + RETRY_SHARE)
        return self._now()

    @property
    def retry_delay(self) -> float:
        """Seconds until one more retry may be made, behind those that were put off before."""
        now = self._now()
        earned = (now - self._counted_retries_at) * RETRIES_PER_SECOND
        self._retries, self._counted_retries_at = min(RETRY_RESERVE, self._retries + earned), now
        return max(0.0, (1 - self._retries) / RETRIES_PER_SECOND)

    def take_retry(self) -> float:
        """Have a failed request made once more; seconds until it may be."""
        delay = self.retry_delay
        self._retries -= 1
        return delay

    async def wait(self, seconds: float) -> None:
        """Wait so long, or until the server has answered others and lets this turn in."""
        let_in = asyncio.get_running_loop().create_future()
        self._waiting.append(let_in)
        try:
            await asyncio.wait((let_in,), timeout=seconds)
        finally:
            if not let_in.done():
                self._waiting.remove(let_in)

    def answered(self) -> None:
        """A request is being answered: the server is well, and some of those who wait for it may go on."""
        self._is_there()
        for _ in range(min(LET_IN, len(self._waiting))):
            self._waiting.popleft().set_result(None)

    def _is_there(self) -> None:
        if self._failures:
            self._failures = 0
            self._next_rest = FIRST_REST_SECONDS
            self._not_before = -inf

    def failed(self, failure: ModelFailure, *, begun: float) -> None:
        """The request that began then got no reply."""
        self._failed_at = self._now()
        if failure.kind == "rate_limited":
            self._is_there()
            self._keep_away(min(failure.retry_after or 0.0, LIMITED_SECONDS), failure.kind)
        elif failure.kind in _LASTING:
            self._failures = TRIP_AFTER
            self._keep_away(LASTING_SECONDS, failure.kind)
        elif failure.kind not in _ILLNESS:
            self._is_there()
        elif begun >= self._counted_at:
            self._counted_at = self._now()
            self._failures += 1
            if self._failures >= TRIP_AFTER:
                self._keep_away(self._next_rest, failure.kind)
                self._next_rest = min(2 * self._next_rest, BREAKER_OPEN_PERIOD)

    def _keep_away(self, seconds: float, because: FailureKind) -> None:
        self._not_before = max(self._not_before, self._now() + seconds)
        self._because = because


_FAULTS: Mapping[FailureKind, str] = {
    "unauthorized": "its server refuses the key",
    "insufficient_quota": "the account at its provider is empty",
    "rate_limited": "its provider takes no more requests for the moment",
}


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

    @property
    def fault(self) -> str | None:
        """What is wrong with the model, in words for operators; None while nothing is known of it."""
        kind = self.breaker.fault
        return kind and f"the model {self.name}: {_FAULTS.get(kind, f'it does not answer ({kind})')}"


@dataclass(frozen=True, slots=True)
class Models:
    """What a process may speak with."""

    strong: tuple[Endpoint, ...]
    """At least one; the first is preferred."""
    cheap: tuple[Endpoint, ...] = ()
    """Empty: the strong ones do this work too."""

    @property
    def only_cheap(self) -> "Models | None":
        """The cheap ones without the strong ones behind them; None where there are none."""
        cheap = tuple(each for each in self.cheap if all(each is not strong for strong in self.strong))
        return Models(cheap) if cheap else None

    def faults(self) -> list[str]:
        """What is wrong with any of them, each said once."""
        return list(dict.fromkeys(fault for each in (*self.strong, *self.cheap) if (fault := each.fault)))

    def of(self, tier: Tier) -> tuple[Endpoint, ...]:
        """The endpoints of a tier, the preferred one first."""
        return self.cheap or self.strong if tier == "cheap" else self.strong
