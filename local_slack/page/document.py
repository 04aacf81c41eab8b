"""The page as it looks before anything has changed: the bar, two empty halves to be filled, the inspector."""

import json

from local_slack.page import frame
from local_slack.page.faults_panel import Breaking, panel
from local_slack.page.guide import Tour
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.picture import Picture
from local_slack.page.screen import SIDES, Screen
from local_slack.page.tour import strip

WHOSE = {"left": "Customer's", "right": "Agents'"}


def document(
    screen: Screen, *, hint: str, notice: str, world: tuple[str, ...], tour: Tour, breaking: Breaking | None
) -> str:
    """The whole page as it looks at first."""
    picture = screen.draw()
    attributes = {name: value for (id_, name), value in picture.attributes.items() if id_ == "page"}
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", None, f"{screen.workspace.team.name} · {screen.workspace.app.name}"),
        element("link", {"rel": "icon", "href": "/static/mark.svg"}),
        element("link", {"rel": "stylesheet", "href": "/static/page.css"}),
        element("link", {"rel": "stylesheet", "href": "/static/blocks.css"}),
        element("link", {"rel": "stylesheet", "href": "/static/panels.css"}),
        element("script", {"src": "/static/theme.js"}, ""),
        element("script", {"src": "/static/page.js", "defer": True}, ""),
        element("script", {"src": "/static/tables.js", "defer": True}, ""),
        element("script", {"src": "/static/panels.js", "defer": True}, ""),
        element("script", {"src": "/static/keys.js", "defer": True}, ""),
    )
    completions = json.dumps(frame.completions(screen.workspace))
    body = element(
        "body",
        {"id": "page", "data-show": "both", "data-completions": completions, **attributes},
        [_skip(side) for side in SIDES],
        _top_bar(screen, picture, (hint, notice), tour, breaking),
        strip(tour) if tour.journeys else None,
        element("main", {"class": "halves"}, [_half(side, picture) for side in SIDES]),
        panel(screen.workspace.app.name, world, breaking.behind) if breaking else None,
        _inspector(),
        element("div", {"id": "toasts", "role": "status", "aria-live": "polite"}),
        element("dialog", {"id": "confirm"}),
    )
    return f"<!doctype html>\n{element('html', {'lang': 'en'}, head, body)}"


def _skip(side: str) -> Html:
    """A link past the bar, the tour and the sidebars, seen while it has the focus."""
    attributes = {"class": "skip", "href": f"#{side}-channel", "data-skip": side}
    return element("a", attributes, f"Skip to the {WHOSE[side].lower()} conversation")


def _top_bar(screen: Screen, picture: Picture, words: tuple[str, str], tour: Tour, breaking: Breaking | None) -> Html:
    """`words`: what one can do here, and who really answers."""
    views = [
        element(
            "button",
            {
                "type": "button",
                "data-show": show,
                "aria-pressed": "true" if show == "both" else "false",
                "tabindex": None if show == "left" else "-1",
                "title": label,
            },
            icon(shape),
            element("span", None, label),
        )
        for show, shape, label in (
            ("left", "person", "Customer"),
            ("both", "both", "Both"),
            ("right", "list", "Agents"),
        )
    ]
    hint, notice = words
    told = "A local stand-in for Slack" + (f" · {notice}" if notice else "")
    return element(
        "header",
        {"class": "bar"},
        element("span", {"class": "mark"}, icon("shop")),
        element(
            "div",
            {"class": "title"},
            element("h1", {"class": "team"}, screen.workspace.team.name),
            element("span", {"class": "to-do"}, hint) if hint else None,
            element("span", {"class": "notice"}, told),
        ),
        element(
            "div",
            {"class": "bar-tools", "role": "toolbar", "aria-label": "The page", "data-rove": "row"},
            element("div", {"class": "views", "role": "group", "aria-label": "Show"}, views),
            element("span", {"class": "presence", "id": "presence", "aria-live": "polite"}, picture.parts["presence"]),
            _panel_button("tour", "compass", "Tour") if tour.journeys else None,
            _panel_button("faults", "bolt", "Faults") if breaking else None,
            _bar_button("Inspector", icon("pulse"), **{"data-do": "inspect", "aria-expanded": "false"}),
            _bar_button("Light or dark", icon("sun"), icon("moon"), **{"data-theme-toggle": True}),
        ),
    )


def _panel_button(panel: str, drawn: str, label: str) -> Html:
    """Opens and closes one of the page's panels."""
    return _bar_button(label, icon(drawn), **{"data-panel": panel, "aria-controls": panel, "aria-expanded": "false"})


def _bar_button(label: str, *drawn: Html, **attributes: str | bool) -> Html:
    """A button of the bar: its icons and its word, of which a narrow window shows the icons alone."""
    own: dict[str, str | bool] = {"type": "button", "class": "bar-button", "title": label, "aria-label": label}
    return element("button", own | attributes | {"tabindex": "-1"}, *drawn, element("span", None, label))


def _half(side: str, picture: Picture) -> Html:
    def part(name: str, tag: str, css: str, **more: str) -> Html:
        id_ = f"{side}-{name}" if name else side
        own = {key: value for (owner, key), value in picture.attributes.items() if owner == id_}
        inside = picture.parts.get(id_) or join(picture.lists.get(id_, {}).values())
        extra = {key.replace("_", "-"): value for key, value in more.items()}
        return element(tag, {"id": id_, "class": css, **extra, **own}, inside)

    log = {"role": "log", "aria_live": "polite"}
    whose = WHOSE[side]
    channel = element(
        "section",
        {"class": "channel", "id": f"{side}-channel", "tabindex": "-1", "aria-label": f"{whose} conversation"},
        part("head", "header", "head"),
        part("list", "div", "list", **log, aria_label="Messages"),
        part("home", "div", "home-scroll"),
        part("prompts", "div", "prompts"),
        part("composer", "div", "write"),
    )
    thread = element(
        "section",
        {"class": "thread", "aria-label": f"{whose} thread"},
        part("thread-head", "header", "head"),
        part("thread-list", "div", "list", **log, aria_label="Replies"),
        part("thread-status", "div", "status"),
        part("thread-prompts", "div", "prompts"),
        part("thread-composer", "div", "write"),
    )
    own = {key: value for (owner, key), value in picture.attributes.items() if owner == side}
    return element(
        "section",
        {"id": side, "class": "half", "data-half": side, "aria-label": f"{whose} half", **own},
        element(
            "div",
            {"class": "frame", "id": f"{side}-frame"},
            part("side", "nav", "side", aria_label=f"{whose} channels", data_rove="column"),
            channel,
            thread,
        ),
        part("search", "div", "search-layer"),
        part("modal", "div", "modal-layer"),
    )


def _inspector() -> Html:
    kinds = ("all", "call", "delivery", "ack", "retry", "act", "outside", "error")
    filters = [
        element(
            "button",
            {"type": "button", "data-filter": each, "aria-pressed": "true" if each == "all" else "false"},
            each,
        )
        for each in kinds
    ]
    close = {"type": "button", "class": "tool", "data-do": "inspect", "aria-label": "Close the inspector"}
    return element(
        "aside",
        {"id": "inspector", "class": "inspector", "aria-label": "Inspector", "hidden": True, "data-only": "all"},
        element(
            "header",
            None,
            icon("pulse"),
            element("h2", None, "Inspector"),
            element("span", {"class": "muted"}, "calls, deliveries, acknowledgements and retries, as they happen"),
            element("div", {"class": "views", "role": "group", "aria-label": "Filter"}, filters),
            element("button", close, icon("close")),
        ),
        element("div", {"id": "log", "class": "log", "tabindex": "0"}),
    )
