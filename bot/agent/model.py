"""The role of a language model: a request in, a stream of events out, one kind of failure.

The loop knows only this page. An adapter (chat_completions.py) speaks a provider's protocol behind it.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bot.agent.events import TextDelta
from bot.agent.messages import Message, ToolCall
from bot.agent.tools import Tool
from bot.errors import FrontdeskError

FailureKind = Literal[
    "model_unreachable",
    "rate_limited",
    "insufficient_quota",
    "unauthorized",
    "refused_request",
    "context_length",
    "filtered",
    "malformed",
    "cut",
    "blank",
    "refused",
    "deadline",
]
"""Why there is no reply: no connection or a 5xx · a 429 · the account is empty · the key is wrong · the provider
rejects the request · the conversation is too long · its content filter stepped in · what came is no reply · it broke
off · it says nothing · the model declined · it took too long."""

FinishReason = Literal["stop", "calls", "length", "filtered", "refused"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them, and what they cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Part of the input that was read from the provider's cache."""
    cost: float = 0.0
    """US dollars by the price table; 0 where the model has no price. Adapters leave it to the loop."""
    estimated: bool = False
    """True: the provider counted nothing for at least one request, and characters were counted instead."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One round, as the model shall see it."""

    model: str
    system: tuple[str, ...]
    """System messages that stand before the conversation: the instructions, the passages."""
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    may_call: bool = True
    """False: the tools stay listed, since the conversation refers to them, but the model must answer in words."""
    output_tokens: int = 4_000
    output_characters: int = 24_000
    """Where the adapter stops reading and finishes the reply with "length"."""
    thinks_less: bool = False
    """True: the model used up a reply by thinking and shall do with less effort, where it knows a lower one."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is at work without anything to show; counts as a sign of life."""


@dataclass(frozen=True, slots=True)
class ReplyExtra:
    """Fields of the provider for the whole reply, to be kept as AgentMessage.extra. Comes at most once."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete, in the provider's own word. Comes last."""

    reason: FinishReason


ModelEvent = TextDelta | Thinking | ToolCall | ReplyExtra | Usage | Finished
"""ToolCall: its arguments arrived whole, or the stream finished and there will be no more of them."""


class ModelFailure(FrontdeskError):
    """A request that gave no complete reply."""

    def __init__(
        self,
        kind: FailureKind,
        detail: str = "",
        *,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        self.retryable = retryable
        """True: the same request may succeed a moment later."""
        self.retry_after = retry_after
        """Seconds the provider asks to wait."""
        self.late = 0.0
        """Seconds for which our own event loop was held up meanwhile; the loop sets it."""


class Model(Protocol):
    """Something that continues conversations."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The reply as it comes, ended by Finished. Raises ModelFailure, nothing else.

        Makes one attempt: repetition and deadlines are the loop's.
        """
        ...
