"""Dead letters: what of them is told, who is called over them, and which can be tried again."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from bot.conversation import Customer, ThreadRef
from bot.errors import StoreUnavailable
from bot.ingest.dead_letters import dead_line
from bot.language.sentences import load_sentences
from bot.store import dead_letters, inbox, interrupts, schema, traces, turns
from bot.store.bodies import InteractionBody
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.answers.journal import open_journal
from bot.turns.dead_letters import ATTEMPTS
from tests.doubles.local_slack import LocalSlack
from tests.store.test_interrupts import deletion
from tests.turns.answering import CUSTOMER, KnownCustomer, with_database
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_edits import Dying, call_entry
from tests.turns.test_stopping import PATIENCE, Desk
from tests.turns.test_turn import untouched


class Erasing:
    """Second thoughts that note whose words are erased."""

    def __init__(self) -> None:
        self.erased: list[int] = []

    async def deleted(self, change: InboxItem) -> None:
        """As MessageEdits.deleted."""
        self.erased.append(change.id)


class NothingLeft:
    """Attempts that left nothing behind."""

    async def close(self, item: InboxItem) -> None:
        """As Leftovers.close."""

    async def save(self, tx: object, item: InboxItem, *, reason: str, may_return: bool) -> None:
        """As Leftovers.save."""


class Calls:
    """Records why people are called."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    async def open(self, thread: ThreadRef, customer: Customer, *, reason: str, priority: str) -> None:
        """As Cases.open."""
        self.reasons.append(reason)


class Waked:
    """An outbox whose sender sleeps."""

    def wake(self) -> None:
        """There is no sender."""


async def set_aside(database: Database, **body: Any) -> int:
    """A dead letter whose body has these fields too; its number."""
    async with database.transaction() as tx:
        item = await inbox.add(tx, arrival("1.1"), now=1.0)
        assert item is not None
        values = {"body": {"text": "Where is it?", "files": []} | body, "attempts": 4, "fence": 4}
        await tx.execute(update(schema.inbox).values(**values))
        await inbox.finish(tx, item, "dead", reason="failed", now=2.0)
    return item


async def test_a_message_that_failed_and_is_deleted_calls_nobody(database: Database) -> None:
    thoughts = Erasing()
    taking = replace(untouched(database), edits=thoughts, outbox=Waked()).build()
    async with database.transaction() as tx:
        message, _ = await interrupts.store_all(tx, [arrival("1.1"), deletion("1.1", "2.0")], now=1.0)
        assert message.item is not None
        await tx.execute(
            update(schema.inbox).where(schema.inbox.c.id == message.item).values(attempts=ATTEMPTS, fence=ATTEMPTS)
        )
    await taking.take(message.item)
    async with database.transaction() as tx:
        row = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == message.item))).one()
    assert (row.state, row.reason, thoughts.erased) == ("dropped", "deleted", [message.item])


@pytest.mark.parametrize(
    ("action", "called"), [("esc.person", []), ("esc.customer", ["technical"]), ("case.escalate", ["technical"])]
)
async def test_who_pressed_a_button_that_failed_gets_a_person_unless_the_button_is_unknown(
    database: Database, action: str, called: list[str]
) -> None:
    relay = SimpleNamespace(agent_channel="C0AGENTS")
    people = Calls()
    parts = replace(untouched(database), relay=relay, outbox=Waked(), leftovers=NothingLeft())
    taking = replace(parts, cases=people, identities=KnownCustomer()).build()
    async with database.transaction() as tx:
        press = replace(arrival("1.1", kind="interaction"), body=InteractionBody(action, "1"))
        row = await inbox.add(tx, press, now=1.0)
        assert row is not None
        await tx.execute(update(schema.inbox).values(attempts=ATTEMPTS, fence=ATTEMPTS))
    await taking.take(row)
    async with database.transaction() as tx:
        stored = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == row))).one()
    assert (stored.state, stored.reason, people.reasons) == ("dead", "failed", called)


async def test_of_a_deletion_that_failed_it_is_said_that_the_text_is_still_there(database: Database) -> None:
    async with database.transaction() as tx:
        _, gone = await interrupts.store_all(tx, [arrival("1.1"), deletion("1.1", "2.0")], now=1.0)
        assert gone.item is not None
        item = await inbox.start(tx, gone.item)
    assert item is not None
    text = dead_line(item, agent_channel="C0AGENTS").payload["text"]
    assert "still stored" in text
    assert f"`frontdesk dead retry {item.id}`" in text


async def test_what_fails_again_after_it_was_tried_again_is_told_again(database: Database) -> None:
    number, keys = await set_aside(database), []
    for _ in range(2):
        async with database.transaction() as tx:
            assert await dead_letters.retry(tx, number, now=9.0) == ""
            item = await inbox.start(tx, number)
            assert item is not None
            keys.append(dead_line(item, agent_channel="C0AGENTS").key)
            await inbox.finish(tx, number, "dead", reason="failed", now=3.0)
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"deleted": {"length": 9}}, "was deleted since"),
        ({"unstorable": True}, "could not be stored"),
    ],
)
async def test_what_no_try_can_mend_is_not_tried_again(body: dict[str, Any], told: str, database: Database) -> None:
    number = await set_aside(database, **body)
    async with database.transaction() as tx:
        assert told in await dead_letters.retry(tx, number, now=9.0)
        assert "no dead letter" in await dead_letters.retry(tx, number + 1, now=9.0)
        assert [letter.id for letter in await dead_letters.latest(tx, limit=9)] == [number]


HALF = "Your *boots* are on"
SENTENCE = load_sentences().say("en", "cut_short")


class Interrupted:
    """A customer's question in a channel whose answer broke off three times in the middle, with the process."""

    def __init__(self, desk: Desk, row: int, asked: str, answer: str) -> None:
        self.desk = desk
        self.row = row
        self.asked = asked
        self.answer = answer

    @property
    def shown(self) -> str:
        """What the customer reads of the answer."""
        return str(self.desk.slack.workspace.messages["C0SUPPORT"][self.answer]["text"])

    async def take(self, *, lives: int | None = None) -> None:
        """Take the row up, in a process that dies after so many transactions."""
        parts = self.desk.parts
        if lives is not None:
            dying = Dying(self.desk.database, lives)
            cases = replace(parts.cases, stepping=replace(parts.cases.stepping, database=dying))
            answers = replace(with_database(parts.answers, dying), cases=cases)
            parts = replace(parts, database=dying, answers=answers, leftovers=answers.leftovers, cases=cases)
        async with asyncio.timeout(PATIENCE):
            await parts.build().take(self.row)

    async def stored(self) -> Any:
        """The row."""
        async with self.desk.database.transaction() as tx:
            return (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == self.row))).one()


async def interrupted(database: Database, slack: LocalSlack, *, is_open: bool = True) -> Interrupted:
    """One; with `is_open` its stream was not stopped."""
    desk = Desk(database, slack)
    ts, row = await desk.asked()
    chunk = {"type": "markdown_text", "text": HALF.replace("*", "**")}
    answer = await slack.client.streams.start("C0SUPPORT", ts, user=CUSTOMER.user, team=TEAM, chunks=[chunk])
    if not is_open:
        await slack.client.streams.stop("C0SUPPORT", answer)
    async with database.transaction() as tx:
        item = await inbox.start(tx, row)
        assert item is not None
        await tx.execute(update(schema.inbox).where(schema.inbox.c.id == row).values(attempts=ATTEMPTS))
    journal = await open_journal(database, desk.clock, turn=row, attempt=item.fence)
    await journal.record("stream", {"opened": [answer]})
    await journal.record("call-c1", call_entry("c1", write="write-abc"))
    desk.clock.advance(1.0)
    return Interrupted(desk, row, ts, answer)


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_half_answer_says_that_it_is_one_and_is_kept_with_what_was_done(
    is_open: bool, database: Database, slack: LocalSlack
) -> None:
    broken = await interrupted(database, slack, is_open=is_open)
    await broken.take()
    assert broken.shown == f"{HALF}\n\n{SENTENCE}"
    assert (await broken.stored()).state == "dead"
    (turn,) = await broken.desk.kept()
    assert (turn.ended, turn.reason, turn.posts) == ("failed", "dead_letter", [broken.answer])
    assert [message["type"] for message in turn.trace] == ["customer", "result", "agent"]
    assert turn.messages[-1]["text"] == HALF


async def test_wherever_giving_up_is_cut_off_everything_is_said_and_kept_once(
    database: Database, slack: LocalSlack
) -> None:
    broken = await interrupted(database, slack)
    for lives in range(30):
        with suppress(StoreUnavailable):
            await broken.take(lives=lives)
        if (await broken.stored()).state != "new":
            break
        async with database.transaction() as tx:
            await tx.execute(update(schema.inbox).values(attempts=ATTEMPTS))
    assert broken.shown == f"{HALF}\n\n{SENTENCE}"
    assert (await broken.stored()).state == "dead"
    (turn,) = await broken.desk.kept()
    assert turn.messages[-1]["text"] == HALF
    async with database.transaction() as tx:
        assert len((await tx.execute(select(schema.kase))).all()) == 1
        keys = (await tx.execute(select(schema.outbox.c.key))).scalars().all()
    assert len([key for key in keys if key.startswith("dead/")]) == 1


async def test_a_dead_letter_has_one_number_of_tries_and_is_counted(
    database: Database, slack: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    broken = await interrupted(database, slack)
    async with database.transaction() as tx:
        await tx.execute(update(schema.inbox).values(attempts=ATTEMPTS - 1))
    taking = replace(broken.desk.parts, identities=Unwell()).build()
    with pytest.raises(ZeroDivisionError):
        await taking.take(broken.row)
    async with asyncio.timeout(PATIENCE):
        await taking.take(broken.row)
    (told,) = [record for record in caplog.records if "dead letter" in record.message]
    assert vars(told)["fault"] == "ZeroDivisionError"
    assert taking.faults == {}
    async with database.transaction() as tx:
        (letter,) = await dead_letters.latest(tx, limit=1)
        (shown,) = await traces.find(tx, broken.row)
    assert (letter.failures, shown.attempts) == (ATTEMPTS, ATTEMPTS)
    assert any(f"failed {ATTEMPTS} times" in text for text in await broken.desk.said())
    assert b'frontdesk_dead_letters_total{kind="message"} 1.0' in taking.metrics.text()


class Unwell:
    """Knows nobody."""

    async def identify(self, user: str, with_shop: bool = True) -> None:
        """As Identities.identify."""
        raise ZeroDivisionError


async def test_a_half_answer_is_taken_back_when_its_question_is_deleted(database: Database, slack: LocalSlack) -> None:
    broken = await interrupted(database, slack)
    await broken.take()
    gone = await broken.desk.receives(deletion(broken.asked, "1900000000.000100", channel="C0SUPPORT"))
    async with asyncio.timeout(PATIENCE):
        await broken.desk.turns.take(gone)
    async with database.transaction() as tx:
        keys = (await tx.execute(select(schema.outbox.c.key))).scalars().all()
        assert await turns.recall(tx, broken.row) == {}
    assert f"withdrawn/C0SUPPORT/{broken.answer}" in keys
    assert [turn.messages for turn in await broken.desk.kept()] == [[]]


async def test_what_is_tried_again_goes_to_the_person_or_knows_what_was_done(
    database: Database, slack: LocalSlack
) -> None:
    broken = await interrupted(database, slack)
    await broken.take()
    async with database.transaction() as tx:
        assert await dead_letters.retry(tx, broken.row, now=broken.desk.clock.now() + 1.0) == ""
        steps = await turns.recall(tx, broken.row)
    assert steps["stream"]["opened"] == [broken.answer]
    assert steps["write-abc"] == call_entry("c1", write="write-abc")
    broken.desk.clock.advance(2.0)
    await broken.take()
    row = await broken.stored()
    assert (row.state, row.reason) == ("done", "relayed")
    assert broken.shown == f"{HALF}\n\n{SENTENCE}"
    async with database.transaction() as tx:
        assert await turns.recall(tx, broken.row) == {}
