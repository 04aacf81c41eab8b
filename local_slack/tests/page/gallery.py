"""Every kind of block, element and part of rich text that the validator knows, in messages and views that it accepts.

What has an action_id has its own kind for one, by which the page's elements are found.
"""

from collections.abc import Iterator
from typing import Any

from local_slack.page.loose import Json
from local_slack.tests.page.scene import CUSTOMER, button, section, text

PICTURE: Json = {"type": "image", "image_url": "https://example.com/lamp.png", "alt_text": "A scratched lamp"}
POST: Json = {"text": text("By post", "plain_text"), "value": "post"}
SHOP: Json = {"text": text("In a shop", "plain_text"), "value": "shop", "description": text("12 shops", "plain_text")}
OPTIONS = [POST, SHOP]
LINK: Json = {"type": "url", "url": "https://help.example.com/returns", "text": "Returns policy"}


def named(kind: str, **fields: Any) -> Json:
    """An element of that kind."""
    return {"type": kind, "action_id": kind, **fields}


def plain(words: str) -> Json:
    return text(words, "plain_text")


def said(words: str, **style: bool) -> Json:
    return {"type": "text", "text": words, **({"style": style} if style else {})}


def rich(*elements: Json) -> Json:
    return {"type": "rich_text", "elements": list(elements)}


def paragraph(*parts: Json) -> Json:
    return {"type": "rich_text_section", "elements": list(parts)}


def labelled(words: str, element: Json, **more: Any) -> Json:
    return {"type": "input", "label": plain(words), "element": element, **more}


def card(title: str, **more: Any) -> Json:
    return {"type": "card", "title": text(f"*{title}*"), "subtitle": text("2 items · €129.98"), **more}


def task(id_: str, title: str, status: str, **more: Any) -> Json:
    return {"type": "task_card", "task_id": id_, "title": title, "status": status, **more}


def cells(*words: str) -> list[Json]:
    return [{"type": "raw_text", "text": each} for each in words]


def order(number: int) -> list[Json]:
    total = {"type": "raw_number", "value": number * 10.5, "text": f"€{number * 10.5:.2f}"}
    return [*cells(f"ORD-{1000 + number}", "Delivered" if number % 2 else "On its way"), total]


def chart(title: str, given: Json) -> Json:
    return {"type": "data_visualization", "title": title, "chart": given}


def series(name: str, *values: float) -> Json:
    return {"name": name, "data": [{"label": day, "value": value} for day, value in zip(DAYS, values, strict=True)]}


DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
AXES: Json = {"categories": DAYS, "x_label": "Day", "y_label": "Cases"}

RICH = rich(
    paragraph(
        said("Bold", bold=True),
        said(" italic", italic=True),
        said(" struck", strike=True),
        said(" code", code=True),
        said(" and "),
        {"type": "link", "url": "https://example.com", "text": "a link"},
        said(" for "),
        {"type": "user", "user_id": CUSTOMER},
        {"type": "usergroup", "usergroup_id": "S0TEAM"},
        {"type": "team", "team_id": "T0LOCAL"},
        {"type": "channel", "channel_id": "C0SUPPORT"},
        {"type": "broadcast", "range": "here"},
        {"type": "emoji", "name": "wave"},
        {"type": "color", "value": "#0f6b58"},
        {"type": "date", "timestamp": 1_795_200_000, "format": "{date_long} at {time}", "fallback": "in November"},
    ),
    {
        "type": "rich_text_list",
        "style": "ordered",
        "elements": [paragraph(said("Open Orders")), paragraph(said("Press Return"))],
    },
    {"type": "rich_text_preformatted", "elements": [said("tracking = 1Z999AA10123456784 " * 4)]},
    {"type": "rich_text_quote", "elements": [said("It never came.")]},
)

SELECTS = [
    named("static_select", option_groups=[{"label": plain("Ways"), "options": OPTIONS}]),
    named("multi_static_select", options=OPTIONS, initial_options=[SHOP]),
    named("external_select", initial_option=POST, min_query_length=2),
    named("multi_external_select", placeholder=plain("Which articles?")),
    named("users_select", initial_user=CUSTOMER),
    named("multi_users_select", initial_users=[CUSTOMER]),
    named("channels_select"),
    named("multi_channels_select"),
    named("conversations_select"),
    named("multi_conversations_select"),
]
PICKERS = [
    named("datepicker", initial_date="2026-11-21"),
    named("timepicker", initial_time="14:30"),
    named("datetimepicker", initial_date_time=1_795_200_000),
    named("radio_buttons", options=OPTIONS, initial_option=SHOP),
    named("checkboxes", options=OPTIONS, initial_options=[POST]),
]
ENTRIES = [
    named("plain_text_input", multiline=True, placeholder=plain("What happened?")),
    named("rich_text_input"),
    named("email_text_input", initial_value="customer.a@example.com"),
    named("url_text_input"),
    named("number_input", is_decimal_allowed=True, initial_value="2.5"),
]

MESSAGES: list[list[Json]] = [
    [
        {"type": "header", "text": plain("Every block")},
        section("*Section* with `code` and an accessory", accessory=named("button", text=plain("Go"))),
        {"type": "section", "fields": [text("*Customer*\nCustomer A"), text("*Priority*\nHigh")]},
        {"type": "divider"},
        RICH,
        {"type": "markdown", "text": "**Markdown** with a table\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
        *({"type": "alert", "level": each, "text": text(f"Level *{each}*")} for each in ("info", "warning", "error")),
        {"type": "alert", "level": "success", "text": text("Level *success*")},
        {"type": "table", "rows": [cells("Order", "Total"), cells("ORD-1001", "€20.00")]},
        PICTURE | {"title": plain("From the customer")},
        {"type": "context", "elements": [PICTURE, text("a context with a picture")]},
        {"type": "file", "external_id": "F0REMOTE", "source": "remote"},
        {
            "type": "video",
            "alt_text": "How to pack a lamp",
            "title": plain("How to pack a lamp"),
            "title_url": "https://help.example.com/packing",
            "thumbnail_url": "https://example.com/t.png",
            "video_url": "https://example.com/v",
            "description": plain("Two minutes that save the shade."),
            "provider_name": "Help pages",
        },
    ],
    [
        card("ORD-12345", icon=PICTURE, body=text("Arrives on *Tuesday*."), actions=[button("order.open", "Open")]),
        {"type": "carousel", "elements": [card(f"Choice {each}", hero_image=PICTURE) for each in range(5)]},
        {
            "type": "container",
            "title": plain("Details"),
            "subtitle": text("open them"),
            "icon": PICTURE,
            "is_collapsible": True,
            "child_blocks": [section("inside a container")],
        },
        {"type": "container", "rich_text_title": rich(paragraph(said("Rich", bold=True))), "child_blocks": [RICH]},
        {
            "type": "plan",
            "title": "Finding your parcel",
            "tasks": [
                task("1", "Read the order", "complete", sources=[LINK], details=rich(paragraph(said("Shipped")))),
                task("2", "Ask the carrier", "error", output=rich(paragraph(said("no answer")))),
                task("3", "Write to the depot", "in_progress"),
            ],
        },
        task("4", "Look up the order", "pending"),
        {
            "type": "data_table",
            "caption": "Orders of this year",
            "rows": [cells("Order", "State", "Total"), *(order(each) for each in range(1, 13))],
        },
    ],
    [
        chart(
            "Why people wrote",
            {"type": "pie", "segments": [{"label": each, "value": at} for at, each in enumerate(DAYS, 2)]},
        ),
        chart(
            "Cases a day",
            {
                "type": "bar",
                "series": [series("Opened", 9, 7, 4, 8, 12), series("Solved", 6, 8, 5, 7, 10)],
                "axis_config": AXES,
            },
        ),
    ],
    [
        chart("Waiting", {"type": "line", "series": [series("Minutes", 4, 6, 2, 3, 5)], "axis_config": AXES}),
        chart("Change", {"type": "area", "series": [series("Balance", -3, 1, 1, -1, -2)], "axis_config": AXES}),
    ],
    [
        {"type": "actions", "block_id": "selects", "elements": SELECTS},
        {"type": "actions", "block_id": "pickers", "elements": PICKERS},
        {
            "type": "actions",
            "block_id": "buttons",
            "elements": [
                button("primary", "Claim", style="primary"),
                button("danger", "Take it over", style="danger"),
                button("leads.on", "Open the page", url="https://help.example.com"),
                named(
                    "workflow_button",
                    text=plain("Start the return"),
                    workflow={"trigger": {"url": "https://slack.com/shortcuts/1"}},
                ),
                named("overflow", options=OPTIONS),
            ],
        },
        {
            "type": "context_actions",
            "elements": [
                named(
                    "feedback_buttons",
                    positive_button={"text": plain("Helpful"), "value": "up"},
                    negative_button={"text": plain("Not helpful"), "value": "down"},
                ),
                named("icon_button", icon="trash", text=plain("Remove"), value="x"),
            ],
        },
        *(
            labelled(
                f"Field {at}", each | {"action_id": f"in-{each['type']}"}, hint=plain("Only for us."), optional=True
            )
            for at, each in enumerate(ENTRIES)
        ),
    ],
]

MODAL: Json = {
    "type": "modal",
    "title": plain("Every input"),
    "submit": plain("Send"),
    "blocks": [
        *(labelled(f"Field {at}", each, block_id=f"b{at}") for at, each in enumerate([*ENTRIES, *SELECTS, *PICKERS])),
        labelled("Picture", named("file_input")),
    ],
}


def kinds_in(value: object) -> Iterator[str]:
    """The kind of whatever has one, however deep it sits."""
    if isinstance(value, list):
        for each in value:
            yield from kinds_in(each)
    elif isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value["type"]
        yield from kinds_in(list(value.values()))
