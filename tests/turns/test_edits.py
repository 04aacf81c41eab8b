"""What an edit leaves of a running turn, how a stop is kept, and that a deleted message is in no table any more."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.cases.drafts import CaseDrafts
from bot.cases.step import UnknownCase
from bot.conversation import ThreadRef
from bot.desk_file.model import DeskFile
from bot.errors import StoreUnavailable
from bot.help_center.articles import suggestion_key
from bot.language.sentences import load_sentences
from bot.store import cases, drafts, inbox, interrupts, outbox, schema, suggestions, summaries, turns
from bot.store.bodies import MessageBody
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.erasure import ANSWER_GONE, NO_TITLE
from bot.store.inbox import Arrival, InboxItem
from bot.store.outbox import Outgoing
from bot.store.suggestions import State, Suggestion
from bot.store.summaries import Summary
from bot.turns.answers.journal import open_journal
from bot.turns.batches import Pieces
from bot.turns.edits import MessageEdits
from bot.views import home
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.store.rows import a_turn
from tests.store.test_interrupts import deletion, edit
from tests.turns.answering import CUSTOMER, build_answers, build_relay, with_database
from tests.turns.arrivals import TEAM, arrival

CANARY = "zebracanary77"
THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
REPLY = {"text": "Let me see.", "calls": [], "usage": {}, "finish": "stop", "model": "m", "extra": {}}


class Desk:
    """Second thoughts over a real database and a real Slack; nothing is sent unless a test does it."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.database = database
        self.slack = slack
        self.clock = ManualClock()
        self.answers = build_answers(database, slack.client, self.clock)
        self.outbox, self.cases, sentences = self.answers.posts.outbox, self.answers.cases, self.answers.sentences
        self.relay = build_relay(database, self.outbox, slack.client, self.clock)
        self.thoughts = MessageEdits(database, self.outbox, self.clock, sentences, self.answers.leftovers, self.relay)

    async def receives(self, *arrivals: Arrival) -> list[InboxItem]:
        """Store arrivals, and begin at their rows."""
        async with self.database.transaction() as tx:
            stored = await interrupts.store_all(tx, arrivals, now=self.clock.now())
            items = [await inbox.start(tx, each.item) for each in stored if each.item is not None]
        return [item for item in items if item is not None]

    async def notes(self, item: InboxItem, **steps: Any) -> None:
        """Journal steps; a double underscore stands for a slash, a single one for a dash."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        for name, value in steps.items():
            await journal.record(name.replace("__", "/").replace("_", "-"), value)

    async def answered(self, item: InboxItem, text: str, *, posts: tuple[str, ...] = ()) -> None:
        """Keep a finished turn, and close its row."""
        said: list[dict[str, Any]] = [
            {"type": "customer", "text": item.words, "speaker": item.author, "ts": item.ts},
            {"type": "agent", "text": text, "calls": [], "agent": "desk", "model": "m", "extra": {"thought": text}},
        ]
        record = a_turn(
            id=item.id,
            thread=item.thread,
            ts=item.ts,
            customer=item.author,
            agent="desk",
            messages=said,
            trace=said,
            posts=posts,
        )
        async with self.database.transaction() as tx:
            await turns.save(tx, record, now=self.clock.now())
            await inbox.finish(tx, item.id, "done", reason="answered", now=self.clock.now())

    async def everything(self) -> str:
        """Every value in every table, as text."""
        async with self.database.transaction() as tx:
            tables = [(await tx.execute(select(table))).all() for table in schema.metadata.sorted_tables]
        return json.dumps([[list(row) for row in rows] for rows in tables], default=str, ensure_ascii=False)

    async def queued(self) -> list[tuple[str, str]]:
        """What Slack is to be told, as (method, key)."""
        table = schema.outbox
        async with self.database.transaction() as tx:
            rows = await tx.execute(select(table.c.method, table.c.key).order_by(table.c.id))
            return [(row.method, row.key) for row in rows]

    async def opened(self, thread: ThreadRef, *, summary: str, owner: str = "") -> Case:
        """A case of Customer A, with its owner when it has one."""
        case = await self.cases.open(thread, CUSTOMER, reason="billing", priority="high", summary=summary)
        return await self.cases.claim(case.ref, owner) if owner else case


def staff(ts: str, text: str, *, author: str = "U0AGENTA") -> Arrival:
    """What somebody of the team writes under a card."""
    return arrival(ts, text=text, thread_ts="0.9", channel="C0AGENTS", kind="staff", author=author)


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack)


def call_entry(call: str, *, write: str = "", ok: bool = True) -> dict[str, Any]:
    result = {"type": "result", "call_id": call, "name": "refund", "content": "done", "ok": ok, "private": False}
    return {"result": result, "settled": True, "broke": False, "code": "", "write": write}


async def test_a_turn_that_begins_anew_keeps_what_it_changed_and_where_it_stands(desk: Desk) -> None:
    item, _ = await desk.receives(arrival("1.1"), edit("1.1", "2.0", "Another?"))
    await desk.notes(
        item,
        stream={"opened": ["1.2"]},
        round_1=REPLY,
        call_c1=call_entry("c1"),
        call_c2=call_entry("c2", write="write-abc"),
        draft__call_c3=call_entry("c3", write="write-def"),
    )
    again = await desk.thoughts.begin_anew(replace(item, interrupt="edited"))
    assert (again.words, again.attempts, again.interrupt) == ("Another?", 1, "")
    journal = await open_journal(desk.database, desk.clock, turn=item.id, attempt=item.fence)
    assert {result.call_id for result in journal.side_effects} == {"c2", "c3"}
    assert journal.has_written
    assert journal.known("stream") == {"opened": ["1.2"]}
    assert (journal.rounds, journal.known("call-c1")) == ({}, None)
    assert await desk.thoughts.begin_anew(again) == again


async def test_an_edit_is_kept_once_and_answered_once_however_often_it_is_worked_on(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1"))
    await desk.answered(item, "It is on its way.")
    (changed,) = await desk.receives(edit("1.1", "2.0", "Can I return ORD-7?"))
    assert await desk.thoughts.edited(changed) is not None
    async with desk.database.transaction() as tx:
        stored = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == changed.id))).one()
    # As after a crash between this and the answer.
    assert await desk.thoughts.edited(inbox.item_of(stored)) is not None
    await desk.answered(changed, "Yes.")
    (slip,) = await desk.receives(edit("1.1", "3.0", "can I return ORD-7"))
    assert await desk.thoughts.edited(slip) is None
    (late,) = await desk.receives(edit("1.1", "700.0", "Something else?"))
    assert await desk.thoughts.edited(late) is None
    assert "Something else?" in await desk.everything()


async def test_two_edits_of_an_answered_message_are_one_answer(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1"))
    await desk.answered(item, "It is on its way.")
    first, then = await desk.receives(edit("1.1", "2.0", "Can I return it?"), edit("1.1", "3.0", "Is ORD-8 lost?"))
    assert await desk.thoughts.edited(first) is None
    assert await desk.thoughts.edited(then) is not None


async def test_a_stop_that_a_crash_came_between_is_said_and_kept(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1"))
    await desk.notes(item, round_1=REPLY, call_c1=call_entry("c1", write="write-abc"))
    for _ in range(2):
        assert await desk.answers.leftovers.stop(item, "de") == "stopped"
    async with desk.database.transaction() as tx:
        said = (await tx.execute(select(schema.outbox.c.payload))).scalars().all()
        assert await turns.ended(tx, item.id, item.thread) == "stopped"
    assert said == [{"text": load_sentences().say("de", "stopped_part_done")}]


class Dying(Database):
    """A database that dies after so many transactions, with whoever uses it."""

    def __init__(self, database: Database, lives: int) -> None:
        self._database = database
        self.lives = lives

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[AsyncConnection]:
        if not self.lives:
            raise StoreUnavailable("SQLITE_IOERR")
        self.lives -= 1
        async with self._database.transaction(urgent=urgent) as tx:
            yield tx

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        async with self.transaction() as tx:
            yield tx

    async def scrub(self) -> None:
        await self._database.scrub()


async def test_wherever_a_stop_is_cut_off_it_is_known_where_the_half_answer_stands(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1"))
    await desk.notes(item, stream={"opened": ["5.5"]}, round_1=REPLY)
    for lives in range(20):
        dying = with_database(desk.answers, Dying(desk.database, lives))
        with suppress(StoreUnavailable):
            await dying.leftovers.stop(item, "en")
        async with desk.database.transaction() as tx:
            (posts,) = (await tx.execute(select(schema.turn.c.posts))).scalars().all() or [None]
            noted = (await turns.recall(tx, item.id)).get("stream")
        assert posts == ["5.5"] if noted is None else noted == {"opened": ["5.5"]}
    assert posts == ["5.5"]


async def test_a_deleted_message_is_in_no_table_any_more(desk: Desk) -> None:
    text = f"My code is {CANARY} & I live in Elm Street"
    (item,) = await desk.receives(arrival("1.1", text=text))
    await desk.answered(item, f"You wrote {CANARY}.", posts=("1.15",))
    later, changed = await desk.receives(
        arrival("1.2", thread_ts="1.1", text="And now?"), edit("1.1", "1.3", f"My code is {CANARY} and more")
    )
    await desk.answered(later, f"As I said, {CANARY} it is.", posts=("1.25",))
    await desk.thoughts.edited(changed)
    case = await desk.cases.open(THREAD, CUSTOMER, reason="billing", priority="high", summary=f"Has {CANARY}.")
    async with desk.database.transaction() as tx:
        await drafts.save(tx, case.id, 99, [f"Dear customer, {CANARY} is fine."], now=1.0)
        await summaries.save(tx, THREAD, 0, Summary("1.2", f"They have {CANARY}."), now=1.0)
        await tx.execute(update(schema.thread).values(note=f"It was about {CANARY}."))
        copy = Outgoing(
            f"relay/{item.id}",
            "post",
            "C0AGENTS",
            {"text": f"*Customer A* (customer)\n>{text}"},
            parent=f"case/{case.id}/card",
            case_id=case.id,
            source=("D0CUSTOMERA", "1.1"),
        )
        await outbox.add(tx, copy, now=1.0)
    assert (await desk.everything()).count(CANARY) > 8
    (gone,) = await desk.receives(deletion("1.1", "5.0"))
    await desk.thoughts.deleted(gone)
    left = await desk.everything()
    assert CANARY not in left
    assert "Elm Street" not in left
    assert "And now?" in left
    queued = await desk.queued()
    assert ("delete", "withdrawn/D0CUSTOMERA/1.15") in queued
    assert ("delete", "withdrawn/D0CUSTOMERA/1.25") not in queued
    assert ("update", f"relay/{item.id}/deleted/1.1") in queued
    assert any(method == "update" and key.startswith(f"erased/{item.id}/") for method, key in queued)
    await desk.thoughts.deleted(gone)
    assert await desk.queued() == queued


async def test_what_remains_of_a_deleted_message_is_its_length(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1", text="Hello"))
    (gone,) = await desk.receives(deletion("1.1", "5.0"))
    await desk.thoughts.deleted(gone)
    async with desk.database.transaction() as tx:
        body = (await tx.execute(select(schema.inbox.c.body).where(schema.inbox.c.id == item.id))).scalar_one()
    assert body == {"deleted": {"length": 5}}


async def test_who_deletes_the_words_of_somebody_else_deletes_their_own_copy_alone(desk: Desk) -> None:
    text = f"Where is the {CANARY} lamp I ordered?"
    (asked,) = await desk.receives(arrival("1.1", channel="C0SUPPORT", text=text))
    await desk.answered(asked, f"The {CANARY} lamp I looked up is on its way.")
    copied, *_ = await desk.receives(
        arrival("1.2", thread_ts="1.1", channel="C0SUPPORT", author="U0CUSTOMERB", text=text)
    )
    await desk.answered(copied, "It is yours?", posts=("1.25",))
    before = await desk.everything()
    case = await desk.opened(asked.thread, summary=text)
    (gone,) = await desk.receives(deletion("1.2", "5.0", thread_ts="1.1", channel="C0SUPPORT", author="U0CUSTOMERB"))
    await desk.thoughts.deleted(gone)
    left = await desk.everything()
    async with desk.database.transaction() as tx:
        shown = await outbox.by_key(tx, f"case/{case.id}/transcript")
        (now,) = await cases.find_all(tx, [case.id])
    assert shown is not None
    # The case was opened when both messages were there. What both wrote is quoted as the words of one now.
    assert shown.payload["text"].count(text) == 1
    assert (now.title, now.summary) == (NO_TITLE, "")
    # Its customer reads a neutral title in their own language.
    tab = home.for_customer(load_sentences(), "de", open_cases=[now], past=[], chosen="", desk=DeskFile())
    assert load_sentences().say("de", "session_untitled") in str(tab)
    assert NO_TITLE not in str(tab)
    # The row in the inbox, and what was said and what was traced in the turn that answered it. The transcript's post
    # and its update are new.
    assert before.count(text) - left.count(text) == 3 - 2
    assert f"The {CANARY} lamp I looked up" in left


async def test_an_answer_to_somebody_else_that_does_not_repeat_a_deleted_message_stays(desk: Desk) -> None:
    place: Any = {"thread_ts": "1.1", "channel": "C0SUPPORT", "author": "U0CUSTOMERB"}
    (item,) = await desk.receives(arrival("1.1", channel="C0SUPPORT", text=f"My code is {CANARY}"))
    await desk.answered(item, "I see.")
    plain, quoting = await desk.receives(
        arrival("1.2", text="How long does shipping take?", **place), arrival("1.3", text="And what else?", **place)
    )
    await desk.answered(plain, "Three days.")
    await desk.answered(quoting, f"The code {CANARY} is known.")
    (gone,) = await desk.receives(deletion("1.1", "5.0", channel="C0SUPPORT"))
    await desk.thoughts.deleted(gone)
    async with desk.database.transaction() as tx:
        rows = await tx.execute(select(schema.turn.c.messages).order_by(schema.turn.c.id))
        said = [[each["text"] for each in messages] for messages in rows.scalars()]
    assert said == [[], ["How long does shipping take?", "Three days."], ["And what else?", ANSWER_GONE.text]]
    assert CANARY not in await desk.everything()


async def test_a_case_that_was_opened_before_keeps_its_title(desk: Desk) -> None:
    await desk.receives(arrival("1.1", text="My lamp is broken"))
    case = await desk.opened(THREAD, summary="A broken lamp", owner="U0AGENTA")
    desk.clock.advance(60.0)
    (more,) = await desk.receives(arrival("1.2", thread_ts="1.1", text=f"My code is {CANARY}"))
    await desk.relay.from_customer(case, more, CUSTOMER)
    (gone,) = await desk.receives(deletion("1.2", "5.0", thread_ts="1.1"))
    await desk.thoughts.deleted(gone)
    assert CANARY not in await desk.everything()
    async with desk.database.transaction() as tx:
        (now,) = await cases.find_all(tx, [case.id])
    assert (now.title, now.summary) == (case.title, "A broken lamp")


async def test_drafts_and_undecided_suggestions_that_saw_it_go_and_are_taken_out_of_slack(desk: Desk) -> None:
    await desk.receives(arrival("1.1", text=f"My code is {CANARY}"))
    case = await desk.opened(THREAD, summary="A code", owner="U0AGENTA")
    now, words = desk.clock.now(), f"Your code is {CANARY}, we know."
    posts = CaseDrafts(desk.database, desk.outbox, desk.clock, desk.relay, "C0AGENTS")
    async with desk.database.transaction() as tx:
        await drafts.save(tx, case.id, 90, [words], now=now)
        await drafts.save(tx, case.id, 91, [words], now=now)
        await outbox.add(tx, *(posts.shown(case, asked, [words]) for asked in (90, 91)), now=now)
        states: tuple[State, ...] = ("pending", "discarded", "expired", "approved")
        for number, state in enumerate(states, start=1):
            title = "Codes" if state == "approved" else words
            made = Suggestion(0, f"{number}", case.id, title, title, title, state=state, asked_by="U", made_at=now)
            await suggestions.add(tx, made)
            shown = Outgoing(suggestion_key(number), "post", "C0AGENTS", {"text": title}, case_id=case.id)
            await outbox.add(tx, shown, now=now)
    await posts.send(case.ref, "U0AGENTA", asked=91, number=1, ts="2.5")
    (gone,) = await desk.receives(deletion("1.1", "5.0"))
    await desk.thoughts.deleted(gone)
    assert CANARY not in await desk.everything()
    queued = await desk.queued()
    for key in ("drafts/90", "drafts/91", *map(suggestion_key, (1, 2, 3))):
        assert ("delete", f"withdrawn/{key}") in queued
    # Staff hear that the draft which was about to leave did not.
    assert ("post", "drafts/91/sent/sorry") in queued
    async with desk.database.transaction() as tx:
        assert [each.title for each in await suggestions.articles(tx)] == ["Codes"]
        sent = await outbox.by_key(tx, "drafts/91/sent")
    assert sent is not None
    assert sent.state == "failed"
    with pytest.raises(UnknownCase):
        await posts.send(case.ref, "U0AGENTA", asked=90, number=1, ts="2.4")
    await desk.thoughts.deleted(gone)
    assert await desk.queued() == queued


async def test_what_quotes_a_merged_case_is_made_anew(desk: Desk) -> None:
    (other,) = await desk.receives(arrival("7.1", text="My chair is late"))
    into = await desk.opened(other.thread, summary="A chair", owner="U0AGENTA")
    await desk.receives(arrival("1.1", text=f"My code is {CANARY}"), arrival("1.2", thread_ts="1.1", text="And now?"))
    case = await desk.opened(THREAD, summary="A code", owner="U0AGENTA")
    await desk.cases.merge(case.ref, "U0AGENTA", into=into.ref)
    assert CANARY in await desk.everything()
    (gone,) = await desk.receives(deletion("1.1", "5.0"))
    await desk.thoughts.deleted(gone)
    assert CANARY not in await desk.everything()
    async with desk.database.transaction() as tx:
        shown = await outbox.by_key(tx, f"case/{case.id}/merged-into/{into.id}")
    assert shown is not None
    assert case.ref in shown.payload["text"]
    assert "And now?" in shown.payload["text"]


class EachAlone:
    """Pieces that are a transaction each. The process dies between two of them, after so many."""

    def __init__(self, database: Database, lives: int) -> None:
        self.database = database
        self.lives = lives
        self.stack = AsyncExitStack()

    async def go_on(self) -> AsyncConnection:
        """As Pieces.go_on."""
        await self.pause()
        if not self.lives:
            raise StoreUnavailable("SQLITE_IOERR")
        self.lives -= 1
        return await self.stack.enter_async_context(self.database.transaction())

    async def pause(self) -> None:
        """As Pieces.pause."""
        await self.stack.aclose()


async def test_what_is_done_again_after_a_crash_between_any_two_steps_ends_the_same(desk: Desk) -> None:
    text = f"My code is {CANARY}"
    (item,) = await desk.receives(arrival("1.1", text=text))
    await desk.answered(item, f"You wrote {CANARY}.", posts=("1.15",))
    (later,) = await desk.receives(arrival("1.2", thread_ts="1.1", text="And now?"))
    await desk.answered(later, f"As I said, {CANARY} it is.")
    case = await desk.opened(THREAD, summary=f"Has {CANARY}.")
    async with desk.database.transaction() as tx:
        await drafts.save(tx, case.id, 99, [f"Dear customer, {CANARY} is fine."], now=desk.clock.now())
        await outbox.add(tx, Outgoing("drafts/99", "post", "C0AGENTS", {"text": text}, case_id=case.id), now=1.0)
    for lives in range(20):
        pieces = EachAlone(desk.database, lives)
        with suppress(StoreUnavailable):
            await desk.thoughts.deleted_together([item], pieces=cast(Pieces, pieces))
            await pieces.pause()
            break
    assert 6 < lives < 19
    assert CANARY not in await desk.everything()
    methods = [method for method, key in await desk.queued() if key.startswith(("withdrawn/", "erased/"))]
    assert sorted(methods) == ["delete", "delete", "session", "update", "update"]


async def test_of_a_message_that_was_sent_twice_the_other_stays(desk: Desk) -> None:
    (first,) = await desk.receives(arrival("1.1", text=CANARY))
    await desk.answered(first, f"What of {CANARY}?")
    (again,) = await desk.receives(arrival("1.2", thread_ts="1.1", text=CANARY))
    await desk.answered(again, "Once more?")
    (gone,) = await desk.receives(deletion("1.2", "5.0", thread_ts="1.1"))
    before = await desk.everything()
    await desk.thoughts.deleted(gone)
    assert before.count(CANARY) - (await desk.everything()).count(CANARY) == 3


async def test_what_somebody_else_wrote_is_theirs_even_in_words_that_nobody_keeps(desk: Desk) -> None:
    (other,) = await desk.receives(arrival("1.1", channel="C0SUPPORT", text=f"It is {CANARY}"))
    await desk.answered(other, "I see.")
    async with desk.database.transaction() as tx:
        await interrupts.replace_body(tx, other.id, MessageBody())
    (item,) = await desk.receives(
        arrival("1.2", thread_ts="1.1", channel="C0SUPPORT", author="U0CUSTOMERB", text=f"Not {CANARY}!")
    )
    (gone,) = await desk.receives(deletion("1.2", "5.0", thread_ts="1.1", channel="C0SUPPORT", author="U0CUSTOMERB"))
    await desk.thoughts.deleted(gone)
    assert item.words not in (left := await desk.everything())
    assert f"It is {CANARY}" in left


async def test_the_words_of_the_card_itself_stay_whoever_writes_them_too(desk: Desk) -> None:
    words = f"Customer A, assistant: draft replies, hand back, resolve! Waiting claimed medium priority {CANARY}"
    await desk.receives(arrival("1.1", text=words))
    case = await desk.opened(THREAD, summary=f"Wants {CANARY}")
    (gone,) = await desk.receives(deletion("1.1", "2.1"))
    await desk.thoughts.deleted(gone)
    assert CANARY not in await desk.everything()

    async with desk.database.transaction() as tx:
        table = schema.outbox
        rows = (await tx.execute(select(table).where(table.c.channel == "C0AGENTS").order_by(table.c.id))).all()
    changed = next(row.payload for row in rows if row.key.startswith("erased/"))
    shown = json.dumps(changed, ensure_ascii=False)
    for label in (
        "Claim",
        "Customer",
        "Priority",
        "High",
        "Waiting",
        "a dispute about money",
        "written by the assistant",
    ):
        assert label in shown, label
    opener = next(row.payload for row in rows if row.key == f"case/{case.id}/opener")
    assert "go to the customer" in json.dumps(opener)


async def test_what_staff_delete_leaves_the_words_of_customers_and_colleagues(desk: Desk) -> None:
    said = f"My {CANARY} lamp does not light up"
    (asked,) = await desk.receives(arrival("1.1", text=said))
    await desk.answered(asked, f"Your {CANARY} lamp does not light up?")
    case = await desk.opened(asked.thread, summary=said, owner="U0AGENTA")
    await desk.relay.from_customer(case, asked, CUSTOMER)
    mine, colleagues = await desk.receives(
        staff("2.1", f"So your {CANARY} lamp does not light up, we send another one."),
        staff("2.2", "// Which one, we send another one?", author="U0AGENTB"),
    )
    for each in (mine, colleagues):
        async with desk.database.transaction() as tx:
            await outbox.add(tx, desk.relay.to_customer(case, each.words, key=f"relay/{each.ts}", ts=each.ts), now=1.0)
            pending = Outgoing(f"turn/{each.id + 90}/x", "post", THREAD.channel, {"text": each.words}, case_id=case.id)
            await outbox.add(tx, pending, now=1.0)
    before = await desk.everything()
    (gone,) = await desk.receives(deletion("2.1", "5.0", thread_ts="0.9", channel="C0AGENTS", author="U0AGENTA"))
    await desk.thoughts.deleted(gone)
    left = await desk.everything()
    assert left.count(said) == before.count(said)
    assert left.count(colleagues.words) == before.count(colleagues.words)
    # The row of the message and the copy of it are gone, what waits for the customer stays.
    assert before.count(mine.words) - left.count(mine.words) == 2
    assert ("delete", "relay/2.1/deleted/2.1") in await desk.queued()


@pytest.mark.parametrize("was_answered", [True, False])
async def test_what_a_deleted_message_said_before_an_edit_is_in_no_table_either(desk: Desk, was_answered: bool) -> None:
    (item,) = await desk.receives(arrival("1.1", text=f"My code is {CANARY}"))
    await desk.opened(THREAD, summary=f"They have {CANARY}.")
    if was_answered:
        await desk.answered(item, "I see.")
        (changed,) = await desk.receives(edit("1.1", "2.0", "Where is my parcel?"))
    else:
        (changed,) = await desk.receives(edit("1.1", "2.0", "Where is my parcel?"))
        item = await desk.thoughts.begin_anew(replace(item, interrupt="edited"))
        await desk.answered(item, "On its way.")
    await desk.thoughts.edited(changed)
    later, *_ = await desk.receives(arrival("1.2", thread_ts="1.1", text="And now?"))
    await desk.answered(later, f"You had {CANARY}.")
    (gone,) = await desk.receives(deletion("1.1", "5.0"))
    await desk.thoughts.deleted(gone)
    left = await desk.everything()
    assert CANARY not in left
    assert "My code is" not in left


async def test_a_message_whose_copy_went_out_already_is_changed_by_the_edit_itself(desk: Desk) -> None:
    case = await desk.opened(THREAD, summary="A lamp.", owner="U0AGENTA")
    (said,) = await desk.receives(staff("2.1", "He is a fraud"))
    async with desk.database.transaction() as tx:
        await outbox.add(tx, desk.relay.to_customer(case, said.words, key="relay/C0AGENTS/2.1", ts="2.1"), now=1.0)
    change = edit("2.1", "2.5", "// He is a fraud", thread_ts="0.9", channel="C0AGENTS", author="U0AGENTA")
    (changed,) = await desk.receives(change)
    # As after a crash between the copy and the end of the row.
    again = await desk.thoughts.begin_anew(replace(said, interrupt="edited"))
    assert (again.words, again.interrupt) == ("He is a fraud", "")
    await desk.thoughts.edited(changed)
    assert ("delete", "relay/C0AGENTS/2.1/deleted/2.5") in await desk.queued()


@pytest.mark.parametrize("text", ["", "// He is a fraud"])
async def test_a_held_message_that_was_taken_back_is_not_sent(desk: Desk, text: str) -> None:
    case = await desk.opened(THREAD, summary="A lamp.", owner="U0AGENTA")
    (said,) = await desk.receives(staff("2.1", "He is a fraud"))
    place = {"thread_ts": "0.9", "channel": "C0AGENTS", "author": "U0AGENTA"}
    if text:
        (changed,) = await desk.receives(edit("2.1", "2.5", text, **place))
        await desk.thoughts.edited(changed)
    else:
        (gone,) = await desk.receives(deletion("2.1", "2.5", **place))
        await desk.thoughts.deleted(gone)
    assert not await desk.relay.send(case.ref, "U0AGENTA", said.ts)
    assert ("post", f"relay/C0AGENTS/{said.ts}") not in await desk.queued()


async def test_what_slack_does_not_take_back_is_told_in_the_cards_thread(desk: Desk) -> None:
    case = await desk.opened(THREAD, summary="A lamp.", owner="U0AGENTA")
    (said,) = await desk.receives(staff("2.1", "He is a fraud"))
    async with desk.database.transaction() as tx:
        await outbox.add(tx, desk.relay.to_customer(case, said.words, key="relay/C0AGENTS/2.1", ts="2.1"), now=1.0)
    (gone,) = await desk.receives(deletion("2.1", "5.0", thread_ts="0.9", channel="C0AGENTS", author="U0AGENTA"))
    await desk.thoughts.deleted(gone)
    async with desk.database.transaction() as tx:
        taken_back = await outbox.by_key(tx, "relay/C0AGENTS/2.1/deleted/2.1")
        assert taken_back is not None
        await outbox.mark_failed(tx, taken_back, "cant_delete_message", now=2.0)
        told = await outbox.by_key(tx, "relay/C0AGENTS/2.1/undeleted/2.1")
    assert told is not None
    assert (told.channel, told.thread_ts) == ("C0AGENTS", "0.9")
    assert "can still see it" in told.payload["text"]
    assert "fraud" not in told.payload["text"]


async def test_where_others_have_gone_on_below_it_an_answer_gives_way_to_a_sentence(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1", channel="C0SUPPORT"))
    await desk.answered(item, "It is on its way.", posts=("1.15",))
    await desk.receives(arrival("1.2", thread_ts="1.1", channel="C0SUPPORT", author="U0CUSTOMERB"))
    (gone,) = await desk.receives(deletion("1.1", "5.0", channel="C0SUPPORT"))
    await desk.thoughts.deleted(gone)
    assert await desk.queued() == [("update", "withdrawn/C0SUPPORT/1.15"), ("session", "withdrawn/1/title")]


async def test_a_half_written_answer_that_nobody_noted_is_taken_down(desk: Desk) -> None:
    asked = await desk.slack.client.chat.post("C0SUPPORT", text="Where is my order?")
    (item,) = await desk.receives(arrival(asked, channel="C0SUPPORT"))
    await desk.notes(item, stream={"opened": []})
    ts = await desk.slack.client.streams.start("C0SUPPORT", asked, user=item.author, team=TEAM)
    (gone,) = await desk.receives(deletion(asked, "1900000000.000100", channel="C0SUPPORT"))
    await desk.thoughts.deleted(gone)
    assert await desk.queued() == [("delete", f"withdrawn/C0SUPPORT/{ts}"), ("session", "withdrawn/1/title")]
    assert desk.slack.workspace.messages["C0SUPPORT"][ts]["streaming_state"] == "completed"


async def test_what_models_cost_stays_known_when_the_words_are_gone(desk: Desk) -> None:
    (item,) = await desk.receives(arrival("1.1"))
    await desk.notes(item, call_round_1=call_entry("round-1"))
    usage = {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0, "cost": 0.5, "estimated": False}
    async with desk.database.transaction() as tx:
        step = {
            "turn": item.id,
            "name": "round-1",
            "attempt": 1,
            "value": {**REPLY, "usage": usage},
            "recorded_at": 1.0,
        }
        await tx.execute(insert(schema.journal).values(**step))
    (gone,) = await desk.receives(deletion("1.1", "5.0"))
    await desk.thoughts.deleted(gone)
    async with desk.database.transaction() as tx:
        assert (await tx.execute(select(schema.spending.c.cost))).scalars().all() == [0.5]
        assert (await tx.execute(select(schema.journal))).all() == []
