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
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.response import BoltResponse

from bot.conversation import ThreadRef
from bot.desk.intents import says_stop
from bot.desk.policy import asks_for_person
from bot.errors import StoreUnavailable
from bot.slack.client import Identity
from bot.store.inbox import Arrival
from bot.turns.message_body import RAW_LIMIT, addressed_to, said
from handlers.desk import Desk
from handlers.payloads import (
    SPOKEN,
    Callback,
    EarlierMessage,
    MessageChangedCallback,
    MessagePosted,
    MessagePostedCallback,
    Said,
    SessionStoppedCallback,
    kind_of,
)

logger = logging.getLogger(__name__)


class StoreFirst(AsyncMiddleware):
    """Bolt awaits it before it acknowledges, and with 503 it does not.

    No listener is asked for messages: that would cost as much again, and keep those waiting who come next.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002
    ) -> BoltResponse:
        arrival = read_event(req.body, self._desk.me, team_channels=self._desk.staff.channels)
        if arrival is not None:
            try:
                await self._desk.inbox.accept(arrival)
            except StoreUnavailable as error:
                left = {"event": arrival.event_id, "reason": str(error)}
                logger.warning("an event is not acknowledged", extra=left)
                return BoltResponse(status=503)
        elif kind_of(req.body) not in ("message", "message_changed"):
            return await next()
        return BoltResponse(status=200)


def register(app: AsyncApp, desk: Desk) -> None:
    """Store what people write before anything else sees it."""
    app.use(StoreFirst(desk))


def register_rest(app: AsyncApp) -> None:
    """Acknowledge every event; what mattered has been stored by the middleware."""

    @app.event(re.compile(".*"))
    async def acknowledge() -> None:
        return


def read_event(body: Mapping[str, Any], me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """The arrival in a payload that was parsed, or None when it is nothing to us."""
    match kind_of(body):
        case "message":
            posted = cast(MessagePostedCallback, body)
            return _read_message(posted, me, team_channels=team_channels) if _is_ours(posted, me) else None
        case "message_changed":
            changed = cast(MessageChangedCallback, body)
            if not _is_ours(changed, me):
                return None
            if changed["event"]["subtype"] == "message_changed":
                return _read_edit(changed, me, team_channels=team_channels)
            gone: EarlierMessage = {**(changed["event"].get("previous_message") or {})}
            gone["ts"] = changed["event"].get("deleted_ts")
            return _read_delete(changed, gone, me, team_channels=team_channels)
        case "agent_session_stopped":
            stopped = cast(SessionStoppedCallback, body)
            return _read_stop(stopped, me) if _is_ours(stopped, me) else None
    return None


def _is_ours(body: Callback, me: Identity) -> bool:
    """Whether the event is of the workspace in which the app is installed."""
    return me.team in {body.get("team_id"), *(each.get("team_id") for each in body.get("authorizations") or ())}


def _read_message(body: MessagePostedCallback, me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """What somebody says in a payload that is of our workspace, or None when nobody speaks to us."""
    event = body["event"]
    author = _author(event, me)
    if author is None:
        return None
    channel, ts = event["channel"], event["ts"]
    is_staff = channel in team_channels
    if is_staff and not event.get("thread_ts"):
        return None
    words = said(event, me)
    mentioned = event["type"] == "app_mention" or _mentions(event, me)
    is_direct = channel.startswith("D")
    whom = {} if is_staff or is_direct else addressed_to(event, me, mentions_us=mentioned)
    return Arrival(
        event_id=body["event_id"],
        kind="staff" if is_staff else "message",
        thread=ThreadRef(me.team, channel, event.get("thread_ts") or ts),
        ts=ts,
        author=author,
        author_team=_team(event, me),
        body=words | whom,
        addressed=is_staff or mentioned or is_direct,
        stops=not is_staff and not words["files"] and says_stop(words["text"]),
        calls=not is_staff and asks_for_person(words["text"]),
    )


def _read_edit(body: MessageChangedCallback, me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """What somebody changed about their words; Slack's own changes bear no `edited`, or none of now. Nor do those of
    somebody who deletes one of the files."""
    event = body["event"]
    now, before = event.get("message") or EarlierMessage(), event.get("previous_message") or EarlierMessage()
    if now.get("subtype") == "tombstone":
        # A root that has replies is not taken away, but changed into this.
        return _read_delete(body, {**before, "ts": before.get("ts") or now.get("ts")}, me, team_channels=team_channels)
    at = event.get("event_ts") if _deleted_files(now) - _deleted_files(before) else (now.get("edited") or {}).get("ts")
    channel, ts, author = event["channel"], now.get("ts"), _author(now, me)
    is_staff = channel in team_channels
    if not (author and ts and at) or (is_staff and not now.get("thread_ts")):
        return None
    words = said(now, me)
    speaks_anew = not is_staff and _mentions(now, me) and not _mentions(before, me)
    if before and said(before, me) == words and not speaks_anew:
        return None
    is_direct = channel.startswith("D")
    whom = {} if is_staff or is_direct else addressed_to(now, me, mentions_us=_mentions(now, me))
    return Arrival(
        event_id=body["event_id"],
        kind="edit",
        thread=ThreadRef(me.team, channel, now.get("thread_ts") or ts),
        ts=at,
        author=author,
        author_team=_team(now, me),
        body={**words, **whom, "of": ts, "is_staff": is_staff, "speaks_anew": speaks_anew},
        addressed=is_staff or _mentions(now, me) or is_direct,
    )


def _read_delete(
    body: MessageChangedCallback, gone: EarlierMessage, me: Identity, *, team_channels: Collection[str]
) -> Arrival | None:
    """That somebody's message is gone; nothing of what it said is kept.

    Slack may leave out whose it was and in which thread: then the author is empty, and the stored message decides.
    """
    event = body["event"]
    channel, ts, author = event["channel"], gone.get("ts"), _author(gone, me)
    is_staff = channel in team_channels
    at = event.get("event_ts") or event.get("ts")
    is_unnamed = not (gone.get("user") or gone.get("bot_id")) and gone.get("subtype") in SPOKEN
    if not ((is_unnamed or author) and ts and at):
        return None
    if is_staff and not (is_unnamed or gone.get("thread_ts")):
        return None
    return Arrival(
        event_id=body["event_id"],
        kind="delete",
        thread=ThreadRef(me.team, channel, gone.get("thread_ts") or ts),
        ts=at,
        author=author or "",
        author_team=_team(gone, me),
        body={"text": "", "of": ts, "is_staff": is_staff},
        addressed=not is_unnamed and (is_staff or _mentions(gone, me) or channel.startswith("D")),
    )


def _read_stop(body: SessionStoppedCallback, me: Identity) -> Arrival | None:
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


def _author(message: Said | MessagePosted, me: Identity) -> str | None:
    """The person who wrote it; None for apps, Slack itself, and what nobody wrote."""
    author = message.get("user")
    if message.get("subtype") not in SPOKEN or message.get("bot_id") or author in (me.user, "USLACKBOT"):
        return None
    return author or None


def _mentions(message: Said | MessagePosted, me: Identity) -> bool:
    return f"<@{me.user}" in (message.get("text") or "")[:RAW_LIMIT]


def _team(message: Said | MessagePosted, me: Identity) -> str:
    """The author's own workspace."""
    return message.get("user_team") or message.get("team") or me.team


def _deleted_files(message: Said) -> set[str]:
    """The files of which a message has but the place where they were."""
    return {str(file.get("id")) for file in message.get("files") or () if file.get("mode") == "tombstone"}
