"""The loop: a model, its tools, and a turn that always ends in something one can say.

In reading order: `run` (the turn and its clock), `_serve` (round after round), `_ask` (one round, noted in the
journal), `_request` (one round's attempts), `_listen` (one stream), and `_act` (the calls the model asked for).

Nothing here raises for what a model or a tool does: it becomes an Outcome. What the journal raises goes through,
since without it a turn cannot go on.
"""

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Literal

from bot.agent.agent import HANDOVER, Agent, Team
from bot.agent.events import Emit, HandedOver, ModelRetried, TextDelta
from bot.agent.history import fit, repair
from bot.agent.journal import NO_JOURNAL, Journal
from bot.agent.messages import AgentMessage, JsonObject, Message, SystemNote, ToolCall, ToolResult
from bot.agent.model import Finished, FinishReason, Model, ModelFailure, ModelRequest, Usage
from bot.agent.toolcalls import Ledger, Round, run_calls
from bot.agent.tools import Context, InvalidArguments, Tool

logger = logging.getLogger(__name__)

_ANSWER_NOW = SystemNote(
    "No more look-ups in this turn. Answer the customer now from what is known, and say what is missing."
)
_CUT_SHORT = "Not run: the reply reached its length limit, so this call may be incomplete. Ask for less at once."
_NO_MORE_HANDOVERS = "Not done: this was handed over often enough. Answer the customer yourself."


@dataclass(frozen=True, slots=True)
class Limits:
    """What one turn may cost. Each limit ends in an answer or in a reason, never in an exception."""

    rounds: int = 8
    """Replies of the model; the last one is asked for without tools, so that there is an answer."""
    calls: int = 16
    """Tool calls; further ones are refused in words and the answer is forced."""
    handovers: int = 4
    """Changes of agent; further ones are refused in words."""
    turn_seconds: float = 120.0
    """The whole turn, tools and retries included."""
    first_token_seconds: float = 20.0
    """From a request to the first sign of life in its stream."""
    idle_seconds: float = 15.0
    """Between two signs of life; keep-alive comments are none. Kept to within a tenth."""
    tool_concurrency: int = 8
    """Calls of one round that run at the same time."""
    output_tokens: int = 4_000
    """What the provider may write in one reply."""
    output_characters: int = 24_000
    """Where a reply is cut off, whatever the provider makes of output_tokens."""
    window_characters: int = 24_000
    """Conversation sent with a request; see history.fit for what goes first."""
    retries: int = 2
    """Further attempts in one turn at requests that failed before anything was shown."""
    retry_seconds: float = 0.5
    """The pause before the first retry; doubled each time, less up to half of it by chance."""
    retry_after_seconds: float = 20.0
    """The longest pause a provider may ask for; when it wants more, the turn has failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended."""

    ended: Literal["answered", "escalated", "failed"]
    """escalated: a terminal tool ran, its result is among the messages."""
    agent: str
    """Who was in charge at the end, and is again when the customer writes next."""
    text: str
    """What the customer should read: the text of the last round. Partial if failed, perhaps empty if escalated."""
    messages: tuple[Message, ...]
    """What the turn added to the conversation, in order, every call with its result."""
    usage: Usage
    reason: str = ""
    """failed: why, one stable word (a FailureKind). answered: "shortened" if a length limit cut the
    text; why the answer was forced: "rounds", "calls", "repeats"; else empty."""
    forced: bool = False
    """True: a limit or a repeated call had the last round made without tools."""


async def run(
    team: Team,
    agent: str,
    history: Sequence[Message],
    *,
    model: Model,
    model_name: str,
    context: Context,
    passages: str,
    emit: Emit,
    limits: Limits,
    journal: Journal = NO_JOURNAL,
) -> Outcome:
    """Continue the conversation until there is an answer, a person is called, or nothing goes any more.

    `agent` is the one in charge now; the team's entry if it is unknown. `history` ends with the customer's latest
    message. `passages` is the text retrieved for it, sent as a second system message ("" for none).
    """
    turn = _Turn(
        team=team,
        history=history,
        model=model,
        model_name=model_name,
        context=context,
        passages=passages,
        emit=emit,
        limits=limits,
        journal=journal,
        ledger=Ledger(limits.calls),
        agent=team[agent if agent in team else team.entry],
        deadline=asyncio.get_running_loop().time() + limits.turn_seconds,
    )
    try:
        async with asyncio.timeout_at(turn.deadline) as clock:
            return await _serve(turn)
    except ModelFailure as failure:
        logger.warning("turn failed: %s", failure, extra={"turn": context.turn})
        return turn.failed(failure.kind)
    except TimeoutError:
        if not clock.expired():
            raise
        logger.warning("turn failed: not done in %s s", limits.turn_seconds, extra={"turn": context.turn})
        return turn.failed("deadline")


async def _serve(turn: "_Turn") -> Outcome:
    """Round after round until one asks for no more tools."""
    while True:
        turn.rounds += 1
        spent = "rounds" if turn.rounds >= turn.limits.rounds else turn.ledger.exhausted
        if spent:
            logger.info("turn is made to answer: %s used up", spent, extra={"turn": turn.context.turn})
        reply = await _ask(turn, forced=bool(spent))
        turn.keep(reply)
        if not reply.calls:
            reason = "shortened" if reply.finish == "length" else spent
            return turn.outcome("answered", text=reply.text, reason=reason, forced=bool(spent))
        offered = turn.offered()
        results = await _act(turn, reply, offered)
        turn.messages += results
        if any(result.ok and result.name in offered and offered[result.name].terminal for result in results):
            return turn.outcome("escalated", text=reply.text)


async def _ask(turn: "_Turn", *, forced: bool) -> "_Reply":
    """One round's reply: the one in the journal, shown again, or a new one."""
    step = f"round-{turn.rounds}"
    if noted := await turn.journal.recall(step):
        reply = _Reply.from_json(noted)
        turn.usage += reply.usage
        turn.show(reply.text)
        return reply
    reply = await _request(turn, forced=forced)
    await turn.journal.record(step, reply.to_json())
    return reply


async def _request(turn: "_Turn", *, forced: bool) -> "_Reply":
    """Attempts at one round. Only a reply of which nothing was shown yet is asked for again."""
    window = turn.limits.window_characters
    while True:
        try:
            return await _listen(turn, turn.request(window, forced=forced))
        except ModelFailure as failure:
            if turn.shown:
                raise
            if failure.kind == "context_length" and window == turn.limits.window_characters:
                window //= 2
                continue
            pause = _pause(turn, failure)
            if pause is None:
                raise
            turn.retries += 1
            turn.emit(ModelRetried(failure.kind, turn.retries + 1, pause))
            await asyncio.sleep(pause)


async def _listen(turn: "_Turn", request: ModelRequest) -> "_Reply":
    """One stream under its deadlines; a failure unless it ends in something to say or to do."""
    try:
        async with asyncio.timeout(turn.limits.first_token_seconds) as patience:
            reply = await _hear(turn, request, patience)
    except TimeoutError:
        if not patience.expired():
            raise
        raise ModelFailure("deadline", "no sign of life in the stream") from None
    if reply.finish in ("filtered", "refused"):
        raise ModelFailure(reply.finish)
    calls = turn.with_own_ids(reply.calls) if request.may_call else ()
    if not calls and not reply.text:
        raise ModelFailure("blank", retryable=True)
    return replace(reply, calls=calls)


async def _hear(turn: "_Turn", request: ModelRequest, patience: asyncio.Timeout) -> "_Reply":
    """Everything the stream brings, its text shown as it comes, the deadline moved at each sign of life."""
    now, idle, heard = asyncio.get_running_loop().time, turn.limits.idle_seconds, -inf
    calls: list[ToolCall] = []
    usage = Usage()
    async with aclosing(turn.model.stream(request)) as events:
        async for event in events:
            if now() - heard > idle / 10:  # moving a deadline costs more than reading the clock
                heard = now()
                patience.reschedule(heard + idle)
            match event:
                case TextDelta(text):
                    turn.show(text)
                case ToolCall():
                    calls.append(event)
                case Usage():
                    usage = event
                    turn.usage += event
                case Finished(reason):
                    return _Reply(turn.shown, tuple(calls), reason, usage)
    raise ModelFailure("cut", "the stream ended without a finish", retryable=True)


def _pause(turn: "_Turn", failure: ModelFailure) -> float | None:
    """Seconds until the next attempt; None if there shall be none."""
    limits = turn.limits
    asked = failure.retry_after or 0.0
    if not failure.retryable or turn.retries >= limits.retries or asked > limits.retry_after_seconds:
        return None
    pause = asked + limits.retry_seconds * 2**turn.retries * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
    return pause if asyncio.get_running_loop().time() + pause < turn.deadline else None


async def _act(turn: "_Turn", reply: "_Reply", offered: Mapping[str, Tool]) -> list[ToolResult]:
    """A result for each call, in order. The first sound handover changes who is in charge."""
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
    """Put the colleague in charge, unless a call of this round did so already or it went back and forth enough."""
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


@dataclass(frozen=True, slots=True)
class _Reply:
    """What one round of the model came to."""

    text: str
    calls: tuple[ToolCall, ...]
    finish: FinishReason
    usage: Usage

    def to_json(self) -> JsonObject:
        calls = [call.to_json() for call in self.calls]
        return {"text": self.text, "calls": calls, "finish": self.finish, "usage": asdict(self.usage)}

    @classmethod
    def from_json(cls, value: JsonObject) -> "_Reply":
        calls = tuple(map(ToolCall.from_json, value["calls"]))
        return cls(value["text"], calls, value["finish"], Usage(**value["usage"]))


@dataclass(slots=True)
class _Turn:
    """The state of one run."""

    team: Team
    history: Sequence[Message]
    model: Model
    model_name: str
    context: Context
    passages: str
    emit: Emit
    limits: Limits
    journal: Journal
    ledger: Ledger
    agent: Agent
    """Who is in charge now."""
    deadline: float
    """When the turn ends at the latest, on the event loop's clock."""
    messages: list[Message] = field(default_factory=list)
    """What the turn has added so far."""
    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    """Replies asked for, the current one included."""
    retries: int = 0
    handovers: int = 0
    shown: str = ""
    """Text of the current round that the customer has seen."""
    spoke: bool = False
    """True: an earlier round showed text."""

    def offered(self) -> Mapping[str, Tool]:
        """What the agent in charge may call, by name."""
        return self.team.offered(self.agent)

    def request(self, window: int, *, forced: bool) -> ModelRequest:
        """The current round as the model shall see it."""
        messages = fit([*self.history, *self.messages], characters=window)
        return ModelRequest(
            model=self.agent.model or self.model_name,
            system=tuple(text for text in (self.agent.instructions, self.passages) if text),
            messages=(*messages, _ANSWER_NOW) if forced else messages,
            tools=tuple(self.offered().values()),
            may_call=not forced,
            temperature=self.agent.temperature,
            output_tokens=self.limits.output_tokens,
            output_characters=self.limits.output_characters,
        )

    def show(self, text: str) -> None:
        """Emit text, set apart from that of an earlier round; white space at a round's start is none."""
        if not self.shown:
            text = text.lstrip()
            if text and self.spoke:
                self.emit(TextDelta("\n\n"))
        if text:
            self.shown += text
            self.emit(TextDelta(text))

    def keep(self, reply: _Reply) -> None:
        """The round is complete: its reply belongs to the conversation."""
        self.messages.append(AgentMessage(reply.text, reply.calls, self.agent.name))
        self.spoke = self.spoke or bool(self.shown)
        self.shown = ""

    def with_own_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls under ids of which none is empty or was used in this turn before."""
        used = {call.id for message in self.messages if isinstance(message, AgentMessage) for call in message.calls}
        own: list[ToolCall] = []
        for place, call in enumerate(calls):
            fresh = call if call.id and call.id not in used else replace(call, id=f"call_{self.rounds}_{place}")
            used.add(fresh.id)
            own.append(fresh)
        return tuple(own)

    def outcome(
        self,
        ended: Literal["answered", "escalated", "failed"],
        *,
        text: str,
        reason: str = "",
        forced: bool = False,
    ) -> Outcome:
        return Outcome(ended, self.agent.name, text, tuple(self.messages), self.usage, reason, forced)

    def failed(self, reason: str) -> Outcome:
        """The end without an answer. What the customer has seen stays in the conversation."""
        self.messages = repair([*self.messages, AgentMessage(self.shown, agent=self.agent.name)])
        return self.outcome("failed", text=self.shown, reason=reason)
