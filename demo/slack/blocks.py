"""What Slack accepts as Block Kit: one table of blocks and one of elements, and the checks that read them.

`message_faults` and `view_faults` list what is wrong with a pointer to the place; `completed` adds what Slack
adds. Slack publishes no schema: the limits are those of its reference pages and of the types of its SDKs.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]


class Fault(NamedTuple):
    """One thing Slack would refuse."""

    problem: str
    pointer: str
    """A JSON pointer, as `/blocks/0/text/text`."""

    def __str__(self) -> str:
        return f"{self.problem} [json-pointer:{self.pointer}]"


Check = Callable[[Any, str], Iterator[Fault]]
"""Yields the faults of a value at a pointer."""

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MARKDOWN_CHARACTERS = 12_000
MESSAGE_CHARACTERS = 13_200
"""Over all blocks of one message; undocumented, measured by users of bolt-js."""
VIEW_BYTES = 250_000


def message_faults(blocks: Any) -> list[Fault]:
    """The faults of a message's blocks."""
    faults = list(_items(_block, most=MESSAGE_BLOCKS, least=0)(blocks, "/blocks"))
    if faults:
        return faults
    faults += _duplicates(blocks, "/blocks")
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN_CHARACTERS:
        faults.append(Fault(f"markdown must be less than {MARKDOWN_CHARACTERS + 1} characters", "/blocks"))
    if sum(block["type"] == "table" for block in blocks) > 1:
        faults.append(Fault("only_one_table_allowed", "/blocks"))
    return faults


def is_too_long(blocks: list[Json]) -> bool:
    """Whether valid blocks hold more text than one message may."""
    return sum(_text_lengths(blocks)) > MESSAGE_CHARACTERS


def view_faults(view: Any) -> list[Fault]:
    """The faults of a modal or a Home tab."""
    if not isinstance(view, dict) or view.get("type") not in VIEWS:
        return [Fault("must be a view of type modal or home", "/view")]
    faults = list(_shape(VIEWS[view["type"]])(view, "/view"))
    if faults:
        return faults
    faults += _duplicates(view["blocks"], "/view/blocks")
    inputs = any(block["type"] == "input" for block in view["blocks"])
    if view["type"] == "modal" and inputs and "submit" not in view:
        faults.append(Fault("missing required field: submit", "/view"))
    if len(str(view).encode()) > VIEW_BYTES:
        faults.append(Fault(f"must be less than {VIEW_BYTES} bytes", "/view"))
    return faults


def completed(blocks: list[Json], new_id: Callable[[], str]) -> list[Json]:
    """The blocks as Slack returns them: with block_ids and action_ids, texts with `emoji` and `verbatim`."""
    return [{"block_id": new_id()} | _with_defaults(block, new_id) for block in blocks]


def elements(blocks: list[Json]) -> Iterator[tuple[str, Json]]:
    """Every interactive element of completed blocks, with its block_id."""
    for block in blocks:
        block_id = block.get("block_id", "")
        nested = [*block.get("elements", ()), *block.get("actions", ())]
        nested += [block[name] for name in ("accessory", "element") if name in block]
        for element in nested:
            if "action_id" in element:
                yield block_id, element
        inner = [each for each in nested if each.get("type") == "card"] + block.get("child_blocks", [])
        yield from elements(inner)


def _string(most: int, *, least: int = 1, pattern: str = "") -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield Fault("must be a string", at)
        elif len(value) < least:
            yield Fault(f"must be more than {least - 1} characters", at)
        elif len(value) > most:
            yield Fault(f"must be less than {most + 1} characters", at)
        elif pattern and not re.fullmatch(pattern, value):
            yield Fault("must be a valid value", at)

    return check


def _text(most: int, *kinds: str) -> Check:
    """A text object; without `kinds` it may be mrkdwn or plain_text."""

    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("must provide an object", at)
        elif value.get("type") not in (kinds or ("mrkdwn", "plain_text")):
            yield Fault(f"must be of type {' or '.join(kinds or ('mrkdwn', 'plain_text'))}", f"{at}/type")
        else:
            extra = {"verbatim" if value["type"] == "mrkdwn" else "emoji": _boolean}
            yield from _shape(Shape({"type": _anything, "text": _string(most)}, extra))(value, at)

    return check


def _boolean(value: Any, at: str) -> Iterator[Fault]:
    if not isinstance(value, bool):
        yield Fault("must be a boolean", at)


def _integer(value: Any, at: str) -> Iterator[Fault]:
    if not isinstance(value, int) or isinstance(value, bool):
        yield Fault("must be an integer", at)


def _anything(value: Any, at: str) -> Iterator[Fault]:
    return iter(())


def _one_of(*allowed: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if value not in allowed:
            yield Fault(f"must be one of {', '.join(allowed)}", at)

    return check


def _items(each: Check, *, most: int, least: int = 1) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield Fault("must be an array", at)
            return
        if len(value) < least:
            yield Fault(f"no fewer than {least} items allowed", at)
        if len(value) > most:
            yield Fault(f"no more than {most} items allowed", at)
        for index, item in enumerate(value):
            yield from each(item, f"{at}/{index}")

    return check


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of an object. Fields that are not named are refused."""

    needed: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    any_of: tuple[str, ...] = ()
    """At least one of these optional fields has to be there."""


def _shape(shape: Shape) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("must provide an object", at)
            return
        for name in shape.needed:
            if name not in value:
                yield Fault(f"missing required field: {name}", at)
        if shape.any_of and not any(name in value for name in shape.any_of):
            yield Fault(f"missing required field: {' or '.join(shape.any_of)}", at)
        known = {**shape.needed, **shape.optional}
        for name, item in value.items():
            if name in known:
                yield from known[name](item, f"{at}/{name}")
            else:
                yield Fault(f"invalid additional property: {name}", at)

    return check


def _typed(kinds: Mapping[str, Shape], *allowed: str, common: Mapping[str, Check]) -> Check:
    """An object whose `type` picks its shape from `kinds`; `allowed` narrows them."""

    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("must provide an object", at)
            return
        kind = str(value.get("type"))
        if kind not in kinds or (allowed and kind not in allowed):
            yield Fault(f"unsupported type: {kind}", f"{at}/type")
            return
        shape = kinds[kind]
        whole = Shape(shape.needed, {**shape.optional, **common, "type": _anything}, shape.any_of)
        yield from _shape(whole)(value, at)

    return check


def _block(value: Any, at: str) -> Iterator[Fault]:
    yield from _typed(BLOCKS, common={"block_id": _string(255)})(value, at)


def _only_blocks(*kinds: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        yield from _typed(BLOCKS, *kinds, common={"block_id": _string(255)})(value, at)

    return check


def _element(*kinds: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        yield from _typed(ELEMENTS, *kinds, common={})(value, at)

    return check


def _rich_parts(value: Any, at: str) -> Iterator[Fault]:
    yield from _items(_typed(RICH_PARTS, common={"style": _anything}), most=1_000, least=0)(value, at)


def _rich_elements(value: Any, at: str) -> Iterator[Fault]:
    yield from _items(_typed(RICH_ELEMENTS, common={}), most=1_000, least=0)(value, at)


def _context_element(value: Any, at: str) -> Iterator[Fault]:
    if isinstance(value, dict) and value.get("type") == "image":
        yield from _element("image")(value, at)
    else:
        yield from _text(2_000)(value, at)


def _table_cell(value: Any, at: str) -> Iterator[Fault]:
    if isinstance(value, dict) and value.get("type") == "rich_text":
        yield from _block(value, at)
        return
    shape = {"type": _one_of("raw_text", "raw_number"), "text": _string(10_000)}
    yield from _shape(Shape(shape, {"value": _anything}))(value, at)


def _duplicates(blocks: list[Json], at: str) -> list[Fault]:
    """block_ids used twice in a message, and action_ids used twice in a block."""
    block_ids = Counter(block["block_id"] for block in blocks if "block_id" in block)
    faults = [Fault(f"block_id {name!r} already exists", at) for name, count in block_ids.items() if count > 1]
    for index, block in enumerate(blocks):
        action_ids = Counter(element["action_id"] for _, element in elements([block]))
        faults += [
            Fault(f"action_id {name!r} already exists for block_id", f"{at}/{index}")
            for name, count in action_ids.items()
            if count > 1
        ]
    return faults


def _text_lengths(value: Any) -> Iterator[int]:
    if isinstance(value, list):
        for item in value:
            yield from _text_lengths(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and name in ("text", "title"):
                yield len(item)
            else:
                yield from _text_lengths(item)


def _with_defaults(value: Any, new_id: Callable[[], str]) -> Any:
    if isinstance(value, list):
        return [_with_defaults(item, new_id) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {name: _with_defaults(item, new_id) for name, item in value.items()}
    shape = ELEMENTS.get(str(copy.get("type")))
    if shape is not None and "action_id" in shape.optional:
        copy.setdefault("action_id", new_id())
    match copy.get("type"):
        case "plain_text":
            copy.setdefault("emoji", True)
        case "mrkdwn":
            copy.setdefault("verbatim", False)
    return copy


_ACTION_ID = {"action_id": _string(255)}
_FOCUS = {"focus_on_load": _boolean}
_URL = _string(3_000, pattern=r"\S+://\S+|mailto:\S+")
_IMAGE_URL = _string(3_000, pattern=r"https?://\S+")
_CONFIRM = _shape(
    Shape(
        {"title": _text(100, "plain_text"), "text": _text(300)},
        {
            "confirm": _text(30, "plain_text"),
            "deny": _text(30, "plain_text"),
            "style": _one_of("primary", "danger"),
        },
    )
)
_OPTION = _shape(Shape({"text": _text(75), "value": _string(150)}, {"description": _text(75), "url": _string(3_000)}))
_OPTION_GROUP = _shape(Shape({"label": _text(75, "plain_text"), "options": _items(_OPTION, most=100)}))
_FEEDBACK_BUTTON = _shape(
    Shape(
        {"text": _text(75, "plain_text"), "value": _string(2_000)},
        {"accessibility_label": _string(75)},
    )
)
_FILTER = _shape(
    Shape(
        {},
        {
            "include": _items(_one_of("im", "mpim", "private", "public"), most=4),
            "exclude_bot_users": _boolean,
            "exclude_external_shared_channels": _boolean,
        },
    )
)
_DISPATCH = _shape(
    Shape({}, {"trigger_actions_on": _items(_one_of("on_enter_pressed", "on_character_entered"), most=2)})
)
_STRINGS = _items(_string(255), most=100)
_STYLE = _one_of("primary", "danger")


def _menu(**fields: Check) -> dict[str, Check]:
    return {
        **_ACTION_ID,
        **_FOCUS,
        "placeholder": _text(150, "plain_text"),
        "confirm": _CONFIRM,
        **fields,
    }


def _entry(**fields: Check) -> dict[str, Check]:
    return {
        **_ACTION_ID,
        **_FOCUS,
        "placeholder": _text(150, "plain_text"),
        "initial_value": _string(3_000, least=0),
        "dispatch_action_config": _DISPATCH,
        **fields,
    }


_CHOICES: dict[str, Check] = {
    "options": _items(_OPTION, most=100),
    "option_groups": _items(_OPTION_GROUP, most=100),
}
_SEVERAL: dict[str, Check] = {"max_selected_items": _integer}

ELEMENTS: dict[str, Shape] = {
    "button": Shape(
        {"text": _text(75, "plain_text")},
        {
            **_ACTION_ID,
            "url": _URL,
            "value": _string(2_000),
            "style": _STYLE,
            "confirm": _CONFIRM,
            "accessibility_label": _string(75),
            "agent_prompt": _string(4_000),
            "agent_prompt_display": _anything,
            "visible_to_user_ids": _STRINGS,
        },
    ),
    "workflow_button": Shape(
        {"text": _text(75, "plain_text"), "workflow": _anything},
        {**_ACTION_ID, "style": _STYLE, "accessibility_label": _string(75)},
    ),
    "feedback_buttons": Shape({"positive_button": _FEEDBACK_BUTTON, "negative_button": _FEEDBACK_BUTTON}, _ACTION_ID),
    "icon_button": Shape(
        {"icon": _one_of("trash"), "text": _text(75, "plain_text")},
        {
            **_ACTION_ID,
            "accessibility_label": _string(75),
            "value": _string(2_000),
            "visible_to_user_ids": _items(_string(255), most=10),
            "confirm": _CONFIRM,
        },
    ),
    "image": Shape(
        {"alt_text": _string(2_000)},
        {"image_url": _IMAGE_URL, "slack_file": _anything},
        ("image_url", "slack_file"),
    ),
    "overflow": Shape({"options": _items(_OPTION, most=5)}, {**_ACTION_ID, "confirm": _CONFIRM}),
    "checkboxes": Shape(
        {"options": _items(_OPTION, most=10)},
        {**_ACTION_ID, **_FOCUS, "initial_options": _items(_OPTION, most=10), "confirm": _CONFIRM},
    ),
    "radio_buttons": Shape(
        {"options": _items(_OPTION, most=10)},
        {**_ACTION_ID, **_FOCUS, "initial_option": _OPTION, "confirm": _CONFIRM},
    ),
    "static_select": Shape({}, _menu(**_CHOICES, initial_option=_OPTION), ("options", "option_groups")),
    "multi_static_select": Shape(
        {},
        _menu(**_CHOICES, **_SEVERAL, initial_options=_items(_OPTION, most=100)),
        ("options", "option_groups"),
    ),
    "external_select": Shape({}, _menu(initial_option=_OPTION, min_query_length=_integer)),
    "multi_external_select": Shape(
        {}, _menu(**_SEVERAL, initial_options=_items(_OPTION, most=100), min_query_length=_integer)
    ),
    "users_select": Shape({}, _menu(initial_user=_string(255))),
    "multi_users_select": Shape({}, _menu(**_SEVERAL, initial_users=_STRINGS)),
    "channels_select": Shape({}, _menu(initial_channel=_string(255), response_url_enabled=_boolean)),
    "multi_channels_select": Shape({}, _menu(**_SEVERAL, initial_channels=_STRINGS)),
    "conversations_select": Shape(
        {},
        _menu(
            initial_conversation=_string(255),
            default_to_current_conversation=_boolean,
            response_url_enabled=_boolean,
            filter=_FILTER,
        ),
    ),
    "multi_conversations_select": Shape(
        {},
        _menu(
            **_SEVERAL,
            initial_conversations=_STRINGS,
            default_to_current_conversation=_boolean,
            filter=_FILTER,
        ),
    ),
    "datepicker": Shape({}, _menu(initial_date=_string(10, pattern=r"\d{4}-\d\d-\d\d"))),
    "timepicker": Shape({}, _menu(initial_time=_string(5, pattern=r"\d\d:\d\d"), timezone=_string(255))),
    "datetimepicker": Shape({}, {**_ACTION_ID, **_FOCUS, "initial_date_time": _integer, "confirm": _CONFIRM}),
    "plain_text_input": Shape({}, _entry(multiline=_boolean, min_length=_integer, max_length=_integer)),
    "email_text_input": Shape({}, _entry()),
    "url_text_input": Shape({}, _entry()),
    "number_input": Shape({"is_decimal_allowed": _boolean}, _entry(min_value=_string(50), max_value=_string(50))),
    "rich_text_input": Shape(
        {}, {**_entry(min_lines=_integer, max_lines=_integer), "initial_value": _only_blocks("rich_text")}
    ),
    "file_input": Shape({}, {**_ACTION_ID, "filetypes": _STRINGS, "max_files": _integer}),
    "url": Shape({"url": _URL, "text": _string(256)}),
}

_MENUS = tuple(name for name in ELEMENTS if name.endswith("_select"))
_PICKERS = ("datepicker", "timepicker", "datetimepicker", "checkboxes", "radio_buttons")
_ENTRIES = tuple(name for name in ELEMENTS if name.endswith("_input"))

_TASK: dict[str, Check] = {
    "task_id": _string(255),
    "title": _string(256),
    "status": _one_of("pending", "in_progress", "complete", "error"),
}
_TASK_DETAIL: dict[str, Check] = {
    "details": _only_blocks("rich_text"),
    "output": _only_blocks("rich_text"),
    "sources": _items(_element("url"), most=50, least=0),
}

BLOCKS: dict[str, Shape] = {
    "section": Shape(
        {},
        {
            "text": _text(3_000),
            "fields": _items(_text(2_000), most=10),
            "accessory": _element("button", "overflow", "image", "workflow_button", *_MENUS, *_PICKERS),
            "expand": _boolean,
        },
        ("text", "fields"),
    ),
    "header": Shape({"text": _text(150, "plain_text")}),
    "divider": Shape(),
    "context": Shape({"elements": _items(_context_element, most=10)}),
    "actions": Shape(
        {"elements": _items(_element("button", "overflow", "workflow_button", *_MENUS, *_PICKERS), most=25)}
    ),
    "context_actions": Shape({"elements": _items(_element("feedback_buttons", "icon_button"), most=5)}),
    "image": Shape(
        {"alt_text": _string(2_000)},
        {"image_url": _IMAGE_URL, "slack_file": _anything, "title": _text(2_000, "plain_text")},
        ("image_url", "slack_file"),
    ),
    "input": Shape(
        {"label": _text(2_000, "plain_text"), "element": _element(*_MENUS, *_PICKERS, *_ENTRIES)},
        {"hint": _text(2_000, "plain_text"), "optional": _boolean, "dispatch_action": _boolean},
    ),
    "markdown": Shape({"text": _string(MARKDOWN_CHARACTERS)}),
    "rich_text": Shape({"elements": _rich_elements}),
    "table": Shape(
        {"rows": _items(_items(_table_cell, most=20), most=100)},
        {"column_settings": _items(_anything, most=20)},
    ),
    "task_card": Shape(_TASK, _TASK_DETAIL),
    "plan": Shape({"title": _string(256)}, {"tasks": _items(_only_blocks("task_card"), most=50)}),
    "alert": Shape({"text": _text(3_000)}, {"level": _one_of("default", "info", "warning", "error", "success")}),
    "card": Shape(
        {},
        {
            "hero_image": _element("image"),
            "icon": _element("image"),
            "title": _text(150),
            "subtitle": _text(150),
            "body": _text(200),
            "actions": _items(_element("button"), most=5),
        },
        ("hero_image", "title", "actions", "body"),
    ),
    "carousel": Shape({"elements": _items(_only_blocks("card"), most=10)}),
    "container": Shape(
        {"child_blocks": _items(_block, most=10)},
        {
            "title": _text(150, "plain_text"),
            "rich_text_title": _only_blocks("rich_text"),
            "subtitle": _text(150),
            "width": _one_of("narrow", "standard", "wide", "full"),
            "icon": _element("image"),
            "is_collapsible": _boolean,
            "default_collapsed": _boolean,
            "has_header_divider": _boolean,
        },
        ("title", "rich_text_title"),
    ),
    "video": Shape(
        {
            "alt_text": _string(2_000),
            "title": _text(200, "plain_text"),
            "thumbnail_url": _IMAGE_URL,
            "video_url": _IMAGE_URL,
        },
        {
            "title_url": _IMAGE_URL,
            "description": _text(200, "plain_text"),
            "provider_icon_url": _IMAGE_URL,
            "provider_name": _string(50),
            "author_name": _string(50),
        },
    ),
    "file": Shape({"external_id": _string(255), "source": _one_of("remote")}),
}

RICH_PARTS: dict[str, Shape] = {
    "text": Shape({"text": _string(40_000, least=0)}),
    "link": Shape({"url": _URL}, {"text": _string(40_000, least=0), "unsafe": _boolean}),
    "emoji": Shape({"name": _string(255)}, {"unicode": _string(64), "skin_tone": _integer}),
    "user": Shape({"user_id": _string(255)}),
    "channel": Shape({"channel_id": _string(255)}),
    "usergroup": Shape({"usergroup_id": _string(255)}),
    "broadcast": Shape({"range": _one_of("here", "channel", "everyone")}),
    "team": Shape({"team_id": _string(255)}),
    "color": Shape({"value": _string(16)}),
    "date": Shape({"timestamp": _integer, "format": _string(255)}, {"url": _URL, "fallback": _string(255, least=0)}),
}

_BORDER: dict[str, Check] = {"border": _integer}

RICH_ELEMENTS: dict[str, Shape] = {
    "rich_text_section": Shape({"elements": _rich_parts}),
    "rich_text_quote": Shape({"elements": _rich_parts}, _BORDER),
    "rich_text_preformatted": Shape({"elements": _rich_parts}, {**_BORDER, "language": _string(50)}),
    "rich_text_list": Shape(
        {"elements": _rich_elements, "style": _one_of("bullet", "ordered")},
        {**_BORDER, "indent": _integer, "offset": _integer},
    ),
}

_VIEW: dict[str, Check] = {
    "private_metadata": _string(3_000, least=0),
    "callback_id": _string(255, least=0),
    "external_id": _string(255, least=0),
}

VIEWS: dict[str, Shape] = {
    "home": Shape({"type": _anything, "blocks": _items(_block, most=VIEW_BLOCKS, least=0)}, _VIEW),
    "modal": Shape(
        {
            "type": _anything,
            "title": _text(24, "plain_text"),
            "blocks": _items(_block, most=VIEW_BLOCKS, least=0),
        },
        {
            **_VIEW,
            "submit": _text(24, "plain_text"),
            "close": _text(24, "plain_text"),
            "clear_on_close": _boolean,
            "notify_on_close": _boolean,
            "submit_disabled": _boolean,
        },
    ),
}
