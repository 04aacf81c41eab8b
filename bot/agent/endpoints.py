"""The models that a turn can use: where each one is, what it costs, and whether it makes sense to ask it now.

An `Endpoint` is one model at one server. `Models` lists the endpoints by tier: the preferred one, then its fallbacks.
A `Breaker` keeps turns from waiting for a server that is known to be away, and bounds the number of retries.
"""

import asyncio
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from bot.agent.model import FailureKind, Model, ModelFailure, Usage
from bot.clock import HOUR

Tier = Literal["strong", "cheap"]
"""The tier of a model: "strong" answers customers, "cheap" routes and summarizes."""

TRIP_AFTER = 5
"""The number of failures in a row after which an endpoint rests. Failures at the same time count as one."""
FIRST_REST_SECONDS = 1.0
"""The first rest, in seconds: a blip is over by then. After it, requests go one by one until one is answered."""
BREAKER_OPEN_PERIOD = 10.0
"""The longest rest, in seconds. The rest doubles each time such a single request fails too."""
PROBE_INTERVAL = 1.0
"""Seconds between two of these single requests."""
LASTING_SECONDS = 60.0
"""How long an endpoint rests if its key is wrong or its account is empty, in seconds."""
FAULT_SECONDS = HOUR
"""Seconds. After an older failure a server is not reported: if no one asks it, its state is unknown."""
LIMITED_SECONDS = 60.0
"""The longest time in seconds that one 429 keeps all turns away, even if it asks for more."""
RETRY_SHARE = 0.25
"""The retries that one request earns. A server in trouble gets a quarter more work, not three times as much."""
RETRY_RESERVE = 20.0
"""The largest number of saved retries, which is also the number at the start."""
RETRIES_PER_SECOND = 8.0
"""How many retries come back each second. Beyond the reserve, retries are made at this pace but not refused."""
LET_IN = 2
"""How many waiting turns continue when the server answers one.

So all turns are back within some round trips, but a server that has just recovered does not get all of them at once.
"""

MAX_FIRST_TOKENS = 200
"""How many of the latest requests the percentile of first tokens is of."""
MIN_FIRST_TOKENS = 20
"""With fewer measured requests there is no percentile."""

_ILLNESS: frozenset[FailureKind] = frozenset({"model_unreachable", "deadline", "cut"})
"""Failures that show that a server is ill. All others are answers, even if they are errors."""
_LASTING: frozenset[FailureKind] = frozenset({"unauthorized", "insufficient_quota"})
"""Failures that the next request will meet too."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    cached: float
    output: float
    write: float | None = None
    """The price of input that is written to the provider's cache. None: that of other input."""
    reasoning: float | None = None
    """The price of output that is thought and not shown. None: that of other output."""

    def of(self, usage: Usage) -> float:
        """What these tokens cost, in dollars."""
        write = self.input if self.write is None else self.write
        reasoning = self.output if self.reasoning is None else self.reasoning
        fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
        shown = max(0, usage.output_tokens - usage.reasoning_tokens)
        read = fresh * self.input + usage.cached_tokens * self.cached + usage.written_tokens * write
        return (read + shown * self.output + usage.reasoning_tokens * reasoning) / 1e6


class Breaker:
    """Decides whether a server is asked, and whether it is asked again. All turns of a process share it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures = 0
        self._counted_at = -inf
        self._failed_at = -inf
        self._not_before = -inf
        self._because: FailureKind = "model_unreachable"
        self._next_rest = FIRST_REST_SECONDS
        self._retries = RETRY_RESERVE
        """The saved retries. Below 0 it is the number of delayed retries."""
        self._counted_retries_at = now()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        """The waiting turns, the one that waits longest first."""
        self._answered_at = -inf

    @property
    def rest(self) -> float:
        """Seconds until a request can be made. 0 if one can be made now."""
        return max(0.0, self._not_before - self._now())

    @property
    def is_open(self) -> bool:
        """True while no requests are made."""
        return self.rest > 0

    @property
    def because(self) -> FailureKind:
        """Why no requests are made."""
        return self._because

    @property
    def is_hopeless(self) -> bool:
        """True if the cause is lasting, so that waiting for the end of the rest does not help."""
        return self.is_open and self._because in _LASTING

    @property
    def is_ill(self) -> bool:
        """True while no requests are made because the server is ill. The end of that is unknown."""
        return self.is_open and self._because in _ILLNESS

    @property
    def fault(self) -> FailureKind | None:
        """Why no requests are made, or why the latest ones failed since one was answered.

        None if all is well, or if the latest failure is older than FAULT_SECONDS.
        """
        is_told = self._failures >= TRIP_AFTER and self._now() - self._failed_at < FAULT_SECONDS
        return self._because if self.is_open or is_told else None

    def enter(self) -> float | None:
        """Begin a request and return its time, for `failed`. None if no request can be made."""
        if self.is_open:
            return None
        if self._failures >= TRIP_AFTER:
            self._not_before = self._now() + PROBE_INTERVAL
        self._retries = min(RETRY_RESERVE, self._retries + RETRY_SHARE)
        return self._now()

    @property
    def retry_delay(self) -> float:
        """Return the seconds until one more retry can be made, after the retries that were delayed before."""
        now = self._now()
        earned = (now - self._counted_retries_at) * RETRIES_PER_SECOND
        self._retries, self._counted_retries_at = min(RETRY_RESERVE, self._retries + earned), now
        return max(0.0, (1 - self._retries) / RETRIES_PER_SECOND)

    def take_retry(self) -> float:
        """Use one retry. Return the seconds until it can be made."""
        delay = self.retry_delay
        self._retries -= 1
        return delay

    async def wait(self, seconds: float, *, since: float) -> None:
        """Wait for `seconds`, or until the server has answered others and this turn is let in.

        Turns are let in by `since`, when they began to wait: a turn that waits again keeps its place.
        """
        let_in = asyncio.get_running_loop().create_future()
        place = (since, id(let_in), let_in)
        insort(self._waiting, place)
        try:
            await asyncio.wait((let_in,), timeout=seconds)
        finally:
            if not let_in.done():
                self._waiting.remove(place)

    def answered(self) -> None:
        """Note that a request is being answered: the server is well, and some waiting turns continue."""
        self._is_there()
        self._answered_at = self._now()
        for _, _, let_in in self._waiting[:LET_IN]:
            let_in.set_result(None)
        del self._waiting[:LET_IN]

    @property
    def answered_ago(self) -> float:
        """Seconds since the server answered last. Infinite if it never did, or if a request has failed since."""
        return self._now() - self._answered_at if self._answered_at > self._failed_at else inf

    def _is_there(self) -> None:
        if self._failures:
            self._failures = 0
            self._next_rest = FIRST_REST_SECONDS
            self._not_before = -inf

    def failed(self, failure: ModelFailure, *, begun: float) -> None:
        """Note that the request that began at `begun` got no reply."""
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
                self.trip(failure.kind)

    def trip(self, because: FailureKind) -> None:
        """Make no requests for a while. Each time in a row it is longer."""
        self._failures = max(self._failures, TRIP_AFTER)
        self._keep_away(self._next_rest, because)
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
class Deadlines:
    """How long a model may take, in seconds. They take the place of the turn's own limits, except its end."""

    first_sign: float | None = None
    """From a request to the first sign of life in its stream. None: as the turn's limits say."""
    silence: float | None = None
    """Between two signs of life. None: as the turn's limits say."""
    round: float | None = None
    """From a request to the end of its reply. None: as the turn's limits say."""
    loading: float = 0.0
    """For the first sign of life as long as the model has not answered since the start: its server may load it."""


@dataclass(slots=True)
class FirstTokens:
    """How long the latest requests took to the first sign of life, in seconds."""

    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_FIRST_TOKENS))
    is_loaded: bool = False
    """True once the model has answered since the start."""
    observe: Callable[[float], None] | None = None
    """Hears of each of them."""

    def add(self, seconds: float) -> None:
        """Note a request that was answered."""
        if self.observe is not None:
            self.observe(seconds)
        self.seconds.append(seconds)
        self.is_loaded = True

    @property
    def p95(self) -> float | None:
        """The time within which 95 of 100 requests are answered. None if too few were measured."""
        if len(self.seconds) < MIN_FIRST_TOKENS:
            return None
        return sorted(self.seconds)[len(self.seconds) * 95 // 100]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one server."""

    name: str
    """The model's name as its server knows it."""
    model: Model
    price: Price | None = None
    """The price of the model. None means unknown, and its tokens count as free."""
    thinking_seconds: float = 0.0
    """How long it may be silent regardless of the turn's limits, in seconds: a reasoning model hides its thoughts."""
    breaker: Breaker = field(default_factory=Breaker)
    deadlines: Deadlines = field(default_factory=Deadlines)
    first_tokens: FirstTokens = field(default_factory=FirstTokens)
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The fields that its server refuses and is no longer sent, with the reasons. It grows while the model is used."""
    takes_images: Callable[[], bool] = lambda: False
    """Whether the model gets images. A server that refuses them changes that."""

    @property
    def fault(self) -> str | None:
        """Return what is wrong with the model, in words for operators. None if nothing is known to be."""
        kind = self.breaker.fault
        return kind and f"the model {self.name}: {_FAULTS.get(kind, f'it does not answer ({kind})')}"


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a process can use."""

    strong: tuple[Endpoint, ...]
    """The strong endpoints, at least one. The first is preferred."""
    cheap: tuple[Endpoint, ...] = ()
    """The cheap endpoints. If there are none, the strong ones do this work too."""

    @property
    def only_cheap(self) -> "Models | None":
        """Return the cheap endpoints without the strong ones as fallback. None if there are none."""
        cheap = tuple(each for each in self.cheap if all(each is not strong for strong in self.strong))
        return Models(cheap) if cheap else None

    def take_images(self) -> bool:
        """Return whether the preferred endpoint gets images."""
        return self.strong[0].takes_images()

    def faults(self) -> list[str]:
        """Return what is wrong with any endpoint, without repetitions."""
        return list(dict.fromkeys(fault for each in (*self.strong, *self.cheap) if (fault := each.fault)))

    @property
    def are_away(self) -> bool:
        """Whether no strong endpoint answers: neither does the preferred one, nor a fallback."""
        return all(each.breaker.fault for each in self.strong)

    def left_out(self) -> list[str]:
        """Return the fields that endpoints are not sent, a line for each endpoint."""
        told = (f"{each.name}: {', '.join(each.left_out)}" for each in (*self.strong, *self.cheap) if each.left_out)
        return list(dict.fromkeys(told))

    def of(self, tier: Tier) -> tuple[Endpoint, ...]:
        """Return the endpoints of a tier, the preferred one first."""
        return self.cheap or self.strong if tier == "cheap" else self.strong
