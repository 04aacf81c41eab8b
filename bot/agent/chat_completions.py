"""The adapter for OpenAI's Chat Completions and every server that speaks it.

The openai client does what it is good at (authentication, addresses, connections, errors by status); the bytes
of the stream are read here, since the client's typed chunks cost twenty times as much. One attempt a request:
repeating and giving up are the loop's.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import openai
import orjson

from bot.agent.chat_stream import ReplyReader
from bot.agent.failures import provider_failure, retry_after
from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    JsonObject,
    Message,
    StaffMessage,
    SystemNote,
    ToolCall,
    ToolResult,
)
from bot.agent.model import ModelEvent, ModelFailure, ModelRequest
from bot.agent.tools import Tool

logger = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 3.0
DRAIN_SECONDS = 0.1
"""How long the end of a response may take after its last event; a connection that was read out is used again."""
BODY_LIMIT = 4 << 20
"""Bytes of a reply that comes as one JSON object."""


@asynccontextmanager
async def open_chat_completions(*, api_key: str, base_url: str | None) -> AsyncIterator["ChatCompletions"]:
    """The models behind `base_url` (None: OpenAI's), with connections of their own."""
    url = base_url or OPENAI_URL
    timeout = openai.Timeout(600.0, connect=CONNECT_SECONDS)  # silence is ended by the loop's deadlines
    http = openai.DefaultAioHttpClient(timeout=timeout, follow_redirects=False)
    client = openai.AsyncOpenAI(api_key=api_key, base_url=url, http_client=http, timeout=timeout, max_retries=0)
    async with client:
        output_limit = "max_completion_tokens" if url == OPENAI_URL else "max_tokens"
        yield ChatCompletions(client, output_limit=output_limit)


class ChatCompletions:
    """A Model over an openai client, which must not retry by itself."""

    def __init__(self, client: openai.AsyncOpenAI, *, output_limit: str) -> None:
        self._client = client
        self._output_limit = output_limit
        """The name of the field for ModelRequest.output_tokens; OpenAI renamed it, others did not."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        reader = ReplyReader(characters=request.output_characters)
        create = self._client.chat.completions.with_streaming_response.create
        body = self._body(request)
        try:
            # extra_body goes out as it is; plain arguments the client would rebuild message by message.
            async with create(model=request.model, messages=(), stream=True, extra_body=body) as response:
                blocks = response.iter_bytes()
                if "json" in response.headers.get("content-type", ""):
                    for event in reader.feed_whole(await _whole(blocks)):
                        yield event
                async for block in blocks:
                    for event in reader.feed(block):
                        yield event
                    if reader.done:
                        await _drain(blocks)
            for event in reader.close():
                yield event
        except ModelFailure:
            raise
        except openai.APIStatusError as error:
            wait = retry_after(error.response.headers)
            raise provider_failure(error.body, status=error.status_code, wait=wait) from None
        except openai.APIConnectionError as error:
            raise ModelFailure("model_unreachable", type(error).__name__, retryable=True) from None
        except Exception as error:  # whatever a connection can raise while it is read
            logger.warning("a stream broke off", exc_info=error)
            raise ModelFailure("cut", type(error).__name__, retryable=True) from None

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": chat_messages(request.system, request.messages),
            "stream_options": {"include_usage": True},
            self._output_limit: request.output_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.tools:
            body["tools"] = [_function(tool) for tool in request.tools]
            if not request.may_call:
                body["tool_choice"] = "none"
        return body


async def _whole(blocks: AsyncIterator[bytes]) -> bytes:
    body = b""
    async for block in blocks:
        body += block
        if len(body) > BODY_LIMIT:
            raise ModelFailure("malformed", f"a reply of more than {BODY_LIMIT} bytes")
    return body


async def _drain(blocks: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in blocks:
                pass


def chat_messages(system: Sequence[str], messages: Sequence[Message]) -> list[JsonObject]:
    """The conversation in the protocol's form. Speakers are told apart by a tag as soon as there are several."""
    speakers = {message.speaker for message in messages if isinstance(message, CustomerMessage)}
    tagged = len(speakers) > 1 or any(isinstance(message, StaffMessage) for message in messages)
    lines: list[JsonObject] = [{"role": "system", "content": text} for text in system]
    lines.extend(_line(message, tagged=tagged) for message in messages)
    return lines


def _line(message: Message, *, tagged: bool) -> JsonObject:
    match message:
        case CustomerMessage(text, speaker):
            return {"role": "user", "content": _tag("customer", speaker, text) if tagged else text}
        case StaffMessage(text, speaker):
            return {"role": "user", "content": _tag("staff", speaker, text)}
        case SystemNote(text):
            return {"role": "system", "content": text}
        case AgentMessage(text, calls) if calls:
            return {"role": "assistant", "content": text or None, "tool_calls": [_call(call) for call in calls]}
        case AgentMessage(text):
            return {"role": "assistant", "content": text}
        case ToolResult(call_id, _, content):
            return {"role": "tool", "tool_call_id": call_id, "content": content}


_FORGED_TAG = re.compile(r"^\[(?=(customer|staff)\b)", re.MULTILINE | re.IGNORECASE)


def _tag(role: str, speaker: str, text: str) -> str:
    """Who says it, by the id that code has verified; a line that looks like such a tag loses its look."""
    return f"[{role} {speaker}]\n{_FORGED_TAG.sub('(', text)}"


def _call(call: ToolCall) -> JsonObject:
    """Arguments that are no JSON object are left out: some servers refuse the whole conversation for them."""
    function = {"name": call.name, "arguments": call.arguments if _is_object(call.arguments) else "{}"}
    return {**call.extra, "id": call.id, "type": "function", "function": function}


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def _function(tool: Tool) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}
