"""Redaction: what was made from deleted messages is blanked or made anew, whole. Rows say what that is.

Only answers to other messages are erased for the words in them. They belong to what others asked.

find             what can have been made from the messages: the threads and cases that know them
blank_threads    later answers that repeat the messages, notes and summaries
blank_cases      a neutral title and no summary for the cases that were opened since, and on their cards
drop_proposals   drafts and suggested articles, and the posts that show them
blank_copies     the stored copies of the messages, and the posts for their turns
renew_transcripts   quotations of the conversation, made anew from what is left of it

Each function can be repeated. The same transaction puts into the outbox what Slack must be told.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.journal import WRITE
from bot.cases import transcripts
from bot.cases.drafts import drafts_key
from bot.cases.files import notes_on
from bot.conversation import ThreadRef
from bot.help_center.articles import suggestion_key, withdraw
from bot.privacy.quotations import Quotations
from bot.store import cases, erasure, outbox
from bot.store.cases import ERASED, Case
from bot.store.database import Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import OutboxRow, Outgoing
from bot.views.staff_cards import without_matter


@dataclass(frozen=True, slots=True)
class Deleted:
    """Deleted messages of one person in one thread, and what knows them."""

    messages: Sequence[InboxItem]
    edits: Sequence[InboxItem]
    mirrors: Sequence[OutboxRow]
    """The copies of the messages for the other side."""
    threads: tuple[str, ...]
    """The keys of the threads in which the messages, their answers or their copies are."""
    cases: tuple[int, ...]
    """The cases of these threads, and those under whose cards the messages or their copies are."""

    @property
    def first(self) -> InboxItem:
        """The message that came first. Its id makes keys differ from those of other deletions."""
        return min(self.messages, key=lambda row: row.id)

    @property
    def by_staff(self) -> bool:
        """Whether staff wrote them."""
        return self.first.kind == "staff"

    @property
    def since(self) -> str:
        """Slack's timestamp of the earliest message."""
        return min(row.ts for row in self.messages)

    @property
    def received_at(self) -> float:
        """When the first of them was stored, in seconds since 1970. What was made before knows none of them."""
        return min(row.received_at for row in self.messages)

    @property
    def ids(self) -> list[int]:
        """The ids of the messages and their edits."""
        return [each.id for each in (*self.messages, *self.edits)]


async def find(tx: Transaction, messages: Sequence[InboxItem], edits: Sequence[InboxItem]) -> Deleted:
    """What can have been made from the messages."""
    thread = messages[0].thread
    mirrors = await outbox.mirrors(tx, thread.channel, *(row.said_at for row in messages))
    given = await erasure.answers_to(tx, [each.id for each in (*messages, *edits)])
    # A later case of the thread that has a copy quotes it in its transcript.
    copied_to = [ThreadRef(thread.team, each.channel, each.thread_ts) for each in mirrors if each.thread_ts]
    places = dict.fromkeys(each.key for each in (thread, *(answer.thread for answer in given), *copied_to))
    card = await outbox.by_place(tx, thread.channel, thread.ts)
    more = {row.case_id for row in (card, *mirrors) if row is not None and row.case_id is not None}
    concerned = await erasure.cases_of(tx, list(places), more=more)
    return Deleted(messages, edits, mirrors, tuple(places), tuple(concerned))


async def blank_threads(tx: Transaction, deleted: Deleted, *, now: float) -> None:
    """Erase later answers that repeat the messages, and the notes and summaries of their threads."""
    said = (*deleted.messages, *deleted.edits)
    words = [words for each in said for words in each.message.wordings]
    besides = await erasure.said_besides(tx, deleted.threads, besides=deleted.ids)
    # Staff repeat what customers write, so their words do not say that a customer's are known anyway.
    others = [each.words for each in besides if deleted.by_staff or not each.by_staff]
    repeats = Quotations(words, others).are_in_any
    after, since = deleted.first.id, deleted.since
    await erasure.forget_repeating(tx, deleted.threads, after=after, since=since, repeats=repeats, keep=WRITE, now=now)
    await erasure.blank_threads(tx, deleted.threads, since=since)


async def blank_cases(tx: Transaction, deleted: Deleted, *, now: float) -> None:
    """Give the cases that were opened or named since the messages came a neutral title, and update their cards."""
    # Staff write below the card of a case that is older than their words.
    older = {mirror.case_id for mirror in deleted.mirrors} if deleted.by_staff else set()
    found = await cases.find_all(tx, deleted.cases)
    opened = [case.id for case in found if _made_at(case) >= deleted.received_at and case.id not in older]
    await erasure.blank_cases(tx, opened)
    rows = [
        Outgoing(
            f"erased/{deleted.first.id}/{shown.id}",
            "update",
            shown.channel,
            shown.payload,
            parent=key,
            case_id=shown.case_id,
        )
        for key, shown in await erasure.redraw(tx, opened, draw=without_matter)
    ]
    await outbox.add(tx, *rows, now=now)


def _made_at(case: Case) -> float:
    """When the case's title or summary was made last."""
    return max(case.opened_at, case.titled_at or 0.0)


async def drop_proposals(tx: Transaction, deleted: Deleted, *, now: float) -> None:
    """Delete drafts and undecided suggestions that were made since the messages came, and the posts that show them."""
    asked = await erasure.drop_drafts(tx, deleted.cases, after=deleted.first.id, since=deleted.received_at)
    for key in map(drafts_key, asked):
        sent = await outbox.by_key(tx, f"{key}/sent")
        if sent is not None and sent.state == "pending":
            # The card's thread hears that the customer does not get it.
            await outbox.mark_failed(tx, sent, ERASED, now=now)
    await withdraw(tx, [drafts_key(row) for row in asked], now=now)
    numbers = await erasure.drop_suggestions(tx, deleted.cases, since=deleted.received_at)
    await withdraw(tx, [suggestion_key(number) for number in numbers], now=now)


async def blank_copies(tx: Transaction, deleted: Deleted) -> None:
    """Blank the stored copies of the messages, the posts for their turns, and the notes to staff about their files."""
    keys = {mirror.key for mirror in deleted.mirrors} | {f"relay/{edit.id}/before" for edit in deleted.edits}
    keys |= {note for mirror in deleted.mirrors for note in notes_on(mirror)}
    changes = [f"{mirror.key}/edited/{edit.ts}" for mirror in deleted.mirrors for edit in deleted.edits]
    await erasure.blank(tx, [*keys, *changes], below=[f"turn/{row}/" for row in deleted.ids])
    for row in deleted.messages if deleted.by_staff else ():
        await erasure.blank_asides(tx, deleted.cases, row.ts)


async def renew_transcripts(tx: Transaction, deleted: Deleted, *, now: float) -> None:
    """Make quotations of the conversation anew, also the files. Slack can get them as soon as the transaction ends."""
    for case in await cases.find_all(tx, deleted.cases):
        rows = await transcripts.rewritten(tx, case, deletion=deleted.first.id, since=deleted.received_at)
        await outbox.add(tx, *rows, now=now)
    said_at = "" if deleted.by_staff else deleted.since
    files = await transcripts.renewed(tx, deleted.cases, deletion=deleted.first.id, said_at=said_at)
    await outbox.add(tx, *files, now=now)
