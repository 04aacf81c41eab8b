"""A Web API on loopback that answers by a script and keeps what it was asked."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from demo.ports import listening


@dataclass(frozen=True)
class Answer:
    """One scripted answer."""

    body: str = '{"ok": true}'
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    drops: bool = False
    """The connection is reset instead of an answer."""
    hangs: bool = False
    """No answer comes while the client waits."""


def ok(**fields: Any) -> Answer:
    return Answer(json.dumps({"ok": True, **fields}))


def no(error: str, **fields: Any) -> Answer:
    return Answer(json.dumps({"ok": False, "error": error, **fields}))


def limited(retry_after: str | None) -> Answer:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Answer('{"ok": false, "error": "ratelimited"}', status=429, headers=headers)


class Api:
    """`will` scripts a method's next answers; the last one stays. A method without a script says ok."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.connections: set[object] = set()
        self._answers: dict[str, list[Answer]] = defaultdict(list)
        self.will(
            "auth.test", ok(team_id="T1", user_id="UBOT", bot_id="B1", url="https://example.slack.com/", team="Example")
        )

    def will(self, method: str, *answers: Answer) -> None:
        self._answers[method] = list(answers)

    def asked_for(self, method: str) -> list[dict[str, Any]]:
        """The arguments of a method's calls."""
        return [arguments for name, arguments in self.asked if name == method]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        text = await request.text()
        self.asked.append((method, json.loads(text) if text.startswith("{") else dict(request.query)))
        self.connections.add(request.transport)
        answers = self._answers[method]
        answer = (answers.pop(0) if len(answers) > 1 else answers[0]) if answers else Answer()
        if answer.drops:
            assert request.transport is not None
            request.transport.abort()
        if answer.hangs:
            await asyncio.Event().wait()
        return web.Response(
            text=answer.body, status=answer.status, headers=answer.headers, content_type=answer.content_type
        )


@asynccontextmanager
async def open_api() -> AsyncIterator[Api]:
    """The Web API on a free port."""
    api = Api()
    app = web.Application()
    app.router.add_route("*", "/api/{method}", api.answer)
    async with listening(app) as root:
        api.url = f"{root}/api/"
        yield api
