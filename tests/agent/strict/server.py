"""Model servers that each keep the documented rules of one family, and refuse everything else as that family does.

What they answer follows from the request alone: who is asked, what was looked up already, and whether a reply broke
off. So the same stories can be told to each of them.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson
from aiohttp import web

from demo.ports import listening
from tests.doubles.chat_server import DONE, chunk, event
from tests.doubles.responses_events import Response

Json = dict[str, Any]
Rule = Callable[[Json], Json | None]
"""Returns the error with which the family refuses a body. None if it takes it."""

CUT = "Tell me twice."
"""A question whose answer breaks off in the middle, once."""
SHIPPED = "It is shipped."
USAGE = {
    "prompt_tokens": 2_000,
    "completion_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 1_200},
    "completion_tokens_details": {"reasoning_tokens": 40},
}


def _roles(body: Json) -> list[str]:
    return [str(line.get("role")) for line in body["messages"]]


def openai_error(message: str, param: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}


def leading_system(body: Json) -> Json | None:
    """Chat templates of Qwen 3.5 to 3.8, behind vLLM, SGLang or llama.cpp."""
    if "system" in _roles(body)[1:]:
        message = "System message must be at the beginning."
        return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return None


_AFTER = {
    "": {"system", "user"},
    "system": {"system", "user", "assistant"},
    "user": {"user", "assistant", "system"},
    "assistant": {"user", "assistant", "tool"},
    "tool": {"tool", "assistant"},
}


def mistral_order(body: Json) -> Json | None:
    """Mistral's validator: its order of roles, the user or a tool last, ids of nine letters and digits."""
    before = ""
    for line in body["messages"]:
        if line["role"] not in _AFTER[before]:
            return _mistral_error(f"Unexpected role '{line['role']}' after role '{before}'", 3230)
        if line["role"] == "assistant" and not (line.get("content") or line.get("tool_calls")):
            return _mistral_error("Assistant message must have either content or tool_calls.", 3240)
        ids = [call["id"] for call in line.get("tool_calls", ())] + [line.get("tool_call_id", "123456789")]
        if wrong := [id_ for id_ in ids if not re.fullmatch(r"[a-zA-Z0-9]{9}", id_)]:
            words = f"Tool call id was {wrong[0]} but must be a-z, A-Z, 0-9, with a length of 9."
            return _mistral_error(words, 3280)
        before = line["role"]
    if before not in ("user", "tool"):
        words = "Expected last role User or Tool (or Assistant with prefix or continue_final_message set to True) for "
        return _mistral_error(f"{words}serving but got {before}", 3230)
    return None


def mistral_results(body: Json) -> Json | None:
    """Mistral's validator: each call has an id of its own, and one result before the assistant speaks again."""
    open_ids: list[str] = []
    answered: list[str] = []
    for line in [*body["messages"], {"role": "assistant"}]:
        if line["role"] == "tool":
            answered.append(line["tool_call_id"])
        if line["role"] == "assistant":
            if sorted(open_ids) != sorted(answered) or len(set(open_ids)) != len(open_ids):
                return _mistral_error("Not the same number of function calls and responses", 3230)
            open_ids, answered = [call["id"] for call in line.get("tool_calls", ())], []
    return None


def mistral_v3(body: Json) -> Json | None:
    """Mistral's models before its fifth tokenizer, such as Nemo."""
    if any(line.get("content") and line.get("tool_calls") for line in body["messages"]):
        return _mistral_error("Assistant message must have either content or tool_calls, but not both.", 3240)
    return None


_MISTRAL_FIELDS = {
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "stream",
    "stop",
    "random_seed",
    "metadata",
    "messages",
}
_MISTRAL_FIELDS |= {"response_format", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "prompt_mode"}
_MISTRAL_FIELDS |= {"prompt_cache_key", "safe_prompt", "presence_penalty", "frequency_penalty", "n", "prediction"}
_MISTRAL_MESSAGES = {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}


def mistral_fields(body: Json) -> Json | None:
    """Mistral's own server, as the package mistralai 2 lists what it takes, in the words of refusals."""
    faults: list[list[str | int]] = [["body", name] for name in body if name not in _MISTRAL_FIELDS]
    for number, line in enumerate(body["messages"]):
        faults += [["body", "messages", number, line["role"], name] for name in line if name not in _MISTRAL_MESSAGES]
    if faults:
        detail = [
            {"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": "what was sent"}
            for loc in faults
        ]
        wrapped = {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
        return {**wrapped, "param": None, "code": None, "raw_status_code": 422}
    return None


def mistral_effort(body: Json) -> Json | None:
    """Mistral's models that think take two efforts."""
    effort = body.get("reasoning_effort", "none")
    if effort not in ("none", "high"):
        words = "Must be one of (<ReasoningEffort.none: 'none'>, <ReasoningEffort.high: 'high'>)"
        return _mistral_error(f"reasoning_effort='{effort}' is not supported for this model. {words}", 3051)
    return None


def _mistral_error(message: str, code: int) -> Json:
    return {"object": "error", "message": message, "type": "invalid_request_error", "param": None, "code": str(code)}


def alternation(body: Json) -> Json | None:
    """Gemma's chat template: no system, and people and the assistant in turns."""
    roles = _roles(body)
    if "system" in roles:
        return openai_error("System role not supported")
    if any(role == before != "tool" for before, role in pairwise(roles)):
        return openai_error("Conversation roles must alternate user/assistant/user/assistant/...")
    return None


def no_temperature(body: Json) -> Json | None:
    """Claude from 4.7 on, and models that reason."""
    if "temperature" in body or "top_p" in body:
        return openai_error("`temperature` is deprecated for this model.")
    return None


def no_prefill(body: Json) -> Json | None:
    """Anthropic's compatible endpoint: it hoists the system, and Claude 4.6 and later continue no message."""
    lines = [line for line in body["messages"] if line["role"] != "system"]
    if lines[-1]["role"] == "assistant":
        return openai_error("This model does not support prefill. The conversation must end with a user message.")
    if any(not line.get("content") and not line.get("tool_calls") for line in lines):
        return openai_error("messages: text content blocks must be non-empty")
    return None


def no_minimal(body: Json) -> Json | None:
    """GPT-6: no such effort."""
    effort = body.get("reasoning_effort") or body.get("reasoning", {}).get("effort")
    if effort == "minimal":
        words = (
            "Unsupported value: 'minimal' is not supported. Supported values are: 'none', 'low', 'medium', and 'high'."
        )
        return openai_error(words, "reasoning_effort" if "messages" in body else "reasoning.effort")
    return None


_KNOWN_FIELDS = {"model", "messages", "tools", "stream", "max_tokens"}


def no_unknown_field(body: Json) -> Json | None:
    """A server whose bodies are validated: anything that it does not know is refused."""
    extra = sorted(body.keys() - _KNOWN_FIELDS)
    faults = [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in extra
    ]
    return {"detail": faults} if faults else None


def no_images(body: Json) -> Json | None:
    """A model of words alone, behind a server that takes content as text only."""
    if any(not isinstance(line.get("content"), str | None) for line in body["messages"]):
        return openai_error("Invalid type for 'messages[1].content': expected a string.", "messages")
    return None


def _image_parts(body: Json) -> list[Json]:
    parts = [part for line in body.get("messages") or body["input"] for part in _parts(line)]
    return [part for part in parts if part.get("type") in ("image_url", "input_image")]


def _parts(line: Json) -> list[Json]:
    content = line.get("content")
    return content if isinstance(content, list) else []


def words_alone(body: Json) -> Json | None:
    """A model of words alone, behind a server that knows what an image is."""
    if _image_parts(body):
        return {"object": "error", "message": "our-model is not a multimodal model", "type": "BadRequestError"}
    return None


def no_projector(body: Json) -> Json | None:
    """llama.cpp without the part that reads images, which calls that its own fault."""
    if _image_parts(body):
        words = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
        return {"error": {"code": 500, "message": words, "type": "server_error"}}
    return None


def signed_calls(body: Json) -> Json | None:
    """Gemini from 3 on: the first call of each message has a signature, or the mark in its place."""
    for line in body["messages"]:
        if (calls := line.get("tool_calls")) and not calls[0].get("extra_content", {}).get("google"):
            return openai_error("Function call is missing a thought_signature in functionCall parts.")
    return None


def thoughts_before_calls(body: Json) -> Json | None:
    """DeepSeek from version 4 on: the thoughts before each call come back."""
    if any(line.get("tool_calls") and not line.get("reasoning_content") for line in body["messages"]):
        return openai_error("The `reasoning_content` in the thinking mode must be passed back to the API.")
    return None


def no_thinking(body: Json) -> Json | None:
    """Ollama with a model that does not think."""
    if body.get("reasoning_effort", "none") != "none":
        return openai_error('"our-model" does not support thinking')
    return None


def few_tokens(body: Json) -> Json | None:
    """Groq: a limit beyond the model's own is refused."""
    if body["max_tokens"] > 8_192:
        return openai_error(
            "`max_tokens` must be less than or equal to `8192`, the maximum for this model", "max_tokens"
        )
    return None


def small_window(body: Json) -> Json | None:
    """vLLM with a window that has no room for many thoughts."""
    if body["max_tokens"] > 14_000:
        words = "This model's maximum context length is 16384 tokens and your request has 2384 input tokens."
        return openai_error(f"'max_tokens' or 'max_completion_tokens' is too large: {body['max_tokens']}. {words}")
    return None


def no_cache_fields(body: Json) -> Json | None:
    """A server that speaks the API and knows nothing of what OpenAI added for its cache."""
    for name in ("prompt_cache_key", "safety_identifier"):
        if name in body:
            return openai_error(f"Unknown parameter: '{name}'.", name)
    return None


def responses_order(body: Json) -> Json | None:
    """The Responses API in front of a strict chat template: nothing but the instructions speaks as the system."""
    if any(item.get("role") in ("system", "developer") for item in body["input"]):
        return openai_error("System message must be at the beginning.", "input")
    if body["input"][-1].get("role") == "assistant":
        return openai_error("The conversation must end with a user message.", "input")
    return no_minimal(body)


@dataclass(frozen=True)
class Family:
    """One family's rules, and how a model of it is set up."""

    name: str
    rules: tuple[Rule, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For open_model."""
    model: str = "our-model"
    api: str = "chat"
    status: int = 400
    call_id: str = "abcDEF123"
    """The id of the calls that it makes."""
    load_seconds: float = 0.0
    """How long the first request loads the model. A client that leaves aborts that."""


_BY_VLLM = (leading_system, mistral_order, mistral_results, mistral_effort)
_OF_MISTRAL = (*_BY_VLLM, mistral_fields)
FAMILIES = (
    Family("leading-system", (leading_system,)),
    Family("mistral", (leading_system, mistral_order)),
    Family("mistral-itself", _OF_MISTRAL, {"effort": "low", "temperature": 0.4}, model="mistral-medium-latest"),
    Family("mistral-unnamed", _OF_MISTRAL, {"effort": "low", "temperature": 0.4}),
    Family(
        "mistral-long-ids", _BY_VLLM, model="mistralai/Mistral-Small-3.2-24B-Instruct-2506", call_id="call_72d731dd"
    ),
    Family("mistral-nemo", (*_BY_VLLM, mistral_v3), {"effort": "medium"}, model="mistralai/Mistral-Nemo-Instruct-2407"),
    Family("alternation", (alternation,)),
    Family("no-temperature", (leading_system, no_temperature), {"temperature": 0.7}),
    Family("no-prefill", (leading_system, no_prefill, no_temperature), {"temperature": 0.7}, model="claude-opus-4-8"),
    Family("no-minimal", (leading_system, no_minimal), {"effort": "minimal"}),
    Family("gpt-6", (leading_system, no_minimal, no_temperature), {"effort": "minimal"}, model="gpt-6-luna"),
    Family("unknown-fields", (no_unknown_field,), {"effort": "low", "temperature": 0.7}, status=422),
    Family("images", (leading_system,), {"images": True}),
    Family("content-of-words", (leading_system, no_images), {"images": True}),
    Family("images-refused", (leading_system, words_alone), {"images": True}),
    Family("images-refused-by-500", (leading_system, no_projector), {"images": True}, status=500),
    Family("images-refused-by-responses", (responses_order, words_alone), {"images": True}, api="responses"),
    Family("gateway", (leading_system, no_unknown_field, no_images), model="openai/gpt-6-luna", status=422),
    Family("gateway-responses", (responses_order, no_cache_fields), model="gpt-6-luna", api="responses"),
    Family("responses", (responses_order,), {"effort": "minimal"}, api="responses"),
    Family("gemini-3", (leading_system, signed_calls), model="gemini-3.8-flash"),
    Family("deepseek-v4", (leading_system, thoughts_before_calls, few_tokens), model="deepseek-v4-flash"),
    Family("ollama", (leading_system, no_thinking, no_projector), {"effort": "low", "images": True}),
    Family("small-window", (leading_system, small_window), {"effort": "high"}),
    Family("slow-load", (leading_system,), load_seconds=0.4),
    Family(
        "everything",
        (alternation, mistral_order, no_prefill, no_unknown_field, no_images),
        {"temperature": 0.7, "images": True},
    ),
)


class StrictServer:
    """One family's server."""

    def __init__(self, family: Family) -> None:
        self.url = ""
        self.family = family
        self.taken: list[Json] = []
        """The bodies that were answered."""
        self.refused: list[Json] = []
        """The errors of those that were not."""
        self.loads = 0
        """How often the model was begun to be loaded."""
        self._is_loaded = not family.load_seconds
        self._has_cut = False

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Handle a request for a reply."""
        body = orjson.loads(await request.read())
        if error := next((error for rule in self.family.rules if (error := rule(body)) is not None), None):
            self.refused.append(error)
            return web.json_response(error, status=error.get("raw_status_code", self.family.status))
        if not self._is_loaded:
            self.loads += 1
            await asyncio.sleep(self.family.load_seconds)
            self._is_loaded = True
        self.taken.append(body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        text, call, cut = self._reply(body)
        for block in self._blocks(body, text, call):
            if cut and (b"finish" in block or b"completed" in block) and b'"finish_reason":null' not in block:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(block)
        return response

    def _blocks(self, body: Json, text: str, call: tuple[str, Json] | None) -> Sequence[bytes]:
        return _responses(text, call) if "input" in body else _chat(text, call, id_=self.family.call_id)

    def _reply(self, body: Json) -> tuple[str, tuple[str, Json] | None, bool]:
        """The text, the call, and whether the reply breaks off."""
        lines = body.get("messages") or body["input"]
        whole = orjson.dumps(lines).decode() + body.get("instructions", "")
        tools = [tool.get("function", tool)["name"] for tool in body.get("tools", ())]
        said = [str(line.get("content")) for line in lines if line.get("role") == "user"][-1]
        after = lines[max(n for n, line in enumerate(lines) if line.get("role") == "user") :]
        is_found = any(line.get("role") == "tool" or line.get("type") == "function_call_output" for line in after)
        if "You check" in whole:
            return "STANDS", None, False
        if "broke off" in said or "Answer the customer now" in orjson.dumps(after).decode():
            return SHIPPED[5:] if "broke off" in said else SHIPPED, None, False
        if CUT in said and is_found and not self._has_cut:
            self._has_cut = True
            return SHIPPED[:5], None, True
        if "hand_over_to_orders" in tools and "You sort" in whole and not is_found:
            return "", ("hand_over_to_orders", {}), False
        if "ask_orders" in tools and not is_found:
            return "", ("ask_orders", {"question": "Where is ORD-1?"}), False
        if ("lookup_order" in tools and not is_found) or "for ever" in said:
            return "", ("lookup_order", {"order_id": f"ORD-{len(after)}"}), False
        if "look_up" in tools and not is_found:
            return "", ("look_up", {"word": "ready"}), False
        return SHIPPED, None, False


def _chat(text: str, call: tuple[str, Json] | None, *, id_: str) -> list[bytes]:
    usage = event({"choices": [], "usage": USAGE})
    if call is None:
        return [chunk({"role": "assistant", "content": text}), chunk({}, "stop"), usage, DONE]
    function = {"name": call[0], "arguments": orjson.dumps(call[1]).decode()}
    calls = [{"index": 0, "id": id_, "type": "function", "function": function}]
    return [chunk({"tool_calls": calls}), chunk({}, "tool_calls"), usage, DONE]


def _responses(text: str, call: tuple[str, Json] | None) -> tuple[bytes, ...]:
    return (Response().says(text) if call is None else Response().calls(*call)).ends().blocks


@asynccontextmanager
async def open_strict_server(family: Family) -> AsyncIterator[StrictServer]:
    """The server of a family on a free port of loopback."""
    server = StrictServer(family)
    app = web.Application(client_max_size=8 << 20)
    app.add_routes([web.post("/{path:.+}", server.answer)])
    async with listening(app, cancels=True) as root:
        server.url = f"{root}/v1"
        yield server
