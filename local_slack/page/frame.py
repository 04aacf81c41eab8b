"""What stands around the messages of a half: sidebar, heads, composers, the status row, Home and modals."""

from collections.abc import Mapping

from local_slack.page.half import Half, app, doing, may_see, person, shortcuts, standing
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.look import Look
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.page.markup import Names, plain
from local_slack.page.message import ENTRY, avatar
from local_slack.page.render import blocks
from local_slack.workspace import Channel, Workspace

USUAL_COMMANDS = (
    {"command": "/kb", "usage_hint": "status | refresh | search <text>", "description": "Manage the knowledge base"},
)
"""Offered while the workspace does not know which commands the app has."""

NOTHING = Html("")


def sidebar(workspace: Workspace, half: Half, unread: Mapping[str, int]) -> Html:
    """The act-as switch, the channels and the app. `unread`: how many messages by channel."""
    seen = [each for each in workspace.channels.values() if not each.is_im and may_see(workspace, half.user, each)]
    direct = [each for each in workspace.channels.values() if each.is_im and half.user in each.members]
    is_closed = workspace.keeps_out(workspace.users[half.user])
    channels = [_place(half, each, each.name, _channel_icon(each), unread) for each in seen]
    state = presence_state(workspace)
    light = element("span", {"class": f"light light-{state}", "title": state})
    private = direct[0] if direct else None
    apps = [] if is_closed else [_place(half, private, workspace.app.name, "bell", unread, light)]
    return join(
        [
            _who(workspace, half),
            _seek(is_stop=half.channel not in {each.id for each in (*seen, *direct)}),
            element("h3", None, "Channels"),
            element("ul", None, [element("li", None, each) for each in channels]),
            element("h3", None, "Apps"),
            element("ul", None, [element("li", None, each) for each in apps]),
        ]
    )


def _who(workspace: Workspace, half: Half) -> Html:
    user = workspace.users[half.user]
    people = [each for each in workspace.users.values() if not each.is_bot and not each.deleted]
    options = [
        element(
            "option",
            {"value": each.id, "selected": each.id == half.user},
            each.real_name + (f" ({standing(each)})" if standing(each) else ""),
        )
        for each in people
    ]
    select = {"data-choose": "act_as", "aria-label": f"Act as ({half.side} half)", "class": "who-select"}
    shown = [element("small", None, "Acting as"), element("b", None, user.real_name)]
    return element(
        "div",
        {"class": "who"},
        avatar(person(user)),
        element("div", {"class": "who-text"}, shown),
        icon("down"),
        element("select", select, options),
    )


def _seek(*, is_stop: bool) -> Html:
    """The way to the search. It is a stop of the Tab key itself where no place in the sidebar is the shown one."""
    keyboard = {"aria-keyshortcuts": "Control+K", "tabindex": "0" if is_stop else "-1"}
    attributes = {"type": "button", "class": "place seek", "data-do": "search_open"}
    keys = element("span", {"class": "keys", "aria-hidden": "true"}, "Ctrl K")
    return element(
        "button", attributes | keyboard, icon("search"), element("span", {"class": "place-name"}, "Search"), keys
    )


def _place(
    half: Half, channel: Channel | None, name: str, drawn: str, unread: Mapping[str, int], light: Html | None = None
) -> Html:
    id_ = channel.id if channel else ""
    is_current = id_ == half.channel
    count = 0 if is_current else unread.get(id_, 0)
    attributes = {
        "type": "button",
        "class": "place",
        "data-do": "look",
        "data-channel": id_,
        "aria-current": "page" if is_current else None,
        "tabindex": None if is_current else "-1",
        "data-unread": bool(count),
    }
    return element(
        "button",
        attributes,
        icon(drawn),
        element("span", {"class": "place-name"}, name),
        light,
        element("span", {"class": "count", "aria-label": f"{count} unread"}, str(count)) if count else None,
    )


def head(workspace: Workspace, half: Half) -> Html:
    """The name of the channel, or of the app with its tabs."""
    channel = workspace.channels[half.channel]
    menu = {"type": "button", "class": "tool menu-button", "data-do": "menu", "aria-label": "Channels and apps"}
    opener = element("button", menu, icon("menu"))
    if not channel.is_im:
        count = len(channel.members)
        return join(
            [
                opener,
                icon(_channel_icon(channel)),
                element("h2", None, channel.name),
                element("span", {"class": "topic"}, channel.topic) if channel.topic else None,
                element("span", {"class": "members", "title": f"{count} members"}, icon("person"), str(count)),
            ]
        )
    tabs = [_tab(half, "home", "home"), _tab(half, "messages", "chat")]
    return join(
        [
            opener,
            avatar(app(workspace)),
            element("h2", None, workspace.app.name),
            element("span", {"class": "badge"}, "APP"),
            element("div", {"class": "tabs", "role": "tablist", "aria-label": "Views", "data-rove": "row"}, tabs),
        ]
    )


def _tab(half: Half, name: str, drawn: str) -> Html:
    attributes = {
        "type": "button",
        "role": "tab",
        "aria-label": name.title(),
        "data-do": f"tab_{name}",
        "aria-selected": "true" if name == half.tab else "false",
        "tabindex": None if name == half.tab else "-1",
    }
    return element("button", attributes, icon(drawn), element("span", {"class": "tab-name"}, name.title()))


def empty(workspace: Workspace, half: Half) -> Html:
    """What stands where nothing has been said yet."""
    channel = workspace.channels[half.channel]
    if channel.is_im:
        drawn, title = avatar(app(workspace)), workspace.app.name
        said = f"Ask {title} a question. It answers in a thread under your message."
    else:
        drawn = element("span", {"class": "avatar avatar-place"}, icon(_channel_icon(channel)))
        title, said = f"#{channel.name}", channel.topic or f"This is the beginning of #{channel.name}."
    words = [element("h3", None, title), element("p", None, said)]
    return element("div", {"class": "empty", "id": f"{half.side}-empty"}, drawn, words)


def prompts(workspace: Workspace, half: Half, thread: str) -> Html:
    """Suggested messages; those of a whole direct message while no conversation in it is open."""
    given = _suggested(workspace, half, thread)
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


def _suggested(workspace: Workspace, half: Half, thread: str) -> Json:
    """What the app suggests here, or else its manifest; a plain app has no manifest that does."""
    if half.tab == "home" or (not thread and half.thread):
        return {}
    static = {"prompts": workspace.suggested_prompts} if workspace.channels[half.channel].is_im and not thread else {}
    return workspace.prompts.get((half.channel, thread)) or static


def composer(workspace: Workspace, half: Half, thread: str) -> Html:
    """Where one writes, or joins first."""
    channel = workspace.channels[half.channel]
    if half.tab == "home":
        return NOTHING
    if half.user not in channel.members:
        enter = element("button", {"type": "button", "class": "button button-primary", "data-do": "join"}, "Join")
        return element("div", {"class": "join"}, f"You are looking at #{channel.name}", enter)
    if channel.is_im and workspace.keeps_out(workspace.users[half.user]):
        return element("div", {"class": "join"}, f"{workspace.app.name} is closed to guests")
    if channel.is_im and workspace.kind == "assistant" and not thread:
        begin = {"type": "button", "class": "button button-primary", "data-do": "new_chat"}
        words = f"Each chat with {workspace.app.name} is a thread of its own"
        return element("div", {"class": "join"}, words, element("button", begin, "New chat"))
    hint = "Reply…" if thread else f"Message {_name(workspace, channel)}"
    id_ = f"{half.side}-text-{channel.id}{'-' + thread if thread else ''}"
    text = {
        "id": id_,
        "rows": 1,
        "placeholder": hint,
        "aria-label": hint,
        "aria-controls": f"{id_}-choices",
        "aria-autocomplete": "list",
        "autocomplete": "off",
    }
    return element(
        "form",
        {"class": "composer", "data-form": "send", "data-channel": channel.id, "data-thread": thread or None},
        element("ul", {"class": "completions", "id": f"{id_}-choices", "role": "listbox", "hidden": True}),
        _attached(),
        _adding(workspace),
        element("textarea", text),
        element("button", {"class": "send", "aria-label": "Send", "title": "Send (Enter)"}, icon("send")),
    )


def _adding(workspace: Workspace) -> Html:
    """The way to attach a file; a menu where the app offers global shortcuts besides."""
    attributes = {"type": "button", "class": "attach", "aria-label": "Attach a file", "title": "Attach a file"}
    offered = [
        element("button", ENTRY | {"data-do": "global_shortcut", "data-name": id_}, icon("bolt"), name)
        for id_, name in shortcuts(workspace, "global")
    ]
    if not offered:
        return element("button", attributes, icon("clip"))
    opener = {"class": "adding", "aria-label": "Attach a file or run a shortcut", "title": "Files and shortcuts"}
    return element(
        "details",
        {"class": "menu"},
        element("summary", opener, icon("plus")),
        element(
            "div",
            {"class": "menu-list", "role": "menu", "aria-label": "Files and shortcuts"},
            element("button", ENTRY | {"class": "attach"}, icon("clip"), "Attach a file"),
            element("div", {"class": "menu-title", "role": "presentation"}, workspace.app.name),
            offered,
        ),
    )


def _attached() -> Html:
    """The file that goes with the next message; the page's script shows which."""
    remove = {"type": "button", "class": "tool detach", "aria-label": "Remove the file"}
    return element(
        "div",
        {"class": "attached", "hidden": True},
        icon("file"),
        element("span", None),
        element("button", remove, icon("close")),
        element("input", {"type": "file", "name": "file", "aria-label": "File", "tabindex": "-1"}),
    )


def thread_head(workspace: Workspace, half: Half) -> Html:
    """The thread's title and the state of the agent's session."""
    session = workspace.sessions.get((half.channel, half.thread), {})
    status = string(session.get("status"))
    shown = {"processing": "working", "suspended": "waiting for a person", "closed": "closed"}.get(status)
    close = {"type": "button", "class": "tool", "data-do": "close_thread", "aria-label": "Close the thread"}
    return join(
        [
            element("button", close | {"class": "tool back"}, icon("back")),
            element("h2", None, string(session.get("title")) or "Thread"),
            element("span", {"class": "topic"}, _name(workspace, workspace.channels[half.channel])),
            element("span", {"class": "session", "data-session": status}, shown) if shown else None,
            element("button", close, icon("close")),
        ]
    )


def status_row(workspace: Workspace, half: Half) -> Html:
    """What the app is doing in the open thread, with the way to stop it."""
    status = doing(workspace, half.channel, half.thread)
    if not status:
        return NOTHING
    given = workspace.statuses.get((half.channel, half.thread), {})
    loading = "\n".join(map(string, sequence(given.get("loading_messages"))))
    stop = {"type": "button", "class": "stop", "data-do": "stop"}
    return element(
        "div",
        {"class": "status-row", "role": "status"},
        element("span", {"class": "dots", "aria-hidden": "true"}),
        element("span", {"class": "status-text"}, f"{workspace.app.name} {status}"),
        element("span", {"class": "muted loading", "data-rotate": loading}) if loading else None,
        element("button", stop, icon("stop"), "Stop") if workspace.has_stop_button else None,
    )


def home(workspace: Workspace, half: Half, names: Names) -> Html:
    """The app's Home tab for this person."""
    view = workspace.homes.get(half.user)
    if view is None:
        said = f"{workspace.app.name} has not published a Home tab for {names.users[half.user]} yet."
        return element("div", {"class": "empty"}, icon("home"), element("p", None, said))
    id_ = string(view.get("id"))
    look = Look(names, key=f"{half.side}-{id_}", in_view=True)
    return element("div", {"class": "home", "data-view-id": id_}, blocks(view.get("blocks"), look))


def modal(workspace: Workspace, half: Half, names: Names) -> Html:
    """The topmost open view of this person."""
    stack = workspace.modals.get(half.user)
    if not stack:
        return NOTHING
    view = stack[-1]
    id_ = f"{half.side}-{string(view.get('id'))}"
    sends = _word(view, "submit")
    submit = element("button", {"class": "button button-primary"}, sends) if sends else None
    leave = _word(view, "close") or ("Cancel" if submit else "Close")
    close = {"type": "button", "class": "tool", "data-do": "close_view", "aria-label": leave}
    top = [
        element("button", close, icon("back")) if len(stack) > 1 else None,
        avatar(app(workspace)),
        element("h2", {"id": f"{id_}-title"}, _word(view, "title")),
        element("button", close, icon("close")),
    ]
    look = Look(names, key=id_, in_view=True)
    form = element(
        "form",
        {"data-form": "view", "id": id_, "novalidate": True},
        element("header", None, top),
        element("div", {"class": "modal-body"}, blocks(view.get("blocks"), look)),
        element("footer", None, element("button", close | {"class": "button"}, leave), submit),
    )
    attributes = {"class": "modal", "role": "dialog", "aria-modal": "true", "aria-labelledby": f"{id_}-title"}
    return element("div", attributes | {"data-view-id": string(view.get("id"))}, form)


def presence(workspace: Workspace) -> Html:
    """The light of the app, in words."""
    state = presence_state(workspace)
    words = element("span", {"class": "presence-text"}, f"{workspace.app.name} is {state}")
    return join([element("span", {"class": f"light light-{state}"}), words])


def presence_state(workspace: Workspace) -> str:
    return "online" if workspace.online else "offline"


def completions(workspace: Workspace) -> Json:
    """What can be completed while typing, by its mark: each with a word about it, a shortcut with its callback_id."""
    people = [each.real_name for each in workspace.users.values() if not each.deleted]
    people.sort(key=lambda name: (name != workspace.app.name, name))
    commands = [
        (string(each.get("command")), f"{string(each.get('usage_hint'))}  {string(each.get('description'))}")
        for each in workspace.commands or USUAL_COMMANDS
    ]
    everywhere = [[name, workspace.app.name, id_] for id_, name in shortcuts(workspace, "global")]
    return {
        "@": [[name, ""] for name in [*people, "here", "channel"]],
        "#": [[each.name, each.topic] for each in workspace.channels.values() if each.name],
        "/": [*([command.lstrip("/"), about.strip()] for command, about in commands), *everywhere],
    }


def _name(workspace: Workspace, channel: Channel) -> str:
    return workspace.app.name if channel.is_im else f"#{channel.name}"


def _channel_icon(channel: Channel) -> str:
    return "lock" if channel.is_private else "hash"


def _word(view: Json, part: str) -> str:
    return string(mapping(view.get(part)).get("text"))
