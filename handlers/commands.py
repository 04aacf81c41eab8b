"""/kb refresh | status | search <text>: for staff, and only they see the answer."""

from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp

from handlers.desk import Desk

STARTED = "Refreshing the knowledge base; the present one goes on answering meanwhile …"
USAGE = "Usage: `/kb refresh`, `/kb status`, `/kb search <text>`"


def register(app: AsyncApp, desk: Desk) -> None:
    """The knowledge base's command."""

    @app.command("/kb")
    async def kb(ack: Callable[..., Awaitable[None]], body: dict[str, Any]) -> None:
        await ack()
        if not await desk.staff.includes(body["user_id"]):
            await _answer(desk, body, await desk.words(body["user_id"], "not_staff"))
            return
        verb, _, rest = body.get("text", "").strip().partition(" ")
        match verb.lower():
            case "status":
                await _answer(desk, body, await desk.library.status())
            case "search" if rest.strip():
                await _answer(desk, body, await desk.library.search(rest.strip()))
            case "refresh":
                await _answer(desk, body, STARTED)
                desk.start(_refresh(desk, body, force="--force" in rest.split()))
            case _:
                await _answer(desk, body, USAGE)


async def _refresh(desk: Desk, body: dict[str, Any], *, force: bool) -> None:
    await _answer(desk, body, await desk.library.refresh(force=force))


async def _answer(desk: Desk, body: dict[str, Any], text: str) -> None:
    if not await desk.slack.respond(body["response_url"], text=text):
        await desk.slack.whisper(body["channel_id"], body["user_id"], text=text)
