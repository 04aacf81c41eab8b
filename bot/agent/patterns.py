"""Ways to let agents work: small functions over `run`, all under the same `Terms`.

    single        one agent alone
    handoff       a team: the agent in charge answers, or hands the conversation over
    sequential    a draft, and a checker that reads it before anyone else does
    concurrent    the questions of one message at the same time
    brainstorm    one agent asked several times at once in different voices, for drafts to choose from
    magentic      a lead that asks the team's agents, reads what they found, and answers once

Several runs in one turn share its journal but not its steps. Their tools have their own idempotency keys, and their
usage is added up. All tasks end with the function that started them. Like `run`, nothing here raises for failures of a
model or a tool.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from itertools import pairwise
from operator import add
from typing import Annotated, Protocol, TypeVar

from pydantic import Field

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Models
from bot.agent.events import Emit, Event, TextDelta, ToolFinished, ToolStarted
from bot.agent.halt import Halt
from bot.agent.journal import NO_JOURNAL, Journal, part_of
from bot.agent.limits import Limits
from bot.agent.loop import Outcome, run
from bot.agent.messages import AgentMessage, CustomerMessage, JsonObject, Message, StaffMessage, SystemNote, ToolResult
from bot.agent.model import Usage
from bot.agent.replies import ModelReply
from bot.agent.tools import Context, Tool, ToolOutput, tool
from bot.agent.wording import without_tags

ANSWER_CHECK_TIMEOUT = 20.0
"""How long a check may take, in seconds. After that the draft is the answer."""
MIN_ANSWER_CHECK_TIME = 2.0
"""Seconds. If the turn has less time left, the draft is the answer without a check."""
ASK_SHARE = 0.35
"""The share of the turn's time for one question to a colleague. After two in a row, the lead can still answer."""
ASK = "ask_"
"""The prefix of the tools with which a lead asks a colleague. The rest is the colleague's name."""
ID_LIMIT = 40
"""The longest id of a call, in characters, that the names of its colleague's steps contain as it is."""

_NO_ANSWER = "No answer came. Say which part is missing; do not guess it."
_USED_UP = "No more can be asked in this turn. Answer from what you have, and say which part is missing."
_ONE = (
    "Of the message above answer only the one question that the customer's next message repeats; the others are "
    "answered elsewhere."
)
_VERDICT = re.compile(r"\b(?:stands?|draft|verdict)\b", re.IGNORECASE)
_DRAFT_MARK = re.compile(r"(?<!\s)\s*</?draft>\s*")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions under which a pattern works."""

    models: Models
    context: Context
    emit: Emit
    limits: Limits
    """The limits of each run. Tokens and money are for all runs together.

    Runs at the same time get equal shares, and a later run gets what the earlier ones have left. A run asks for an
    answer even if nothing is left, and finishes its last request beyond the bound. So each run can exceed the limits
    by one request.
    """
    passages: str = ""
    """The text retrieved for the customer's message."""
    journal: Journal = NO_JOURNAL
    halt: Halt | None = None
    """Ends every run of the turn."""

    def part(self, name: str) -> "Terms":
        """Return the terms for one of a turn's runs, with its own steps, idempotency keys and progress cards."""
        return replace(
            self,
            context=replace(self.context, turn=f"{self.context.turn}/{name}"),
            emit=_apart(self.emit, name),
            journal=part_of(self.journal, name),
        )

    def without_text(self) -> "Terms":
        """Return the terms without the agents' text. The progress of their tools is still shown."""
        return replace(self, emit=_without_text(self.emit))

    def one_of(self, runs: int) -> "Terms":
        """Return the terms with an equal share of the tokens and money for each of `runs`."""
        limits = self.limits
        cost = None if limits.cost is None else limits.cost / runs
        return replace(self, limits=replace(limits, tokens=limits.tokens // runs, cost=cost))

    def after(self, spent: Usage) -> "Terms":
        """Return the terms with the tokens and money that are left after `spent`."""
        limits = self.limits
        cost = None if limits.cost is None else max(0.0, limits.cost - spent.cost)
        tokens = max(0, limits.tokens - spent.input_tokens - spent.output_tokens)
        return replace(self, limits=replace(limits, tokens=tokens, cost=cost))

    def within(self, bound: Limits) -> "Terms":
        """Return the terms with at most the tokens and money of `bound`."""
        limits = self.limits
        costs = [cost for cost in (limits.cost, bound.cost) if cost is not None]
        tokens, cost = min(limits.tokens, bound.tokens), min(costs, default=None)
        return replace(self, limits=replace(limits, tokens=tokens, cost=cost))

    @property
    def is_used_up(self) -> bool:
        """Whether no tokens or no money are left."""
        return self.limits.tokens <= 0 or (self.limits.cost is not None and self.limits.cost <= 0)


class Pattern(Protocol):
    """A way to get from a conversation to an outcome."""

    async def __call__(self, team: Team, agent: str, history: Sequence[Message], /, *, terms: Terms) -> Outcome:
        """Continue the conversation. `agent` is the one in charge. If the team has no such agent, its entry begins."""
        ...


async def single(team: Team, agent: str, history: Sequence[Message], *, terms: Terms) -> Outcome:
    """Let one agent of the team answer alone. It has no colleagues to hand over to."""
    return await handoff(_alone(team[agent]), agent, history, terms=terms)


async def handoff(team: Team, agent: str, history: Sequence[Message], *, terms: Terms) -> Outcome:
    """Let the team answer. `agent` begins, or the team's entry if it has no agent of that name."""
    return await run(
        team,
        agent,
        history,
        models=terms.models,
        context=terms.context,
        passages=terms.passages,
        emit=terms.emit,
        limits=terms.limits,
        journal=terms.journal,
        halt=terms.halt,
    )


def _always(draft: Outcome) -> bool:
    return True


async def sequential(
    team: Team,
    agent: str,
    history: Sequence[Message],
    *,
    terms: Terms,
    checker: Agent,
    drafting: Pattern = handoff,
    needs_check: Callable[[Outcome], bool] = _always,
) -> Outcome:
    """Have an answer drafted unseen and checked against its sources. Emit the result once.

    A draft that does not need the check is emitted as it is.

    The checker has no tools. It says STANDS, or gives a version without the parts that the sources do not support.
    The draft is the answer if the checker fails, if it gives no version, or if no budget is left to ask it.
    """
    now = asyncio.get_running_loop().time
    end = now() + terms.limits.turn_seconds
    draft = await drafting(team, agent, history, terms=terms.part("draft").without_text())
    if draft.ended != "answered":
        return draft
    checked = None
    if needs_check(draft):
        checking = terms.after(draft.usage).part("check")
        checked = await _check(checker, history, draft, terms=checking, seconds=end - now())
    if checked is not None:
        spent, wrote = draft.usage + checked.usage, _unique(draft.models + checked.models)
        draft = replace(reworded(draft, _corrected(draft.text, checked)), usage=spent, models=wrote)
    terms.emit(TextDelta(draft.text))
    return draft


async def _check(
    checker: Agent, history: Sequence[Message], draft: Outcome, *, terms: Terms, seconds: float
) -> Outcome | None:
    """Ask the checker. None if no time, tokens or money are left."""
    if seconds < MIN_ANSWER_CHECK_TIME or terms.is_used_up:
        return None
    limits = replace(terms.limits, turn_seconds=min(ANSWER_CHECK_TIMEOUT, seconds))
    asked = _latest(history)
    before = [message for message in history[:asked] if isinstance(message, CustomerMessage | StaffMessage)]
    sheet = CustomerMessage(_sheet(history, draft, limits.window_characters // 2))
    return await single(
        _alone(checker), checker.name, [*before, sheet], terms=replace(terms, limits=limits).without_text()
    )


def _sheet(history: Sequence[Message], draft: Outcome, room: int) -> str:
    """Return the question, the tools' results (the newest ones if not all fit), and the draft."""
    results: list[str] = []
    for message in reversed([*history, *draft.messages]):
        if isinstance(message, ToolResult) and (room := room - len(message.content)) > 0:
            results.insert(0, f'<result tool="{message.name}">\n{_unmarked(message.content)}\n</result>')
    asked = "\n".join(m.text for m in history[_latest(history) :] if isinstance(m, CustomerMessage | SystemNote))
    parts = ["<question>", _unmarked(asked), "</question>", "<results>", *results, "</results>"]
    return "\n".join([*parts, "<draft>", _unmarked(draft.text), "</draft>"])


def _latest(history: Sequence[Message]) -> int:
    """Return the position of the customer's latest message. Notes can follow it."""
    places = [place for place, message in enumerate(history) if isinstance(message, CustomerMessage)]
    return places[-1] if places else len(history)


def _unmarked(text: str) -> str:
    """Return the text so that it cannot close the tag of the sheet around it."""
    return without_tags(text, "question", "result", "draft")


def _corrected(draft: str, checked: Outcome) -> str:
    """Return the checker's version. If it approves the draft, or gives no shorter version, return the draft."""
    if checked.ended != "answered" or checked.reason == "shortened":
        return draft
    text = _version(_DRAFT_MARK.sub("\n", checked.text).strip(), draft)
    return text if text and len(text) <= len(draft) * 3 // 2 + 200 else draft


def _version(text: str, draft: str) -> str:
    """Return the checker's version for the customer. Empty if it only comments on the draft.

    A line at the beginning or the end is a verdict if it has a word of verdicts that the draft does not have. If such
    a word is anywhere, the rest is a version only if half of its pairs of neighbouring words are also in the draft.
    """
    if not _VERDICT.search(text):
        return text
    lines, known = text.splitlines(), set(_VERDICT.findall(draft))
    for end in (0, -1):
        while lines and not known.issuperset(_VERDICT.findall(lines[end])):
            del lines[end]
    rest, of_draft = "\n".join(lines).strip(), _pairs(draft)
    pairs = _pairs(rest)
    return rest if pairs and len(pairs & of_draft) * 2 >= len(pairs) else ""


def _pairs(text: str) -> set[tuple[str, str]]:
    """Return the pairs of neighbouring words."""
    return set(pairwise(re.findall(r"\w+", text.casefold())))


@dataclass(frozen=True, slots=True)
class Share:
    """One of several questions in a message, with what belongs to it alone."""

    question: str
    """The question in the customer's words."""
    passages: str
    """The text retrieved for the question."""
    context: Context
    emit: Emit


Settle = Callable[[int, Outcome], Outcome]
"""(the share's position, its outcome) -> the outcome that replaces it."""


async def concurrent(
    team: Team,
    agent: str,
    history: Sequence[Message],
    shares: Sequence[Share],
    *,
    terms: Terms,
    settle: Settle = lambda place, outcome: outcome,
    go_live: Callable[[int], None] = lambda place: None,
    answering: Pattern = handoff,
) -> Outcome:
    """Put every question to the team at the same time, and join the answers in the order of the questions.

    `settle` is called once for each share, in order, as soon as this share and all before it have ended. `go_live` is
    called with the position of a share that still runs when all before it have ended. It can be called repeatedly.
    The outcome is escalated if one share is, else failed if one share is. The agent that answered last is in charge
    afterwards.
    """
    ended: dict[int, Outcome] = {}
    settled: list[Outcome] = []

    async def answer(place: int, share: Share) -> None:
        own = replace(terms, context=share.context, emit=share.emit, passages=share.passages)
        own = own.one_of(len(shares)).part(f"question-{place + 1}")
        ended[place] = await answering(team, agent, [*history, *_only(share.question, history)], terms=own)
        while (outcome := ended.get(len(settled))) is not None:
            settled.append(settle(len(settled), outcome))
        if len(settled) < len(shares):
            go_live(len(settled))

    go_live(0)
    await _together([answer(place, share) for place, share in enumerate(shares)])
    return _joined(settled)


def _only(question: str, history: Sequence[Message]) -> tuple[Message, Message]:
    """Return a note, and the question as a customer's message. Customers' words never have another role."""
    return SystemNote(_ONE), _put(question, history)


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    worst = next(
        (outcome for end in ("escalated", "failed") for outcome in outcomes if outcome.ended == end), outcomes[-1]
    )
    return Outcome(
        ended=worst.ended,
        agent=outcomes[-1].agent,
        text="\n\n".join(text for outcome in outcomes if (text := outcome.text.strip())),
        messages=tuple(message for outcome in outcomes for message in outcome.messages),
        usage=_spent(outcomes),
        reason=worst.reason or next((outcome.reason for outcome in outcomes if outcome.reason), ""),
        forced=any(outcome.forced for outcome in outcomes),
        models=_unique(model for outcome in outcomes for model in outcome.models),
    )


@dataclass(frozen=True, slots=True)
class Drafts:
    """The result of a request for several drafts."""

    texts: tuple[str, ...]
    """The drafts in the order of the voices. There are fewer if some failed, were empty, or were the same."""
    usage: Usage
    models: tuple[str, ...] = ()
    """The models that wrote."""
    reason: str = ""
    """Why there is no draft: the stable word of the first failure. Empty if there is one."""


async def brainstorm(
    team: Team, agent: str, history: Sequence[Message], voices: Sequence[str], *, terms: Terms
) -> Drafts:
    """Ask one agent of the team once for each voice, all at the same time.

    A voice is a paragraph that is added to the agent's instructions. Drafts are not answers yet: their text is not
    emitted, and the agent has only the tools that change nothing and end no turn.
    """
    drafting, own = _looking_only(team[agent]), terms.one_of(max(1, len(voices))).without_text()
    outcomes = await _together(
        [
            single(_alone(_in_voice(drafting, voice)), agent, history, terms=own.part(f"voice-{number}"))
            for number, voice in enumerate(voices, start=1)
        ]
    )
    drafts: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.ended == "answered" and outcome.text.strip():
            drafts.setdefault(_same(outcome.text), outcome.text.strip())
    reasons = (outcome.reason for outcome in outcomes if outcome.ended != "answered")
    models = _unique(model for outcome in outcomes for model in outcome.models)
    return Drafts(tuple(drafts.values()), _spent(outcomes), models, "" if drafts else next(reasons, "blank"))


async def spent_on_brainstorm(voices: Sequence[str], *, rounds: int, journal: Journal) -> Drafts:
    """Return the costs of such drafts from the journal, without texts. `rounds` is the limit of each draft."""
    return await spent_on([f"voice-{voice}" for voice in range(1, len(voices) + 1)], rounds=rounds, journal=journal)


async def spent_on(parts: Iterable[str], *, rounds: int, journal: Journal) -> Drafts:
    """Return the costs of a turn's `parts` from the journal, without texts. `Terms.part` gives the parts' names."""
    steps = (f"{part}/round-{made}" for part in parts for made in range(1, rounds + 1))
    noted = [value for step in steps if (value := await journal.recall(step)) is not None]
    replies = [ModelReply.from_json(value) for value in noted]
    usage = reduce(add, (reply.usage for reply in replies), Usage())
    return Drafts((), usage, _unique(reply.model for reply in replies))


def _looking_only(agent: Agent) -> Agent:
    """Return the agent with only the tools that change nothing and end no turn."""
    return replace(agent, tools=tuple(tool for tool in agent.tools if not (tool.writes or tool.terminal)))


def _in_voice(agent: Agent, voice: str) -> Agent:
    return replace(agent, instructions=f"{agent.instructions}\n\n{voice}".strip())


def _same(text: str) -> str:
    """Return a form that is equal for texts that differ only in their layout."""
    return " ".join(text.split()).casefold()


async def magentic(team: Team, agent: str, history: Sequence[Message], *, terms: Terms, lead: Agent) -> Outcome:
    """Let a lead split the message, ask the agents of the team that answer, and answer the whole once.

    The lead has its own tools and one tool for each of these agents. They look things up and report to the lead, unseen
    by the customer. Only the lead can call a person. Afterwards `agent` is in charge again.

    The lead has its share of the tokens and money, and all questions to colleagues have the rest. Once that is spent,
    no more questions are asked. Those that already run still finish, and can exceed the rest.
    """
    asked: list[Outcome] = []
    colleagues = [each for each in team.agents if each.sees_passages and each.name != lead.name]
    own = terms.one_of(len(colleagues) + 1)
    rest = terms.after(Usage(own.limits.tokens, cost=own.limits.cost or 0.0))
    journal = _Retraced(part_of(terms.journal, "lead"))
    tools = [_ask_tool(each, history, asked, journal, terms=rest, at_most=own.limits) for each in colleagues]
    leading = _alone(replace(lead, tools=(*lead.tools, *tools)))
    context = replace(terms.context, turn=f"{terms.context.turn}/lead")
    leads = replace(own, context=context, emit=_without_asking(terms.emit), journal=journal)
    outcome = await single(leading, lead.name, history, terms=leads)
    return replace(
        outcome,
        agent=agent if agent in team else team.entry,
        usage=_spent([outcome, *asked]),
        models=_unique(model for each in (*asked, outcome) for model in each.models),
    )


def _ask_tool(
    colleague: Agent,
    history: Sequence[Message],
    asked: list[Outcome],
    journal: "_Retraced",
    *,
    terms: Terms,
    at_most: Limits,
) -> Tool:
    """Return the tool `ask_<name>`: a run of the colleague, whose outcome is added to `asked`.

    The run can spend what the outcomes in `asked` have left of the terms, but no more than `at_most`.
    """
    seconds = terms.limits.turn_seconds * ASK_SHARE
    terms = replace(terms, limits=replace(terms.limits, turn_seconds=seconds))
    alone = _alone(_looking_only(colleague))

    @tool(title="Asking a colleague", timeout=seconds + 1)
    async def ask(
        context: Context,
        question: Annotated[
            str, Field(min_length=3, max_length=1_000, description="Everything you want of this colleague, whole.")
        ],
    ) -> ToolOutput:
        """Ask a colleague."""
        own = terms.after(_spent(asked)).within(at_most).part(f"ask-{_short(context.call)}").without_text()
        if own.is_used_up and await own.journal.recall("round-1") is None:
            return ToolOutput({"error": "used_up", "message": _USED_UP}, ok=False)
        with journal.retracing(context.call):
            outcome = await single(alone, colleague.name, [*history[:-1], _put(question, history)], terms=own)
        asked.append(outcome)
        if outcome.ended != "answered":
            return ToolOutput({"error": "no_answer", "message": _NO_ANSWER}, ok=False)
        return ToolOutput({"answer": outcome.text}, private=_holds_private(outcome.messages))

    description = f"Ask {colleague.name}. {colleague.purpose}".strip()
    return replace(ask, name=ASK + colleague.name, description=description)


def _short(call: str) -> str:
    """Return the call's id, or a hash of it if it is too long for the name of a step."""
    return call if len(call) <= ID_LIMIT else blake2b(call.encode(), digest_size=8).hexdigest()


def _put(question: str, history: Sequence[Message]) -> Message:
    """Return the lead's question in place of the customer's message, with the same speaker."""
    match history[-1]:
        case CustomerMessage() as message:
            return replace(message, text=question)
        case _:
            return CustomerMessage(question)


class _Retraced:
    """A lead's journal, which does not record the questions to colleagues.

    The colleagues' work has steps of its own. If they are asked again after a restart, these steps are not repeated,
    and their costs and findings come from the journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._retraced: set[str] = set()
        self._broke: Exception | None = None

    @contextmanager
    def retracing(self, call: str) -> Iterator[None]:
        """Run the call with this id in the block. The lead's next step raises what the block raises.

        Only the journal raises there. A tool that fails does not end a turn, but a failure of the journal must.
        """
        self._retraced.add(f"call-{call}")
        try:
            yield
        except Exception as failure:
            self._broke = failure
            raise

    async def recall(self, name: str) -> JsonObject | None:
        return await self._journal.recall(name)

    async def record(self, name: str, value: JsonObject) -> None:
        if self._broke is not None:
            raise self._broke
        if name not in self._retraced:
            await self._journal.record(name, value)

    def note(self, name: str, value: JsonObject) -> None:
        if self._broke is not None:
            raise self._broke
        if name not in self._retraced:
            self._journal.note(name, value)


def reworded(outcome: Outcome, text: str) -> Outcome:
    """Return the outcome as if the agent had ended with this text."""
    if text == outcome.text:
        return outcome
    messages = outcome.messages
    if messages and isinstance(messages[-1], AgentMessage) and not messages[-1].calls:
        messages = messages[:-1]
    return replace(outcome, text=text, messages=(*messages, AgentMessage(text, agent=outcome.agent)))


def _alone(agent: Agent) -> Team:
    return Team((replace(agent, hands_over_to=()),), entry=agent.name)


async def _together(runs: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """Return the results of the runs, in order. If one raises, the others are cancelled and the exception is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in runs]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _spent(outcomes: Sequence[Outcome]) -> Usage:
    return reduce(add, (outcome.usage for outcome in outcomes), Usage())


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _holds_private(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, ToolResult) and message.private for message in messages)


def _apart(emit: Emit, name: str) -> Emit:
    """Return an `emit` that gives calls ids that no other run of the turn uses."""

    def tell(event: Event) -> None:
        match event:
            case ToolStarted() | ToolFinished():
                emit(replace(event, call_id=f"{name}/{event.call_id}"))
            case _:
                emit(event)

    return tell


def _without_text(emit: Emit) -> Emit:
    def tell(event: Event) -> None:
        if not isinstance(event, TextDelta):
            emit(event)

    return tell


def _without_asking(emit: Emit) -> Emit:
    """Return an `emit` without the lead's questions to colleagues. The colleagues' own calls are shown."""

    def tell(event: Event) -> None:
        if not (isinstance(event, ToolStarted | ToolFinished) and event.name.startswith(ASK)):
            emit(event)

    return tell
