"""The relay between the customer's thread and the card's thread, while a person is on the case.

from_customer   the customer's words go into the card's thread; no model is asked
thanked         the customer's thanks after the end
from_staff      the owner's words go to the customer; a helper is asked about theirs; everybody else's, and what begins
                with //, stay inside, and who does not know it yet is told
send            a held message goes out after "Claim and send" or "Send to the customer", with its files
to_customer     the row by which anything that staff say reaches the customer
edited_by_customer, deleted_by_customer, edited_by_staff, deleted_by_staff
                what becomes of the copies when the message itself is changed; the rows of the copies are the map

What was delivered bears an outbox tray, until it is taken back; what Slack refused bears a warning and one line that
says so.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from bot.cases.case import speaking
from bot.cases.cases import lock_of, the_case
from bot.cases.files import NOT_DELIVERED, carrying, earlier_key, file_names, withdrawn, words_beside
from bot.cases.messages import CaseMessages, copy_for_staff, language, payload, quoted
from bot.cases.staff import Staff
from bot.clock import Clock
from bot.conversation import Customer, ThreadRef
from bot.slack.blocks import LINK
from bot.slack.client import SlackClient, SlackRefused, SlackUnanswered
from bot.slack.mrkdwn import escape
from bot.slack.outbox import Outbox
from bot.store import audit, cases, inbox, outbox
from bot.store.cases import ERASED, MERGED, Case, card_key
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.interrupts import is_erased
from bot.store.outbox import OutboxRow, Outgoing
from bot.store.statements import lock
from bot.views import staff_cards

logger = logging.getLogger(__name__)

PERSON_SECONDS = 60.0
"""For how long a customer is believed to be there after Slack has said so."""
NOTE = "//"
"""What a note for the team begins with."""
DELIVERED = "outbox_tray"
SEEN = "eyes"
THANKED = "heart"
EDITED = "_(edited)_"
DELETED = "_deleted by the customer_"
EDITED_TO = "The customer edited an earlier message. It now says:"
EDITED_FROM = "Before the edit, it said:"
NOT_TAKEN_BACK = (
    "A message in this thread was deleted or made a note, but Slack refused to delete the customer's copy. "
    "The customer can still see it."
)
OWN_WORDS = (EDITED, DELETED, EDITED_TO, EDITED_FROM, NOT_TAKEN_BACK)
"""What the relay itself says in the card's thread: it quotes nobody."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Carries words both ways through the outbox."""

    database: Database
    outbox: Outbox
    slack: SlackClient
    clock: Clock
    messages: CaseMessages
    staff: Staff

    @property
    def agent_channel(self) -> str:
        """Where staff are told what concerns no case."""
        return self.messages.agent_channel

    async def from_customer(self, case: Case, item: InboxItem, customer: Customer, *, is_helped: bool = False) -> None:
        """Show the customer's message to staff; while nobody has claimed, the customer sees that it was read.

        `is_helped`: the assistant answers it, which is sign enough.
        """
        words = copy_for_staff(
            customer.name, words_beside(item.body), elsewhere=item.thread != case.thread, is_helped=is_helped
        )
        copy = Outgoing(
            f"relay/{item.id}",
            "post",
            self.messages.desk(case),
            {"text": words},
            parent=card_key(case),
            case_id=case.id,
            source=(item.thread.channel, item.said_at),
        )
        async with self.database.transaction() as tx:
            # An attempt that a crash has ended may have opened the case, and shown it the message with its files.
            is_there = await outbox.by_key(tx, earlier_key(case, item.id)) is not None
        rows = [] if is_there else [carrying(copy, item.body)]
        if case.waits and not is_helped:
            seen = {"ts": item.said_at, "name": SEEN}
            rows.append(Outgoing(f"relay/{item.id}/seen", "react", item.thread.channel, seen, case_id=case.id))
        await self._queue(*rows)
        if await self._owner_left(case):
            await self._queue(self._left(case))

    async def thanked(self, case: Case, item: InboxItem) -> None:
        """The customer's last word on a case that is over: it needs no answer, and says that the case was solved."""
        heart = {"ts": item.said_at, "name": THANKED}
        mark = Outgoing(f"thanks/{item.id}", "react", item.thread.channel, heart, case_id=case.id)
        async with self.database.transaction() as tx:
            # The row's key says whether an attempt before a crash has written it down already.
            if await outbox.by_key(tx, mark.key) is None:
                await outbox.add(tx, mark, now=self.clock.now())
                await audit.note(tx, actor=item.author, action="case.affirmed", subject=case.ref, now=self.clock.now())
        self.outbox.wake()

    async def from_staff(self, item: InboxItem) -> str:
        """Relay, hold or leave inside what somebody wrote under a card; how it ended, in one stable word."""
        card, case = await self._case_of(item.thread.channel, item.thread.ts)
        if card is None or case is None or _is_note(item.body):
            return "note"
        if not await self.staff.surely_includes(item.author, channel=item.thread.channel):
            return "not_staff"
        if now := await self._elsewhere(card, case):
            await self._queue(self._moved(card, now, item))
            return "note"
        if case.waits:
            await self._ask(case, item)
            return "held"
        if case.is_with(item.author):
            await self._answer(case, item.author, item.ts, item.body)
            return "relayed"
        if case.speaker(item.author) is not None:
            await self._queue(self._offer(case, item))
            return "held"
        if case.state == "human":
            await self._queue(self._unread(case, item))
        elif not case.is_open and case.outcome != ERASED:
            await self._queue(self._over(case, item))
        return "note"

    def edited_by_customer(
        self, edit: InboxItem, mirrors: Sequence[OutboxRow], case: Case | None, *, before: str
    ) -> list[Outgoing]:
        """Staff's copies of a message with its new words, and a note of the old ones, which they may have answered.

        A case that was opened over the message has no copy of it; then the note tells both.
        """
        rows = [
            _reworded(mirror, f"edited/{edit.ts}", f"{quoted(words_beside(edit.body))} {EDITED}") for mirror in mirrors
        ]
        rows += withdrawn(mirrors, edit.ts, body=edit.body)
        if case is not None:
            channel, card, case_id = self.messages.desk(case), card_key(case), case.id
        elif mirrors:
            channel, card, case_id = mirrors[-1].channel, mirrors[-1].parent or "", mirrors[-1].case_id or 0
        else:
            return rows
        # Whoever has the case by now may have no copy of it.
        is_there = any(mirror.parent == card for mirror in mirrors)
        now = "" if is_there else f"{EDITED_TO}\n{quoted(edit.words)}\n"
        text = f"{now}{EDITED_FROM}\n{quoted(before)}"
        note = Outgoing(f"relay/{edit.id}/before", "post", channel, {"text": text}, parent=card, case_id=case_id)
        return [*rows, note]

    def deleted_by_customer(self, change: str, mirrors: Sequence[OutboxRow]) -> list[Outgoing]:
        """Staff's copies of a message without its words; `change` tells this from other changes."""
        return [*withdrawn(mirrors, change), *(_reworded(mirror, f"deleted/{change}", DELETED) for mirror in mirrors)]

    def edited_by_staff(self, edit: InboxItem, mirrors: Sequence[OutboxRow], *, mark: str) -> list[Outgoing]:
        """The customer's copy of a message with its new words; it is taken back when they are for the team by now."""
        if _is_note(edit.body):
            return self.deleted_by_staff(edit.ts, mirrors, edit.thread, left=edit.said_at)
        undone = {"ts": edit.said_at, "name": NOT_DELIVERED}
        rows = [
            _reworded(
                mirror,
                f"edited/{edit.ts}",
                f"{escape(words_beside(edit.body))} _{mark}_",
                when_failed=(Outgoing(f"{mirror.key}/unedited/{edit.ts}", "react", edit.thread.channel, undone),),
            )
            for mirror in mirrors
        ]
        return [*rows, *withdrawn(mirrors, edit.ts, body=edit.body)]

    def deleted_by_staff(
        self, change: str, mirrors: Sequence[OutboxRow], thread: ThreadRef, *, left: str | None = None
    ) -> list[Outgoing]:
        """The customer's copy of a message is taken back; when Slack does not, the message's own thread is told.

        The message itself may be `left` at its ts, where it then no longer bears the mark of what was delivered.
        """
        mark = {"ts": left, "name": DELIVERED}
        rows = [
            Outgoing(
                f"{mirror.key}/deleted/{change}",
                "delete",
                mirror.channel,
                {},
                parent=mirror.key,
                case_id=mirror.case_id,
                when_sent=(Outgoing(f"{mirror.key}/unsent/{change}", "unreact", thread.channel, mark),) if left else (),
                when_failed=(_still_read(mirror, change, thread),),
            )
            for mirror in mirrors
        ]
        files = (withdrawn([mirror], change, when_failed=(_still_read(mirror, change, thread),)) for mirror in mirrors)
        return [*chain.from_iterable(files), *rows]

    async def not_sent(self, item: InboxItem) -> None:
        """Mark a staff message that could not be dealt with."""
        mark, channel = {"ts": item.ts, "name": NOT_DELIVERED}, item.thread.channel
        await self._queue(Outgoing(f"relay/{channel}/{item.ts}/failed", "react", channel, mark))

    async def tell_unreachable(self, item: InboxItem, error: str) -> None:
        """Tell staff that a customer's message got no answer, since Slack takes nothing for its thread any more.

        It is said in the thread of the case's card if there is one, else in the agent channel.
        """
        async with self.database.transaction() as tx:
            case = await cases.find_open(tx, item.thread)
            card = None if case is None else await outbox.by_key(tx, card_key(case))
        where = "their direct messages" if item.thread.is_direct else f"<#{item.thread.channel}>"
        about = f"Case {case.ref}" if case else f"<@{item.author}>"
        text = f"{about}: a message in {where} got no answer, because Slack refuses the conversation ({error})."
        has_card = case is not None and card is not None and card.channel == self.messages.desk(case)
        told = Outgoing(
            f"turn/{item.id}/unreachable",
            "post",
            self.messages.desk(case) if case else self.agent_channel,
            {"text": text},
            parent=card_key(case) if case and has_card else None,
            case_id=case.id if case else None,
        )
        await self._queue(told)

    async def is_gone(self, case: Case) -> bool:
        """Whether the case's customer was deactivated: Slack takes what is posted for them, and nobody reads it.

        While Slack does not say, they are believed to be there.
        """
        try:
            return (await self.slack.user(case.customer, seconds=PERSON_SECONDS)).deleted
        except (SlackRefused, SlackUnanswered) as error:
            logger.info("Slack does not say whether a customer is still there", extra={"reason": str(error)})
            return False

    def not_delivered(self, case: Case, key: str, ts: str, words: str) -> tuple[Outgoing, ...]:
        """What tells staff that their message `ts` did not reach the customer, in `words`; `key` is the copy's."""
        desk = self.messages.desk(case)
        return (
            Outgoing(f"{key}/failed", "react", desk, {"ts": ts, "name": NOT_DELIVERED}),
            Outgoing(f"{key}/sorry", "post", desk, {"text": words}, parent=card_key(case)),
        )

    async def send(self, ref: str, user: str, ts: str) -> bool:
        """Send the held message at `ts`; False when it is not there, or was deleted or made a note since.

        Raises MovedOn when the user is neither the owner nor a helper.
        """
        case, body = await self._held(ref, user, ts)
        speaking(case, user)
        if body is None or is_erased(body) or _is_note(body):
            return False
        await self._answer(case, user, ts, body)
        return True

    def to_customer(
        self, case: Case, mrkdwn: str, *, by: str = "", key: str, ts: str, when_failed: tuple[Outgoing, ...] = ()
    ) -> Outgoing:
        """The words of one of the team in the customer's thread, and the marks on their message `ts` that tell how it
        went; `by` is the name that the customer reads, the owner's when it is empty."""
        suffix, desk = self.messages.sentences.say(language(case), "support_suffix"), self.messages.desk(case)
        sorry = (
            f"Not delivered to {escape(case.customer_name)}: Slack refused it. The customer doesn't see this message."
        )
        return Outgoing(
            key,
            "post",
            case.thread.channel,
            {"text": f"*{escape(by or case.owner_name or '')} ({suffix})*\n{mrkdwn}"},
            thread_ts=case.thread.ts,
            case_id=case.id,
            source=(desk, ts),
            when_sent=(Outgoing(f"{key}/sent", "react", desk, {"ts": ts, "name": DELIVERED}),),
            when_failed=(*self.not_delivered(case, key, ts, sorry), *when_failed),
        )

    async def _answer(self, case: Case, user: str, ts: str, body: Mapping[str, Any]) -> None:
        """Send the customer what the owner or a helper wrote at `ts`, with what it brings."""
        key, words = f"relay/{self.messages.desk(case)}/{ts}", escape(words_beside(body))
        copy = self.to_customer(case, words, by=speaking(case, user), key=key, ts=ts)
        row = carrying(copy, body, if_missing=f"_{self.messages.sentences.say(language(case), 'file_missing')}_")
        if await self.is_gone(case):
            await self._queue(*self.not_delivered(case, key, ts, gone(case)))
            return
        async with self.database.transaction() as tx:
            await outbox.add(tx, row, now=self.clock.now())
            await self.note_reply(tx, case)
        self.outbox.wake()

    async def note_reply(self, tx: Transaction, case: Case) -> None:
        """A person's words leave for the customer: when they are the first, the card says no more that some are due."""
        if case.replied_at is not None:
            return
        await lock(tx, lock_of(case.thread))
        if await cases.note_reply(tx, case, now=self.clock.now()):
            await outbox.add(tx, *self.messages.replied(await the_case(tx, case.ref)), now=self.clock.now())

    def _unread(self, case: Case, item: InboxItem) -> Outgoing:
        """Somebody else is on the case: tell the author, unseen by others, that the customer reads nothing; once, and
        of each message that brings files."""
        owner, files = case.owner or "", file_names(item.body)
        card = staff_cards.unread(case=case.ref, staff=owner, staff_name=case.owner_name or "", files=files)
        name = f"unread/{owner}/{item.author}{f'/{item.ts}' if files else ''}"
        return self._ephemeral(case, name, item.author, payload(card))

    def _over(self, case: Case, item: InboxItem) -> Outgoing:
        """Nobody has the case any more: tell the author, unseen by others, that the customer reads nothing; once an
        end, and of each message that brings files."""
        files = file_names(item.body)
        card = staff_cards.over(case=case.ref, with_assistant=case.state == "bot", files=files)
        name = f"over/{case.version}/{item.author}{f'/{item.ts}' if files else ''}"
        return self._ephemeral(case, name, item.author, payload(card))

    def _offer(self, case: Case, item: InboxItem) -> Outgoing:
        """Ask who helps, unseen by others and once a message, whether the customer shall read it."""
        card = staff_cards.helper_prompt(case=case.ref, ts=item.ts)
        return self._ephemeral(case, f"offer/{item.ts}", item.author, payload(card))

    def _ephemeral(self, case: Case, name: str, user: str, said: Mapping[str, object]) -> Outgoing:
        """What one member of staff reads in the thread of the case's card."""
        return Outgoing(
            f"case/{case.id}/{name}",
            "ephemeral",
            self.messages.desk(case),
            {**said, "user": user},
            parent=card_key(case),
            case_id=case.id,
        )

    async def _elsewhere(self, card: OutboxRow, case: Case) -> Case | None:
        """The open case as which people have this one under another card; None when it is here, or nobody has it."""
        if case.state == MERGED:
            async with self.database.transaction() as tx:
                return await cases.find_open(tx, case.thread)
        return case if case.is_open and card.key != card_key(case) else None

    def _moved(self, card: OutboxRow, now: Case, item: InboxItem) -> Outgoing:
        """Tell who writes under a card that is past, unseen by others, where the case is now; once a place, and of each
        message that brings files."""
        files = file_names(item.body)
        told = staff_cards.elsewhere(case=now.ref, channel=self.messages.desk(now), link=LINK, files=files)
        return Outgoing(
            f"{card.key}/moved/{now.id}/{now.desk}/{item.author}{f'/{item.ts}' if files else ''}",
            "ephemeral",
            card.channel,
            {**payload(told), "user": item.author, "link_to": card_key(now)},
            parent=card.key,
            case_id=card.case_id,
        )

    async def _owner_left(self, case: Case) -> bool:
        """Whether who is on the case is of the team no more; False when Slack does not say."""
        if case.state != "human" or case.owner is None:
            return False
        try:
            return not await self.staff.surely_includes(case.owner, channel=self.messages.desk(case))
        except (SlackRefused, SlackUnanswered):
            logger.warning("Slack does not say whether the owner is still there", extra={"case": case.ref})
            return False

    def _left(self, case: Case) -> Outgoing:
        """The line that calls for somebody in the owner's place, once an owner."""
        card = staff_cards.owner_left(case=case.ref, staff=case.owner or "", staff_name=case.owner_name or "")
        key = f"case/{case.id}/owner-left/{case.owner}"
        return Outgoing(key, "post", self.messages.desk(case), payload(card), parent=card_key(case), case_id=case.id)

    async def _ask(self, case: Case, item: InboxItem) -> None:
        """Nobody has claimed the case: ask, unseen by others, what to do with the message.

        Raises what Slack raises, so that the row is tried again: staff would think that the message went out.
        """
        card = staff_cards.take_over_prompt(case=case.ref, ts=item.ts)
        await self.slack.ephemeral(
            item.thread.channel, item.author, text=card.text, blocks=card.blocks, thread_ts=item.thread.ts
        )

    async def _case_of(self, channel: str, thread_ts: str) -> tuple[OutboxRow | None, Case | None]:
        """The message of ours that begins the thread, and the case that it is about."""
        async with self.database.transaction() as tx:
            card = await outbox.by_place(tx, channel, thread_ts)
            return card, None if card is None or card.case_id is None else await cases.find(tx, card.case_id)

    async def _held(self, ref: str, user: str, ts: str) -> tuple[Case, Mapping[str, Any] | None]:
        """The case, and what the user wrote at `ts`."""
        async with self.database.transaction() as tx:
            case = await the_case(tx, ref)
            return case, await inbox.body_at(tx, self.messages.desk(case), ts, author=user)

    async def _queue(self, *rows: Outgoing) -> None:
        async with self.database.transaction() as tx:
            await outbox.add(tx, *rows, now=self.clock.now())
        self.outbox.wake()


def gone(case: Case) -> str:
    """Says that nobody reads what is written to the customer any more."""
    return (
        f"Not delivered to {escape(case.customer_name)}: their Slack account was deactivated. "
        "No one reads what you send them. Resolve the case, or reach them another way."
    )


def _still_read(mirror: OutboxRow, change: str, thread: ThreadRef) -> Outgoing:
    """The line that tells the thread of a staff message that its copy is still there."""
    return Outgoing(
        f"{mirror.key}/undeleted/{change}",
        "post",
        thread.channel,
        {"text": NOT_TAKEN_BACK},
        thread_ts=thread.ts,
        case_id=mirror.case_id,
    )


def _is_note(body: Mapping[str, Any]) -> bool:
    return str(body["text"]).lstrip().startswith(NOTE)


def _reworded(mirror: OutboxRow, name: str, words: str, *, when_failed: tuple[Outgoing, ...] = ()) -> Outgoing:
    """The update by which a copy of a message says something else; who speaks, in its first line, stays."""
    speaker = str(mirror.payload["text"]).partition("\n")[0]
    return Outgoing(
        f"{mirror.key}/{name}",
        "update",
        mirror.channel,
        {"text": f"{speaker}\n{words}"},
        parent=mirror.key,
        case_id=mirror.case_id,
        when_failed=when_failed,
    )
