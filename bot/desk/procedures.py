"""What the model sees of procedures: three tools, and the text of the step that is on.

    start_procedure   begin one that fits what the customer wants
    note              note what the customer has said; code checks it and goes on as far as that leads
    leave             end it, because the customer wants something else

While a procedure is on, the tools that prepare changes are gone: the procedure prepares them itself. Look-ups stay, so
a question about something else is answered as usual.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from bot.actions.preparing import ChangeRequest
from bot.agent.agent import Agent, Team
from bot.agent.limits import Limits
from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem, tool
from bot.conversation import Customer, ShopCustomer
from bot.desk.changes import (
    Choice,
    NewAddress,
    Pieces,
    SomeLines,
    Swaps,
    Written,
    address_of,
    pieces_of,
    swaps_of,
)
from bot.desk.orders import SHOP_SILENT
from bot.guard.tool_results import PREPARES
from bot.language.languages import Language
from bot.procedures.file import Procedures, ValueSpec
from bot.procedures.running import MOST_ROUNDS, ProcedureRuns, RunMoved, Running, Why
from bot.procedures.values import FORMS, Noted, WrongValue, shown
from bot.shops.port import ShopUnavailable
from bot.store.cases import find_open
from bot.store.inbox import InboxItem, with_files

PREPARED_BY_CODE = "A procedure is on, and it prepares the change itself. Use note."
MOVED = "The procedure has ended or moved meanwhile. Answer the customer."
NOTHING_ON = "No procedure is on."
TRIES = 2
"""How often a value is noted if something else moves the procedure at the same moment."""
MESSAGES_WITH_FILES = 10
"""The customer's latest messages whose images can be noted."""

Value = Annotated[
    Annotated[str, Field(max_length=2_000)] | SomeLines | Swaps | Written,
    Field(description="A text; for lines a list; for an address an object."),
]


@dataclass(slots=True)
class Playbook:
    """The procedures as one turn sees them."""

    runs: ProcedureRuns
    wanted: ChangeRequest
    turn: int
    """The number of the message that is answered."""
    running: Running | None
    """The one that is on. None if none is."""
    images: Sequence[str] = ()
    """The names of the images that the customer has sent in the thread."""
    _turn_by_turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_on(self) -> bool:
        """Whether a procedure is on at this moment."""
        return self.running is not None and self.running.run.ended_at is None

    def equip(self, team: Team) -> Team:
        """The same team with the tools for procedures. The agents that answer get them."""
        return replace(
            team, agents=tuple(self._equip(agent) if agent.sees_passages else agent for agent in team.agents)
        )

    def bounded(self, limits: Limits) -> Limits:
        """The limits of the turn, with no more rounds than the procedure has left."""
        if self.running is None:
            return limits
        return replace(limits, rounds=max(1, min(limits.rounds, MOST_ROUNDS - self.running.run.rounds)))

    def guidance(self) -> str:
        """What the model reads last in each request while a procedure is on. Empty while none is."""
        return guidance_for(self.running) if self.running is not None and self.is_on else ""

    def _equip(self, agent: Agent) -> Agent:
        prepares = [each for each in agent.tools if each.name.startswith(PREPARES)]
        others = tuple(each for each in agent.tools if not each.name.startswith(PREPARES))
        if self.is_on:
            tools = (*others, *self._tools_inside())
        else:
            tools = (*others, *(self._only_outside(each) for each in prepares), self._start(), *self._tools_inside())
        return replace(agent, tools=tools, guidance=self.guidance)

    def _only_outside(self, prepare: Tool) -> Tool:
        """A tool that prepares a change, as long as this turn has begun no procedure."""

        async def run(context: Context, **arguments: Any) -> ToolOutput:
            async with self._turn_by_turn:
                if self.is_on:
                    raise ToolProblem(PREPARED_BY_CODE, code="procedure_is_on")
            output = await prepare.function(context, **arguments)
            return output if isinstance(output, ToolOutput) else ToolOutput(output)

        return replace(prepare, function=run)

    def _start(self) -> Tool:
        @tool(title="Looking up how we handle this", private=True, concurrency=1)
        async def start_procedure(context: Context, name: Annotated[str, Field(max_length=60)]) -> ToolOutput:
            """Begin the procedure that fits what the customer wants, before anything else. You then read what to do."""
            del context
            async with self._turn_by_turn:
                if self.is_on:
                    return ToolOutput({"error": PREPARED_BY_CODE}, ok=False)
                if name not in self.runs.procedures():
                    return ToolOutput({"error": "unknown", "procedures": sorted(self.runs.procedures())}, ok=False)
                try:
                    self.running = await self.runs.begin(self.wanted, name)
                except ShopUnavailable:
                    raise ToolProblem(SHOP_SILENT) from None
                except RunMoved:
                    return ToolOutput({"error": MOVED}, ok=False)
                return _told(self.running)

        return replace(start_procedure, description=f"{start_procedure.description}\n{_listed(self.runs.procedures())}")

    def _tools_inside(self) -> tuple[Tool, ...]:
        @tool(title="Noting what you said", private=True, concurrency=1)
        async def note(context: Context, name: Annotated[str, Field(max_length=40)], value: Value) -> ToolOutput:
            """Note one thing that the customer has said and the procedure that is on needs. Never guess a value."""
            del context
            async with self._turn_by_turn:
                return await self._note(name, value)

        @tool(title="Leaving the procedure", private=True, concurrency=1)
        async def leave(context: Context, why: Why) -> ToolOutput:
            """End the procedure that is on, because the customer does not want what it is for."""
            del context
            async with self._turn_by_turn:
                if self.running is None or not self.is_on:
                    return ToolOutput({"error": NOTHING_ON}, ok=False)
                try:
                    await self.runs.leave(self.running, why)
                except RunMoved:
                    return ToolOutput({"error": MOVED}, ok=False)
                self.running = None
                return ToolOutput({"procedure": "left"})

        return note, leave

    async def _note(self, name: str, value: Any) -> ToolOutput:
        for _ in range(TRIES):
            if self.running is None or not self.is_on:
                return ToolOutput({"error": NOTHING_ON}, ok=False)
            try:
                self.running = await self.runs.note(
                    self.wanted, self.running, name, _read(value), images=self.images, turn=self.turn
                )
            except WrongValue as wrong:
                self.running = await self.runs.on_in(self.wanted.thread)
                return ToolOutput({"noted": False, "error": str(wrong)}, ok=False)
            except ShopUnavailable:
                raise ToolProblem(SHOP_SILENT) from None
            except RunMoved:
                self.running = await self.runs.catch_up(self.wanted.thread)
            else:
                return _told(self.running)
        return ToolOutput({"error": MOVED}, ok=False)


async def open_playbook(
    runs: ProcedureRuns, customer: Customer, shop: ShopCustomer, item: InboxItem, language: Language
) -> Playbook | None:
    """The procedures for one message. None while people have the thread."""
    async with runs.database.transaction() as tx:
        if await find_open(tx, item.thread) is not None:
            return None
        sent = await with_files(tx, item.thread, author=item.author, latest=MESSAGES_WITH_FILES)
    files = [file for each in (*sent, item) for file in each.message.files]
    images = dict.fromkeys(file.name for file in files if file.mimetype.startswith("image/"))
    wanted = ChangeRequest(customer, shop, item.thread, f"turn/{item.id}", language)
    return Playbook(runs, wanted, item.id, await runs.catch_up(item.thread), [*images])


def guidance_for(running: Running) -> str:
    """What the model reads about the step that is on, and about nothing else of the procedure."""
    run, file = running.run, running.procedure.file
    lines = [
        f"A procedure is on: {file.procedure}. Code keeps the place in it and decides what follows. With note, note "
        "what the customer says, at once and as they said it. If they ask about something else, answer that; the "
        "procedure waits. If they don't want it any more, call leave. Promise nothing that a tool has not confirmed."
    ]
    known = [f"- {name}: {shown(run.collected[name])}" for name in file.collect if name in run.collected]
    if known:
        lines += ["Known:", *known]
    if missing := running.missing:
        lines += ["Still needed:", *(f"- {name}: {_asked(file.collect[name])}" for name in missing)]
    if run.action:
        lines.append(
            "The customer sees the details and two buttons. Nothing is changed until they press Yes: say in one "
            "sentence that they can check it and press a button."
        )
    if running.words:
        lines.append(f"Something else was not possible. Say this reason as it is: {running.words}")
    if text := running.procedure.texts.get(run.step, ""):
        lines += ["What to do now:", text]
    return "\n".join(lines)


def _asked(spec: ValueSpec) -> str:
    form = f"one of {', '.join(spec.values)}" if spec.values else FORMS[spec.type]
    return f"{form}{' (if there is one)' if spec.optional else ''}"


def _listed(found: Procedures) -> str:
    return "\n".join(f"{name}: {procedure.file.when}" for name, procedure in found.items())


def _read(value: Any) -> Noted:
    """The value in the type in which it is checked."""
    if isinstance(value, NewAddress):
        return address_of(value)
    if isinstance(value, list) and all(isinstance(each, Pieces) for each in value):
        return pieces_of(value)
    if isinstance(value, list) and all(isinstance(each, Choice) for each in value):
        return swaps_of(value)
    return str(value).strip()


def _told(running: Running) -> ToolOutput:
    """What the model reads. The words for the step come with the next request, and nothing says what follows it."""
    run = running.run
    told: dict[str, Any]
    match run.why:
        case "handed_over":
            told = {"person": "called", "message": "The customer has been told; say nothing more."}
            return ToolOutput(told, ends=True)
        case "done":
            return ToolOutput({"procedure": "done", "message": "Nothing more is needed. End with a friendly sentence."})
    told = {"noted": sorted(run.collected), "needed": list(running.missing)}
    if run.action:
        told |= {"offer": "shown", "changed": False}
    return ToolOutput(told)
