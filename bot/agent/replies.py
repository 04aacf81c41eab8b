"""One round's reply, whatever it takes: attempts, endpoints, deadlines, and the rest of an answer that broke off.

In reading order: `get_reply` (until there is one), `_listen` (one stream under its deadlines), `_hear` (what the
stream brings), and `_recover` (what to do about a failure, which is the whole policy of retries).

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

from bot.agent.endpoints import Endpoint
from bot.agent.events import Emit, ModelRetried, TextDelta
from bot.agent.history import size_of
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, JsonObject, SystemNote, ToolCall
from bot.agent.model import FailureKind, Finished, FinishReason, ModelFailure, ModelRequest, ReplyExtra, Usage

logger = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 4
"""For requests whose tokens nobody counted."""
SEAM_CHARACTERS = 160
"""How much of a continuation is looked at for words that were said already."""
_SEAM_LEAST = 8
"""A shorter agreement is chance."""

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
class Speech:
    """What a turn has said to the customer."""

    emit: Emit
    shown: str = ""
    """Text of the current round."""
    spoke: bool = False
    """True: an earlier round showed text."""

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


@dataclass(slots=True)
class Spent:
    """What a turn has used up over its rounds."""

    usage: Usage = field(default_factory=Usage)
    retries: int = 0
    continuations: int = 0


BuildRequest = Callable[[str, int], ModelRequest]
"""(the model's name, characters for the conversation) -> the round as that model shall see it."""


@dataclass(slots=True)
class Asking:
    """The state of one round's attempts."""

    build: BuildRequest
    endpoints: Sequence[Endpoint]
    """Where to ask, the preferred one first."""
    limits: Limits
    speech: Speech
    spent: Spent
    deadline: float
    """When the turn ends at the latest, on the event loop's clock."""
    window: int
    """Characters for the conversation."""
    attempts: int = 1
    trimmed: bool = False
    """True: it was too long once and has been cut down."""
    partial: str = ""
    """What was shown when the reply broke off; it is now being continued."""

    def request(self, endpoint: Endpoint) -> ModelRequest:
        """The round for this endpoint, with what was shown of it already."""
        request = self.build(endpoint.name, self.window)
        if not self.partial:
            return request
        return replace(request, messages=(*request.messages, AgentMessage(self.partial), _GO_ON))


async def get_reply(asking: Asking) -> Reply:
    """The round's reply, its text shown. Raises ModelFailure when nothing more can be done for it."""
    while True:
        endpoint = _pick(asking.endpoints)
        request = asking.request(endpoint)
        try:
            reply = await _listen(asking, endpoint, request)
        except ModelFailure as failure:
            endpoint.breaker.failed(failure.kind)
            logger.warning("a request failed: %s", failure, extra={"model": endpoint.name})
            await _recover(asking, failure, endpoint, request)
        else:
            endpoint.breaker.succeeded()
            return reply


def _pick(endpoints: Sequence[Endpoint]) -> Endpoint:
    """The first endpoint that may be asked."""
    for endpoint in endpoints:
        if endpoint.breaker.allows():
            return endpoint
    raise ModelFailure("model_unreachable", "every endpoint has failed too often just now")


async def _listen(asking: Asking, endpoint: Endpoint, request: ModelRequest) -> Reply:
    """One stream under its deadlines; a failure unless it ends in something to say or to do."""
    heard = _Heard()
    try:
        async with asyncio.timeout(max(asking.limits.first_token_seconds, endpoint.thinking_seconds)) as patience:
            finish = await _hear(asking, endpoint, request, heard, patience)
    except TimeoutError:
        if not patience.expired():
            raise
        raise ModelFailure("deadline", "no sign of life in the stream", retryable=True) from None
    finally:
        usage = heard.usage_of(request)
        usage = replace(usage, cost=endpoint.price.of(usage) if endpoint.price else 0.0)
        asking.spent.usage += usage
    if finish in ("filtered", "refused"):
        raise ModelFailure(finish)
    heard.close(asking)
    calls = tuple(heard.calls) if request.may_call else ()
    if not calls and asking.speech.shown == asking.partial:
        raise ModelFailure("blank", retryable=True)
    return Reply(asking.speech.shown, calls, finish, usage, endpoint.name, heard.extra)


async def _hear(
    asking: Asking, endpoint: Endpoint, request: ModelRequest, heard: "_Heard", patience: asyncio.Timeout
) -> FinishReason:
    """Everything the stream brings, its text shown as it comes, the deadline moved at each sign of life."""
    now, limits = asyncio.get_running_loop().time, asking.limits
    idle, last, end = max(limits.idle_seconds, endpoint.thinking_seconds), -inf, now() + limits.round_seconds
    async with aclosing(endpoint.model.stream(request)) as events:
        async for event in events:
            if now() - last > idle / 10:  # moving a deadline costs more than reading the clock
                last = now()
                patience.reschedule(min(last + idle, end))
            match event:
                case TextDelta(text):
                    heard.say(text, asking)
                case ToolCall():
                    heard.calls.append(event)
                case ReplyExtra(fields):
                    heard.extra = fields
                case Usage():
                    heard.usage = event
                case Finished(reason):
                    return reason
    raise ModelFailure("cut", "the stream ended without a finish", retryable=True)


@dataclass(slots=True)
class _Heard:
    """What one stream has brought."""

    calls: list[ToolCall] = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    characters: int = 0
    seam: str = ""
    """The beginning of a continuation, kept back until it is clear that it repeats nothing."""
    joined: bool = False

    def say(self, text: str, asking: Asking) -> None:
        """Show text; the beginning of a continuation without the words that were shown before."""
        self.characters += len(text)
        if self.joined or not asking.partial:
            asking.speech.show(text)
            return
        self.seam += text
        if len(self.seam) >= SEAM_CHARACTERS:
            self.close(asking)

    def close(self, asking: Asking) -> None:
        """Show what was kept back."""
        if self.seam and not self.joined:
            self.joined = True
            asking.speech.show(self.seam[_overlap(asking.partial, self.seam) :])

    def usage_of(self, request: ModelRequest) -> Usage:
        """The tokens as they were counted, or as the characters tell; none if nothing came."""
        if self.usage is not None:
            return self.usage
        written = self.characters + sum(len(call.name) + len(call.arguments) for call in self.calls)
        if not written:
            return Usage()
        read = sum(map(len, request.system)) + size_of(request.messages)
        return Usage(read // CHARACTERS_PER_TOKEN + 1, written // CHARACTERS_PER_TOKEN + 1, estimated=True)


def _overlap(said: str, more: str) -> int:
    """How many characters at the start of `more` stand at the end of `said` already."""
    longest = min(len(said), len(more))
    return next((size for size in range(longest, _SEAM_LEAST - 1, -1) if said.endswith(more[:size])), 0)


async def _recover(asking: Asking, failure: ModelFailure, endpoint: Endpoint, request: ModelRequest) -> None:
    """Prepare the next attempt, or raise the failure when there shall be none."""
    if asking.speech.shown != asking.partial:
        if failure.kind not in _BROKE_OFF or asking.spent.continuations >= asking.limits.continuations:
            raise failure
        asking.spent.continuations += 1
        asking.partial = asking.speech.shown
        return
    if failure.kind == "context_length" and not asking.trimmed:
        asking.trimmed = True
        asking.window = min(asking.window, size_of(request.messages)) // 2
        return
    others = [other for other in asking.endpoints if other is not endpoint and not other.breaker.is_open]
    pause = None if others and failure.kind in _ELSEWHERE else _pause(asking, failure)
    if pause is None or not endpoint.breaker.allows_retry():
        if not others or failure.kind in _SAME_ANYWHERE:
            raise failure
        asking.endpoints, pause = others, 0.0
    else:
        asking.spent.retries += 1
    asking.attempts += 1
    asking.speech.emit(ModelRetried(failure.kind, asking.attempts, pause))
    await asyncio.sleep(pause)


def _pause(asking: Asking, failure: ModelFailure) -> float | None:
    """Seconds until another try at the same endpoint; None if there shall be none."""
    limits, retries = asking.limits, asking.spent.retries
    asked = failure.retry_after or 0.0
    allowed = 1 if failure.kind == "deadline" else limits.retries  # silence has cost a long wait already
    if not failure.retryable or retries >= min(allowed, limits.retries) or asked > limits.retry_after_seconds:
        return None
    pause = asked + limits.retry_seconds * 2**retries * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
    return pause if asyncio.get_running_loop().time() + pause < asking.deadline else None
