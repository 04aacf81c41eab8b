"""Joins a streamed Chat Completions reply, whatever dialect the server speaks.

`ReplyReader` takes the bytes of a response and returns the loop's events. Servers are known to differ in this: text
as a list of parts; a character cut in two; reasoning and tool calls left in the text (compat/markup.py) or spread
over fragments (call_fragments.py); fields that must be sent back (reply_fields.py); usage at any place, or null after
it was there; finish reasons of their own, or with every chunk; several choices; comments and pings as data; the whole
message once more at the end; anything at all after the end; errors in many shapes; one JSON object, a list, or lines
of them instead of a stream.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from bot.agent.events import TextDelta
from bot.agent.messages import ToolCall
from bot.agent.model import FailureKind, Finished, FinishReason, ModelEvent, ModelFailure, ReplyExtra, Thinking, Usage
from bot.agent.surrogates import Joiner
from bot.agent.tools import Tool
from bot.models.call_fragments import CallFragments
from bot.models.compat.markup import Markup
from bot.models.failures import provider_failure
from bot.models.frames import Frames
from bot.models.reply_fields import ReplyFields
from bot.models.sse import is_ping

_WORDS: Mapping[FinishReason, str] = {
    "stop": "stop stopped stop_sequence eos eos_token endoftext end end_turn complete completed done finish finished "
    "success normal",
    "calls": "tool_calls tool_call tool_use function_call function_calls",
    "length": "length max_length max_tokens max_new_tokens max_output_tokens max_completion_tokens token_limit "
    "model_length model_context_window_exceeded context_length_exceeded error_limit",
    "filtered": "content_filter content_filtered guardrail_intervened model_armor error_toxic safety image_safety "
    "recitation language blocklist prohibited_content spii sensitive",
    "refused": "refusal refused",
}
_FINISH: Mapping[str, FinishReason] = {word: reason for reason, words in _WORDS.items() for word in words.split()}
"""What finish reasons mean, in lower case and up to a colon. The words are those of OpenAI, Anthropic, Gemini,
Mistral, Cohere, Bedrock, watsonx, Text Generation Inference, Zhipu and Qianfan. With any other reason the reply may
be incomplete."""
_UNSAID = frozenset({"null", "none", "normal", "not_finished", "finish_reason_unspecified"})
"""Words that some servers send with every chunk. They end nothing."""
_BROKEN: Mapping[str, FailureKind] = {
    "error": "model_unreachable",
    "network_error": "model_unreachable",
    "insufficient_system_resource": "model_unreachable",
    "malformed_function_call": "malformed",
    "malformed_response": "malformed",
    "unexpected_tool_call": "malformed",
    "too_many_tool_calls": "malformed",
    "missing_thought_signature": "malformed",
    "function_call_filter": "malformed",
}
"""Finish reasons of replies that failed, but not because of what was said. Less specific reasons, such as Gemini's
OTHER, Cohere's TIMEOUT, or the abort of vLLM and SGLang, need no entry: such a reply counts as cut."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""The fields in which servers send the model's thoughts. They are never shown."""
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
"""The names of the number of input tokens that came from a cache."""
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
"""The names of the number of input tokens that were written to a cache."""
_CALLS = ("tool_calls", "function_call")
_JSON_BEGINS = (b"{", b"[", b'"')
_TEXTS = ("text", "output_text", "text_delta")
"""The types of content parts that are shown."""


class ReplyReader:
    """The state of one reply. Implements http_stream.Reader."""

    def __init__(self, *, characters: int, tools: Sequence[Tool] = ()) -> None:
        self.done = False
        self.finished = False
        self._frames = Frames()
        self._room = characters
        self._text: list[str] = []
        self._spoke = False
        """True: there was text, even if it must not be shown."""
        self._in_messages = False
        """True: the reply comes in messages instead of deltas."""
        self._joiner = Joiner()
        self._loose = False
        """True: there was JSON that only the lenient reader accepts, for example with halves of characters."""
        self._markup = Markup(tools)
        self._calls = CallFragments([tool.name for tool in tools])
        self._fields = ReplyFields()
        self._begun = False
        self._alive = False
        self._refused = False
        self._usage: Usage | None = None
        self._choice: object = None
        """The index of the choice that is read. None until a choice with an index came."""
        self._finish: FinishReason | None = None
        self._odd = ""
        """An undocumented finish reason."""
        self._failure: ModelFailure | None = None

    def feed(self, block: bytes) -> list[ModelEvent]:
        """The events of these bytes: text in one piece, or a sign of life, or nothing.

        A failure is raised only in `close`, so that the text before it is not lost.
        """
        try:
            for payload in self._frames.feed(block):
                self._read(payload)
        except ModelFailure as failure:
            if not self.finished:
                self._fail(failure)
        return self._news()

    def feed_whole(self, body: bytes) -> list[ModelEvent]:
        """Like `feed`. The body itself shows what kind of body it is."""
        return self.feed(body)

    def close(self) -> Iterator[ModelEvent]:
        """The rest after the last bytes: text, usage, calls, fields to send back, Finished."""
        self._read_last()
        is_whole = self._failure is None and self._finish in ("stop", "calls")
        text = self._shown() + self._markup.feed(self._joiner.close()) + self._markup.close(whole=is_whole)
        if text:
            yield TextDelta(text)
        if self._usage:
            yield self._usage
        if self._failure:
            raise self._failure
        if self._finish is None:
            kind: FailureKind = "cut" if self._begun else "malformed"
            odd = f"finish_reason {self._odd}" if self._odd else ""
            raise ModelFailure(kind, odd or "the stream ended without a finish", retryable=True)
        calls = self._whole_calls()
        yield from calls
        if fields := self._fields.whole(with_calls=bool(calls)):
            yield ReplyExtra(fields)
        yield Finished(self._meaning(self._finish, calls))

    def _fail(self, failure: ModelFailure) -> None:
        self._failure = self._failure or failure
        self.done = self.finished = True

    def _news(self) -> list[ModelEvent]:
        alive, self._alive = self._alive, False
        if self._text and (text := self._shown()):
            return [TextDelta(text)]
        return [Thinking()] if alive else []

    def _shown(self) -> str:
        """The new text that can be shown."""
        text = "".join(self._text)
        self._text.clear()
        return self._markup.feed(self._joiner.feed(text) if self._loose else text)

    def _read(self, payload: bytes) -> None:
        if self.finished:
            self._read_behind(payload)
            return
        if payload == b"[DONE]":
            self.done = self.finished = True
            self._finish = self._finish or (None if self._odd else "stop")
            return
        try:
            chunk = orjson.loads(payload)
        except orjson.JSONDecodeError:
            self._read_unusual(payload)
        else:
            self._read_chunk(chunk)

    def _read_behind(self, payload: bytes) -> None:
        """Read what comes after the finish. Only its usage counts; nothing else can change a whole reply."""
        if payload == b"[DONE]":
            self.done = True
        if self.done:
            return
        with suppress(orjson.JSONDecodeError):
            chunk = orjson.loads(payload)
            choices = chunk.get("choices") if isinstance(chunk, dict) else None
            for part in (chunk, *(choices if isinstance(choices, list) else ())):
                if isinstance(part, dict):
                    self._count(part.get("usage") or part.get("x_groq"))

    def _read_unusual(self, payload: bytes) -> None:
        """Read data that is no proper JSON: half a character, a comment, chunks without the blank line between them."""
        try:
            chunk = json.loads(payload.decode(errors="replace"), strict=False)
        except (ValueError, RecursionError):
            lines = [line.strip().removeprefix(b"data:").strip() for line in payload.split(b"\n")]
            lines = [line for line in lines if line and not line.startswith(b":") and not is_ping(line)]
            if lines == [payload]:
                if not self._begun and payload[:1] not in _JSON_BEGINS:
                    return  # the words of a proxy; if no reply follows, there is no finish either
                raise ModelFailure("malformed", "a chunk is not JSON", retryable=True) from None
            for line in lines:
                self._read(line)
        else:
            self._loose = True
            self._read_chunk(chunk)

    def _read_last(self) -> None:
        """Read the last bytes. If they cannot be read they were cut, and the finish is missing, which is reported."""
        for payload in [] if self._failure else self._frames.close():
            try:
                self._read(payload)
            except ModelFailure as failure:
                if failure.kind != "malformed":
                    self._fail(failure)

    def _read_chunk(self, chunk: Any) -> None:
        if isinstance(chunk, list):
            for item in chunk:
                self._read_chunk(item if isinstance(item, dict) else None)
        if not isinstance(chunk, dict) or self._failure or self._room < 0:
            return
        if error := chunk.get("error"):
            raise provider_failure(error)
        try:
            if usage := chunk.get("usage") or chunk.get("x_groq"):
                self._count(usage)
            if choices := chunk.get("choices"):
                self._read_choice(choices[0] if len(choices) == 1 else min(choices, key=_place))
            elif "choices" not in chunk and isinstance(chunk.get("message") or chunk.get("detail"), str):
                raise provider_failure(chunk)
        except (AttributeError, TypeError, LookupError, RecursionError) as error:
            raise ModelFailure("malformed", f"a chunk of another shape: {error}", retryable=True) from None

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        self._begun = True
        if (index := choice.get("index")) != self._choice and index is not None:
            if self._choice is not None:
                return
            self._choice = index
        delta = choice.get("delta") or self._whole_message(choice) or {}
        if content := delta.get("content"):
            text = content if isinstance(content, str) else self._text_of(content)
            self._spoke = True
            self._text.append(text[: self._room])
            self._spend(len(text))
        if len(delta) > 1 or not content:
            self._read_more(delta)
        if reason := choice.get("finish_reason"):
            self._end(str(reason))
            self._count(choice.get("usage"))

    def _whole_message(self, choice: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The message that a choice has instead of a delta.

        After deltas it repeats the whole reply, and only fields that no delta brought are new. Without deltas, some
        servers send a reply in such pieces.
        """
        message: Mapping[str, Any] | None = choice.get("message")
        known = {*(("content",) if self._spoke else ()), *(_CALLS if self._calls.any else ()), *self._fields.names}
        if not message or self._in_messages or not known:
            self._in_messages = self._in_messages or bool(message)
            return message
        return {name: value for name, value in message.items() if name not in known}

    def _read_more(self, delta: Mapping[str, Any]) -> None:
        """Read what a delta has besides text."""
        for fragment in delta.get("tool_calls") or ():
            self._spend(self._calls.add(fragment))
        if call := delta.get("function_call"):
            self._spend(self._calls.add({"function": call}))
        if thoughts := next((delta[name] for name in _REASONING if delta.get(name)), None):
            self._spend(len(str(thoughts)))
        if refusal := delta.get("refusal"):
            self._refused = True
            self._spend(len(refusal))
        if self._fields.add(delta):
            self._alive = True

    def _text_of(self, parts: object) -> str:
        """The text of content that is a list of parts. Thoughts and refusals among them are not text."""
        known = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        self._refused = self._refused or any(part.get("refusal") for part in known)
        shown = [part for part in known if part.get("type", "text") in _TEXTS]
        return "".join(part["text"] for part in shown if isinstance(part.get("text"), str))

    def _end(self, reason: str) -> None:
        word = reason.lower().partition(":")[0].strip()
        if kind := _BROKEN.get(word):
            raise ModelFailure(kind, f"finish_reason {word}", retryable=True)
        if self._room < 0:
            return
        if word in _FINISH:
            self._finish = _FINISH[word]
            self.finished = word not in _UNSAID
        elif word not in _UNSAID:
            self._odd = "".join(re.findall(r"[\w.-]", word))[:40] or "?"

    def _spend(self, characters: int) -> None:
        self._alive = True
        self._room -= characters
        if self._room < 0:
            self.done = self.finished = True
            self._finish = "length"

    def _count(self, usage: Any) -> None:
        """Store the token counts, if there are any."""
        if isinstance(usage, dict) and isinstance(usage.get("usage"), dict):
            usage = usage["usage"]
        if not isinstance(usage, dict):
            return
        read, written = (
            _number(usage, "prompt_tokens", "input_tokens"),
            _number(usage, "completion_tokens", "output_tokens"),
        )
        if read or written:
            details, output = _members(usage, "prompt_tokens_details"), _members(usage, "completion_tokens_details")
            thought = _number(output, "reasoning_tokens") or _number(usage, "reasoning_tokens")
            if thought and _number(usage, "total_tokens") == read + written + thought:
                written += thought  # some providers count thoughts beside the output
            self._usage = Usage(
                read,
                written,
                _number(details, *_CACHED) or _number(usage, *_CACHED),
                written_tokens=_number(details, *_WRITTEN) or _number(usage, *_WRITTEN),
                reasoning_tokens=min(thought, written),
            )

    def _whole_calls(self) -> list[ToolCall]:
        """The calls of the protocol, then the calls in markup that the server did not read itself."""
        calls = self._calls.whole()
        return calls + self._markup.calls_beside(calls)

    def _meaning(self, finish: FinishReason, calls: Sequence[ToolCall]) -> FinishReason:
        """The final finish reason. Raises ModelFailure if markup or calls are incomplete."""
        if finish not in ("stop", "calls"):
            return finish
        if calls:
            return "calls"
        if self._refused:
            return "refused"
        if self._markup.lost:
            raise ModelFailure("malformed", "markup in the text that cannot be read", retryable=True)
        if self._calls.lost or (finish == "calls" and self._calls.any):
            raise ModelFailure("malformed", "calls were announced and none can be told", retryable=True)
        return "stop"


def _place(choice: Mapping[str, Any]) -> int:
    """The index of a choice in its chunk."""
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _members(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object of that name, or an empty one."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _number(fields: Mapping[str, Any], *names: str) -> int:
    """The first of the named members that is a count, or 0."""
    return next((count for name in names if isinstance(count := fields.get(name), int) and count > 0), 0)
