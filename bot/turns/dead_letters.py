"""Rows that failed too often, or could not be stored as they came: what becomes of who waits for them.

give_up    close the row as a dead letter, and open a case if a customer waits for an answer
author_of  the author, as far as known

The line for operators is in bot/ingest/dead_letters.py.
"""

import asyncio
import logging
from dataclasses import dataclass

from bot.cases.buttons import BUTTONS
from bot.cases.cases import Cases
from bot.cases.relay import Relay
from bot.conversation import Customer
from bot.desk.addressing import calls_for_people
from bot.desk.identity import Identities
from bot.store.inbox import Finish, InboxItem
from bot.turns.answers.leftovers import Leftovers
from bot.turns.edits import MessageEdits
from bot.turns.incoming import Notices
from bot.turns.interactions.interactions import Interactions

logger = logging.getLogger(__name__)

ATTEMPTS = 3
"""The number of tries at one row, crashes included. After these there are as many tries at handing it to a person."""
TURN_OVERHEAD_TIMEOUT = 60.0
"""How long the work of a turn other than the answer may take, in seconds."""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Gives rows up. `bot.app` puts the parts together."""

    identities: Identities
    cases: Cases
    relay: Relay
    interactions: Interactions
    edits: MessageEdits
    leftovers: Leftovers
    notices: Notices

    async def give_up(self, item: InboxItem, *, fault: str) -> Finish:
        """Close a row that failed too often, and open a case instead of an answer. `fault` is for the log.

        This can fail too. After three more tries the row is closed with its dead letter alone.
        """
        is_last = item.attempts > 2 * ATTEMPTS
        if item.interrupt == "deleted" and not is_last:
            # The customer no longer waits for an answer.
            async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
                await self.edits.deleted(item)
            return "dropped", "deleted"
        if item.interrupt == "stop" and not is_last:
            async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
                return "done", await self.leftovers.stop(item, await self.notices.language(item))
        reason = "unstorable" if item.body.unstorable else "failed"
        logger.error(
            "a row is set aside as a dead letter",
            extra={"turn": item.id, "kind": item.kind, "why": reason, "fault": fault},
        )
        if not is_last:
            await self._tell(item)
        return "dead", reason

    async def _tell(self, item: InboxItem) -> None:
        """Tell staff that what they wrote or pressed failed. A customer gets a person."""
        match item.kind:
            case "staff":
                await self.relay.not_sent(item)
            case "interaction" if (button := BUTTONS.get(item.interaction.action)) is not None:
                if button.who in ("staff", "anyone"):
                    await self.interactions.tell_failed(item)
                else:
                    await self._call_person(item)
            case "message":
                await self._take_over(item)
            case "edit" if item.edit.answers:
                await self._take_over(item)

    async def _take_over(self, item: InboxItem) -> None:
        """Call a person in place of an answer. No one waits for an answer to a message that was not for us."""
        if item.message.to_us or calls_for_people(item.words):
            await self._call_person(item)
        else:
            await self.leftovers.close(item)

    async def _call_person(self, item: InboxItem) -> None:
        await self.leftovers.close(item)
        customer = await author_of(self.identities, item)
        await self.cases.open(item.thread, customer, reason="technical", priority="high")


async def author_of(identities: Identities, item: InboxItem) -> Customer:
    """Return the author, as far as known. The lookup may be the very thing that fails, so it is limited."""
    known = None
    if item.attempts <= ATTEMPTS + 1:
        try:
            async with asyncio.timeout(TURN_OVERHEAD_TIMEOUT):
                known = await identities.identify(item.author, with_shop=False)
        except Exception as error:  # noqa: BLE001 - whatever fails, the customer must get a person
            logger.warning("nobody says who the author is", extra={"turn": item.id, "fault": type(error).__name__})
    return known or Customer(item.author_team, item.author, name=item.author, locale="", member_type="member")
