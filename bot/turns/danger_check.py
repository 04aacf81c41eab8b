"""The cheap model looks for danger in a message while its answer is being made.

beside   look while the answer runs, which a hit ends
again    look once more for an answer that was given before a crash
noted    what an earlier attempt saw
book     what it cost, once what it saw needs no keeping any more

A look is the task of a turn: it never delays the answer, and what goes wrong with it is for the log. One that sees
nothing is booked at once. One that sees danger is a step of the turn's journal until a case is there, and is booked
then; so whoever finds its cost knows that nothing is left to be done.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from bot.agent.agent import Team
from bot.agent.endpoints import Models
from bot.agent.limits import Limits
from bot.agent.loop import run
from bot.agent.messages import CustomerMessage, JsonObject
from bot.agent.model import Usage
from bot.agent.tools import Context
from bot.alerts import Alerts
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk import policy
from bot.desk.danger.asking import danger_in, framed
from bot.desk.danger.classifier import Danger
from bot.ingest.interrupts import Interrupt
from bot.store import interrupts as interrupts
from bot.store import spending, turns
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.spending import Spending
from bot.telemetry import Metrics
from bot.turns.costs import UNKNOWN

logger = logging.getLogger(__name__)

DANGER_CHECK_TIMEOUT = 5.0
"""What a look may take once it has a place, and for how long an answer that is there waits for it."""
STEP = "danger-check"
"""The journal's step that holds a look that saw danger."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the model made of a message."""

    danger: Danger | None
    models: tuple[str, ...]
    usage: Usage


class Looking:
    """A look that is under way beside an answer."""

    def __init__(self, task: "asyncio.Task[Look | None]", seconds: float) -> None:
        self._task = task
        self._seconds = seconds

    async def result(self) -> Look | None:
        """What was seen; None when nothing was, or nothing within the time that a look may take."""
        await asyncio.wait({self._task}, timeout=self._seconds)
        return self._task.result() if self._task.done() else None


@dataclass(frozen=True, slots=True)
class DangerCheck:
    """Looks; the parts are put together in `bot.app`."""

    database: Database
    clock: Clock
    metrics: Metrics
    models: Models
    """The cheap ones alone: where they are away, nobody looks."""
    team: Team
    places: asyncio.Semaphore
    """Looks at the same time."""
    seconds: float = DANGER_CHECK_TIMEOUT
    _alerts: Alerts = field(default_factory=Alerts)

    @asynccontextmanager
    async def beside(self, item: InboxItem, interrupt: Interrupt) -> AsyncIterator[Looking]:
        """Look at the message while the answer is made; when it shows danger, the answer ends as for a person."""
        task = asyncio.create_task(self._look_in_peace(item, interrupt))
        try:
            yield Looking(task, self.seconds)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def again(self, item: InboxItem) -> Look | None:
        """Look at a message whose answer was given, unless it was looked at; None when it shows no danger."""
        async with self.beside(item, Interrupt()) as looking:
            return await looking.result()

    async def noted(self, item: InboxItem) -> Look | None:
        """The danger that an earlier attempt at the row saw and did not see to; None for none."""
        if item.fence == 1:
            return None
        async with self.database.transaction() as tx:
            step = await turns.look_up(tx, item.id, STEP, attempt=item.fence)
        return _look_of(step) if step else None

    async def book(self, item: InboxItem, look: Look) -> None:
        """Keep what the look cost, and with that that it was made; once."""
        spent = Spending(_key(item), "danger", item.thread, item.author, look.models or (UNKNOWN,), look.usage)
        async with self.database.transaction() as tx:
            is_new = await spending.add(tx, spent, now=self.clock.now())
        if is_new:
            spending.count(self.metrics, spent)

    async def _look_in_peace(self, item: InboxItem, interrupt: Interrupt) -> Look | None:
        """The look with what follows from it at once; None when it saw nothing or could not be made."""
        try:
            look = await self._look(item)
            if look is None:
                return None
            if look.danger is None:
                await self.book(item, look)
                return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the customer has their answer
            self._alerts.tell(logger, "a message was not looked at for danger", about=type(error).__name__)
            return None
        logger.info("the model saw danger", extra={"turn": item.id, "danger": look.danger})
        try:
            is_running = await self._note(item, look)
        except Exception as error:  # noqa: BLE001 - then the answer ends as it would, and the case is opened behind it
            self._alerts.tell(logger, "danger was not noted", about=type(error).__name__)
            return look
        if is_running:
            interrupt.tell("called")
        return look

    async def _look(self, item: InboxItem) -> Look | None:
        """What the model makes of the message; None when it was asked before, or said nothing of use for nothing."""
        if policy.is_small_talk(item.words):
            return None
        async with self.places:
            if item.fence > 1 and await self._is_booked(item):
                return None
            customer = Customer(item.author_team, item.author, name="", locale="", member_type="member")
            limits = Limits(turn_seconds=self.seconds, output_tokens=500, output_characters=500)
            outcome = await run(
                self.team,
                self.team.entry,
                [CustomerMessage(framed(item.words))],
                models=self.models,
                context=Context(customer, item.thread, str(item.id)),
                passages="",
                emit=lambda event: None,
                limits=limits,
            )
        danger = danger_in(outcome.text) if outcome.ended == "answered" else None
        is_made = outcome.ended == "answered" or outcome.usage.input_tokens or outcome.usage.output_tokens
        return Look(danger, outcome.models, outcome.usage) if is_made else None

    async def _is_booked(self, item: InboxItem) -> bool:
        async with self.database.transaction() as tx:
            return await spending.is_known(tx, _key(item))

    async def _note(self, item: InboxItem, look: Look) -> bool:
        """Keep the danger with the running turn; False when that has ended meanwhile."""
        value: JsonObject = {"danger": look.danger, "models": list(look.models), "usage": asdict(look.usage)}
        async with self.database.transaction() as tx:
            if await turns.ended(tx, item.id, item.thread):
                return False
            await turns.record(tx, item.id, STEP, value, attempt=item.fence, now=self.clock.now())
        return True


def _look_of(step: Any) -> Look:
    return Look(step["danger"], tuple(step["models"]), Usage(**step["usage"]))


def _key(item: InboxItem) -> str:
    """Of the message as it reads by now: an edit of it is looked at anew."""
    edited = interrupts.edited_at(item.body)
    return f"danger/{item.id}/{edited}" if edited else f"danger/{item.id}"
