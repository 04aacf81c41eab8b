"""SLA timers: what happens to a case at a certain time, with no one pressing a button.

A case that no one claims breaches its SLA steps, and staff, the lead and the customer are notified. At most one alarm
a minute rings at a desk, for one case or for several, except for people in danger: their cases ring at once. An
"out_of_hours" case begins to wait when the desk opens. A claimed case rings when its reply is late, and is there again
when a snooze ends. A resolved case is closed after a week. The time is in the
column `due`.

Every process that answers polls for due cases. Each change is one transaction with compare-and-set on the version, so
one process makes it, and none does after a claim. Steps that were missed while nothing ran are breached together.

A wall clock that was set, or a machine that slept, must not notify anyone: the jump is added to the due time of every
waiting case. With several processes, each has its own machine's clock, so nothing is added; a process whose clock
differs from the database's leaves due cases to the others until the clocks agree again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace

from bot.alerts import Alerts
from bot.cases import case as steps
from bot.cases.step import Stepping, lock_of
from bot.clock import JUMP_SECONDS, JumpWatch
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store import case_lists, cases, desks, inbox, outbox
from bot.store.cases import WAITING, Case
from bot.store.outbox import Outgoing
from bot.store.statements import clock_differs, lock
from bot.views.staff_cards import CALLS_DUTY

logger = logging.getLogger(__name__)

SLA_POLL_INTERVAL = 2.0
"""The time between two polls for due cases."""
RING_SECONDS = 60.0
"""The least time between two alarms at a desk. Cases that become late meanwhile ring together after it."""
RING_SHARE = 0.25
"""That time is at most this share of the shortest target, so that no alarm comes much too late."""
MAX_CASES = 200
"""The number of due cases that one poll handles. The next poll handles the rest."""
LEAD_TIMEOUT_SECONDS = 5.0
"""How long Slack can take to open direct messages with the lead."""
CLOCK_DIFFERS = "the clock has jumped and differs from the database's: other processes handle due cases"
ACTOR = "frontdesk"
"""The actor in the audit trail."""


@dataclass(frozen=True, slots=True)
class SlaTimers:
    """The timers of all cases."""

    stepping: Stepping
    chat: Chat
    directory: Directory
    lead: str | None = None
    """The Slack user who gets a direct message from the second SLA step on."""
    alerts: Alerts = field(default_factory=Alerts)
    _jumps: JumpWatch = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_jumps", JumpWatch(self.stepping.clock))

    async def run(self) -> None:
        """Poll and advance due cases until cancelled."""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - even out of memory, the timers must go on
                self.alerts.tell(logger, "due cases could not be read", about=type(error).__name__)
            await self.stepping.clock.sleep(SLA_POLL_INTERVAL)

    async def look(self) -> None:
        """Advance the cases that are due by now. While the desk is closed, only resolved ones."""
        if (jump := self._jumps.look()) and not await self._follow(jump):
            return
        now = self.stepping.clock.now()
        states = ("resolved", "human", *WAITING) if self.stepping.targets.hours.is_open(now) else ("resolved",)
        async with self.stepping.database.reading() as tx:
            found = await cases.due_by(tx, now, states=states, limit=MAX_CASES)
        late: dict[str, list[Case]] = {}
        for case in found:
            if _rings(case) and case.reason not in CALLS_DUTY:
                late.setdefault(self.stepping.messages.desk(case), []).append(case)
            else:
                await self._safely(self._advance(case, now), case)
        for desk, cases_there in late.items():
            await self._safely(self._ring(desk, cases_there, now), *cases_there)

    async def _safely(self, advancing: Awaitable[None], *about: Case) -> None:
        """Whatever goes wrong with one case, the others are due as well."""
        try:
            await advancing
        except Exception:
            logger.exception("due cases were not advanced", extra={"cases": [case.ref for case in about]})

    async def _follow(self, jump: float) -> bool:
        """Delay due cases by a jump of the clock. Return False while the clock cannot be trusted."""
        told = {"seconds": round(jump, 1)}
        async with self.stepping.database.transaction() as tx:
            differs = await clock_differs(tx, self.stepping.clock.now())
            if abs(differs) >= JUMP_SECONDS:
                self.alerts.tell(logger, CLOCK_DIFFERS, about="clock", **told, ahead=round(differs, 1))
                return False
            if self.stepping.database.is_alone:
                told["cases_put_off"] = await cases.put_off(tx, jump)
        self._jumps.settle()
        logger.warning("the clock has jumped: it was set, or the machine slept", extra=told)
        return True

    async def _advance(self, case: Case, now: float) -> None:
        match case.state:
            case "resolved":
                await self._become(case, steps.close(case), "closed", ())
            case "out_of_hours":
                opened = steps.open_up(case, targets=self.stepping.targets)
                await self._become(case, opened, "desk_opened", self.stepping.messages.desk_opened(_next(opened)))
            case "human" if case.snoozed_until is not None:
                awake = steps.wake(case, now=now)
                await self._become(case, awake, "woken", self.stepping.messages.woken(_next(awake)))
            case "human" if case.reply_due is None:
                reminded = steps.remind(case)
                await self._become(case, reminded, "reminded", self.stepping.messages.no_answer(_next(reminded)))
            case _:
                await self._breach(case, now)

    async def _ring(self, desk: str, late: Sequence[Case], now: float) -> None:
        """Breach the SLA steps of a desk's cases, unless an alarm rang there a moment ago. Several ring together."""
        late = [case for case in late if self._can_breach(case, now)]
        async with self.stepping.database.transaction() as tx:
            if not late or not await desks.may_ring(tx, desk, now=now, pause=self._ring_pause):
                return
        if len(late) == 1:
            await self._breach(late[0], now)
        else:
            await self._breach_together(desk, late, now)

    @property
    def _ring_pause(self) -> float:
        shortest = 60 * min(self.stepping.targets.minutes.values())
        return min(RING_SECONDS, RING_SHARE * shortest)

    def _can_breach(self, case: Case, now: float) -> bool:
        """False for a case that nothing can be computed for, which is logged: it must not hold up the others."""
        try:
            self._breached(case, now)
        except Exception:
            logger.exception("a due case was not advanced", extra={"case": case.ref})
            return False
        return True

    async def _breach_together(self, desk: str, late: Sequence[Case], now: float) -> None:
        """Breach the cases in one transaction, with one alarm."""
        stepping = self.stepping
        lead = await self._lead_channel()
        async with stepping.database.transaction() as tx:
            breached: list[Case] = []
            for before in sorted(late, key=lambda case: lock_of(case.thread)):
                await lock(tx, lock_of(before.thread))
                after = await cases.change(tx, before, self._breached(before, now))
                if after is None:
                    continue
                breached.append(after)
                await stepping.say(tx, before, after, stepping.messages.breached_among_others(after, before))
                await stepping.note(tx, ACTOR, _step_name(after), before)
            if breached:
                waited = [(case, self._waited(case, now)) for case in breached]
                cards = await case_lists.cards(tx, breached)
                links = {case_id: await self.chat.address(*where) for case_id, where in cards.items()}
                rows = stepping.messages.breached_together(desk, waited, links=links, lead=lead, now=now)
                await outbox.add(tx, *rows, now=now)
        stepping.outbox.wake()

    def _waited(self, case: Case, now: float) -> float:
        """The minutes of open desk that the case has waited for a claim, or for a reply."""
        if case.reply_due is not None:
            late = self.stepping.targets.hours.between(case.reply_due, now)
            is_first = case.replied_at is None
            return (late + self.stepping.targets.reply_seconds(case.priority, is_first=is_first)) / 60
        return self.stepping.targets.hours.between(case.waiting_since or case.opened_at, now) / 60

    def _breached(self, case: Case, now: float) -> Case:
        """The case with what was due: SLA steps while it waits, or the reply of the person who has it."""
        if case.state == "human":
            return steps.miss_reply(case, now=now)
        return steps.breach(case, now=now, targets=self.stepping.targets)

    async def _breach(self, case: Case, now: float) -> None:
        higher = _next(self._breached(case, now))
        if case.state == "human":
            await self._become(case, higher, _step_name(higher), self.stepping.messages.reply_missed(higher))
            return
        lead = await self._lead_channel() if higher.step >= 2 else None
        async with self.stepping.database.transaction() as tx:
            spoke = await inbox.last_said(tx, case.thread, case.customer)
        waited = self._waited(case, now)
        rows = self.stepping.messages.breached(higher, case, waited=waited, spoke=spoke, lead=lead)
        await self._become(case, higher, _step_name(higher), rows)

    async def _become(self, before: Case, after: Case, action: str, rows: Sequence[Outgoing]) -> None:
        """Save the case and queue the messages, unless the case has changed since it was read."""
        async with self.stepping.database.transaction() as tx:
            # A claim at this moment comes before or after this change, and owns the case either way.
            await lock(tx, lock_of(before.thread))
            changed = await cases.change(tx, before, after)
            if changed is None:
                return
            await self.stepping.say(tx, before, changed, rows)
            await self.stepping.note(tx, ACTOR, action, before)
        self.stepping.outbox.wake()

    async def _lead_channel(self) -> str | None:
        """The channel of direct messages with the lead. None without a lead, or if Slack refuses."""
        if self.lead is None:
            return None
        try:
            async with asyncio.timeout(LEAD_TIMEOUT_SECONDS):
                return await self.directory.open_dm(self.lead)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.error("DESK_LEAD cannot be messaged", extra={"reason": str(error)})
            return None


def _rings(case: Case) -> bool:
    """Whether an alarm rings for what is due: the case waits for a claim, or for a reply."""
    return case.state == "waiting" or (
        case.state == "human" and case.reply_due is not None and case.snoozed_until is None
    )


def _step_name(case: Case) -> str:
    """The audit entry of a breach."""
    return "reply_missed" if case.state == "human" else f"sla_step_{case.step}"


def _next(case: Case) -> Case:
    """The case with the version it gets when it is saved; the keys of its messages contain that version."""
    return replace(case, version=case.version + 1)
