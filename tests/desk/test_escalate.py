"""What is left to people while they have a case, or shall have it."""

import json

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.tools import Context, ToolProblem, tool
from bot.cases.opening import SUMMARY_LIMIT
from bot.desk.escalate import escalate_tools, leaving_cases
from bot.store import cases
from bot.store.database import Database
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.store.rows import THREAD, a_case
from tests.turns.answering import CUSTOMER, build_answers


@tool(title="Cancelling", writes=True)
async def cancel_order(context: Context) -> str:
    """Cancel the order."""
    del context
    return "cancelled"


@tool(title="Looking")
async def look(context: Context) -> str:
    """Look."""
    del context
    return "seen"


async def test_while_a_case_is_open_the_assistant_looks_but_changes_nothing(database: Database) -> None:
    team = leaving_cases(Team((Agent("one", "", (cancel_order, look)),), entry="one"), database)
    cancelling, looking = team["one"].tools
    context = Context(CUSTOMER, THREAD, "1")
    assert (await cancelling.call(context, cancelling.read(""))).content == "cancelled"
    async with database.transaction() as tx:
        case = await cases.add(tx, a_case())
        assert case is not None
    with pytest.raises(ToolProblem, match="nothing is changed here"):
        await cancelling.call(context, cancelling.read(""))
    assert (await looking.call(context, looking.read(""))).content == "seen"
    async with database.transaction() as tx:
        await cases.change(tx, case, a_case(id=case.id, state="bot"))
    assert (await cancelling.call(context, cancelling.read(""))).content == "cancelled"


@pytest.mark.parametrize("given", [{}, {"subject": "Lost lamp", "next_step": "Offer another one."}])
async def test_the_team_reads_the_matter_what_was_tried_and_what_could_be_done(
    database: Database, slack: LocalSlack, given: dict[str, str]
) -> None:
    cases = build_answers(database, slack.client, ManualClock()).cases
    (escalate,) = escalate_tools(cases)
    told = {"reason": "upset", "priority": "high", "summary": "x" * 600, **given}
    await escalate.call(Context(CUSTOMER, THREAD, "1"), escalate.read(json.dumps(told)))
    case = await cases.find("FD-1001")
    assert case.title == (given.get("subject") or "x" * (len(case.title) - 2) + " …")
    assert case.summary == "x" * 600 + ("\nNext: Offer another one." if given else "")
    assert len(case.summary) <= SUMMARY_LIMIT
