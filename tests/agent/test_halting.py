"""A turn that is halted: the model and look-ups end at once, what changes something is finished first."""

import asyncio
from typing import Any

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import TextDelta, ToolFinished
from bot.agent.halt import Halt
from bot.agent.journal import Journal, part_of
from bot.agent.loop import Outcome, run
from bot.agent.messages import ToolResult
from bot.agent.tools import Context, tool
from tests.agent.desk import CONTEXT, QUESTION, QUICK, Desk
from tests.agent.test_resuming import MemoryJournal
from tests.doubles.scripted_model import ScriptedModel, Silence, call, calls, says
from tests.patience import patience

PATIENCE = patience(20.0)


class Till:
    """Refunds that wait to be let go on, and are counted."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.refunded: list[str] = []
        self.keys: list[str] = []

    def team(self) -> Team:
        @tool(title="Refunding", writes=True, timeout=PATIENCE)
        async def refund(context: Context, order: str) -> dict[str, Any]:
            """Give the money back."""
            self.begun.set()
            await self.may_end.wait()
            self.refunded.append(order)
            self.keys.append(context.key)
            return {"refunded": order}

        @tool(title="Waiting", timeout=PATIENCE)
        async def look(context: Context, order: str) -> dict[str, Any]:
            """Look something up."""
            self.begun.set()
            await asyncio.Event().wait()
            return {}

        return Team((Agent("desk", "You are the desk.", (refund, look)),), entry="desk")

    async def run(self, model: ScriptedModel, halt: Halt, journal: Journal, desk: Desk) -> Outcome:
        models = Models((Endpoint("model-1", model),))
        return await run(
            self.team(),
            "desk",
            [QUESTION],
            models=models,
            context=CONTEXT,
            passages="",
            emit=desk.emit,
            limits=QUICK,
            journal=journal,
            halt=halt,
        )


async def halted(till: Till, model: ScriptedModel, journal: Journal, desk: Desk, *, then: Any = None) -> Outcome:
    """The outcome of a turn that is halted when a call has begun."""
    halt = Halt()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(till.run(model, halt, journal, desk))
        await till.begun.wait()
        halt.set()
        if then is not None:
            await asyncio.sleep(0)
            assert not running.done()
            then()
        return await running


async def test_a_look_up_ends_at_once() -> None:
    till, desk = Till(), Desk()
    outcome = await halted(till, ScriptedModel(calls(call("look", {"order": "1"}, id="c1"))), MemoryJournal(), desk)
    assert (outcome.ended, outcome.reason) == ("failed", "halted")
    assert [event.ok for event in desk.happened(ToolFinished)] == [False]


async def test_the_model_ends_at_once_and_what_it_said_is_kept() -> None:
    desk, halt = Desk(), Halt()
    model = ScriptedModel([TextDelta("You have "), Silence()])

    class Ears:
        """Halts as soon as something was said."""

        def append(self, event: Any) -> None:
            desk.events.append(event)
            halt.set()

    async with asyncio.timeout(PATIENCE):
        outcome = await run(
            desk.team(),
            "desk",
            [QUESTION],
            models=Models((Endpoint("model-1", model),)),
            context=CONTEXT,
            passages="",
            emit=Ears().append,
            limits=QUICK,
            halt=halt,
        )
    assert (outcome.reason, outcome.text, len(model.requests)) == ("halted", "You have ", 1)


async def test_a_call_that_changes_something_is_finished_and_noted_first() -> None:
    till, desk, journal = Till(), Desk(), MemoryJournal()
    model = ScriptedModel(calls(call("refund", {"order": "1"}, id="c1"), call("refund", {"order": "2"}, id="c2")))
    outcome = await halted(till, model, journal, desk, then=till.may_end.set)
    assert (outcome.reason, till.refunded) == ("halted", ["1"])
    assert "call-c1" in journal.steps
    assert "call-c2" not in journal.steps
    results = [message for message in outcome.messages if isinstance(message, ToolResult)]
    assert '"refunded":"1"' in results[0].content
    assert [event.ok for event in desk.happened(ToolFinished)] == [True]


async def test_what_is_begun_after_a_halt_ends_before_it_asks_anybody() -> None:
    halt, model = Halt(), ScriptedModel(says("Hello."))
    halt.set()
    outcome = await Till().run(model, halt, MemoryJournal(), Desk())
    assert outcome.reason == "halted"


@pytest.mark.parametrize("part", ["", "draft"])
async def test_what_was_changed_is_found_again_under_what_was_asked_for(part: str) -> None:
    """As when the customer has edited the message: the steps are gone but for this one, and ids are others."""
    till, desk, journal = Till(), Desk(), MemoryJournal()
    till.may_end.set()
    within: Journal = part_of(journal, part) if part else journal
    first = ScriptedModel(calls(call("refund", {"order": "1"}, id="c1")), says("Refunded."))
    await till.run(first, Halt(), within, desk)
    name = f"{part}/call-c1" if part else "call-c1"
    entry = await journal.recall(name)
    assert entry is not None
    kept = MemoryJournal()
    await kept.record(entry["write"], entry)
    again = ScriptedModel(
        calls(call("refund", {"order": "1"}, id="x9"), call("refund", {"order": "2"}, id="x8")), says("Ok.")
    )
    outcome = await till.run(again, Halt(), kept, desk)
    assert till.refunded == ["1", "2"]
    assert [message.call_id for message in outcome.messages if isinstance(message, ToolResult)] == ["x9", "x8"]


async def test_what_changes_something_has_a_key_by_what_it_asks_for_in_every_run_of_the_turn() -> None:
    till = Till()
    till.may_end.set()
    for call_id in ("c1", "c2"):
        model = ScriptedModel(calls(call("refund", {"order": "1"}, id=call_id)), says("Refunded."))
        await till.run(model, Halt(), MemoryJournal(), Desk())
    assert len(till.keys) == 2
    assert len(set(till.keys)) == 1
    assert till.keys[0].startswith("turn-1:write-")
