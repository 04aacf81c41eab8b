"""The relay between the customer's thread and the card's thread, while a person is on the case.

from_customer   the customer's words go into the card's thread; no model is asked
thanked         the customer's thanks after the end
from_staff      the owner's words go to the customer; everybody else's, and what begins with //, stay inside, and who
                does not know it yet is told
send            a held message goes out after "Claim and send", with its files
to_customer     the row by which anything that the owner says reaches the customer
edited_by_customer, deleted_by_customer, edited_by_staff, deleted_by_staff
                what becomes of the copies when the message itself is changed; the rows of the copies are the map

What was delivered bears an outbox tray, until it is taken back; what Slack refused bears a warning and one line that
says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from bot.cases.case import owned
from bot.cases.cases import the_case
from bot.cases.files import NOT_DELIVERED, carrying, earlier_key, withdrawn, words_beside
from bot.cases.messages import copy_for_staff, language, payload, quoted
from bot.clock import Clock
from bot.conversation import Customer
from bot.sentences import Sentences
from bot.slack import staff_cards
from bot.slack.client import SlackClient
from bot.slack.mrkdwn import escape
from bot.slack.outbox import Outbox
from bot.store import cases, inbox, outbox, records
from bot.store.cases import Case, card_key
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.outbox import OutboxRow, Outgoing
from bot.store.wishes import is_erased

NOTE = "//"
"""What a note for the team begins with."""
DELIVERED = "outbox_tray"
SEEN = "eyes"
THANKED = "heart"
EDITED = "_(edited)_"
DELETED = "_deleted by the customer_"
EDITED_TO = "An earlier message was edited by the customer. It now says:"
EDITED_FROM = "Before the edit it said:"
NOT_TAKEN_BACK = (
    "A message of this thread was deleted or made a note, but Slack refused to delete the customer's copy. "
    "The customer still reads it."
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
    sentences: Sentences
    agent_channel: str

    async def from_customer(self, case: Case, item: InboxItem, customer: Customer) -> None:
        """Show the customer's message to staff; while nobody has claimed, the customer sees that it was read."""
        words = copy_for_staff(customer.name, words_beside(item.body), elsewhere=item.thread != case.thread)
        copy = Outgoing(
            f"relay/{item.id}",
            "post",
            self.agent_channel,
            {"text": words},
            parent=card_key(case.id),
            case_id=case.id,
            source=(item.thread.channel, item.said_at),
        )
        async with self.database.transaction() as tx:
            # An attempt that a crash has ended may have opened the case, and shown it the message with its files.
            is_there = await outbox.by_key(tx, earlier_key(case, item.id)) is not None
        rows = [] if is_there else [carrying(copy, item.body)]
        if case.waits:
            seen = {"ts": item.said_at, "name": SEEN}
            rows.append(Outgoing(f"relay/{item.id}/seen", "react", item.thread.channel, seen, case_id=case.id))
        await self._queue(*rows)

    async def thanked(self, case: Case, item: InboxItem) -> None:
        """The customer's last word on a case that is over: it needs no answer, and says that the case was solved."""
        heart = {"ts": item.said_at, "name": THANKED}
        mark = Outgoing(f"thanks/{item.id}", "react", item.thread.channel, heart, case_id=case.id)
        async with self.database.transaction() as tx:
            # The row's key says whether an attempt before a crash has written it down already.
            if await outbox.by_key(tx, mark.key) is None:
                await outbox.add(tx, mark, now=self.clock.now())
                await records.note(
                    tx, actor=item.author, action="case.affirmed", subject=case.ref, now=self.clock.now()
                )
        self.outbox.wake()

    async def from_staff(self, item: InboxItem) -> str:
        """Relay, hold or leave inside what somebody wrote under a card; how it ended, in one stable word."""
        case = await self._case_of(item.thread.channel, item.thread.ts)
        if case is None or _is_note(item.body):
            return "note"
        if case.waits:
            await self._ask(case, item)
            return "held"
        if not case.is_with(item.author):
            if case.state == "human":
                await self._queue(self._unread(case, item.author))
            return "note"
        await self._answer(case, item.ts, item.body)
        return "relayed"

    def edited_by_customer(
        self, edit: InboxItem, mirrors: Sequence[OutboxRow], case: Case | None, *, before: str
    ) -> list[Outgoing]:
        """Staff's copies of a message with its new words, and a note of the old ones, which they may have answered.

        A case that was opened over the message has no copy of it; then the note tells both.
        """
        copies = [mirror for mirror in mirrors if mirror.channel == self.agent_channel]
        rows = [
            _reworded(mirror, f"edited/{edit.ts}", f"{quoted(words_beside(edit.body))} {EDITED}") for mirror in copies
        ]
        rows += withdrawn(copies, edit.ts, body=edit.body)
        case_id = copies[-1].case_id if copies else case.id if case else None
        if case_id is not None:
            told = f"{EDITED_TO}\n{quoted(edit.words)}\n"
            now = "" if copies else told
            rows.append(
                Outgoing(
                    f"relay/{edit.id}/before",
                    "post",
                    self.agent_channel,
                    {"text": f"{now}{EDITED_FROM}\n{quoted(before)}"},
                    parent=card_key(case_id),
                    case_id=case_id,
                )
            )
        return rows

    def deleted_by_customer(self, deed: str, mirrors: Sequence[OutboxRow]) -> list[Outgoing]:
        """Staff's copies of a message without its words; `deed` tells this from other changes."""
        copies = [mirror for mirror in mirrors if mirror.channel == self.agent_channel]
        return [*withdrawn(copies, deed), *(_reworded(mirror, f"deleted/{deed}", DELETED) for mirror in copies)]

    def edited_by_staff(self, edit: InboxItem, mirrors: Sequence[OutboxRow], *, mark: str) -> list[Outgoing]:
        """The customer's copy of a message with its new words; it is taken back when they are for the team by now."""
        if _is_note(edit.body):
            return self.deleted_by_staff(edit.ts, mirrors, left=edit.said_at)
        undone = {"ts": edit.said_at, "name": NOT_DELIVERED}
        rows = [
            _reworded(
                mirror,
                f"edited/{edit.ts}",
                f"{escape(words_beside(edit.body))} _{mark}_",
                when_failed=(Outgoing(f"{mirror.key}/unedited/{edit.ts}", "react", self.agent_channel, undone),),
            )
            for mirror in mirrors
        ]
        return [*rows, *withdrawn(mirrors, edit.ts, body=edit.body)]

    def deleted_by_staff(self, deed: str, mirrors: Sequence[OutboxRow], *, left: str | None = None) -> list[Outgoing]:
        """The customer's copy of a message is taken back; when Slack does not, the card's thread is told.

        The message itself may be `left` at its ts, where it then no longer bears the mark of what was delivered.
        """
        mark = {"ts": left, "name": DELIVERED}
        rows = [
            Outgoing(
                f"{mirror.key}/deleted/{deed}",
                "delete",
                mirror.channel,
                {},
                parent=mirror.key,
                case_id=mirror.case_id,
                when_sent=(Outgoing(f"{mirror.key}/unsent/{deed}", "unreact", self.agent_channel, mark),)
                if left
                else (),
                when_failed=(self._still_read(mirror, deed),),
            )
            for mirror in mirrors
        ]
        files = (withdrawn([mirror], deed, when_failed=(self._still_read(mirror, deed),)) for mirror in mirrors)
        return [*chain.from_iterable(files), *rows]

    def _still_read(self, mirror: OutboxRow, deed: str) -> Outgoing:
        return Outgoing(
            f"{mirror.key}/undeleted/{deed}",
            "post",
            self.agent_channel,
            {"text": NOT_TAKEN_BACK},
            parent=card_key(mirror.case_id or 0),
            case_id=mirror.case_id,
        )

    async def not_sent(self, item: InboxItem) -> None:
        """Mark a staff message that could not be dealt with."""
        mark = {"ts": item.ts, "name": NOT_DELIVERED}
        await self._queue(Outgoing(f"relay/{self.agent_channel}/{item.ts}/failed", "react", self.agent_channel, mark))

    async def send(self, ref: str, user: str, ts: str) -> bool:
        """Send the held message at `ts`; False when it is not there, or was deleted or made a note since.

        Raises MovedOn when the user is not the owner.
        """
        case, body = await self._held(ref, user, ts)
        owned(case, user)
        if body is None or is_erased(body) or _is_note(body):
            return False
        await self._answer(case, ts, body)
        return True

    def to_customer(
        self, case: Case, mrkdwn: str, *, key: str, ts: str, when_failed: tuple[Outgoing, ...] = ()
    ) -> Outgoing:
        """The owner's words in the customer's thread, and the marks on the staff message `ts` that tell how it went."""
        suffix = self.sentences.say(language(case), "support_suffix")
        sorry = (
            f"Not delivered to {escape(case.customer_name)}: Slack refused it. The customer does not see this message."
        )
        return Outgoing(
            key,
            "post",
            case.thread.channel,
            {"text": f"*{escape(case.owner_name or '')} ({suffix})*\n{mrkdwn}"},
            thread_ts=case.thread.ts,
            case_id=case.id,
            source=(self.agent_channel, ts),
            when_sent=(Outgoing(f"{key}/sent", "react", self.agent_channel, {"ts": ts, "name": DELIVERED}),),
            when_failed=(
                Outgoing(f"{key}/failed", "react", self.agent_channel, {"ts": ts, "name": NOT_DELIVERED}),
                Outgoing(f"{key}/sorry", "post", self.agent_channel, {"text": sorry}, parent=card_key(case.id)),
                *when_failed,
            ),
        )

    async def _answer(self, case: Case, ts: str, body: Mapping[str, Any]) -> None:
        """Send the customer what the owner wrote at `ts`, with what it brings."""
        copy = self.to_customer(case, escape(words_beside(body)), key=f"relay/{self.agent_channel}/{ts}", ts=ts)
        row = carrying(copy, body, if_missing=f"_{self.sentences.say(language(case), 'file_missing')}_")
        async with self.database.transaction() as tx:
            await outbox.add(tx, row, now=self.clock.now())
            await cases.note_reply(tx, case, now=self.clock.now())
        self.outbox.wake()

    def _unread(self, case: Case, author: str) -> Outgoing:
        """Somebody else is on the case: tell the author, unseen by others and once, that the customer reads nothing."""
        owner = case.owner or ""
        card = staff_cards.unread(case=case.ref, staff=owner, staff_name=case.owner_name or "")
        return Outgoing(
            f"case/{case.id}/unread/{owner}/{author}",
            "ephemeral",
            self.agent_channel,
            {**payload(card), "user": author},
            parent=card_key(case.id),
            case_id=case.id,
        )

    async def _ask(self, case: Case, item: InboxItem) -> None:
        """Nobody has claimed the case: ask, unseen by others, what to do with the message.

        Raises what Slack raises, so that the row is tried again: staff would think that the message went out.
        """
        card = staff_cards.take_over_prompt(case=case.ref, ts=item.ts)
        await self.slack.ephemeral(
            self.agent_channel, item.author, text=card.text, blocks=card.blocks, thread_ts=item.thread.ts
        )

    async def _case_of(self, channel: str, thread_ts: str) -> Case | None:
        async with self.database.transaction() as tx:
            card = await outbox.by_place(tx, channel, thread_ts)
            return None if card is None or card.case_id is None else await cases.find(tx, card.case_id)

    async def _held(self, ref: str, user: str, ts: str) -> tuple[Case, Mapping[str, Any] | None]:
        """The case, and what the user wrote at `ts`."""
        async with self.database.transaction() as tx:
            return await the_case(tx, ref), await inbox.body_at(tx, self.agent_channel, ts, author=user)

    async def _queue(self, *rows: Outgoing) -> None:
        async with self.database.transaction() as tx:
            await outbox.add(tx, *rows, now=self.clock.now())
        self.outbox.wake()


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
