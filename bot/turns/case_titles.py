"""The titles of open cases, made by the cheap model. The title from a rule stays until then, or if the model fails.

run     give new cases a title until cancelled
look    give those a title that have one from a rule

Each case is taken once. If the process ends while the model is asked, the title from the rule stays.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Models
from bot.agent.limits import Limits
from bot.agent.loop import Outcome, run
from bot.agent.messages import CustomerMessage
from bot.agent.tools import Context
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.cases.titles import cut, names_matter
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.danger.asking import framed
from bot.desk.prompts import read_instructions
from bot.errors import StoreUnavailable
from bot.failpoints import failpoint
from bot.guard.guardrails import clean, mask
from bot.store import cases, spending, transcripts
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.spending import Spending
from bot.telemetry import Metrics
from bot.turns.costs import UNKNOWN

logger = logging.getLogger(__name__)

LOOK_INTERVAL = 2.0
"""Seconds between two looks for cases that a rule has named."""
TITLE_TIMEOUT = 10.0
"""How long the model may take for one title, in seconds."""
AT_ONCE = 5
"""The most cases that are named at the same time."""
MESSAGES = 6
"""The number of the customer's latest messages that the model reads."""
NONE = "none"
"""What the model says if it recognizes no matter."""
LIMITS = Limits(rounds=1, turn_seconds=TITLE_TIMEOUT, output_tokens=500, output_characters=200, retries=0)


def build_titler(*, shop_name: str) -> Team:
    """The agent that names cases, alone in its team."""
    instructions = read_instructions("title").replace("{shop}", shop_name)
    return Team((Agent("title", instructions, tier="cheap"),), entry="title")


@dataclass(frozen=True, slots=True)
class CaseTitles:
    """Asks the model for titles. `bot.app` puts the parts together."""

    cases: Cases
    database: Database
    clock: Clock
    metrics: Metrics
    models: Models
    """Only the cheap models."""
    team: Team
    _alerts: Alerts = field(default_factory=Alerts)

    async def run(self) -> None:
        """Give new cases a title until cancelled."""
        while True:
            try:
                await self.look()
            except StoreUnavailable as error:
                self._alerts.tell(logger, "cases were not named", about=str(error))
            except Exception:
                logger.exception("cases could not be named")
            await self.clock.sleep(LOOK_INTERVAL)

    async def look(self) -> None:
        """Ask for a title for each open case that has one from a rule."""
        async with self.database.reading() as tx:
            if not await cases.has_title_to_make(tx):
                return
        async with self.database.transaction() as tx:
            taken = await cases.take_to_title(tx, now=self.clock.now(), limit=AT_ONCE)
            said = [await transcripts.of_thread(tx, case.thread) for case in taken]
        failpoint("titles_taken")
        async with asyncio.TaskGroup() as tasks:
            for case, lines in zip(taken, said, strict=True):
                written = [line.text for line in lines if line.speaker == case.customer]
                tasks.create_task(self._name(case, written[-MESSAGES:]))

    async def _name(self, case: Case, written: Sequence[str]) -> None:
        if not written:
            return
        outcome = await self._ask(case, mask("\n".join(written)))
        title = _title_in(outcome.text) if outcome.ended == "answered" else ""
        if outcome.usage.input_tokens or outcome.usage.output_tokens:
            await self._book(case, outcome)
        if title:
            await self.cases.retitle(case, title, by="model")
        else:
            self._alerts.tell(logger, "the model gave a case no title", about=outcome.reason or "none")

    async def _ask(self, case: Case, text: str) -> Outcome:
        customer = Customer(case.thread.team, case.customer, name="", locale="", member_type="member")
        return await run(
            self.team,
            self.team.entry,
            [CustomerMessage(framed(text))],
            models=self.models,
            context=Context(customer, case.thread, f"title-{case.id}"),
            passages="",
            emit=lambda event: None,
            limits=LIMITS,
        )

    async def _book(self, case: Case, outcome: Outcome) -> None:
        models = outcome.models or (UNKNOWN,)
        spent = Spending(
            f"title/{case.id}/{case.titled_at}", "title", case.thread, case.customer, models, outcome.usage
        )
        async with self.database.transaction() as tx:
            is_new = await spending.add(tx, spent, now=self.clock.now())
        if is_new:
            spending.count(self.metrics, spent)


def _title_in(reply: str) -> str:
    """The title that the model wrote, if it says what the matter is. Otherwise empty."""
    first = next((line.strip(" \t\"'`*.#") for line in reply.splitlines() if line.strip()), "")
    title = cut(mask(clean(first, limit=200)))
    return title if title.lower() != NONE and names_matter(title) else ""
