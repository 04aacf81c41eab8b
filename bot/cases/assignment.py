"""Who gets a case, other than by a claim: a colleague assigns it to a person, or puts it back into the queue."""

import asyncio
import logging
from dataclasses import dataclass

from bot.cases import case as steps
from bot.cases.staff import Staff, name_of
from bot.cases.step import Stepping, current_case, the_case
from bot.errors import FrontdeskError
from bot.guard.guardrails import mask
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store import interrupts
from bot.store.cases import Case

logger = logging.getLogger(__name__)

DIRECT_SECONDS = 5.0
"""How long Slack can take to open direct messages with the person who gets a case."""


class NotAtDesk(FrontdeskError):
    """The person is not staff at the case's desk."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Gives cases to people."""

    stepping: Stepping
    staff: Staff
    directory: Directory

    async def assign(self, ref: str, by: str, *, to: str, note: str = "") -> Case:
        """Give the case to the person `to`, who reads the `note`. The customer is told who answers from now on.

        Raises:
            NotAtDesk: They are not staff at the case's desk.
            MovedOn: They have the case already, or it is not open.
            SlackRefused, SlackUnanswered: Slack does not say who is staff.
        """
        async with self.stepping.database.transaction() as tx:
            desk = self.stepping.messages.desk(await the_case(tx, ref))
        if not await self.staff.surely_includes(to, channel=desk):
            raise NotAtDesk
        name, words = await name_of(self.directory, to), mask(note)
        direct = None if to == by else await self._direct(to)
        stepping = self.stepping
        async with stepping.database.transaction() as tx:
            before = await current_case(tx, ref)
            # In the audit trail it is what it is for the metrics: a claim or a take-over, with the person it went to.
            action = "claimed" if before.waits else "taken_over"
            case = await stepping.change(
                tx, before, by, action, lambda case, now: steps.assign(case, to, name, now=now), to=to
            )
            if before.waits:
                await interrupts.claim(tx, case.thread)
            rows = stepping.messages.assigned(case, before, by=by, note=words, direct=direct)
            await stepping.say(tx, before, case, rows)
        stepping.done()
        return case

    async def unassign(self, ref: str, by: str) -> Case:
        """Put the case back into the queue. The customer is told that a colleague takes it over.

        Raises MovedOn if no person has it.
        """
        stepping = self.stepping
        async with stepping.database.transaction() as tx:
            before = await current_case(tx, ref)
            case = await stepping.change(
                tx, before, by, "unassigned", lambda case, now: steps.unassign(case, now=now, targets=stepping.targets)
            )
            await stepping.say(tx, before, case, stepping.messages.announce("unassigned", case, before=before, by=by))
        stepping.done()
        return case

    async def _direct(self, person: str) -> str | None:
        """The channel of direct messages with the person. None if Slack does not open it."""
        try:
            async with asyncio.timeout(DIRECT_SECONDS):
                return await self.directory.open_dm(person)
        except (SlackRefused, SlackUnanswered, TimeoutError) as error:
            logger.warning("a person who gets a case cannot be messaged", extra={"reason": str(error)})
            return None
