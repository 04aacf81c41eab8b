"""What a message says: text, Markdown or blocks, as Slack checks and keeps them."""

import re
from typing import Any

from demo.slack import rich_text
from demo.slack.blocks import completed, is_too_long, message_faults
from demo.slack.methods.call import Call
from demo.slack.shapes import text_block
from demo.slack.workspace import Json, SlackError

TEXT_KEPT = 40_000
MARKDOWN_CHARACTERS = 12_000
METADATA_BYTES = 16_000


def content(call: Call) -> Json:
    """`text` and `blocks` as they are kept; text alone becomes rich_text."""
    text = _escaped(call.text("text"))[:TEXT_KEPT]
    markdown = call.text("markdown_text")
    blocks = given_blocks(call)
    attachments = call.json("attachments") or []
    if markdown and (text or blocks):
        raise SlackError("markdown_text_conflict")
    if len(markdown) > MARKDOWN_CHARACTERS:
        raise SlackError("msg_too_long")
    if markdown:
        block = rich_text.from_markdown(markdown)
        text, blocks = rich_text.to_mrkdwn(block), _completed(call, [block])
    if not (text.strip() or blocks or attachments):
        raise SlackError("no_text")
    kept: Json = {"text": text, "blocks": blocks or text_block(call.workspace, text)}
    return kept | ({"attachments": attachments} if attachments else {})


def given_blocks(call: Call) -> list[Json]:
    """Valid blocks, completed; none when none were given."""
    blocks = call.json("blocks", error="invalid_blocks_format")
    if blocks is None:
        return []
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    if faults := [str(fault) for fault in message_faults(blocks)]:
        messages = [f"[ERROR] {fault}" for fault in faults]
        raise SlackError("invalid_blocks", errors=faults, response_metadata={"messages": messages})
    if is_too_long(blocks):
        raise SlackError("msg_blocks_too_long")
    return _completed(call, blocks)


def _completed(call: Call, blocks: list[Json]) -> list[Json]:
    return completed(blocks, lambda: call.workspace.new_id("", length=5))


def given_metadata(call: Call) -> dict[str, Any]:
    """`{"metadata": …}`, or nothing when none was given."""
    metadata = call.json("metadata", error="invalid_metadata_format")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict) or not {"event_type", "event_payload"} <= metadata.keys():
        raise SlackError("invalid_metadata_schema")
    if len(str(metadata).encode()) > METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return {"metadata": metadata}


def _escaped(text: str) -> str:
    """A bare ampersand is kept as an entity."""
    return re.sub(r"&(?!(?:amp|lt|gt);)", "&amp;", text)
