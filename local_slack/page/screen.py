"""What one browser shows of the workspace: two halves, each seen through the eyes of one person.

`Screen.update` gives the patches since the last call; whatever changed, the next picture has it.
"""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from local_slack.changes import Change
from local_slack.page import frame, search
from local_slack.page.conversation import Conversations
from local_slack.page.half import Half, first_place, is_root, is_writing, may_see, names, newest, open_half
from local_slack.page.html import Html
from local_slack.page.loose import Json
from local_slack.page.message import entry
from local_slack.page.picture import Picture, patches
from local_slack.workspace import Channel, SlackError, Workspace

SIDES = ("left", "right")
ENTRIES_SHOWN = 300


class Screen:
    """The state of one open page."""

    def __init__(self, workspace: Workspace, wanted: Mapping[str, str] | None = None) -> None:
        """`wanted`: by side, `user:channel[:thread]`."""
        self.workspace = workspace
        self.halves = {side: open_half(workspace, side, (wanted or {}).get(side, "")) for side in SIDES}
        self.conversations = Conversations(workspace)
        self.is_inspecting = False
        self.panels: list[Callable[[], Mapping[str, Html]]] = []
        """Draw the parts of the page beside the halves, by element id."""
        self._since = newest(workspace)
        """Everything up to here counts as read."""
        self._read: dict[tuple[str, ...], str] = {}
        """By (user, channel) and (user, channel, thread): seen up to this ts."""
        self._entries: dict[int, Html] = {}
        self._picture = Picture()

    def note(self, change: Change) -> None:
        """Hear of a change in the workspace."""
        if change.ts or change.kind == "channel":
            self.conversations.forget(change.channel, change.ts)

    def update(self) -> list[Json]:
        """The patches since the last call."""
        old, self._picture = self._picture, self.draw()
        return patches(old, self._picture)

    def go(self, half: Half, *, channel: str = "", user: str = "", thread: str | None = None) -> None:
        """Show another place. Raises `SlackError` for unknown ids and places this person may not see."""
        if user:
            half.user = self.workspace.user(user).id
            half.followed = newest(self.workspace)
            self.conversations.forget()
            if half.tab == "home" or not may_see(self.workspace, half.user, self.workspace.channels[half.channel]):
                channel = channel or first_place(self.workspace, user)
        if channel:
            place = self.workspace.channel(channel)
            if not may_see(self.workspace, half.user, place):
                raise SlackError("not_in_channel")
            half.channel, half.thread, half.tab, half.editing = place.id, "", "messages", ""
            half.followed = newest(self.workspace)
        if thread is not None:
            half.thread, half.editing = thread, ""

    def address(self) -> str:
        """The query that brings a page back to here."""
        places = {
            side: ":".join(filter(None, (half.user, half.channel, half.thread))) for side, half in self.halves.items()
        }
        return "&".join(f"{side}={quote(place, safe=':')}" for side, place in places.items())

    def draw(self) -> Picture:
        """Everything as it should look now."""
        picture = Picture()
        for half in self.halves.values():
            self._follow(half)
            self._mark_read(half)
        for half in self.halves.values():
            self._draw_half(half, picture)
        picture.attributes["page", "data-address"] = self.address()
        picture.attributes["page", "data-bot"] = frame.presence_state(self.workspace)
        picture.parts["presence"] = frame.presence(self.workspace)
        for draw in self.panels:
            picture.parts |= draw()
        picture.lists["log"] = self._log() if self.is_inspecting else {}
        return picture

    def _follow(self, half: Half) -> None:
        """Open the thread of this person's newest message once something happens in it."""
        kept = self.workspace.messages.get(half.channel, {})
        roots = (each for each in reversed(kept.values()) if is_root(each) and each.get("user") == half.user)
        root = next(roots, None)
        if root is None or root["ts"] <= half.followed:
            return
        place = (half.channel, root["ts"])
        if root.get("reply_count") or place in self.workspace.statuses or is_writing(self.workspace, *place):
            half.thread = half.followed = root["ts"]
            half.editing = ""

    def _mark_read(self, half: Half) -> None:
        now = newest(self.workspace)
        self._read[half.user, half.channel] = now
        if half.thread:
            self._read[half.user, half.channel, half.thread] = now

    def _unread(self, user: str, channel: Channel) -> int:
        """Messages of others since this person looked."""
        count = 0
        for each in reversed(self.workspace.messages.get(channel.id, {}).values()):
            if each["ts"] <= self._since:
                break
            place = (user, channel.id) if is_root(each) else (user, channel.id, each["thread_ts"])
            count += each["ts"] > self._read.get(place, self._since) and each.get("user") != user
        return count

    def _draw_half(self, half: Half, picture: Picture) -> None:
        side, workspace = half.side, self.workspace
        known = names(workspace, half.user)
        unread = {each.id: self._unread(half.user, each) for each in workspace.channels.values()}
        is_home, has_thread = half.tab == "home", bool(half.thread) and half.tab != "home"
        said = {} if is_home else self.conversations.channel(half, known, self._read, since=self._since)
        picture.attributes |= {
            (side, "data-thread"): "open" if has_thread else "closed",
            (side, "data-tab"): half.tab,
            (side, "data-user"): half.user,
            (f"{side}-list", "data-key"): half.channel,
            (f"{side}-thread-list", "data-key"): f"{half.channel}-{half.thread}",
            (f"{side}-frame", "inert"): "" if workspace.modals.get(half.user) or half.searched is not None else None,
        }
        picture.parts |= {
            f"{side}-side": frame.sidebar(workspace, half, unread),
            f"{side}-head": frame.head(workspace, half),
            f"{side}-home": frame.home(workspace, half, known) if is_home else frame.NOTHING,
            f"{side}-prompts": frame.prompts(workspace, half, ""),
            f"{side}-composer": frame.composer(workspace, half, ""),
            f"{side}-search": search.box(workspace, half),
            f"{side}-modal": frame.modal(workspace, half, known),
            f"{side}-thread-head": frame.thread_head(workspace, half) if has_thread else frame.NOTHING,
            f"{side}-thread-status": frame.status_row(workspace, half) if has_thread else frame.NOTHING,
            f"{side}-thread-prompts": frame.prompts(workspace, half, half.thread) if has_thread else frame.NOTHING,
            f"{side}-thread-composer": frame.composer(workspace, half, half.thread) if has_thread else frame.NOTHING,
        }
        picture.lists |= {
            f"{side}-list": said if said or is_home else {f"{side}-empty": frame.empty(workspace, half)},
            f"{side}-thread-list": self.conversations.thread(half, known) if has_thread else {},
        }

    def _log(self) -> dict[str, Html]:
        """The newest lines; a line never changes."""
        known = names(self.workspace, "")
        shown = list(self.workspace.log)[-ENTRIES_SHOWN:]
        self._entries = {each["id"]: self._entries.get(each["id"]) or entry(each, known) for each in shown}
        return {f"log-{id_}": html for id_, html in self._entries.items()}
