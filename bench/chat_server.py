"""The server of the loop bench: Chat Completions on loopback, the same turn for every client.

    python -m bench.chat_server        prints its port, then serves until its standard input ends

The request's model says what is played: `a-300` is one answer of 300 pieces, `b-300` a support turn of two calls
together, one call, and an answer of 300 pieces. Which round it is follows from the tool results in the request, so
nothing is kept between requests but the times at which they arrived. Every event is made once and written by itself,
since a client's work depends on how the bytes are cut. Times are CLOCK_MONOTONIC, shared with the client's process.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiohttp import web

from bench.children import serve
from bench.timing import paced

CHAT = "bench.chat_server"


@dataclass(slots=True)
class Play:
    """How the turns are played just now, and what was seen of them."""

    piece_seconds: float = 0.0
    """Between two events of a stream."""
    first_seconds: float = 0.0
    """From a request to the first event."""
    arrivals: list[dict[str, Any]] = field(default_factory=list)
    """Each request: `time`, and how many `results` of tools it brought."""


PLAY = web.AppKey("play", Play)


def pieces(count: int) -> list[str]:
    """The answer of so many pieces that a client must end up with."""
    return [f" word{number % 97}" for number in range(count)]


def build_app() -> web.Application:
    """The server's routes."""
    app = web.Application()
    app[PLAY] = Play()
    app.add_routes([web.post("/v1/chat/completions", _answer), web.post("/play", _play)])
    return app


async def _answer(request: web.Request) -> web.StreamResponse:
    arrived = time.monotonic()
    play = request.app[PLAY]
    body = json.loads(await request.read())
    results = sum(message["role"] == "tool" for message in body["messages"])
    play.arrivals.append({"time": arrived, "results": results})
    scene, count = body["model"].split("-")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    events = _events(results if scene == "b" else 3, int(count))
    async for event in paced(events, play.piece_seconds, first=play.first_seconds):
        await response.write(event)
    await response.write_eof()
    return response


async def _play(request: web.Request) -> web.Response:
    """What was seen since the last time somebody asked; the pace of the query holds from here on."""
    play = request.app[PLAY]
    seen = {"arrivals": play.arrivals, "cpu": time.process_time()}
    pace = {name: float(value) for name, value in request.query.items()}
    play.arrivals = []
    play.piece_seconds = pace.get("piece_seconds", play.piece_seconds)
    play.first_seconds = pace.get("first_seconds", play.first_seconds)
    return web.json_response(seen)


@cache
def _events(results: int, count: int) -> list[bytes]:
    match results:
        case 0:
            round_ = _asking(("lookup_order", "order_id", "ORD-12345"), ("check_shipping", "tracking_number", "1Z999"))
        case 2:
            round_ = _asking(("lookup_order", "order_id", "ORD-67890"))
        case _:
            said = [_chunk({"content": piece}) for piece in pieces(count)]
            round_ = [_chunk({"role": "assistant", "content": ""}), *said, _chunk({}, "stop")]
    return [*round_, _usage(), b"data: [DONE]\n\n"]


def _asking(*calls: tuple[str, str, str]) -> list[bytes]:
    """Calls whose arguments come in four pieces each, as providers send them."""
    events = [_chunk({"role": "assistant", "content": None})]
    for index, (name, argument, value) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        head = {"index": index, "id": f"call_{name}_{value}", "type": "function", "function": function}
        events.append(_chunk({"tool_calls": [head]}))
        arguments = json.dumps({argument: value})
        step = -(-len(arguments) // 4)
        for start in range(0, len(arguments), step):
            part = {"index": index, "function": {"arguments": arguments[start : start + step]}}
            events.append(_chunk({"tool_calls": [part]}))
    return [*events, _chunk({}, "tool_calls")]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event([choice])


def _usage() -> bytes:
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 300,
        "total_tokens": 420,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    return _event([], usage=usage)


def _event(choices: list[Any], **more: Any) -> bytes:
    head = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1700000000, "model": "bench"}
    return b"data: " + json.dumps({**head, "choices": choices, **more}, separators=(",", ":")).encode() + b"\n\n"


if __name__ == "__main__":
    asyncio.run(serve(build_app()))
