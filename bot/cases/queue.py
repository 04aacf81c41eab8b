"""A desk's queue: the message that shows it in the desk's channel, and claiming the case that comes first.

The message is a living message (bot/cases/living_messages.py): derived from the cases, and never the truth. Its words
are gone when a case is. When the channel has gone on, it is posted anew at its end.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from bot.alerts import Alerts
from bot.cases import case as steps
from bot.cases.case import MovedOn
from bot.cases.living_messages import EDIT_SECONDS, LivingMessages
from bot.cases.staff import Staff, name_of
from bot.cases.step import Stepping, held_case, the_case
from bot.errors import FrontdeskError, StoreUnavailable
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.blocks import LINK
from bot.store import case_lists, desks, outbox
from bot.store.cases import Case, card_key, ref_of
from bot.store.database import Transaction
from bot.store.desks import LivingMessage
from bot.store.outbox import Outgoing
from bot.store.statements import lock
from bot.views import queue_cards

logger = logging.getLogger(__name__)

SINK_SECONDS = 60.0
"""The time between two looks at how much was written below the message."""
SINK_LIMIT = 15
"""With so many messages below it, the message is posted anew at the end of the channel."""
KEEP_SECONDS = 30.0
"""How long Slack can take for one desk's message."""
MAX_CASES = 200
"""The most cases that are counted."""


class NothingWaits(FrontdeskError):
    """No case of the desk waits to be claimed."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The queues of all desks."""

    stepping: Stepping
    staff: Staff
    chat: Chat
    directory: Directory
    alerts: Alerts = field(default_factory=Alerts)
    _looked: dict[str, float] = field(default_factory=dict)
    """Channel -> when it was last asked how much was written below the message."""

    async def claim_next(self, channel: str, user: str, *, press: str) -> Case:
        """A person of the desk takes the most urgent case that waits there, and reads which one it is.

        Two people never get the same case. `press` names the press: repeating it takes no second case.

        Raises:
            NothingWaits: No case waits at the desk.
            MovedOn: The press has already taken a case.
        """
        name, told = await name_of(self.directory, user), f"queue/next/{press}"

        async def first(tx: Transaction, _ref: str) -> Case:
            await lock(tx, f"queue/{channel}")
            if (earlier := await outbox.by_key(tx, told)) is not None and earlier.case_id is not None:
                raise MovedOn(await the_case(tx, ref_of(earlier.case_id)))
            while found := await case_lists.next_waiting(tx, at=self.staff.desk_in(channel)):
                # Another button may have claimed it in between.
                if (case := await held_case(tx, found.ref)).waits:
                    return case
            raise NothingWaits

        def announce(case: Case) -> list[Outgoing]:
            text = queue_cards.claimed_next(case, LINK)
            said = {"text": text, "user": user, "link_to": card_key(case)}
            alone = Outgoing(told, "ephemeral", channel, said, case_id=case.id)
            return [*self.stepping.messages.announce("claimed", case, by=user), alone]

        def claim(case: Case, now: float) -> Case:
            claimed = steps.claim(case, user, name, now=now)
            return steps.owe_reply(claimed, now=now, targets=self.stepping.targets)

        return await self.stepping.step("", user, "claimed", claim, say=announce, start=first)

    async def run(self) -> None:
        """Keep the messages of all desks until cancelled."""
        while True:
            await self.look()
            await self.stepping.clock.sleep(EDIT_SECONDS)

    async def look(self) -> None:
        """Bring the messages of all desks up to date, as far as Slack lets it."""
        for channel in sorted(self.staff.channels):
            try:
                async with asyncio.timeout(KEEP_SECONDS):
                    await self._keep(channel)
            except (SlackRefused, SlackUnanswered, StoreUnavailable, TimeoutError) as error:
                reason = str(error) or type(error).__name__
                self.alerts.tell(logger, "a queue message is not up to date", about=channel, reason=reason)
            except Exception:
                logger.exception("a queue message could not be kept", extra={"channel": channel})

    async def _keep(self, channel: str) -> None:
        async with self.stepping.database.reading() as tx:
            message = await desks.message(tx, channel)
            cases = await case_lists.of_view(tx, "all", at=self.staff.desk_in(channel), limit=MAX_CASES)
            cards = await case_lists.cards(tx, cases[: queue_cards.MAX_LINES])
        if message is None and not cases:
            return
        living = self._living()
        if message is None or (message.ts is not None and await self._has_sunk(message)):
            await living.post(channel, message)
        elif message.ts is None:
            await living.settle(message)
        else:
            links = {case_id: await self.chat.address(*where) for case_id, where in cards.items()}
            await living.show(message, message.ts, queue_cards.queue_message(cases, links=links))

    def _living(self) -> LivingMessages:
        stepping = self.stepping
        return LivingMessages(
            stepping.database,
            stepping.outbox,
            self.chat,
            stepping.clock,
            self.alerts,
            "queue",
            queue_cards.placeholder(),
            pins=True,
        )

    async def _has_sunk(self, message: LivingMessage) -> bool:
        now = self.stepping.clock.monotonic()
        if now < self._looked.get(message.channel, float("-inf")) + SINK_SECONDS:
            return False
        self._looked[message.channel] = now
        return await self.chat.count_since(message.channel, message.ts or "", limit=SINK_LIMIT) >= SINK_LIMIT
