"""A turn that starts again after a crash repeats none of its finished steps, except look-ups that can be repeated."""

import json
from typing import Any

import pytest

from bot.agent.events import TextDelta, ToolFinished
from bot.agent.journal import Journal
from bot.agent.model import ModelFailure, Usage
from tests.agent.desk import Desk, results
from tests.doubles.scripted_model import ScriptedModel, Step, call, calls, says

LOOK = calls(
    call("lookup_order", {"order_id": "ORD-1"}, id="c1"),
    call("check_shipping", {"tracking_number": "1Z9"}, id="c2"),
    text="Let me see.",
)


class Crash(Exception):
    """The process died here."""


class MemoryJournal:
    """Keeps steps as JSON text; can crash just before it records a step of some name."""

    def __init__(self, crash_at: str = "") -> None:
        self.steps: dict[str, str] = {}
        self.noted: dict[str, str] = {}
        self.crash_at = crash_at

    async def recall(self, name: str) -> dict[str, Any] | None:
        """Implements Journal.recall."""
        return json.loads(self.steps[name]) if name in self.steps else None

    async def record(self, name: str, value: dict[str, Any]) -> None:
        """Implements Journal.record."""
        if name == self.crash_at:
            raise Crash
        self.note(name, value)
        self.steps |= self.noted
        self.noted.clear()

    def note(self, name: str, value: dict[str, Any]) -> None:
        """Implements Journal.note."""
        if name == self.crash_at:
            raise Crash
        assert name not in self.steps, f"{name} is recorded twice"
        self.noted[name] = json.dumps(value)


async def test_a_finished_turn_is_told_again_without_a_single_request() -> None:
    journal, desk = MemoryJournal(), Desk()
    first = await desk.run(ScriptedModel([Usage(10, 5), *LOOK], says("It is shipped.")), journal=journal)
    assert sorted(journal.steps) == ["call-c1", "call-c2", "round-1", "round-2"]
    again, silent = Desk(), ScriptedModel([ModelFailure("model_unreachable")])
    second = await again.run(silent, journal=journal)
    assert second == first
    assert silent.requests == []
    assert again.counter.seen == []
    assert again.shown == desk.shown == "Let me see.\n\nIt is shipped."
    assert len(again.happened(ToolFinished)) == 2


@pytest.mark.parametrize(
    ("crash_at", "asked", "looked"),
    [
        ("round-1", [LOOK, says("Shipped.")], ["1Z9", "ORD-1"]),
        ("call-c2", [says("Shipped.")], ["1Z9"]),
        ("round-2", [says("Shipped.")], ["1Z9"]),
    ],
)
async def test_only_the_steps_that_were_not_recorded_are_made_again(
    crash_at: str, asked: list[list[Step]], looked: list[str]
) -> None:
    journal: Journal = MemoryJournal(crash_at)
    with pytest.raises(Crash):
        await Desk().run(ScriptedModel(LOOK, says("Shipped.")), journal=journal)
    assert isinstance(journal, MemoryJournal)
    journal.crash_at = ""
    desk, model = Desk(), ScriptedModel(*asked)
    outcome = await desk.run(model, journal=journal)
    assert sorted(desk.counter.seen) == looked
    assert len(model.requests) == len(asked)
    assert (outcome.ended, outcome.text, len(results(outcome))) == ("answered", "Shipped.", 2)
    assert desk.shown == "Let me see.\n\nShipped."


async def test_a_resumed_turn_shows_a_recalled_round_in_one_piece() -> None:
    journal = MemoryJournal()
    await Desk().run(ScriptedModel(says("Hel", "lo.")), journal=journal)
    desk = Desk()
    await desk.run(ScriptedModel(says("never")), journal=journal)
    assert desk.events == [TextDelta("Hello.")]


async def test_an_escalation_is_recalled_and_not_made_twice() -> None:
    journal, model = MemoryJournal(), ScriptedModel(calls(call("escalate_to_human", {"reason": "angry"})))
    await Desk().run(model, journal=journal)
    desk = Desk()
    outcome = await desk.run(model, journal=journal)
    assert (outcome.ended, desk.counter.seen) == ("escalated", [])


async def test_a_repeated_call_stays_repeated_after_a_crash() -> None:
    same = [calls(call("lookup_order", {"order_id": "ORD-1"}, id=f"c{at}")) for at in range(3)]
    journal = MemoryJournal("round-3")
    with pytest.raises(Crash):
        await Desk().run(ScriptedModel(*same, says("Shipped.")), journal=journal)
    journal.crash_at = ""
    desk = Desk()
    outcome = await desk.run(ScriptedModel(same[2], says("Shipped.")), journal=journal)
    assert desk.counter.seen == []
    assert (outcome.forced, outcome.reason) == (True, "repeats")
