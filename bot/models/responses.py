"""The adapter for OpenAI's Responses API and compatible servers.

Nothing is stored on the server. Each request has the whole conversation, including the model's reasoning. The
reasoning is encrypted, so only the server that wrote it can read it again. There is one attempt per request; the loop
decides about repeating and giving up.
"""

import logging
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import openai

from bot.agent.messages import AgentMessage, JsonObject, ToolCall, ToolResult
from bot.agent.model import ModelEvent, ModelRequest
from bot.agent.tools import Tool
from bot.agent.wording import RESPONSES_ITEMS, sound_arguments
from bot.models.dialect import Dialect, with_breakpoint
from bot.models.http_stream import Response, open_response, read_reply
from bot.models.images import beside_input
from bot.models.lines import UserLine, lines_of
from bot.models.profile import Manner
from bot.models.responses_stream import ResponseReader
from bot.models.strict import strict_schema

logger = logging.getLogger(__name__)

_ABOUT_REASONING = re.compile(r"encrypted.content|\bItem .*'(rs|msg|fc)_", re.IGNORECASE)
"""The words of a refusal if returned reasoning cannot be used: it is from another account or key, or too old."""
_LEAST_OUTPUT = 16
"""The least number of tokens. The API refuses a smaller limit."""
_ID_LIMIT = 64
"""The maximum of characters in a call's id. The API refuses longer ones, and other providers' ids can be longer."""


class Responses:
    """A Model over an openai client, which must not retry by itself."""

    def __init__(self, client: openai.AsyncOpenAI, *, manner: Manner, dialect: Dialect | None = None) -> None:
        self.dialect = dialect or Dialect()
        self._client = client
        self._manner = manner

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        reader = ResponseReader(characters=request.output_characters, tools=request.tools)
        return read_reply(partial(self._send, request), reader)

    @asynccontextmanager
    async def _send(self, request: ModelRequest) -> AsyncIterator[Response]:
        """The response. If the server can no longer read the model's earlier reasoning, the request is repeated
        without it.

        Otherwise one outdated item would prevent all further answers in the thread.
        """
        create = self._client.responses.with_streaming_response.create
        send = partial(open_response, create, model=request.model, dialect=self.dialect)
        async with AsyncExitStack() as stack:
            items = input_items(request)
            body = self._body(request, items)
            try:
                response = await stack.enter_async_context(send(body))
            except openai.APIStatusError as error:
                if not _is_about_reasoning(error) or not any(item.get("type") == "reasoning" for item in items):
                    raise
                logger.warning("the server cannot read the model's earlier reasoning; it is left out")
                body = self._body(request, input_items(request, with_reasoning=False))
                response = await stack.enter_async_context(send(body))
            yield response

    def _body(self, request: ModelRequest, items: list[JsonObject]) -> dict[str, Any]:
        limit = max(_LEAST_OUTPUT, self._manner.output_tokens_for(request))
        body: dict[str, Any] = {"store": False, "max_output_tokens": limit, "input": items}
        if request.instructions and self._manner.marks_instructions:
            # The field `instructions` takes no breakpoint.
            system = {"role": "system", "content": request.instructions}
            body["input"] = with_breakpoint([system, *items], kind="input_text")
        elif request.instructions:
            body["instructions"] = request.instructions
        body.update(self._manner.fields_for(request))
        if self._manner.reasons:
            body["include"] = ["reasoning.encrypted_content"]
        if (effort := self._manner.effort_for(request)) is not None:
            body["reasoning"] = {"effort": effort}
        if (temperature := self._manner.temperature_sent) is not None:
            body["temperature"] = temperature
        if request.reply and "response_format" in self._manner.takes:
            form = {"type": "json_schema", "name": request.reply.name, "schema": request.reply.schema, "strict": True}
            body["text"] = {"format": form}
        if request.tools:
            body["tools"] = [_function(tool, is_strict="strict" in self._manner.takes) for tool in request.tools]
            if not request.may_call:
                body["tool_choice"] = "none"
        return body


def _is_about_reasoning(error: openai.APIStatusError) -> bool:
    body = error.body if isinstance(error.body, Mapping) else {}
    words = f"{body.get('code')} {body.get('message')}"
    return error.status_code in (400, 404) and _ABOUT_REASONING.search(words) is not None


def input_items(request: ModelRequest, *, with_reasoning: bool = True) -> list[JsonObject]:
    """The conversation in the protocol's form, without the instructions.

    A model's own items go back only to that model.
    """
    ids = _CallIds()
    items: list[JsonObject] = []
    for line in lines_of(request):
        match line:
            case UserLine(text, images):
                items.append({"role": "user", "content": beside_input(text, images)})
            case AgentMessage(text, calls, _, author, extra):
                asked = [_call(call, ids.begin(call.id)) for call in calls]
                left = extra.get(RESPONSES_ITEMS, ()) if with_reasoning and author == request.model else ()
                items.extend(_replayed(text, asked, left) or _plain(text, asked))
            case ToolResult(call_id, _, content):
                items.append({"type": "function_call_output", "call_id": ids.of(call_id), "output": content})
    return items


class _CallIds:
    """Calls and results are paired by id in the whole input. So an id that is used again later gets a number."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def begin(self, id_: str) -> str:
        """The id for a call."""
        self._seen[id_] += 1
        return self.of(id_)

    def of(self, id_: str) -> str:
        """The id for the result of the latest call with this id."""
        number = f"_{self._seen[id_]}" if self._seen[id_] > 1 else ""
        return id_[-(_ID_LIMIT - len(number)) :] + number


def _plain(text: str, calls: Sequence[JsonObject]) -> Iterator[JsonObject]:
    if text:
        yield {"role": "assistant", "content": text}
    yield from calls


def _replayed(text: str, calls: Sequence[JsonObject], left: Sequence[JsonObject]) -> list[JsonObject]:
    """The items of a reply as the model returned them. Empty if they no longer match this reply.

    Reasoning must come directly before its result. If the model wrote several messages, they go back as one, in the
    place of the last.
    """
    places = [place for place, item in enumerate(left) if item["type"] == "message"][-1:]
    if sum(item["type"] == "function_call" for item in left) != len(calls) or bool(text) > bool(places):
        return []
    items: list[JsonObject] = []
    thoughts: list[JsonObject] = []
    unused = iter(calls)
    for place, item in enumerate(left):
        match item["type"]:
            case "reasoning":
                thoughts.append(item)
                continue
            case "function_call":
                items += [*thoughts, {**next(unused), **item}]
            case "message" if text and place in places:
                items += [*thoughts, _message(text, item)]
        thoughts = []
    return items


def _message(text: str, left: JsonObject) -> JsonObject:
    """A message in the API's own form if it has an id, otherwise in the short form."""
    if "id" not in left:
        return {"role": "assistant", "content": text, **left}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"role": "assistant", "status": "completed", "content": content, **left}


def _call(call: ToolCall, id_: str) -> JsonObject:
    arguments = sound_arguments(call.arguments)
    return {"type": "function_call", "call_id": id_, "name": call.name, "arguments": arguments}


def _function(tool: Tool, *, is_strict: bool) -> JsonObject:
    schema = strict_schema(tool.schema) if is_strict else None
    described = {"name": tool.name, "description": tool.description, "parameters": schema or tool.schema}
    return {"type": "function", **described, "strict": schema is not None}
