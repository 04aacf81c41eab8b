"""The calls of one round: they run together within limits and timeouts, and are answered in the order of the calls.

In reading order: `run_calls`, `_run_all`, `_run`, `_attempt`. Lookups run at the same time. Calls that change something
run one by one in their order, and are never cut off half-way. Every failure becomes a result in words that the model
can act on. The details go to the log.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from operator import setitem
from typing import Any

import orjson
from pydantic import BaseModel

from bot import tracing
from bot.agent.events import Emit, ToolFinished, ToolStarted
from bot.agent.journal import WRITE, Journal
from bot.agent.messages import JsonObject, ToolCall, ToolResult, from_json, to_json
from bot.agent.patience import Patience
from bot.agent.surrogates import sound
from bot.agent.tools import Context, InvalidArguments, Tool, ToolOutput, ToolProblem

logger = logging.getLogger(__name__)

SAME_CALL_LIMIT = 3
"""How often a turn can make the same call before it must answer with what it knows."""
STALE_ROUND_LIMIT = 2
"""How many rounds in a row can ask for nothing new. This catches A-B-A-B."""

_NO_ANSWER = ToolOutput(
    {"error": "timeout", "message": "No answer in time. Say which part is missing; do not guess it."}, ok=False
)
_UNKNOWN = ToolOutput(
    {
        "error": "unknown_outcome",
        "message": "No word on whether this took effect. Do not call it again, and do not say that it worked.",
    },
    ok=False,
)
_FAILED = ToolOutput(
    {"error": "unavailable", "message": "This failed on our side. Say which part is missing; do not guess it."},
    ok=False,
)
_TOO_MANY = ToolOutput(
    {"error": "too_many_calls", "message": "Not run: this turn has used up its calls. Answer now."}, ok=False
)
_REPEATED = "[You made this same call before in this turn. This is its result again; answer with it.]\n"


@dataclass(slots=True)
class Ledger:
    """The calls of one turn so far. It keeps the turn from endless repetition."""

    limit: int
    """The number of calls that the turn can make."""
    limit_per_tool: int
    """The number of calls of one tool."""
    asked: Counter[str] = field(default_factory=Counter)
    answers: dict[str, "_Answer"] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    """Signatures of the calls that have changed something, or may have."""
    by_tool: Counter[str] = field(default_factory=Counter)
    stale_rounds: int = 0

    @property
    def exhausted(self) -> str:
        """Return why no further call is possible: "calls", "tool_calls" or "repeats". Empty if one is."""
        if self.asked.total() >= self.limit:
            return "calls"
        if max(self.by_tool.values(), default=0) > self.limit_per_tool:
            return "tool_calls"
        if self.stale_rounds >= STALE_ROUND_LIMIT or max(self.asked.values(), default=0) >= SAME_CALL_LIMIT:
            return "repeats"
        return ""

    def known(self, call: ToolCall) -> ToolResult | None:
        """Return the result of this very call, or None if there is none yet."""
        answer = self.answers.get(_signature(call))
        return answer.result if answer and answer.result.call_id == call.id else None

    def forget_look_ups(self) -> None:
        """Forget the results of lookups, because a change may have made them wrong."""
        self.answers = {signature: answer for signature, answer in self.answers.items() if signature in self.written}

    def allow(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Return the calls that are within the limits.

        A call beyond its tool's limit still counts for the tool, so that the turn comes to its end.
        """
        allowed: list[ToolCall] = []
        for call in calls:
            self.by_tool[call.name] += 1
            within = self.by_tool[call.name] <= self.limit_per_tool
            if within and self.asked.total() + len(allowed) < self.limit:
                allowed.append(call)
        return allowed

    def enter(self, calls: Sequence[ToolCall]) -> dict[str, ToolCall]:
        """Count a round's calls, at least one. Return those that must be run, by signature.

        A call whose answer is not settled, such as after a timeout, is run once more.
        """
        to_run: dict[str, ToolCall] = {}
        for call in calls:
            signature = _signature(call)
            self.asked[signature] += 1
            known = self.answers.get(signature)
            if known is None or (not known.settled and self.asked[signature] < SAME_CALL_LIMIT):
                to_run.setdefault(signature, call)
        self.stale_rounds = 0 if to_run else self.stale_rounds + 1
        return to_run


@dataclass(frozen=True, slots=True)
class _Answer:
    result: ToolResult
    settled: bool
    """False if another try can bring another answer: the tool failed, or a colleague has a tool of that name."""
    broke: bool = False
    """True if the tool could not do its work. The result tells the model."""
    code: str = ""
    """The code of the problem that the tool reported."""
    write: str = ""
    """For a call that changes something: the name of its step, made from its arguments. Else empty."""

    def to_json(self) -> JsonObject:
        value: JsonObject = {
            "result": to_json(self.result),
            "settled": self.settled,
            "broke": self.broke,
            "code": self.code,
        }
        return value | {"write": self.write} if self.write else value

    @classmethod
    def from_json(cls, value: JsonObject) -> "_Answer":
        result = from_json(value["result"])
        if not isinstance(result, ToolResult):
            raise TypeError("the journal holds no tool result under a call's name")
        code, write = value.get("code", ""), value.get("write", "")
        return cls(result, settled=value["settled"], broke=value["broke"], code=code, write=write)


@dataclass(frozen=True, slots=True)
class Round:
    """The state that the calls of one round share."""

    tools: Mapping[str, Tool]
    """The tools on offer, by name."""
    context: Context
    emit: Emit
    journal: Journal
    together: asyncio.Semaphore
    """Bounds how many calls run at the same time."""
    of_tool: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    """Tool -> the bound for its own calls at the same time. It is filled when a tool is first called."""

    def writes(self, call: ToolCall) -> bool:
        """Whether the call changes something."""
        tool = self.tools.get(call.name)
        return tool is not None and tool.writes

    def place_for(self, tool: Tool) -> asyncio.Semaphore:
        """Return the tool's own semaphore. A call waits for it first, then for `together`."""
        return self.of_tool.setdefault(tool.name, asyncio.Semaphore(tool.concurrency))


async def run_calls(calls: Sequence[ToolCall], ledger: Ledger, *, shared: Round) -> list[ToolResult]:
    """Return one result for each call, in the order of the calls. Raises only what the journal raises."""
    allowed = ledger.allow(calls)
    to_run = ledger.enter(allowed) if allowed else {}
    writes = [signature for signature, call in to_run.items() if shared.writes(call)]
    ledger.written.update(writes)
    await _run_all(to_run, writes, ledger, shared)
    results = [_answer(call, ledger, to_run) if call in allowed else _refused(call) for call in calls]
    if any(ledger.answers[signature].result.ok for signature in writes):
        ledger.forget_look_ups()
    return results


async def _run_all(calls: Mapping[str, ToolCall], writes: Sequence[str], ledger: Ledger, shared: Round) -> None:
    """Note each answer when it comes. Lookups run together. Next to them, writing calls run one after the other."""

    async def run_in_order(signatures: Sequence[str]) -> None:
        for signature in signatures:
            await _run(calls[signature], shared, partial(setitem, ledger.answers, signature))

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(run_in_order(writes))
            for signature in calls:
                if signature not in writes:
                    group.create_task(run_in_order((signature,)))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _run(call: ToolCall, shared: Round, note: Callable[["_Answer"], None]) -> None:
    """Note the call's answer from the journal, or run the call."""
    tool = shared.tools.get(call.name)
    if tool is None:
        unknown = ToolOutput({"error": "unknown_tool", "offered": sorted(shared.tools)}, ok=False)
        note(_Answer(_result(call, unknown), settled=False))
        return
    try:
        arguments = tool.read(call.arguments)
    except InvalidArguments as problem:
        note(_Answer(_result(call, problem.output), settled=True))
        return
    async with shared.place_for(tool), shared.together:
        running = _run_once(call, tool, arguments, shared, note)
        await (_to_its_end(running) if tool.writes else running)


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Do the work. A cancellation waits until it is done."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.warning("what was to be finished failed", extra={"reason": type(failure).__name__})
        raise


async def _run_once(
    call: ToolCall, tool: Tool, arguments: BaseModel, shared: Round, note: Callable[["_Answer"], None]
) -> None:
    ok = private = ends = False
    broke, code = True, ""
    shared.emit(ToolStarted(call.id, call.name, tool.title, tool.subject_of(arguments)))
    try:
        noted = await _noted(call, tool, shared.journal)
        answer = noted or await _attempt(call, tool, arguments, shared.context)
        if not noted and tool.repeatable:
            shared.journal.note(f"call-{call.id}", answer.to_json())
        elif not noted:
            await shared.journal.record(f"call-{call.id}", answer.to_json())
        ok, private, broke, code = answer.result.ok, answer.result.private, answer.broke, answer.code
        ends = answer.result.ends
        note(answer)
    finally:
        shared.emit(ToolFinished(call.id, call.name, tool.title, ok, private, broke, code, ends))


async def _noted(call: ToolCall, tool: Tool, journal: Journal) -> _Answer | None:
    """Return the call's answer from the journal. A call that changes something is also found by its arguments."""
    noted = await journal.recall(f"call-{call.id}")
    if noted is None and tool.writes:
        noted = await journal.recall(_write_step(call))
    if noted is None:
        return None
    answer = _Answer.from_json(noted)
    return replace(answer, result=replace(answer.result, call_id=call.id))


async def _attempt(call: ToolCall, tool: Tool, arguments: BaseModel, context: Context) -> _Answer:
    """Run the tool within its timeout. Only ToolProblem's words reach the model. Other failures are ours."""
    write = _write_step(call) if tool.writes else ""
    try:
        with _traced(call) as span:
            span.add_words("gen_ai.tool.call.arguments", lambda: call.arguments)
            async with Patience(tool.timeout):
                output = await tool.call(replace(context, call=call.id, side_effect=write), arguments)
            span.add_words("gen_ai.tool.call.result", output.text)
        private = tool.private if output.private is None else output.private
        return _Answer(_result(call, output, private=private), settled=True, write=write)
    except ToolProblem as problem:
        told = ToolOutput({"error": problem.code, "message": sound(str(problem))}, ok=False)
        return _Answer(_result(call, told), settled=True, broke=True, code=problem.code)
    except TimeoutError:
        logger.warning("tool %s gave no answer within %s s", tool.name, tool.timeout, extra=_ids(call, context))
        return _broken(call, _UNKNOWN if write else _NO_ANSWER, write)
    except (Exception, asyncio.CancelledError) as failure:
        if isinstance(failure, asyncio.CancelledError) and _is_being_cancelled():
            raise
        logger.exception("tool %s failed", tool.name, extra=_ids(call, context))
        return _broken(call, _UNKNOWN if write else _FAILED, write)


def _traced(call: ToolCall) -> AbstractContextManager[tracing.Span]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.id,
    }
    return tracing.span(f"execute_tool {call.name}", attributes)


def _broken(call: ToolCall, told: ToolOutput, write: str) -> _Answer:
    """Return the answer of a call that failed in an unknown way. A writing call may have changed something."""
    return _Answer(_result(call, told), settled=bool(write), broke=True, write=write)


def _is_being_cancelled() -> bool:
    """Whether this task is being cancelled. False if the tool itself cancelled something that it waited for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _result(call: ToolCall, output: ToolOutput, *, private: bool = False) -> ToolResult:
    return ToolResult(call.id, call.name, output.text(), ok=output.ok, private=private, ends=output.ends)


def _answer(call: ToolCall, ledger: Ledger, ran: Mapping[str, ToolCall]) -> ToolResult:
    """Return the call's own result, or the result of the same earlier call with a note."""
    signature = _signature(call)
    known = ledger.answers[signature].result
    if ran.get(signature) is call:
        return known
    return replace(known, call_id=call.id, content=ToolOutput(_REPEATED + known.content).text())


def _refused(call: ToolCall) -> ToolResult:
    return _result(call, _TOO_MANY)


def _signature(call: ToolCall) -> str:
    """Return a signature that is equal for equal calls, regardless of the layout of their arguments."""
    try:
        arguments = orjson.dumps(orjson.loads(call.arguments or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        arguments = call.arguments.strip()
    return f"{call.name} {arguments}"


def _write_step(call: ToolCall) -> str:
    return WRITE + blake2b(_signature(call).encode(), digest_size=12).hexdigest()


def _ids(call: ToolCall, context: Context) -> dict[str, int | str]:
    return {**context.logged, "call": call.id}
