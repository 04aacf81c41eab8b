"""The messages of a channel or thread as a list of elements, each drawn anew only when it changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from local_slack.page import compose
from local_slack.page.half import Half, app, author, doing, is_root, shortcuts
from local_slack.page.html import Html, element, join
from local_slack.page.look import Look
from local_slack.page.loose import Json, string
from local_slack.page.markup import Names, day_name, local_time
from local_slack.page.message import Author, Footer, Setting, content, ephemeral, message, system
from local_slack.workspace import Workspace

MESSAGES_SHOWN = 200
"""The newest of a channel or thread."""
CLOSE_TOGETHER = 300
"""Seconds within which messages of one person stand under one name."""

_SYSTEM = frozenset({"channel_join", "channel_leave", "channel_topic", "group_join", "tombstone"})


class Conversations:
    """Draws what is said in either half."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pressed: dict[tuple[str, str], dict[str, str]] = {}
        """Feedback that was given on this page: by channel and ts, the value by action_id."""
        self._drawn: dict[tuple[str, str], dict[str, tuple[Setting, Html]]] = {}
        """Messages as they were drawn last, by channel and ts and then by the id of the element."""

    def forget(self, channel: str = "", ts: str = "") -> None:
        """Draw this message anew the next time, or all."""
        if ts:
            self._drawn.pop((channel, ts), None)
        else:
            self._drawn.clear()

    def press(self, channel: str, ts: str, action_id: str, value: str) -> None:
        """Remember which of two feedback buttons is pressed."""
        self._pressed.setdefault((channel, ts), {})[action_id] = value
        self.forget(channel, ts)

    def channel(self, half: Half, names: Names, read: Mapping[tuple[str, ...], str], *, since: str) -> dict[str, Html]:
        """The channel's own messages by element id. `read`: what was seen up to which ts, else up to `since`."""
        kept = self._workspace.messages.get(half.channel, {}).values()
        shown = [each for each in kept if is_root(each) or each.get("subtype") == "thread_broadcast"][-MESSAGES_SHOWN:]
        shown += [each for each in self._ephemerals(half) if not each.get("thread_ts")]
        return dict(self._items(half, shown, names, footers=self._footers(half, read, since)))

    def thread(self, half: Half, names: Names) -> dict[str, Html]:
        """The root and replies of the open thread by element id."""
        replies = self._workspace.replies(half.channel, half.thread)
        shown = replies[:1] + replies[1:][-MESSAGES_SHOWN:]
        shown += [each for each in self._ephemerals(half) if each.get("thread_ts") == half.thread]
        return dict(self._items(half, shown, names, footers=None))

    def _ephemerals(self, half: Half) -> list[Json]:
        return [
            each | {"is_ephemeral": True}
            for each in self._workspace.ephemerals
            if each["user"] == half.user and each["channel"] == half.channel
        ]

    def _items(
        self, half: Half, shown: list[Json], names: Names, *, footers: Mapping[str, Footer] | None
    ) -> Iterator[tuple[str, Html]]:
        """Messages with the days between them. Without `footers` it is a thread, whose root is set apart."""
        in_thread = footers is None
        where = f"{half.side}-{'t' if in_thread else 'm'}-{half.channel}"
        day, before = "", None
        for each in sorted(shown, key=lambda message: str(message["ts"])):
            moment = local_time(each["ts"], names)
            if moment and day_name(moment, names) != day:
                day, before = day_name(moment, names), None
                yield f"{where}-{moment:%Y%m%d}", _day(f"{where}-{moment:%Y%m%d}", day)
            setting = self._setting(half, each, f"{where}-{each['ts']}")
            setting = replace(
                setting,
                in_thread=in_thread,
                footer=(footers or {}).get(each["ts"]),
                is_compact=before is not None and _continues(before, each),
            )
            yield setting.id, self._message(half, each, setting, names)
            before = each
            if in_thread and each["ts"] == half.thread and _replies(shown):
                yield f"{where}-count", _count(f"{where}-count", _replies(shown))
                before = None

    def _setting(self, half: Half, data: Json, id_: str) -> Setting:
        is_mine = data.get("user") == half.user and not data.get("is_ephemeral") and "bot_id" not in data
        is_editing = is_mine and half.editing == id_
        source = compose.to_typed(string(data.get("text")), self._workspace) if is_editing else None
        offered = shortcuts(self._workspace, "message")
        return Setting(id_, self._author(data), half.channel, is_mine=is_mine, is_editing=source, shortcuts=offered)

    def _author(self, data: Json) -> Author:
        """An ephemeral's "user" is the one who sees it; it comes from the app or under a name of its own."""
        named = bool(data.get("username"))
        return app(self._workspace) if data.get("is_ephemeral") and not named else author(self._workspace, data)

    def _message(self, half: Half, data: Json, setting: Setting, names: Names) -> Html:
        drawn = self._drawn.setdefault((half.channel, data["ts"]), {})
        known = drawn.get(setting.id)
        if known is None or known[0] != setting:
            drawn[setting.id] = known = (setting, self._draw(half, data, setting, names))
        return known[1]

    def _draw(self, half: Half, data: Json, setting: Setting, names: Names) -> Html:
        if data.get("subtype") in _SYSTEM:
            return system(data, setting, names)
        said = self._content(half, data, setting.id, names)
        return (ephemeral if data.get("is_ephemeral") else message)(data, said, setting, names)

    def _content(self, half: Half, data: Json, id_: str, names: Names) -> Html:
        place = (half.channel, data["ts"])
        look = Look(names, key=id_, pressed=frozenset(self._pressed.get(place, {}).items()))
        stream = self._workspace.streams.get(place)
        if stream is not None and stream.state == "in_progress":
            return content(data, look, parts=stream.parts, plan_title=stream.plan_title, is_open=True)
        is_stopped = stream is not None and stream.state == "stopped"
        return join([content(data, look), element("div", {"class": "stopped"}, "Stopped") if is_stopped else None])

    def _footers(self, half: Half, read: Mapping[tuple[str, ...], str], since: str) -> dict[str, Footer]:
        """Of the threads of the channel, by root."""
        busy = (root for channel, root in self._workspace.statuses if channel == half.channel)
        threads: dict[str, list[Json]] = {root: [] for root in busy}
        for each in self._workspace.messages.get(half.channel, {}).values():
            if not is_root(each):
                threads.setdefault(each["thread_ts"], []).append(each)
        return {
            root: self._footer(half, root, replies, read.get((half.user, half.channel, root), since))
            for root, replies in threads.items()
        }

    def _footer(self, half: Half, root: str, replies: list[Json], read: str) -> Footer:
        latest = replies[-1] if replies else {"ts": "", "user": half.user}
        people = {each.id: each for each in map(self._author, replies)}
        return Footer(
            len(replies),
            latest["ts"],
            people=tuple(people.values()),
            unread=latest["ts"] > read and latest.get("user") != half.user,
            status=doing(self._workspace, half.channel, root),
        )


def _continues(before: Json, data: Json) -> bool:
    """Whether a message belongs under the name above it. What apps write stands for itself."""
    if any("bot_id" in each or each.get("is_ephemeral") or each.get("subtype") in _SYSTEM for each in (before, data)):
        return False
    is_close = float(data["ts"]) - float(before["ts"]) < CLOSE_TOGETHER
    return is_close and before.get("user") == data.get("user") and not before.get("reply_count")


def _day(id_: str, day: str) -> Html:
    return element("div", {"class": "day", "id": id_, "role": "separator"}, element("span", None, day))


def _replies(shown: Sequence[Json]) -> int:
    """How many of a whole thread's messages are replies that everybody sees."""
    return sum(not each.get("is_ephemeral") for each in shown) - 1


def _count(id_: str, count: int) -> Html:
    return element("div", {"class": "reply-count", "id": id_}, f"{count} repl{'y' if count == 1 else 'ies'}")
