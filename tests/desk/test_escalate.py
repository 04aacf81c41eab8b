"""What is left to people while they have a case, or shall have it."""

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.tools import Context, ToolProblem, tool
from bot.desk.escalate import leaving_cases
from bot.store import cases
from bot.store.database import Database
from tests.store.rows import THREAD, a_case
from tests.turns.answering import CUSTOMER


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
