"""A model whose requests are measured: a span `chat <model>` for each, with OpenTelemetry's names (bot/tracing.py)."""

import json
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bot import tracing
from bot.agent.events import TextDelta
from bot.agent.messages import AgentMessage, CustomerMessage, Message, StaffMessage, SystemNote, ToolCall, ToolResult
from bot.agent.model import Finished, FinishReason, Model, ModelEvent, ModelFailure, ModelRequest, Usage
from bot.models.http_stream import OPENAI_URL
from bot.models.providers import Server
from bot.tracing import Attributes, Span

_PROVIDERS = {
    "anthropic.com": "anthropic",
    "deepseek.com": "deepseek",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "groq.com": "groq",
    "mistral.ai": "mistral_ai",
    "moonshot.ai": "moonshot_ai",
    "perplexity.ai": "perplexity",
    "x.ai": "x_ai",
}
"""The end of a host -> the provider's name in the conventions. Other servers that speak OpenAI's protocol are "openai"
there, and their address tells them apart."""
_FINISH_REASONS: Mapping[FinishReason, str] = {"calls": "tool_call", "filtered": "content_filter"}
"""Our word -> that of the conventions, where they differ."""


@dataclass(frozen=True, slots=True)
class TracedModel:
    """Measures the requests to another model."""

    model: Model
    server: Server

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream the model's own events."""
        span = tracing.start(f"chat {request.model}", _of_request(request, self.server), kind="client")
        reply = _Reply(time.monotonic())
        try:
            async with aclosing(self.model.stream(request)) as events:
                async for event in events:
                    reply.note(event)
                    yield event
        except ModelFailure as failure:
            span.fail(failure.error_type)
            raise
        finally:
            span.set(reply.attributes())
            _add_words(span, request, reply)
            span.end()


def _of_request(request: ModelRequest, server: Server) -> Attributes:
    address = urlsplit(server.url or OPENAI_URL)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(server, address.hostname or ""),
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": request.output_tokens,
        "gen_ai.request.stream": True,
        "gen_ai.output.type": "json" if request.reply else "text",
        "server.address": address.hostname or "",
        "server.port": address.port or (443 if address.scheme == "https" else 80),
    }


def _provider(server: Server, host: str) -> str:
    if server.is_azure:
        return "azure.ai.openai"
    known = (name for end, name in _PROVIDERS.items() if f".{host}".endswith(f".{end}"))
    return next(known, "openai")


@dataclass(slots=True)
class _Reply:
    """What came of a stream so far."""

    begun: float
    first: float | None = None
    """When the first event came."""
    usage: Usage | None = None
    finish: FinishReason | None = None
    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    def note(self, event: ModelEvent) -> None:
        if self.first is None:
            self.first = time.monotonic()
        match event:
            case TextDelta(text):
                self.text += text
            case ToolCall():
                self.calls += (event,)
            case Usage():
                self.usage = event
            case Finished(reason):
                self.finish = reason

    @property
    def finish_reason(self) -> str:
        """The reason in the word of the conventions. Empty if the reply broke off."""
        return _FINISH_REASONS.get(self.finish, self.finish) if self.finish else ""

    def attributes(self) -> Attributes:
        told: dict[str, tracing.Value] = {}
        if self.first is not None:
            told["gen_ai.response.time_to_first_chunk"] = self.first - self.begun
        if self.finish:
            told["gen_ai.response.finish_reasons"] = (self.finish_reason,)
        return told | (usage_attributes(self.usage) if self.usage else {})


def usage_attributes(usage: Usage) -> dict[str, tracing.Value]:
    """The tokens of a usage."""
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.written_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }


def _add_words(span: Span, request: ModelRequest, reply: _Reply) -> None:
    answer = AgentMessage(reply.text, reply.calls)
    span.add_words("gen_ai.system_instructions", lambda: _json([_text(request.instructions)]))
    span.add_words("gen_ai.input.messages", lambda: _json(map(_message, request.messages)))
    span.add_words(
        "gen_ai.output.messages", lambda: _json([{**_message(answer), "finish_reason": reply.finish_reason}])
    )


def _message(message: Message) -> Mapping[str, Any]:
    """A message in the form of the conventions. Images are left out."""
    match message:
        case CustomerMessage(text=text, passages=passages):
            return {"role": "user", "parts": [_text(part) for part in (passages, text) if part]}
        case ToolResult(call_id=call, content=content):
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": content}]}
        case AgentMessage(text=text, calls=calls):
            asked = [
                {"type": "tool_call", "id": each.id, "name": each.name, "arguments": each.arguments} for each in calls
            ]
            return {"role": "assistant", "parts": [*([_text(text)] if text else []), *asked]}
        case SystemNote(text=text) | StaffMessage(text=text):
            return {"role": "user", "parts": [_text(text)]}


def _text(content: str) -> Mapping[str, str]:
    return {"type": "text", "content": content}


def _json(value: Iterable[object]) -> str:
    return json.dumps(list(value), ensure_ascii=False)
