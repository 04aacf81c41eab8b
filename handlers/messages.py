"""What people write. A message is stored before Slack hears "ok"; when it cannot be, Slack hears an error.

Stored are direct messages to the app, messages that mention it, replies in threads that are conversations, and
replies in the team channels' threads; card numbers and the like are hidden first. Stored as well is what people do to
those afterwards: they edit or delete them, or press Stop. Everything else starts nothing: edits that change no word,
joins, unknown subtypes, bots, the app's own posts.

read_event     what of it an event is
  _read_message  something is said
  _read_edit     something said before is said otherwise, or taken back
  _read_delete   it is taken back
  _read_stop     its answer is not wanted any more
"""

import logging
import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.response import BoltResponse

from bot.alerts import Alerts
from bot.conversation import ThreadRef
from bot.desk.policy import asks_for_person
from bot.desk.second_thoughts import says_stop
from bot.errors import StoreUnavailable
from bot.slack.client import Identity
from bot.store.inbox import Arrival
from bot.turns.said import RAW_LIMIT, said
from handlers.desk import Desk

logger = logging.getLogger(__name__)

SPOKEN = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes that are somebody speaking."""


class StoreFirst(AsyncMiddleware):
    """Bolt awaits it before it acknowledges, and with 503 it does not.

    No listener is asked for messages: that would cost as much again, and keep those waiting who come next.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._alerts = Alerts()

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002
    ) -> BoltResponse:
        arrival = self._read(req.body)
        if arrival is not None:
            try:
                await self._desk.inbox.accept(arrival)
            except StoreUnavailable as error:
                left = {"event": arrival.event_id, "reason": str(error)}
                logger.warning("an event is not acknowledged", extra=left)
                return BoltResponse(status=503)
        elif not _is_message(req.body):
            return await next()
        return BoltResponse(status=200)

    def _read(self, body: dict[str, Any]) -> Arrival | None:
        try:
            return read_event(body, self._desk.me, team_channels=self._desk.staff.channels)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Unacknowledged it would come again, and be understood no better.
            event, fault = str(body.get("event_id")), type(error).__name__
            self._alerts.tell(
                logger, "an event in a form that is not known is left", about=fault, event=event, fault=fault
            )
            return None


def _is_message(body: dict[str, Any]) -> bool:
    event = body.get("event")
    return isinstance(event, dict) and event.get("type") in ("message", "app_mention")


def register(app: AsyncApp, desk: Desk) -> None:
    """Store what people write before anything else sees it."""
    app.use(StoreFirst(desk))


def register_rest(app: AsyncApp) -> None:
    """Acknowledge every event; what mattered has been stored by the middleware."""

    @app.event(re.compile(".*"))
    async def acknowledge() -> None:
        return


def read_event(body: dict[str, Any], me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """The arrival in an Events API payload, or None when it is nothing to us."""
    event = body.get("event") or {}
    teams = {body.get("team_id"), *(each.get("team_id") for each in body.get("authorizations") or ())}
    if body.get("type") != "event_callback" or me.team not in teams:
        return None
    match event.get("type"), event.get("subtype"):
        case "agent_session_stopped", _:
            return _read_stop(body, me)
        case "message", "message_changed":
            return _read_edit(body, me, team_channels=team_channels)
        case "message", "message_deleted":
            gone = event.get("previous_message") or {}
            return _read_delete(body, gone | {"ts": event.get("deleted_ts")}, me, team_channels=team_channels)
        case "message" | "app_mention", _:
            return _read_message(body, me, team_channels=team_channels)
    return None


def _read_message(body: dict[str, Any], me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """What somebody says in a payload that is of our workspace, or None when nobody speaks to us."""
    event = body["event"]
    if not _is_persons(event, me):
        return None
    channel, ts = event["channel"], event["ts"]
    is_staff = channel in team_channels
    if is_staff and not event.get("thread_ts"):
        return None
    words = said(event, me)
    mentioned = event["type"] == "app_mention" or _mentions(event, me)
    return Arrival(
        event_id=body["event_id"],
        kind="staff" if is_staff else "message",
        thread=ThreadRef(me.team, channel, event.get("thread_ts") or ts),
        ts=ts,
        author=event["user"],
        author_team=_team(event, me),
        body=words,
        addressed=is_staff or mentioned or channel.startswith("D"),
        stops=not is_staff and not words["files"] and says_stop(words["text"]),
        calls=not is_staff and asks_for_person(words["text"]),
    )


def _read_edit(body: dict[str, Any], me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """What somebody changed about their words; Slack's own changes bear no `edited`, or none of now. Nor do those of
    somebody who deletes one of the files."""
    event = body["event"]
    now, before = event.get("message") or {}, event.get("previous_message") or {}
    if now.get("subtype") == "tombstone":
        # A root that has replies is not taken away, but changed into this.
        return _read_delete(body, {"ts": now.get("ts"), **before}, me, team_channels=team_channels)
    at = event.get("event_ts") if _deleted_files(now) - _deleted_files(before) else (now.get("edited") or {}).get("ts")
    channel, ts = event.get("channel", ""), now.get("ts")
    is_staff = channel in team_channels
    if not (_is_persons(now, me) and ts and at) or (is_staff and not now.get("thread_ts")):
        return None
    words = said(now, me)
    speaks_anew = not is_staff and _mentions(now, me) and not _mentions(before, me)
    if before and said(before, me) == words and not speaks_anew:
        return None
    return Arrival(
        event_id=body["event_id"],
        kind="edit",
        thread=ThreadRef(me.team, channel, now.get("thread_ts") or ts),
        ts=at,
        author=now["user"],
        author_team=_team(now, me),
        body={**words, "of": ts, "is_staff": is_staff, "speaks_anew": speaks_anew},
        addressed=is_staff or _mentions(now, me) or channel.startswith("D"),
    )


def _read_delete(
    body: dict[str, Any], gone: dict[str, Any], me: Identity, *, team_channels: Collection[str]
) -> Arrival | None:
    """That somebody's message is gone; nothing of what it said is kept.

    Slack may leave out whose it was and in which thread: then the author is empty, and the stored message decides.
    """
    event = body["event"]
    channel, ts = event.get("channel", ""), gone.get("ts")
    is_staff = channel in team_channels
    at = event.get("event_ts") or event.get("ts")
    is_unnamed = not (gone.get("user") or gone.get("bot_id")) and gone.get("subtype") in SPOKEN
    if not ((is_unnamed or _is_persons(gone, me)) and ts and at):
        return None
    if is_staff and not (is_unnamed or gone.get("thread_ts")):
        return None
    return Arrival(
        event_id=body["event_id"],
        kind="delete",
        thread=ThreadRef(me.team, channel, gone.get("thread_ts") or ts),
        ts=at,
        author="" if is_unnamed else gone["user"],
        author_team=_team(gone, me),
        body={"text": "", "of": ts, "is_staff": is_staff},
        addressed=not is_unnamed and (is_staff or _mentions(gone, me) or channel.startswith("D")),
    )


def _read_stop(body: dict[str, Any], me: Identity) -> Arrival | None:
    """A press of Stop under an answer that is on its way."""
    event = body["event"]
    channel, thread_ts = event.get("channel") or event.get("channel_id"), event.get("thread_ts")
    user, at = event.get("user") or event.get("user_id"), event.get("event_ts")
    if not (channel and thread_ts and user and at):
        return None
    streams = event.get("streaming_message_ts") or []
    return Arrival(
        event_id=body["event_id"],
        kind="stop",
        thread=ThreadRef(me.team, channel, thread_ts),
        ts=at,
        author=user,
        author_team=event.get("user_team") or me.team,
        body={"text": "", "streams": [streams] if isinstance(streams, str) else list(streams)[:20]},
        addressed=False,
    )


def _is_persons(message: dict[str, Any], me: Identity) -> bool:
    author = message.get("user")
    return (
        message.get("subtype") in SPOKEN
        and not message.get("bot_id")
        and bool(author)
        and author not in (me.user, "USLACKBOT")
    )


def _mentions(message: dict[str, Any], me: Identity) -> bool:
    return f"<@{me.user}" in (message.get("text") or "")[:RAW_LIMIT]


def _team(message: dict[str, Any], me: Identity) -> str:
    """The author's own workspace."""
    return message.get("user_team") or message.get("team") or me.team


def _deleted_files(message: dict[str, Any]) -> set[str]:
    """The files of which a message has but the place where they were."""
    files = (file for file in message.get("files") or () if isinstance(file, dict))
    return {str(file.get("id")) for file in files if file.get("mode") == "tombstone"}
