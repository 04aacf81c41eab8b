"""What the buttons of customers do."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bot.cases.buttons import Button
from bot.cases.case import MovedOn
from bot.cases.cases import Cases
from bot.cases.opening import ENDED
from bot.conversation import Customer
from bot.desk.identity import Identities
from bot.language.sentences import Sentences
from bot.store import cases as case_rows
from bot.store import turns
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.handover_requests import open_before
from bot.turns.interactions.replies import Replies, is_number

CustomerStep = Callable[[InboxItem, Customer], Awaitable[object]]
"""Carries out an interaction of a customer, who has been identified. It returns the same as a `Step`."""


@dataclass(frozen=True, slots=True)
class CustomerInteractions:
    """Carries these interactions out. `bot.app` puts the parts together."""

    database: Database
    sentences: Sentences
    identities: Identities
    cases: Cases
    replies: Replies
    more: Mapping[str, CustomerStep] = field(default_factory=dict)
    """What the buttons about changes of an order run."""

    def table(self) -> Mapping[str, CustomerStep]:
        """What each button runs."""
        return {
            "esc.customer": self._call_person,
            "esc.accept": self._call_person,
            "esc.cancel": lambda item, customer: self.cases.cancel(item.interaction.value, customer.user),
            "esc.urgent": lambda item, customer: self.cases.urge(item.interaction.value, customer.user),
            "esc.wait": lambda item, customer: self.cases.can_wait(item.interaction.value, customer.user),
            "esc.keep": lambda item, customer: self.cases.keep_helping(item.interaction.value, customer.user),
            "esc.undo": self._undo,
            "case.reopen": self._not_solved,
            **self.more,
        }

    async def carry_out(self, item: InboxItem, button: Button) -> object:
        """Do what the button says, or tell the customer why not. Return how it ended, if that has a word.

        Raises:
            UnknownCase: The button names no case of ours.
        """
        customer = await self.identities.identify(item.author, with_shop=False)
        if customer is None:
            return "not_a_person"
        step = self.table().get(button.id)
        if step is None:
            # A button about a change of an order, at a desk that has no shop any more.
            return "unknown_button"
        try:
            return await step(item, customer)
        except MovedOn as error:
            pressed = await self.cases.find(item.interaction.value)
            if pressed.customer != customer.user:
                return await self._refuse(item, customer)
            # In a channel's thread, the case that is open now can be another person's.
            now = error.case if error.case.customer == customer.user else pressed
            if item.fence == 1 or not button.is_done(now, customer.user):
                await self.cases.status.tell_customer(now, item.thread, customer)
                return "moved_on"
        return None

    async def _undo(self, item: InboxItem, customer: Customer) -> None:
        """Open a case again for the reason of the one that the customer took back."""
        ended = await self.cases.find(item.interaction.value)
        if ended.customer != customer.user or ended.state != "bot":
            raise MovedOn(ended)
        async with self.database.transaction() as tx:
            latest = await case_rows.latest_of(tx, ended.thread)
        if latest is not None and latest.id != ended.id and item.fence == 1:
            raise MovedOn(latest)
        await self.cases.open(
            ended.thread, customer, reason=ended.reason, priority="medium", subject=ended.title, summary=ended.summary
        )

    async def _not_solved(self, item: InboxItem, customer: Customer) -> None:
        """Reopen the case, or open another one if it is too late for that."""
        ref = item.interaction.value
        try:
            await self.cases.reopen(ref, customer.user)
        except MovedOn as error:
            ended = error.case
            if ended.ref != ref or ended.customer != customer.user or ended.state not in ENDED:
                raise
            await self.cases.open(ended.thread, customer, reason="not_solved", priority="medium")

    async def _call_person(self, item: InboxItem, customer: Customer) -> str | None:
        """Open a case, or tell the customer about the case that is open already."""
        if not await self._is_theirs(item.interaction.value, customer.user):
            return await self._refuse(item, customer)
        if case := await open_before(self.database, item):
            await self.cases.status.tell_customer(case, item.thread, customer)
            return "already_open"
        await self.cases.open(item.thread, customer, reason="asked_for_person", priority="medium")
        return None

    async def _refuse(self, item: InboxItem, customer: Customer) -> str:
        """Tell the person who pressed that the button belongs to another person."""
        words = self.sentences.say(self.sentences.language_for(customer.locale), "not_yours")
        await self.replies.tell(item, words)
        return "not_yours"

    async def _is_theirs(self, turn: str, user: str) -> bool:
        """Whether the answer above the button was given to this person, or its customer is not known."""
        if not is_number(turn):
            return False
        async with self.database.transaction() as tx:
            return await turns.customer_of(tx, int(turn)) in (user, None)
