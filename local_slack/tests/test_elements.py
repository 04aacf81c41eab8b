"""What the Block Kit validator says of elements, choices, rich text and views: a row for each rule."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack import rich_text
from local_slack.blocks import message_faults, view_faults
from local_slack.tests.apps import error_of
from local_slack.workspace import Workspace

Json = dict[str, Any]

PLAIN = {"type": "plain_text", "text": "x"}
MRKDWN = {"type": "mrkdwn", "text": "x"}
OPTION = {"text": PLAIN, "value": "a"}
OTHER = {"text": PLAIN, "value": "b"}
GROUP = {"label": PLAIN, "options": [OPTION]}
SELECT = {"type": "static_select", "action_id": "pick", "options": [OPTION]}
CHECKS = {"type": "checkboxes", "action_id": "tick", "options": [OPTION, OTHER]}
RADIO = {"type": "radio_buttons", "options": [OPTION]}
OVERFLOW = {"type": "overflow", "options": [OPTION]}
BUTTON = {"type": "button", "text": PLAIN}
TEXT_INPUT = {"type": "plain_text_input", "action_id": "say"}
NUMBER = {"type": "number_input", "is_decimal_allowed": False}
TALK = {"type": "conversations_select"}
CONFIRM = {"title": PLAIN, "text": MRKDWN}
TRIGGER = {"url": "https://slack.com/shortcuts/1"}
WORKFLOW = {"type": "workflow_button", "text": PLAIN, "workflow": {"trigger": TRIGGER}}
ROW = [{"type": "raw_text", "text": "a"}]
TABLE = {"type": "table", "rows": [ROW]}
VIDEO = {
    "type": "video",
    "alt_text": "x",
    "title": PLAIN,
    "thumbnail_url": "https://example.com/t.png",
    "video_url": "https://example.com/v",
}
LIST = {"type": "rich_text_list", "style": "bullet", "elements": [{"type": "rich_text_section", "elements": []}]}
SECTION = {"type": "section", "text": MRKDWN}


def entry(element: Json) -> Json:
    return {"type": "input", "label": PLAIN, "element": element}


def acting(element: Json) -> Json:
    return {"type": "actions", "elements": [element]}


def rich(element: Json) -> Json:
    return {"type": "rich_text", "elements": [element]}


def said(number: int) -> Json:
    return {"type": "plain_text", "text": "x" * number}


def modal(*blocks: Json, **fields: Any) -> Json:
    return {"type": "modal", "title": PLAIN, "submit": PLAIN, "blocks": list(blocks)} | fields


VALID_ELEMENTS: list[Json] = [
    SELECT | {"initial_option": OPTION, "confirm": CONFIRM, "placeholder": said(150)},
    SELECT | {"initial_option": {"text": PLAIN | {"emoji": True}, "value": "a"}},
    {"type": "static_select", "option_groups": [GROUP], "initial_option": OPTION},
    {"type": "multi_static_select", "options": [OPTION, OTHER], "initial_options": [OTHER], "max_selected_items": 1},
    {"type": "external_select", "min_query_length": 0},
    {"type": "multi_users_select", "initial_users": ["U0AGENTA"]},
    TALK | {"filter": {"include": ["im", "private"]}, "default_to_current_conversation": True},
    CHECKS | {"initial_options": [OPTION]},
    {"type": "radio_buttons", "options": [{"text": MRKDWN, "value": "a", "description": MRKDWN}]},
    {"type": "datepicker", "initial_date": "2026-02-28"},
    {"type": "timepicker", "initial_time": "23:59", "timezone": "Asia/Jakarta"},
    {"type": "datetimepicker", "initial_date_time": 1_800_000_000},
]


def test_a_valid_element_may_stand_in_actions_and_inputs() -> None:
    misses = [
        (element, got) for element in VALID_ELEMENTS if (got := message_faults([acting(element), entry(element)])) != []
    ]
    assert misses == []


VALID_BLOCKS: list[dict[str, Any]] = [
    acting(WORKFLOW),
    acting({"type": "overflow", "options": [OPTION | {"url": "https://example.com"}]}),
    acting(BUTTON | {"url": "mailto:help@example.com", "accessibility_label": "x" * 75}),
    entry(TEXT_INPUT | {"min_length": 0, "max_length": 3_000, "initial_value": ""}),
    entry(NUMBER | {"min_value": "-1", "max_value": "2.5", "initial_value": "0"}),
    entry({"type": "rich_text_input", "min_lines": 1, "max_lines": 100}),
    entry({"type": "email_text_input"}),
    {"type": "image", "slack_file": {"id": "F0FILE"}, "alt_text": "x"},
    TABLE | {"column_settings": [{"align": "right", "is_wrapped": True}, None]},
    VIDEO,
    rich(LIST | {"indent": 8, "border": 1, "offset": 2}),
    rich({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x"}]}),
    rich({"type": "rich_text_quote", "elements": [{"type": "text", "text": "x", "style": {"bold": True}}]}),
    {"type": "section", "text": said(3_000), "fields": [said(2_000)]},
]


def test_a_valid_block_has_no_fault() -> None:
    misses = [(block, got) for block in VALID_BLOCKS if (got := message_faults([block])) != []]
    assert misses == []


def test_what_markdown_becomes_is_valid() -> None:
    markdown = (
        "# Title\n\n1. one\n   - nested `code`\n2. [two](https://example.com)\n\n> quoted **bold**\n\n```py\nx = 1\n```"
    )
    assert message_faults([rich_text.from_markdown(markdown)]) == []


OPTIONS = "must match one of the options"

INVALID = [
    (acting(BUTTON | {"text": said(76)}), "must be less than 76 characters", "elements/0/text/text"),
    (acting(BUTTON | {"text": MRKDWN}), "unsupported type: mrkdwn", "elements/0/text/type"),
    (acting(BUTTON | {"action_id": "x" * 256}), "must be less than 256 characters", "elements/0/action_id"),
    (acting(BUTTON | {"url": "https://" + "x" * 2_993}), "must be less than 3001 characters", "elements/0/url"),
    (acting(BUTTON | {"confirm": {"title": PLAIN}}), "missing required field: text", "elements/0/confirm"),
    (
        acting(BUTTON | {"confirm": CONFIRM | {"title": said(101)}}),
        "must be less than 101 characters",
        "elements/0/confirm/title/text",
    ),
    (
        acting(BUTTON | {"confirm": CONFIRM | {"text": said(301)}}),
        "must be less than 301 characters",
        "elements/0/confirm/text/text",
    ),
    (
        acting(BUTTON | {"confirm": CONFIRM | {"deny": said(31)}}),
        "must be less than 31 characters",
        "elements/0/confirm/deny/text",
    ),
    (acting(SELECT | {"options": [OPTION] * 101}), "no more than 100 items allowed", "elements/0/options"),
    (acting(SELECT | {"options": []}), "no fewer than 1 items allowed", "elements/0/options"),
    (acting(SELECT | {"placeholder": said(151)}), "must be less than 151 characters", "elements/0/placeholder/text"),
    (
        acting(SELECT | {"option_groups": [GROUP]}),
        "must provide only one of: options, option_groups",
        "elements/0",
    ),
    (acting({"type": "static_select"}), "missing required field: options or option_groups", "elements/0"),
    (acting(SELECT | {"initial_option": OTHER}), OPTIONS, "elements/0/initial_option"),
    (
        acting(SELECT | {"options": [OPTION | {"url": "https://example.com"}]}),
        "invalid additional property: url",
        "elements/0/options/0",
    ),
    (
        acting(SELECT | {"options": [{"text": MRKDWN, "value": "a"}]}),
        "unsupported type: mrkdwn",
        "elements/0/options/0/text/type",
    ),
    (
        acting(SELECT | {"options": [{"text": said(76), "value": "a"}]}),
        "must be less than 76 characters",
        "elements/0/options/0/text/text",
    ),
    (
        acting(SELECT | {"options": [{"text": PLAIN, "value": "x" * 151}]}),
        "must be less than 151 characters",
        "elements/0/options/0/value",
    ),
    (acting(SELECT | {"options": [{"text": PLAIN}]}), "missing required field: value", "elements/0/options/0"),
    (
        acting({"type": "static_select", "option_groups": [GROUP | {"label": said(76)}]}),
        "must be less than 76 characters",
        "elements/0/option_groups/0/label/text",
    ),
    (acting(OVERFLOW | {"options": [OPTION] * 6}), "no more than 5 items allowed", "elements/0/options"),
    (acting(CHECKS | {"options": [OPTION] * 11}), "no more than 10 items allowed", "elements/0/options"),
    (acting(RADIO | {"options": [OPTION] * 11}), "no more than 10 items allowed", "elements/0/options"),
    (acting(RADIO | {"initial_option": OTHER}), OPTIONS, "elements/0/initial_option"),
    (
        acting({"type": "multi_static_select", "options": [OPTION], "initial_options": [OPTION, OTHER]}),
        OPTIONS,
        "elements/0/initial_options/1",
    ),
    (
        acting({"type": "multi_users_select", "max_selected_items": 0}),
        "must be greater than 0",
        "elements/0/max_selected_items",
    ),
    (
        acting(TALK | {"filter": {}}),
        "missing required field: include or exclude_bot_users or exclude_external_shared_channels",
        "elements/0/filter",
    ),
    (acting(TALK | {"filter": {"include": []}}), "no fewer than 1 items allowed", "elements/0/filter/include"),
    (acting(TALK | {"filter": {"include": ["all"]}}), "must be a valid enum value", "elements/0/filter/include/0"),
    (
        acting({"type": "datepicker", "initial_date": "2026-13-01"}),
        "must be a valid value",
        "elements/0/initial_date",
    ),
    (acting({"type": "timepicker", "initial_time": "24:00"}), "must be a valid value", "elements/0/initial_time"),
    (
        acting({"type": "datetimepicker", "initial_date_time": 12}),
        "must be greater than 999999999",
        "elements/0/initial_date_time",
    ),
    (acting(WORKFLOW | {"workflow": {}}), "missing required field: trigger", "elements/0/workflow"),
    (entry(TEXT_INPUT | {"min_length": 3_001}), "must be less than 3001", "element/min_length"),
    (entry(TEXT_INPUT | {"max_length": 0}), "must be greater than 0", "element/max_length"),
    (
        entry(TEXT_INPUT | {"min_length": 9, "max_length": 3}),
        "must not be greater than max_length",
        "element/min_length",
    ),
    (entry(TEXT_INPUT | {"multiline": "yes"}), "must be a boolean", "element/multiline"),
    (entry({"type": "number_input"}), "missing required field: is_decimal_allowed", "element"),
    (entry(NUMBER | {"min_value": "few"}), "must be a valid value", "element/min_value"),
    (
        entry(NUMBER | {"min_value": "10", "max_value": "9"}),
        "must not be greater than max_value",
        "element/min_value",
    ),
    (entry({"type": "rich_text_input", "max_lines": 101}), "must be less than 101", "element/max_lines"),
    (entry(BUTTON), "unsupported type: button", "element/type"),
    (entry({"type": "file_input"}), "unsupported type: file_input", "element/type"),
    (
        entry(TEXT_INPUT | {"dispatch_action_config": {"trigger_actions_on": ["on_blur"]}}),
        "must be a valid enum value",
        "element/dispatch_action_config/trigger_actions_on/0",
    ),
    (entry(TEXT_INPUT) | {"label": said(2_001)}, "must be less than 2001 characters", "label/text"),
    (entry(TEXT_INPUT) | {"hint": said(2_001)}, "must be less than 2001 characters", "hint/text"),
    (SECTION | {"text": said(3_001)}, "must be less than 3001 characters", "text/text"),
    (SECTION | {"fields": [PLAIN] * 11}, "no more than 10 items allowed", "fields"),
    (SECTION | {"fields": [said(2_001)]}, "must be less than 2001 characters", "fields/0/text"),
    (SECTION | {"text": {"type": "markdown", "text": "x"}}, "unsupported type: markdown", "text/type"),
    (SECTION | {"text": PLAIN | {"verbatim": True}}, "invalid additional property: verbatim", "text"),
    (SECTION | {"block_id": "x" * 256}, "must be less than 256 characters", "block_id"),
    ({"type": "context", "elements": [MRKDWN] * 11}, "no more than 10 items allowed", "elements"),
    (
        {"type": "context_actions", "elements": [{"type": "icon_button", "icon": "bell", "text": PLAIN}]},
        "must be a valid enum value",
        "elements/0/icon",
    ),
    (
        {"type": "image", "alt_text": "x", "image_url": "https://example.com/i", "slack_file": {"id": "F0"}},
        "must provide only one of: image_url, slack_file",
        "",
    ),
    ({"type": "image", "alt_text": "x", "slack_file": {}}, "missing required field: id or url", "slack_file"),
    ({"type": "image", "alt_text": "x", "image_url": "picture.png"}, "invalid url", "image_url"),
    ({"type": "markdown", "text": "x" * 12_001}, "must be less than 12001 characters", "text"),
    ({"type": "table"}, "missing required field: rows", ""),
    ({"type": "table", "rows": [ROW] * 101}, "no more than 100 items allowed", "rows"),
    ({"type": "table", "rows": [ROW * 21]}, "no more than 20 items allowed", "rows/0"),
    (
        {"type": "table", "rows": [[{"type": "raw_text", "text": "x" * 6_000}]] * 2},
        "must be less than 10001 characters",
        "rows",
    ),
    (
        TABLE | {"column_settings": [{"align": "justify"}]},
        "must be a valid enum value",
        "column_settings/0/align",
    ),
    (
        {"type": "carousel", "elements": [{"type": "card", "title": MRKDWN}] * 11},
        "no more than 10 items allowed",
        "elements",
    ),
    (
        {"type": "card", "title": {"type": "mrkdwn", "text": "x" * 151}},
        "must be less than 151 characters",
        "title/text",
    ),
    ({"type": "card", "body": {"type": "mrkdwn", "text": "x" * 201}}, "must be less than 201 characters", "body/text"),
    (
        {"type": "container", "title": PLAIN, "child_blocks": [{"type": "divider"}] * 11},
        "no more than 10 items allowed",
        "child_blocks",
    ),
    (VIDEO | {"video_url": "http://example.com/v"}, "invalid url", "video_url"),
    (rich(LIST | {"indent": 9}), "must be less than 9", "elements/0/indent"),
    (rich(LIST | {"style": "dashed"}), "must be a valid enum value", "elements/0/style"),
    (rich(LIST | {"elements": [LIST]}), "unsupported type: rich_text_list", "elements/0/elements/0/type"),
    (
        rich({"type": "rich_text_preformatted", "elements": [{"type": "user", "user_id": "U0AGENTA"}]}),
        "unsupported type: user",
        "elements/0/elements/0/type",
    ),
    (
        rich({"type": "rich_text_section", "elements": [{"type": "text", "text": "x", "style": {"loud": True}}]}),
        "invalid additional property: loud",
        "elements/0/elements/0/style",
    ),
]


def test_a_fault_is_told_with_its_place() -> None:
    misses = []
    for block, problem, place in INVALID:
        pointer = f"/blocks/0/{place}".rstrip("/")
        found = [str(fault) for fault in message_faults([block])]
        if found != [f"{problem} [json-pointer:{pointer}]"]:
            misses.append((block, found))
    assert misses == []


def test_a_fault_of_a_view_is_told_with_its_place() -> None:
    table = [
        (modal(title=said(25)), "must be less than 25 characters", "/view/title/text"),
        (modal(submit=said(25)), "must be less than 25 characters", "/view/submit/text"),
        (modal(close=said(25)), "must be less than 25 characters", "/view/close/text"),
        (modal(private_metadata="x" * 3_001), "must be less than 3001 characters", "/view/private_metadata"),
        (modal(callback_id="x" * 256), "must be less than 256 characters", "/view/callback_id"),
        (modal(color="red"), "invalid additional property: color", "/view"),
        (modal(*[SECTION] * 101), "no more than 100 items allowed", "/view/blocks"),
        (modal({"type": "markdown", "text": "x"}), "unsupported type: markdown", "/view/blocks/0/type"),
        (modal(SECTION, TABLE), "unsupported type: table", "/view/blocks/1/type"),
        (
            {"type": "home", "blocks": [entry({"type": "file_input"})]},
            "unsupported type: file_input",
            "/view/blocks/0/element/type",
        ),
        (
            modal(*[entry(TEXT_INPUT | {"focus_on_load": True})] * 2),
            "only one element can have focus_on_load",
            "/view",
        ),
        (
            modal(SECTION | {"block_id": "a"}, SECTION | {"block_id": "a"}),
            "block_id 'a' already exists",
            "/view/blocks",
        ),
        ({"type": "home", "blocks": [], "title": PLAIN}, "invalid additional property: title", "/view"),
        ({"type": "home"}, "missing required field: blocks", "/view"),
        (
            modal(*[{"type": "section", "fields": [said(2_000)] * 10}] * 13),
            "must be less than 250000 bytes",
            "/view",
        ),
    ]
    misses = [
        (view, got)
        for view, problem, pointer in table
        if (got := [str(fault) for fault in view_faults(view)]) != [f"{problem} [json-pointer:{pointer}]"]
    ]
    assert misses == []


def test_a_modal_takes_files_and_all_it_may_carry() -> None:
    whole = modal(entry({"type": "file_input", "filetypes": ["pdf"], "max_files": 10}), close=said(24))
    assert view_faults(whole | {"notify_on_close": True, "private_metadata": "x" * 3_000, "external_id": "one"}) == []


async def test_messages_and_views_say_their_faults_in_their_own_way(
    client: AsyncWebClient, workspace: Workspace
) -> None:
    wrong = SECTION | {"text": said(3_001)}
    with pytest.raises(SlackApiError) as refused:
        await client.chat_postMessage(channel="C0SUPPORT", text="x", blocks=[wrong])
    told = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    answer = refused.value.response
    assert (answer["error"], answer["errors"]) == ("invalid_blocks", [told])
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {told}"]
    with pytest.raises(SlackApiError) as refused:
        await client.views_publish(user_id="U0CUSTOMERA", view={"type": "home", "blocks": [wrong]})
    answer = refused.value.response
    told = "must be less than 3001 characters [json-pointer:/view/blocks/0/text/text]"
    assert (answer["error"], answer["response_metadata"]["messages"]) == ("invalid_arguments", [f"[ERROR] {told}"])
    assert "errors" not in answer


async def test_blocks_are_validated_without_a_token_and_without_being_shown(workspace: Workspace) -> None:
    nobody = AsyncWebClient(base_url=f"{workspace.url}/api/")
    wrong = SECTION | {"text": said(3_001)}
    told = {"code": "failed_constraint", "message": "must be less than 3001 characters"}
    for arguments, error, pointer in (
        ({"blocks": [wrong]}, "invalid_blocks", "/0/text/text"),
        ({"message": {"blocks": [wrong]}}, "invalid_message", "/blocks/0/text/text"),
        ({"message": {"attachments": [{"blocks": [wrong]}]}}, "invalid_message", "/attachments/0/blocks/0/text/text"),
        ({"view": modal(wrong)}, "invalid_view", "/blocks/0/text/text"),
    ):
        with pytest.raises(SlackApiError) as refused:
            await nobody.api_call("blocks.validate", json=arguments)
        answer = refused.value.response
        assert (answer["error"], answer["errors"]) == (error, [told | {"pointer": pointer}])
    for valid in ({"blocks": [SECTION]}, {"message": {"blocks": [SECTION]}}, {"view": modal(SECTION)}):
        assert (await nobody.api_call("blocks.validate", json=valid))["ok"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"blocks": [SECTION], "view": modal(SECTION)}, {"blocks": "{"}, {"blocks": SECTION}, {"view": [SECTION]}],
)
async def test_one_thing_is_validated_at_a_time(workspace: Workspace, arguments: Json) -> None:
    nobody = AsyncWebClient(base_url=f"{workspace.url}/api/")
    assert await error_of(nobody.api_call("blocks.validate", json=arguments)) == "invalid_arguments"


async def test_a_message_to_validate_has_blocks_and_attachments_alone(workspace: Workspace) -> None:
    nobody = AsyncWebClient(base_url=f"{workspace.url}/api/")
    for message in ({"text": "x"}, {"attachments": "none"}, {"attachments": ["x"]}):
        assert await error_of(nobody.api_call("blocks.validate", json={"message": message})) == "invalid_message"
