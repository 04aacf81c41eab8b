"""The Responses API of the stand-in: a request in the form of a chat, what the API would refuse, a reply as its events.

Who decides what is said is the same as for Chat Completions. What is told apart here is only the protocol, kept as
strictly as the real one keeps it: calls and their results are paired, and reasoning is taken back only from the one
that wrote it, unaltered, in front of what came of it.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from demo.model.conversation import Json
from demo.model.script import Round

ENCRYPTED = "reasoning.encrypted_content"
LEAST_OUTPUT = 16
_ITEMS = ("message", "reasoning", "function_call", "function_call_output")
_OWN_ID = re.compile(r"(?:fc|msg)_(r[0-9a-f]{24})_\d+")
"""Ids of items that followed reasoning; the middle is the reasoning's own."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the API does not take a request."""

    message: str
    status: int = 400
    code: str | None = None


def chat_form(body: Json) -> Json:
    """The same request to Chat Completions, without reasoning. Never raises."""
    messages: list[Json] = []
    if isinstance(body.get("instructions"), str):
        messages.append({"role": "system", "content": body["instructions"]})
    for item in _items(body):
        match item.get("type", "message"):
            case "message":
                messages.append({"role": item.get("role"), "content": item.get("content")})
            case "function_call":
                if not messages or messages[-1].get("role") != "assistant":
                    messages.append({"role": "assistant", "content": None})
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                call = {"id": item.get("call_id"), "type": "function", "function": function}
                messages[-1].setdefault("tool_calls", []).append(call)
            case "function_call_output":
                messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")})
    tools = [{"type": "function", "function": tool} for tool in _objects(body.get("tools"))]
    chat = {"model": body.get("model"), "messages": messages, "tools": tools}
    return chat | {"tool_choice": body.get("tool_choice"), "max_completion_tokens": body.get("max_output_tokens")}


def refusal(body: Json, *, key: str) -> Refusal | None:
    """Why the API would refuse this request; `key` seals the stand-in's reasoning."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return Refusal("Missing required parameter: 'model'.", code="missing_required_parameter")
    if "messages" in body:
        moved = "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'."
        return Refusal(moved, code="unsupported_parameter")
    if body.get("previous_response_id"):
        return Refusal("Previous response not found: nothing is stored here.", code="previous_response_not_found")
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < LEAST_OUTPUT:
        return Refusal(f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LEAST_OUTPUT}.")
    for number, tool in enumerate(_objects(body.get("tools"))):
        if tool.get("type") == "function" and not tool.get("name"):
            return Refusal(f"Missing required parameter: 'tools[{number}].name'.", code="missing_required_parameter")
    if not _items(body):
        return Refusal("Missing required parameter: 'input'.", code="missing_required_parameter")
    return _wrong_item(body) or _unpaired(_items(body)) or _wrong_reasoning(body, key)


class Events:
    """One reply as the events of its stream. Take `opening`, then `rest`; then `response` is whole."""

    def __init__(self, body: Json, round_: Round, pieces: Sequence[str], *, finish: str, usage: Json, key: str) -> None:
        self._round = round_
        self._pieces = pieces
        self._finish = finish
        self._usage = usage
        self._key = key
        self._sent = 0
        self._thinks = _asks_for_reasoning(body)
        self._is_sealed = ENCRYPTED in _strings(body.get("include"))
        self._token = ("r" if self._thinks else "n") + secrets.token_hex(12)
        self.response = _opened(body)

    def opening(self) -> Iterator[Json]:
        """Everything up to the end of the text."""
        yield self._event("response.created", response=self.response)
        yield self._event("response.in_progress", response=self.response)
        if self._thinks:
            yield from self._thought()
        if self._pieces:
            item, where = self._message("", "in_progress"), self._place("msg")
            yield self._event("response.output_item.added", output_index=where["output_index"], item=item)
            part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
            yield self._event("response.content_part.added", **where, content_index=0, part=part)
            for piece in self._pieces:
                yield self._event("response.output_text.delta", **where, content_index=0, delta=piece, logprobs=[])

    def rest(self) -> Iterator[Json]:
        """The end of the text, the calls, the end of the response."""
        if self._pieces:
            item, where = self._message("".join(self._pieces), "completed"), self._place("msg")
            (part,) = item["content"]
            done = {**where, "content_index": 0}
            yield self._event("response.output_text.done", **done, text=part["text"], logprobs=[])
            yield self._event("response.content_part.done", **done, part=part)
            yield self._close(item)
        for call in self._round.calls:
            where = self._place("fc")
            item = {
                "id": where["item_id"],
                "type": "function_call",
                "call_id": call.id or f"call_{secrets.token_hex(12)}",
                "name": call.name,
            }
            opened = {**item, "status": "in_progress", "arguments": ""}
            yield self._event("response.output_item.added", output_index=where["output_index"], item=opened)
            for part in re.findall(r"(?s).{1,8}", call.arguments):
                yield self._event("response.function_call_arguments.delta", **where, delta=part)
            whole = {"name": call.name, "arguments": call.arguments}
            yield self._event("response.function_call_arguments.done", **where, **whole)
            yield self._close({**item, "status": "completed", "arguments": call.arguments})
        yield self._end()

    def _thought(self) -> Iterator[Json]:
        item: Json = {"id": f"rs_{self._token}", "type": "reasoning", "summary": []}
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._close(item | ({"encrypted_content": sealed(self._token, self._key)} if self._is_sealed else {}))

    def _message(self, text: str, status: str) -> Json:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
        content = [part] if status == "completed" else []
        id_ = self._place("msg")["item_id"]
        return {"id": id_, "type": "message", "role": "assistant", "status": status, "content": content}

    def _place(self, prefix: str) -> Json:
        index = len(self.response["output"])
        return {"item_id": f"{prefix}_{self._token}_{index}", "output_index": index}

    def _close(self, item: Json) -> Json:
        self.response["output"].append(item)
        index = len(self.response["output"]) - 1
        return self._event("response.output_item.done", output_index=index, item=item)

    def _end(self) -> Json:
        reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
        reason = reasons.get(self._finish)
        status = "incomplete" if reason else "completed"
        thoughts = 8 if self._thinks else 0
        read, written = self._usage["prompt_tokens"], self._usage["completion_tokens"] + thoughts
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": thoughts},
            "total_tokens": read + written,
        }
        self.response |= {
            "status": status,
            "usage": usage,
            "incomplete_details": {"reason": reason} if reason else None,
        }
        return self._event(f"response.{status}", response=self.response)

    def _event(self, kind: str, **fields: Any) -> Json:
        event = {"type": kind, "sequence_number": self._sent, **fields}
        self._sent += 1
        return event


def sealed(token: str, key: str) -> str:
    """Reasoning that only the holder of the key can have written. There is nothing in it but its seal."""
    return f"{token}.{hmac.new(key.encode(), token.encode(), hashlib.sha256).hexdigest()}"


def _opened(body: Json) -> Json:
    return {
        "id": f"resp_{secrets.token_hex(16)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": {},
        "model": body["model"],
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None} | (body.get("reasoning") or {}),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": _objects(body.get("tools")),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
    }


def _wrong_item(body: Json) -> Refusal | None:
    for number, item in enumerate(_items(body)):
        kind = item.get("type", "message")
        if kind not in _ITEMS:
            return Refusal(f"Invalid value: '{kind}'. Supported values are: {', '.join(_ITEMS)}.", code="invalid_value")
        needed = {
            "message": ("role", "content"),
            "reasoning": ("id", "summary"),
            "function_call": ("call_id", "name", "arguments"),
            "function_call_output": ("call_id", "output"),
        }[kind]
        if item.get("role") in ("system", "developer") and (number or body.get("instructions")):
            return Refusal("System message must be at the beginning.", code="invalid_value")
        for name in needed:
            if item.get(name) is None:
                missing = f"Missing required parameter: 'input[{number}].{name}'."
                return Refusal(missing, code="missing_required_parameter")
    return None


def _unpaired(items: Sequence[Json]) -> Refusal | None:
    """Every call needs its result, every result a call before it, and ids stand for one call each."""
    waiting: set[str] = set()
    called: set[str] = set()
    for item in items:
        id_ = str(item.get("call_id"))
        if item.get("type") == "function_call":
            if id_ in called:
                return Refusal(f"Duplicate function call with call_id {id_}.")
            called.add(id_)
            waiting.add(id_)
        elif item.get("type") == "function_call_output":
            if id_ not in waiting:
                return Refusal(f"No tool call found for function call output with call_id {id_}.")
            waiting.discard(id_)
    if waiting:
        return Refusal(f"No tool output found for function call {min(waiting)}.")
    return None


def _wrong_reasoning(body: Json, key: str) -> Refusal | None:
    items = _items(body)
    thought: set[str] = set()
    for item, following in zip(items, [*items[1:], {}], strict=True):
        id_ = str(item.get("id") or "")
        if item.get("type") != "reasoning":
            if (own := _OWN_ID.fullmatch(id_)) and own[1] not in thought:
                return Refusal(f"Item '{id_}' was provided without its required 'reasoning' item: 'rs_{own[1]}'.")
            continue
        token = id_.removeprefix("rs_")
        if not item.get("encrypted_content"):
            lost = f"Item with id '{id_}' not found. Items are not persisted when `store` is set to false."
            return Refusal(lost, status=404)
        if not hmac.compare_digest(str(item["encrypted_content"]).encode(), sealed(token, key).encode()):
            unread = f"The encrypted content for item {id_} could not be verified."
            return Refusal(unread, code="invalid_encrypted_content")
        if following.get("type") != "function_call" and following.get("role") != "assistant":
            return Refusal(f"Item '{id_}' of type 'reasoning' was provided without its required following item.")
        thought.add(token)
    return None


def _asks_for_reasoning(body: Json) -> bool:
    return ENCRYPTED in _strings(body.get("include")) or isinstance(body.get("reasoning"), dict)


def _items(body: Json) -> list[Json]:
    if isinstance(body.get("input"), str):
        return [{"role": "user", "content": body["input"]}]
    return _objects(body.get("input"))


def _objects(value: object) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
