"""Messages as HTML: who wrote, when, what it says (from `render`), reactions, the footer of its thread.

content     what a message says: its stream, its blocks or its text; then its files
message     a whole message around its content
ephemeral   a message that only one person sees
entry       one line of the inspector
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from local_slack import pictures
from local_slack.page.emoji import QUICK_REACTIONS
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.look import Look
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.page.markup import Names, clock_time, emoji, local_time, mrkdwn
from local_slack.page.render import blocks
from local_slack.page.stream import stream

LONGEST_PAYLOAD = 20_000
"""Characters of a payload that the inspector shows."""
LONGEST_LINE = 160

_TELLING = (
    *("channel", "channel_id", "user", "user_id", "command", "line", "action_id", "callback_id", "view", "status"),
    *("text", "markdown_text", "name", "reason", "error", "fault", "retry_reason", "open"),
)


ENTRY = {"type": "button", "role": "menuitem", "tabindex": "-1"}
"""The attributes of a menu's entry; the arrow keys reach it."""
_DELETE = json.dumps(
    {
        "title": "Delete message",
        "text": "Are you sure you want to delete this message? This cannot be undone.",
        "confirm": "Delete",
        "style": "danger",
    }
)


@dataclass(frozen=True, slots=True)
class Author:
    """How the writer of a message is shown."""

    id: str
    name: str
    is_app: bool = False
    badge: str = ""
    """A word beside the name, as `guest`."""
    emoji: str = ""
    """The name of an emoji to show instead of initials."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What stands under the root of a thread."""

    replies: int
    latest: str
    """The ts of the last reply."""
    people: tuple[Author, ...] = ()
    unread: bool = False
    status: str = ""
    """What the app is doing there, as "is looking that up..."."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a message looks like beside its content."""

    id: str
    """The element's id."""
    author: Author
    channel: str
    is_mine: bool = False
    is_compact: bool = False
    """Follows a message of the same author closely: no avatar and no name."""
    is_editing: str | None = None
    """The text in the editor, while its author is editing it."""
    in_thread: bool = False
    shortcuts: tuple[tuple[str, str], ...] = ()
    """What the app offers in the message's menu, as callback_id and name."""
    footer: Footer | None = None


def content(
    data: Mapping[str, Any], look: Look, *, parts: object = None, plan_title: str = "", is_open: bool = False
) -> Html:
    """What a message says. `parts` are those of its stream, if it was or is one."""
    listed = sequence(data.get("blocks"))
    if parts is not None:
        said = stream(parts, look, plan_title=plan_title, is_open=is_open)
    elif listed:
        said = blocks(listed, look)
    else:
        said = element("div", {"class": "section-text"}, mrkdwn(string(data.get("text")), look.names))
    attached = [
        block_list for each in sequence(data.get("attachments"))[:20] if (block_list := _attachment(each, look))
    ]
    files = [_file(mapping(each)) for each in sequence(data.get("files"))[:20]]
    return join([said, *attached, element("div", {"class": "files"}, files) if files else None])


def _attachment(item: object, look: Look) -> Html | None:
    data = mapping(item)
    inside = blocks(data.get("blocks"), look) or mrkdwn(string(data.get("text") or data.get("fallback")), look.names)
    return element("div", {"class": "attachment"}, inside) if inside else None


def _file(data: Json) -> Html:
    if data.get("mode") == "tombstone":
        return element("div", {"class": "file-chip gone"}, icon("trash"), "This file was deleted.")
    size = data.get("size")
    shown = f"{max(1, round(size / 1024)):,} kB" if isinstance(size, int) else ""
    name = string(data.get("title")) or string(data.get("name")) or "File"
    kind = "image" if string(data.get("mimetype")).startswith("image/") else "file"
    return element(
        "div", {"class": "file-chip"}, icon(kind), element("b", None, name), element("span", {"class": "muted"}, shown)
    )


def message(data: Mapping[str, Any], said: Html, setting: Setting, names: Names) -> Html:
    """A message with everything around what it says (`said`, from `content`)."""
    ts = string(data.get("ts"))
    author = setting.author
    is_open = data.get("streaming_state") == "in_progress"
    attributes = {
        "id": setting.id,
        "class": "message compact" if setting.is_compact else "message",
        "data-ts": ts,
        "data-channel": setting.channel,
        "data-author": author.id,
        "data-thread": string(data.get("thread_ts")) or None,
        "aria-busy": "true" if is_open else None,
    }
    time = element("time", {"datetime": ts, "title": _full_time(ts, names)}, clock_time(ts, names))
    name = element(
        "header",
        None,
        element("b", {"class": "author"}, author.name),
        element("span", {"class": "badge"}, "APP") if author.is_app else None,
        element("span", {"class": "badge badge-soft"}, author.badge) if author.badge else None,
        time,
    )
    is_edited = data.get("edited") and not (author.is_app or data.get("username"))
    edited = element("span", {"class": "edited"}, "(edited)") if is_edited else None
    spoken = [element("div", {"class": "said"}, said), edited]
    return element(
        "article",
        attributes,
        time if setting.is_compact else avatar(author),
        element(
            "div",
            {"class": "body"},
            None if setting.is_compact else name,
            spoken if setting.is_editing is None else _editor(setting.is_editing),
            _reactions(data, names),
            _footer(setting.footer, names) if setting.footer else None,
        ),
        _tools(is_mine=setting.is_mine, in_thread=setting.in_thread, shortcuts=setting.shortcuts),
    )


def system(data: Mapping[str, Any], setting: Setting, names: Names) -> Html:
    """A line of the channel's own, as "Agent B has joined the channel"."""
    ts = string(data.get("ts"))
    attributes = {"id": setting.id, "class": "message system", "data-ts": ts, "data-channel": setting.channel}
    time = element("time", {"datetime": ts}, clock_time(ts, names))
    said = element("div", {"class": "said"}, mrkdwn(string(data.get("text")), names))
    footer = _footer(setting.footer, names) if setting.footer else None
    return element("article", attributes, time, element("div", {"class": "body"}, said, footer))


def ephemeral(data: Mapping[str, Any], said: Html, setting: Setting, names: Names) -> Html:
    """A message that only one person sees."""
    note = element(
        "div",
        {"class": "only-you"},
        icon("eye"),
        "Only visible to you",
        element("button", {"type": "button", "class": "text-button", "data-do": "dismiss"}, "Dismiss"),
    )
    ts = string(data.get("ts"))
    name = element(
        "header",
        None,
        element("b", {"class": "author"}, setting.author.name),
        element("span", {"class": "badge"}, "APP"),
        element("time", {"datetime": ts}, clock_time(ts, names)),
    )
    return element(
        "article",
        {"id": setting.id, "class": "message ephemeral", "data-ts": ts, "data-channel": setting.channel},
        avatar(setting.author),
        element("div", {"class": "body"}, note, name, element("div", {"class": "said"}, said)),
    )


@lru_cache(maxsize=1_000)
def avatar(author: Author) -> Html:
    """Initials on a colour that stays the person's own; a bell for an app."""
    if author.emoji:
        return element("span", {"class": "avatar avatar-emoji", "aria-hidden": "true"}, emoji(author.emoji))
    if author.is_app:
        return element("span", {"class": "avatar avatar-app", "aria-hidden": "true"}, icon("bell"))
    attributes = {"class": f"avatar avatar-{pictures.colour(author.id)}", "aria-hidden": "true"}
    return element("span", attributes, pictures.initials(author.name))


def _full_time(ts: str, names: Names) -> str:
    moment = local_time(ts, names)
    return f"{moment:%A, %d %B %Y %H:%M:%S}" if moment else ts


def _editor(source: str) -> Html:
    return element(
        "form",
        {"class": "editor", "data-form": "edit"},
        element("textarea", {"aria-label": "Edit the message", "rows": 2}, source),
        element("button", {"type": "button", "class": "button", "data-do": "cancel_edit"}, "Cancel"),
        element("button", {"class": "button button-primary"}, "Save"),
    )


def _reactions(data: Mapping[str, Any], names: Names) -> Html | None:
    chips = []
    for each in map(mapping, sequence(data.get("reactions"))[:30]):
        name, users = string(each.get("name")), [string(user) for user in sequence(each.get("users"))]
        who = ", ".join(names.users.get(user, user) for user in users)
        mine = "true" if names.viewer in users else "false"
        attributes = {
            "class": "reaction",
            "type": "button",
            "data-do": "react",
            "data-name": name,
            "aria-pressed": mine,
            "title": f"{who} reacted with :{name}:",
        }
        chips.append(
            element(
                "button",
                attributes,
                emoji(name),
                " ",
                element("span", None, string(each.get("count")) or str(len(users))),
            )
        )
    return element("div", {"class": "reactions"}, chips) if chips else None


def _footer(footer: Footer, names: Names) -> Html:
    count = f"{footer.replies} repl{'y' if footer.replies == 1 else 'ies'}"
    shown = [
        element("span", {"class": "faces"}, [avatar(each) for each in footer.people[:3]]) if footer.people else None,
        element("b", None, count) if footer.replies else None,
    ]
    if footer.status:
        shown.append(element("span", {"class": "doing"}, element("span", {"class": "dots"}), footer.status))
    elif footer.replies:
        shown.append(element("span", {"class": "muted"}, f"last at {clock_time(footer.latest, names)}"))
    attributes = {"class": "thread-footer", "type": "button", "data-do": "thread"}
    return element("button", attributes | {"data-unread": footer.unread}, shown)


@cache
def _tools(*, is_mine: bool, in_thread: bool, shortcuts: tuple[tuple[str, str], ...]) -> Html:
    """The buttons that appear over a message under the pointer or the focus."""

    def tool(what: str, drawn: str, label: str) -> Html:
        named = {"aria-label": label, "title": label, "tabindex": "-1"}
        attributes = {"type": "button", "class": "tool", "data-do": what, **named}
        return element("button", attributes, icon(drawn))

    reactions = [
        element(
            "button",
            ENTRY | {"data-do": "react", "data-name": name, "aria-label": f"React with {name}"},
            emoji(name),
        )
        for name in QUICK_REACTIONS
    ]
    more = {"class": "tool", "aria-label": "More actions", "title": "More actions", "tabindex": "-1"}
    picker = element(
        "details",
        {"class": "menu"},
        element("summary", {"class": "tool", "aria-label": "Add a reaction", "title": "Add a reaction"}, icon("smile")),
        element("div", {"class": "menu-list menu-row", "role": "menu", "aria-label": "Reactions"}, reactions),
    )
    return element(
        "div",
        {"class": "tools", "role": "toolbar", "aria-label": "Message actions", "data-rove": "row"},
        picker,
        None if in_thread else tool("thread", "thread", "Reply in thread"),
        element(
            "details",
            {"class": "menu"},
            element("summary", more, icon("more")),
            element(
                "div",
                {"class": "menu-list", "role": "menu", "aria-label": "This message"},
                _more(is_mine=is_mine, shortcuts=shortcuts),
            ),
        ),
    )


def _more(*, is_mine: bool, shortcuts: tuple[tuple[str, str], ...]) -> list[Html]:
    """What the menu of a message offers."""

    def entry(what: str, drawn: str, label: str, **attributes: str) -> Html:
        named = {"data-do": what, **{f"data-{name}": value for name, value in attributes.items()}}
        return element("button", ENTRY | named, icon(drawn), label)

    own = [
        entry("edit_here", "pencil", "Edit message"),
        entry("delete", "trash", "Delete message…", confirm=_DELETE),
    ]
    offered = [entry("shortcut", "bolt", name, name=callback_id) for callback_id, name in shortcuts]
    return [entry("copy_link", "link", "Copy link"), *(own if is_mine else ()), *offered]


def entry(data: Mapping[str, Any], names: Names) -> Html:
    """One line of the workspace's log with its payload."""
    kind, ok = string(data.get("kind")), bool(data.get("ok"))
    moment = local_time(data.get("time") or 0.0, names)
    detail = data.get("detail")
    written = json.dumps(detail, indent=2, ensure_ascii=False, default=str)[:LONGEST_PAYLOAD]
    return element(
        "details",
        {"id": f"log-{string(data.get('id'))}", "class": "entry", "data-kind": kind, "data-ok": "yes" if ok else "no"},
        element(
            "summary",
            None,
            element("time", None, f"{moment:%H:%M:%S}" if moment else ""),
            element("span", {"class": f"kind kind-{kind}"}, kind),
            element("span", {"class": "entry-name"}, string(data.get("name"))),
            element("span", {"class": "entry-about"}, _about(mapping(detail))),
            element("span", {"class": "entry-state"}, _outcome(data, ok=ok)),
        ),
        element("pre", None, element("code", None, written)),
    )


def _about(detail: Json) -> str:
    """What tells one line from the next: where, by whom and in what words."""
    payload = mapping(detail.get("payload"))
    asked = mapping(detail.get("args")) or mapping(payload.get("event")) or payload or detail
    told = (" ".join(string(asked.get(name)).split()) for name in _TELLING)
    return " · ".join(filter(None, told))[:LONGEST_LINE]


def _outcome(data: Mapping[str, Any], *, ok: bool) -> str:
    """`ok`, or the error's name where the payload tells it."""
    if ok:
        return "ok"
    detail = mapping(data.get("detail"))
    answer = mapping(detail.get("answer") or detail.get("response"))
    return string(answer.get("error")) or string(detail.get("error")) or "failed"
