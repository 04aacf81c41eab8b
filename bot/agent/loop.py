"""The loop: a model, its tools, and a turn that always ends in an outcome.

In reading order: `run` and `_run` (the turn and its time limit), `_serve` (round after round), `_ask` (one round's
reply, recorded in the journal; replies.py gets it from a model), and `_act` (the calls that the model asked for;
toolcalls.py).

Nothing here raises for failures of a model or a tool: these become an Outcome. Exceptions of the journal are raised,
because a turn cannot continue without it.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bot import tracing
from bot.agent.agent import HANDOVER, Agent, Team
from bot.agent.endpoints import Models
from bot.agent.events import Emit, HandedOver
from bot.agent.halt import Halt
from bot.agent.history import fit, repair
from bot.agent.journal import NO_JOURNAL, Journal
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, Message, SystemNote, ToolCall, ToolResult
from bot.agent.model import ModelFailure, ModelRequest, Usage
from bot.agent.passages import with_passages, without_passages
from bot.agent.replies import Asking, ModelReply, RunUsage, StreamState, get_reply
from bot.agent.toolcalls import Ledger, Round, run_calls
from bot.agent.tools import Context, InvalidArguments, Tool

logger = logging.getLogger(__name__)

_USABLE_ID = re.compile(r"[\w.:-]{1,64}")
"""Matches the ids of calls that can be used. A call's id becomes part of a key."""

_ANSWER_NOW = SystemNote(
    "No more look-ups in this turn. Answer the customer now from what is known, and say what is missing."
)
_CUT_SHORT = "Not run: the reply reached its length limit, so this call may be incomplete. Ask for less at once."
_NO_MORE_HANDOVERS = "Not done: this was handed over often enough. Answer the customer yourself."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended."""

    ended: Literal["answered", "escalated", "failed"]
    """How the turn ended. "escalated" means that a terminal tool ran. Its result is among the messages."""
    agent: str
    """The agent in charge at the end. It is in charge again when the customer writes next."""
    text: str
    """The text of the last round, for the customer. It is partial after a failure, and can be empty if escalated."""
    messages: tuple[Message, ...]
    """The messages that the turn added to the conversation, in order. Every call has its result."""
    usage: Usage
    """The usage of all attempts together, including failed ones."""
    reason: str = ""
    """The reason, in one stable word.

    After a failure it is a FailureKind, or "halted". For an answer it is "shortened" if a length limit cut the text
    off. If the answer was forced, it is "rounds", "calls", "tool_calls", "repeats", "seconds", "tokens" or "cost".
    Otherwise it is empty.
    """
    forced: bool = False
    """True if a limit or a repeated call forced the last round to have no tools."""
    models: tuple[str, ...] = ()
    """The models that wrote, in the order of their first reply."""


async def run(
    team: Team,
    agent: str,
    history: Sequence[Message],
    *,
    models: Models,
    context: Context,
    passages: str,
    emit: Emit,
    limits: Limits,
    journal: Journal = NO_JOURNAL,
    halt: Halt | None = None,
) -> Outcome:
    """Continue the conversation until there is an answer, a person is called, or the turn fails.

    `agent` is the one in charge now; the team's entry if it is unknown. `history` ends with the customer's latest
    message. `passages` is the text retrieved for it ("" for none). `halt` ends the
    turn as failed, "halted"; a call that changes something is finished first.
    """
    halt = halt or Halt()
    turn = _Turn(
        team=team,
        history=with_passages(history, passages),
        models=models,
        context=context,
        emit=emit,
        limits=limits,
        journal=journal,
        ledger=Ledger(limits.calls, limits.calls_per_tool),
        agent=team[agent if agent in team else team.entry],
        deadline=asyncio.get_running_loop().time() + limits.turn_seconds,
        state=StreamState(emit),
    )
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": turn.agent.name,
        "gen_ai.conversation.id": context.thread.key,
    }
    with tracing.span(f"invoke_agent {turn.agent.name}", attributes) as span:
        outcome = await _run(turn, halt)
        span.set(_traced(outcome))
        if outcome.ended == "failed" and outcome.reason != "halted":
            span.fail(outcome.reason)
    return outcome


async def _run(turn: "_Turn", halt: Halt) -> Outcome:
    """Serve the turn within its time limit."""
    context, limits = turn.context, turn.limits
    if halt.is_set():
        return turn.failed("halted")
    try:
        async with asyncio.timeout_at(turn.deadline) as clock:
            with halt.bounding(clock):
                return await _serve(turn)
    except ModelFailure as failure:
        logger.warning("turn failed: %s", failure, extra=context.logged)
        return turn.failed(failure.kind)
    except TimeoutError:
        if not clock.expired():
            raise
        if halt.is_set():
            logger.info("turn halted", extra=context.logged)
            return turn.failed("halted")
        if shortened := turn.state.shortened():
            turn.keep(shortened)
            return turn.outcome("answered", text=shortened.text, reason="shortened")
        logger.warning("turn failed: not done in %s s", limits.turn_seconds, extra=context.logged)
        return turn.failed("deadline")


def _traced(outcome: Outcome) -> tracing.Attributes:
    usage = outcome.usage
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "frontdesk.run.cost": usage.cost,
        "frontdesk.run.ended": outcome.ended,
        "frontdesk.run.reason": outcome.reason,
    }


async def _serve(turn: "_Turn") -> Outcome:
    """Run rounds until one asks for no more tools."""
    while True:
        turn.rounds[turn.agent.name] += 1
        used_up = turn.used_up()
        if used_up:
            logger.info("turn is made to answer: %s used up", used_up, extra=turn.context.logged)
        reply = await _ask(turn, forced=bool(used_up))
        turn.keep(reply)
        if not reply.calls:
            reason = "shortened" if reply.finish == "length" else used_up
            text = turn.agent.reply.read(reply.text) if turn.agent.reply else reply.text
            return turn.outcome("answered", text=text, reason=reason, forced=bool(used_up))
        offered = turn.offered()
        results = await _act(turn, reply, offered)
        turn.messages += results
        if any(result.ends or _is_terminal(result, offered) for result in results):
            return turn.outcome("escalated", text=reply.text)


def _is_terminal(result: ToolResult, offered: Mapping[str, Tool]) -> bool:
    return result.ok and result.name in offered and offered[result.name].terminal


async def _ask(turn: "_Turn", *, forced: bool) -> ModelReply:
    """Return one round's reply: the recorded one, shown again, or a new one."""
    step = f"round-{turn.rounds.total()}"
    if noted := await turn.journal.recall(step):
        reply = ModelReply.from_json(noted)
        turn.spent.usage += reply.usage
        turn.state.show(reply.text)
        return reply
    reply = await get_reply(turn.asking(forced=forced))
    reply = replace(reply, calls=turn.with_own_ids(reply.calls))
    await turn.journal.record(step, reply.to_json())
    return reply


async def _act(turn: "_Turn", reply: ModelReply, offered: Mapping[str, Tool]) -> list[ToolResult]:
    """Return a result for each call, in order. The first valid handover changes the agent in charge."""
    if reply.finish == "length":
        return [ToolResult(call.id, call.name, _CUT_SHORT, ok=False) for call in reply.calls]
    handovers = [call for call in reply.calls if call.name in offered and call.name.startswith(HANDOVER)]
    others = [call for call in reply.calls if call not in handovers]
    together = asyncio.Semaphore(turn.limits.tool_concurrency)
    shared = Round(offered, turn.context, turn.emit, turn.journal, together)
    results = await run_calls(others, turn.ledger, shared=shared)
    source = turn.agent
    results += [_hand_over(turn, call, offered[call.name], source) for call in handovers]
    by_id = {result.call_id: result for result in results}
    return [by_id[call.id] for call in reply.calls]


def _hand_over(turn: "_Turn", call: ToolCall, tool: Tool, source: Agent) -> ToolResult:
    """Put the colleague in charge, unless this round had a handover already or the limit of handovers is reached."""
    try:
        tool.read(call.arguments)
    except InvalidArguments as problem:
        return ToolResult(call.id, call.name, problem.output.text(), ok=False)
    if turn.agent is not source:
        return ToolResult(call.id, call.name, f"Not done: {turn.agent.name} is in charge already.", ok=False)
    if turn.handovers >= turn.limits.handovers:
        return ToolResult(call.id, call.name, _NO_MORE_HANDOVERS, ok=False)
    turn.handovers += 1
    turn.agent = turn.team[call.name.removeprefix(HANDOVER)]
    turn.emit(HandedOver(source.name, turn.agent.name))
    return ToolResult(call.id, call.name, f"Done: {turn.agent.name} is in charge from here on.")


@dataclass(slots=True)
class _Turn:
    """The state of one run."""

    team: Team
    history: Sequence[Message]
    models: Models
    context: Context
    emit: Emit
    limits: Limits
    journal: Journal
    ledger: Ledger
    agent: Agent
    """The agent in charge now."""
    deadline: float
    """The time at which the turn ends at the latest, on the event loop's clock."""
    state: StreamState
    spent: RunUsage = field(default_factory=RunUsage)
    messages: list[Message] = field(default_factory=list)
    """The messages that the turn has added so far."""
    rounds: Counter[str] = field(default_factory=Counter)
    """The number of replies asked for, by agent, including the current one."""
    handovers: int = 0
    wrote: dict[str, None] = field(default_factory=dict)
    """The models that wrote, in order."""

    def offered(self) -> Mapping[str, Tool]:
        """The tools of the agent in charge, by name."""
        return self.team.offered(self.agent)

    def used_up(self) -> str:
        """Return the limit that makes the current round the last, in one stable word. Empty if none does."""
        limits, usage = self.limits, self.spent.usage
        own = self.agent.rounds or limits.rounds
        closing = min(limits.closing_seconds, limits.turn_seconds / 4)
        if self.rounds.total() >= limits.rounds or self.rounds[self.agent.name] >= own:
            return "rounds"
        if usage.input_tokens + usage.output_tokens >= limits.tokens:
            return "tokens"
        if limits.cost is not None and usage.cost >= limits.cost:
            return "cost"
        if asyncio.get_running_loop().time() >= self.deadline - closing:
            return "seconds"
        return self.ledger.exhausted

    def asking(self, *, forced: bool) -> Asking:
        """Return the request for the current round."""

        def build(model: str, window: int) -> ModelRequest:
            return self._request(model, window, forced=forced)

        endpoints = self.models.of(self.agent.tier)
        window = self.limits.window_characters
        return Asking(build, endpoints, self.limits, self.state, self.spent, self.deadline, window)

    def _request(self, model: str, window: int, *, forced: bool) -> ModelRequest:
        whole = [*self.history, *self.messages]
        messages = fit(whole if self.agent.sees_passages else without_passages(whole), characters=window)
        if self.agent.guidance is not None and (words := self.agent.guidance()):
            messages = (*messages, SystemNote(words))
        return ModelRequest(
            model=model,
            instructions=self.agent.instructions,
            messages=(*messages, _ANSWER_NOW) if forced else messages,
            tools=tuple(self.offered().values()),
            may_call=not forced,
            output_tokens=self.limits.output_tokens,
            output_characters=self.limits.output_characters,
            reply=self.agent.reply,
            customer=f"{self.context.customer.team}/{self.context.customer.user}",
        )

    def keep(self, reply: ModelReply) -> None:
        """Add the reply of a complete round to the conversation."""
        self.messages.append(AgentMessage(reply.text, reply.calls, self.agent.name, reply.model, reply.extra))
        self.wrote.setdefault(reply.model)
        self.state.end_round()

    def with_own_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Return the calls with ids that can be keys and are unique in this turn.

        New ids have nine letters and digits, because Mistral accepts no others.
        """
        used = {call.id for message in self.messages if isinstance(message, AgentMessage) for call in message.calls}
        own: list[ToolCall] = []
        for place, call in enumerate(calls):
            fits = call.id not in used and _USABLE_ID.fullmatch(call.id)
            fresh = call if fits else replace(call, id=f"call{self.rounds.total():02}{place:03}")
            used.add(fresh.id)
            own.append(fresh)
        return tuple(own)

    def _results_of_last_round(self) -> list[ToolResult]:
        """Return the results from before the round was cut off: finished calls must not look unfinished."""
        last = self.messages[-1] if self.messages else None
        calls = last.calls if isinstance(last, AgentMessage) else ()
        return [result for call in calls if (result := self.ledger.known(call)) is not None]

    def outcome(
        self,
        ended: Literal["answered", "escalated", "failed"],
        *,
        text: str,
        reason: str = "",
        forced: bool = False,
    ) -> Outcome:
        messages, usage = tuple(self.messages), self.spent.usage
        return Outcome(ended, self.agent.name, text, messages, usage, reason, forced, tuple(self.wrote))

    def failed(self, reason: str) -> Outcome:
        """Return the outcome without an answer. What the customer has seen stays in the conversation."""
        text = self.state.shown
        known = self._results_of_last_round()
        self.messages = repair([*self.messages, *known, AgentMessage(text, agent=self.agent.name)])
        return self.outcome("failed", text=text, reason=reason)
