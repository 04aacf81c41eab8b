"""The interface of a language model: a request in, a stream of events out, one kind of failure.

The loop knows only this module. An adapter, such as chat_completions.py, implements it with a provider's protocol.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bot.agent.events import TextDelta
from bot.agent.messages import Message, ToolCall
from bot.agent.tools import Tool
from bot.agent.typed import TypedReply
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
"""Why there is no reply, in the order of the words:

No connection or a 5xx · a 429 · the account is empty · the key is wrong · the provider rejects the request · the
conversation is too long · the provider's content filter stepped in · the response is no reply · the reply broke off ·
the reply is empty · the model declined · the reply took too long.
"""

FinishReason = Literal["stop", "calls", "length", "filtered", "refused"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them, and what they cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of the input that was read from the provider's cache."""
    cost: float = 0.0
    """The cost in US dollars by the price table. 0 if the model has no price. The loop sets it, not the adapter."""
    estimated: bool = False
    """True if the provider counted no tokens for a request, so that they were estimated from characters."""
    written_tokens: int = 0
    """The part of the input that was written to the provider's cache. Some providers bill it higher."""
    reasoning_tokens: int = 0
    """The part of the output that the model thought and no one sees."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
            self.written_tokens + other.written_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The request for one round."""

    model: str
    instructions: str
    """The one system message."""
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    may_call: bool = True
    """If False, the model must answer in words. The tools stay listed, because the conversation refers to them."""
    output_tokens: int = 4_000
    output_characters: int = 24_000
    """The number of characters after which the adapter stops reading and finishes the reply with "length"."""
    reply: TypedReply | None = None
    """The form of the reply. A model that is not known to take schemas replies in words."""
    customer: str = ""
    """The id of the person who asked. Providers get a keyed hash of it at most. Empty if nobody did."""
    thinks_less: bool = False
    """True if the model used up a reply by thinking. It then gets a lower effort, if it has one."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model works without anything to show. This counts as a sign of life."""


@dataclass(frozen=True, slots=True)
class ReplyExtra:
    """The provider's fields for the whole reply, stored as AgentMessage.extra. Comes at most once."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete, in the provider's own word. Comes last."""

    reason: FinishReason


ModelEvent = TextDelta | Thinking | ToolCall | ReplyExtra | Usage | Finished
"""An event of a model's stream. A ToolCall comes when its arguments are whole or the stream has finished."""


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
        """True if the same request can succeed a moment later."""
        self.retry_after = retry_after
        """The seconds that the provider asks to wait."""
        self.late = 0.0
        """Seconds for which our own event loop was delayed during the request. The agent loop sets it."""

    @property
    def error_type(self) -> str:
        """The kind of the failure."""
        return self.kind


class Model(Protocol):
    """A model that continues conversations."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream the reply, with Finished at the end. Raises ModelFailure, nothing else.

        This is one attempt. The loop handles retries and deadlines.
        """
        ...
