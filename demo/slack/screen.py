"""What one browser shows of the workspace: two halves, each seen through the eyes of one person.

`Screen.draw` gives a `Picture`: the HTML of every region by the id of its element. `patches` tells how to get
from one picture to the next, so whatever changed, the browser is sent the difference and nothing can be missed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from demo.slack import compose
from demo.slack.html import Html, element, join
from demo.slack.icons import icon
from demo.slack.loose import Json, mapping, sequence, string
from demo.slack.markup import Names, day_name, local_time, plain
from demo.slack.render import Look, blocks
from demo.slack.render_message import Author, Footer, Setting, avatar, content, entry, ephemeral, message, system
from demo.slack.workspace import Change, Channel, User, Workspace

SIDES = ("left", "right")
MESSAGES_SHOWN = 200
"""The newest of a channel or thread."""
ENTRIES_SHOWN = 300
CLOSE_TOGETHER = 300
"""Seconds within which messages of one author stand under one name."""
USUAL_COMMANDS = (
    {"command": "/kb", "usage_hint": "status | refresh | search <text>", "description": "Manage the knowledge base"},
)
"""Offered while the workspace does not know which commands the app has."""

_SYSTEM = frozenset({"channel_join", "channel_leave", "channel_topic", "group_join", "tombstone"})


@dataclass(slots=True)
class Half:
    """Where one of the two people stands."""

    side: str
    user: str
    channel: str
    thread: str = ""
    """The ts of the root of the open thread."""
    tab: str = "messages"
    """`home` while the app's Home tab is open."""
    editing: str = ""
    """The ts of the message that is being edited."""
    followed: str = ""
    """The newest root whose thread was opened by itself or knowingly left closed."""


@dataclass(slots=True)
class Picture:
    """The regions of a page. Ids are those of the elements that hold them."""

    parts: dict[str, Html] = field(default_factory=dict)
    lists: dict[str, dict[str, Html]] = field(default_factory=dict)
    """Ordered elements by their own ids."""
    attributes: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """By element id and name; None: without it."""


def patches(old: Picture, new: Picture) -> list[Json]:
    """What the browser has to do: set, fill, replace, append or remove."""
    changes: list[Json] = [
        {"op": "set", "id": id_, "name": name, "value": value}
        for (id_, name), value in new.attributes.items()
        if (id_, name) not in old.attributes or old.attributes[id_, name] != value
    ]
    changes += [
        {"op": "fill", "id": id_, "html": html} for id_, html in new.parts.items() if old.parts.get(id_) != html
    ]
    for id_, items in new.lists.items():
        changes += _list_patches(id_, old.lists.get(id_), items)
    return changes


def _list_patches(id_: str, old: dict[str, Html] | None, new: dict[str, Html]) -> list[Json]:
    if old == new:
        return []
    kept = [key for key in new if old and key in old]
    in_place = old and kept and list(new)[: len(kept)] == kept and [key for key in old if key in new] == kept
    if not in_place or old is None:
        return [{"op": "fill", "id": id_, "html": join(new.values())}]
    return [
        *({"op": "remove", "id": key} for key in old if key not in new),
        *({"op": "replace", "id": key, "html": new[key]} for key in kept if old[key] != new[key]),
        *({"op": "append", "id": id_, "html": html} for key, html in new.items() if key not in old),
    ]


class Screen:
    """The state of one open page."""

    def __init__(self, workspace: Workspace, wanted: Mapping[str, str] | None = None) -> None:
        """`wanted`: by side, `user:channel[:thread]`; whatever of it does not exist gets a default."""
        self.workspace = workspace
        self.is_inspecting = False
        self.pressed: set[tuple[str, str, str, str]] = set()
        """Feedback that was given here: channel, ts, action_id, value."""
        self._start = _newest(workspace)
        """Everything up to here counts as read."""
        self._read: dict[tuple[str, ...], str] = {}
        self._drawn: dict[tuple[str, str], dict[str, tuple[Setting, Html]]] = {}
        """Messages as they were drawn last, by channel and ts and then by the id of the element."""
        self._entries: dict[int, Html] = {}
        self._picture = Picture()
        self.halves = {side: self._half(side, (wanted or {}).get(side, "")) for side in SIDES}

    def note(self, change: Change) -> None:
        """Forget what was drawn of a message that changed."""
        if change.kind == "channel":
            self._drawn.clear()
        self._drawn.pop((change.channel, change.ts), None)

    def update(self) -> list[Json]:
        """The patches since the last call."""
        old, self._picture = self._picture, self.draw()
        return patches(old, self._picture)

    def draw(self) -> Picture:
        """Everything as it should look now."""
        picture = Picture()
        for half in self.halves.values():
            self._follow(half)
            self._mark_read(half)
        for half in self.halves.values():
            self._draw_half(half, picture)
        picture.attributes["page", "data-address"] = self.address()
        picture.attributes["page", "data-bot"] = "online" if self.workspace.online else "offline"
        picture.parts["presence"] = self._presence()
        picture.lists["log"] = self._log() if self.is_inspecting else {}
        return picture

    def address(self) -> str:
        """The query that brings a page back to here."""
        places = (
            f"{side}={quote(':'.join(filter(None, (half.user, half.channel, half.thread))), safe=':')}"
            for side, half in self.halves.items()
        )
        return "&".join(places)

    def go(self, half: Half, *, channel: str = "", user: str = "", thread: str | None = None) -> None:
        """Show another place. Raises `SlackError` for unknown ids."""
        if user:
            half.user = self.workspace.user(user).id
            half.followed = _newest(self.workspace)
            self._drawn.clear()
            if not self._may_see(half.user, self.workspace.channels[half.channel]) or half.tab == "home":
                channel = channel or self.workspace.dm_with(user).id
        if channel:
            half.channel = self.workspace.channel(channel).id
            half.tab, half.editing, half.thread = "messages", "", ""
            half.followed = _newest(self.workspace)
        if thread is not None:
            half.thread, half.editing = thread, ""

    def press(self, channel: str, ts: str, action_id: str, value: str) -> None:
        """Remember which of two feedback buttons is pressed."""
        self.pressed = {each for each in self.pressed if each[:3] != (channel, ts, action_id)}
        self.pressed.add((channel, ts, action_id, value))
        self._drawn.pop((channel, ts), None)

    # --- where things stand

    def _half(self, side: str, wanted: str) -> Half:
        user, channel, thread, *_ = [*wanted.split(":"), "", "", ""]
        people = [each.id for each in self.workspace.users.values() if not each.is_bot]
        private = next((each for each in self.workspace.channels.values() if each.is_private), None)
        if user not in self.workspace.users:
            user = private.members[0] if side == "right" and private else people[0]
        if channel not in self.workspace.channels:
            channel = private.id if side == "right" and private else self.workspace.dm_with(user).id
        return Half(side, user, channel, thread, followed=self._start)

    def _follow(self, half: Half) -> None:
        """Open the thread of this person's newest message once something happens in it."""
        kept = self.workspace.messages.get(half.channel, {})
        roots = (each for each in reversed(kept.values()) if _is_root(each) and each.get("user") == half.user)
        root = next(roots, None)
        if root is None or root["ts"] <= half.followed:
            return
        ts = root["ts"]
        if root.get("reply_count") or (half.channel, ts) in self.workspace.statuses or self._writing(half.channel, ts):
            half.thread, half.followed, half.editing = ts, ts, ""

    def _mark_read(self, half: Half) -> None:
        newest = _newest(self.workspace)
        self._read[half.user, half.channel] = newest
        if half.thread:
            self._read[half.user, half.channel, half.thread] = newest

    def _may_see(self, user: str, channel: Channel) -> bool:
        person = self.workspace.users[user]
        is_guest = person.is_restricted or person.is_ultra_restricted or person.is_stranger
        return user in channel.members or not (channel.is_im or channel.is_private or is_guest)

    def _unread(self, user: str, channel: Channel) -> int:
        """Messages of others since this person looked."""
        count = 0
        for each in reversed(self.workspace.messages.get(channel.id, {}).values()):
            if each["ts"] <= self._start:
                break
            place = (user, channel.id) if _is_root(each) else (user, channel.id, each["thread_ts"])
            if each["ts"] > self._read.get(place, self._start) and each.get("user") != user:
                count += 1
        return count

    def _writing(self, channel: str, thread: str) -> bool:
        return any(
            stream.channel == channel and stream.thread_ts == thread and stream.state == "in_progress"
            for stream in self.workspace.streams.values()
        )

    def _doing(self, channel: str, thread: str) -> str:
        """What the app is doing in a thread, in a sentence; "" for nothing."""
        name = self.workspace.app.name
        status = self.workspace.statuses.get((channel, thread), {}).get("status")
        if status:
            return f"{name} {status}"
        if self._writing(channel, thread):
            return f"{name} is writing…"
        session = self.workspace.sessions.get((channel, thread), {})
        return f"{name} is working…" if session.get("status") == "processing" else ""

    # --- drawing

    def _draw_half(self, half: Half, picture: Picture) -> None:
        side = half.side
        names = self._names(half.user)
        channel = self.workspace.channels[half.channel]
        modals = self.workspace.modals.get(half.user, [])
        session = self.workspace.sessions.get((half.channel, half.thread), {})
        is_home = half.tab == "home"
        picture.attributes |= {
            (side, "data-thread"): "open" if half.thread and not is_home else "closed",
            (side, "data-tab"): half.tab,
            (side, "data-user"): half.user,
            (f"{side}-list", "data-key"): half.channel,
            (f"{side}-thread-list", "data-key"): f"{half.channel}-{half.thread}",
            (f"{side}-frame", "inert"): "" if modals else None,
        }
        picture.parts |= {
            f"{side}-side": self._sidebar(half),
            f"{side}-head": self._head(half, channel),
            f"{side}-home": self._home(half, names) if is_home else Html(""),
            f"{side}-prompts": self._prompts(half, ""),
            f"{side}-composer": self._composer(half, channel, ""),
            f"{side}-modal": self._modal(half, modals, names),
            f"{side}-thread-head": self._thread_head(channel, session) if half.thread else Html(""),
            f"{side}-thread-status": self._status_row(half) if half.thread else Html(""),
            f"{side}-thread-prompts": self._prompts(half, half.thread) if half.thread else Html(""),
            f"{side}-thread-composer": self._composer(half, channel, half.thread) if half.thread else Html(""),
        }
        picture.lists |= {
            f"{side}-list": {} if is_home else self._channel_list(half, names),
            f"{side}-thread-list": self._thread_list(half, names) if half.thread else {},
        }

    def _names(self, viewer: str) -> Names:
        users = {user.id: user.real_name for user in self.workspace.users.values()}
        channels = {channel.id: channel.name for channel in self.workspace.channels.values()}
        return Names(users, channels, viewer=viewer, now=self.workspace.clock.time())

    def _sidebar(self, half: Half) -> Html:
        user = self.workspace.users[half.user]
        people = [each for each in self.workspace.users.values() if not each.is_bot and not each.deleted]
        options = [
            element("option", {"value": each.id, "selected": each.id == half.user}, each.real_name + _kind_of(each))
            for each in people
        ]
        select = {"data-choose": "act_as", "aria-label": f"Act as ({half.side} half)", "class": "who-select"}
        who = element(
            "div",
            {"class": "who"},
            avatar(self._person(user)),
            element(
                "div", {"class": "who-text"}, element("small", None, "Acting as"), element("b", None, user.real_name)
            ),
            icon("down"),
            element("select", select, options),
        )
        seen = [each for each in self.workspace.channels.values() if not each.is_im and self._may_see(half.user, each)]
        direct = next(
            (each for each in self.workspace.channels.values() if each.is_im and half.user in each.members), None
        )
        listed = [self._sidebar_item(half, each, each.name, "lock" if each.is_private else "hash") for each in seen]
        app = self._sidebar_item(half, direct, self.workspace.app.name, "bell")
        return join(
            [
                who,
                element("h2", None, "Channels"),
                element("ul", None, [element("li", None, each) for each in listed]),
                element("h2", None, "Apps"),
                element("ul", None, element("li", None, app)),
            ]
        )

    def _sidebar_item(self, half: Half, channel: Channel | None, name: str, drawn: str) -> Html:
        is_current = channel is not None and channel.id == half.channel
        unread = self._unread(half.user, channel) if channel and not is_current else 0
        attributes = {
            "type": "button",
            "class": "place",
            "data-do": "look",
            "data-channel": channel.id if channel else "",
            "aria-current": "page" if is_current else None,
            "data-unread": bool(unread),
        }
        light = "online" if self.workspace.online else "offline"
        return element(
            "button",
            attributes,
            icon(drawn),
            element("span", {"class": "place-name"}, name),
            element("span", {"class": f"light light-{light}", "title": light}) if drawn == "bell" else None,
            element("span", {"class": "count", "aria-label": f"{unread} unread"}, str(unread)) if unread else None,
        )

    def _head(self, half: Half, channel: Channel) -> Html:
        if not channel.is_im:
            count = len(channel.members)
            return join(
                [
                    _menu_button(),
                    icon("lock" if channel.is_private else "hash"),
                    element("h1", None, channel.name),
                    element("span", {"class": "topic"}, channel.topic) if channel.topic else None,
                    element("span", {"class": "members", "title": f"{count} members"}, icon("person"), str(count)),
                ]
            )
        tabs = [
            element(
                "button",
                {
                    "type": "button",
                    "role": "tab",
                    "aria-label": tab.title(),
                    "data-do": f"tab_{tab}",
                    "aria-selected": "true" if tab == half.tab else "false",
                },
                icon(drawn),
                element("span", {"class": "tab-name"}, tab.title()),
            )
            for tab, drawn in (("home", "home"), ("messages", "chat"))
        ]
        return join(
            [
                _menu_button(),
                avatar(self._app()),
                element("h1", None, self.workspace.app.name),
                element("span", {"class": "badge"}, "APP"),
                element("div", {"class": "tabs", "role": "tablist"}, tabs),
            ]
        )

    def _channel_list(self, half: Half, names: Names) -> dict[str, Html]:
        kept = self.workspace.messages.get(half.channel, {}).values()
        shown = [each for each in kept if _is_root(each) or each.get("subtype") == "thread_broadcast"][-MESSAGES_SHOWN:]
        shown += [each for each in self._ephemerals(half) if not each.get("thread_ts")]
        items = dict(self._items(half, sorted(shown, key=lambda each: each["ts"]), names, thread=""))
        return items or {f"{half.side}-empty": self._empty(half)}

    def _thread_list(self, half: Half, names: Names) -> dict[str, Html]:
        replies = self.workspace.replies(half.channel, half.thread)
        shown = replies[:1] + replies[1:][-MESSAGES_SHOWN:]
        shown += [each for each in self._ephemerals(half) if each.get("thread_ts") == half.thread]
        return dict(self._items(half, sorted(shown, key=lambda each: each["ts"]), names, thread=half.thread))

    def _ephemerals(self, half: Half) -> list[Json]:
        return [
            each | {"is_ephemeral": True}
            for each in self.workspace.ephemerals
            if each["user"] == half.user and each["channel"] == half.channel
        ]

    def _items(self, half: Half, shown: list[Json], names: Names, *, thread: str) -> Iterator[tuple[str, Html]]:
        """Messages with the days between them."""
        where = f"{half.side}-{'t' if thread else 'm'}-{half.channel}"
        footers = {} if thread else self._footers(half)
        day, before = "", None
        for each in shown:
            moment = local_time(each["ts"], names)
            if moment and day_name(moment, names) != day:
                day, before = day_name(moment, names), None
                yield f"{where}-{moment:%Y%m%d}", _day(f"{where}-{moment:%Y%m%d}", day)
            setting = self._setting(half, each, f"{where}-{each['ts']}", thread)
            setting = replace(
                setting, footer=footers.get(each["ts"]), is_compact=before is not None and _continues(before, each)
            )
            yield setting.id, self._message(half, each, setting, names)
            before = None if each.get("is_ephemeral") or each.get("subtype") in _SYSTEM else each
            if thread and each["ts"] == thread and len(shown) > 1:
                count = len(shown) - 1
                yield f"{where}-count", _count(f"{where}-count", count)
                before = None

    def _setting(self, half: Half, data: Json, id_: str, thread: str) -> Setting:
        is_mine = data.get("user") == half.user and not data.get("is_ephemeral") and "bot_id" not in data
        is_editing = is_mine and half.editing == id_
        return Setting(
            id_,
            self._author(data),
            half.channel,
            is_mine=is_mine,
            in_thread=bool(thread),
            is_editing=compose.to_typed(string(data.get("text")), self.workspace) if is_editing else None,
        )

    def _message(self, half: Half, data: Json, setting: Setting, names: Names) -> Html:
        """From what was drawn before, unless the message or its setting has changed."""
        drawn = self._drawn.setdefault((half.channel, data["ts"]), {})
        known = drawn.get(setting.id)
        if known is None or known[0] != setting:
            drawn[setting.id] = known = (setting, self._new_message(half, data, setting, names))
        return known[1]

    def _new_message(self, half: Half, data: Json, setting: Setting, names: Names) -> Html:
        if data.get("subtype") in _SYSTEM:
            return system(data, setting, names)
        said = self._content(half, data, setting.id, names)
        if data.get("is_ephemeral"):
            author = self._author(data | {"user": self.workspace.app.user_id})
            return ephemeral(data, said, replace(setting, author=author), names)
        return message(data, said, setting, names)

    def _content(self, half: Half, data: Json, id_: str, names: Names) -> Html:
        ts = data["ts"]
        pressed = frozenset((each[2], each[3]) for each in self.pressed if each[:2] == (half.channel, ts))
        look = Look(names, key=id_, pressed=pressed)
        stream = self.workspace.streams.get((half.channel, ts))
        if stream is None or stream.state != "in_progress":
            said = content(data, look)
            stopped = stream is not None and stream.state == "stopped"
            return join([said, element("div", {"class": "stopped"}, "Stopped") if stopped else None])
        return content(data, look, parts=stream.parts, plan_title=stream.plan_title, is_open=True)

    def _footers(self, half: Half) -> dict[str, Footer]:
        """Of the threads of the channel, by root."""
        threads: dict[str, list[Json]] = {}
        for each in self.workspace.messages.get(half.channel, {}).values():
            if each.get("thread_ts", each["ts"]) != each["ts"]:
                threads.setdefault(each["thread_ts"], []).append(each)
        footers = {root: self._footer(half, root, replies) for root, replies in threads.items()}
        for channel, root in self.workspace.statuses:
            if channel == half.channel and root not in footers:
                status = self._doing(channel, root).removeprefix(f"{self.workspace.app.name} ")
                footers[root] = Footer(0, "", status=status)
        return footers

    def _footer(self, half: Half, root: str, replies: list[Json]) -> Footer:
        latest = replies[-1]
        people = {author.id: author for author in map(self._author, replies)}
        read = self._read.get((half.user, half.channel, root), self._start)
        return Footer(
            len(replies),
            latest["ts"],
            people=tuple(people.values()),
            unread=latest["ts"] > read and latest.get("user") != half.user,
            status=self._doing(half.channel, root).removeprefix(f"{self.workspace.app.name} "),
        )

    def _author(self, data: Mapping[str, Any]) -> Author:
        named = string(data.get("username"))
        if named:
            face = string(mapping(data.get("icons")).get("emoji")).strip(":")
            return Author(named, named, badge="APP", emoji=face)
        user = self.workspace.users.get(string(data.get("user")))
        return self._person(user) if user and not user.is_bot else self._app()

    def _person(self, user: User) -> Author:
        return Author(user.id, user.real_name, badge=_kind_of(user).strip(" ()"))

    def _app(self) -> Author:
        return Author(self.workspace.app.user_id, self.workspace.app.name, is_app=True)

    def _empty(self, half: Half) -> Html:
        channel = self.workspace.channels[half.channel]
        name = self.workspace.app.name
        drawn = (
            avatar(self._app()) if channel.is_im else element("span", {"class": "avatar avatar-place"}, icon("hash"))
        )
        title, said = (
            (name, f"Ask {name} a question. It answers in a thread under your message.")
            if channel.is_im
            else (f"#{channel.name}", channel.topic or f"This is the beginning of #{channel.name}.")
        )
        return element(
            "div",
            {"class": "empty", "id": f"{half.side}-empty"},
            drawn,
            element("h2", None, title),
            element("p", None, said),
        )

    def _prompts(self, half: Half, thread: str) -> Html:
        """Suggested first messages."""
        given = self.workspace.prompts.get((half.channel, thread)) or {}
        if half.tab == "home" or (not thread and self.workspace.messages.get(half.channel)):
            given = {}
        chips = [
            element(
                "button",
                {"type": "button", "class": "prompt", "data-do": "prompt", "data-text": string(each.get("message"))},
                plain(string(each.get("title"))),
            )
            for each in map(mapping, sequence(given.get("prompts")))
        ]
        title = string(given.get("title"))
        return join([element("span", {"class": "muted"}, title) if title and chips else None, *chips])

    def _composer(self, half: Half, channel: Channel, thread: str) -> Html:
        if half.tab == "home":
            return Html("")
        if half.user not in channel.members:
            join_it = {"type": "button", "class": "button button-primary", "data-do": "join"}
            return element(
                "div", {"class": "join"}, f"You are looking at #{channel.name}", element("button", join_it, "Join")
            )
        name = self.workspace.app.name if channel.is_im else f"#{channel.name}"
        hint = "Reply…" if thread else f"Message {name}"
        field_id = f"{half.side}-text-{half.channel}{'-' + thread if thread else ''}"
        text = {
            "id": field_id,
            "rows": 1,
            "placeholder": hint,
            "aria-label": hint,
            "aria-controls": f"{field_id}-choices",
            "aria-autocomplete": "list",
            "autocomplete": "off",
        }
        return element(
            "form",
            {"class": "composer", "data-form": "send", "data-channel": half.channel, "data-thread": thread or None},
            element("ul", {"class": "completions", "id": f"{field_id}-choices", "role": "listbox", "hidden": True}),
            element("textarea", text),
            element("button", {"class": "send", "aria-label": "Send", "title": "Send (Enter)"}, icon("send")),
        )

    def _thread_head(self, channel: Channel, session: Json) -> Html:
        title = string(session.get("title"))
        place = self.workspace.app.name if channel.is_im else f"#{channel.name}"
        status = string(session.get("status"))
        shown = {"processing": "working", "suspended": "waiting for a person", "closed": "closed"}.get(status)
        close = {
            "type": "button",
            "class": "tool",
            "data-do": "close_thread",
            "aria-label": "Close the thread",
            "title": "Close",
        }
        return join(
            [
                element("button", close | {"class": "tool back"}, icon("back")),
                element("h2", None, title or "Thread"),
                element("span", {"class": "topic"}, place),
                element("span", {"class": "session", "data-session": status}, shown) if shown else None,
                element("button", close, icon("close")),
            ]
        )

    def _status_row(self, half: Half) -> Html:
        doing = self._doing(half.channel, half.thread)
        if not doing:
            return Html("")
        loading = sequence(self.workspace.statuses.get((half.channel, half.thread), {}).get("loading_messages"))
        return element(
            "div",
            {"class": "status-row", "role": "status"},
            element("span", {"class": "dots", "aria-hidden": "true"}),
            element("span", {"class": "status-text"}, doing),
            element("span", {"class": "muted loading", "data-rotate": "\n".join(map(string, loading))})
            if loading
            else None,
            element("button", {"type": "button", "class": "stop", "data-do": "stop"}, icon("stop"), "Stop"),
        )

    def _home(self, half: Half, names: Names) -> Html:
        view = self.workspace.homes.get(half.user)
        if view is None:
            said = f"{self.workspace.app.name} has not published a Home tab for {names.users[half.user]} yet."
            return element("div", {"class": "empty"}, icon("home"), element("p", None, said))
        look = Look(names, key=f"{half.side}-{string(view.get('id'))}", in_view=True)
        return element(
            "div", {"class": "home", "data-view-id": string(view.get("id"))}, blocks(view.get("blocks"), look)
        )

    def _modal(self, half: Half, modals: list[Json], names: Names) -> Html:
        if not modals:
            return Html("")
        view = modals[-1]
        id_ = f"{half.side}-{string(view.get('id'))}"
        look = Look(names, key=id_, in_view=True)

        def word(part: str, otherwise: str) -> str:
            return string(mapping(view.get(part)).get("text")) or otherwise

        close = {"type": "button", "class": "tool", "data-do": "close_view", "aria-label": word("close", "Close")}
        submit = (
            element("button", {"class": "button button-primary"}, word("submit", "")) if view.get("submit") else None
        )
        form = element(
            "form",
            {"data-form": "view", "id": id_, "novalidate": True},
            element(
                "header",
                None,
                element("button", close, icon("back")) if len(modals) > 1 else None,
                avatar(self._app()),
                element("h2", {"id": f"{id_}-title"}, word("title", "")),
                element("button", close, icon("close")),
            ),
            element("div", {"class": "modal-body"}, blocks(view.get("blocks"), look)),
            element(
                "footer",
                None,
                element("button", close | {"class": "button"}, word("close", "Cancel" if submit else "Close")),
                submit,
            ),
        )
        attributes = {"class": "modal", "role": "dialog", "aria-modal": "true", "aria-labelledby": f"{id_}-title"}
        return element("div", attributes | {"data-view-id": string(view.get("id"))}, form)

    def completions(self) -> Json:
        """What can be completed while typing: people, channels and commands."""
        people = [each.real_name for each in self.workspace.users.values() if not each.deleted]
        people.sort(key=lambda name: (name != self.workspace.app.name, name))
        return {
            "@": [[name, ""] for name in [*people, "here", "channel"]],
            "#": [[each.name, each.topic] for each in self.workspace.channels.values() if each.name],
            "/": [
                [
                    string(each.get("command")).lstrip("/"),
                    f"{each.get('usage_hint', '')}  {each.get('description', '')}".strip(),
                ]
                for each in self.workspace.commands or USUAL_COMMANDS
            ],
        }

    def _presence(self) -> Html:
        state = "online" if self.workspace.online else "offline"
        return join(
            [
                element("span", {"class": f"light light-{state}"}),
                element("span", {"class": "presence-text"}, f"{self.workspace.app.name} is {state}"),
            ]
        )

    def _log(self) -> dict[str, Html]:
        names = self._names("")
        shown = list(self.workspace.log)[-ENTRIES_SHOWN:]
        self._entries = {each["id"]: self._entries.get(each["id"]) or entry(each, names) for each in shown}
        return {f"log-{id_}": html for id_, html in self._entries.items()}


def _newest(workspace: Workspace) -> str:
    """The ts of the newest message anywhere."""
    return max((next(reversed(kept), "") for kept in workspace.messages.values()), default="")


def _is_root(data: Mapping[str, Any]) -> bool:
    return bool(data.get("thread_ts", data["ts"]) == data["ts"])


def _continues(before: Json, data: Json) -> bool:
    """Whether a message belongs under the name of the one before it."""
    if data.get("is_ephemeral") or data.get("subtype") in _SYSTEM:
        return False
    same = all(before.get(key) == data.get(key) for key in ("user", "bot_id", "username"))
    return same and not before.get("reply_count") and float(data["ts"]) - float(before["ts"]) < CLOSE_TOGETHER


def _kind_of(user: User) -> str:
    """As ` (guest)`; nothing for a full member."""
    if user.is_stranger:
        return " (other workspace)"
    return " (guest)" if user.is_restricted or user.is_ultra_restricted else ""


def _day(id_: str, day: str) -> Html:
    return element("div", {"class": "day", "id": id_, "role": "separator"}, element("span", None, day))


def _count(id_: str, count: int) -> Html:
    return element("div", {"class": "reply-count", "id": id_}, f"{count} repl{'y' if count == 1 else 'ies'}")


def _menu_button() -> Html:
    attributes = {"type": "button", "class": "tool menu-button", "data-do": "menu", "aria-label": "Channels"}
    return element("button", attributes, icon("menu"))
