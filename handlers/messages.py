"""What people write. A message is stored before Slack gets its acknowledgement. If that fails, Slack gets an error.

These are stored: direct messages to the app, messages that mention it, replies in threads that are conversations, and
replies in the team channels' threads. Card numbers and similar data are masked first. Edits and deletions of these
messages, and presses of Stop, are stored too. Everything else is ignored: edits that change no word, joins, unknown
subtypes, bots, and the app's own posts.

read_missed      find the arrival in a message of a conversation's history, for which no event came
read_event       find the arrival in an event
  _read_message  a message
  _read_edit     an edit, or a deletion that Slack sends as an edit
  _read_delete   a deletion
  _read_stop     a press of Stop
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
from bot.slack.api.transport import Identity
from bot.store.bodies import DeleteBody, EditBody, StopBody
from bot.store.inbox import MISSED, Arrival
from bot.turns.message_body import RAW_LIMIT, addressed_to, said
from handlers.desk import Desk
from handlers.payloads import (
    SPOKEN,
    Callback,
    EarlierMessage,
    Malformed,
    MessageChangedCallback,
    MessageFields,
    MessagePosted,
    MessagePostedCallback,
    SessionStoppedCallback,
    kind_of,
    parse,
)

logger = logging.getLogger(__name__)


class StoreFirst(AsyncMiddleware):
    """Stores messages before Bolt acknowledges them. If that fails, Slack gets a 503.

    Messages have no listeners: these would cost as much again, and delay the next events.
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
        if kind_of(req.body) == "message_changed" and self._desk.channels is not None:
            self._desk.channels.hear(cast(MessageChangedCallback, req.body)["event"]["channel"])
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
    """Acknowledge every event. The middleware has stored those that matter."""

    @app.event(re.compile(".*"))
    async def acknowledge() -> None:
        return


def read_missed(
    channel: str, message: Mapping[str, Any], me: Identity, *, team_channels: Collection[str]
) -> Arrival | None:
    """Return the arrival of a message that Slack's history has, or None if Frontdesk ignores it or cannot read it."""
    event = {**message, "type": "message", "channel": channel}
    event_id = f"{MISSED}{channel}/{message.get('ts')}"
    payload = {"type": "event_callback", "team_id": me.team, "event_id": event_id, "event": event}
    try:
        return read_event(parse(payload), me, team_channels=team_channels)
    except Malformed:
        return None


def read_event(body: Mapping[str, Any], me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """Return the arrival in a parsed payload, or None if Frontdesk ignores it."""
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
    """Whether the event comes from the workspace in which the app is installed."""
    return me.team in {body.get("team_id"), *(each.get("team_id") for each in body.get("authorizations") or ())}


def _read_message(body: MessagePostedCallback, me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """Return the arrival of a message in our workspace, or None if it is not for us."""
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
    if not (is_staff or is_direct):
        words = addressed_to(words, event, me, mentions_us=mentioned)
    return Arrival(
        event_id=body["event_id"],
        kind="staff" if is_staff else "message",
        thread=ThreadRef(me.team, channel, event.get("thread_ts") or ts),
        ts=ts,
        author=author,
        author_team=_team(event, me),
        body=words,
        addressed=is_staff or mentioned or is_direct,
        stops=not is_staff and not words.files and says_stop(words.text),
        calls=not is_staff and asks_for_person(words.text),
    )


def _read_edit(body: MessageChangedCallback, me: Identity, *, team_channels: Collection[str]) -> Arrival | None:
    """Return the arrival of an edit, or None if the person changed nothing.

    Slack's own changes have no `edited` mark, or an old one. Neither has the deletion of a file: the event's
    time counts there.
    """
    event = body["event"]
    now, before = event.get("message") or EarlierMessage(), event.get("previous_message") or EarlierMessage()
    if now.get("subtype") == "tombstone":
        # If a deleted message has replies, Slack does not remove it but changes it into a tombstone.
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
    if not (is_staff or is_direct):
        words = addressed_to(words, now, me, mentions_us=_mentions(now, me))
    return Arrival(
        event_id=body["event_id"],
        kind="edit",
        thread=ThreadRef(me.team, channel, now.get("thread_ts") or ts),
        ts=at,
        author=author,
        author_team=_team(now, me),
        body=EditBody(of=ts, is_staff=is_staff, speaks_anew=speaks_anew).reworded(words),
        addressed=is_staff or _mentions(now, me) or is_direct,
    )


def _read_delete(
    body: MessageChangedCallback, gone: EarlierMessage, me: Identity, *, team_channels: Collection[str]
) -> Arrival | None:
    """Return the arrival of a deletion, without the deleted words.

    Slack may leave out the author and the thread. Then the author is empty, and the stored message decides.
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
        body=DeleteBody(ts, is_staff),
        addressed=not is_unnamed and (is_staff or _mentions(gone, me) or channel.startswith("D")),
    )


def _read_stop(body: SessionStoppedCallback, me: Identity) -> Arrival | None:
    """Return the arrival of a press of Stop under an answer that is being written."""
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
        body=StopBody((streams,) if isinstance(streams, str) else tuple(streams[:20])),
        addressed=False,
    )


def _author(message: MessageFields | MessagePosted, me: Identity) -> str | None:
    """Return the person who wrote the message. None for apps, for Slack itself, and if there is no author."""
    author = message.get("user")
    if message.get("subtype") not in SPOKEN or message.get("bot_id") or author in (me.user, "USLACKBOT"):
        return None
    return author or None


def _mentions(message: MessageFields | MessagePosted, me: Identity) -> bool:
    return f"<@{me.user}" in (message.get("text") or "")[:RAW_LIMIT]


def _team(message: MessageFields | MessagePosted, me: Identity) -> str:
    """Return the author's own workspace."""
    return message.get("user_team") or message.get("team") or me.team


def _deleted_files(message: MessageFields) -> set[str]:
    """Return the ids of a message's files that are deleted, so that only a tombstone is left."""
    return {str(file.get("id")) for file in message.get("files") or () if file.get("mode") == "tombstone"}
