"""Interactions: who carries out what was pressed."""

import logging
from dataclasses import dataclass

from bot.cases.buttons import BUTTONS
from bot.cases.dialogs import NO_SUCH_CASE
from bot.cases.step import UnknownCase
from bot.store.inbox import InboxItem
from bot.store.persons import REQUEST
from bot.turns.erasure import Erasure
from bot.turns.handover_requests import HandoverRequests
from bot.turns.interactions.customers import CustomerInteractions
from bot.turns.interactions.staff import StaffInteractions

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Interactions:
    """Carries interactions out. `bot.app` puts the parts together."""

    customers: CustomerInteractions
    staff: StaffInteractions
    handover_requests: HandoverRequests
    erasure: Erasure

    async def carry_out(self, item: InboxItem) -> str:
        """Do what the button says, or tell the person why not. Return how it ended, in one stable word."""
        button = BUTTONS.get(item.interaction.action)
        if button is None or button.lane == "at_once":
            logger.warning("an unknown button was pressed", extra={"action": item.interaction.action, "turn": item.id})
            return "unknown_button"
        try:
            match button.who:
                case "staff":
                    ended = await self.staff.carry_out(item, button)
                case "customer":
                    ended = await self.customers.carry_out(item, button)
                case "author":
                    ended = await self.handover_requests.carry_out(item)
                case "anyone":
                    ended = await self.erasure.carry_out(item)
        except UnknownCase:
            logger.warning("a press names no case of ours", extra={"user": item.author})
            if button.who == "staff":
                await self.staff.replies.tell(item, NO_SUCH_CASE)
            return "unknown_case"
        return ended if isinstance(ended, str) else "pressed"

    async def tell_failed(self, item: InboxItem) -> None:
        """Tell the person who pressed that it failed: a member of staff, or a person who wants their data erased."""
        if item.interaction.action == REQUEST:
            await self.erasure.tell_failed(item)
        else:
            await self.staff.tell_failed(item)
