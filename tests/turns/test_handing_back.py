"""Whole turns after a person has handed back: the assistant goes on, and nothing of the call for a person is left."""

import asyncio

from bot.agent.messages import AgentMessage, SystemNote, ToolResult
from bot.guard.tool_results import ESCALATE
from bot.store import outbox
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import says
from tests.turns.arrivals import arrival
from tests.turns.test_stopping import PATIENCE, PERSON, Desk

AGENT = "U0AGENTA"
ROUNDS = 10


async def test_ten_rounds_of_calling_and_handing_back_do_not_loop_and_leave_no_call_behind(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, *[PERSON] * ROUNDS, says("All about boots is on that page."))
    desk.may_end.set()
    root, row = await desk.asked("Boots for the first time?")
    async with asyncio.timeout(PATIENCE):
        for number in range(1, ROUNDS + 1):
            await desk.turns.take(row)
            case = await desk.cases.claim(f"FD-{1000 + number}", AGENT)
            async with database.transaction() as tx:
                answer = desk.turns.relay.to_customer(case, f"Answer {number}", key=f"said/{number}", ts="1.0")
                await outbox.add(tx, answer, now=desk.clock.now())
            await desk.cases.hand_back(case.ref, AGENT, note=f"Note {number}")
            ts = await slack.client.chat.post("C0SUPPORT", text="Boots again?", thread_ts=root)
            again = arrival(ts, text="What about boots again?", thread_ts=root, channel="C0SUPPORT")
            row = await desk.receives(again)
        await desk.turns.take(row)
    turns = await desk.kept()
    assert [turn.ended for turn in turns] == [*["escalated"] * ROUNDS, "answered"]
    assert [turn.episode for turn in turns] == [*range(ROUNDS + 1)]
    for number, request in enumerate(desk.model.requests):
        assert not any(isinstance(message, ToolResult) for message in request.messages)
        calls = [call for message in request.messages if isinstance(message, AgentMessage) for call in message.calls]
        assert ESCALATE not in [call.name for call in calls]
        notes = [message.text for message in request.messages if isinstance(message, SystemNote)]
        told = " ".join(note for note in notes if "FD-" in note)
        assert (f'["Answer {number}"]' in told, f'"Note {number}"' in told) == (number > 0, number > 0)
        assert f"FD-{1000 + number - 1}" not in told
        assert ("silent" in told, "say nothing more" in told) == (False, False)
