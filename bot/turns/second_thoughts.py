"""What follows when people change what they wrote.

begin_anew   the message was edited before its turn ended: the turn begins again with the new words
edited       it was edited afterwards: keep the new words, show them to staff, perhaps answer once more
deleted      it was deleted: take back what was said to it, and erase every text that holds its words

Each is one transaction, and can be done again after a crash at any point. Whatever Slack must hear of it is in the
outbox by the same transaction.
"""

from dataclasses import dataclass, replace
from typing import Any

from bot.agent.journal import WRITE
from bot.cases import transcripts
from bot.cases.drafts import VOICES
from bot.cases.files import notes_on
from bot.cases.relay import OWN_WORDS, Relay
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.desk.second_thoughts import Blotter, changes_meaning
from bot.sentences import Language, Sentences
from bot.slack.outbox import Outbox
from bot.store import cases, erasure, outbox, spending, threads, turns, wishes
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import OutboxRow, Outgoing
from bot.turns.answer import Answers
from bot.turns.costs import costs_of
from bot.turns.journal import open_journal, rounds_of

ANSWER_AGAIN_SECONDS = 600.0
"""How long after a message an edit that changes its meaning is answered."""


@dataclass(frozen=True, slots=True)
class SecondThoughts:
    """Carries them out; the parts are put together in `bot.app`."""

    database: Database
    outbox: Outbox
    clock: Clock
    sentences: Sentences
    answers: Answers
    relay: Relay

    async def begin_anew(self, item: InboxItem) -> InboxItem:
        """The item with the words of its newest edit, as if it had just come; what it cost so far is booked.

        Of its steps those stay that say where an answer stands, to be replaced, and what was changed for it, not to
        be changed again.
        """
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        async with self.database.transaction() as tx:
            edit = await wishes.latest_edit(tx, item)
            body = dict(item.body)
            # A copy that has gone out is changed by the edit's own row, for which the words must be the old ones.
            is_open = not await outbox.mirrors(tx, item.thread.channel, item.said_at)
            if edit is not None and is_open and (item.kind != "edit" or item.body.get("answers")):
                body |= _words(edit)
                await wishes.replace_body(tx, edit.id, {**edit.body, "before": item.words})
                if item.kind == "edit":
                    await self._reword(tx, item, edit)
                for use in costs_of(item, journal.rounds):
                    before = replace(use, key=f"{use.key}/before/{edit.ts}")
                    await spending.add(tx, before, now=self.clock.now())
                await turns.keep_deeds(tx, item.id, prefix=WRITE, now=self.clock.now())
            await wishes.replace_body(tx, item.id, body, anew=True)
        return replace(item, body=body, wish="", attempts=1)

    async def edited(self, edit: InboxItem) -> InboxItem | None:
        """Keep the new words; the edit again when it is to be answered, None when nothing more is to be done."""
        if edit.body.get("answers"):
            return edit
        async with self.database.transaction() as tx:
            row = await wishes.written(tx, edit.thread.team, edit.thread.channel, edit.said_at)
            if row is None or wishes.is_erased(row.body) or wishes.edited_at(row.body) >= edit.ts:
                return None
            if await wishes.latest_edit(tx, edit) is not None:
                # The later one stands for both.
                return None
            if wishes.is_overheard(row.body):
                return await self._overheard(tx, edit)
            before, said = row.words, str(row.body["text"])
            noted = {**edit.body, "before": before}
            await wishes.replace_body(tx, edit.id, noted)
            await wishes.replace_body(tx, row.id, {**row.body, **_words(edit)})
            await turns.reword(tx, row.id, edit.words)
            mirrors = await outbox.mirrors(tx, row.thread.channel, row.said_at)
            case = await cases.find_open(tx, row.thread)
            if row.kind == "staff":
                rows = self.relay.edited_by_staff(edit, mirrors, mark=await self._mark(tx, mirrors))
            else:
                rows = self.relay.edited_by_customer(edit, mirrors, case, before=before)
            await outbox.add(tx, *rows, now=self.clock.now())
            is_for_people = row.kind == "staff" or bool(mirrors) or case is not None
            answers = (
                not is_for_people
                and float(edit.ts) - float(row.ts) <= ANSWER_AGAIN_SECONDS
                and changes_meaning(said, str(edit.body["text"]))
                and not await wishes.stopped_since(tx, edit)
            )
            if answers:
                await wishes.replace_body(tx, edit.id, {**noted, "answers": True})
        self.outbox.wake()
        return replace(edit, body=noted) if answers else None

    async def _overheard(self, tx: Transaction, edit: InboxItem) -> InboxItem | None:
        """An edit of what was said to others: with a mention of us it is said to us, else nothing of it is kept."""
        if not edit.body.get("to_us"):
            await wishes.overhear(tx, edit)
            return None
        body = {**edit.body, "before": "", "answers": True}
        await wishes.replace_body(tx, edit.id, body)
        return replace(edit, body=body)

    async def deleted(self, deed: InboxItem, *, scrubs: bool = True) -> None:
        """Take back what was said to the message at `deed.said_at`, and erase it; does nothing when that is done.

        Whoever erases more than this message has the log emptied afterwards, and not with each (`scrubs`).
        """
        async with self.database.transaction() as tx:
            row = await wishes.written(tx, deed.thread.team, deed.thread.channel, deed.said_at)
            edits = await wishes.edits_of(tx, deed.thread.key, deed.said_at)
        if row is None or wishes.is_erased(row.body):
            if scrubs:
                await self.database.scrub()
            return
        # An answer that is half written is in no table but the journal; what nobody noted is in the thread.
        standing = [place for each in (row, *edits) for place in await self.answers.take_down(each)]
        async with self.database.transaction() as tx:
            await self._withdraw(tx, row, edits, standing)
            await self._erase(tx, row, edits)
        self.outbox.wake()
        if scrubs:
            await self.database.scrub()

    async def _reword(self, tx: Transaction, item: InboxItem, edit: InboxItem) -> None:
        """Keep the words of a later edit for the message that an earlier one is being answered for."""
        row = await wishes.written(tx, item.thread.team, item.thread.channel, item.said_at)
        if row is not None:
            await wishes.replace_body(tx, row.id, {**row.body, **_words(edit)})
            await turns.reword(tx, row.id, edit.words)

    async def _withdraw(
        self, tx: Transaction, row: InboxItem, edits: list[InboxItem], standing: list[tuple[str, str]]
    ) -> None:
        """Delete the answers, or put a sentence in their place where others have gone on below them."""
        ids = [row.id, *(edit.id for edit in edits)]
        given = [(each.thread.channel, ts) for each in await erasure.answers_to(tx, ids) for ts in each.posts]
        others = await erasure.said_besides(tx, row.thread, besides=ids)
        others_went_on = any(said.author != row.author and said.ts > row.ts for said in others)
        sentence = {"text": f"_{self.sentences.say(await self._language(tx, row), 'answer_withdrawn')}_"}
        rows = []
        for channel, ts in dict.fromkeys([*given, *standing]):
            stays = others_went_on and channel == row.thread.channel
            method, payload = ("update", {"ts": ts, **sentence, "blocks": []}) if stays else ("delete", {"ts": ts})
            rows.append(Outgoing(f"withdrawn/{channel}/{ts}", method, channel, payload))  # type: ignore[arg-type]
        mirrors = await outbox.mirrors(tx, row.thread.channel, row.said_at)
        prefixes = [f"{kind}/{turn}/" for turn in ids for kind in ("turn", "relay")]
        for prefix in (*prefixes, *(note for mirror in mirrors for note in notes_on(mirror))):
            posts = await outbox.posts_under(tx, prefix)
            rows += [Outgoing(f"withdrawn/{post.key}", "delete", post.channel, {}, parent=post.key) for post in posts]
        if row.kind == "staff":
            rows += self.relay.deleted_by_staff(row.ts, mirrors, row.thread)
        else:
            rows += self.relay.deleted_by_customer(row.ts, mirrors)
            title = self.sentences.say(await self._language(tx, row), "session_untitled")
            # Which message the thread's session is called after nobody knows.
            key, thread = f"withdrawn/{row.id}/title", row.thread
            rows.append(Outgoing(key, "session", thread.channel, {"title": title}, thread_ts=thread.ts))
        await outbox.add(tx, *rows, now=self.clock.now())

    async def _erase(self, tx: Transaction, row: InboxItem, edits: list[InboxItem]) -> None:
        """Erase the words wherever they are kept, and have staff's messages that quote them changed."""
        ids = [row.id, *(edit.id for edit in edits)]
        by_staff = row.kind == "staff"
        given = await erasure.answers_to(tx, ids)
        places = list(dict.fromkeys([row.thread, *(each.thread for each in given)]))
        keys = [place.key for place in places]
        mirrors = await outbox.mirrors(tx, row.thread.channel, row.said_at)
        # A later case of the thread in which a copy stands quotes it in its transcript.
        copied_to = [ThreadRef(row.thread.team, each.channel, each.thread_ts).key for each in mirrors if each.thread_ts]
        concerned = await erasure.cases_of(
            tx, [*keys, *copied_to], more=[mirror.case_id for mirror in mirrors if mirror.case_id is not None]
        )
        others = await erasure.words_besides(tx, row.thread, concerned, besides=ids, by_staff=by_staff)
        others += [*OWN_WORDS, *VOICES]
        for case in await cases.find_all(tx, concerned):
            others += self.answers.cases.messages.own_words(case)
        said = {words for each in (row, *edits) for words in (each.words, str(each.body.get("before", "")))}
        blotters = [Blotter(words, others) for words in said]

        def clean(value: object) -> object:
            for blotter in blotters:
                value = blotter.clean_fields(value)
            return value

        for each in (row, *edits):
            for use in costs_of(each, rounds_of(await turns.recall(tx, each.id))):
                await spending.add(tx, use, now=self.clock.now())
        await erasure.forget_answers(tx, ids)
        await erasure.clean_threads(tx, [*keys, *copied_to], since=row.ts, clean=clean)
        await erasure.clean_cases(tx, concerned, clean=clean)
        said_at = "" if by_staff else row.ts
        files = await transcripts.renewed(tx, concerned, deed=row.id, said_at=said_at)
        await outbox.add(tx, *files, now=self.clock.now())
        spared = await erasure.others_copies(tx, concerned, besides=(row.thread.channel, row.said_at))
        copies = {mirror.key for mirror in mirrors} | {f"relay/{edit.id}/before" for edit in edits}
        copies |= {note for mirror in mirrors for note in notes_on(mirror)}
        reworded = {f"{mirror.key}/edited/{edit.ts}" for mirror in mirrors for edit in edits}
        for key, shown, payload in await erasure.quoting(tx, concerned, clean=clean):
            if key not in copies | spared and shown.channel in self.relay.staff.channels:
                change = Outgoing(f"erased/{row.id}/{shown.id}", "update", shown.channel, payload, parent=key)
                await outbox.add(tx, change, now=self.clock.now())
        # What is said to customers is not made of what staff wrote, save the copies of it.
        within = self.relay.staff.channels if by_staff else None
        await erasure.clean_outbox(tx, concerned, places, ids, clean=clean, spared=spared, within=within)
        await erasure.blank(tx, list(copies | reworded))
        await erasure.tombstone(tx, [row, *edits])

    async def _mark(self, tx: Transaction, mirrors: list[OutboxRow]) -> str:
        """What tells the customer that a copy was edited, in the language of its case."""
        case_id = next((mirror.case_id for mirror in mirrors if mirror.case_id is not None), None)
        case = None if case_id is None else await cases.find(tx, case_id)
        return self.sentences.say(self.sentences.language_for(case.language if case else ""), "edited_mark")

    async def _language(self, tx: Transaction, row: InboxItem) -> Language:
        state = await threads.find_thread(tx, row.thread)
        return self.sentences.language_for(state.language if state else "")


def _words(edit: InboxItem) -> dict[str, Any]:
    """What of an edit a message's body takes over."""
    return wishes.words_in(edit.body) | {"edited": edit.ts}
