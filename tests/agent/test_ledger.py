"""What a turn may still call, and which of its calls are run."""

from collections import Counter
from typing import Any

import pytest

from bot.agent.messages import ToolCall
from bot.agent.toolcalls import Ledger


def call(number: int, name: str = "look", arguments: str = "") -> ToolCall:
    return ToolCall(f"c{number}", name, arguments or f'{{"a": {number}}}')


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({}, ""),
        ({"asked": {"a": 2, "b": 2}}, ""),
        ({"asked": {"a": 2, "b": 2, "c": 1}}, "calls"),
        ({"asked": {"a": 2}, "by_tool": {"look": 3, "write": 1}}, ""),
        ({"asked": {"a": 2}, "by_tool": {"look": 4, "write": 1}}, "tool_calls"),
        ({"asked": {"a": 2}, "stale_rounds": 1}, ""),
        ({"asked": {"a": 2}, "stale_rounds": 2}, "repeats"),
        ({"asked": {"a": 3, "b": 1}}, "repeats"),
    ],
)
def test_a_turn_ends_its_calls_at_each_of_its_limits_and_not_before(state: dict[str, Any], reason: str) -> None:
    ledger = Ledger(5, 3)
    ledger.asked.update(state.get("asked", {}))
    ledger.by_tool.update(state.get("by_tool", {}))
    ledger.stale_rounds = state.get("stale_rounds", 0)
    assert ledger.exhausted == reason


def test_calls_beyond_a_limit_are_not_allowed_but_count_for_their_tool() -> None:
    ledger = Ledger(5, 2)
    looks, writes = [call(at) for at in range(3)], [call(at, "write") for at in range(3)]
    assert ledger.allow([*looks, *writes]) == [*looks[:2], *writes[:2]]
    assert ledger.by_tool == Counter(look=3, write=3)
    few = Ledger(2, 9)
    assert few.allow(looks) == looks[:2]
    few.enter(looks[:1])
    assert few.allow(looks) == looks[:1]
    few.enter(looks[1:2])
    assert few.allow(looks) == []


def test_of_equal_calls_one_is_run_and_rounds_without_a_new_one_are_counted() -> None:
    ledger = Ledger(9, 9)
    same = [call(1, arguments='{"a": 1, "b": 2}'), call(2, arguments=' {"b":2,"a":1}')]
    assert [*ledger.enter([*same, call(3)]).values()] == [same[0], call(3)]
    assert sorted(ledger.asked.values()) == [1, 2]
    assert ledger.known(same[0]) is None
    empty = ToolCall("c4", "look", "")
    assert [*ledger.enter([empty, ToolCall("c5", "look", "{}")]).values()] == [empty]
    broken = [ToolCall("c6", "look", "{"), ToolCall("c7", "look", " { ")]
    assert [*ledger.enter(broken).values()] == broken[:1]
    assert ledger.stale_rounds == 0
    ledger.enter([])
    ledger.enter([])
    assert ledger.stale_rounds == 2
    ledger.enter([call(9)])
    assert ledger.stale_rounds == 0
