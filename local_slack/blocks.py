"""What Slack accepts as Block Kit, and what it makes of it.

`message_faults` and `view_faults` list what is wrong with a pointer to the place; `completed` adds what Slack
adds. What one block may be is in local_slack.block_tables.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from local_slack import rich_text
from local_slack.block_checks import Fault, items, object_of
from local_slack.block_tables import (
    CHARTS_IN_A_MESSAGE,
    ELEMENTS,
    IN_MESSAGES_ALONE,
    IN_MODALS_ALONE,
    MARKDOWN_CHARACTERS,
    MESSAGE_BLOCKS,
    MESSAGE_CHARACTERS,
    TABLE_CHARACTERS,
    VIEW_BYTES,
    VIEWS,
    any_block,
    table_characters,
)

Json = dict[str, Any]


def message_faults(blocks: Any) -> list[Fault]:
    """The faults of a message's blocks."""
    faults = list(items(any_block, most=MESSAGE_BLOCKS, least=0)(blocks, "/blocks"))
    if faults:
        return faults
    faults += [*_duplicates(blocks, "/blocks"), *_misplaced(blocks, "/blocks", IN_MODALS_ALONE)]
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN_CHARACTERS:
        faults.append(Fault(f"markdown must be less than {MARKDOWN_CHARACTERS + 1} characters", "/blocks"))
    if sum(block["type"] == "table" for block in blocks) > 1:
        faults.append(Fault("only_one_table_allowed", "/blocks"))
    if sum(table_characters(block) for block in blocks if block["type"] in ("table", "data_table")) > TABLE_CHARACTERS:
        faults.append(Fault(f"tables must be less than {TABLE_CHARACTERS + 1} characters", "/blocks"))
    if sum(block["type"] == "data_visualization" for block in blocks) > CHARTS_IN_A_MESSAGE:
        faults.append(Fault(f"no more than {CHARTS_IN_A_MESSAGE} data_visualization blocks allowed", "/blocks"))
    return faults


def attachment_faults(attachments: Any) -> list[Fault]:
    """The faults of the blocks in a message's attachments."""
    if not isinstance(attachments, list) or not all(isinstance(each, dict) for each in attachments):
        return [Fault("must be an array", "/attachments")]
    return [
        Fault(fault.problem, f"/attachments/{index}{fault.pointer}")
        for index, attachment in enumerate(attachments)
        for fault in message_faults(attachment.get("blocks", []))
    ]


def is_too_long(blocks: list[Json]) -> bool:
    """Whether valid blocks hold more text than one message may."""
    return sum(_text_lengths(blocks)) > MESSAGE_CHARACTERS


def view_faults(view: Any) -> list[Fault]:
    """The faults of a modal or a Home tab."""
    if not isinstance(view, dict) or view.get("type") not in tuple(VIEWS):
        return [Fault("must be a view of type modal or home", "/view")]
    faults = list(object_of(VIEWS[view["type"]])(view, "/view"))
    if faults:
        return faults
    elsewhere = IN_MESSAGES_ALONE if view["type"] == "modal" else IN_MESSAGES_ALONE + IN_MODALS_ALONE
    faults += [*_duplicates(view["blocks"], "/view/blocks"), *_misplaced(view["blocks"], "/view/blocks", elsewhere)]
    if sum(element.get("focus_on_load", False) for _, element in elements(completed(view["blocks"], str))) > 1:
        faults.append(Fault("only one element can have focus_on_load", "/view"))
    inputs = any(block["type"] == "input" for block in view["blocks"])
    if view["type"] == "modal" and inputs and "submit" not in view:
        faults.append(Fault("missing required field: submit", "/view"))
    if len(str(view).encode()) > VIEW_BYTES:
        faults.append(Fault(f"must be less than {VIEW_BYTES} bytes", "/view"))
    return faults


def completed(blocks: list[Json], new_id: Callable[[], str]) -> list[Json]:
    """The blocks as Slack returns them: with block_ids and action_ids, texts with `emoji` and `verbatim`."""
    return [{"block_id": new_id()} | _with_defaults(block, new_id) for block in blocks]


def types_of(blocks: list[Json]) -> list[str]:
    """The types of the blocks as Slack shows them, each once: of a Markdown block it makes others."""
    types = [rich_text.types_of(block["text"]) if block["type"] == "markdown" else [block["type"]] for block in blocks]
    return list(dict.fromkeys(chain.from_iterable(types)))


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


def _misplaced(blocks: list[Json], at: str, elsewhere: tuple[str, ...]) -> Iterator[Fault]:
    """Blocks and inputs that belong elsewhere, however deep they sit."""
    for index, each in enumerate(blocks):
        for place, found in ((f"{at}/{index}", each), (f"{at}/{index}/element", each.get("element", {}))):
            if found.get("type") in elsewhere:
                yield Fault(f"unsupported type: {found['type']}", f"{place}/type")
        yield from _misplaced(each.get("child_blocks", []), f"{at}/{index}/child_blocks", elsewhere)


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
