"""What the running product talks to in its benches: a Slack that takes everything, a model with a pace, and a shop.

    python -m bench.outside            prints its port, then serves until its standard input ends

Slack's calls are answered at once and in Slack's shapes, and nothing is refused: what is measured is the product.
The model writes the same answer to everybody, sentence by sentence. When what happened is kept by the message's own
question: a thread of Slack's, a marked word of the model's request. Times are CLOCK_MONOTONIC, which all processes
share. A stage can have a shop, too: then the model looks an order up before it answers.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

import orjson
from aiohttp import web

from bench.children import serve
from bench.timing import paced

OUTSIDE = "bench.outside"
TEAM, APP, BOT, AGENTS = "T0BENCH", "A0BENCH", "U0BENCHBOT", "C0BENCHDESK"
STAFF = ("U0STAFF", *(f"U0STAFF{number:02}" for number in range(50)))
"""Who is in the desk's channel."""
FIRST = "Unworn items can be sent back within 30 days of delivery."
"""The answer's first sentence; only a whole sentence is shown."""
NEXT = " The label is in the parcel, and the refund follows when the parcel has arrived."
_CLAIM = re.compile(r"case\.claim\W.*?\bvalue\W+(FD-\d+)")
"""The button on the card of a case that waits."""
_OFFER = re.compile(r"\bact_[a-z0-9]+/\d+")
MARK = re.compile(rb"\bq\d{6}\b")
"""What tells one question from another, in the text and in the request to the model."""


@dataclass(slots=True)
class Seen:
    """What happened to one question."""

    begun: float = 0.0
    """When Slack was first asked who wrote it,"""
    asked: float = 0.0
    """when the model was asked first,"""
    spoken: float = 0.0
    """and when the first sentence of its last reply had left."""
    started: float = 0.0
    """When Slack was first told any of the answer's words, by a stream or a post,"""
    streamed: bool = False
    """and whether that was a stream."""
    ended: float = 0.0
    """When the answer's last message was complete."""
    offer: str = ""
    """The value of the button that says yes to a change,"""
    offer_ts: str = ""
    """and the message that it is in."""
    posts: list[float] = field(default_factory=list)
    """When messages came that are no stream and ask for no yes."""


@dataclass(slots=True)
class Stage:
    """How the model plays, and what was seen."""

    first_seconds: float = 0.0
    """From a request to the first word."""
    seconds: float = 0.0
    """What the whole answer takes after that."""
    sentences: int = 1
    looks_up: bool = False
    """Whether the model first asks for an order."""
    prepares: bool = False
    """Whether the model first prepares its cancellation."""
    seen: dict[str, Seen] = field(default_factory=dict)
    """By the mark of the question."""
    threads: dict[str, str] = field(default_factory=dict)
    """ts -> mark, of messages and of the streams that answer them."""
    desk: list[dict[str, Any]] = field(default_factory=list)
    """Posts and edits in the desk's channel, pins, and Home tabs: `method`, `at`, and `ts`, `case` or `user`."""
    calls: Counter[str] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def of(self, mark: str) -> Seen:
        return self.seen.setdefault(mark, Seen())


STAGE = web.AppKey("stage", Stage)


def build_app() -> web.Application:
    """The server's routes."""
    app = web.Application(client_max_size=1 << 24)
    app[STAGE] = Stage()
    app.router.add_route("*", "/api/{method}", _slack)
    app.router.add_get("/shop/customers", _customers)
    app.router.add_get("/shop/orders/{order}", _order)
    app.router.add_post("/v1/chat/completions", _answer)
    app.router.add_post("/stage", _play)
    app.router.add_get("/seen", _look)
    app.router.add_get("/desk", _look_at_desk)
    return app


async def _play(request: web.Request) -> web.Response:
    """Begin anew: `first_seconds`, `seconds`, `sentences`, `looks_up`, `prepares`, and `threads`, the ts of each
    question by its mark.
    """
    stage, given = request.app[STAGE], orjson.loads(await request.read())
    stage.first_seconds, stage.seconds, stage.sentences = given["first_seconds"], given["seconds"], given["sentences"]
    stage.looks_up, stage.prepares = given["looks_up"], given["prepares"]
    stage.threads = {ts: mark for mark, ts in given["threads"].items()}
    stage.seen, stage.calls = {}, Counter()
    return web.json_response({"ok": True})


async def _look_at_desk(request: web.Request) -> web.Response:
    return web.json_response({"desk": request.app[STAGE].desk})


async def _look(request: web.Request) -> web.Response:
    stage = request.app[STAGE]
    seen = {mark: asdict(each) for mark, each in stage.seen.items()}
    return web.json_response({"seen": seen, "calls": stage.calls})


async def _slack(request: web.Request) -> web.Response:
    method, stage = request.match_info["method"], request.app[STAGE]
    if request.content_type == "application/json":
        given = orjson.loads(await request.read() or b"{}")
    else:
        given = {**request.query, **await request.post()}
    stage.calls[method] += 1
    result = _result(stage, method, given)
    if given.get("channel") == AGENTS or method == "views.publish":
        stage.desk.append(_at_desk(method, given, result))
    return web.json_response({"ok": True, **result}, dumps=_dumps)


def _at_desk(method: str, given: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """What was done at the desk."""
    case = _CLAIM.search(str(given.get("blocks"))) if method == "chat.postMessage" else None
    return {
        "method": method,
        "at": time.monotonic(),
        "ts": result.get("ts") or given.get("ts") or given.get("timestamp") or "",
        "thread": given.get("thread_ts") or "",
        "case": case[1] if case else "",
        "user": given.get("user_id", ""),
    }


def _result(stage: Stage, method: str, given: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "auth.test":
            return {
                "url": "https://bench.slack.com/",
                "team": "Bench",
                "team_id": TEAM,
                "user_id": BOT,
                "bot_id": "B0BENCH",
            }
        case "conversations.info":
            return {"channel": {"id": given["channel"], "name": "desk", "is_member": True, "is_private": True}}
        case "conversations.members":
            return {"members": STAFF}
        case "conversations.open":
            return {"channel": {"id": f"D{given['users'][1:]}"}}
        case "users.info":
            seen = stage.of(_mark_of(given["user"]))
            seen.begun = seen.begun or time.monotonic()
            return {"user": _user(given["user"])}
        case "chat.getPermalink":
            return {"permalink": f"https://bench.slack.com/archives/{given['channel']}/p{given['message_ts']}"}
        case "conversations.replies" | "conversations.history":
            return {"messages": []}
        case "chat.postMessage" | "chat.startStream":
            return {"ts": _said(stage, given, is_stream=method == "chat.startStream")}
        case "chat.stopStream":
            if mark := stage.threads.get(given["ts"]):
                stage.of(mark).ended = time.monotonic()
    return {}


def _said(stage: Stage, given: dict[str, Any], *, is_stream: bool) -> str:
    """The ts of a new message of the app's."""
    number = next(stage.numbers)
    ts = f"{int(time.time())}.{number:06d}"
    mark = stage.threads.get(given.get("thread_ts", ""))
    if mark is None:
        return ts
    stage.threads[ts] = mark
    seen = stage.of(mark)
    if not seen.started:
        seen.started, seen.streamed = time.monotonic(), is_stream
    if offer := _OFFER.search(str(given.get("blocks"))):
        seen.offer, seen.offer_ts = offer[0], ts
    elif not is_stream:
        seen.ended = time.monotonic()
        seen.posts.append(seen.ended)
    return ts


def _user(user: str) -> dict[str, Any]:
    return {
        "id": user,
        "team_id": TEAM,
        "real_name": f"Customer {user[-4:]}",
        "locale": "en-US",
        "tz": "Europe/London",
        "profile": {"real_name": f"Customer {user[-4:]}", "email": f"{user.lower()}@example.com", "team": TEAM},
    }


async def _answer(request: web.Request) -> web.StreamResponse:
    arrived, stage = time.monotonic(), request.app[STAGE]
    body = await request.read()
    stage.calls["model"] += 1
    found = MARK.findall(body)
    seen = stage.of(found[-1].decode()) if found else Seen()
    seen.asked = seen.asked or arrived
    if not orjson.loads(body).get("stream"):
        return web.json_response(_whole(), dumps=_dumps)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    with suppress(ConnectionResetError):  # who asked may have been told to stop
        await response.prepare(request)
        is_first = found and b'"role":"tool"' not in body.replace(b" ", b"")
        if stage.prepares and is_first:
            await _call(response, found[-1].decode(), "prepare_cancel_order", reason="changed_mind")
        elif stage.looks_up and is_first:
            await _call(response, found[-1].decode(), "lookup_order")
        else:
            await _write(response, stage, seen)
    return response


async def _call(response: web.StreamResponse, mark: str, name: str, **more: str) -> None:
    """Call a tool with the order of the question."""
    arguments = orjson.dumps({"order_id": f"ORD-{mark[1:]}", **more}).decode()
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": f"call_{mark}", "type": "function", "function": function}
    asking = _event({"tool_calls": [call]})
    await response.write(asking + _event({}, "tool_calls") + _usage() + b"data: [DONE]\n\n")
    await response.write_eof()


async def _customers(request: web.Request) -> web.Response:
    stage, email = request.app[STAGE], request.query["email"]
    stage.calls["shop"] += 1
    customer = {"id": _customer_of(email.partition("@")[0][-6:]), "name": "Customer", "email": email}
    return web.json_response({"customers": [customer]}, dumps=_dumps)


async def _order(request: web.Request) -> web.Response:
    stage, order = request.app[STAGE], request.match_info["order"]
    stage.calls["shop"] += 1
    price = {"amount": 11900, "currency": "USD"}
    told = {
        "id": order,
        "customer_id": _customer_of(order[-6:]),
        "status": "shipped",
        "payment": "paid",
        "placed_at": "2026-11-15T09:24:00Z",
        "total": price,
        "lines": [{"title": "Ridgeline rain jacket", "quantity": 1, "unit_price": price}],
        "parcels": [{"tracking_number": "1Z999AA10123456784", "carrier": "UPS"}],
        "ships_to": "Portland, United States",
    }
    return web.json_response(told, dumps=_dumps)


def _customer_of(number: str) -> str:
    return f"cus_{number}"


def _mark_of(user: str) -> str:
    """The mark of the question that this person asks."""
    return f"q{user[-6:]}"


async def _write(response: web.StreamResponse, stage: Stage, seen: Seen) -> None:
    pause = stage.seconds / stage.sentences
    async for number in paced(range(stage.sentences), pause, first=stage.first_seconds):
        words = re.findall(r"\s*\S+", FIRST if number == 0 else NEXT)
        await response.write(b"".join(_event({"content": word}) for word in words))
        if number == 0:
            # The gate lets a sentence go when the next one begins.
            await response.write(_event({"content": " Just"}))
            seen.spoken = time.monotonic()
    await response.write(_event({}, "stop") + _usage() + b"data: [DONE]\n\n")
    await response.write_eof()


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data({**_HEAD, "choices": [choice]})


def _usage() -> bytes:
    return _data({**_HEAD, "choices": [], "usage": _COUNTED})


def _whole() -> dict[str, Any]:
    message = {"role": "assistant", "content": FIRST}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _COUNTED}


_HEAD = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 0, "model": "bench"}
_COUNTED = {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960}


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def _dumps(value: object) -> str:
    return orjson.dumps(value).decode()


if __name__ == "__main__":
    asyncio.run(serve(build_app()))
