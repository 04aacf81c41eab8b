"""One round's reply, whatever it takes: attempts, endpoints, deadlines, and the rest of an answer that broke off.

In reading order: `get_reply` and `_get_whole` (until there is one), `_listen` (one stream under its deadlines), `_hear`
(what the stream brings), and `_recover` (what to do about a failure, which is the whole policy of retries).

What the customer has read cannot be taken back. While nothing was shown, a failed request is made again, here or at
the next endpoint. Once something was shown, the model is asked to go on where it stopped.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any

from bot.agent.endpoints import PROBE_INTERVAL, Breaker, Endpoint
from bot.agent.events import Emit, ModelRetried, RequestFailed, TextDelta
from bot.agent.history import size_of
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, JsonObject, SystemNote, ToolCall
from bot.agent.model import FailureKind, Finished, FinishReason, ModelFailure, ModelRequest, ReplyExtra, Usage
from bot.agent.patience import Patience

logger = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
"""For requests whose tokens nobody counted."""
SEAM_CHARACTERS = 32
"""How much of a continuation is looked at in any case for words that were said already."""
_SEAM_LEAST = 8
"""A shorter agreement is chance."""
_LONG_WAIT = 2.0
"""A provider that asks for more is not waited for while another endpoint can be asked."""

_HELD_UP_SECONDS = 1.0
"""From such a delay of the event loop on, a connection that is lost meanwhile is not its server's fault."""

_ELSEWHERE: frozenset[FailureKind] = frozenset({"unauthorized", "insufficient_quota", "deadline"})
"""Failures after which another endpoint is better than another try."""
_SAME_ANYWHERE: frozenset[FailureKind] = frozenset({"filtered", "refused"})
"""Failures that are about what was said; no other endpoint is asked to overrule them."""
_BROKE_OFF: frozenset[FailureKind] = frozenset({"cut", "deadline", "malformed", "model_unreachable", "rate_limited"})
"""Failures that end a reply in the middle through no fault of what it says."""
_GO_ON = SystemNote(
    "Your last message broke off on its way. Continue it exactly where it stops; repeat nothing, and do not mention it."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one round of the model came to."""

    text: str
    """As the customer has read it."""
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
    def from_json(cls, value: JsonObject) -> "Reply":
        """The reply `to_json` was asked for."""
        calls = tuple(map(ToolCall.from_json, value["calls"]))
        usage = Usage(**value["usage"])
        return cls(value["text"], calls, value["finish"], usage, value.get("model", ""), value.get("extra", {}))


@dataclass(slots=True)
class StreamState:
    """What a turn has said to the customer."""

    emit: Emit
    shown: str = ""
    """Text of the current round."""
    spoke: bool = False
    """True: an earlier round showed text."""
    standing: Reply | None = None
    """The reply of the current round that reached its length limit and is being continued. None: no such thing."""

    def shortened(self) -> Reply | None:
        """That reply with what its continuation has added so far; it stands when there will be no more."""
        return self.standing and replace(self.standing, text=self.shown)

    def show(self, text: str) -> None:
        """Emit text, set apart from that of an earlier round; white space at a round's start is none."""
        if not self.shown:
            text = text.lstrip()
            if text and self.spoke:
                self.emit(TextDelta("\n\n"))
        if text:
            self.shown += text
            self.emit(TextDelta(text))

    def end_round(self) -> None:
        """What comes next is another message."""
        self.spoke = self.spoke or bool(self.shown)
        self.shown = ""
        self.standing = None


@dataclass(slots=True)
class RunUsage:
    """What a turn has used up over its rounds."""

    usage: Usage = field(default_factory=Usage)
    retries: int = 0
    continuations: int = 0
    waited: float = 0.0
    """Seconds spent waiting for any endpoint to be asked again."""


BuildRequest = Callable[[str, int], ModelRequest]
"""(the model's name, characters for the conversation) -> the round as that model shall see it."""


@dataclass(slots=True)
class Asking:
    """The state of one round's attempts."""

    build: BuildRequest
    endpoints: Sequence[Endpoint]
    """Where to ask, the preferred one first."""
    limits: Limits
    state: StreamState
    spent: RunUsage
    deadline: float
    """When the turn ends at the latest, on the event loop's clock."""
    window: int
    """Characters for the conversation."""
    attempts: int = 1
    silences: int = 0
    """How often nothing came for too long."""
    trimmed: bool = False
    """True: it was too long once and has been cut down."""
    thought_out: int = 0
    """How often a model used up a reply's tokens by thinking."""
    partial: str = ""
    """What was shown when the reply broke off; it is now being continued."""

    def left(self) -> float:
        """Seconds until the turn ends."""
        return self.deadline - asyncio.get_running_loop().time()

    async def wait(self, breaker: Breaker, seconds: float) -> None:
        """Wait for the server behind the breaker, no longer than that; what was waited counts for the turn."""
        begun = asyncio.get_running_loop().time()
        try:
            await breaker.wait(seconds)
        finally:
            self.spent.waited += asyncio.get_running_loop().time() - begun

    def silence(self, seconds: float) -> float:
        """How long nothing may come: `seconds`, or less when that was waited for once."""
        return min(seconds, self.limits.silent_again_seconds) if self.silences else seconds

    def continue_from_here(self) -> bool:
        """Have the next request go on with what was shown; False when the turn may not any more."""
        if self.spent.continuations >= self.limits.continuations:
            return False
        self.spent.continuations += 1
        self.partial = self.state.shown
        return True

    def request(self, endpoint: Endpoint) -> ModelRequest:
        """The round for this endpoint, with what was shown of it already."""
        request = replace(self.build(endpoint.name, self.window), thinks_less=self.thought_out > 0)
        if not self.partial:
            return request
        return replace(request, messages=(*request.messages, AgentMessage(self.partial), _GO_ON))


async def get_reply(asking: Asking) -> Reply:
    """The round's reply, its text shown. Raises ModelFailure when nothing more can be done for it.

    A reply that reached its length limit and whose continuation fails stands as it is.
    """
    try:
        return await _get_whole(asking)
    except ModelFailure:
        if shortened := asking.state.shortened():
            return shortened
        raise


async def _get_whole(asking: Asking) -> Reply:
    while True:
        endpoint, begun = await _pick(asking)
        request = asking.request(endpoint)
        try:
            reply = await _listen(asking, endpoint, request, begun)
        except ModelFailure as failure:
            if _is_our_own(asking, failure):
                logger.warning(
                    "a request failed while the event loop was held up: it is made again", extra=_of(failure)
                )
                continue
            endpoint.breaker.failed(failure, begun=begun)
            logger.warning("a request failed: %s", failure, extra={"model": endpoint.name})
            asking.state.emit(RequestFailed(endpoint.name, str(failure)))
            await _recover(asking, failure, endpoint, request)
        else:
            if not _may_go_on(asking, reply):
                return reply


def _is_our_own(asking: Asking, failure: ModelFailure) -> bool:
    """Whether a connection was lost or not made while our own event loop was held up: its timers ran out first.

    That says nothing of the server. It costs the turn what the loop was late, so it comes to an end.
    """
    is_lost = failure.kind in ("model_unreachable", "cut") and asking.state.shown == asking.partial
    return is_lost and failure.late >= _HELD_UP_SECONDS


def _of(failure: ModelFailure) -> dict[str, object]:
    return {"reason": str(failure), "late": round(failure.late, 3)}


async def _pick(asking: Asking) -> tuple[Endpoint, float]:
    """The first endpoint that may be asked, and the time of the request; waits a while for one."""
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
    """Seconds until a resting endpoint may be asked; None when the turn does not wait for it."""
    wait = breaker.rest + random.uniform(0.0, PROBE_INTERVAL / 2)  # noqa: S311 - not a secret
    longest = asking.limits.outage_seconds if breaker.is_ill else asking.limits.retry_after_seconds
    in_time = asking.left() > wait and asking.spent.waited + wait <= longest
    return wait if in_time and not breaker.is_hopeless else None


def _may_go_on(asking: Asking, reply: Reply) -> bool:
    """Whether a reply that reached its length limit is continued. What is left of the turn's output is its bound."""
    if reply.finish != "length" or reply.calls or len(reply.text) >= asking.limits.output_characters // 2:
        return False
    if not asking.continue_from_here():
        return False
    asking.state.standing = reply
    return True


async def _listen(asking: Asking, endpoint: Endpoint, request: ModelRequest, begun: float) -> Reply:
    """One stream under its deadlines; a failure unless it ends in something to say or to do."""
    received, patience = _Received(), Patience(_patience(asking, endpoint))
    try:
        async with patience:
            finish = await _hear(asking, endpoint, request, received, patience)
    except TimeoutError:
        if not patience.expired():
            raise
        raise ModelFailure("deadline", "no sign of life in the stream", retryable=True) from None
    except ModelFailure as failure:
        failure.late = patience.late
        raise
    except asyncio.CancelledError:
        silence = ModelFailure("deadline", "silent until the turn's end")
        if not received.alive and asking.left() <= 0:
            endpoint.breaker.failed(silence, begun=begun)
        raise
    finally:
        usage = received.usage_of(request)
        usage = replace(usage, cost=endpoint.price.of(usage) if endpoint.price else 0.0)
        asking.spent.usage += usage
    if finish in ("filtered", "refused"):
        raise ModelFailure(finish)
    received.close(asking)
    calls = tuple(received.calls) if request.may_call else ()
    if not calls and asking.state.shown == asking.partial:
        # Asked once more, to think less: the same again would come to the same.
        asking.thought_out += finish == "length"
        raise ModelFailure("blank", f"finish {finish}", retryable=asking.thought_out < 2)
    return Reply(asking.state.shown, calls, finish, usage, endpoint.name, received.extra)


def _patience(asking: Asking, endpoint: Endpoint) -> float:
    """How long the first sign of life may take: while another endpoint could be asked, half of what is left."""
    silence = max(asking.silence(asking.limits.first_token_seconds), endpoint.thinking_seconds)
    return min(silence, asking.left() / 2) if len(asking.endpoints) > 1 else silence


async def _hear(
    asking: Asking, endpoint: Endpoint, request: ModelRequest, received: "_Received", patience: Patience
) -> FinishReason:
    """Everything the stream brings, its text shown as it comes, the deadline moved at each sign of life."""
    now, limits = asyncio.get_running_loop().time, asking.limits
    idle = max(asking.silence(limits.idle_seconds), endpoint.thinking_seconds)
    last, end = -inf, now() + limits.round_seconds
    terminal = {tool.name for tool in request.tools if tool.terminal}
    async with aclosing(endpoint.model.stream(request)) as events:
        async for event in events:
            if now() - last > idle / 10:  # moving a deadline costs more than reading the clock
                last = now()
                patience.move(min(last + idle, end + patience.late))
                if not received.alive:
                    received.alive = True
                    endpoint.breaker.answered()
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


@dataclass(slots=True)
class _Received:
    """What one stream has brought."""

    calls: list[ToolCall] = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    alive: bool = False
    ends: bool = False
    """True: a terminal tool was called, so what is said behind it is not shown."""
    characters: int = 0
    seam: str = ""
    """The beginning of a continuation, kept back while it may still be what was said before."""
    joined: bool = False

    def say(self, text: str, asking: Asking) -> None:
        """Show text; the beginning of a continuation without the words that were shown before."""
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
        """Show what was kept back, as far as it is new."""
        if self.seam and not self.joined:
            self.joined = True
            new = _new_part(asking.partial, self.seam)
            # A model that begins a new sentence does not know whether there was a blank before it.
            begins = asking.partial[-1:] in tuple(".!?") and new[:1].isupper()
            asking.state.show(f" {new}" if begins else new)

    def usage_of(self, request: ModelRequest) -> Usage:
        """The tokens as they were counted, or as the characters tell; none if nothing came."""
        if self.usage is not None:
            return self.usage
        written = self.characters + sum(len(call.name) + len(call.arguments) for call in self.calls)
        if not written:
            return Usage()
        read = sum(map(len, request.system)) + size_of(request.messages)
        return Usage(read // CHARACTERS_PER_TOKEN + 1, written // CHARACTERS_PER_TOKEN + 1, estimated=True)


def _new_part(said: str, more: str) -> str:
    """`more` without what it repeats: the end of what was said, or some of its middle and nothing else."""
    bare = more.strip()
    if len(bare) >= SEAM_CHARACTERS and bare in said:
        return ""
    # A model that begins anew may lay the same words out with other white space around them.
    for start in (more, more.lstrip()):
        longest = min(len(said), len(start))
        for size in range(longest, _SEAM_LEAST - 1, -1):
            if said.endswith(start[:size]):
                return start[size:]
    return more


async def _recover(asking: Asking, failure: ModelFailure, endpoint: Endpoint, request: ModelRequest) -> None:
    """Prepare the next attempt, or raise the failure when there shall be none."""
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
    """Whether the turn may wait so much longer, for a server that many turns wait for."""
    return seconds < asking.left() and asking.spent.waited + seconds <= asking.limits.outage_seconds


def _pause(asking: Asking, failure: ModelFailure, endpoint: Endpoint) -> float | None:
    """Seconds until another try at the same endpoint; None if there shall be none."""
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
