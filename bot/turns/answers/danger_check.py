"""The cheap model looks for danger in a message while the answer is being written.

beside   look while the answer runs; if the model sees danger, the answer ends
again    look at a message that was answered before a crash
noted    return the danger that an earlier attempt saw
book     save the costs of a look that is completely handled

A look is a task of the turn. It hardly delays the answer, and its failures only go to the log. If it sees nothing, its
costs are saved at once. If it sees danger, it is a step of the turn's journal until a case is open, and its costs are
saved then. So saved costs mean that nothing is left to do.
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
from bot.desk.courtesies import asks_nothing
from bot.desk.danger.asking import danger_in, framed
from bot.desk.danger.classifier import Danger
from bot.ingest.interrupts import Interrupt
from bot.store import spending, turns
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.spending import Spending
from bot.telemetry import Metrics
from bot.turns.costs import UNKNOWN

logger = logging.getLogger(__name__)

DANGER_CHECK_TIMEOUT = 5.0
"""How long a look may take once it has a slot, in seconds. A finished answer waits for it as long."""
STEP = "danger-check"
"""The step of the journal that holds a look that saw danger."""


@dataclass(frozen=True, slots=True)
class Look:
    """The model's verdict on a message."""

    danger: Danger | None
    models: tuple[str, ...]
    usage: Usage


class Looking:
    """A look that runs next to an answer."""

    def __init__(self, task: "asyncio.Task[Look | None]", seconds: float) -> None:
        self._task = task
        self._seconds = seconds

    def has_found_nothing(self) -> bool:
        """Whether the look is over and saw no danger."""
        return self._task.done() and not self._task.cancelled() and self._task.result() is None

    async def result(self) -> Look | None:
        """Return the look if it saw danger. None if it did not, or not within its time."""
        await asyncio.wait({self._task}, timeout=self._seconds)
        return self._task.result() if self._task.done() else None


@dataclass(frozen=True, slots=True)
class DangerCheck:
    """Looks for danger. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    metrics: Metrics
    models: Models
    """Only the cheap models. While they are away, messages are not looked at."""
    team: Team
    places: asyncio.Semaphore
    """Bounds how many looks run at once."""
    seconds: float = DANGER_CHECK_TIMEOUT
    _alerts: Alerts = field(default_factory=Alerts)

    @asynccontextmanager
    async def beside(self, item: InboxItem, interrupt: Interrupt) -> AsyncIterator[Looking]:
        """Look at the message during the block. If it shows danger, the answer is interrupted as "called"."""
        task = asyncio.create_task(self._look_in_peace(item, interrupt))
        try:
            yield Looking(task, self.seconds)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def again(self, item: InboxItem) -> Look | None:
        """Look at an answered message, unless that was done before. None if it shows no danger."""
        async with self.beside(item, Interrupt()) as looking:
            return await looking.result()

    async def noted(self, tx: Transaction, item: InboxItem) -> Look | None:
        """Return the danger that an earlier attempt at the row saw but did not handle. None if there is none."""
        if item.fence == 1:
            return None
        step = await turns.look_up(tx, item.id, STEP, attempt=item.fence)
        return _look_of(step) if step else None

    async def book(self, item: InboxItem, look: Look) -> None:
        """Save the costs of the look, which also marks it as handled. Idempotent."""
        spent = Spending(_key(item), "danger", item.thread, item.author, look.models or (UNKNOWN,), look.usage)
        async with self.database.transaction() as tx:
            is_new = await spending.add(tx, spent, now=self.clock.now())
        if is_new:
            spending.count(self.metrics, spent)

    async def _look_in_peace(self, item: InboxItem, interrupt: Interrupt) -> Look | None:
        """Look, and interrupt the answer if there is danger. None if there is none, or if the look failed."""
        try:
            look = await self._look(item)
            if look is None:
                return None
            if look.danger is None:
                await self.book(item, look)
                return None
        except Exception as error:  # noqa: BLE001 - whatever fails, the customer gets their answer
            self._alerts.tell(logger, "a message was not looked at for danger", about=type(error).__name__)
            return None
        logger.info("the model saw danger", extra={"turn": item.id, "danger": look.danger})
        try:
            is_running = await self._note(item, look)
        except Exception as error:  # noqa: BLE001 - then the answer ends as usual, and the case is opened after it
            self._alerts.tell(logger, "danger was not noted", about=type(error).__name__)
            return look
        if is_running:
            interrupt.tell("called")
        return look

    async def _look(self, item: InboxItem) -> Look | None:
        """Ask the model about the message. None if it was asked before, or if it failed without any usage."""
        if asks_nothing(item.words):
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
        """Record the danger in the running turn's journal. False if the turn has ended by now."""
        value: JsonObject = {"danger": look.danger, "models": list(look.models), "usage": asdict(look.usage)}
        async with self.database.transaction() as tx:
            if await turns.ended(tx, item.id, item.thread):
                return False
            await turns.record(tx, item.id, {STEP: value}, attempt=item.fence, now=self.clock.now())
        return True


def _look_of(step: Any) -> Look:
    return Look(step["danger"], tuple(step["models"]), Usage(**step["usage"]))


def _key(item: InboxItem) -> str:
    """Return the key of the costs for the message with its present words. After an edit the model looks anew."""
    edited = item.message.edited
    return f"danger/{item.id}/{edited}" if edited else f"danger/{item.id}"
