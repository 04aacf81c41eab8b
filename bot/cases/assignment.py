"""Who gets a case, other than by a claim.

assign    A colleague gives it to a person.
unassign  A colleague puts it back into the queue.
run       By the setting ASSIGN, each case that waits goes to a person who is there: to all in turn, or to who has the
          fewest. Of several processes one gives a case. Without anybody there, it waits for a claim.
          A case whose customer waits for a person who is away goes back to the queue: after AWAY_MINUTES if they said
          so, and when their reply is late if Slack shows them as away.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from bot.alerts import Alerts
from bot.cases import case as steps
from bot.cases import held
from bot.cases.availability import Availability
from bot.cases.case import MovedOn
from bot.cases.staff import Staff, name_of
from bot.cases.step import Stepping, current_case, the_case
from bot.errors import FrontdeskError
from bot.guard.guardrails import mask
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store import audit, case_lists, desks, interrupts
from bot.store.case_lists import Desks
from bot.store.cases import Case
from bot.store.database import Transaction
from bot.store.statements import lock

logger = logging.getLogger(__name__)

DIRECT_SECONDS = 5.0
"""How long Slack can take to open direct messages with the person who gets a case."""
How = Literal["claim", "round_robin", "least_open"]
"""Who gets a case: whoever claims it, all in turn, or who has the fewest."""
LOOK_SECONDS = 2.0
"""The time between two looks for cases to give."""
AWAY_LOOK_SECONDS = 30.0
"""The time between two looks for cases of people who are away."""
MOST_OWED = 500
"""The cases whose customers wait for a reply that one look sees, the longest due first."""
MOST_AT_ONCE = 50
"""The cases of a desk that one look gives. The next look gives the rest."""
ACTOR = "frontdesk"
"""The actor in the audit trail."""
UNASSIGNED = "case.unassigned"
"""The step in the audit trail by which a case goes back into the queue."""


class NotAtDesk(FrontdeskError):
    """The person is not staff at the case's desk."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Gives cases to people."""

    stepping: Stepping
    staff: Staff
    directory: Directory
    availability: Availability
    how: How = "claim"
    away_minutes: float = 15.0
    """How long somebody is away before a customer no longer waits for them, in minutes of open desk."""
    alerts: Alerts = field(default_factory=Alerts)

    async def assign(self, ref: str, by: str, *, to: str, note: str = "", version: int | None = None) -> Case:
        """Give the case to the person `to`, who reads the `note`. The customer is told who answers from now on.

        Raises:
            NotAtDesk: They are not staff at the case's desk.
            MovedOn: They have the case already, it is not open, or it has another version than the one that is given.
            SlackRefused, SlackUnanswered: Slack does not say who is staff.
        """
        async with self.stepping.database.transaction() as tx:
            found = await the_case(tx, ref)
        if not found.is_open:
            raise MovedOn(found)
        desk = self.stepping.messages.desk(found)
        if not await self.staff.surely_includes(to, channel=desk):
            raise NotAtDesk
        name, words = await name_of(self.directory, to), mask(note)
        direct = None if to == by else await self._direct(to)
        stepping = self.stepping
        async with stepping.database.transaction() as tx:
            before = await current_case(tx, ref, version=version)
            if stepping.messages.desk(before) != desk:
                # It was transferred since Slack was asked.
                raise MovedOn(before)
            # In the audit trail it is what it is for the metrics: a claim or a take-over, with the person it went to.
            action = "claimed" if before.waits else "taken_over"
            case = await stepping.change(
                tx,
                before,
                by,
                action,
                lambda case, now: steps.assign(case, to, name, now=now, targets=stepping.targets),
                to=to,
            )
            if before.waits:
                await interrupts.claim(tx, case.thread)
            rows = stepping.messages.assigned(case, before, by=by, note=words, direct=direct)
            rows += await held.offered(tx, stepping.messages, case)
            await stepping.say(tx, before, case, rows)
        stepping.done()
        return case

    async def unassign(self, ref: str, by: str) -> Case:
        """Put the case back into the queue. The customer is told that a colleague takes it over.

        Raises MovedOn if no person has it.
        """
        return await self._unassign(ref, by)

    async def _unassign(self, ref: str, by: str, *, version: int | None = None) -> Case:
        """Put the case back, unless it has changed since it had the `version`."""
        stepping = self.stepping
        async with stepping.database.transaction() as tx:
            before = await current_case(tx, ref, version=version)
            case = await stepping.change(
                tx,
                before,
                by,
                "unassigned",
                lambda case, now: steps.unassign(case, now=now, targets=stepping.targets),
                owner=before.owner or "",
            )
            person = "" if by == ACTOR else by
            rows = stepping.messages.announce("unassigned", case, before=before, by=person)
            await stepping.say(tx, before, case, rows)
        stepping.done()
        return case

    async def run(self) -> None:
        """Take cases back from people who are away, and give cases to people who are there, until cancelled."""
        clock, looked = self.stepping.clock, float("-inf")
        while True:
            takes_back = clock.monotonic() >= looked + AWAY_LOOK_SECONDS
            looked = clock.monotonic() if takes_back else looked
            for channel in sorted(self.staff.channels):
                try:
                    if takes_back:
                        await self.take_back(channel)
                    if self.how != "claim":
                        await self.give_out(channel)
                except Exception as error:  # noqa: BLE001 - whatever goes wrong at one desk, the others go on
                    self.alerts.tell(logger, "cases were not assigned", about=channel, reason=type(error).__name__)
            await clock.sleep(LOOK_SECONDS)

    async def take_back(self, channel: str) -> None:
        """Put the cases of people who are away back into the queue, if a customer has waited for them too long."""
        now, hours = self.stepping.clock.now(), self.stepping.targets.hours
        if not hours.is_open(now):
            return
        async with self.stepping.database.reading() as tx:
            owed = await case_lists.owing_replies(tx, at=self.staff.desk_in(channel), limit=MOST_OWED)
        away = await self.availability.away_since({case.owner or "" for case in owed})
        late = {case.owner or "" for case in owed if case.reply_missed}
        inactive = {person for person in sorted(late) if not await self.availability.is_active(person)}
        for case in owed:
            owner, since = case.owner or "", away.get(case.owner or "", now)
            is_long = hours.between(max(since, case.claimed_at or 0.0), now) >= 60 * self.away_minutes
            # Who got the case when its reply was late already has not let the customer wait.
            has_missed = case.reply_missed and (case.claimed_at or 0.0) < (case.reply_due or 0.0)
            if (owner in away and is_long) or (owner in inactive and has_missed):
                with suppress(MovedOn):
                    await self._unassign(case.ref, ACTOR, version=case.version)

    async def give_out(self, channel: str) -> None:
        """Give the cases that wait at a desk to the people who are there."""
        at = self.staff.desk_in(channel)
        async with self.stepping.database.reading() as tx:
            found = await case_lists.of_view(tx, "unassigned", at=at, limit=MOST_AT_ONCE)
        waiting = [case for case in found if case.state == "waiting"]
        if not waiting:
            return
        people = await self._there(channel)
        for case in waiting if people else ():
            try:
                if not await self._give(case, channel, people, at=at):
                    return
            except MovedOn:
                continue

    async def _there(self, channel: str) -> list[str]:
        """The people of the desk who are there, sorted by their ids."""
        people = await self.staff.of_desk(channel)
        gone = await self.availability.away_since(people)
        return [person for person in people if person not in gone and await self.availability.is_active(person)]

    async def _give(self, case: Case, channel: str, people: Sequence[str], *, at: Desks) -> bool:
        """Give a case to the one whose turn it is. False if another process gives cases."""
        async with self.stepping.database.reading() as tx:
            last, count = await desks.last_assigned(tx, channel)
            owned = await case_lists.count_owned(tx, at=at)
            passed_on = await _passed_on(tx, case)
        others = [each for each in people if each != case.customer and each not in passed_on]
        person = _next_person(others, last, owned if self.how == "least_open" else {})
        if person is None:
            # All who are there have put it back, or it is their own. The next one can still be given.
            return True
        name, direct, stepping = await name_of(self.directory, person), await self._direct(person), self.stepping
        async with stepping.database.transaction() as tx:
            await lock(tx, f"queue/{channel}")
            before = await current_case(tx, case.ref)
            if before.version != case.version:
                # Somebody was faster with this case. The next one can still be given.
                return True
            if not await desks.may_assign(tx, channel, person, after=count):
                return False
            after = await stepping.change(
                tx,
                before,
                ACTOR,
                "claimed",
                lambda case, now: steps.assign(case, person, name, now=now, targets=stepping.targets),
                to=person,
            )
            await interrupts.claim(tx, after.thread)
            rows = stepping.messages.assigned(after, before, by="", note="", direct=direct)
            rows += await held.offered(tx, stepping.messages, after)
            await stepping.say(tx, before, after, rows)
        stepping.done()
        return True

    async def _direct(self, person: str) -> str | None:
        """The channel of direct messages with the person. None if Slack does not open it."""
        try:
            async with asyncio.timeout(DIRECT_SECONDS):
                return await self.directory.open_dm(person)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.warning("a person who gets a case cannot be messaged", extra={"reason": str(error)})
            return None


async def _passed_on(tx: Transaction, case: Case) -> set[str]:
    """The people from whom somebody has put the case back into the queue. It does not come to them again by itself."""
    noted = await audit.of_subject(tx, case.ref)
    return {str(each.detail.get("owner")) for each in noted if each.action == UNASSIGNED and each.actor != ACTOR}


def _next_person(people: Sequence[str], last: str, owned: Mapping[str, int]) -> str | None:
    """Of the people, sorted, who has the fewest cases, and of these the first after the `last` who got one."""
    if not people:
        return None
    return min(people, key=lambda person: (owned.get(person, 0), person <= last, person))
