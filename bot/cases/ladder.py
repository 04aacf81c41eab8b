"""What is done by itself when its time has come: `due` of a case, looked at by every process that answers.

An away case waits once the desk is open, a waiting one goes up the ladder while nobody claims it, a solved one is
closed after a week. Each is one transaction that changes the case and queues what is said of it; of several processes
the first to write does it, and none after somebody has claimed. What was missed while nothing ran is done once.

A wall clock that is set, and a machine that slept, ring nobody: what is due of waiting cases is put off by as much as
the clock has jumped. Of several processes each has its own machine's clock. There nothing is put off: the one whose
clock differs from the database's leaves what is due to the others until it agrees again.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.alerts import Alerts
from bot.cases import case as steps
from bot.cases.cases import Cases, lock_of
from bot.clock import JUMP_SECONDS, JumpWatch
from bot.slack.client import SlackRefused, SlackUnanswered
from bot.store import cases, inbox, records
from bot.store.cases import WAITING, Case
from bot.store.outbox import Outgoing
from bot.store.statements import clock_differs, lock

logger = logging.getLogger(__name__)

NAP_SECONDS = 2.0
"""Between two looks."""
AT_ONCE = 50
"""Cases of one look; the others come with the next."""
ASK_SECONDS = 5.0
"""How long Slack is asked where the lead is written to."""
CLOCK_DIFFERS = "the clock has jumped and differs from the database's: what is due is left to other processes"
ACTOR = "frontdesk"
"""Who does it, in the audit trail."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Looks after the time of all cases."""

    cases: Cases
    lead: str | None = None
    """The Slack user who is told directly when a case waits for long."""
    alerts: Alerts = field(default_factory=Alerts)
    _jumps: JumpWatch = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_jumps", JumpWatch(self.cases.clock))

    async def run(self) -> None:
        """Do what is due, for ever."""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - memory may run out, and whoever stopped looking would never look
                self.alerts.tell(logger, "what is due of cases could not be read", about=type(error).__name__)
            await self.cases.clock.sleep(NAP_SECONDS)

    async def look(self) -> None:
        """Do what is due by now; nobody is called while the desk is closed."""
        if (jump := self._jumps.look()) and not await self._follow(jump):
            return
        now = self.cases.clock.now()
        states = ("resolved", *WAITING) if self.cases.targets.hours.is_open(now) else ("resolved",)
        async with self.cases.database.transaction() as tx:
            found = await cases.due_by(tx, now, states=states, limit=AT_ONCE)
        for case in found:
            try:
                await self._advance(case, now)
            except Exception:
                # Whatever it is, the others' time has come as well.
                logger.exception("what is due of a case was not done", extra={"case": case.ref})

    async def _follow(self, jump: float) -> bool:
        """Have nobody called because the wall clock was set or the machine slept; False while it cannot be trusted."""
        told = {"seconds": round(jump, 1)}
        async with self.cases.database.transaction() as tx:
            differs = await clock_differs(tx, self.cases.clock.now())
            if abs(differs) >= JUMP_SECONDS:
                self.alerts.tell(logger, CLOCK_DIFFERS, about="clock", **told, ahead=round(differs, 1))
                return False
            if self.cases.database.is_alone:
                told["cases_put_off"] = await cases.put_off(tx, jump)
        self._jumps.settle()
        logger.warning("the clock has jumped: it was set, or the machine slept", extra=told)
        return True

    async def _advance(self, case: Case, now: float) -> None:
        match case.state:
            case "resolved":
                await self._become(case, steps.close(case), "closed", ())
            case "away":
                opened = steps.open_up(case, targets=self.cases.targets)
                await self._become(case, opened, "desk_opened", self.cases.messages.desk_opened(_next(opened)))
            case _:
                await self._climb(case, now)

    async def _climb(self, case: Case, now: float) -> None:
        targets = self.cases.targets
        higher = _next(steps.climb(case, now=now, targets=targets))
        lead = await self._lead_channel() if higher.step >= 2 else None
        async with self.cases.database.transaction() as tx:
            spoke = await inbox.last_said(tx, case.thread, case.customer)
        waited = targets.hours.between(case.waiting_since or case.opened_at, now) / 60
        rows = self.cases.messages.climbed(higher, case, waited=waited, spoke=spoke, lead=lead)
        await self._become(case, higher, f"rung_{higher.step}", rows)

    async def _become(self, before: Case, after: Case, action: str, rows: Sequence[Outgoing]) -> None:
        """Write it, unless the case has changed since it was read."""
        now = self.cases.clock.now()
        async with self.cases.database.transaction() as tx:
            # Whoever claims at this very moment does so before it or after it, and has the case either way.
            await lock(tx, lock_of(before.thread))
            changed = await cases.change(tx, before, after)
            if changed is None:
                return
            await self.cases.say(tx, before, changed, rows)
            await records.note(tx, actor=ACTOR, action=f"case.{action}", subject=before.ref, now=now)
        self.cases.outbox.wake()

    async def _lead_channel(self) -> str | None:
        """The direct messages with the lead; None without one, or when Slack does not know them."""
        if self.lead is None:
            return None
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await self.cases.slack.open_dm(self.lead)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.error("DESK_LEAD cannot be written to", extra={"reason": str(error)})
            return None


def _next(case: Case) -> Case:
    """The case with the version that it has once it is written: the keys of what is said hold it."""
    return replace(case, version=case.version + 1)
