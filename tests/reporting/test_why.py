"""What staff read of why the assistant answered as it did."""

from typing import Any, cast

from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolCall, ToolResult, to_json
from bot.conversation import ThreadRef
from bot.guard.tool_results import SEARCH
from bot.reporting.why import Why
from bot.store import inbox, turns
from bot.store.database import Database
from local_slack.blocks import message_faults
from tests.store.rows import a_case, a_turn
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_asking import FewPages

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")


async def test_what_was_looked_for_called_and_said_is_told_without_what_it_brought(database: Database) -> None:
    said: list[Message] = [
        CustomerMessage("What of boots? My card is 4111 1111 1111 1111 <!channel>"),
        AgentMessage(
            "",
            calls=(
                ToolCall("c1", SEARCH, '{"query": "boots & laces"}'),
                ToolCall("c2", "lookup_order", '{"order": "ORD-12345"}'),
                ToolCall("c3", SEARCH, "no json"),
                ToolCall("c4", "hand_over_to_answers", '{"reason": "boots"}'),
            ),
        ),
        ToolResult("c1", SEARCH, '<passage number="1" title="Boots › Laces">\nTie them.\n</passage>'),
        ToolResult("c2", "lookup_order", "Elm Street 5", private=True),
        ToolResult("c3", SEARCH, "Nothing in the help pages fits this.", ok=False),
        AgentMessage("All is well."),
    ]
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        kept = [to_json(message) for message in said]
        record = a_turn(
            thread=THREAD,
            messages=kept[:1],
            trace=kept,
            ended="failed",
            reason="",
            confidence=0.42,
            sources=[],
            failures=["large: refused_request: 400, param top_p, “No <!channel> `top_p`”"] * 9,
            rewrites=["boots & laces <!channel>"],
        )
        await turns.save(tx, record, now=2.0)
    card = await Why(database, cast(Any, FewPages("boots"))).card(a_case(thread=THREAD))
    assert message_faults(list(card.blocks)) == []
    text = card.blocks[1]["text"]["text"]
    assert "found with 0.42 then; now they find boots (" in text
    assert "Searched for “boots &amp; laces”: Boots › Laces" in text
    assert "Searched for “no json”: nothing" in text
    assert "searched for in the pages' words, too: “boots &amp; laces &lt;!channel&gt;”" in text
    assert 'Called `lookup_order` with {"order": "ORD-12345"}: it brought something' in text
    assert "• Passed on to the agent for answers" in text
    assert "hand_over" not in text
    assert "there was no answer, and a person was called" in text
    assert "did not let its words stand" in text
    failed = "• A request to the model failed: large: refused_request: 400, param top_p, “No &lt;!channel&gt; 'top_p'”"
    assert text.count(failed) == 3
    for kept_back in ("4111", "<!channel>", "Elm Street"):
        assert kept_back not in text


async def test_where_nothing_was_answered_that_is_said(database: Database) -> None:
    card = await Why(database, cast(Any, FewPages())).card(a_case(thread=THREAD))
    assert "answered nothing in this thread" in str(card.blocks)
