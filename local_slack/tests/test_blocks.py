"""What the Block Kit validator lets pass and what it refuses."""

from typing import Any

from local_slack.blocks import completed, elements, message_faults, view_faults

PLAIN = {"type": "plain_text", "text": "x"}
MRKDWN = {"type": "mrkdwn", "text": "x"}
BUTTON = {"type": "button", "text": PLAIN, "action_id": "go", "value": "1"}
OPTION = {"text": PLAIN, "value": "a"}
SELECT = {"type": "static_select", "action_id": "pick", "options": [OPTION], "placeholder": PLAIN}
RICH = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}]}
TASK = {"type": "task_card", "task_id": "1", "title": "Look up", "status": "complete", "details": RICH}
FEEDBACK = {
    "type": "feedback_buttons",
    "action_id": "fb",
    "positive_button": {"text": PLAIN, "value": "up"},
    "negative_button": {"text": PLAIN, "value": "down"},
}


VALID_BLOCKS: list[dict[str, Any]] = [
    {"type": "section", "text": MRKDWN},
    {"type": "section", "fields": [MRKDWN] * 10, "accessory": SELECT, "block_id": "b"},
    {"type": "header", "text": PLAIN},
    {"type": "divider"},
    {"type": "context", "elements": [MRKDWN, {"type": "image", "image_url": "https://e.com/i", "alt_text": "i"}]},
    {"type": "actions", "elements": [BUTTON, SELECT, {"type": "overflow", "options": [OPTION], "action_id": "o"}]},
    {"type": "context_actions", "elements": [FEEDBACK]},
    {"type": "input", "label": PLAIN, "element": {"type": "plain_text_input", "multiline": True}},
    {"type": "markdown", "text": "**x**"},
    RICH,
    {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}, RICH]]},
    TASK,
    {"type": "plan", "title": "Plan", "tasks": [TASK]},
    {"type": "alert", "level": "warning", "text": MRKDWN},
    {"type": "carousel", "elements": [{"type": "card", "title": MRKDWN, "actions": [BUTTON]}]},
    {"type": "container", "title": PLAIN, "child_blocks": [{"type": "divider"}]},
    {"type": "image", "image_url": "https://example.com/i.png", "alt_text": "a picture"},
]


def test_a_valid_block_has_no_fault() -> None:
    misses = [(block, got) for block in VALID_BLOCKS if (got := message_faults([block])) != []]
    assert misses == []


def test_an_invalid_block_is_refused_with_the_place() -> None:
    rows = [
        ({"type": "mystery"}, "unsupported type: mystery [json-pointer:/blocks/0/type]"),
        ({"type": "section"}, "missing required field: text or fields [json-pointer:/blocks/0]"),
        (
            {"type": "section", "text": {"type": "mrkdwn", "text": ""}},
            "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
        ),
        ({"type": "header", "text": MRKDWN}, "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]"),
        (
            {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}},
            "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
        ),
        ({"type": "divider", "color": "red"}, "invalid additional property: color [json-pointer:/blocks/0]"),
        ({"type": "actions", "elements": []}, "no fewer than 1 items allowed [json-pointer:/blocks/0/elements]"),
        (
            {"type": "actions", "elements": [BUTTON | {"action_id": str(n)} for n in range(26)]},
            "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
        ),
        (
            {"type": "actions", "elements": [BUTTON, BUTTON]},
            "action_id 'go' already exists for block_id [json-pointer:/blocks/0]",
        ),
        (
            {"type": "actions", "elements": [BUTTON | {"value": "x" * 2_001}]},
            "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
        ),
        (
            {"type": "actions", "elements": [BUTTON | {"style": "pretty"}]},
            "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]",
        ),
        (
            {"type": "actions", "elements": [BUTTON | {"url": "example.com"}]},
            "invalid url [json-pointer:/blocks/0/elements/0/url]",
        ),
        (
            {"type": "image", "image_url": "https://example.com/i.png"},
            "missing required field: alt_text [json-pointer:/blocks/0]",
        ),
        (
            {"type": "section", "text": MRKDWN, "accessory": FEEDBACK},
            "unsupported type: feedback_buttons [json-pointer:/blocks/0/accessory/type]",
        ),
        (
            TASK | {"status": "done"},
            "must be a valid enum value [json-pointer:/blocks/0/status]",
        ),
    ]
    misses = [
        (block, got) for block, fault in rows if (got := [str(each) for each in message_faults([block])]) != [fault]
    ]
    assert misses == []


def test_a_message_as_a_whole_has_limits() -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]]}
    assert message_faults([{"type": "divider"}] * 51)
    assert message_faults([{"type": "divider", "block_id": "a"}] * 2)
    assert message_faults([{"type": "markdown", "text": "x" * 7_000}] * 2)
    assert message_faults([table, table])
    assert message_faults("not a list")


def test_a_modal_with_inputs_needs_a_submit_button() -> None:
    field = {"type": "input", "label": PLAIN, "element": {"type": "plain_text_input"}}
    modal = {"type": "modal", "title": PLAIN, "blocks": [field]}
    assert [str(fault) for fault in view_faults(modal)] == ["missing required field: submit [json-pointer:/view]"]
    assert view_faults(modal | {"submit": PLAIN}) == []
    assert view_faults({"type": "modal", "blocks": []})
    assert view_faults({"type": "home", "blocks": [field] * 101})


def test_elements_are_found_wherever_they_sit() -> None:
    card = {"type": "card", "title": MRKDWN, "actions": [BUTTON | {"action_id": "deep"}]}
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": MRKDWN, "accessory": SELECT},
        {"type": "carousel", "elements": [card]},
        {"type": "input", "label": PLAIN, "element": {"type": "plain_text_input"}},
    ]
    found = [element["action_id"] for _, element in elements(completed(blocks, lambda: "new"))]
    assert found == ["pick", "deep", "new"]
