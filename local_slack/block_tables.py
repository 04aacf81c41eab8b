"""The tables of Block Kit: blocks, elements, parts of rich text, views.

Slack publishes no schema: the limits are those of its reference pages and of the types of its SDKs.
"""

from collections.abc import Iterator
from typing import Any

from local_slack.block_checks import (
    Check,
    Fault,
    Shape,
    anything,
    boolean,
    integer,
    items,
    number,
    object_of,
    one_of,
    positive,
    string,
    text,
    typed,
)

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MARKDOWN_CHARACTERS = 12_000
MESSAGE_CHARACTERS = 13_200
"""Over all blocks of one message; undocumented, measured by users of bolt-js."""
VIEW_BYTES = 250_000
TABLE_CHARACTERS = 10_000
"""Over all cells of the tables of a message."""
CHARTS_IN_A_MESSAGE = 2
"""Undocumented, reported by users of Slack's API."""
IN_MESSAGES_ALONE = ("markdown", "table", "data_table", "data_visualization", "context_actions", "task_card", "plan")
"""Blocks that views do not take; of data tables and charts believed."""
IN_MODALS_ALONE = ("file_input",)
"""Elements that neither messages nor Home tabs take."""


def any_block(value: Any, at: str) -> Iterator[Fault]:
    """Any block."""
    yield from typed(BLOCKS, common={"block_id": string(255)})(value, at)


def _only_blocks(*kinds: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        yield from typed(BLOCKS, *kinds, common={"block_id": string(255)})(value, at)

    return check


def _element(*kinds: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        yield from typed(ELEMENTS, *kinds, common={})(value, at)

    return check


def _rich_parts(value: Any, at: str) -> Iterator[Fault]:
    yield from items(typed(RICH_PARTS, common={"style": _RICH_STYLE}), most=1_000, least=0)(value, at)


def _plain_parts(value: Any, at: str) -> Iterator[Fault]:
    parts = typed(RICH_PARTS, "text", "link", common={"style": _RICH_STYLE})
    yield from items(parts, most=1_000, least=0)(value, at)


def _rich_elements(*kinds: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        yield from items(typed(RICH_ELEMENTS, *kinds, common={}), most=1_000, least=0)(value, at)

    return check


def _context_element(value: Any, at: str) -> Iterator[Fault]:
    if isinstance(value, dict) and value.get("type") == "image":
        yield from _element("image")(value, at)
    else:
        yield from text(2_000)(value, at)


def _table_cell(value: Any, at: str) -> Iterator[Fault]:
    if isinstance(value, dict) and value.get("type") == "rich_text":
        yield from any_block(value, at)
        return
    shape = {"type": one_of("raw_text", "raw_number"), "text": string(10_000)}
    yield from object_of(Shape(shape, {"value": anything}))(value, at)


def _column(value: Any, at: str) -> Iterator[Fault]:
    """How a column looks; null leaves it as it is."""
    if value is not None:
        yield from object_of(Shape({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean}))(value, at)


def table_characters(table: Any) -> int:
    """What the cells of a valid table hold."""
    return sum(len(cell.get("text", "")) for row in table["rows"] for cell in row)


def _table_text(value: Any, at: str) -> Iterator[Fault]:
    if table_characters(value) > TABLE_CHARACTERS:
        yield Fault(f"must be less than {TABLE_CHARACTERS + 1} characters", f"{at}/rows")


def _data_rows(value: Any, at: str) -> Iterator[Fault]:
    """A header of bare texts over rows that are as long as it is."""
    header, *rows = value["rows"]
    for column, cell in enumerate(header):
        if cell.get("type") == "rich_text":
            yield Fault("unsupported type: rich_text", f"{at}/rows/0/{column}/type")
    for index, row in enumerate(rows, 1):
        if len(row) != len(header):
            yield Fault("must have as many cells as the first row", f"{at}/rows/{index}")
    yield from _table_text(value, at)


def _series_points(value: Any, at: str) -> Iterator[Fault]:
    """Every series has its own name and one value for each category."""
    categories = value["axis_config"]["categories"]
    names = [series["name"] for series in value["series"]]
    for index, series in enumerate(value["series"]):
        if series["name"] in names[:index]:
            yield Fault("must be unique", f"{at}/series/{index}/name")
        if sorted(point["label"] for point in series["data"]) != sorted(categories):
            yield Fault("must match the categories", f"{at}/series/{index}/data")


_ACTION_ID = {"action_id": string(255)}
_FOCUS = {"focus_on_load": boolean}
_URL = string(3_000, pattern=r"\S+://\S+|mailto:\S+", problem="invalid url")
_IMAGE_URL = string(3_000, pattern=r"https?://\S+", problem="invalid url")
_SECURE_URL = string(3_000, pattern=r"https://\S+", problem="invalid url")
_RICH_STYLE = object_of(
    Shape(
        optional=dict.fromkeys(
            ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"), boolean
        )
    )
)
_SLACK_FILE = object_of(Shape({}, {"id": string(255), "url": _IMAGE_URL}, any_of=("id", "url"), not_both=("id", "url")))
_PICTURE: dict[str, Check] = {"image_url": _IMAGE_URL, "slack_file": _SLACK_FILE}
_PICTURES = tuple(_PICTURE)
_CONFIRM = object_of(
    Shape(
        {"title": text(100, "plain_text"), "text": text(300)},
        {
            "confirm": text(30, "plain_text"),
            "deny": text(30, "plain_text"),
            "style": one_of("primary", "danger"),
        },
    )
)
_OPTION = object_of(
    Shape({"text": text(75, "plain_text"), "value": string(150)}, {"description": text(75, "plain_text")})
)
_RICH_OPTION = object_of(Shape({"text": text(75), "value": string(150)}, {"description": text(75)}))
_LINK_OPTION = object_of(
    Shape(
        {"text": text(75, "plain_text"), "value": string(150)},
        {"description": text(75, "plain_text"), "url": _URL},
    )
)
_OPTION_GROUP = object_of(Shape({"label": text(75, "plain_text"), "options": items(_OPTION, most=100)}))
_FEEDBACK_BUTTON = object_of(
    Shape(
        {"text": text(75, "plain_text"), "value": string(2_000)},
        {"accessibility_label": string(75)},
    )
)
_FILTER = object_of(
    Shape(
        {},
        {
            "include": items(one_of("im", "mpim", "private", "public"), most=4),
            "exclude_bot_users": boolean,
            "exclude_external_shared_channels": boolean,
        },
        any_of=("include", "exclude_bot_users", "exclude_external_shared_channels"),
    )
)
_DISPATCH = object_of(
    Shape({}, {"trigger_actions_on": items(one_of("on_enter_pressed", "on_character_entered"), most=2)})
)
_NUMBER = string(50, pattern=r"-?\d+(?:\.\d+)?")
_LINES = integer(1, 100)
_STRINGS = items(string(255), most=100)
_STYLE = one_of("primary", "danger")


def _menu(**fields: Check) -> dict[str, Check]:
    return {
        **_ACTION_ID,
        **_FOCUS,
        "placeholder": text(150, "plain_text"),
        "confirm": _CONFIRM,
        **fields,
    }


def _entry(**fields: Check) -> dict[str, Check]:
    return {
        **_ACTION_ID,
        **_FOCUS,
        "placeholder": text(150, "plain_text"),
        "initial_value": string(3_000, least=0),
        "dispatch_action_config": _DISPATCH,
        **fields,
    }


_CHOICES: dict[str, Check] = {
    "options": items(_OPTION, most=100),
    "option_groups": items(_OPTION_GROUP, most=100),
}
_SEVERAL: dict[str, Check] = {"max_selected_items": integer(1, 10_000)}
_QUERY: dict[str, Check] = {"min_query_length": integer(0, 150)}
_WORKFLOW = object_of(
    Shape(
        {
            "trigger": object_of(
                Shape(
                    {"url": _SECURE_URL},
                    {
                        "customizable_input_parameters": items(
                            object_of(Shape({"name": string(255), "value": anything})), most=100
                        )
                    },
                )
            )
        }
    )
)


def _chosen(value: Any, at: str) -> Iterator[Fault]:
    """What is chosen at first has to be among the options."""
    groups = [group["options"] for group in value.get("option_groups", ())]
    offered = [_plain(option) for options in [value.get("options", ()), *groups] for option in options]
    if "initial_option" in value and _plain(value["initial_option"]) not in offered:
        yield Fault("must match one of the options", f"{at}/initial_option")
    for index, option in enumerate(value.get("initial_options", ())):
        if _plain(option) not in offered:
            yield Fault("must match one of the options", f"{at}/initial_options/{index}")


def _plain(option: Any) -> tuple[str, str]:
    return option["value"], option["text"]["text"]


def _ordered(lower: str, upper: str) -> Check:
    """A minimum may not exceed its maximum."""

    def check(value: Any, at: str) -> Iterator[Fault]:
        try:
            if float(value[lower]) > float(value[upper]):
                yield Fault(f"must not be greater than {upper}", f"{at}/{lower}")
        except (KeyError, ValueError):
            return

    return check


ELEMENTS: dict[str, Shape] = {
    "button": Shape(
        {"text": text(75, "plain_text")},
        {
            **_ACTION_ID,
            "url": _URL,
            "value": string(2_000),
            "style": _STYLE,
            "confirm": _CONFIRM,
            "accessibility_label": string(75),
            "agent_prompt": string(4_000),
            "agent_prompt_display": anything,
            "visible_to_user_ids": _STRINGS,
        },
    ),
    "workflow_button": Shape(
        {"text": text(75, "plain_text"), "workflow": _WORKFLOW},
        {**_ACTION_ID, "style": _STYLE, "accessibility_label": string(75)},
    ),
    "feedback_buttons": Shape({"positive_button": _FEEDBACK_BUTTON, "negative_button": _FEEDBACK_BUTTON}, _ACTION_ID),
    "icon_button": Shape(
        {"icon": one_of("trash"), "text": text(75, "plain_text")},
        {
            **_ACTION_ID,
            "accessibility_label": string(75),
            "value": string(2_000),
            "visible_to_user_ids": items(string(255), most=10),
            "confirm": _CONFIRM,
        },
    ),
    "image": Shape(
        {"alt_text": string(2_000)},
        _PICTURE,
        any_of=_PICTURES,
        not_both=_PICTURES,
    ),
    "overflow": Shape({"options": items(_LINK_OPTION, most=5)}, {**_ACTION_ID, "confirm": _CONFIRM}),
    "checkboxes": Shape(
        {"options": items(_RICH_OPTION, most=10)},
        {**_ACTION_ID, **_FOCUS, "initial_options": items(_RICH_OPTION, most=10), "confirm": _CONFIRM},
        also=_chosen,
    ),
    "radio_buttons": Shape(
        {"options": items(_RICH_OPTION, most=10)},
        {**_ACTION_ID, **_FOCUS, "initial_option": _RICH_OPTION, "confirm": _CONFIRM},
        also=_chosen,
    ),
    "static_select": Shape(
        {}, _menu(**_CHOICES, initial_option=_OPTION), any_of=tuple(_CHOICES), not_both=tuple(_CHOICES), also=_chosen
    ),
    "multi_static_select": Shape(
        {},
        _menu(**_CHOICES, **_SEVERAL, initial_options=items(_OPTION, most=100)),
        any_of=tuple(_CHOICES),
        not_both=tuple(_CHOICES),
        also=_chosen,
    ),
    "external_select": Shape({}, _menu(**_QUERY, initial_option=_OPTION)),
    "multi_external_select": Shape({}, _menu(**_SEVERAL, **_QUERY, initial_options=items(_OPTION, most=100))),
    "users_select": Shape({}, _menu(initial_user=string(255))),
    "multi_users_select": Shape({}, _menu(**_SEVERAL, initial_users=_STRINGS)),
    "channels_select": Shape({}, _menu(initial_channel=string(255), response_url_enabled=boolean)),
    "multi_channels_select": Shape({}, _menu(**_SEVERAL, initial_channels=_STRINGS)),
    "conversations_select": Shape(
        {},
        _menu(
            initial_conversation=string(255),
            default_to_current_conversation=boolean,
            response_url_enabled=boolean,
            filter=_FILTER,
        ),
    ),
    "multi_conversations_select": Shape(
        {},
        _menu(
            **_SEVERAL,
            initial_conversations=_STRINGS,
            default_to_current_conversation=boolean,
            filter=_FILTER,
        ),
    ),
    "datepicker": Shape({}, _menu(initial_date=string(10, pattern=r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"))),
    "timepicker": Shape({}, _menu(initial_time=string(5, pattern=r"(?:[01]\d|2[0-3]):[0-5]\d"), timezone=string(255))),
    "datetimepicker": Shape(
        {}, {**_ACTION_ID, **_FOCUS, "initial_date_time": integer(10**9, 10**10 - 1), "confirm": _CONFIRM}
    ),
    "plain_text_input": Shape(
        {},
        _entry(multiline=boolean, min_length=integer(0, 3_000), max_length=integer(1, 3_000)),
        also=_ordered("min_length", "max_length"),
    ),
    "email_text_input": Shape({}, _entry()),
    "url_text_input": Shape({}, _entry()),
    "number_input": Shape(
        {"is_decimal_allowed": boolean},
        {**_entry(min_value=_NUMBER, max_value=_NUMBER), "initial_value": _NUMBER},
        also=_ordered("min_value", "max_value"),
    ),
    "rich_text_input": Shape(
        {}, {**_entry(min_lines=_LINES, max_lines=_LINES), "initial_value": _only_blocks("rich_text")}
    ),
    "file_input": Shape({}, {**_ACTION_ID, "filetypes": _STRINGS, "max_files": integer(1, 10)}),
    "url": Shape({"url": _URL, "text": string(256)}),
}

_CHART_LABEL = string(20)
_POINT = object_of(Shape({"label": _CHART_LABEL, "value": number}))
_SERIES = Shape(
    {
        "series": items(object_of(Shape({"name": _CHART_LABEL, "data": items(_POINT, most=20)})), most=12),
        "axis_config": object_of(
            Shape({"categories": items(_CHART_LABEL, most=20)}, {"x_label": string(50), "y_label": string(50)})
        ),
    },
    also=_series_points,
)
CHARTS: dict[str, Shape] = {
    "pie": Shape({"segments": items(object_of(Shape({"label": _CHART_LABEL, "value": positive})), most=12)}),
    "bar": _SERIES,
    "area": _SERIES,
    "line": _SERIES,
}

_MENUS = tuple(name for name in ELEMENTS if name.endswith("_select"))
_PICKERS = ("datepicker", "timepicker", "datetimepicker", "checkboxes", "radio_buttons")
_ENTRIES = tuple(name for name in ELEMENTS if name.endswith("_input"))

_TASK: dict[str, Check] = {
    "task_id": string(255),
    "title": string(256),
    "status": one_of("pending", "in_progress", "complete", "error"),
}
_TASK_DETAIL: dict[str, Check] = {
    "details": _only_blocks("rich_text"),
    "output": _only_blocks("rich_text"),
    "sources": items(_element("url"), most=50, least=0),
}

BLOCKS: dict[str, Shape] = {
    "section": Shape(
        {},
        {
            "text": text(3_000),
            "fields": items(text(2_000), most=10),
            "accessory": _element("button", "overflow", "image", "workflow_button", *_MENUS, *_PICKERS),
            "expand": boolean,
        },
        ("text", "fields"),
    ),
    "header": Shape({"text": text(150, "plain_text")}),
    "divider": Shape(),
    "context": Shape({"elements": items(_context_element, most=10)}),
    "actions": Shape(
        {
            "elements": items(
                _element("button", "overflow", "workflow_button", "rich_text_input", *_MENUS, *_PICKERS), most=25
            )
        }
    ),
    "context_actions": Shape({"elements": items(_element("feedback_buttons", "icon_button"), most=5)}),
    "image": Shape(
        {"alt_text": string(2_000)},
        {**_PICTURE, "title": text(2_000, "plain_text")},
        any_of=_PICTURES,
        not_both=_PICTURES,
    ),
    "input": Shape(
        {"label": text(2_000, "plain_text"), "element": _element(*_MENUS, *_PICKERS, *_ENTRIES)},
        {"hint": text(2_000, "plain_text"), "optional": boolean, "dispatch_action": boolean},
    ),
    "markdown": Shape({"text": string(MARKDOWN_CHARACTERS)}),
    "rich_text": Shape({"elements": _rich_elements()}),
    "table": Shape(
        {"rows": items(items(_table_cell, most=20), most=100)},
        {"column_settings": items(_column, most=20)},
        also=_table_text,
    ),
    "data_table": Shape(
        {"rows": items(items(_table_cell, most=20), most=101, least=2), "caption": string(2_000)},
        {"page_size": integer(1, 100), "row_header_column_index": integer(0, 19)},
        also=_data_rows,
    ),
    "data_visualization": Shape({"title": string(50), "chart": typed(CHARTS, common={})}),
    "task_card": Shape(_TASK, _TASK_DETAIL),
    "plan": Shape({"title": string(256)}, {"tasks": items(_only_blocks("task_card"), most=50)}),
    "alert": Shape({"text": text(3_000)}, {"level": one_of("default", "info", "warning", "error", "success")}),
    "card": Shape(
        {},
        {
            "hero_image": _element("image"),
            "icon": _element("image"),
            "title": text(150),
            "subtitle": text(150),
            "body": text(200),
            "actions": items(_element("button"), most=5),
        },
        ("hero_image", "title", "actions", "body"),
    ),
    "carousel": Shape({"elements": items(_only_blocks("card"), most=10)}),
    "container": Shape(
        {"child_blocks": items(any_block, most=10)},
        {
            "title": text(150, "plain_text"),
            "rich_text_title": _only_blocks("rich_text"),
            "subtitle": text(150),
            "width": one_of("narrow", "standard", "wide", "full"),
            "icon": _element("image"),
            "is_collapsible": boolean,
            "default_collapsed": boolean,
            "has_header_divider": boolean,
        },
        ("title", "rich_text_title"),
    ),
    "video": Shape(
        {
            "alt_text": string(2_000),
            "title": text(200, "plain_text"),
            "thumbnail_url": _IMAGE_URL,
            "video_url": _SECURE_URL,
        },
        {
            "title_url": _SECURE_URL,
            "description": text(200, "plain_text"),
            "provider_icon_url": _IMAGE_URL,
            "provider_name": string(50),
            "author_name": string(50),
        },
    ),
    "file": Shape({"external_id": string(255), "source": one_of("remote")}),
}

RICH_PARTS: dict[str, Shape] = {
    "text": Shape({"text": string(40_000, least=0)}),
    "link": Shape({"url": _URL}, {"text": string(40_000, least=0), "unsafe": boolean}),
    "emoji": Shape({"name": string(255)}, {"unicode": string(64), "skin_tone": integer(1, 6), "url": _URL}),
    "user": Shape({"user_id": string(255)}),
    "channel": Shape({"channel_id": string(255)}),
    "usergroup": Shape({"usergroup_id": string(255)}),
    "broadcast": Shape({"range": one_of("here", "channel", "everyone")}),
    "team": Shape({"team_id": string(255)}),
    "color": Shape({"value": string(16)}),
    "date": Shape(
        {"timestamp": integer(0, 10**11), "format": string(255)}, {"url": _URL, "fallback": string(255, least=0)}
    ),
}

_BORDER: dict[str, Check] = {"border": integer(0, 1)}

RICH_ELEMENTS: dict[str, Shape] = {
    "rich_text_section": Shape({"elements": _rich_parts}),
    "rich_text_quote": Shape({"elements": _rich_parts}, _BORDER),
    "rich_text_preformatted": Shape({"elements": _plain_parts}, {**_BORDER, "language": string(50)}),
    "rich_text_list": Shape(
        {"elements": _rich_elements("rich_text_section"), "style": one_of("bullet", "ordered")},
        {**_BORDER, "indent": integer(0, 8), "offset": integer(0, 10_000)},
    ),
}

_VIEW: dict[str, Check] = {
    "private_metadata": string(3_000, least=0),
    "callback_id": string(255, least=0),
    "external_id": string(255, least=0),
}

VIEWS: dict[str, Shape] = {
    "home": Shape({"type": anything, "blocks": items(any_block, most=VIEW_BLOCKS, least=0)}, _VIEW),
    "modal": Shape(
        {
            "type": anything,
            "title": text(24, "plain_text"),
            "blocks": items(any_block, most=VIEW_BLOCKS, least=0),
        },
        {
            **_VIEW,
            "submit": text(24, "plain_text"),
            "close": text(24, "plain_text"),
            "clear_on_close": boolean,
            "notify_on_close": boolean,
            "submit_disabled": boolean,
        },
    ),
}
