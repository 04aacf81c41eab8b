"""Why the assistant answered as it did, for the staff at the case's desk: its searches, its tool calls, and what
happened to its answer.

For a tool call it only says whether there was a result. Staff read order data in the customer's thread.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from bot.agent.agent import HANDOVER
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolCall, ToolResult, from_json
from bot.desk.answers import place
from bot.guard.guardrails import mask
from bot.guard.tool_results import SEARCH
from bot.reporting.traces import ENDINGS
from bot.slack.blocks import Card, context, moment, one_line, section
from bot.slack.mrkdwn import escape
from bot.store import traces
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.traces import StoredTurn
from knowledge.knowledge_base import Findings, KnowledgeBase
from knowledge.thresholds import Certainty

TURNS = 3
"""The number of latest answers that are shown."""
CALLS = 8
"""The most calls that are shown of each answer."""
QUERY_LIMIT = 200
HITS = 3
FAILURES = 3
"""The most failed requests that are shown of each answer. The rest usually say the same."""
FAILURE_LIMIT = 320
"""Characters of one: the provider's words are 200 at most."""

CLOSE: Mapping[Certainty, str] = {
    "clearly": ", close enough to answer from",
    "perhaps": ", perhaps close enough: the assistant reads them as uncertain and decides",
    "not": ", not close enough to answer from",
}
"""What a search's certainty means for the answer."""

_TITLE = re.compile(r'<passage number="\d+" title="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Why:
    """Reads the turns of a case's thread."""

    database: Database
    knowledge: KnowledgeBase

    async def card(self, case: Case) -> Card:
        """What there is to say of the thread's latest answers, the oldest first."""
        async with self.database.transaction() as tx:
            told = await traces.latest(tx, limit=TURNS, thread=case.thread.key)
        title = f"Why the assistant answered so in {escape(case.ref)}"
        if not told:
            return Card(title, (section(f"*{title}*\nIt has answered nothing in this thread."),))
        blocks = [section(f"*{title}*")]
        for turn in told:
            messages = [from_json(message) for message in (turn.trace or turn.messages)]
            asked = next((message.text for message in messages if isinstance(message, CustomerMessage)), "")
            found = await self.knowledge.search(asked) if asked.strip() else Findings()
            blocks.append(section("\n".join(_lines(turn, asked, messages, found))))
        blocks.append(context("Only you see this. The pages are searched as they are now; `/kb search` shows more."))
        return Card(title, (*blocks,))


def _lines(turn: StoredTurn, asked: str, messages: Sequence[Message], found: Findings) -> Iterator[str]:
    yield f"*“{_words(asked)}”* {moment(turn.received_at, '{time}')}"
    now = ", ".join(f"{_words(place(hit))} ({hit.score:.2f})" for hit in found.hits[:HITS]) or "nothing"
    enough = CLOSE[found.certainty]
    yield f"• The customer's words were found with {turn.confidence:.2f} then; now they find {now}{enough}"
    if rewritten := ", ".join(f"“{_words(each)}”" for each in turn.rewrites):
        yield f"• Not clearly found, so it was searched for in the pages' words, too: {rewritten}"
    results = {message.call_id: message for message in messages if isinstance(message, ToolResult)}
    calls = [call for message in messages if isinstance(message, AgentMessage) for call in message.calls]
    for call in calls[:CALLS]:
        yield f"• {_call(call, results.get(call.id))}"
    if shown := ", ".join(_words(source["title"]) for source in turn.sources):
        yield f"• Named under the answer: {shown}"
    reason = f" ({escape(turn.reason)})" if turn.reason else ""
    yield f"• Ended: {ENDINGS.get(turn.ended, turn.ended.replace('_', ' '))}{reason}"
    for failure in turn.failures[:FAILURES]:
        yield f"• A request to the model failed: {_words(failure, FAILURE_LIMIT)}"
    if turn.trace is not None:
        yield "• The checks did not let its words stand as they were: the customer read something else"


def _call(call: ToolCall, result: ToolResult | None) -> str:
    if call.name == SEARCH:
        titles = [_words(title) for title in _TITLE.findall(result.content)] if result else []
        perhaps = "perhaps " if result and titles and not result.ok else ""
        return f"Searched for “{_words(_query(call.arguments))}”: {perhaps}{', '.join(titles[:HITS]) or 'nothing'}"
    if call.name.startswith(HANDOVER):
        return f"Passed on to the agent for {escape(call.name.removeprefix(HANDOVER))}"
    came = "no result" if result is None else "it brought something" if result.ok else "in vain"
    return f"Called `{escape(call.name)}` with {_words(call.arguments) or 'nothing'}: {came}"


def _query(arguments: str) -> str:
    try:
        read = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    return str(read.get("query", arguments)) if isinstance(read, dict) else arguments


def _words(text: str, limit: int = QUERY_LIMIT) -> str:
    """Somebody's words, or a model's, in one line that holds no secret and no markup."""
    return one_line(mask(text).replace("`", "'"), limit)
