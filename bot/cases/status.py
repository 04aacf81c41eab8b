"""What people are told about the present status of a case.

of_thread     the thread's open case, for the customer
since         a case that was resolved and has changed since, for the customer
tell_staff    show staff whose button does not fit the case what its status is
tell_customer show a customer the same
"""

from dataclasses import dataclass

from bot.cases.buttons import BUTTONS
from bot.cases.messages import CaseMessages
from bot.conversation import Customer, ThreadRef
from bot.language.languages import Language
from bot.language.sentences import language_for
from bot.slack.api.chat import Chat
from bot.store import cases, outbox
from bot.store.cases import Case, card_key
from bot.store.database import Database
from bot.views import staff_cards
from bot.views.announcements import status_text


@dataclass(frozen=True, slots=True)
class CaseStatus:
    """Says where a case is. `bot.app` puts the parts together."""

    database: Database
    chat: Chat
    messages: CaseMessages

    async def of_thread(self, thread: ThreadRef, language: Language) -> str:
        """The status text of the thread's open case, for the customer. Empty if there is none."""
        async with self.database.transaction() as tx:
            case = await cases.find_open(tx, thread)
        return status_text(self.messages.sentences, language, case) if case else ""

    async def since(self, ref: str, language: Language) -> str:
        """The status text, for the customer, of a case that was resolved and has changed since.

        Empty while the case is still resolved, and for an unknown case.
        """
        async with self.database.transaction() as tx:
            case_id = cases.id_of(ref)
            case = None if case_id is None else await cases.find(tx, case_id)
            if case is None or case.state == "resolved":
                return ""
            now = await cases.find_open(tx, case.thread) or case
        return status_text(self.messages.sentences, language, now)

    async def tell_staff(self, case: Case, user: str, action: str, *, channel: str, thread_ts: str | None) -> None:
        """Show staff the case's present status in an ephemeral message, in the place where they pressed the button."""
        if case.is_open and self.messages.desk(case) != channel:
            link = await self._address_of_card(case)
            card = staff_cards.elsewhere(case, channel=self.messages.desk(case), link=link)
        elif BUTTONS[action].speaks and case.state == "human" and case.owner != user:
            card = staff_cards.lost_race(case)
        else:
            card = staff_cards.moved_on(case, reader=user)
        await self.chat.post_ephemeral(channel, user, text=card.text, blocks=card.blocks or None, thread_ts=thread_ts)

    async def tell_customer(self, case: Case, thread: ThreadRef, customer: Customer) -> None:
        """Show the present status, in an ephemeral message, to a customer whose button does not fit the case."""
        words = status_text(self.messages.sentences, language_for(case.language), case)
        await self.chat.post_ephemeral(thread.channel, customer.user, text=words, thread_ts=thread.ts)

    async def _address_of_card(self, case: Case) -> str:
        async with self.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(case))
        return await self.chat.address(self.messages.desk(case), card.ts if card else None)
