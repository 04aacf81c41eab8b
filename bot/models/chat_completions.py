"""The adapter for OpenAI's Chat Completions and all compatible servers.

It makes one attempt per request. The loop decides about repeating and giving up.
"""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import openai

from bot.agent.messages import AgentMessage, JsonObject, ToolCall, ToolResult
from bot.agent.model import ModelEvent, ModelRequest
from bot.agent.tools import Tool
from bot.agent.wording import RESPONSES_ITEMS, sound_arguments
from bot.models.chat_stream import ReplyReader
from bot.models.dialect import Dialect, neutral_id, with_breakpoint
from bot.models.http_stream import open_response, read_reply
from bot.models.images import beside
from bot.models.lines import Line, UserLine, lines_of
from bot.models.profile import Manner
from bot.models.strict import strict_schema


class ChatCompletions:
    """A Model over an openai client, which must not retry by itself."""

    def __init__(
        self, client: openai.AsyncOpenAI, *, output_limit: str, manner: Manner, dialect: Dialect | None = None
    ) -> None:
        self.dialect = dialect or Dialect()
        self._client = client
        self._output_limit = output_limit
        """The name of the field for ModelRequest.output_tokens. OpenAI renamed it, others did not."""
        self._manner = manner

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        # The messages of the body take the place of these.
        create = partial(self._client.chat.completions.with_streaming_response.create, messages=())
        send = partial(open_response, create, self._body(request), model=request.model, dialect=self.dialect)
        return read_reply(send, ReplyReader(characters=request.output_characters, tools=request.tools))

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages = chat_messages(request)
        body: dict[str, Any] = {
            "messages": with_breakpoint(messages) if self._manner.marks_instructions else messages,
            "stream_options": {"include_usage": True},
            self._output_limit: self._manner.output_tokens_for(request),
        }
        body.update(self._manner.fields_for(request))
        if (temperature := self._manner.temperature_sent) is not None:
            body["temperature"] = temperature
        if (effort := self._manner.effort_for(request)) is not None:
            body["reasoning_effort"] = effort
        if request.reply and "response_format" in self._manner.takes:
            form = {"name": request.reply.name, "schema": request.reply.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if request.tools:
            body["tools"] = [_function(tool, is_strict="strict" in self._manner.takes) for tool in request.tools]
            if not request.may_call:
                body["tool_choice"] = "none"
        return body


def chat_messages(request: ModelRequest) -> list[JsonObject]:
    """The conversation in the protocol's form, after the instructions.

    A model's own fields in its messages go back only to that model.
    """
    system = [{"role": "system", "content": request.instructions}] if request.instructions else []
    ids: dict[str, str] = {}
    return system + [_line(line, ids, model=request.model) for line in lines_of(request)]


def _line(line: Line, ids: dict[str, str], *, model: str) -> JsonObject:
    """One line. `ids` has the calls of other models by the ids that this one reads instead."""
    match line:
        case UserLine(text, images):
            return {"role": "user", "content": beside(text, images)}
        case AgentMessage(text, calls, _, author, extra):
            own = author == model
            fields = {name: value for name, value in extra.items() if own and name != RESPONSES_ITEMS}
            fields |= {"role": "assistant", "content": text or None if calls else text}
            ids.update({call.id: call.id if own else neutral_id(call.id) for call in calls})
            asked = [_call(call, ids[call.id], with_extra=own) for call in calls]
            return {**fields, "tool_calls": asked} if calls else fields
        case ToolResult(call_id, _, content):
            return {"role": "tool", "tool_call_id": ids.get(call_id, call_id), "content": content}


def _call(call: ToolCall, id_: str, *, with_extra: bool) -> JsonObject:
    function = {"name": call.name, "arguments": sound_arguments(call.arguments)}
    extra = call.extra if with_extra else {}
    return {**extra, "id": id_, "type": "function", "function": function}


def _function(tool: Tool, *, is_strict: bool) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    if is_strict and (schema := strict_schema(tool.schema)) is not None:
        function |= {"parameters": schema, "strict": True}
    return {"type": "function", "function": function}
