"""One call of the Web API as the methods see it."""

import base64
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from local_slack.rate_limits import RateLimits
from local_slack.workspace import Bot, Channel, Grant, Json, SlackError, Workspace

HISTORY = {"channel": "channels:history", "group": "groups:history", "im": "im:history", "mpim": "mpim:history"}
PAGE_ITEMS = 999
"""The most that one page may be asked to hold, unless a method's reference says otherwise."""
MANAGE = {"channel": "channels:manage", "group": "groups:write", "im": "im:write", "mpim": "mpim:write"}
READ = {"channel": "channels:read", "group": "groups:read", "im": "im:read", "mpim": "mpim:read"}
_LIMITED = frozenset({"conversations.list", "conversations.members", "users.conversations"})
"""Methods whose reference names `invalid_limit`."""
_OF_PEOPLE = {"channels:join": "channels:write", "channels:manage": "channels:write"}
"""What a person grants in place of a bot's scope."""
_TS = re.compile(r"[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments with the forms that Slack accepts: JSON, or strings that hold JSON."""

    workspace: Workspace
    method: str
    args: Json
    limits: RateLimits
    grant: Grant | None = None
    """What the caller's token stands for; None for a bot's own."""
    installation: Bot | None = None
    """Where the app is installed by whose token the call was made; None for the home workspace."""

    def text(self, name: str, default: str = "") -> str:
        """A string, or `default` when it was not given."""
        value = self.args.get(name)
        return default if value is None else str(value)

    def required(self, name: str) -> str:
        """A string that has to be there. Raises `invalid_arguments`."""
        if value := self.text(name):
            return value
        raise invalid_arguments(f"missing required field: {name}")

    def flag(self, name: str) -> bool:
        """A boolean; forms carry it as 1 or true."""
        return self.text(name).lower() in ("1", "true")

    def number(self, name: str, default: int, *, most: int) -> int:
        """A whole number from 1 on; above `most` it counts as `most`. Raises `invalid_arguments`."""
        value = self._whole(name, default)
        if value < 1:
            raise invalid_arguments(f"must be a number from 1 on [json-pointer:/{name}]")
        return min(value, most)

    def _whole(self, name: str, default: int) -> int:
        """A whole number, or 0 for what is none."""
        try:
            return int(self.text(name, str(default)))
        except ValueError:
            return 0

    def moment(self, name: str, default: float, *, error: str = "") -> float:
        """Seconds since the epoch. Raises `invalid_arguments`, or `error`."""
        try:
            seconds = float(self.text(name) or default)
        except ValueError:
            seconds = math.nan
        if math.isnan(seconds) or (math.isinf(seconds) and self.text(name)):
            problem = invalid_arguments(f"must be a timestamp [json-pointer:/{name}]")
            raise SlackError(error) if error else problem
        return seconds

    def json(self, name: str, *, error: str = "invalid_arguments") -> Any:
        """A structure, decoded if it came as a string; None when it was not given."""
        value = self.args.get(name)
        if not isinstance(value, str):
            return value
        try:
            return decoded(value) if value else None
        except ValueError:
            raise SlackError(error) from None

    @property
    def bot(self) -> Bot:
        """The app as it is installed for the caller."""
        return self.installation or self.workspace.app

    @property
    def me(self) -> str:
        """The user by whose token the call was made."""
        return self.bot.user_id if self.grant is None else self.grant.user

    @property
    def by_person(self) -> bool:
        """Whether it was a person's token."""
        return self.grant is not None

    @property
    def scopes(self) -> frozenset[str]:
        """What the token may do."""
        return self.workspace.scopes if self.grant is None else self.grant.scopes

    def need(self, *scopes: str) -> None:
        """Raises `missing_scope` when the token has none of them. They are those of a bot."""
        if self.by_person:
            scopes = tuple(dict.fromkeys(_OF_PEOPLE.get(scope, scope) for scope in scopes))
        if not self.scopes.intersection(scopes):
            raise SlackError("missing_scope", needed=",".join(scopes), provided=",".join(sorted(self.scopes)))

    def conversation(self, name: str = "channel") -> Channel:
        """The channel, if the caller may know of it: private ones only as a member."""
        channel = self.workspace.channel(self.required(name))
        if not self.knows(channel):
            raise SlackError("channel_not_found")
        return channel

    def knows(self, channel: Channel) -> bool:
        """Whether the caller may know of a channel: as a member, or as a public one of the caller's workspace, to which
        one that is shared belongs as soon as somebody of it is there."""
        if self.me in channel.members:
            return True
        home, host = self.workspace.home_of(self.bot), self.workspace.team_of(channel.id)
        people = (self.workspace.user(member) for member in channel.members)
        is_connected = channel.is_ext_shared and any(person.team == home.id for person in people)
        return channel.kind == "channel" and (
            is_connected or host.id == home.id or host.enterprise_id == home.enterprise_id != ""
        )

    def joined(self, name: str = "channel") -> Channel:
        """A channel of which the caller is a member. Raises `not_in_channel`."""
        channel = self.conversation(name)
        if self.me not in channel.members:
            raise SlackError("not_in_channel")
        return channel

    def writable(self, name: str = "channel") -> Channel:
        """A channel in which the caller can write. Raises `is_archived`."""
        channel = self.joined(name)
        if channel.is_archived:
            raise SlackError("is_archived")
        return channel

    def readable(self, name: str = "channel") -> Channel:
        """A channel whose history the caller may read."""
        channel = self.joined(name)
        self.need(HISTORY[channel.kind])
        return channel

    def known(self, name: str = "channel") -> Channel:
        """A channel whose properties the caller may read."""
        channel = self.conversation(name)
        self.need(READ[channel.kind])
        return channel

    def thread(self, channel: Channel, name: str = "thread_ts") -> str:
        """The root of a thread, or "" when none was given. Raises `thread_not_found` and the like."""
        ts = self.text(name)
        if not ts:
            return ""
        if not _TS.fullmatch(ts):
            messages = [f"[ERROR] {ts[:50]} is not a valid thread_ts"]
            raise SlackError("invalid_thread_ts", response_metadata={"messages": messages})
        root = self.workspace.messages.get(channel.id, {}).get(ts)
        if root is None:
            raise SlackError("thread_not_found")
        if root.get("thread_ts", ts) != ts:
            raise SlackError("cannot_reply_to_message")
        return ts

    def timestamp(self, name: str = "timestamp") -> str:
        """The ts of a message. Raises `no_item_specified` and `bad_timestamp`."""
        ts = self.text(name)
        if not ts:
            raise SlackError("no_item_specified")
        if not _TS.fullmatch(ts):
            raise SlackError("bad_timestamp")
        return ts

    def page(self, items: list[Any], *, default: int = 100, most: int = PAGE_ITEMS) -> tuple[list[Any], str]:
        """A page of `items` by `cursor` and `limit`, and the cursor of the next one ("" at the end).

        Raises `invalid_limit`, or `invalid_arguments` for methods whose reference does not name it, also when `limit`
        is above the documented maximum `most`.
        """
        limit = self._whole("limit", default)
        if not 1 <= limit <= most:
            problem = invalid_arguments(f"must be a number from 1 to {most} [json-pointer:/limit]")
            raise SlackError("invalid_limit") if self.method in _LIMITED else problem
        first = _place(self.text("cursor"))
        after = first + limit
        return items[first:after], _cursor(after) if after < len(items) else ""


def decoded(text: str) -> Any:
    """JSON as Slack takes it. Raises ValueError also for what can be written in it and is no text or number."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if "\\ud" in text.lower():
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _cursor(place: int) -> str:
    """As Slack's: base64, with the padding that has to be quoted in an address."""
    return base64.b64encode(f"next:{place}".encode()).decode()


def _place(cursor: str) -> int:
    if not cursor:
        return 0
    try:
        kind, _, place = base64.b64decode(cursor, validate=True).decode().partition(":")
    except ValueError:
        raise SlackError("invalid_cursor") from None
    if kind != "next" or not place.isdecimal():
        raise SlackError("invalid_cursor")
    return int(place)


def invalid_arguments(*problems: str) -> SlackError:
    """Slack's answer to arguments of the wrong form."""
    return SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {each}" for each in problems]})


@dataclass(frozen=True, slots=True)
class Method:
    """One method: what it does, what it needs and how often it may be called."""

    run: Callable[[Call], Json]
    scope: str = ""
    """Of several, with commas, the token needs one; the method says which."""
    tier: int = 3
    caller: Literal["member", "bot", "app", "anyone"] = "member"
    """Whose token it takes; a member is the bot or a person."""
