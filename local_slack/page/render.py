"""Block Kit as HTML: the `blocks` of messages and views.

Pure functions of plain Slack-shaped dicts and a `Look`, the eyes of one person. They are total: an unknown
block or element becomes a placeholder that names it, and malformed data becomes less, never an error.

Whatever can be used carries data attributes for the page's script: `data-do` says what happens,
`data-action-id`, `data-block-id` and `data-value` name the element as the app knows it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from local_slack.page import external
from local_slack.page.charts import chart
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.look import Look
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.page.markup import link, local_time, markdown, mrkdwn, plain, rich_text, web_address
from local_slack.page.tables import data_table, table
from local_slack.page.tasks import plan, task

DEEPEST = 6
"""Containers within containers that are still drawn."""
MOST_BLOCKS = 120
MOST_OPTIONS = 120


# --- blocks ---------------------------------------------------------------------------------------------


def blocks(items: object, look: Look) -> Html:
    """The blocks one below the other."""
    return join(block(each, look) for each in sequence(items)[:MOST_BLOCKS])


def block(item: object, look: Look) -> Html:
    """One block."""
    data = mapping(item)
    kind = string(data.get("type"))
    draw = _BLOCKS.get(kind)
    if draw is None or look.depth > DEEPEST:
        return _unknown("block", kind)
    return element(
        "div", {"class": f"block block-{kind}", "data-block-id": string(data.get("block_id"))}, draw(data, look)
    )


def _section(data: Json, look: Look) -> Html:
    fields = [
        element("div", {"class": "field"}, _text_object(each, look)) for each in sequence(data.get("fields"))[:10]
    ]
    accessory = data.get("accessory")
    return join(
        [
            element(
                "div",
                {"class": "section-main"},
                element("div", {"class": "section-text"}, _text_object(data.get("text"), look))
                if data.get("text")
                else None,
                element("div", {"class": "fields"}, fields) if fields else None,
            ),
            element("div", {"class": "accessory"}, _element(accessory, data, look)) if accessory else None,
        ]
    )


def _header(data: Json, look: Look) -> Html:
    return element("h3", None, _text_object(data.get("text"), look))


def _divider(data: Json, look: Look) -> Html:
    return element("hr")


def _markdown_block(data: Json, look: Look) -> Html:
    return element("div", {"class": "md"}, markdown(string(data.get("text")), look.names))


def _rich_text_block(data: Json, look: Look) -> Html:
    return element("div", {"class": "rich"}, rich_text(data, look.names))


def _context(data: Json, look: Look) -> Html:
    return join(
        element(
            "span",
            {"class": "context-item"},
            _text_object(each, look) if "text" in mapping(each) else _element(each, data, look),
        )
        for each in sequence(data.get("elements"))[:10]
    )


def _actions(data: Json, look: Look) -> Html:
    return join(_element(each, data, look) for each in sequence(data.get("elements"))[:25])


def _image_block(data: Json, look: Look) -> Html:
    caption = data.get("title")
    return element(
        "figure",
        None,
        _image(data, data, look),
        element("figcaption", None, _text_object(caption, look)) if caption else None,
    )


def _alert(data: Json, look: Look) -> Html:
    level = string(data.get("level"))
    level = level if level in {"info", "warning", "error", "success"} else "default"
    shown = {"warning": "warning", "error": "warning", "success": "check"}.get(level, "info")
    return element(
        "div",
        {"class": f"alert alert-{level}", "role": "note"},
        icon(shown),
        element("div", None, _text_object(data.get("text"), look)),
    )


def _card(data: Json, look: Look) -> Html:
    buttons = [_element(each, data, look) for each in sequence(data.get("actions"))[:25]]
    parts = ((part, data.get(part)) for part in ("title", "subtitle", "body"))
    return element(
        "div",
        {"class": "card"},
        _image(mapping(data.get("hero_image")), data, look) if data.get("hero_image") else None,
        _small_picture(data.get("icon")),
        [element("div", {"class": f"card-{part}"}, _text_object(value, look)) for part, value in parts if value],
        element("div", {"class": "block-actions"}, buttons) if buttons else None,
    )


def _carousel(data: Json, look: Look) -> Html:
    deeper = replace(look, depth=look.depth + 1)
    attributes = {"class": "carousel", "tabindex": 0, "role": "region", "aria-label": "Cards"}
    return element("div", attributes, blocks(sequence(data.get("elements"))[:10], deeper))


def _container(data: Json, look: Look) -> Html:
    deeper = replace(look, depth=look.depth + 1)
    title = data.get("rich_text_title")
    heading = rich_text(mapping(title), look.names) if title else _text_object(data.get("title"), look)
    subtitle = _text_object(data.get("subtitle"), look) if data.get("subtitle") else None
    inside = blocks(sequence(data.get("child_blocks"))[:10], deeper)
    head = [
        _small_picture(data.get("icon")),
        element("b", None, heading),
        element("span", {"class": "muted"}, subtitle) if subtitle else None,
    ]
    if data.get("is_collapsible"):
        attributes = {"class": "container", "open": not data.get("default_collapsed")}
        return element("details", attributes, element("summary", None, head, icon("down")), inside)
    return element("div", {"class": "container"}, element("div", {"class": "container-head"}, head), inside)


def _plan(data: Json, look: Look) -> Html:
    return plan(string(data.get("title")), [mapping(each) for each in sequence(data.get("tasks"))[:50]], look)


def _video(data: Json, look: Look) -> Html:
    """What is known of it, with a link: nothing is fetched from outside."""
    title = _words(data, "title") or string(data.get("alt_text")) or "Video"
    address = string(data.get("title_url")) or string(data.get("video_url"))
    by = " · ".join(filter(None, (string(data.get(f"{who}_name")) for who in ("author", "provider"))))
    return element(
        "div",
        {"class": "video"},
        element("div", {"class": "file-chip"}, icon("play"), link(address, title)),
        element("div", None, _text_object(data.get("description"), look)) if data.get("description") else None,
        element("small", None, by) if by else None,
    )


def _file_block(data: Json, look: Look) -> Html:
    return element("div", {"class": "file-chip"}, icon("file"), f"Remote file {string(data.get('external_id'))}")


def _input(data: Json, look: Look) -> Html:
    """A labelled input; `.input-error` is where the page puts what is wrong with it."""
    identity = f"{look.key}-{string(data.get('block_id'))}"
    inner = mapping(data.get("element"))
    grouped = string(inner.get("type")) in {"checkboxes", "radio_buttons"}
    optional = element("span", {"class": "muted"}, " (optional)") if data.get("optional") else None
    hint = data.get("hint")
    label = [_text_object(data.get("label"), look), optional]
    return element(
        "fieldset" if grouped else "div",
        {"class": "input"},
        element("legend" if grouped else "label", {"for": None if grouped else f"{identity}-input"}, label),
        _element(inner, data | {"_id": f"{identity}-input"}, look),
        element("div", {"class": "hint"}, _text_object(hint, look)) if hint else None,
        element("div", {"class": "input-error", "id": f"{identity}-error", "role": "alert"}),
    )


# --- elements -------------------------------------------------------------------------------------------


def _element(item: object, parent: Json, look: Look) -> Html:
    """A block element; `parent` is the block that holds it."""
    data = mapping(item)
    kind = string(data.get("type"))
    if kind in _PICKERS:
        return _picker(data, parent, look)
    if kind.endswith("_select"):
        return _select(data, parent, look)
    draw = _ELEMENTS.get(kind)
    return draw(data, parent, look) if draw else _unknown("element", kind)


def _named(data: Json, parent: Json) -> Json:
    """The attributes by which the app knows the element."""
    confirm = data.get("confirm")
    return {
        "data-action-id": string(data.get("action_id")),
        "data-block-id": string(parent.get("block_id")),
        "data-confirm": json.dumps(_confirmation(confirm)) if isinstance(confirm, dict) else None,
    }


def _confirmation(data: Json) -> Json:
    words = {part: _words(data, part) for part in ("title", "text", "confirm", "deny")}
    words["style"] = string(data.get("style"))
    return words


def _button(data: Json, parent: Json, look: Look) -> Html:
    style = string(data.get("style"))
    url = web_address(string(data.get("url")))
    attributes = {
        "class": f"button button-{style}" if style in {"primary", "danger"} else "button",
        "data-do": "click",
        **_named(data, parent),
        "data-value": string(data.get("value")),
        "aria-label": string(data.get("accessibility_label")) or None,
    }
    label = _text_object(data.get("text"), look)
    if url:
        leads = {"href": url, "target": "_blank", "rel": "noopener noreferrer"}
        return element("a", attributes | leads, label, icon("link"))
    return element("button", attributes | {"type": "button"}, label)


def _feedback(data: Json, parent: Json, look: Look) -> Html:
    def half(part: str, drawn: str) -> Html:
        inner = mapping(data.get(part))
        value = string(inner.get("value"))
        attributes = {
            "class": "feedback",
            "type": "button",
            "data-do": "click",
            **_named(data, parent),
            "data-value": value,
            "aria-pressed": "true" if (string(data.get("action_id")), value) in look.pressed else "false",
            "aria-label": string(inner.get("accessibility_label")) or None,
        }
        return element("button", attributes, icon(drawn), element("span", None, _text_object(inner.get("text"), look)))

    return element(
        "div", {"class": "feedback-pair"}, half("positive_button", "up_thumb"), half("negative_button", "down_thumb")
    )


def _icon_button(data: Json, parent: Json, look: Look) -> Html:
    visible_to = sequence(data.get("visible_to_user_ids"))
    if visible_to and look.names.viewer not in visible_to:
        return Html("")
    label = string(data.get("accessibility_label")) or _words(data, "text")
    attributes = {"class": "icon-button", "type": "button", "data-do": "click", **_named(data, parent)}
    return element(
        "button",
        attributes | {"data-value": string(data.get("value")), "aria-label": label, "title": label},
        icon(string(data.get("icon"))),
    )


def _overflow(data: Json, parent: Json, look: Look) -> Html:
    named = _named(data, parent)
    items = [
        element(
            "button",
            {
                "type": "button",
                "role": "menuitem",
                "tabindex": "-1",
                "data-do": "click",
                **named,
                "data-value": string(each.get("value")),
            },
            _text_object(each.get("text"), look),
        )
        for each in _options(data)
    ]
    opener = element("summary", {"class": "button button-more", "aria-label": "More actions"}, icon("more"))
    drop = element("div", {"class": "menu-list", "role": "menu", "aria-label": "Choices"}, items)
    return element("details", {"class": "menu"}, opener, drop)


def _select(data: Json, parent: Json, look: Look) -> Html:
    kind = string(data.get("type"))
    choices = _choices(data, kind, look)
    if choices is None:
        return _text_input(data, parent, look)
    chosen, several = _chosen(data), kind.startswith("multi_")

    def listed(offered: list[tuple[str, str]]) -> list[Html]:
        return [
            element("option", {"value": value, "selected": value in chosen}, label)
            for value, label in offered[:MOST_OPTIONS]
        ]

    options = listed(choices)
    for each in map(mapping, sequence(data.get("option_groups"))[:MOST_OPTIONS]):
        inside = listed(external.labelled(sequence(each.get("options"))))
        options.append(element("optgroup", {"label": _words(each, "label")}, inside))
    placeholder = _words(data, "placeholder") or "Choose…"
    if not several:
        options.insert(0, element("option", {"value": "", "selected": not chosen}, placeholder))
    named = _input_names(data, parent, look)
    drawn = element("select", {"class": "select", "multiple": several, **_label(parent, placeholder), **named}, options)
    return external.with_query(data, named, drawn) if "external" in kind else drawn


def _choices(data: Json, kind: str, look: Look) -> list[tuple[str, str]] | None:
    """The value and the label of each option that stands in no group; None for no kind of select."""
    if "static" in kind:
        return external.labelled(sequence(data.get("options")))
    if "external" in kind:
        return external.chosen_at_first(data)
    if "users" in kind:
        return sorted(look.names.users.items(), key=lambda each: each[1])
    if "channels" in kind or "conversations" in kind:
        return [(id_, f"#{name}") for id_, name in look.names.channels.items() if name]
    return None


def _check_list(data: Json, parent: Json, look: Look) -> Html:
    kind = "radio" if data.get("type") == "radio_buttons" else "checkbox"
    chosen = _chosen(data)
    names = _input_names(data, parent, look) | {"id": None, "name": f"{look.key}-{string(data.get('action_id'))}"}
    return element(
        "div",
        {"class": "choices"},
        (
            element(
                "label",
                {"class": "choice"},
                element(
                    "input",
                    {
                        "type": kind,
                        "value": string(each.get("value")),
                        "checked": string(each.get("value")) in chosen,
                        **names,
                    },
                ),
                element("span", None, _text_object(each.get("text"), look), _description(each, look)),
            )
            for each in _options(data)
        ),
    )


def _description(option: Json, look: Look) -> Html | None:
    description = option.get("description")
    return element("small", {"class": "muted"}, _text_object(description, look)) if description else None


def _text_input(data: Json, parent: Json, look: Look) -> Html:
    kind = string(data.get("type"))
    attributes = {
        "class": "text-input",
        "placeholder": _words(data, "placeholder") or None,
        "maxlength": data.get("max_length") if isinstance(data.get("max_length"), int) else None,
        **_label(parent, _words(data, "placeholder") or "Text"),
        **_input_names(data, parent, look),
    }
    value = data.get("initial_value")
    if kind == "rich_text_input" or (kind == "plain_text_input" and data.get("multiline")):
        return element("textarea", attributes | {"rows": 4}, string(value))
    typed = {"email_text_input": "email", "url_text_input": "url", "number_input": "text"}.get(kind, "text")
    return element("input", attributes | {"type": typed, "value": string(value) or None})


_PICKERS = {
    "datepicker": ("date", "initial_date", "Date"),
    "timepicker": ("time", "initial_time", "Time"),
    "datetimepicker": ("datetime-local", "initial_date_time", "Date and time"),
}


def _picker(data: Json, parent: Json, look: Look) -> Html:
    kind, initial, name = _PICKERS[string(data.get("type"))]
    value = data.get(initial)
    if kind == "datetime-local" and isinstance(value, int):
        moment = local_time(value, look.names)
        value = f"{moment:%Y-%m-%dT%H:%M}" if moment else ""
    names = _label(parent, _words(data, "placeholder") or name) | _input_names(data, parent, look)
    return element("input", {"class": "text-input", "type": kind, "value": string(value), **names})


def _file_input(data: Json, parent: Json, look: Look) -> Html:
    """The page's script brings each chosen file here, and keeps its id until the view is submitted."""
    kinds_taken = ",".join(f".{string(each)}" for each in sequence(data.get("filetypes")) if string(each))
    attributes = {
        "type": "file",
        "class": "text-input",
        "multiple": data.get("max_files") != 1,
        "accept": kinds_taken or None,
        **_label(parent, "Files"),
        **_input_names(data, parent, look),
    }
    return element("input", attributes)


def _label(parent: Json, name: str) -> Json:
    """The name of an input that stands outside a labelled `input` block."""
    return {} if parent.get("_id") else {"aria-label": name}


def _input_names(data: Json, parent: Json, look: Look) -> Json:
    """In a message each choice is sent at once; in a view only where the app asked for it."""
    sent_at_once = bool(parent.get("dispatch_action")) or parent.get("type") != "input"
    return {
        "id": parent.get("_id"),
        "data-input": string(data.get("type")),
        "data-dispatch": sent_at_once,
        **_named(data, parent),
    }


def _image(data: Json, parent: Json, look: Look) -> Html:
    """The alternative text with a link: nothing is fetched from outside."""
    alternative = string(data.get("alt_text")) or "Image"
    address = string(data.get("image_url"))
    label = link(address, alternative) if web_address(address) else alternative
    return element("span", {"class": "image", "title": "Pictures from outside are not fetched"}, icon("image"), label)


def _small_picture(item: object) -> Html | None:
    """A picture beside a title, as its alternative text."""
    if not item:
        return None
    alternative = string(mapping(item).get("alt_text")) or "Image"
    named = {"class": "picture", "role": "img", "aria-label": alternative, "title": alternative}
    return element("span", named, icon("image"))


def _text_object(item: object, look: Look) -> Html:
    """A plain_text or mrkdwn object; a bare string counts as plain text."""
    if isinstance(item, str):
        return plain(item)
    data = mapping(item)
    said = string(data.get("text"))
    return mrkdwn(said, look.names) if data.get("type") == "mrkdwn" else plain(said)


def _unknown(what: str, kind: str) -> Html:
    name = element("code", None, kind[:80] or "without a type")
    return element("div", {"class": "unknown"}, icon("puzzle"), f"Unsupported {what} ", name)


def _words(data: Json, part: str) -> str:
    """The bare text of a text object."""
    return string(mapping(data.get(part)).get("text"))


def _options(data: Json) -> list[Json]:
    return [mapping(each) for each in sequence(data.get("options"))[:MOST_OPTIONS]]


def _chosen(data: Json) -> set[str]:
    """The values that are selected at first, in whichever of Slack's fields they stand."""
    singles = [string(mapping(data.get("initial_option")).get("value"))]
    singles += [string(data.get(f"initial_{what}")) for what in ("user", "channel", "conversation")]
    several = [string(mapping(each).get("value")) for each in sequence(data.get("initial_options"))]
    several += [
        string(each)
        for what in ("users", "channels", "conversations")
        for each in sequence(data.get(f"initial_{what}"))
    ]
    return {each for each in singles + several if each}


_BLOCKS: Mapping[str, Callable[[Json, Look], Html]] = {
    "actions": _actions,
    "alert": _alert,
    "card": _card,
    "carousel": _carousel,
    "container": _container,
    "context": _context,
    "context_actions": _actions,
    "data_table": data_table,
    "data_visualization": chart,
    "divider": _divider,
    "file": _file_block,
    "header": _header,
    "image": _image_block,
    "input": _input,
    "markdown": _markdown_block,
    "plan": _plan,
    "rich_text": _rich_text_block,
    "section": _section,
    "table": table,
    "task_card": task,
    "video": _video,
}

_ELEMENTS: Mapping[str, Callable[[Json, Json, Look], Html]] = {
    "button": _button,
    "checkboxes": _check_list,
    "email_text_input": _text_input,
    "feedback_buttons": _feedback,
    "file_input": _file_input,
    "icon_button": _icon_button,
    "image": _image,
    "number_input": _text_input,
    "overflow": _overflow,
    "plain_text_input": _text_input,
    "radio_buttons": _check_list,
    "rich_text_input": _text_input,
    "url_text_input": _text_input,
    "workflow_button": _button,
}
"""Selects and pickers, of which there are many alike, are recognized by their names."""


def kinds() -> frozenset[str]:
    """The kinds of blocks and elements that are drawn, selects apart; any other is named in a placeholder."""
    return frozenset((*_BLOCKS, *_ELEMENTS, *_PICKERS))
