"""The state of the local workspace and the two roles around it.

`Workspace` holds everything that can be seen (users, channels, messages, streams, views, the log) and
tells subscribers what changed. It knows no HTTP. `Acts` is what people may do in it, for the page and for
tests alike; `Transport` is how the app hears of it.
"""

import asyncio
import base64
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from local_slack.changes import Change, ChangeKind
from local_slack.clock import Background, Clock, SystemClock
from local_slack.triggers import Triggers

Json = dict[str, Any]

LOG_KEPT = 2_000
MESSAGES_KEPT = 5_000
EPHEMERALS_KEPT = 500


class SlackError(Exception):
    """Slack says no: `error` is its stable name, `extra` what the answer carries beside it."""

    def __init__(self, error: str, **extra: Any) -> None:
        self.error = error
        self.extra = extra
        super().__init__(error)


@dataclass(slots=True)
class User:
    """A person of the workspace, or of a connected one, or the app's own bot user."""

    id: str
    name: str
    """The handle, as `customer.a`."""
    real_name: str
    email: str = ""
    locale: str = "en-US"
    tz: str = "Europe/London"
    team: str = "T0FRONTDESK"
    """The person's own workspace; another one for a Slack Connect stranger."""
    is_restricted: bool = False
    """A guest of several channels."""
    is_ultra_restricted: bool = False
    """A guest of one channel."""
    is_stranger: bool = False
    """Marked on the page as somebody of a connected workspace."""
    is_bot: bool = False
    deleted: bool = False
    is_away: bool = False
    """What `users.getPresence` says of a person."""
    paused: tuple[int, int] | None = None
    """When the next pause of notifications begins and ends, in seconds since 1970."""

    @property
    def is_guest(self) -> bool:
        """Of several channels or of one."""
        return self.is_restricted or self.is_ultra_restricted


@dataclass(slots=True)
class Channel:
    """A channel or a direct message with the app."""

    id: str
    name: str
    """Empty for a direct message."""
    is_im: bool = False
    is_mpim: bool = False
    """A conversation of several people, which is private too."""
    is_private: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False
    """Shared with a connected workspace, so its messages tell the author's team."""
    team: str = ""
    """The workspace of the org that it belongs to; empty for the home workspace."""
    members: list[str] = field(default_factory=list)
    topic: str = ""
    purpose: str = ""
    created: int = 1_750_000_000
    creator: str = "U0AGENTA"

    @property
    def kind(self) -> str:
        """What events call it: `im`, `mpim`, `group` or `channel`."""
        if self.is_im or self.is_mpim:
            return "im" if self.is_im else "mpim"
        return "group" if self.is_private else "channel"


@dataclass(frozen=True, slots=True)
class Usergroup:
    """People who are mentioned together."""

    id: str
    handle: str
    """Without the `@`."""
    name: str
    description: str = ""
    users: list[str] = field(default_factory=list)
    team: str = ""
    """Empty for the home workspace."""
    is_disabled: bool = False
    created: int = 1_750_000_000
    creator: str = "U0AGENTA"
    updated: int = 1_750_000_000
    updated_by: str = "U0AGENTA"


@dataclass(slots=True)
class Bot:
    """The app as it is installed in a workspace, and its bot user there."""

    app_id: str = "A0FRONTDESK"
    bot_id: str = "B0FRONTDESK"
    user_id: str = "U0FRONTDESK"
    name: str = "Frontdesk"
    is_enterprise_install: bool = False
    """Installed once for every workspace of the org."""
    team: str = ""
    """Where it is installed; empty for the home workspace."""


@dataclass(slots=True)
class Team:
    """A workspace: the home one, another of the same org, or one that is connected by Slack Connect."""

    id: str = "T0FRONTDESK"
    name: str = "Frontdesk Local"
    domain: str = "frontdesk-local"
    enterprise_id: str = ""
    """Its org, as `E0ACME`; empty outside an org."""
    enterprise_name: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person lets the app do in their name."""

    user: str
    scopes: frozenset[str]


AppKind = Literal["agent", "assistant", "plain"]
"""What the app's manifest makes of it: with `agent_view` an agent, which alone has sessions and keeps guests out; with
the legacy `assistant_view` an assistant; without either an app like any other."""
StreamState = Literal["in_progress", "completed", "stopped", "expired"]


@dataclass(slots=True)
class Stream:
    """A message being written: its parts in the order in which they first appeared."""

    channel: str
    ts: str
    thread_ts: str
    started: float
    parts: list[Json] = field(default_factory=list)
    """Each `{"type": "markdown", "text"}`, `{"type": "blocks", "blocks"}` or
    `{"type": "task", "id", "title", "status", "details", "output", "sources"}`."""
    plan_title: str = ""
    display: str = "timeline"
    mode: str = ""
    """By which argument it grows, `markdown_text` or `chunks`: the first that was used; empty before that."""
    state: StreamState = "in_progress"


@dataclass(frozen=True, slots=True)
class Rules:
    """Times and limits of the platform; tests shorten them."""

    stream_seconds: float = 306
    """A stream ends by itself this long after its start, whatever is appended."""
    ack_seconds: float = 3
    retry_delays: tuple[float, ...] = (0, 60, 300)
    """Waits before the redeliveries of an event that was not acknowledged."""
    status_seconds: float = 120
    """The life of an assistant status line."""
    processing_seconds: float = 3_600
    """A session that stays in "processing" this long becomes active again."""
    trigger_seconds: float = 3
    response_url_seconds: float = 1_800
    response_url_uses: int = 5
    rate_limits: bool = True
    events_per_hour: int = 30_000
    """More are not delivered; `app_rate_limited` tells it once a minute. Part of the rate limits."""
    events_to_disable: int = 1_000
    """With fewer requests in an hour no subscription is ended, however many fail."""
    max_sockets: int = 10
    refresh_seconds: float = 18_060
    """The life of a socket; ten seconds before its end the client is warned."""


@dataclass(frozen=True, slots=True)
class Ack:
    """How the app took an interaction; `error` is `dispatch_failed` or `operation_timeout` if it did not."""

    ok: bool
    payload: Json = field(default_factory=dict)
    """The acknowledgement's body: ephemeral text of a command, response_action of a view."""
    error: str = ""


class Transport(Protocol):
    """The way to the app: Socket Mode or signed HTTP."""

    def connection_url(self) -> str:
        """A websocket address for one use. Raises SlackError without Socket Mode."""

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        """Queue one Events API event; it is delivered again until acknowledged."""

    async def interact(self, kind: str, payload: Json) -> Ack:
        """Deliver one `interactive` or `slash_commands` payload, once, and wait for the answer."""


class Unplugged:
    """No way to the app: events vanish, interactions fail."""

    def connection_url(self) -> str:
        raise SlackError("not_allowed_token_type")

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        return None

    async def interact(self, kind: str, payload: Json) -> Ack:
        return Ack(ok=False, error="dispatch_failed")


class Acts(Protocol):
    """What a person can do. Each raises `SlackError` for what Slack's client would not offer."""

    async def send(
        self, user: str, channel: str, text: str, *, thread_ts: str | None = None, broadcast: bool = False
    ) -> str:
        """Write a message in mrkdwn (mentions as `<@U…>`); returns its ts. `broadcast` sends a reply to the channel
        too; text that begins with `/me ` is said of oneself."""

    async def upload(
        self, user: str, channel: str, name: str, content: str | bytes, *, text: str = "", thread_ts: str | None = None
    ) -> str:
        """Share a file; returns the message's ts."""

    async def edit(self, user: str, channel: str, ts: str, text: str) -> None: ...

    async def delete(self, user: str, channel: str, ts: str) -> None: ...

    async def react(self, user: str, channel: str, ts: str, name: str) -> None:
        """Add the reaction, or take it back if this person has it already."""

    async def click(
        self,
        user: str,
        channel: str,
        ts: str,
        action_id: str,
        *,
        block_id: str = "",
        value: Any = None,
        state: Json | None = None,
    ) -> Ack:
        """Use an element of a message or an ephemeral.

        `value`: for selects, checkboxes, radios and overflow the option value (or list of them); for pickers
        and inputs what was chosen; for feedback buttons, and for buttons that share an action_id, the value
        of the pressed one.
        `state`: what the message's other inputs hold, `{block_id: {action_id: value}}`.
        """

    async def click_view(
        self,
        user: str,
        view_id: str,
        action_id: str,
        *,
        block_id: str = "",
        value: Any = None,
        state: Json | None = None,
    ) -> Ack:
        """Use an element of the Home tab or of an open modal."""

    async def command(self, user: str, channel: str, line: str) -> Ack:
        """Run a slash command, as `/kb status`. What the app answers appears as an ephemeral."""

    async def suggest(
        self,
        user: str,
        action_id: str,
        query: str,
        *,
        channel: str = "",
        ts: str = "",
        view_id: str = "",
        block_id: str = "",
    ) -> Ack:
        """Type into an external select of a message or a view. The payload holds what the app offers; only that can
        then be chosen."""

    async def global_shortcut(self, user: str, callback_id: str) -> Ack:
        """Choose a shortcut of the app beside the composer."""

    async def message_shortcut(self, user: str, channel: str, ts: str, callback_id: str) -> Ack:
        """Choose a shortcut of the app in a message's menu."""

    async def open_home(self, user: str) -> None:
        """Open the app's Home tab."""

    async def open_dm_tab(self, user: str) -> None:
        """Open the app's Messages tab."""

    async def submit_view(self, user: str, view_id: str, state: Json | None = None) -> Ack:
        """Submit the modal with `{block_id: {action_id: value}}`.

        Not ok, with `payload["errors"]` ({block_id: why}), when the workspace or the app refuses an input.
        """

    async def close_view(self, user: str, view_id: str, *, whole_stack: bool = False) -> None:
        """Press Cancel, or with `whole_stack` the cross that closes every view."""

    async def stop(self, user: str, channel: str, thread_ts: str) -> None:
        """Press Stop: end the streams of the thread and tell the app. Where Slack shows no such button:
        `not_stoppable`."""

    async def join(self, user: str, channel: str) -> None: ...

    async def rename_session(self, user: str, channel: str, thread_ts: str, title: str) -> None:
        """Give the agent session of a thread another title."""

    async def look_at(self, user: str, channel: str, *, thread_ts: str = "") -> None:
        """Turn to a channel or thread while the app is open beside it."""

    async def start_assistant(self, user: str, *, channel: str = "") -> str:
        """Begin a chat with an app of the legacy kind (`assistant_view`), beside `channel`; returns its thread's ts.
        Other apps have none: `assistant_not_found`."""


class Unattended:
    """Stands for the people until the workspace is assembled."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("this workspace was built without people; see local_slack.server.build_workspace")


class Workspace:
    """Everything that can be seen in the local Slack. One event loop; no method blocks."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        rules: Rules | None = None,
        bot_token: str | None = None,
        app_token: str | None = None,
        signing_secret: str | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.rules = rules or Rules()
        self.bot_token = bot_token or f"xoxb-{secrets.token_hex(16)}"
        self.app_token = app_token or f"xapp-1-A0FRONTDESK-{secrets.token_hex(16)}"
        self.signing_secret = signing_secret or secrets.token_hex(16)
        self.secret = secrets.token_urlsafe(18)
        """Opens the page and `/_local/*`; new with every run."""
        self.url = ""
        """`http://127.0.0.1:4000` while it is served."""
        self.team = Team()
        self.teams: dict[str, Team] = {}
        """Other workspaces by id."""
        self.app = Bot()
        """The app in the home workspace."""
        self.installations: dict[str, Bot] = {}
        """The app in connected workspaces, by token."""
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self.usergroups: dict[str, Usergroup] = {}
        self.messages: dict[str, dict[str, Json]] = {}
        """Slack-shaped messages by channel and ts, oldest first."""
        self.made_of: dict[tuple[str, str], list[str]] = {}
        """By channel and ts: the types of the blocks of an app's message, as Slack shows them. Text alone has none,
        though it is told as a rich_text block."""
        self.streams: dict[tuple[str, str], Stream] = {}
        self.ephemerals: list[Json] = []
        """Messages with "user", "channel", "ts", "text", "blocks" and perhaps "thread_ts"."""
        self.kind: AppKind = "agent"
        self.statuses: dict[tuple[str, str], Json] = {}
        """By channel and thread_ts: `{"status", "loading_messages"}`."""
        self.sessions: dict[tuple[str, str], Json] = {}
        """By channel and thread_ts: `{"status", "title", "agent_statuses"}`."""
        self.bridged: set[tuple[str, str]] = set()
        """The sessions that are `processing` because of a status line, and no longer than it is shown."""
        self.last_read: dict[tuple[str, str], str] = {}
        """By channel and user: the ts up to which they have read, as far as it was marked."""
        self.prompts: dict[tuple[str, str], Json] = {}
        """By channel and thread_ts ("" = the whole DM): `{"title", "prompts": [{"title", "message"}]}`."""
        self.suggested_prompts: list[Json] = []
        """What an agent's manifest suggests (`{"title", "message"}`), where the app has not suggested anything else."""
        self.homes: dict[str, Json] = {}
        self.modals: dict[str, list[Json]] = {}
        """The open views of each person, the topmost last."""
        self.files: dict[str, Json] = {}
        self.uploads: dict[str, bytes] = {}
        """The content of uploaded files, by file id."""
        self.scheduled: dict[str, Json] = {}
        """Messages that wait: `{"id", "channel_id", "post_at", "date_created", "text"}` by id."""
        self.emoji: dict[str, str] = {}
        """The workspace's own emoji: the address of each picture by name."""
        self.unfurl_domains: tuple[str, ...] = ()
        """Whose links the app hears of and may unfurl; without any it may unfurl every link and hears of none."""
        self.commands: list[Json] = []
        """`{"command", "description", "usage_hint"}`; empty: every command is passed to the app."""
        self.shortcuts: list[Json] = []
        """`{"name", "type": "global" | "message", "callback_id", "description"}`; empty: every one is passed on."""
        self.subscriptions: frozenset[str] = frozenset()
        """The event names that the app hears; message events as `message.im`."""
        self.scopes: frozenset[str] = frozenset()
        """What the bot token may do."""
        self.user_tokens: dict[str, Grant] = {}
        """What people granted, by token; nobody did at first."""
        self.urls: dict[str, str] = {}
        """Request addresses beside that of the events: `interactivity`, `options`; a command may have its own `url`."""
        self.events_enabled = True
        """Whether the subscription is still on; see local_slack.deliveries.Health."""
        self.failed_deliveries = 0
        """Signed requests with events that failed in the last hour."""
        self.is_installed = True
        """Whether the app's tokens are worth anything."""
        self.event_contexts: OrderedDict[str, list[Json]] = OrderedDict()
        """The authorizations behind each `event_context`."""
        self.log: deque[Json] = deque(maxlen=LOG_KEPT)
        self.online = 0
        """Open sockets of the app, or 1 once an events URL has been verified."""
        self.counter = 0
        """Grows with every change."""
        self.act: Acts = Unattended()
        self.transport: Transport = Unplugged()
        self.triggers = Triggers(self.clock, self.rules.trigger_seconds)
        self.background = Background()
        self._last_ts = 0
        self._entries = 0
        self._subscribers: list[Callable[[Change], None]] = []
        self._changed = asyncio.Event()

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call `callback` at every change, synchronously; the answer ends the subscription."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def changed(self, kind: ChangeKind, *, channel: str = "", ts: str = "", user: str = "") -> None:
        """Count a change and tell the subscribers."""
        self.counter += 1
        self._changed.set()
        self._changed = asyncio.Event()
        change = Change(kind, channel, ts, user)
        for callback in tuple(self._subscribers):
            callback(change)

    async def wait_for_change(self, after: int, *, timeout: float) -> int:
        """The counter as soon as it exceeds `after`, or as it is when `timeout` seconds have passed."""
        try:
            async with asyncio.timeout(timeout):
                while self.counter <= after:
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self.counter

    def note(self, kind: str, name: str, *, ok: bool = True, detail: Any = None) -> None:
        """Keep one line for the inspector; kind is call, delivery, ack, retry, act, outside (what the
        app does elsewhere, as who started it tells) or error."""
        self._entries += 1
        entry = {"id": self._entries, "time": self.clock.time(), "kind": kind, "name": name, "ok": ok}
        self.log.append(entry | {"detail": detail})
        self.changed("log")

    def new_ts(self) -> str:
        """A message timestamp: unique and increasing, whatever the clock does."""
        self._last_ts = max(int(self.clock.time() * 1_000_000), self._last_ts + 1)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def new_id(self, prefix: str, *, length: int = 9) -> str:
        """A random id in Slack's manner, as `Ev08MFMKH6RT`."""
        return prefix + base64.b32encode(secrets.token_bytes(length)).decode()[:length]

    def user(self, user: str) -> User:
        """Raises `SlackError("user_not_found")`."""
        if user not in self.users:
            raise SlackError("user_not_found")
        return self.users[user]

    def active(self, user: str) -> User:
        """Somebody who can do something. Raises `account_inactive` for who was deactivated."""
        found = self.user(user)
        if found.deleted:
            raise SlackError("account_inactive")
        return found

    def keeps_out(self, user: User) -> bool:
        """Whether the app is closed to a person. "Workspace guests are not permitted to access apps with the Agents
        feature enabled" (https://docs.slack.dev/ai/developing-agents), which was "Agents & AI Apps" while it made
        assistants."""
        return self.kind != "plain" and user.is_guest

    @property
    def has_stop_button(self) -> bool:
        """Whether people can stop the app at work: an agent that wants to hear of it
        (https://docs.slack.dev/ai/agent-sessions)."""
        return self.kind == "agent" and "agent_session_stopped" in self.subscriptions

    def channel(self, channel: str) -> Channel:
        """By id, or by name with or without `#`. Raises `SlackError("channel_not_found")`."""
        if channel in self.channels:
            return self.channels[channel]
        name = channel.removeprefix("#")
        for candidate in self.channels.values():
            if name and candidate.name == name:
                return candidate
        raise SlackError("channel_not_found")

    def team_of(self, channel: str) -> Team:
        """The workspace in which something in this channel happens."""
        found = self.channels.get(channel)
        return self.teams.get(found.team, self.team) if found is not None else self.team

    def home_of(self, bot: Bot) -> Team:
        """The workspace in which the app is installed as this bot."""
        return self.teams.get(bot.team, self.team)

    @property
    def bots(self) -> list[Bot]:
        """Every installation of the app, the home workspace's first."""
        return [self.app, *self.installations.values()]

    def bot_for(self, user: str) -> Bot:
        """The app as a person meets it: as it is installed in their workspace, else in the home one."""
        team = self.user(user).team
        return next((bot for bot in self.installations.values() if bot.team == team), self.app)

    def bot_by_id(self, bot_id: str) -> Bot:
        """The installation whose messages and views carry this id; the home one for what carries none."""
        return next((bot for bot in self.bots if bot.bot_id == bot_id), self.app)

    def bots_in(self, channel: Channel) -> list[Bot]:
        """The installations of the app that are in a channel, the one that came last first."""
        bots = {bot.user_id: bot for bot in self.bots}
        return [bots[member] for member in reversed(channel.members) if member in bots]

    def is_outside(self, user: User, bot: Bot) -> bool:
        """Whether a person belongs neither to the workspace of the installation nor to its org."""
        home, theirs = self.home_of(bot), self.teams.get(user.team, self.team)
        known = user.team in (self.team.id, *self.teams)
        same_org = known and theirs.enterprise_id == home.enterprise_id != ""
        return user.team != home.id and not same_org

    def message(self, channel: str, ts: str) -> Json:
        """Raises `SlackError("message_not_found")`."""
        message = self.messages.get(channel, {}).get(ts)
        if message is None:
            raise SlackError("message_not_found")
        return message

    def replies(self, channel: str, thread_ts: str) -> list[Json]:
        """The root (if it is there) and its replies, oldest first."""
        kept = self.messages.get(channel, {}).values()
        return [each for each in kept if each["ts"] == thread_ts or each.get("thread_ts") == thread_ts]

    def dm_with(self, user: str, bot: Bot | None = None) -> Channel:
        """The direct message between `user` and the app, by the installation that they meet unless another is named;
        opened when there is none yet."""
        bot = bot or self.bot_for(user)
        for channel in self.channels.values():
            if channel.is_im and {user, bot.user_id} == set(channel.members):
                return channel
        is_shared = self.is_outside(self.user(user), bot)
        members = [user, bot.user_id]
        channel = Channel(self.new_id("D"), "", is_im=True, is_ext_shared=is_shared, team=bot.team, members=members)
        self.channels[channel.id] = channel
        self.changed("channel", channel=channel.id)
        return channel

    def keep_message(self, channel: str, message: Json) -> None:
        """Store or replace a message; the oldest of a very full channel is forgotten."""
        kept = self.messages.setdefault(channel, {})
        kept[message["ts"]] = message
        if len(kept) > MESSAGES_KEPT:
            self._forget(channel, next(iter(kept)))
        self.changed("message", channel=channel, ts=message["ts"])

    def forget_message(self, channel: str, ts: str) -> None:
        """Take a message out of sight."""
        self._forget(channel, ts)
        self.changed("removed", channel=channel, ts=ts)

    def _forget(self, channel: str, ts: str) -> None:
        """A message with everything that belongs to it or to the thread under it."""
        key = (channel, ts)
        self.messages[channel].pop(ts, None)
        self.background.cancel_timer(("stream", *key))
        for held in (self.streams, self.made_of, self.sessions, self.statuses, self.prompts):
            held.pop(key, None)
        self.bridged.discard(key)

    def keep_ephemeral(self, message: Json) -> None:
        """Show a message to one person; the same ts again replaces it."""
        self.ephemerals = [each for each in self.ephemerals if each["ts"] != message["ts"]][-EPHEMERALS_KEPT:]
        self.ephemerals.append(message)
        self.changed("ephemeral", channel=message["channel"], ts=message["ts"], user=message["user"])

    def forget_ephemeral(self, ts: str) -> None:
        """Dismiss an ephemeral message, if it is still there."""
        for each in self.ephemerals:
            if each["ts"] == ts:
                self.ephemerals.remove(each)
                self.changed("ephemeral", channel=each["channel"], ts=ts, user=each["user"])
                return
