"""What the buttons of staff do: checks that all of them share."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from bot.cases.buttons import BUTTONS, Button
from bot.cases.case import MovedOn
from bot.cases.cases import Cases
from bot.cases.step import UnknownCase
from bot.store.bodies import InteractionBody
from bot.store.inbox import Arrival, InboxItem
from bot.turns.interactions.replies import Replies, Step, interaction_thread
from bot.views.dialogs import SUGGEST

NO_SHOP = "This desk has no shop any more, so nothing was done."

Abandon = Callable[[InboxItem], Awaitable[None]]
"""Ends the work of an interaction that failed too often."""


@dataclass(frozen=True, slots=True)
class StaffInteractions:
    """Carries these interactions out. `bot.app` puts the parts together."""

    cases: Cases
    replies: Replies
    accept: Callable[[Arrival], Awaitable[None]]
    """Stores an interaction that follows from another one."""
    steps: Mapping[str, Step]
    """What each button runs."""
    abandons: Mapping[str, Abandon] = field(default_factory=dict)
    """What is done when a button with a lane of its own failed too often."""

    async def carry_out(self, item: InboxItem, button: Button) -> object:
        """Do what the button says, or tell the person why not. Return how it ended, if that has a word.

        Raises:
            UnknownCase: The button names no case of ours.
        """
        user, value, ended = item.author, item.interaction.value, None
        try:
            if not button.anywhere:
                await self._is_here(value.partition("/")[0], item.thread.channel)
            step = self.steps.get(button.id)
            if step is None:
                # A button about a change of an order, at a desk that has no shop any more.
                await self.replies.tell(item, NO_SHOP)
                return "unknown_button"
            ended = await step(item, value)
        except MovedOn as error:
            # An attempt before a crash may have done it.
            if item.fence == 1 or not button.is_done(error.case, user):
                await self.cases.status.tell_staff(
                    error.case, user, button.id, channel=item.thread.channel, thread_ts=interaction_thread(item)
                )
                return "moved_on"
        if SUGGEST in item.interaction.fields.get("kb", ()):
            await self.accept(_suggesting(item, value))
        return ended

    async def _is_here(self, ref: str, channel: str) -> None:
        """Raise MovedOn if the case is at another desk. Whether the person is staff there was not checked."""
        case = await self.cases.find(ref)
        if self.cases.desk(case) != channel:
            raise MovedOn(case)

    async def tell_failed(self, item: InboxItem) -> None:
        """Tell the person who pressed that it failed."""
        if BUTTONS[item.interaction.action].lane == "own":
            abandon = self.abandons.get(item.interaction.action)
            if abandon is not None:
                with contextlib.suppress(UnknownCase):
                    await abandon(item)
        await self.replies.tell(item, "That didn't work: something failed on our side. Please press it again.")


def _suggesting(item: InboxItem, case: str) -> Arrival:
    """Return the interaction that asks for an article from a case, in a lane of its own."""
    lane = f"suggest-{item.id}"
    return Arrival(
        event_id=lane,
        kind="interaction",
        thread=replace(item.thread, ts=lane),
        ts=lane,
        author=item.author,
        author_team=item.author_team,
        body=InteractionBody("kb.suggest", case, message_ts=lane),
        addressed=True,
    )
