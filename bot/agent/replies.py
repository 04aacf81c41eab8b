"""One round's reply: attempts, endpoints, deadlines, and the continuation of a reply that broke off.

In reading order:

- `get_reply` and `_get_whole` try until there is a reply.
- `_listen` reads one stream under its deadlines.
- `_hear` handles the events of the stream.
- `_recover` decides what follows a failure. It holds the whole policy for retries.

What the customer has read cannot be taken back. As long as nothing was shown, a failed request is made again, here or
at the next endpoint. Once something was shown, the model is asked to continue where it stopped.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any

from bot.agent.endpoints import PROBE_INTERVAL, Breaker, Endpoint
from bot.agent.events import Emit, Held, ModelRetried, RequestFailed, TextDelta
from bot.agent.hedging import Contender, first_to_speak, hedge_delay
from bot.agent.history import size_of
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, CustomerMessage, JsonObject, SystemNote, ToolCall
from bot.agent.model import (
    FailureKind,
    Finished,
    FinishReason,
    ModelEvent,
    ModelFailure,
    ModelRequest,
    ReplyExtra,
    Usage,
)
from bot.agent.patience import Patience

logger = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
"""An estimate for requests whose tokens were not counted."""
SEAM_CHARACTERS = 32
"""How many characters of a continuation are always checked for words that were said before."""
_SEAM_LEAST = 8
"""The least number of equal characters that count as a repetition. Fewer can be chance."""
HELD_SECONDS = 3.0
"""A turn that waits longer than this for a server that is away says so. In seconds."""
_LONG_WAIT = 2.0
"""Seconds. If a provider asks to wait longer and another endpoint can be asked, the turn does not wait."""

_HELD_UP_SECONDS = 1.0
"""Seconds. A connection lost while the event loop was delayed at least this long is not the server's fault."""

_ELSEWHERE: frozenset[FailureKind] = frozenset({"unauthorized", "insufficient_quota", "deadline"})
"""Failures after which the next endpoint is better than another try at this one."""
_SAME_ANYWHERE: frozenset[FailureKind] = frozenset({"filtered", "refused"})
"""Failures about the content. No other endpoint is asked to overrule them."""
_AWAY: frozenset[FailureKind] = frozenset({"model_unreachable", "cut"})
"""Failures after which it makes sense to wait for the same server."""
_BROKE_OFF: frozenset[FailureKind] = frozenset({"cut", "deadline", "malformed", "model_unreachable", "rate_limited"})
"""Failures that end a reply in the middle and have nothing to do with its content."""
_GO_ON = SystemNote(
    "Your last message broke off on its way. Continue it exactly where it stops; repeat nothing, and do not mention it."
)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's reply in one round."""

    text: str
    """The text as the customer has read it."""
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """See AgentMessage.extra."""

    def to_json(self) -> JsonObject:
        """The reply as a JSON object."""
        calls = [call.to_json() for call in self.calls]
        shape: JsonObject = {"text": self.text, "calls": calls, "finish": self.finish, "usage": asdict(self.usage)}
        return {**shape, "model": self.model, "extra": dict(self.extra)}

    @classmethod
    def from_json(cls, value: JsonObject) -> "ModelReply":
        """Return the reply from the result of `to_json`."""
        calls = tuple(map(ToolCall.from_json, value["calls"]))
        usage = Usage(**value["usage"])
        return cls(value["text"], calls, value["finish"], usage, value.get("model", ""), value.get("extra", {}))


@dataclass(slots=True)
class StreamState:
    """The state of what the model has said to the customer so far in a turn."""

    emit: Emit
    shown: str = ""
    """The text of the current round that was shown."""
    spoke: bool = False
    """True if an earlier round showed text."""
    standing: ModelReply | None = None
    """The reply of the current round that reached its length limit and is being continued. Else None."""

    def shortened(self) -> ModelReply | None:
        """Return the reply in `standing` with the continuation so far. It is the final reply if no more comes."""
        return self.standing and replace(self.standing, text=self.shown)

    def show(self, text: str) -> None:
        """Emit text, after a paragraph break if an earlier round showed text. A round's leading blanks are dropped."""
        if not self.shown:
            text = text.lstrip()
            if text and self.spoke:
                self.emit(TextDelta("\n\n"))
        if text:
            self.shown += text
            self.emit(TextDelta(text))

    def end_round(self) -> None:
        """End the round: the following text is another message."""
        self.spoke = self.spoke or bool(self.shown)
        self.shown = ""
        self.standing = None


@dataclass(slots=True)
class RunUsage:
    """The tokens, money, retries and waiting time of a turn so far."""

    usage: Usage = field(default_factory=Usage)
    retries: int = 0
    continuations: int = 0
    waited: float = 0.0
    """Seconds spent waiting until an endpoint can be asked again."""
    waits_since: float | None = None
    """When it began to wait, on the event loop's clock. None if it has not waited yet."""
    is_held: bool = False
    """Whether it has said that it waits."""
    has_tripped: bool = False
    """Whether it has found a server to be away by itself."""


BuildRequest = Callable[[str, int], ModelRequest]
"""(the model's name, characters for the conversation) -> the request for that model."""


@dataclass(slots=True)
class Asking:
    """The state of one round's attempts."""

    build: BuildRequest
    endpoints: Sequence[Endpoint]
    """The endpoints to ask, the preferred one first."""
    limits: Limits
    state: StreamState
    spent: RunUsage
    deadline: float
    """The time at which the turn ends at the latest, on the event loop's clock."""
    window: int
    """How many characters of conversation a request holds."""
    attempts: int = 1
    silences: int = 0
    """How often a stream was silent for too long."""
    trimmed: bool = False
    """True if the conversation was too long once and has been trimmed."""
    thought_out: int = 0
    """How often a model used up all tokens of a reply for thinking."""
    partial: str = ""
    """The shown text of a reply that broke off and is being continued."""

    def left(self) -> float:
        """Seconds until the turn ends."""
        return self.deadline - asyncio.get_running_loop().time()

    async def wait(self, breaker: Breaker, seconds: float) -> None:
        """Wait at most `seconds` for the server behind the breaker. The time counts in `RunUsage.waited`."""
        spent, begun = self.spent, asyncio.get_running_loop().time()
        spent.waits_since = spent.waits_since or begun
        if spent.waited + seconds > HELD_SECONDS and not spent.is_held:
            spent.is_held = True
            self.state.emit(Held())
        try:
            await breaker.wait(seconds, since=spent.waits_since)
        finally:
            spent.waited += asyncio.get_running_loop().time() - begun

    def silence(self, seconds: float) -> float:
        """Return how long a stream may be silent: `seconds`, or less if one was silent for too long before."""
        return min(seconds, self.limits.silent_again_seconds) if self.silences else seconds

    def continue_from_here(self) -> bool:
        """Have the next request continue the shown text. False if the turn has no continuation left."""
        if self.spent.continuations >= self.limits.continuations:
            return False
        self.spent.continuations += 1
        self.partial = self.state.shown
        return True

    def request(self, endpoint: Endpoint) -> ModelRequest:
        """Return the request for this endpoint, including the text that was shown already."""
        request = replace(self.build(endpoint.name, self.window), thinks_less=self.thought_out > 0)
        if not self.partial:
            return request
        return replace(request, messages=(*request.messages, AgentMessage(self.partial), _GO_ON))


async def get_reply(asking: Asking) -> ModelReply:
    """Get the round's reply and show its text. Raises ModelFailure if all attempts have failed.

    If a reply reached its length limit and its continuation fails, the reply so far is the result.
    """
    try:
        return await _get_whole(asking)
    except ModelFailure:
        if shortened := asking.state.shortened():
            return shortened
        raise


async def _get_whole(asking: Asking) -> ModelReply:
    while True:
        endpoint, begun = await _pick(asking)
        attempt = _Attempt(endpoint, asking.request(endpoint), begun)
        try:
            reply = await _listen(asking, attempt)
        except ModelFailure as failure:
            endpoint = attempt.endpoint
            if _is_our_own(asking, failure):
                logger.warning(
                    "a request failed while the event loop was held up: it is made again", extra=_of(failure)
                )
                continue
            _note_failure(asking, failure, endpoint, begun=attempt.begun)
            await _recover(asking, failure, endpoint, attempt.request)
        else:
            if not _may_go_on(asking, reply):
                return reply


def _note_failure(asking: Asking, failure: ModelFailure, endpoint: Endpoint, *, begun: float) -> None:
    endpoint.breaker.failed(failure, begun=begun)
    logger.warning("a request failed: %s", failure, extra={"model": endpoint.name})
    asking.state.emit(RequestFailed(endpoint.name, str(failure)))


def _is_our_own(asking: Asking, failure: ModelFailure) -> bool:
    """Whether a connection failed because our own event loop was delayed: its timers ran out first.

    This says nothing about the server. The delay uses up the turn's time, so such retries end.
    """
    is_lost = failure.kind in ("model_unreachable", "cut") and asking.state.shown == asking.partial
    return is_lost and failure.late >= _HELD_UP_SECONDS


def _of(failure: ModelFailure) -> dict[str, object]:
    return {"reason": str(failure), "late": round(failure.late, 3)}


async def _pick(asking: Asking) -> tuple[Endpoint, float]:
    """Return the first endpoint that can be asked, and the time of the request. Waits a limited time for one."""
    while True:
        for endpoint in asking.endpoints:
            if (begun := endpoint.breaker.enter()) is not None:
                return endpoint, begun
        breakers = [endpoint.breaker for endpoint in asking.endpoints]
        waits = [(wait, n) for n, breaker in enumerate(breakers) if (wait := _wait_for(asking, breaker)) is not None]
        if not waits:
            because = min(breakers, key=lambda breaker: breaker.rest).because
            raise ModelFailure(because, "every endpoint is left alone just now")
        wait, first = min(waits)
        await asking.wait(breakers[first], wait)


def _wait_for(asking: Asking, breaker: Breaker) -> float | None:
    """Return the seconds until a resting endpoint can be asked. None if the turn does not wait for it."""
    wait = breaker.rest + random.uniform(0.0, PROBE_INTERVAL / 2)  # noqa: S311 - not a secret
    longest = asking.limits.outage_seconds if breaker.is_ill else asking.limits.retry_after_seconds
    in_time = asking.left() > wait and asking.spent.waited + wait <= longest
    return wait if in_time and not breaker.is_hopeless else None


def _may_go_on(asking: Asking, reply: ModelReply) -> bool:
    """Whether to continue a reply that reached its length limit. The turn's remaining output is the bound."""
    if reply.finish != "length" or reply.calls or len(reply.text) >= asking.limits.output_characters // 2:
        return False
    if not asking.continue_from_here():
        return False
    asking.state.standing = reply
    return True


@dataclass(slots=True)
class _Attempt:
    """One request. If another model is asked as well and speaks first, it becomes the attempt."""

    endpoint: Endpoint
    request: ModelRequest
    begun: float
    """The time of the request on the breaker's clock."""
    started: float | None = None
    """The time of the request on the event loop's clock, if it was not the first one."""


async def _listen(asking: Asking, attempt: _Attempt) -> ModelReply:
    """Read one stream under its deadlines. Raises ModelFailure if it ends with neither text nor calls."""
    received, patience = _Received(), Patience(_patience(asking, attempt.endpoint))
    try:
        async with patience:
            finish = await _hear(asking, attempt, received, patience)
    except TimeoutError:
        if not patience.expired():
            raise
        received.is_cut_off = True
        raise ModelFailure("deadline", "no sign of life in the stream", retryable=True) from None
    except ModelFailure as failure:
        failure.late = patience.late
        raise
    except asyncio.CancelledError:
        received.is_cut_off = True
        silence = ModelFailure("deadline", "silent until the turn's end")
        if not received.alive and asking.left() <= 0:
            attempt.endpoint.breaker.failed(silence, begun=attempt.begun)
        raise
    finally:
        endpoint, request = attempt.endpoint, attempt.request
        usage = _priced(received.usage_of(request), endpoint)
        asking.spent.usage += usage
    if finish in ("filtered", "refused"):
        raise ModelFailure(finish)
    received.close(asking)
    calls = tuple(received.calls) if request.may_call else ()
    if not calls and asking.state.shown == asking.partial:
        # The next request asks to think less, because the same request would end the same way.
        asking.thought_out += finish == "length"
        raise ModelFailure("blank", f"finish {finish}", retryable=asking.thought_out < 2)
    return ModelReply(asking.state.shown, calls, finish, usage, endpoint.name, received.extra)


def _patience(asking: Asking, endpoint: Endpoint) -> float:
    """Return how long the first sign of life may take. If another endpoint could be asked, half of the time left."""
    own = endpoint.deadlines
    first_sign = asking.limits.first_token_seconds if own.first_sign is None else own.first_sign
    silence = max(asking.silence(first_sign), endpoint.thinking_seconds)
    if not endpoint.first_tokens.is_loaded:
        silence = max(silence, own.loading)
    return min(silence, asking.left() / 2) if len(asking.endpoints) > 1 else silence


def _priced(usage: Usage, endpoint: Endpoint) -> Usage:
    return replace(usage, cost=endpoint.price.of(usage) if endpoint.price else 0.0)


async def _hear(asking: Asking, attempt: _Attempt, received: "_Received", patience: Patience) -> FinishReason:
    """Handle all events of the stream: show text at once, and move the deadline at each sign of life."""
    now, request = asyncio.get_running_loop().time, attempt.request
    begun, last, idle, end = now(), -inf, 0.0, inf
    terminal = {tool.name for tool in request.tools if tool.terminal}
    async with aclosing(_stream(asking, attempt)) as events:
        async for event in events:
            if now() - last > idle / 10:  # moving a deadline costs more than reading the clock
                last = now()
                if not received.alive:
                    idle, end = _time_limits(asking, attempt.endpoint, attempt.started or begun, first_sign=last)
                patience.move(min(last + idle, end + patience.late))
                if not received.alive:
                    received.alive = True
                    attempt.endpoint.breaker.answered()
            match event:
                case TextDelta(text):
                    received.say(text, asking)
                case ToolCall():
                    received.calls.append(event)
                    received.ends = received.ends or (request.may_call and event.name in terminal)
                case ReplyExtra(fields):
                    received.extra = fields
                case Usage():
                    received.usage = event
                case Finished(reason):
                    return reason
    raise ModelFailure("cut", "the stream ended without a finish", retryable=True)


def _time_limits(asking: Asking, endpoint: Endpoint, begun: float, *, first_sign: float) -> tuple[float, float]:
    """Note the first sign of life. Return how long the stream may be silent from now on, and when it ends at the
    latest. The time in which a server loads its model does not count.
    """
    own, limits = endpoint.deadlines, asking.limits
    idle = asking.silence(limits.idle_seconds if own.silence is None else own.silence)
    whole = limits.round_seconds if own.round is None else own.round
    is_loaded = endpoint.first_tokens.is_loaded or not own.loading
    endpoint.first_tokens.add(first_sign - begun)
    return max(idle, endpoint.thinking_seconds), (begun if is_loaded else first_sign) + whole


def _stream(asking: Asking, attempt: _Attempt) -> AsyncGenerator[ModelEvent, None]:
    """Return the events of the attempt. If its model is slow today, another one is asked as well."""
    first_sign = attempt.endpoint.deadlines.first_sign or asking.limits.first_token_seconds
    delay = hedge_delay(attempt.endpoint, first_sign=first_sign) if len(asking.endpoints) > 1 else None
    if delay is None or asking.partial:
        return attempt.endpoint.model.stream(attempt.request)
    return _hedged(asking, attempt, delay)


async def _hedged(asking: Asking, attempt: _Attempt, delay: float) -> AsyncGenerator[ModelEvent, None]:
    """Yield the events of whichever model speaks first. `attempt` is changed to the one that is read."""
    contenders = [Contender(attempt.endpoint, attempt.request, attempt.begun)]
    try:
        (first,) = contenders
        await asyncio.wait((first.spoke,), timeout=delay)
        if not first.spoke.done() and (rival := _rival(asking, attempt.endpoint)) is not None:
            endpoint, begun = rival
            second = Contender(endpoint, asking.request(endpoint), begun)
            contenders.append(second)
            winner = await first_to_speak(first, second)
            loser = first if winner is second else second
            await _give_up(asking, loser, spoke_too_late=loser is first)
            attempt.endpoint, attempt.request = winner.endpoint, winner.request
            attempt.begun, attempt.started = winner.begun, winner.started
            logger.info("a second model was asked", extra={"model": endpoint.name, "won": winner is second})
            first = winner
        async with aclosing(first.events()) as events:
            async for event in events:
                yield event
    finally:
        for each in contenders:
            each.cancel()
        for each in contenders:
            await each.close()


def _rival(asking: Asking, endpoint: Endpoint) -> tuple[Endpoint, float] | None:
    """Return another endpoint that can be asked now, and the time of that request. None if there is none."""
    for other in asking.endpoints:
        if other is not endpoint and not other.breaker.retry_delay and (begun := other.breaker.enter()) is not None:
            other.breaker.take_retry()
            return other, begun
    return None


async def _give_up(asking: Asking, loser: Contender, *, spoke_too_late: bool) -> None:
    """Close the request that is not read, and book what it was sent. Its provider may bill that.

    A model that loses again and again may hang. Its breaker counts each loss, and an answer in between resets that.
    """
    await loser.close()
    if isinstance(loser.failure, ModelFailure):
        _note_failure(asking, loser.failure, loser.endpoint, begun=loser.begun)
        return
    if loser.failure is not None:
        raise loser.failure
    if spoke_too_late:
        loser.endpoint.breaker.failed(ModelFailure("deadline", "a second model spoke first"), begun=loser.begun)
    sent = Usage(_characters_of(loser.request) // CHARACTERS_PER_TOKEN + 1, estimated=True)
    asking.spent.usage += _priced(sent, loser.endpoint)


def _characters_of(request: ModelRequest) -> int:
    passages = sum(len(each.passages) for each in request.messages if isinstance(each, CustomerMessage))
    return len(request.instructions) + size_of(request.messages) + passages


@dataclass(slots=True)
class _Received:
    """The content of one stream so far."""

    calls: list[ToolCall] = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    alive: bool = False
    is_cut_off: bool = False
    """Whether it took too long and was ended from here. Its provider may bill what it was sent."""
    ends: bool = False
    """True if a terminal tool was called. The text after it is not shown."""
    characters: int = 0
    seam: str = ""
    """The beginning of a continuation. It is held back while it may repeat what was said before."""
    joined: bool = False

    def say(self, text: str, asking: Asking) -> None:
        """Show text. The beginning of a continuation is shown without the words that it repeats."""
        self.characters += len(text)
        if self.ends:
            return
        if self.joined or not asking.partial:
            asking.state.show(text)
            return
        self.seam += text
        if len(self.seam) >= SEAM_CHARACTERS and self.seam.strip() not in asking.partial:
            self.close(asking)

    def close(self, asking: Asking) -> None:
        """Show the new part of what was held back."""
        if self.seam and not self.joined:
            self.joined = True
            new = _new_part(asking.partial, self.seam)
            # A model that begins a new sentence does not know whether there is a space before it.
            begins = asking.partial[-1:] in tuple(".!?") and new[:1].isupper()
            asking.state.show(f" {new}" if begins else new)

    def usage_of(self, request: ModelRequest) -> Usage:
        """Return the counted tokens, or an estimate from the characters. Zero if the provider gave nothing."""
        if self.usage is not None:
            return self.usage
        written = self.characters + sum(len(call.name) + len(call.arguments) for call in self.calls)
        if not written and not self.is_cut_off:
            return Usage()
        came = written // CHARACTERS_PER_TOKEN + 1 if written else 0
        return Usage(_characters_of(request) // CHARACTERS_PER_TOKEN + 1, came, estimated=True)


def _new_part(said: str, more: str) -> str:
    """Return `more` without what it repeats: the end of `said`, or a part of its middle and nothing else."""
    bare = more.strip()
    if len(bare) >= SEAM_CHARACTERS and bare in said:
        return ""
    # A model that begins again may put other white space around the same words.
    for start in (more, more.lstrip()):
        longest = min(len(said), len(start))
        for size in range(longest, _SEAM_LEAST - 1, -1):
            if said.endswith(start[:size]):
                return start[size:]
    return more


async def _recover(asking: Asking, failure: ModelFailure, endpoint: Endpoint, request: ModelRequest) -> None:
    """Prepare the next attempt, or raise the failure if there is to be none."""
    asking.silences += failure.kind == "deadline"
    if asking.state.shown != asking.partial:
        if failure.kind not in _BROKE_OFF or not asking.continue_from_here():
            raise failure
        return
    if failure.kind == "context_length" and not asking.trimmed:
        asking.trimmed = True
        asking.window = min(asking.window, size_of(request.messages)) // 2
        if asking.request(endpoint).messages != request.messages:
            return
    others = [other for other in asking.endpoints if other is not endpoint and not other.breaker.is_open]
    better_elsewhere = failure.kind in _ELSEWHERE or (failure.retry_after or 0.0) > _LONG_WAIT
    pause = None if others and better_elsewhere else _pause(asking, failure, endpoint)
    if pause is None and not others and _is_away(asking, failure, endpoint):
        pause = 0.0
    delay = 0.0
    if pause is not None and not endpoint.breaker.is_ill:  # one that is ill is asked one by one anyway
        delay = endpoint.breaker.retry_delay
        if (delay and others) or not _has_time_for(asking, pause + delay):
            pause = None
        else:
            endpoint.breaker.take_retry()
            asking.spent.retries += 1
    if pause is None:
        if not others or failure.kind in _SAME_ANYWHERE:
            raise failure
        asking.endpoints, pause = others, 0.0
    asking.attempts += 1
    asking.state.emit(ModelRetried(failure.kind, asking.attempts, pause + delay))
    await asyncio.sleep(pause)
    if delay:
        await asking.wait(endpoint.breaker, delay)


def _has_time_for(asking: Asking, seconds: float) -> bool:
    """Whether the turn has time to wait `seconds` more for a server that many turns wait for."""
    return seconds < asking.left() and asking.spent.waited + seconds <= asking.limits.outage_seconds


def _is_away(asking: Asking, failure: ModelFailure, endpoint: Endpoint) -> bool:
    """Whether to wait for a server that answered none of this turn's tries, as if all turns had found it away.

    A turn does so once: a server that answers others and not this question is not away.
    """
    if failure.kind not in _AWAY or not failure.retryable or asking.spent.has_tripped:
        return False
    asking.spent.has_tripped = True
    endpoint.breaker.trip(failure.kind)
    return _wait_for(asking, endpoint.breaker) is not None


def _pause(asking: Asking, failure: ModelFailure, endpoint: Endpoint) -> float | None:
    """Return the seconds until another try at the same endpoint. None if there is to be none."""
    limits, retries = asking.limits, asking.spent.retries
    asked = failure.retry_after or 0.0
    allowed = limits.retries
    if failure.kind == "deadline":  # silence has cost a long wait already
        allowed = 1 if asking.silences == 1 and not endpoint.thinking_seconds else 0
    if not failure.retryable or not allowed or asked > limits.retry_after_seconds:
        return None
    if endpoint.breaker.is_ill:  # it is asked again when it may be, by one turn or another; that costs no retry
        return 0.0 if _wait_for(asking, endpoint.breaker) is not None else None
    if retries >= min(allowed, limits.retries):
        return None
    pause = asked + limits.retry_seconds * 2**retries * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
    return pause if asyncio.get_running_loop().time() + pause < asking.deadline else None
