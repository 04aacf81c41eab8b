"""What a message says: text, Markdown or blocks, as Slack checks and keeps them."""

import re
from typing import Any

from local_slack import rich_text
from local_slack.block_checks import Fault
from local_slack.blocks import attachment_faults, completed, is_too_long, message_faults, types_of
from local_slack.methods.call import Call
from local_slack.shapes import text_block
from local_slack.workspace import Json, SlackError

TEXT_KEPT = 40_000
MARKDOWN_CHARACTERS = 12_000
ATTACHMENTS = 100
METADATA_BYTES = 16_000


def content(call: Call) -> Json:
    """`text` and `blocks` as they are kept; text alone becomes rich_text."""
    text = _escaped(call.text("text"))[:TEXT_KEPT]
    markdown = call.text("markdown_text")
    blocks = given_blocks(call)
    attachments = _attachments(call)
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


def made_of(call: Call) -> list[str]:
    """The types of the blocks that are shown of a valid message; none of text alone."""
    markdown = call.text("markdown_text")
    return types_of([{"type": "markdown", "text": markdown}] if markdown else call.json("blocks") or [])


def given_blocks(call: Call) -> list[Json]:
    """Valid blocks, completed; none when none were given."""
    blocks = call.json("blocks", error="invalid_blocks_format")
    if blocks is None:
        return []
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    if faults := message_faults(blocks):
        raise _refusal("invalid_blocks", faults)
    if is_too_long(blocks):
        raise SlackError("msg_blocks_too_long")
    return _completed(call, blocks)


def _attachments(call: Call) -> list[Json]:
    """Attachments, numbered from 1, with their blocks completed."""
    given = call.json("attachments", error="invalid_attachments") or []
    if faults := attachment_faults(given):
        raise _refusal("invalid_attachments", faults)
    if len(given) > ATTACHMENTS:
        raise SlackError("too_many_attachments")
    kept = [{"id": number, "fallback": "[no preview available]"} | each for number, each in enumerate(given, start=1)]
    return [each | ({"blocks": _completed(call, each["blocks"])} if "blocks" in each else {}) for each in kept]


def _refusal(error: str, faults: list[Fault]) -> SlackError:
    told = [str(fault) for fault in faults]
    return SlackError(error, errors=told, response_metadata={"messages": [f"[ERROR] {each}" for each in told]})


def _completed(call: Call, blocks: list[Json]) -> list[Json]:
    return completed(blocks, lambda: call.workspace.new_id("", length=5))


def given_metadata(call: Call) -> dict[str, Any]:
    """`{"metadata": …}`, or nothing when none was given."""
    metadata = call.json("metadata", error="invalid_metadata_format")
    if metadata in (None, {}):
        return {}
    if not isinstance(metadata, dict) or not {"event_type", "event_payload"} <= metadata.keys():
        raise SlackError("invalid_metadata_schema")
    if len(str(metadata).encode()) > METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return {"metadata": metadata}


def _escaped(text: str) -> str:
    """A bare ampersand is kept as an entity."""
    return re.sub(r"&(?!(?:amp|lt|gt);)", "&amp;", text)
