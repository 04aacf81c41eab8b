"""The relay between the customer's thread and the card's thread, while a person has the case.

from_customer   Copies the customer's words into the card's thread. No model is asked.
thanked         Handles the customer's thanks after the end of a case.
from_staff      Sends the owner's words to the customer, and asks a helper what to do with theirs. Words of other
                people, and messages that begin with //, stay internal. An author who does not know that yet is told.
send            Sends a held message with its files after "Claim and send" or "Send to the customer".
offer_held      Asks the person who has a case now about what they wrote before.
send_words      Sends words that the owner or a helper wrote in a dialog. A line under the card stands for them.
edit_words      Changes them, or takes them back.
keep            Marks a held message as internal.
to_customer     Returns the row that carries staff's words to the customer.
edited_by_customer, deleted_by_customer, edited_by_staff, deleted_by_staff
                Change the copies when the message itself changes. The rows of the copies say where they are.

A delivered message has an outbox tray until it is taken back. A message that Slack refused has a warning, and one line
that says so.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from bot.cases import case as steps
from bot.cases import held
from bot.cases.case import speaking
from bot.cases.files import NOT_DELIVERED, carrying, earlier_key, file_names, withdrawn, words_beside
from bot.cases.held import aside, copy_key
from bot.cases.messages import CaseMessages, copy_for_staff, payload, quoted
from bot.cases.sent_replies import line_key, sent_key, sent_reply
from bot.cases.staff import Staff
from bot.cases.step import held_case, the_case
from bot.clock import Clock
from bot.conversation import Customer, ThreadRef
from bot.language.sentences import language_for
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.mrkdwn import escape
from bot.slack.outbox import AUTHOR, Outbox
from bot.store import audit, cases, inbox, outbox
from bot.store.bodies import MessageBody
from bot.store.cases import ERASED, MERGED, Case, card_key
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.metrics import ANSWERED
from bot.store.outbox import OutboxRow, Outgoing
from bot.views import staff_cards

logger = logging.getLogger(__name__)

PERSON_SECONDS = 60.0
"""How long Slack's answer that a customer's account is active is cached."""
LONGEST_NAME = 80
"""The number of characters of a name under which a post is shown."""
NOTE = "//"
"""The prefix of a note for the team."""
DELIVERED = "outbox_tray"
SEEN = "eyes"
THANKED = "heart"
EDITED = "_(edited)_"
DELETED = "_deleted by the customer_"
TAKEN_BACK = "_taken back_"
EDITED_TO = "The customer edited an earlier message. It now says:"
EDITED_FROM = "Before the edit, it said:"
NOT_TAKEN_BACK = (
    "A message in this thread was deleted or made a note, but Slack refused to delete the customer's copy. "
    "The customer can still see it."
)


@dataclass(frozen=True, slots=True)
class Relay:
    """Carries words both ways through the outbox."""

    database: Database
    outbox: Outbox
    chat: Chat
    directory: Directory
    clock: Clock
    messages: CaseMessages
    staff: Staff

    @property
    def agent_channel(self) -> str:
        """The channel for messages to staff that concern no case."""
        return self.messages.agent_channel

    async def from_customer(self, case: Case, item: InboxItem, customer: Customer, *, is_helped: bool = False) -> None:
        """Show the customer's message to staff. While no one has claimed the case, it also gets a reaction.

        `is_helped` is set if the assistant answers the message. Then it needs no reaction.
        """
        words = copy_for_staff(
            customer.name, words_beside(item.message), elsewhere=item.thread != case.thread, is_helped=is_helped
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
            # An attempt that ended in a crash may have opened the case and copied the message with its files.
            is_there = await outbox.by_key(tx, earlier_key(case, item.id)) is not None
            is_new = not is_there and await outbox.by_key(tx, copy.key) is None
            rows = [] if is_there else [carrying(copy, item.message)]
            if case.waits and not is_helped:
                seen = {"ts": item.said_at, "name": SEEN}
                rows.append(Outgoing(f"relay/{item.id}/seen", "react", item.thread.channel, seen, case_id=case.id))
            await outbox.add(tx, *rows, now=self.clock.now())
            if is_new and case.state == "human":
                await self._note_heard(tx, case)
        self.outbox.wake()
        if await self._owner_left(case):
            await self._queue(self._left(case))

    async def thanked(self, case: Case, item: InboxItem) -> None:
        """React to the customer's thanks after a case. They need no answer, and confirm that the case was solved."""
        heart = {"ts": item.said_at, "name": THANKED}
        mark = Outgoing(f"thanks/{item.id}", "react", item.thread.channel, heart, case_id=case.id)
        async with self.database.transaction() as tx:
            # The row's key shows whether an attempt before a crash has already queued it.
            if await outbox.by_key(tx, mark.key) is None:
                await outbox.add(tx, mark, now=self.clock.now())
                await audit.note(tx, actor=item.author, action="case.affirmed", subject=case.ref, now=self.clock.now())
        self.outbox.wake()

    async def from_staff(self, item: InboxItem) -> str:
        """Relay, hold or keep internal what a person wrote under a card.

        Returns the outcome in one stable word: "relayed", "held", "note" or "not_staff".
        """
        card, case = await self._case_of(item.thread.channel, item.thread.ts)
        if card is None or case is None or is_note(item.message.text):
            return "note"
        if not await self.staff.surely_includes(item.author, channel=item.thread.channel):
            return "not_staff"
        if now := await self._elsewhere(card, case):
            await self._queue(self._moved(card, now, item))
            return "note"
        if case.waits:
            await self._ask(case, item)
            return inbox.HELD
        if case.is_with(item.author):
            await self._answer(case, item.author, item.ts, item.message)
            return "relayed"
        if case.speaker(item.author) is not None:
            await self._queue(self._offer(case, item))
            return inbox.HELD
        if case.state == "human":
            await self._queue(self._unread(case, item))
            return inbox.HELD if item.message.file_names else "note"
        if not case.is_open and case.outcome != ERASED:
            await self._queue(self._over(case, item))
        return "note"

    def edited_by_customer(
        self, edit: InboxItem, mirrors: Sequence[OutboxRow], case: Case | None, *, before: str
    ) -> list[Outgoing]:
        """The updates of staff's copies of a message, and a note with the old words, which staff may have answered.

        A case that was opened for the message has no copy of it. Then the note shows both the new and the old words.
        """
        rows = [
            _reworded(mirror, f"edited/{edit.ts}", f"{quoted(words_beside(edit.message))} {EDITED}")
            for mirror in mirrors
        ]
        rows += withdrawn(mirrors, edit.ts, body=edit.message)
        if case is not None:
            channel, card, case_id = self.messages.desk(case), card_key(case), case.id
        elif mirrors:
            channel, card, case_id = mirrors[-1].channel, mirrors[-1].parent or "", mirrors[-1].case_id or 0
        else:
            return rows
        # The desk that has the case now may have no copy of the message.
        is_there = any(mirror.parent == card for mirror in mirrors)
        now = "" if is_there else f"{EDITED_TO}\n{quoted(edit.words)}\n"
        text = f"{now}{EDITED_FROM}\n{quoted(before)}"
        note = Outgoing(f"relay/{edit.id}/before", "post", channel, {"text": text}, parent=card, case_id=case_id)
        return [*rows, note]

    def deleted_by_customer(self, change: str, mirrors: Sequence[OutboxRow]) -> list[Outgoing]:
        """The rows that remove the words and files from staff's copies of a message.

        `change` makes the keys differ from those of other changes.
        """
        return [*withdrawn(mirrors, change), *(_reworded(mirror, f"deleted/{change}", DELETED) for mirror in mirrors)]

    def edited_by_staff(self, edit: InboxItem, mirrors: Sequence[OutboxRow], *, mark: str) -> list[Outgoing]:
        """The update of the customer's copy of a message. If the edit made the message a note, the copy is deleted."""
        words = words_beside(edit.message)
        rows = self._reworded_by_staff(edit.ts, mirrors, words, edit.thread, said_at=edit.said_at, mark=mark)
        return rows if is_note(words) else [*rows, *withdrawn(mirrors, edit.ts, body=edit.message)]

    def _reworded_by_staff(
        self, change: str, mirrors: Sequence[OutboxRow], words: str, thread: ThreadRef, *, said_at: str, mark: str
    ) -> list[Outgoing]:
        """The rows that give the customer's copy new words, or delete it if these are a note.

        `change` makes the keys differ from those of other changes. `said_at` is the timestamp of staff's own message.
        """
        if is_note(words):
            return self.deleted_by_staff(change, mirrors, thread, left=said_at)
        undone = {"ts": said_at, "name": NOT_DELIVERED}
        return [
            _reworded(
                mirror,
                f"edited/{change}",
                f"{escape(words)} _{mark}_",
                when_failed=(Outgoing(f"{mirror.key}/unedited/{change}", "react", thread.channel, undone),),
            )
            for mirror in mirrors
        ]

    def deleted_by_staff(
        self, change: str, mirrors: Sequence[OutboxRow], thread: ThreadRef, *, left: str | None = None
    ) -> list[Outgoing]:
        """The rows that delete the customer's copy of a message. If Slack refuses, the message's own thread says so.

        `left` is the timestamp of the message itself, if it still exists. It then loses the mark of a delivered
        message.
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
        """Mark a staff message that could not be processed."""
        mark, channel = {"ts": item.ts, "name": NOT_DELIVERED}, item.thread.channel
        await self._queue(Outgoing(f"relay/{channel}/{item.ts}/failed", "react", channel, mark))

    async def tell_unreachable(self, item: InboxItem, error: str) -> None:
        """Tell staff that a customer's message got no answer, because Slack no longer accepts posts in its thread.

        The line is posted in the thread of the case's card if there is one, else in the desk's channel. Without a case
        it is posted in the agent channel.
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
        """Whether the customer's account was deactivated. Slack still accepts posts for them, but no one reads these.

        False if Slack does not say.
        """
        try:
            return (await self.directory.user(case.customer, seconds=PERSON_SECONDS)).deleted
        except (SlackRefused, SlackUnanswered) as error:
            logger.info("Slack does not say whether a customer is still there", extra={"reason": str(error)})
            return False

    def not_delivered(
        self, case: Case, key: str, ts: str, words: str, *, line: Outgoing | None = None
    ) -> tuple[Outgoing, ...]:
        """The rows that tell staff, in `words`, that their message `ts`, or the `line`, did not reach the customer.

        `key` is the key of the copy.
        """
        desk = self.messages.desk(case)
        return (
            _mark(f"{key}/failed", desk, NOT_DELIVERED, ts=ts, line=line),
            Outgoing(f"{key}/sorry", "post", desk, {"text": words}, parent=card_key(case)),
        )

    async def send(self, ref: str, user: str, ts: str) -> bool:
        """Send the held message at `ts`. Returns False if it does not exist, was deleted, or was made a note since.

        Raises MovedOn if the user is neither the owner nor a helper.
        """
        case, body = await self._held(ref, user, ts)
        speaking(case, user)
        if body is None or body.is_erased or is_note(body.text):
            return False
        await self._answer(case, user, ts, body)
        return True

    async def send_words(self, ref: str, user: str, words: str, *, name: str, ts: str) -> None:
        """Send words that the owner or a helper wrote in a dialog.

        A line in the card's thread shows them, and is marked as their own message would be. `name` tells the rows from
        those of another dialog, and `ts` is the message that opened it. Raises MovedOn if the user is neither the owner
        nor a helper.
        """
        async with self.database.transaction() as tx:
            case = await the_case(tx, ref)
        by, key = speaking(case, user), sent_key(name)
        shown = payload(staff_cards.replied(case, f"*{escape(by)}* replied:", quoted(words), edits=name))
        line = Outgoing(line_key(name), "post", self.messages.desk(case), shown, parent=card_key(case), case_id=case.id)
        author = await self.author(case, user, by=by)
        copy = self.to_customer(case, escape(words), by=by, key=key, ts=ts, author=author, line=line)
        await self._send(case, user, copy, ts=ts, line=line)

    async def edit_words(self, ref: str, user: str, words: str, *, name: str, change: str) -> bool:
        """Change what the user sent in the dialog of this name. Words that begin with // take it back.

        `change` makes the keys differ from those of other changes. False if somebody else sent it, or the customer does
        not see it.
        """
        async with self.database.transaction() as tx:
            case = await held_case(tx, ref)
            sent = await sent_reply(tx, self.messages, case, name)
            if sent is None or sent.author != user:
                # An attempt before a crash may have taken it back.
                return await outbox.by_key(tx, f"{line_key(name)}/{change}") is not None
            line, thread = sent.line, ThreadRef(case.thread.team, sent.line.channel, sent.line.ts or "")
            mark = self._sentence(case, "edited_mark")
            rows = self._reworded_by_staff(change, [sent.copy], words, thread, said_at=thread.ts, mark=mark)
            head, now, edits = str(line.payload["text"]).partition("\n")[0], f"{quoted(words)} {EDITED}", name
            if is_note(words):
                now, edits = TAKEN_BACK, ""
            shown = payload(staff_cards.replied(case, head, now, edits=edits))
            update = Outgoing(f"{line.key}/{change}", "update", line.channel, shown, parent=line.key, case_id=case.id)
            await outbox.add(tx, *rows, update, now=self.clock.now())
        self.outbox.wake()
        return True

    async def offer_held(self, ref: str) -> None:
        """Somebody has the case now: ask them about each message that they wrote before, and that was held.

        What others wrote before stays internal, and is marked so. Repeating it asks and marks nothing twice.
        """
        async with self.database.transaction() as tx:
            rows = await held.offered(tx, self.messages, await the_case(tx, ref))
            await outbox.add(tx, *rows, now=self.clock.now())
        self.outbox.wake()

    async def keep(self, ref: str, ts: str) -> None:
        """A held message stays internal, and is marked so. Nothing changes if it was sent meanwhile."""
        async with self.database.transaction() as tx:
            case = await held_case(tx, ref)
            if await outbox.by_key(tx, copy_key(self.messages.desk(case), ts)) is None:
                await outbox.add(tx, held.kept(self.messages, case, ts), now=self.clock.now())
        self.outbox.wake()

    async def author(self, case: Case, user: str, *, by: str = "") -> dict[str, object]:
        """The name and picture under which the customer reads what `user` writes, for the payload of the post.

        Empty if the app cannot post under other names. `by` is as in `to_customer`.
        """
        if not self.chat.can_name:
            return {}
        try:
            picture = (await self.directory.user(user)).picture
        except (SlackRefused, SlackUnanswered) as error:
            logger.info("Slack does not say what a person looks like", extra={"reason": str(error)})
            picture = ""
        return {AUTHOR: {"name": self._signature(case, by)[:LONGEST_NAME], "picture": picture}}

    def _signature(self, case: Case, by: str) -> str:
        return f"{by or case.owner_name or ''} ({self._sentence(case, 'support_suffix')})"

    def to_customer(
        self,
        case: Case,
        mrkdwn: str,
        *,
        by: str = "",
        key: str,
        ts: str,
        author: Mapping[str, object] | None = None,
        line: Outgoing | None = None,
        when_failed: tuple[Outgoing, ...] = (),
    ) -> Outgoing:
        """The post of a staff member's words in the customer's thread, and the reactions on their message `ts`, or on
        the `line` that stands for it, that show the outcome.

        `by` is the name that the customer reads. If it is empty, the owner's name is used. `author` is what the method
        of that name returns.
        """
        desk = self.messages.desk(case)
        sorry = (
            f"Not delivered to {escape(case.customer_name)}: Slack refused it. The customer doesn't see this message."
        )
        return Outgoing(
            key,
            "post",
            case.thread.channel,
            {"text": f"*{escape(self._signature(case, by))}*\n{mrkdwn}", **(author or {})},
            thread_ts=case.thread.ts,
            case_id=case.id,
            source=(desk, ts),
            when_sent=(_mark(f"{key}/sent", desk, DELIVERED, ts=ts, line=line),),
            when_failed=(*self.not_delivered(case, key, ts, sorry, line=line), *when_failed),
        )

    async def _answer(self, case: Case, user: str, ts: str, body: MessageBody) -> None:
        """Send the customer what the owner or a helper wrote at `ts`, with its files."""
        key, words = copy_key(self.messages.desk(case), ts), escape(words_beside(body))
        by = speaking(case, user)
        # Slack shares files as the app, whatever the name.
        author = None if body.file_names else await self.author(case, user, by=by)
        copy = self.to_customer(case, words, by=by, key=key, ts=ts, author=author)
        row = carrying(copy, body, if_missing=f"_{self._sentence(case, 'file_missing')}_")
        await self._send(case, user, row, ts=ts)

    async def _send(self, case: Case, user: str, copy: Outgoing, *, ts: str, line: Outgoing | None = None) -> None:
        """Queue the customer's copy of what the user wrote at `ts`, or in a dialog that the `line` stands for.

        If no one reads the copy any more, staff are told so instead.
        """
        lines = [line] if line else []
        if await self.is_gone(case):
            await self._queue(*lines, *self.not_delivered(case, copy.key, ts, gone(case), line=line))
            return
        async with self.database.transaction() as tx:
            is_new = await outbox.by_key(tx, copy.key) is None
            unmarked = await held.unmarked(tx, self.messages, case, ts)
            await outbox.add(tx, *lines, copy, *unmarked, now=self.clock.now())
            if is_new:
                await self.note_reply(tx, case, user)
        self.outbox.wake()

    async def note_reply(self, tx: Transaction, case: Case, user: str) -> None:
        """Record that a person's words are sent to the customer, who is to answer now. The card shows no reply as due.

        The audit trail has whether the reply came in time.
        """
        now = self.clock.now()
        before = await held_case(tx, case.ref)
        is_first = await cases.note_reply(tx, before, now=now)
        if before.state != "human":
            return
        after = steps.answer(before, now=now)
        if before.reply_due is not None:
            detail = {"reply": "first" if is_first else "next", "met": "no" if now > before.reply_due else "yes"}
            await audit.note(tx, actor=user, action=ANSWERED, subject=before.ref, detail=detail, now=now)
        if after != before or is_first:
            await self._put(tx, before, after)

    async def _note_heard(self, tx: Transaction, case: Case) -> None:
        """The customer wrote: a reply is due, and the case is not put aside any more."""
        before = await held_case(tx, case.ref)
        if before.state != "human":
            return
        after = steps.hear(before, now=self.clock.now(), targets=self.messages.targets)
        if after != before:
            await self._put(tx, before, after)

    async def _put(self, tx: Transaction, before: Case, after: Case) -> None:
        """Save the case, which is locked, and update its card."""
        if changed := await cases.change(tx, before, after):
            await outbox.add(tx, *self.messages.announce("marked", changed), now=self.clock.now())

    def _unread(self, case: Case, item: InboxItem) -> Outgoing:
        """Tell the author, in an ephemeral message, that another person has the case and the customer reads nothing.

        They are told once for each owner. For each message with files, they are asked whether to send it.
        """
        files = file_names(item.message)
        card = staff_cards.unread_files(case, files=files, ts=item.ts) if files else staff_cards.unread(case)
        name = f"unread/{case.owner}/{item.author}{f'/{item.ts}' if files else ''}"
        return aside(self.messages, case, name, user=item.author, said=payload(card))

    def _over(self, case: Case, item: InboxItem) -> Outgoing:
        """Tell the author, in an ephemeral message, that the case has ended and the customer reads nothing.

        They are told once for each end of the case, and for each message with files.
        """
        files = file_names(item.message)
        card = staff_cards.over(case, files=files)
        name = f"over/{case.version}/{item.author}{f'/{item.ts}' if files else ''}"
        return aside(self.messages, case, name, user=item.author, said=payload(card))

    def _offer(self, case: Case, item: InboxItem) -> Outgoing:
        """Ask the helper, in an ephemeral message and once for each message, whether to send it to the customer."""
        card = staff_cards.helper_prompt(case, ts=item.ts)
        return aside(self.messages, case, f"offer/{item.ts}", user=item.author, said=payload(card))

    async def _elsewhere(self, card: OutboxRow, case: Case) -> Case | None:
        """The open case under another card in which people continue this one. None if it is here, or is not open."""
        if case.state == MERGED:
            async with self.database.transaction() as tx:
                return await cases.find_open(tx, case.thread)
        return case if case.is_open and card.key != card_key(case) else None

    def _moved(self, card: OutboxRow, now: Case, item: InboxItem) -> Outgoing:
        """Tell the author of a message under an old card, in an ephemeral message, where the case is now.

        They are told once for each place, and for each message with files.
        """
        files = file_names(item.message)
        told = staff_cards.elsewhere(now, channel=self.messages.desk(now), files=files)
        return Outgoing(
            f"{card.key}/moved/{now.id}/{now.desk}/{item.author}{f'/{item.ts}' if files else ''}",
            "ephemeral",
            card.channel,
            {**payload(told), "user": item.author, "link_to": card_key(now)},
            parent=card.key,
            case_id=card.case_id,
        )

    async def _owner_left(self, case: Case) -> bool:
        """Whether the owner is no longer staff. False if Slack does not say."""
        if case.state != "human" or case.owner is None:
            return False
        try:
            return not await self.staff.surely_includes(case.owner, channel=self.messages.desk(case))
        except (SlackRefused, SlackUnanswered):
            logger.warning("Slack does not say whether the owner is still there", extra={"case": case.ref})
            return False

    def _left(self, case: Case) -> Outgoing:
        """The line that asks for another person in the owner's place. It is posted once for each owner."""
        card = staff_cards.owner_left(case)
        key = f"case/{case.id}/owner-left/{case.owner}"
        return Outgoing(key, "post", self.messages.desk(case), payload(card), parent=card_key(case), case_id=case.id)

    async def _ask(self, case: Case, item: InboxItem) -> None:
        """Ask, in an ephemeral message, what to do with a message while no one has claimed the case.

        Raises SlackRefused or SlackUnanswered, so that the row is retried. Without the question, staff would think
        that the message was sent.
        """
        card = staff_cards.take_over_prompt(case, ts=item.ts)
        await self.chat.ephemeral(
            item.thread.channel, item.author, text=card.text, blocks=card.blocks, thread_ts=item.thread.ts
        )

    async def _case_of(self, channel: str, thread_ts: str) -> tuple[OutboxRow | None, Case | None]:
        """The outbox row of the message that begins the thread, and the case that it is about."""
        async with self.database.transaction() as tx:
            card = await outbox.by_place(tx, channel, thread_ts)
            return card, None if card is None or card.case_id is None else await cases.find(tx, card.case_id)

    async def _held(self, ref: str, user: str, ts: str) -> tuple[Case, MessageBody | None]:
        """The case, and the stored message that the user wrote at `ts`."""
        async with self.database.transaction() as tx:
            case = await the_case(tx, ref)
            return case, await inbox.body_at(tx, self.messages.desk(case), ts, author=user)

    def _sentence(self, case: Case, key: str) -> str:
        """A sentence in the customer's language."""
        return self.messages.sentences.say(language_for(case.language), key)

    async def _queue(self, *rows: Outgoing) -> None:
        async with self.database.transaction() as tx:
            await outbox.add(tx, *rows, now=self.clock.now())
        self.outbox.wake()


def gone(case: Case) -> str:
    """The line that says that no one reads messages to this customer any more."""
    return (
        f"Not delivered to {escape(case.customer_name)}: their Slack account was deactivated. "
        "No one reads what you send them. Resolve the case, or reach them another way."
    )


def _mark(key: str, desk: str, name: str, *, ts: str, line: Outgoing | None) -> Outgoing:
    """The reaction on the message at `ts`, or on the line that stands for it."""
    if line is not None:
        return Outgoing(key, "react", desk, {"name": name}, parent=line.key)
    return Outgoing(key, "react", desk, {"ts": ts, "name": name})


def _still_read(mirror: OutboxRow, change: str, thread: ThreadRef) -> Outgoing:
    """The line in the thread of a staff message that says that the customer's copy still exists."""
    return Outgoing(
        f"{mirror.key}/undeleted/{change}",
        "post",
        thread.channel,
        {"text": NOT_TAKEN_BACK},
        thread_ts=thread.ts,
        case_id=mirror.case_id,
    )


def is_note(text: str) -> bool:
    """Whether words of staff stay internal."""
    return text.lstrip().startswith(NOTE)


def _reworded(mirror: OutboxRow, name: str, words: str, *, when_failed: tuple[Outgoing, ...] = ()) -> Outgoing:
    """The update that gives a copy of a message new words. Its first line, with the speaker, stays."""
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
