"""The only door to Slack's Web API: typed calls that are paced, have a timeout and are never repeated blindly.

A call ends in one of three ways. It returns; or Slack says no (`SlackRefused`); or it is unknown whether it happened
(`SlackUnanswered`), and the caller looks before it calls again. Only rate limits are waited for and repeated here,
because Slack says that a limited call did nothing.

Neither exceptions nor log lines hold message text or tokens.
"""

import asyncio
import logging
import math
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.alerts import Alerts
from bot.clock import Clock, SystemClock
from bot.errors import FrontdeskError, Unreachable
from bot.slack.rate_limiter import MemoryBudget, RateLimiter, TooLong
from bot.slack.sessions import Change, SessionLedger, SessionStatus

logger = logging.getLogger(__name__)

Block = Mapping[str, Any]
"""One Block Kit block, as JSON."""
Ready = Callable[[], Awaitable[None]]
"""Awaited directly before a call leaves, each time it does. If it raises, the call ends and did nothing."""
Chunk = Mapping[str, Any]
"""One piece of a stream: `markdown_text`, `task_update`, `plan_update` or `blocks`."""

EVENT_TYPE = "frontdesk"
"""The metadata type that marks our posts, so that a post whose answer was lost can be found."""
CALL_SECONDS = 10.0
"""The timeout of one HTTP exchange."""
RATE_LIMIT_TIMEOUT = 60.0
"""How long a call can wait for rate limits, all waits together."""
START_RATE_LIMIT_TIMEOUT = 3.0
"""The rate limit timeout for the start of a stream. After that, posting the text whole is better than waiting."""
STOP_PATIENCE_SECONDS = 5.0
"""The rate limit timeout for the end of a stream. Only a 429 from Slack ever delays an end."""
USER_SECONDS = 300.0
"""How long a lookup of a person is cached."""
USERS_KEPT = 2_000
"""The number of people in the cache."""
UNSUPPORTED_SECONDS = 600.0
"""A feature that Slack refused is tried again after this time."""
REFUSED_TOKEN_RETRY_INTERVAL = 5.0
"""How often a token that Slack refused is tried again, just to see whether it works."""
RESPONSE_HOSTS = (".slack.com", ".slack-gov.com")
"""The endings of the hosts where interactions and commands are answered. Slack uses `hooks.` in front of them."""
PAGES = 20
"""The most pages that are read from a list."""
PAGE_LIMITS = {
    "conversations.history": 200,
    "conversations.members": 999,
    "conversations.replies": 200,
}
"""Items per page, by paged method. Slack recommends 200 (https://docs.slack.dev/apis/web-api/pagination). The members
of a large channel are fetched in the largest pages that are documented. A limit above that is `invalid_limit`."""

TRANSIENT = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
"""`ok: false` answers after which, by Slack's documentation, part of the operation may have succeeded."""
OVER = frozenset({"stopped_by_user", "message_not_in_streaming_state", "message_not_found"})
"""Refusals which say that a stream has ended without our stop."""
LIMITED = frozenset({"ratelimited", "rate_limited"})
NO_SESSIONS = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "unknown_method",
        "method_deprecated",
        "deprecated_endpoint",
        "missing_scope",
        "not_allowed_token_type",
        "not_agent_app",
        "team_access_not_granted",
    }
)
"""Refusals which say that the app is no agent, or that this workspace has no agents
(https://docs.slack.dev/reference/methods/agents.sessions.setStatus)."""
NOT_OURS = frozenset({"not_authorized", "no_permission", "access_denied"})
"""Refusals that concern sessions in one channel."""
CHANNEL_FAULTS = (
    "not_in_channel",
    "channel_not_found",
    "is_archived",
    "restricted_action",
    "access_denied",
    "org_login_required",
)
"""The beginnings of refusals that are about the channel and not about the post."""
GONE = frozenset({"is_archived"})
"""After these refusals, by any method, other calls for the channel fail too."""
GONE_FOR_POSTS = GONE | {"channel_not_found", "not_in_channel"}
"""The same for the method that posts. Other methods can answer this way when they don't support the kind of channel."""
PERSON_GONE = frozenset({"user_disabled", "user_not_found", "user_not_visible", "cannot_dm_bot"})
"""Refusals of a direct message which say that there is no one to open it with."""
DEAD_TOKEN = frozenset({"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"})
"""Refusals that are only about the token. Every call fails until an operator repairs it."""


class SlackRefused(FrontdeskError):
    """Slack answered no. The call did nothing, and the same call would be refused again.

    `error` is Slack's word, such as `channel_not_found`. `details` are Slack's sentences about what is wrong (with
    blocks, scopes). They can quote what was sent, so the exception's text leaves them out.
    """

    def __init__(self, method: str, error: str, details: Sequence[str] = ()) -> None:
        self.method = method
        self.error = error if re.fullmatch(r"[a-z0-9_.:]{1,80}", error) else "unknown_error"
        self.details = tuple(detail[:300] for detail in details[:20])
        super().__init__(f"{method}: {self.error}")


class SlackUnanswered(FrontdeskError):
    """Slack gave no usable answer: a timeout, a broken connection, a server error, a rate limit that is too long.

    `reason` is one stable word. If `sent` is False, the call certainly did nothing and can be made again. Otherwise
    it may have been applied. `retry_after` is the wait in seconds that a rate limit asks for, Slack's or our own.
    """

    def __init__(self, method: str, reason: str, *, sent: bool = True, retry_after: float = 0.0) -> None:
        self.method = method
        self.reason = reason
        self.sent = sent
        self.retry_after = retry_after
        super().__init__(f"{method}: {reason}")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the app is in the workspace of its token."""

    team: str
    user: str
    """The bot's user, `U…`."""
    bot_id: str
    """`B…`. Every message that the app posts has it."""
    url: str
    """The URL of the workspace."""
    team_name: str


@dataclass(frozen=True, slots=True)
class SlackUser:
    """What Slack says about a person."""

    id: str
    team: str
    """The person's own workspace. In Slack Connect it is not the app's."""
    name: str
    """The full name."""
    display_name: str
    """The name that Slack shows. It is the full name if the person chose no other."""
    email: str | None
    """None if Slack does not say, or says that it was never confirmed."""
    locale: str
    """Such as `en-US`. Empty if Slack does not say."""
    tz: str
    """Such as `Europe/Berlin`. Empty if Slack does not say."""
    is_guest: bool
    is_stranger: bool
    """Whether the person is from another workspace, by Slack's flag or by the workspace's id. The flag is not
    reliable."""
    is_bot: bool
    deleted: bool


@dataclass(frozen=True, slots=True)
class SlackChannel:
    """What Slack says about a conversation."""

    id: str
    name: str
    is_im: bool
    is_private: bool
    is_member: bool
    is_archived: bool


@dataclass(frozen=True, slots=True)
class SlackFile:
    """What Slack says about a file."""

    id: str
    name: str
    mimetype: str
    size: int
    mode: str
    """Such as `hosted`, or `tombstone` for a deleted file."""
    is_external: bool
    """Whether the file is stored outside Slack, which only has a link."""
    url: str
    """Where the file can be fetched with the app's token. Empty if it can't be fetched."""


@asynccontextmanager
async def open_slack_client(
    *, token: str, base_url: str | None, clock: Clock | None = None, rate_limiter: RateLimiter | None = None
) -> AsyncIterator["SlackClient"]:
    """A client with an HTTP session of its own. `base_url` ends in `/api/`; None is Slack itself.

    Without a rate limiter it keeps to Slack's limits as if it were the app's only process.
    """
    async with aiohttp.ClientSession() as session:
        url = base_url or AsyncWebClient.BASE_URL
        web = AsyncWebClient(token=token, base_url=url, session=session, retry_handlers=[])
        if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
            web.proxy = None  # the SDK takes one from the environment and ignores NO_PROXY
        clock = clock or SystemClock()
        yield SlackClient(web, clock=clock, rate_limiter=rate_limiter or RateLimiter(MemoryBudget(clock), clock))


class SlackClient:
    """Calls to Slack as the app. Methods raise `SlackRefused` and `SlackUnanswered` unless they say otherwise."""

    def __init__(self, web: AsyncWebClient, *, clock: Clock, rate_limiter: RateLimiter) -> None:
        self.web = web
        """The SDK's client, for Bolt."""
        self.unsupported = Unsupported(clock)
        """What this workspace recently refused as unsupported."""
        self.sessions = SessionLedger()
        """The last known state of the threads' agent sessions."""
        self._clock = clock
        self._rate_limiter = rate_limiter
        self._alerts = Alerts(now=clock.monotonic)
        self._token_fault: str | None = None
        self._token_asked = -math.inf
        self._users: OrderedDict[str, tuple[float, SlackUser]] = OrderedDict()
        self._identity: Identity | None = None

    async def auth(self) -> Identity:
        """Who the app is. Slack is asked once."""
        if self._identity is None:
            answer = await self._call("auth.test", self.web.auth_test)
            self._identity = Identity(
                team=_text(answer, "team_id"),
                user=_text(answer, "user_id"),
                bot_id=_text(answer, "bot_id"),
                url=_text(answer, "url"),
                team_name=_text(answer, "team"),
            )
        return self._identity

    @property
    def proxy(self) -> str | None:
        """The HTTP proxy to Slack. None: no proxy."""
        return self.web.proxy

    @property
    def http(self) -> aiohttp.ClientSession:
        """The session of every call, for Slack's addresses that are not methods."""
        session = self.web.session
        if session is None:
            raise RuntimeError("the client was built without a session")
        return session

    @property
    def token(self) -> str:
        """The app's token. It goes to Slack's own hosts and nowhere else."""
        return self.web.token or ""

    @property
    def base_url(self) -> str:
        """The URL of the Web API."""
        return self.web.base_url

    async def find_token_fault(self) -> str | None:
        """Why Slack refuses the app's token; None if it doesn't. While it does, Slack is asked again now and then."""
        now = self._clock.monotonic()
        if self._token_fault is not None and now - self._token_asked >= REFUSED_TOKEN_RETRY_INTERVAL:
            self._token_asked = now
            with suppress(SlackRefused, SlackUnanswered):
                await self._call("auth.test", self.web.auth_test, patience=0.0)
        return self._token_fault

    async def open_socket(self, app_token: str) -> str:
        """Get a Socket Mode address, which works once. Raises SlackRefused if the app token is not accepted."""
        request = partial(self.web.apps_connections_open, app_token=app_token)
        return _text(await self._call("apps.connections.open", request), "url")

    async def post(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        username: str | None = None,
        icon_emoji: str | None = None,
        reply_broadcast: bool | None = None,
        ready: Ready | None = None,
    ) -> str:
        """Post a message and return its ts. `text` is mrkdwn; with blocks, notifications show it.

        A reply with `reply_broadcast` is also shown in the channel. Links are never unfurled, and names are never
        linked.
        """
        answer = await self._call(
            "chat.postMessage",
            partial(
                self.web.chat_postMessage,
                channel=channel,
                text=text,
                blocks=_blocks(blocks),
                thread_ts=thread_ts,
                metadata=None if metadata is None else dict(metadata),
                username=username,
                icon_emoji=icon_emoji,
                reply_broadcast=reply_broadcast,
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=channel,
            ready=ready,
        )
        self.sessions.clear_line(channel, thread_ts)
        return _text(answer, "ts")

    async def update(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        at_once: bool = False,
        ready: Ready | None = None,
    ) -> None:
        """Replace a whole message. Without blocks it is only its text. `at_once`: don't wait for a rate limit."""
        await self._call(
            "chat.update",
            partial(self.web.chat_update, channel=channel, ts=ts, text=text, blocks=_blocks(blocks) or []),
            patience=0.0 if at_once else RATE_LIMIT_TIMEOUT,
            ready=ready,
        )

    async def delete(self, channel: str, ts: str, *, ready: Ready | None = None) -> None:
        """Delete one of the app's messages. It is no error if the message is already gone."""
        await self._call(
            "chat.delete",
            partial(self.web.chat_delete, channel=channel, ts=ts),
            done={"message_not_found"},
            ready=ready,
        )

    async def ephemeral(
        self,
        channel: str,
        user: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Show a message to one person only. Slack drops it if they are away."""
        await self._call(
            "chat.postEphemeral",
            partial(
                self.web.chat_postEphemeral,
                channel=channel,
                user=user,
                text=text,
                blocks=_blocks(blocks),
                thread_ts=thread_ts,
            ),
            ready=ready,
        )

    async def post_ephemeral(
        self,
        channel: str,
        user: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
    ) -> None:
        """Like `ephemeral`, for messages that can be lost without harm. It never raises."""
        try:
            await self.ephemeral(channel, user, text=text, blocks=blocks, thread_ts=thread_ts)
        except (SlackRefused, SlackUnanswered) as error:
            logger.warning(
                "a note to one person was not delivered",
                extra={"channel": channel, "user": user, "reason": str(error)},
            )

    async def respond(
        self, response_url: str, *, text: str, blocks: Sequence[Block] | None = None, replace: bool = False
    ) -> bool:
        """Answer an interaction or a command at its response URL, visible only to its author. False if Slack did not
        take it.

        A URL works five times within 30 minutes. Nothing is sent to a URL that is not Slack's.
        """
        if not self._is_slacks(response_url):
            if response_url:
                self._alerts.tell_once(logger, "an answer to a press was to go elsewhere than to Slack", about="")
            return False
        hook = AsyncWebhookClient(response_url, session=self.web.session, retry_handlers=[])
        hook.proxy = self.web.proxy
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await hook.send(
                    text=text,
                    blocks=_blocks(blocks),
                    response_type="ephemeral",
                    replace_original=replace,
                    unfurl_links=False,
                    unfurl_media=False,
                )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            logger.warning("an answer to a press was not delivered", extra={"reason": type(error).__name__})
            return False
        if answer.status_code != 200:
            logger.warning("an answer to a press was refused", extra={"status": answer.status_code})
        return answer.status_code == 200

    def _is_slacks(self, address: str) -> bool:
        """Whether a response URL is Slack's own, or belongs to the server that replaces Slack in tests."""
        try:
            parts, base = urlsplit(address), urlsplit(self.base_url)
            origin = (parts.scheme, parts.hostname, parts.port)
        except ValueError:
            return False
        if origin == (base.scheme, base.hostname, base.port):
            return True
        is_plain = parts.port is None and not (parts.username or parts.password)
        return parts.scheme == "https" and is_plain and (parts.hostname or "").endswith(RESPONSE_HOSTS)

    async def start_stream(
        self,
        channel: str,
        thread_ts: str,
        *,
        user: str,
        team: str,
        chunks: Sequence[Chunk] = (),
        ready: Ready | None = None,
    ) -> str:
        """Open a streamed message for a person and return its ts. `team` is the person's own workspace.

        It is not opened if there is no slot to pay for its end.
        """
        try:
            slot = await self._rate_limiter.open_slot(self._team, patience=START_RATE_LIMIT_TIMEOUT)
        except TooLong as late:
            raise SlackUnanswered("chat.startStream", "ratelimited", sent=False, retry_after=late.seconds) from None
        try:
            with self.sessions.change(channel, thread_ts, "processing") as change:
                answer = await self._change_session(
                    "chat.startStream",
                    partial(
                        self.web.chat_startStream,
                        channel=channel,
                        thread_ts=thread_ts,
                        recipient_user_id=user,
                        recipient_team_id=team,
                        chunks=_chunks(chunks),
                    ),
                    change=change,
                    patience=START_RATE_LIMIT_TIMEOUT,
                    ready=ready,
                )
        except BaseException:
            await self._rate_limiter.close_slot(slot)
            raise
        ts = _text(answer, "ts")
        self.sessions.begin_stream(channel, ts, thread_ts)
        self._rate_limiter.assign_slot(slot, (channel, ts))
        return ts

    async def append_stream(
        self, channel: str, ts: str, chunks: Sequence[Chunk], *, ready: Ready | None = None
    ) -> None:
        """Add to a streamed message. It does not wait for a rate limit, because the words can go with later ones."""
        try:
            await self._call(
                "chat.appendStream",
                partial(self.web.chat_appendStream, channel=channel, ts=ts, chunks=_chunks(chunks)),
                patience=0.0,
                ready=ready,
            )
        except SlackRefused as refusal:
            if refusal.error in OVER:
                self.sessions.end_stream(channel, ts)
                if (slot := self._rate_limiter.pop_slot((channel, ts))) is not None:
                    await self._rate_limiter.close_slot(slot)
            raise

    def append_interval(self) -> float:
        """Seconds between two appends of one stream that leave all other streams their share."""
        return self._rate_limiter.append_interval(self._team)

    async def stop_stream(
        self,
        channel: str,
        ts: str,
        *,
        chunks: Sequence[Chunk] = (),
        blocks: Sequence[Block] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Finish a streamed message, with the blocks below its text. The thread's session is then `active`, or stays
        `suspended` if a person was called while the message was streamed.

        A stream that another process began has no slot here. It takes one if one is free. Otherwise it needs none,
        because the slot that its start took is still reserved for it.
        """
        slot = self._rate_limiter.pop_slot((channel, ts))
        if slot is None:
            with suppress(TooLong):
                slot = await self._rate_limiter.open_slot(self._team, patience=0.0)
        thread_ts = self.sessions.thread_of(channel, ts) or ""
        status: SessionStatus = "suspended" if self.sessions.is_shown(channel, thread_ts, "suspended") else "active"
        try:
            with self.sessions.change(channel, thread_ts, status) as change:
                await self._change_session(
                    "chat.stopStream",
                    partial(
                        self.web.chat_stopStream,
                        channel=channel,
                        ts=ts,
                        chunks=_chunks(chunks),
                        blocks=_blocks(blocks),
                        metadata=None if metadata is None else dict(metadata),
                        session_status=None if status == "active" else status,  # Slack's default
                    ),
                    change=change,
                    patience=STOP_PATIENCE_SECONDS,
                    ready=ready,
                )
        except SlackUnanswered as failure:
            if slot is not None and not failure.sent:
                self._rate_limiter.assign_slot(slot, (channel, ts))  # the stream is still open
                slot = None
            raise
        else:
            self.sessions.end_stream(channel, ts)
        finally:
            if slot is not None:
                await self._rate_limiter.close_slot(slot)

    async def show_work(self, channel: str, thread_ts: str, *, text: str, title: str, initiator: str) -> None:
        """Show that the assistant works on the thread: its session is `processing`, and Slack offers to stop it.

        If Slack has no sessions, or takes no call for one now, the legacy status line shows `text`. `title` counts
        when the session begins. `initiator` is the customer in whose list of sessions it appears. Nothing happens if
        the thread already looks busy. All this is optional, so it only raises Unreachable, when the conversation is
        gone.
        """
        if self.sessions.is_shown(channel, thread_ts, "processing"):
            return
        try:
            if await self._set_session(channel, thread_ts, "processing", title=title, initiator=initiator):
                return
        except SlackUnanswered as failure:
            if failure.sent:
                logger.debug("no session status", extra={"reason": str(failure)})
                return
        try:
            with self.sessions.change(channel, thread_ts, "line") as change:
                await self._status(channel, thread_ts, text, change)
        except (SlackRefused, SlackUnanswered) as error:
            if isinstance(error, SlackRefused) and error.error in GONE:
                raise Unreachable(error.error) from None
            logger.debug("no status line", extra={"reason": str(error)})

    async def settle_session(
        self, channel: str, thread_ts: str, status: SessionStatus, *, patience: float = 0.0, clears_line: bool = False
    ) -> None:
        """Show that no one works in the thread any more, and set the status of its session.

        If Slack has no sessions, the status line of this process is cleared; with `clears_line`, also that of a dead
        process. It only raises SlackUnanswered. What Slack refuses here it will refuse again, and no one needs to
        know.
        """
        try:
            if await self._set_session(channel, thread_ts, status, patience=patience):
                return
            if not clears_line and not self.sessions.is_busy(channel, thread_ts):
                return
            with self.sessions.change(channel, thread_ts, status) as change:
                await self._status(channel, thread_ts, "", change)
        except (SlackRefused, Unreachable) as refusal:
            logger.debug("no session to settle", extra={"reason": str(refusal)})

    async def rename_session(self, channel: str, thread_ts: str, title: str) -> None:
        """Give a thread's session another title. It is no error if there is no session. Raises SlackUnanswered."""
        if self._has_no_sessions(channel):
            return
        try:
            await self._call(
                "agents.sessions.rename",
                partial(self.web.agents_sessions_rename, channel_id=channel, thread_ts=thread_ts, title=title),
            )
        except SlackRefused as refusal:
            self._note_sessions(channel, refusal)

    async def _status(self, channel: str, thread_ts: str, text: str, change: Change) -> None:
        request = partial(self.web.assistant_threads_setStatus, channel_id=channel, thread_ts=thread_ts, status=text)
        await self._change_session("assistant.threads.setStatus", request, change=change, patience=0.0)

    async def _change_session(
        self,
        method: str,
        request: Callable[[], Awaitable[AsyncSlackResponse]],
        *,
        change: Change,
        patience: float,
        ready: Ready | None = None,
    ) -> dict[str, Any]:
        """Make a call that changes a session. If the call did nothing, undo the note about it."""
        try:
            return await self._call(method, request, patience=patience, ready=ready)
        except SlackUnanswered as failure:
            if not failure.sent:
                change.undo()
            raise
        except FrontdeskError:  # a refusal, or what `ready` raised
            change.undo()
            raise

    async def _set_session(
        self,
        channel: str,
        thread_ts: str,
        status: SessionStatus,
        *,
        title: str = "",
        initiator: str = "",
        patience: float = 0.0,
    ) -> bool:
        """Set a session's status. False if Slack refuses. Raises SlackUnanswered and Unreachable."""
        if self._has_no_sessions(channel):
            return False
        if status == "processing":
            await self._enter("agents.sessions.setStatus/processing", "", self._clock.monotonic())
        request = partial(
            self.web.agents_sessions_setStatus,
            channel_id=channel,
            thread_ts=thread_ts,
            status=status,
            title=title or None,
            # The initiator has to be in the channel. That is certain only in a direct message.
            initiator_user_id=initiator if initiator and channel.startswith("D") else None,
        )
        try:
            with self.sessions.change(channel, thread_ts, status) as change:
                await self._change_session("agents.sessions.setStatus", request, change=change, patience=patience)
        except SlackRefused as refusal:
            if refusal.error in GONE:
                raise Unreachable(refusal.error) from None
            self._note_sessions(channel, refusal)
            return False
        return True

    def _has_no_sessions(self, channel: str) -> bool:
        return _SESSIONS in self.unsupported or _sessions_in(channel) in self.unsupported

    def _note_sessions(self, channel: str, refusal: SlackRefused) -> None:
        """Remember how far a refusal reaches (everywhere or one channel), so that the next turn doesn't ask again."""
        if refusal.error in NO_SESSIONS or (refusal.error in NOT_OURS and channel.startswith("D")):
            # The app is in all of its direct messages, so this refusal there means that the app is no agent.
            self.unsupported.add(_SESSIONS)
        elif refusal.error in NOT_OURS:
            self.unsupported.add(_sessions_in(channel))
        else:
            logger.info("no session status", extra={"channel": channel, "reason": str(refusal)})

    async def user(self, user_id: str, *, seconds: float = USER_SECONDS) -> SlackUser:
        """Who a person is. Cached; Slack is asked again if the entry is older than `seconds`."""
        kept = self._users.get(user_id)
        if kept is not None and self._clock.monotonic() < kept[0] + seconds:
            return kept[1]
        home = await self.auth()
        answer = await self._call("users.info", partial(self.web.users_info, user=user_id, include_locale=True))
        user = _user(answer.get("user") or {}, home_team=home.team)
        self._users[user_id] = (self._clock.monotonic(), user)
        self._users.move_to_end(user_id)
        if len(self._users) > USERS_KEPT:
            self._users.popitem(last=False)
        return user

    async def members(self, channel: str) -> frozenset[str]:
        """The ids of all people in a channel."""
        pages = self._pages("conversations.members", partial(self.web.conversations_members, channel=channel))
        return frozenset([str(member) async for page in pages for member in page.get("members") or ()])

    async def group_members(self, group: str) -> frozenset[str]:
        """The ids of all people in a user group, without deactivated ones."""
        answer = await self._call("usergroups.users.list", partial(self.web.usergroups_users_list, usergroup=group))
        return frozenset(str(member) for member in answer.get("users") or ())

    async def open_dm(self, user: str) -> str:
        """Get the direct message channel with a person. It is opened if needed."""
        answer = await self._call("conversations.open", partial(self.web.conversations_open, users=user))
        return _text(answer.get("channel") or {}, "id")

    async def channel(self, channel_id: str) -> SlackChannel:
        """Look up a conversation."""
        answer = await self._call("conversations.info", partial(self.web.conversations_info, channel=channel_id))
        found = answer.get("channel") or {}
        return SlackChannel(
            id=_text(found, "id"),
            name=_text(found, "name"),
            is_im=bool(found.get("is_im")),
            is_private=bool(found.get("is_private")),
            is_member=bool(found.get("is_member")),
            is_archived=bool(found.get("is_archived")),
        )

    async def permalink(self, channel: str, ts: str) -> str:
        """Ask Slack for the permalink of a message."""
        answer = await self._call(
            "chat.getPermalink", partial(self.web.chat_getPermalink, channel=channel, message_ts=ts)
        )
        return _text(answer, "permalink")

    async def address(self, channel: str, ts: str | None) -> str:
        """The URL of a message, in the form of all Slack links to messages. Without a `ts`, the URL of the channel.

        Slack is not asked, so this works for a message that was posted a moment ago.
        """
        place = f"{(await self.auth()).url}archives/{channel}"
        return f"{place}/p{ts.replace('.', '')}" if ts else place

    async def react(self, channel: str, ts: str, name: str, *, ready: Ready | None = None) -> None:
        """Add a reaction to a message. It is no error if it is already there."""
        await self._call(
            "reactions.add",
            partial(self.web.reactions_add, channel=channel, timestamp=ts, name=name),
            done={"already_reacted"},
            ready=ready,
        )

    async def unreact(self, channel: str, ts: str, name: str, *, ready: Ready | None = None) -> None:
        """Remove a reaction. It is no error if the reaction or the message is gone."""
        await self._call(
            "reactions.remove",
            partial(self.web.reactions_remove, channel=channel, timestamp=ts, name=name),
            done={"no_reaction", "message_not_found"},
            ready=ready,
        )

    async def replies(self, channel: str, thread_ts: str, *, oldest: float | str | None = None) -> list[dict[str, Any]]:
        """A thread's messages with their metadata, oldest first. The root is included, however old it is."""
        pages = self._pages(
            "conversations.replies",
            partial(
                self.web.conversations_replies,
                channel=channel,
                ts=thread_ts,
                oldest=_slack_time(oldest),
                include_all_metadata=True,
            ),
        )
        return [message async for page in pages for message in page.get("messages") or ()]

    async def history(self, channel: str, *, oldest: float | str | None = None) -> list[dict[str, Any]]:
        """A channel's top-level messages with their metadata, newest first."""
        pages = self._pages(
            "conversations.history",
            partial(
                self.web.conversations_history,
                channel=channel,
                oldest=_slack_time(oldest),
                include_all_metadata=True,
            ),
        )
        return [message async for page in pages for message in page.get("messages") or ()]

    async def file(self, file_id: str) -> SlackFile:
        """Look up a file. For a file of another organisation, an event only has its id."""
        found = (await self._call("files.info", partial(self.web.files_info, file=file_id))).get("file") or {}
        size = found.get("size")
        return SlackFile(
            id=file_id,
            name=_text(found, "name") or _text(found, "title"),
            mimetype=_text(found, "mimetype"),
            size=size if isinstance(size, int) else 0,
            mode=_text(found, "mode"),
            is_external=bool(found.get("is_external")),
            url=_text(found, "url_private_download") or _text(found, "url_private"),
        )

    async def announce_file(self, name: str, length: int) -> tuple[str, str]:
        """Get the URL to which a file's content is sent, and the file's id. No one sees the file until it is shared."""
        request = partial(self.web.files_getUploadURLExternal, filename=name, length=length)
        answer = await self._call("files.getUploadURLExternal", request)
        return _text(answer, "upload_url"), _text(answer, "file_id")

    async def share_files(
        self,
        channel: str,
        files: Sequence[Mapping[str, str]],
        *,
        text: str,
        thread_ts: str | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Share uploaded files, each `{"id", "title"}`, in one message with this text in mrkdwn.

        The message has no mark, and it appears a little later than the answer.
        """
        # The SDK's own method puts the text into the URL, which has room for a few thousand characters.
        arguments = {
            "files": [dict(file) for file in files],
            "channel_id": channel,
            "initial_comment": text,
            **({"thread_ts": thread_ts} if thread_ts else {}),
        }
        await self._call(
            "files.completeUploadExternal",
            partial(self.web.api_call, "files.completeUploadExternal", json=arguments),
            channel=channel,
            ready=ready,
        )

    async def delete_file(self, file_id: str) -> None:
        """Delete one of the app's files everywhere it is shared. It is no error if the file is already gone."""
        await self._call(
            "files.delete",
            partial(self.web.files_delete, file=file_id),
            done={"file_not_found", "file_deleted"},
        )

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Replace a person's Home tab."""
        await self._call("views.publish", partial(self.web.views_publish, user_id=user, view=dict(view)))

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> None:
        """Open a dialog. A trigger works once, within three seconds."""
        await self._call(
            "views.open", partial(self.web.views_open, trigger_id=trigger_id, view=dict(view)), patience=0.0
        )

    async def suggest_prompts(
        self,
        channel: str,
        thread_ts: str | None,
        prompts: Sequence[Mapping[str, str]],
        *,
        title: str | None = None,
    ) -> None:
        """Offer up to four prompts, each `{"title", "message"}`. Does nothing if the app is no agent."""
        if _PROMPTS in self.unsupported:
            return
        try:
            await self._call(
                "assistant.threads.setSuggestedPrompts",
                partial(
                    self.web.assistant_threads_setSuggestedPrompts,
                    channel_id=channel,
                    thread_ts=thread_ts,
                    title=title,
                    prompts=[dict(prompt) for prompt in prompts[:4]],
                ),
            )
        except SlackRefused as refusal:
            if refusal.error not in NO_SESSIONS:
                raise
            self.unsupported.add(_PROMPTS)

    async def _pages(
        self, method: str, request: Callable[..., Awaitable[AsyncSlackResponse]]
    ) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self._call(method, partial(request, cursor=cursor, limit=PAGE_LIMITS[method]))
            yield page
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
        logger.warning("a list was cut", extra={"method": method, "pages": PAGES})

    async def _call(
        self,
        method: str,
        request: Callable[[], Awaitable[AsyncSlackResponse]],
        *,
        channel: str = "",
        patience: float = RATE_LIMIT_TIMEOUT,
        done: frozenset[str] | set[str] = frozenset(),
        ready: Ready | None = None,
    ) -> dict[str, Any]:
        """Make a call and wait for rate limits. `done` are refusals which mean that the goal is already reached."""
        deadline = self._clock.monotonic() + patience
        while True:
            await self._enter(method, channel, deadline)
            if ready is not None:
                await ready()
            try:
                answer = await self._exchange(method, request)
            except SlackRefused as refusal:
                if refusal.error in done:
                    return {}
                if refusal.error == "account_inactive" and await self._token_works(method):
                    # Slack uses the same word for a person who was deactivated.
                    raise SlackRefused(method, "user_disabled", refusal.details) from None
                self._note_token(refusal)
                raise
            except SlackUnanswered as failure:
                if failure.reason != "ratelimited":
                    raise
                logger.warning("rate limited", extra={"method": method, "seconds": failure.retry_after})
                await self._rate_limiter.block(self._team, method, channel, failure.retry_after)
            else:
                if method != "apps.connections.open":  # it has a token of its own
                    self._token_fault = None
                return answer

    async def _token_works(self, method: str) -> bool:
        """Whether Slack takes the app's token. Then it refused `method` for another reason."""
        if method in ("auth.test", "apps.connections.open") or self._identity is None:
            return False
        try:
            await self._exchange("auth.test", self.web.auth_test)
        except (SlackRefused, SlackUnanswered):
            return False
        return True

    def _note_token(self, refusal: SlackRefused) -> None:
        has_worked = self._identity is not None  # otherwise the start reports it
        if refusal.error in DEAD_TOKEN and has_worked and refusal.method != "apps.connections.open":
            self._token_fault = refusal.error
            self._alerts.tell(
                logger, "Slack refuses the app's token", about=refusal.error, slack=refusal.error, method=refusal.method
            )

    async def _enter(self, method: str, channel: str, deadline: float) -> None:
        patience = max(0.0, deadline - self._clock.monotonic())
        try:
            await self._rate_limiter.enter(self._team, method, channel, patience=patience)
        except TooLong as late:
            raise SlackUnanswered(method, "ratelimited", sent=False, retry_after=late.seconds) from None

    @property
    def _team(self) -> str:
        """The workspace of the token. Every limit applies to an app in one workspace."""
        return self._identity.team if self._identity is not None else ""

    async def _exchange(self, method: str, request: Callable[[], Awaitable[AsyncSlackResponse]]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                response = await request()
        except SlackApiError as error:
            raise _failure(method, error.response) from None
        except TimeoutError:
            raise SlackUnanswered(method, "timeout") from None
        except aiohttp.ClientConnectorError:
            raise SlackUnanswered(method, "connection_refused", sent=False) from None
        except (aiohttp.ClientError, OSError):
            raise SlackUnanswered(method, "connection_lost") from None
        except (SlackClientError, ValueError, AttributeError, RecursionError):
            # The SDK fails on answers that are not the JSON object it expects.
            raise SlackUnanswered(method, "unreadable") from None
        data = response.data
        if not isinstance(data, dict):
            raise SlackUnanswered(method, "unreadable")
        return data


_SESSIONS = "agent sessions"
_PROMPTS = "suggested prompts"


def _sessions_in(channel: str) -> str:
    return f"{_SESSIONS} in {channel}"


class Unsupported:
    """Names of features that Slack refused. Each is believed for ten minutes (`UNSUPPORTED_SECONDS`) and then tried
    again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, feature: str) -> None:
        """Remember that Slack does not support this here."""
        now = self._clock.monotonic()
        self._until = {name: until for name, until in self._until.items() if until > now}
        logger.info("not supported here", extra={"feature": feature, "seconds": UNSUPPORTED_SECONDS})
        self._until[feature] = now + UNSUPPORTED_SECONDS

    def __contains__(self, feature: str) -> bool:
        return self._clock.monotonic() < self._until.get(feature, -math.inf)


def _failure(method: str, response: object) -> SlackRefused | SlackUnanswered:
    """Turn a failed exchange into an exception. The SDK passes its own response or, for a broken body, aiohttp's."""
    if not isinstance(response, AsyncSlackResponse):
        return SlackUnanswered(method, "unreadable")
    data = response.data if isinstance(response.data, dict) else {}
    error = str(data.get("error") or "")
    if response.status_code == 429 or error in LIMITED:
        wait = _retry_after(response.headers.get("Retry-After"))
        return SlackUnanswered(method, "ratelimited", sent=False, retry_after=wait)
    if response.status_code >= 500 or not error:
        return SlackUnanswered(method, f"http_{response.status_code}")
    if error in TRANSIENT:
        return SlackUnanswered(method, error)
    return SlackRefused(method, error, _details(data))


def _retry_after(value: object) -> float:
    """Seconds to wait, whole or decimal. A value that is missing or invalid counts as one second."""
    try:
        seconds = float(str(value))
    except ValueError:
        return 1.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 1.0


def _details(data: Mapping[str, Any]) -> list[str]:
    metadata = data.get("response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    found = [*(data.get("errors") or ()), *(messages or ())]
    if needed := data.get("needed"):
        found.append(f"needs the scope {needed}")
    return [str(detail) for detail in found]


def _user(raw: Mapping[str, Any], *, home_team: str) -> SlackUser:
    profile = raw.get("profile") or {}
    team = _text(raw, "team_id") or _text(profile, "team")
    teams = {team, *((raw.get("enterprise_user") or {}).get("teams") or ())}
    name = _text(profile, "real_name") or _text(raw, "real_name") or _text(raw, "name")
    confirmed = raw.get("is_email_confirmed", True)
    return SlackUser(
        id=_text(raw, "id"),
        team=team,
        name=name,
        display_name=_text(profile, "display_name") or name,
        email=(_text(profile, "email") or None) if confirmed else None,
        locale=_text(raw, "locale"),
        tz=_text(raw, "tz"),
        is_guest=bool(raw.get("is_restricted") or raw.get("is_ultra_restricted")),
        is_stranger=bool(raw.get("is_stranger")) or home_team not in teams,
        is_bot=bool(raw.get("is_bot") or raw.get("is_workflow_bot")) or raw.get("id") == "USLACKBOT",
        deleted=bool(raw.get("deleted")),
    )


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _blocks(blocks: Sequence[Block] | None) -> list[dict[str, Any]] | None:
    return None if blocks is None else [dict(block) for block in blocks]


def _chunks(chunks: Sequence[Chunk]) -> list[dict[str, Any]] | None:
    return [dict(chunk) for chunk in chunks] or None


def _slack_time(time: float | str | None) -> str | None:
    return f"{time:.6f}" if isinstance(time, float | int) else time
