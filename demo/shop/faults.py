"""How a shop misbehaves on demand.

With any request      slow (answers after `seconds`), error (500), hang (never answers), reset (the connection ends
                      without an answer), garbage (a page instead of JSON), foreign (records come back with somebody
                      else as their owner), huge (50 MB of JSON), bomb (a small body that unpacks to 50 MB), redirect
                      (to another host), stale (orders come back as they were before their last change), busy (429, and
                      asks to wait `seconds`)
With an action        act_then_silence, act_then_500 (the shop acts, and does not say so), half (only the first half of
                      the lines), other_amount (the answer names twice the money), changed (the order changes just
                      before), in_progress (answers 409 at once, and acts after `seconds`)
none                  ends all faults
"""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import web

from demo.shop.records import Json

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

OF_ACTIONS = frozenset({"act_then_silence", "act_then_500", "half", "other_amount", "changed", "in_progress"})
KINDS = OF_ACTIONS | {
    "slow",
    "error",
    "hang",
    "reset",
    "garbage",
    "foreign",
    "huge",
    "bomb",
    "redirect",
    "stale",
    "busy",
}
FAULT = web.RequestKey("fault", object)
"""The fault that the request's own handler is to make happen."""
_HUGE_BYTES = 50_000_000
_PIECE = b'{"orders": "' + b"x" * 99_988
_HANG_SECONDS = 3_600.0
_PAGE = "<!doctype html><title>Maintenance</title><h1>We will be back soon</h1>"


@dataclass(slots=True)
class Fault:
    """One way of misbehaving, for the next `times` requests whose path starts with `path`."""

    kind: str
    times: int = 1
    seconds: float = 3.0
    path: str = "/"
    begun: asyncio.Event = field(default_factory=asyncio.Event, init=False, compare=False, repr=False)
    """Set when it happens to a request."""

    def matches(self, path: str, *, is_action: bool) -> bool:
        """Whether it happens to this request."""
        if self.kind in OF_ACTIONS and not is_action:
            return False
        return path.startswith(self.path)


async def misbehave(
    fault: Fault, request: web.Request, handler: Handler, *, double: Callable[[Json], None] | None = None
) -> web.StreamResponse:
    """Answer the request as the fault says. `double` makes the money in an answer twice as much."""
    fault.begun.set()
    match fault.kind:
        case "slow":
            await request.read()
            await asyncio.sleep(fault.seconds)
            return await handler(request)
        case "hang":
            await asyncio.sleep(_HANG_SECONDS)
            return await handler(request)
        case "reset":
            return _hang_up(request)
        case "huge":
            return await _send_huge(request)
        case "bomb":
            headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
            return web.Response(body=gzip.compress(b" " * _HUGE_BYTES, compresslevel=1), headers=headers)
        case "redirect":
            return web.Response(status=302, headers={"Location": "http://192.0.2.1/orders"})
        case "error":
            return refusal(500, "internal", "Something broke.")
        case "busy":
            busy = refusal(429, "busy", "There are too many requests.")
            busy.headers["Retry-After"] = f"{fault.seconds:.0f}"
            return busy
        case "garbage":
            return web.Response(text=_PAGE, content_type="text/html")
        case "foreign":
            return _disowned(await handler(request))
        case "act_then_silence":
            await handler(request)
            await asyncio.sleep(_HANG_SECONDS)
            return _hang_up(request)
        case "act_then_500":
            await handler(request)
            return refusal(500, "internal", "Something broke.")
        case "other_amount":
            return _doubled(await handler(request), double or _double)
        case _:
            request[FAULT] = fault
            return await handler(request)


def refusal(status: int, code: str, message: str) -> web.Response:
    """The contract's error body."""
    return web.json_response({"error": {"code": code, "message": message}}, status=status)


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _send_huge(request: web.Request) -> web.StreamResponse:
    """As much of it as is taken; a client that has enough is no fault."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    with suppress(ConnectionError):
        for _ in range(_HUGE_BYTES // len(_PIECE)):
            await response.write(_PIECE)
    return response


def _disowned(response: web.StreamResponse) -> web.StreamResponse:
    """The same answer with somebody else as the owner of every record in it."""
    if not isinstance(response, web.Response) or response.text is None:
        return response
    return web.json_response(text=response.text.replace('"cus_', '"cus_other_'), status=response.status)


def _doubled(response: web.StreamResponse, double: Callable[[Json], None]) -> web.StreamResponse:
    """The same answer with twice the money."""
    if not isinstance(response, web.Response) or response.text is None:
        return response
    answer: Json = json.loads(response.text)
    double(answer)
    return web.json_response(answer, status=response.status)


def _double(answer: Json) -> None:
    if answer.get("money"):
        answer["money"]["amount"] *= 2
