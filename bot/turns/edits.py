"""What follows when people change what they wrote.

begin_anew   the message was edited before its turn ended: the turn begins again with the new words
edited       the message was edited afterwards: store the new words, show them to staff, perhaps answer once more
deleted      the message was deleted: withdraw the answers to it, and erase it with what was made from it
deleted_together   do the same for many messages of one person

Each function but the last uses one transaction for its changes. All of them can be repeated after a crash at any
point. The same transaction puts into the outbox what Slack must be told.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.actions.erasing import erase_turns
from bot.actions.preparing import Preparing
from bot.agent.journal import WRITE
from bot.cases.files import notes_on
from bot.cases.relay import Relay
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.desk.intents import changes_meaning
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.privacy import redaction
from bot.slack.outbox import Outbox
from bot.store import cases, erasure, interrupts, outbox, procedures, spending, threads, turns
from bot.store.bodies import EditBody
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import OutboxRow, Outgoing
from bot.turns.answers.journal import open_journal, rounds_of
from bot.turns.answers.leftovers import Leftovers
from bot.turns.batches import Pieces
from bot.turns.costs import costs_of

GoOn = Callable[[], Awaitable[Transaction]]
"""Returns the transaction for the next step."""
ANSWER_AGAIN_SECONDS = 600.0
"""How long after a message an edit that changes its meaning is still answered, in seconds."""


@dataclass(frozen=True, slots=True)
class MessageEdits:
    """Carries out message edits and deletions. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    sentences: Sentences
    leftovers: Leftovers
    relay: Relay
    changes: Preparing | None = None
    """What the assistant prepared for a message is withdrawn with it."""

    async def begin_anew(self, item: InboxItem) -> InboxItem:
        """Return the item with the words of its newest edit, as if it had just come. Its costs so far are saved.

        The journal keeps two kinds of steps: where an answer is, so that it gets replaced, and the side effects, so
        that they are not repeated.
        """
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        async with self.database.transaction() as tx:
            edit = await interrupts.latest_edit(tx, item)
            await self._withdraw_changes(tx, item.id)
            body = item.message
            # The edit's own row changes copies that were already sent. For that it needs the old words in this row.
            is_open = not await outbox.mirrors(tx, item.thread.channel, item.said_at)
            if edit is not None and is_open and (not isinstance(body, EditBody) or body.answers):
                body = body.reworded(edit.message, edited=edit.ts)
                await interrupts.replace_body(tx, edit.id, replace(edit.edit, before=item.words))
                if item.kind == "edit":
                    await self._reword(tx, item, edit)
                for use in costs_of(item, journal.rounds):
                    before = replace(use, key=f"{use.key}/before/{edit.ts}")
                    await spending.add(tx, before, now=self.clock.now())
                await turns.keep_side_effects(tx, item.id, prefix=WRITE, now=self.clock.now())
            await interrupts.replace_body(tx, item.id, body, anew=True)
        return replace(item, body=body, interrupt="", attempts=1)

    async def edited(self, edit: InboxItem) -> InboxItem | None:
        """Store the new words. Return the edit if it needs an answer, else None."""
        if edit.edit.answers:
            return edit
        async with self.database.transaction() as tx:
            row = await interrupts.written(tx, edit.thread.team, edit.thread.channel, edit.said_at)
            if row is None or row.body.is_erased or row.message.edited >= edit.ts:
                return None
            if await interrupts.latest_edit(tx, edit) is not None:
                # The later edit replaces both.
                return None
            if row.message.overheard:
                return await self._overheard(tx, edit)
            noted = replace(edit.edit, before=row.words)
            await interrupts.replace_body(tx, edit.id, noted)
            await interrupts.replace_body(tx, row.id, row.message.reworded(edit.message, edited=edit.ts))
            await turns.reword(tx, row.id, edit.words)
            mirrors = await outbox.mirrors(tx, row.thread.channel, row.said_at)
            case = await cases.find_open(tx, row.thread)
            if row.kind == "staff":
                rows = self.relay.edited_by_staff(edit, mirrors, mark=await self._mark(tx, mirrors))
            else:
                rows = self.relay.edited_by_customer(edit, mirrors, case, before=row.words)
            await outbox.add(tx, *rows, now=self.clock.now())
            is_for_people = row.kind == "staff" or bool(mirrors) or case is not None
            answers = (
                not is_for_people
                and float(edit.ts) - float(row.ts) <= ANSWER_AGAIN_SECONDS
                and changes_meaning(row.message.text, noted.text)
                and not await interrupts.stopped_since(tx, edit)
            )
            if changes_meaning(row.message.text, noted.text):
                before = await interrupts.edits_of(tx, row.thread.key, row.said_at)
                await self._withdraw_changes(tx, row.id, *(each.id for each in before))
            if answers:
                await interrupts.replace_body(tx, edit.id, replace(noted, answers=True))
        self.outbox.wake()
        return replace(edit, body=noted) if answers else None

    async def _withdraw_changes(self, tx: Transaction, *turns: int) -> None:
        """Withdraw what was prepared for messages that say something else now, as long as it was not sent.

        A procedure that holds something of them ends.
        """
        await procedures.end_of_turns(tx, turns, now=self.clock.now())
        if self.changes is not None:
            await self.changes.take_back(tx, turns)

    async def _overheard(self, tx: Transaction, edit: InboxItem) -> InboxItem | None:
        """Handle an edit of a message to others: return it if it now mentions the app, else erase it."""
        if not edit.edit.to_us:
            await interrupts.overhear(tx, edit)
            return None
        body = replace(edit.edit, before="", answers=True)
        await interrupts.replace_body(tx, edit.id, body)
        return replace(edit, body=body)

    async def deleted(self, deletion: InboxItem) -> None:
        """Withdraw the answers to the message at `deletion.said_at`, and erase its words. Idempotent."""
        async with self.database.transaction() as tx:
            row = await interrupts.written(tx, deletion.thread.team, deletion.thread.channel, deletion.said_at)
            edits = await interrupts.edits_of(tx, deletion.thread.key, deletion.said_at)
        if row is None or row.body.is_erased:
            await self.database.scrub()
            return
        # A half-written answer is in no table but the journal. Messages that were not noted are in the thread.
        standing = {row.id: [place for each in (row, *edits) for place in await self.leftovers.take_down(each)]}
        async with self.database.transaction() as tx:
            await self._withdraw(tx, [row], edits, standing)

            async def all_at_once() -> Transaction:
                return tx

            await self._erase(all_at_once, [row], edits)
        self.outbox.wake()
        await self.database.scrub()

    async def deleted_together(self, messages: Sequence[InboxItem], *, pieces: Pieces) -> None:
        """Do what `deleted` does for several messages that one person wrote in one thread.

        The thread is read once for all messages. The work takes as many transactions as it needs, and counts as not
        done until the last one. The caller must wake the outbox and scrub the database afterwards.
        """
        tx = await pieces.go_on()
        rows = await erasure.not_erased(tx, [each.id for each in messages])
        if not rows:
            return
        edits = await interrupts.edits_of(tx, rows[0].thread.key, *(row.said_at for row in rows))
        edits = [erasure.unhidden(edit) for edit in edits]
        standing: dict[int, list[tuple[str, str]]] = {}
        if begun := await turns.with_steps(tx, _ids(rows, edits)):
            # The next calls go to Slack, so no transaction stays open.
            await pieces.pause()
            for row in rows:
                written = [each for each in (row, *_edits_of(row, edits)) if each.id in begun]
                standing[row.id] = [place for each in written for place in await self.leftovers.take_down(each)]
        # The withdrawal needs the answers, which are erased after it.
        await self._withdraw(await pieces.go_on(), rows, edits, standing)
        await self._erase(pieces.go_on, rows, edits)

    async def _reword(self, tx: Transaction, item: InboxItem, edit: InboxItem) -> None:
        """Store the words of a later edit in the message whose earlier edit is being answered."""
        row = await interrupts.written(tx, item.thread.team, item.thread.channel, item.said_at)
        if row is not None:
            await interrupts.replace_body(tx, row.id, row.message.reworded(edit.message, edited=edit.ts))
            await turns.reword(tx, row.id, edit.words)

    async def _withdraw(
        self,
        tx: Transaction,
        messages: Sequence[InboxItem],
        edits: Sequence[InboxItem],
        standing: Mapping[int, Sequence[tuple[str, str]]],
    ) -> None:
        """Delete the answers. If others have written below an answer, replace it with a sentence instead.

        The messages are from one person, in one thread. `standing` maps the id of a message to the (channel, ts) of
        the posts of its unfinished answer.
        """
        ids, thread, author = _ids(messages, edits), messages[0].thread, messages[0].author
        await self._withdraw_changes(tx, *ids)
        given = await erasure.answers_to(tx, ids)
        others = await erasure.written_by_others(tx, thread, author=author)
        language = await self._language(tx, thread)
        sentence = {"text": f"_{self.sentences.say(language, 'answer_withdrawn')}_"}
        mirrors = await outbox.mirrors(tx, thread.channel, *(row.said_at for row in messages))
        rows: list[Outgoing] = []
        for row in messages:
            turns_of = {row.id, *(edit.id for edit in _edits_of(row, edits))}
            said = [(each.thread.channel, ts) for each in given if each.turn in turns_of for ts in each.posts]
            others_went_on = any(ts > row.ts for ts in others)
            for channel, ts in dict.fromkeys([*said, *standing.get(row.id, ())]):
                stays = others_went_on and channel == thread.channel
                method, payload = ("update", {"ts": ts, **sentence, "blocks": []}) if stays else ("delete", {"ts": ts})
                rows.append(Outgoing(f"withdrawn/{channel}/{ts}", method, channel, payload))  # type: ignore[arg-type]
        prefixes = [f"{kind}/{turn}/" for turn in ids for kind in ("turn", "relay")]
        posts = await outbox.posts_under(tx, *prefixes, *(note for mirror in mirrors for note in notes_on(mirror)))
        rows += [Outgoing(f"withdrawn/{post.key}", "delete", post.channel, {}, parent=post.key) for post in posts]
        for row in messages:
            theirs = [mirror for mirror in mirrors if mirror.source == (thread.channel, row.said_at)]
            if row.kind == "staff":
                rows += self.relay.deleted_by_staff(row.ts, theirs, thread)
            else:
                rows += self.relay.deleted_by_customer(row.ts, theirs)
        if messages[0].kind != "staff":
            title = self.sentences.say(language, "session_untitled")
            # It is not stored which message gave the thread's session its title, so the title goes in any case.
            key = f"withdrawn/{messages[0].id}/title"
            rows.append(Outgoing(key, "session", thread.channel, {"title": title}, thread_ts=thread.ts))
        await outbox.add(tx, *rows, now=self.clock.now())

    async def _erase(self, go_on: GoOn, messages: Sequence[InboxItem], edits: Sequence[InboxItem]) -> None:
        """Blank what was made from the messages, and erase the messages themselves.

        They are from one person, in one thread. From the first transaction on, nothing new that is made from the
        thread holds their words. The last transaction erases the words themselves. Until then, everything is done
        again after a crash.
        """
        tx, now, said = await go_on(), self.clock.now(), [*messages, *edits]
        deleted = await redaction.find(tx, messages, edits)
        unfinished = await turns.with_steps(tx, deleted.ids)
        for each in said:
            if each.id in unfinished:
                for use in costs_of(each, rounds_of(await turns.recall(tx, each.id))):
                    await spending.add(tx, use, now=now)
        await erasure.forget_answers(tx, deleted.ids)
        await erase_turns(tx, deleted.ids)
        await erasure.hide(tx, said)
        await redaction.blank_threads(await go_on(), deleted, now=now)
        await redaction.blank_cases(await go_on(), deleted, now=now)
        await redaction.drop_proposals(await go_on(), deleted, now=now)
        await redaction.blank_copies(await go_on(), deleted)
        tx = await go_on()
        await redaction.renew_transcripts(tx, deleted, now=now)
        await erasure.tombstone(tx, said)

    async def _mark(self, tx: Transaction, mirrors: list[OutboxRow]) -> str:
        """Return the mark of an edited copy, in the language of its case."""
        case_id = next((mirror.case_id for mirror in mirrors if mirror.case_id is not None), None)
        case = None if case_id is None else await cases.find(tx, case_id)
        return self.sentences.say(self.sentences.language_for(case.language if case else ""), "edited_mark")

    async def _language(self, tx: Transaction, thread: ThreadRef) -> Language:
        state = await threads.find_thread(tx, thread)
        return self.sentences.language_for(state.language if state else "")


def _ids(messages: Iterable[InboxItem], edits: Iterable[InboxItem]) -> list[int]:
    return [each.id for each in (*messages, *edits)]


def _edits_of(message: InboxItem, edits: Iterable[InboxItem]) -> list[InboxItem]:
    """Return the edits that belong to the message."""
    return [edit for edit in edits if edit.said_at == message.said_at]
