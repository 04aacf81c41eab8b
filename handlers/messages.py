"""What people write. A message is stored before Slack hears "ok"; when it cannot be, Slack hears an error.

Stored are direct messages to the app, messages that mention it, replies in threads that are conversations, and
replies in the agent channel's threads; card numbers and the like are hidden first. Everything else starts
nothing: edits, joins, unknown subtypes, bots, the app's own posts.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.agent.guardrails import clean, mask
from bot.conversation import ThreadRef
from bot.slack.client import Identity
from bot.slack.mrkdwn import from_slack
from bot.store.inbox import Arrival
from handlers.desk import Desk

SPOKEN = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes that are somebody speaking."""
RAW_LIMIT = 16_000
"""Characters of one message that are looked at, before Slack hears "ok"."""
TEXT_LIMIT = 12_000
"""Characters of one message that are kept."""


def register(app: AsyncApp, desk: Desk) -> None:
    """Store messages in a middleware: Bolt awaits it before it acknowledges, and answers 500 when it raises."""

    @app.use
    async def store_first(body: dict[str, Any], next: Callable[[], Awaitable[None]]) -> None:  # noqa: A002
        arrival = read_message(body, desk.me, agent_channel=desk.agent_channel)
        if arrival is not None:
            await desk.inbox.accept(arrival)
        await next()


def register_rest(app: AsyncApp) -> None:
    """Acknowledge every event; what mattered has been stored by the middleware."""

    @app.event(re.compile(".*"))
    async def acknowledge() -> None:
        return


def read_message(body: dict[str, Any], me: Identity, *, agent_channel: str) -> Arrival | None:
    """The arrival in an Events API payload, or None when nobody speaks to us."""
    event = body.get("event") or {}
    if body.get("type") != "event_callback" or event.get("type") not in ("message", "app_mention"):
        return None
    teams = {body.get("team_id"), *(each.get("team_id") for each in body.get("authorizations") or ())}
    if me.team not in teams:
        return None
    author = event.get("user")
    if event.get("subtype") not in SPOKEN or event.get("bot_id") or not author or author in (me.user, "USLACKBOT"):
        return None
    channel, ts = event["channel"], event["ts"]
    is_staff = channel == agent_channel
    if is_staff and not event.get("thread_ts"):
        return None
    raw = (event.get("text") or "")[:RAW_LIMIT]
    text = clean(from_slack(raw, bot_user=me.user), limit=TEXT_LIMIT)
    mentioned = event["type"] == "app_mention" or f"<@{me.user}" in raw
    return Arrival(
        event_id=body["event_id"],
        kind="staff" if is_staff else "message",
        thread=ThreadRef(me.team, channel, event.get("thread_ts") or ts),
        ts=ts,
        author=author,
        author_team=event.get("user_team") or event.get("team") or me.team,
        body={
            "text": mask(text),
            "masked": mask(text) != text,
            "files": [clean(str(file.get("name", "file")), limit=120) for file in event.get("files", ())][:10],
        },
        addressed=is_staff or mentioned or channel.startswith("D"),
    )
