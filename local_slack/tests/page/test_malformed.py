"""Whatever an app posts, the page draws less of it and never fails: fuzzed, damaged, nested too deeply, huge."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_slack.page.look import Look
from local_slack.page.markup import Names
from local_slack.page.message import Author, Setting, content, entry, ephemeral, message, system
from local_slack.page.render import block, blocks, kinds
from local_slack.page.stream import stream
from local_slack.tests.page import gallery
from local_slack.tests.page.reading import Reading
from local_slack.tests.page.rough import HOSTILE

NAMES = Names({"U1": "Agent A"}, {"C1": "support"}, viewer="U1", now=1_795_200_000)
LOOK = Look(NAMES)
CUSTOMER = Author("U2", "Customer A")

WORDS = (
    "accessory action_id actions alt_text attachments axis_config block_id blocks body caption categories chart "
    "child_blocks column_settings confirm data details edited element elements fields files hint icon image_url indent "
    "initial_option label min_query_length mode name offset option_groups options output page_size reactions "
    "row_header_column_index rows segments series sources status style tasks text title type url user_id users value "
    "x_label y_label"
)
KEYS = st.sampled_from(WORDS.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=6),
    max_leaves=25,
)


@st.composite
def malformed_blocks(draw: st.DrawFn) -> list[Any]:
    """Blocks of known kinds with anything at all inside."""
    others = {"rich_text_section", "rich_text_list", "text", "link", "mrkdwn", "pie", "bar", "line", "raw_number"}
    known = st.sampled_from(sorted(kinds() | others))
    inside = st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON | known, max_size=4), max_size=3))
    pieces = draw(st.lists(st.tuples(known, inside), max_size=4))
    return [data | {"type": kind} for kind, data in pieces]


@st.composite
def damaged_blocks(draw: st.DrawFn) -> list[Any]:
    """Valid blocks of every kind, in which some values are replaced by others."""
    whole = draw(st.sampled_from([*gallery.MESSAGES, gallery.MODAL["blocks"]]))
    damaged = copy.deepcopy(draw(st.lists(st.sampled_from(whole), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 4))):
        at: Any = damaged
        while True:
            places = list(at) if isinstance(at, dict) else list(range(len(at)))
            place = draw(st.sampled_from(places))
            if not isinstance(at[place], (dict, list)) or not at[place] or draw(st.integers(0, 4)) == 0:
                break
            at = at[place]
        at[place] = draw(JSON)
    return damaged


@given(malformed_blocks() | JSON)
def test_malformed_blocks_become_less_and_never_an_error(given_: Any) -> None:
    Reading(blocks(given_, LOOK))
    Reading(blocks([{"type": "actions", "elements": given_}, {"type": "section", "accessory": given_}], LOOK))
    Reading(stream(given_, LOOK, plan_title="x", is_open=True))


@given(damaged_blocks())
def test_damage_within_valid_blocks_is_drawn_around(given_: list[Any]) -> None:
    Reading(blocks(given_, LOOK))
    Reading(blocks(given_, replace(LOOK, in_view=True)))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: {"type": "container", "title": inner, "child_blocks": [inner]},
        lambda inner: {"type": "carousel", "elements": [inner]},
        lambda inner: {"type": "rich_text", "elements": [inner]},
        lambda inner: {"type": "rich_text_list", "style": "bullet", "elements": [inner]},
        lambda inner: {"type": "section", "text": inner, "accessory": inner},
        lambda inner: {"type": "input", "label": inner, "element": inner},
        lambda inner: {"type": "task_card", "details": inner, "output": inner},
        lambda inner: {"type": "data_table", "rows": [[inner], [inner]]},
        lambda inner: {"type": "data_visualization", "chart": {"type": "bar", "series": [inner], "axis_config": inner}},
        lambda inner: [inner],
    ],
)
def test_whatever_is_nested_too_deeply_ends_somewhere(wrap: Callable[[Any], Any]) -> None:
    nested: Any = {"type": "section", "text": "the innermost"}
    for _ in range(500):
        nested = wrap(nested)
    drawn = blocks(
        [nested, {"type": "rich_text", "elements": [nested]}, {"type": "actions", "elements": [nested]}], LOOK
    )
    assert len(drawn) < 100_000
    Reading(drawn)


@pytest.mark.parametrize(
    "words", ["x" * 300_000, "*b* " * 30_000, "<" * 50_000, "`" * 50_000, "[" * 20_000, ">" * 50_000]
)
def test_a_huge_text_is_cut_and_drawn_soon(words: str) -> None:
    for kind in ("markdown", "header"):
        Reading(block({"type": kind, "text": words}, LOOK))
    Reading(block({"type": "section", "text": {"type": "mrkdwn", "text": words}}, LOOK))
    Reading(block({"type": "table", "rows": [[{"type": "raw_text", "text": words}]]}, LOOK))


@pytest.mark.parametrize("kind", ["pie", "bar", "area", "line"])
def test_any_numbers_can_be_charted(kind: str) -> None:
    table: list[list[Any]] = [
        [],
        [0],
        [-5, 5],
        [1e308, -1e308],
        [float("nan"), float("inf")],
        [10**400, 1],
        [1e-300],
        ["7", None, True],
        [[1], {}],
    ]
    misses = []
    for values in table:
        points = [{"label": str(at), "value": value} for at, value in enumerate(values)]
        axes = {"categories": [str(at) for at in range(len(values))], "x_label": "x", "y_label": "y"}
        chart = {"type": kind, "segments": points, "series": [{"name": "a", "data": points}], "axis_config": axes}
        drawn = block({"type": "data_visualization", "title": "Numbers", "chart": chart}, LOOK)
        if "nan" in drawn or "inf" in drawn:
            misses.append(values)
        Reading(drawn)
    assert misses == []


@given(st.dictionaries(KEYS, JSON | malformed_blocks()))
def test_malformed_messages_become_less_and_never_an_error(data: dict[str, Any]) -> None:
    for drawn in (message, ephemeral):
        Reading(drawn(data, content(data, LOOK), Setting("m", CUSTOMER, "C1"), NAMES))
    Reading(system(data, Setting("m", CUSTOMER, "C1"), NAMES))
    Reading(entry(data, NAMES))
