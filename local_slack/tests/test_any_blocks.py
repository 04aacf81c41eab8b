"""Whatever blocks an app sends, they are shown as they are, or refused with the place of every fault."""

import itertools
import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.blocks import completed, message_faults, view_faults
from local_slack.tests import test_blocks, test_elements
from local_slack.workspace import Workspace

Json = dict[str, Any]

VALID = [
    *test_blocks.VALID_BLOCKS,
    *test_elements.VALID_BLOCKS,
    *(test_elements.acting(element) for element in test_elements.VALID_ELEMENTS),
]


def fresh(value: Any) -> Any:
    """A copy in which nothing is shared."""
    return json.loads(json.dumps(value))


ADDED = ("block_id", "action_id", "text", "options", "colour")
NUMBERS = itertools.count()
LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from(("", "a", "x" * 3_001)) | st.text(max_size=10)
ANYTHING = st.recursive(
    LEAVES | st.sampled_from([*VALID, *test_elements.VALID_ELEMENTS]).map(fresh),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("type", "text", "x")), inner),
    max_leaves=5,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value with every key or index in it."""
    inside = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [(value, key) for key, _ in inside] + [place for _, each in inside for place in places(each)]


@st.composite
def any_blocks(draw: st.DrawFn) -> Any:
    """Valid blocks in which some things were put in the place of others, taken away or added."""
    blocks = fresh(draw(st.lists(st.sampled_from(VALID), max_size=3)))
    for change in draw(st.lists(st.sampled_from(("replace", "remove", "add")), max_size=3)):
        if not (held := places(blocks)):
            break
        container, key = draw(st.sampled_from(held))
        match change:
            case "replace":
                container[key] = draw(ANYTHING)
            case "remove":
                del container[key]
            case "add" if isinstance(container, dict):
                container[draw(st.sampled_from(ADDED))] = draw(ANYTHING)
            case _:
                container.append(draw(ANYTHING))
    return blocks


def has_place(pointer: str, root: Json) -> bool:
    """Whether everything but the last step of a pointer is there."""
    *steps, _ = pointer.removeprefix("/").split("/")
    here: Any = root
    for step in steps:
        try:
            here = here[int(step)] if isinstance(here, list) else here[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return False
    return True


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks=any_blocks())
async def test_a_message_is_posted_or_refused_with_pointers(
    workspace: Workspace, client: AsyncWebClient, blocks: list[Any]
) -> None:
    try:
        posted = await client.api_call("chat.postMessage", json={"channel": "C0AGENTS", "text": "x", "blocks": blocks})
    except SlackApiError as refused:
        answer = refused.response
        assert answer.status_code == 200
        assert answer["error"] in ("invalid_blocks", "msg_blocks_too_long")
        if answer["error"] == "invalid_blocks":
            assert answer["errors"]
            assert answer["response_metadata"]["messages"] == [f"[ERROR] {each}" for each in answer["errors"]]
        for each in answer.get("errors", ()):
            found = re.fullmatch(r".+ \[json-pointer:(/blocks\S*)\]", each, re.DOTALL)
            assert found, each
            assert has_place(found[1], {"blocks": blocks}), each
    else:
        shown = posted["message"]["blocks"]
        assert message_faults(shown) == []
        assert all(block["block_id"] for block in shown)


@given(blocks=any_blocks())
def test_a_view_is_shown_or_refused_with_pointers(blocks: list[Any]) -> None:
    modal = {"type": "modal", "title": test_blocks.PLAIN, "submit": test_blocks.PLAIN, "blocks": blocks}
    faults = view_faults(modal)
    assert all(has_place(fault.pointer, {"view": modal}) for fault in faults), faults
    if not faults:
        again = modal | {"blocks": completed(blocks, lambda: f"id-{next(NUMBERS)}")}
        assert view_faults(again) == []


@given(views=st.lists(ANYTHING, max_size=3))
def test_what_is_no_view_is_refused(views: list[Any]) -> None:
    for view in views:
        assert view_faults(view)
