"""The stand-in over HTTP: Chat Completions, Responses, embeddings, models, and a script for tests.

    POST /v1/chat/completions   POST /v1/responses   POST /v1/embeddings   GET /v1/models
    POST /_local/script         queue exact replies: {"rounds": [{"text": …}, {"calls": [{"name", "arguments"}]}, …]}
    DELETE /_local/script       forget those that are still waiting
    GET /_local/requests        what was asked, in order, and by what it was answered

Every request carries the key as bearer token. Without a waiting script, demo/model/reply.py answers.
"""

import asyncio
import base64
import hmac
import itertools
import json
import re
import secrets
import struct
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from demo.model.conversation import Json, disordered, read_request
from demo.model.embeddings import embed
from demo.model.responses import Events, chat_form, refusal
from demo.model.roles import role_of
from demo.model.script import Round, Script, ScriptedCall, next_round, read_rounds
from demo.ports import listening

MODEL = "frontdesk-offline"
EMBEDDING_MODEL = "frontdesk-offline-embedding"
FINGERPRINT = "rules-no-language-model"
"""Sent as `system_fingerprint`, so that no trace takes the stand-in for a model."""

_BODY_LIMIT = 16 * 1024 * 1024
_DRIP_SECONDS = 0.5
_INPUTS_LIMIT = 2_048
_TOKEN = re.compile(r"\s*\S{1,12}|\s+")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a stream runs, in seconds."""

    first: float = 0.35
    """Until the first chunk."""
    chunk: float = 0.022
    """Between two chunks, a third more or less."""

    def pauses(self) -> Iterator[float]:
        """The pause before each chunk."""
        yield self.first
        yield from itertools.cycle(self.chunk * factor for factor in (0.7, 1.2, 0.9, 1.35, 0.8, 1.05))


@dataclass(slots=True)
class StandIn:
    """A running stand-in."""

    url: str
    """The address for `OPENAI_BASE_URL`, with `/v1`."""
    key: str
    pace: Pace
    script: Script = field(default_factory=Script)
    requests: deque[Json] = field(default_factory=lambda: deque(maxlen=500))
    """{"path", "body", "by": "rules" | "script" | "refusal", "role"}, in order; the role as in demo/model/roles.py."""

    @property
    def root(self) -> str:
        """The address without `/v1`, where `_local` is."""
        return self.url.removesuffix("/v1")


@asynccontextmanager
async def open_stand_in(
    *, host: str = "127.0.0.1", port: int = 0, key: str | None = None, pace: Pace | None = None
) -> AsyncIterator[StandIn]:
    """Serve a stand-in; port 0 takes a free one, no key makes one up."""
    stand_in = StandIn("", key or f"sk-offline-{secrets.token_urlsafe(18)}", pace or Pace())
    async with listening(_app(stand_in), host=host, port=port) as root:
        stand_in.url = f"{root}/v1"
        yield stand_in


def _app(stand_in: StandIn) -> web.Application:
    app = web.Application(middlewares=[_authorized(stand_in)], client_max_size=_BODY_LIMIT)
    app.add_routes(
        [
            web.post("/v1/chat/completions", _complete(stand_in)),
            web.post("/v1/responses", _respond(stand_in)),
            web.post("/v1/embeddings", _embed(stand_in)),
            web.get("/v1/models", _list_models),
            web.post("/_local/script", _add_script(stand_in)),
            web.delete("/_local/script", _clear_script(stand_in)),
            web.get("/_local/requests", _list_requests(stand_in)),
        ]
    )
    return app


def _authorized(stand_in: StandIn) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {stand_in.key}".encode()):
            return _refusal(401, "Incorrect API key provided.", code="invalid_api_key")
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return _refusal(404, f"Unknown request URL: {request.method} {request.path}.", code="unknown_url")
        except web.HTTPException as error:
            return _refusal(error.status, error.reason)

    return check


def _complete(stand_in: StandIn) -> _Handler:
    async def complete(request: web.Request) -> web.StreamResponse:
        body = await _json_object(request)
        if fault := _fault(body):
            stand_in.requests.append({"path": request.path, "body": body, "by": "refusal"})
            return _refusal(400, fault)
        round_ = _next_round(stand_in, request, body, chat=body)
        if early := await _before(request, round_):
            return early
        if body.get("stream") is True:
            return await _ChatStream(request, body, round_, stand_in.pace).send()
        return await _whole(request, body, round_)

    return complete


def _next_round(stand_in: StandIn, request: web.Request, body: Json, *, chat: Json) -> Round:
    """What is said to the request, which is noted; `chat` is its body in the form of Chat Completions."""
    talk = read_request(chat)
    round_, by = next_round(stand_in.script, talk)
    stand_in.requests.append({"path": request.path, "body": body, "by": by, "role": role_of(talk)})
    return round_


async def _before(request: web.Request, round_: Round) -> web.Response | None:
    """What happens to the request before its reply begins; None: nothing that would end it."""
    await asyncio.sleep(round_.wait)
    if round_.error is not None:
        return _scripted_error(round_.error)
    if round_.reset:
        _hang_up(request)
        return web.Response()
    return None


def _fault(body: Json) -> str:
    """Why the provider would not take this request; empty if it would."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "you must provide a model parameter"
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return "Invalid 'messages': expected an array with at least one message."
    return disordered(body)


async def _whole(request: web.Request, body: Json, round_: Round) -> web.StreamResponse:
    """The reply in one piece."""
    if round_.raw:
        return web.Response(text="\n".join(round_.raw), content_type="application/json")
    await asyncio.sleep(round_.stall)
    if round_.cut:
        _hang_up(request)
    calls = [_call(call) for call in round_.calls]
    pieces, finish = _limited(round_, body)
    message: Json = {"role": "assistant", "content": "".join(pieces) or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    answer = _head(body, "chat.completion") | {"choices": [choice], "usage": _usage(body, pieces, round_)}
    return web.json_response(answer)


class _Stream:
    """One streamed reply."""

    def __init__(self, request: web.Request, round_: Round, pace: Pace) -> None:
        self._request = request
        self._round = round_
        self._pauses = pace.pauses()
        self._response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})

    async def send(self) -> web.StreamResponse:
        """Send everything; a client that goes away is no fault."""
        await self._response.prepare(self._request)
        try:
            await self._keep_alive()
            if self._round.raw:
                lines = "".join(f"{line}\n" for line in self._round.raw)
                await self._response.write(lines.encode(errors="surrogateescape"))
            else:
                await self._send_chunks()
        except ConnectionError:
            return self._response
        if self._round.cut:
            _hang_up(self._request)
        return self._response

    async def _keep_alive(self) -> None:
        now = asyncio.get_running_loop().time
        end = now() + self._round.drip
        while now() < end:
            await self._response.write(b": keep-alive\n\n")
            await asyncio.sleep(_DRIP_SECONDS)

    async def _send_chunks(self) -> None:
        """The reply in the protocol's own pieces."""
        raise NotImplementedError


class _ChatStream(_Stream):
    """A reply of Chat Completions."""

    def __init__(self, request: web.Request, body: Json, round_: Round, pace: Pace) -> None:
        super().__init__(request, round_, pace)
        self._body = body
        self._head = _head(body, "chat.completion.chunk")

    async def _send_chunks(self) -> None:
        pieces, finish = _limited(self._round, self._body)
        await self._send({"role": "assistant", "content": "" if pieces or not self._round.calls else None})
        for piece in pieces:
            await self._send({"content": piece})
        await asyncio.sleep(self._round.stall)
        if self._round.cut:
            return
        for index, call in enumerate(map(_call, self._round.calls)):
            whole = call["function"]["arguments"]
            opened = call | {"index": index, "function": call["function"] | {"arguments": ""}}
            await self._send({"tool_calls": [opened]})
            for part in re.findall(r"(?s).{1,8}", whole):
                await self._send({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        await self._send({}, finish=finish)
        options = self._body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage"):
            await self._write(self._head | {"choices": [], "usage": _usage(self._body, pieces, self._round)})
        await self._response.write(b"data: [DONE]\n\n")

    async def _send(self, delta: Json, *, finish: str | None = None) -> None:
        await asyncio.sleep(next(self._pauses))
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        await self._write(self._head | {"choices": [choice]})

    async def _write(self, chunk: Json) -> None:
        await self._response.write(f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode())


def _respond(stand_in: StandIn) -> _Handler:
    async def respond(request: web.Request) -> web.StreamResponse:
        body = await _json_object(request)
        if refused := refusal(body, key=stand_in.key):
            stand_in.requests.append({"path": request.path, "body": body, "by": "refusal"})
            return _refusal(refused.status, refused.message, code=refused.code)
        chat = chat_form(body)
        round_ = _next_round(stand_in, request, body, chat=chat)
        if early := await _before(request, round_):
            return early
        pieces, finish = _limited(round_, chat)
        usage = _usage(chat, pieces, round_)
        events = Events(body, round_, pieces, finish=finish, usage=usage, key=stand_in.key)
        if body.get("stream") is True:
            return await _ResponseStream(request, round_, events, stand_in.pace).send()
        return await _whole_response(request, round_, events)

    return respond


async def _whole_response(request: web.Request, round_: Round, events: Events) -> web.StreamResponse:
    """The reply in one piece."""
    if round_.raw:
        return web.Response(text="\n".join(round_.raw), content_type="application/json")
    await asyncio.sleep(round_.stall)
    if round_.cut:
        _hang_up(request)
    for _ in itertools.chain(events.opening(), events.rest()):
        pass
    return web.json_response(events.response)


class _ResponseStream(_Stream):
    """A reply of the Responses API."""

    def __init__(self, request: web.Request, round_: Round, events: Events, pace: Pace) -> None:
        super().__init__(request, round_, pace)
        self._events = events

    async def _send_chunks(self) -> None:
        for event in self._events.opening():
            await self._write(event)
        await asyncio.sleep(self._round.stall)
        if self._round.cut:
            return
        for event in self._events.rest():
            await self._write(event)

    async def _write(self, event: Json) -> None:
        """The model takes its time for what it writes, not for the events around it."""
        if event["type"].endswith(".delta"):
            await asyncio.sleep(next(self._pauses))
        data = json.dumps(event, separators=(",", ":"))
        await self._response.write(f"event: {event['type']}\ndata: {data}\n\n".encode())


def _head(body: Json, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": body["model"],
        "system_fingerprint": FINGERPRINT,
    }


def _call(call: ScriptedCall) -> Json:
    id_ = call.id or f"call_{secrets.token_hex(12)}"
    return {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _limited(round_: Round, body: Json) -> tuple[list[str], str]:
    """The text in pieces of a token's size, as many as the request allows, and how the reply ends."""
    pieces = _TOKEN.findall(round_.text)
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    finish = round_.finish or ("tool_calls" if round_.calls else "stop")
    if isinstance(limit, int) and 0 < limit < len(pieces):
        return pieces[:limit], "length"
    return pieces, finish


def _usage(body: Json, pieces: Sequence[str], round_: Round) -> Json:
    """Tokens as a provider would count them, near enough: one for four characters."""
    asked = len(json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False, default=str)) // 4 + 1
    written = len(pieces) + sum(len(call.arguments) // 4 + 8 for call in round_.calls)
    return {
        "prompt_tokens": asked,
        "completion_tokens": written,
        "total_tokens": asked + written,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


def _scripted_error(error: Json) -> web.Response:
    status, body = int(error.get("status", 500)), error.get("body")
    headers = {str(name): str(value) for name, value in (error.get("headers") or {}).items()}
    if isinstance(body, str):
        return web.Response(status=status, text=body, headers=headers)
    default = {"error": {"message": "scripted", "type": "scripted", "param": None, "code": None}}
    return web.json_response(default if body is None else body, status=status, headers=headers)


def _embed(stand_in: StandIn) -> _Handler:
    async def embeddings(request: web.Request) -> web.StreamResponse:
        body = await _json_object(request)
        stand_in.requests.append({"path": request.path, "body": body, "by": "rules"})
        texts = _inputs(body.get("input"))
        if not texts or len(texts) > _INPUTS_LIMIT:
            return _refusal(400, f"'input' is a text, or up to {_INPUTS_LIMIT} of them.")
        packed = body.get("encoding_format") == "base64"
        vectors = [_packed(embed(text)) if packed else embed(text) for text in texts]
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        tokens = sum(len(text) for text in texts) // 4 + 1
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return web.json_response({"object": "list", "data": data, "model": body.get("model"), "usage": usage})

    return embeddings


def _inputs(value: object) -> list[str]:
    """The texts; token ids are taken as the words they are not."""
    match value:
        case str():
            return [value]
        case [int(), *_]:
            return [" ".join(map(str, value))]
        case list():
            return [text if isinstance(text, str) else json.dumps(text) for text in value]
        case _:
            return []


def _packed(vector: Sequence[float]) -> str:
    """As the OpenAI client asks for it: 32-bit floats, little-endian, in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


async def _list_models(_: web.Request) -> web.Response:
    models = [
        {"id": id_, "object": "model", "created": 1_760_000_000, "owned_by": FINGERPRINT}
        for id_ in (MODEL, EMBEDDING_MODEL)
    ]
    return web.json_response({"object": "list", "data": models})


def _add_script(stand_in: StandIn) -> _Handler:
    async def add(request: web.Request) -> web.StreamResponse:
        try:
            rounds = read_rounds(await request.json())
        except (ValueError, RecursionError) as error:
            return _refusal(400, str(error))
        stand_in.script.rounds.extend(rounds)
        return web.json_response({"ok": True, "waiting": len(stand_in.script.rounds)})

    return add


def _clear_script(stand_in: StandIn) -> _Handler:
    async def clear(_: web.Request) -> web.StreamResponse:
        stand_in.script.rounds.clear()
        return web.json_response({"ok": True, "waiting": 0})

    return clear


def _list_requests(stand_in: StandIn) -> _Handler:
    async def requests(_: web.Request) -> web.StreamResponse:
        return web.json_response({"requests": list(stand_in.requests)})

    return requests


async def _json_object(request: web.Request) -> Json:
    """The body; an empty object for anything that is none."""
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _refusal(status: int, message: str, *, code: str | None = None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return web.json_response({"error": error}, status=status)
