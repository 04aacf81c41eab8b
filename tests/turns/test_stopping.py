"""Whole turns that are stopped or edited while a tool changes something: that is finished, told, and not done again."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import select, update

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.limits import Limits
from bot.agent.messages import SystemNote
from bot.agent.tools import Context, tool
from bot.conversation import ThreadRef
from bot.desk.rewriting import SecondLook, build_rewriter
from bot.guard.claim_patterns import load_wordings
from bot.guard.tool_results import ESCALATE
from bot.images.reader import ReadFiles
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.interrupts import Interrupts
from bot.language.languages import Language
from bot.language.sentences import load_sentences
from bot.store import inbox, interrupts, schema, threads
from bot.store.bodies import AttachedFile, DeleteBody, MessageBody
from bot.store.database import Database, Transaction
from bot.store.inbox import Arrival, InboxItem
from bot.turns.answers.asking import Agents
from bot.turns.answers.journal import open_journal
from bot.turns.answers.records import WITHHELD
from bot.turns.dead_letters import ATTEMPTS
from bot.turns.decide import RETURNED_THANKS
from bot.turns.edits import MessageEdits
from bot.turns.summaries import Summaries
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import ScriptedModel, call, calls, says
from tests.patience import patience
from tests.store.test_interrupts import call as call_for_person
from tests.store.test_interrupts import edit, word
from tests.turns.answering import CUSTOMER, KnownCustomer, TurnParts, build_answers, build_relay
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_asking import FewPages

PATIENCE = patience(20.0)
BOOTS = "Please refund the boots of order 1"
REFUND = calls(call("refund", {"order": "1"}, id="c1"))
THREAD_OF_STOP = ThreadRef(TEAM, "D0CUSTOMERA", "5.1")
PERSON = calls(call(ESCALATE, {"reason": "upset"}, id="c1"))


class Purse:
    """There is money for every answer."""

    async def set_aside(self, tx: Transaction, item: InboxItem) -> bool:
        """As Budgets.set_aside."""
        return False


class NoSlots(FairSemaphore):
    """All are taken."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked = asyncio.Event()

    async def acquire(self, group: str, order: int) -> None:
        """As FairSemaphore.acquire."""
        self.asked.set()
        await super().acquire(group, order)


class SlowImages:
    """Images that Slack does not hand out."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    def would_read(self, files: Sequence[AttachedFile]) -> bool:
        """Every file."""
        return bool(files)

    async def read(self, files: Sequence[AttachedFile]) -> ReadFiles:
        """As ImageReader.read."""
        self.asked.set()
        await asyncio.Event().wait()
        return ReadFiles()


class Desk:
    """A desk whose agent refunds, and calls people, slowly."""

    def __init__(
        self,
        database: Database,
        slack: LocalSlack,
        *model: Any,
        slots: FairSemaphore | None = None,
        private: bool = False,
        **parts: Any,
    ) -> None:
        self.database = database
        self.slack = slack
        self.model = ScriptedModel(*model)
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.refunded: list[str] = []
        self.interrupts = Interrupts()
        self.clock = clock = ManualClock()
        answers, nothing = build_answers(database, slack.client, clock), cast(Any, None)
        sentences, metrics = answers.sentences, answers.reports.metrics
        self.outbox, self.cases = outbox, cases = answers.posts.outbox, answers.cases
        relay = build_relay(database, outbox, slack.client, clock)

        @tool(title="Refunding", writes=True, private=private, timeout=PATIENCE)
        async def refund(context: Context, order: str) -> dict[str, Any]:
            """Give the money back."""
            self.begun.set()
            await self.may_end.wait()
            self.refunded.append(order)
            return {"refunded": order}

        @tool(title="Calling a person", terminal=True, writes=True, timeout=PATIENCE)
        async def escalate_to_human(context: Context, reason: str) -> str:
            """Call a person."""
            self.begun.set()
            await self.may_end.wait()
            case = await cases.open(context.thread, context.customer, reason=reason, priority="medium")
            return f"Case {case.ref} is open."

        models = Models((Endpoint("model-1", self.model),))
        agents = Agents(
            knowledge=cast(Any, FewPages("boots")),
            second_look=SecondLook(cast(Any, FewPages("boots")), None, build_rewriter(shop_name="The Shop")),
            sentences=sentences,
            clock=clock,
            team=Team((Agent("answers", "You help.", (refund, escalate_to_human)),), entry="answers"),
            models=models,
            wordings=load_wordings(),
            link_hosts=frozenset(),
            takes_apart=False,
        )
        answers = replace(answers, agents=lambda: agents, limits=Limits(retries=0), slots=slots or FairSemaphore(1))
        self.parts = TurnParts.around(
            answers,
            identities=KnownCustomer(),
            budgets=Purse(),
            relay=relay,
            summaries=Summaries(database, clock, metrics, models, nothing, 24_000, 30, asyncio.Semaphore(1)),
            edits=MessageEdits(database, outbox, clock, sentences, answers.leftovers, relay),
            interrupts=self.interrupts,
            **parts,
        )
        self.turns = self.parts.build()

    async def asked(self, text: str = BOOTS, *files: AttachedFile) -> tuple[str, int]:
        """The ts and the row of a message in a channel, for an answer needs a thread to stand in."""
        ts = await self.slack.client.chat.post("C0SUPPORT", text=text)
        arrived = arrival(ts, text=text, channel="C0SUPPORT")
        return ts, await self.receives(replace(arrived, body=MessageBody(text, files=files)))

    async def receives(self, one: Arrival) -> int:
        """Store an arrival, and tell the running turn what interrupts it."""
        async with self.database.transaction() as tx:
            stored = await interrupts.store(tx, one, now=1.0)
        for item in stored.told:
            self.interrupts.tell(item, stored.interrupt)
        assert stored.item is not None
        return stored.item

    async def kept(self) -> list[Any]:
        """Every finished turn."""
        async with self.database.transaction() as tx:
            return list((await tx.execute(select(schema.turn).order_by(schema.turn.c.id))).all())

    async def said(self) -> list[str]:
        """What waits in the outbox."""
        async with self.database.transaction() as tx:
            payloads = (await tx.execute(select(schema.outbox.c.payload))).scalars()
            return [payload["text"] for payload in payloads if "text" in payload]


async def test_a_stop_lets_a_refund_be_finished_and_says_that_it_stays(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, REFUND, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await desk.receives(word("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
        await asyncio.sleep(0)
        assert not running.done()
        desk.may_end.set()
        await running
    assert (desk.refunded, len(desk.model.requests)) == (["1"], 1)
    assert await desk.said() == [load_sentences().say("en", "stopped_part_done")]
    (turn,) = await desk.kept()
    assert turn.ended == "stopped"
    assert any(message["type"] == "result" and "refunded" in message["content"] for message in turn.messages)


async def test_an_answer_with_private_results_that_is_stopped_in_a_channel_leaves_nothing_private_in_memory(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, REFUND, says("never asked for"), private=True)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await desk.receives(word("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
        desk.may_end.set()
        await running
    (turn,) = await desk.kept()
    assert turn.ended == "stopped"
    assert [message["text"] for message in turn.messages[1:]] == [WITHHELD]
    assert "refunded" in str(turn.trace), "staff can still see what was done"


async def test_an_edit_lets_a_refund_be_finished_and_does_not_make_it_again(
    database: Database, slack: LocalSlack
) -> None:
    again = calls(call("refund", {"order": "1"}, id="x1"))
    desk = Desk(database, slack, REFUND, again, says("All about boots is on that page."))
    ts, row = await desk.asked()
    words = "Please refund the boots of order 1, they are too small"
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        change = await desk.receives(edit(ts, "1900000000.000100", words, channel="C0SUPPORT"))
        desk.may_end.set()
        await running
        await desk.turns.take(change)
    assert desk.refunded == ["1"]
    (turn,) = await desk.kept()
    assert (turn.ended, turn.messages[0]["text"]) == ("answered", words)
    notes = [message.text for message in desk.model.requests[1].messages if isinstance(message, SystemNote)]
    assert any('refund: {"refunded":"1"}' in note for note in notes)


async def test_what_a_channel_must_not_read_is_not_told_there_after_an_edit_either(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, REFUND, says("All about boots: it went to your card."), private=True)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        sending = asyncio.create_task(desk.outbox.run())
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await desk.receives(edit(ts, "1900000000.000100", "What of the boots of order 1?", channel="C0SUPPORT"))
        desk.may_end.set()
        await running
        sending.cancel()
        await asyncio.wait({sending})
    posts = slack.workspace.messages
    assert "went to your card" not in str(posts["C0SUPPORT"])
    assert any("went to your card" in str(posts[channel]) for channel in posts if channel.startswith("D"))


async def test_an_edit_while_a_person_is_called_reaches_that_person(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, PERSON, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        change = await desk.receives(edit(ts, "1900000000.000100", "It is order 2", channel="C0SUPPORT"))
        desk.may_end.set()
        await running
        await desk.turns.take(change)
    assert len(desk.model.requests) == 1
    assert [turn.ended for turn in await desk.kept()] == ["escalated"]
    assert any("It now says" in text and "It is order 2" in text for text in await desk.said())


async def test_an_edit_after_a_person_was_called_reaches_that_person_though_the_process_died_between(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("never asked for"))
    ts, row = await desk.asked()
    async with database.transaction() as tx:
        item = await inbox.start(tx, row)
    assert item is not None
    journal = await open_journal(database, desk.clock, turn=row, attempt=item.fence)
    await journal.record("stream", {"opened": []})
    desk.clock.advance(1.0)
    await desk.cases.open(item.thread, CUSTOMER, reason="upset", priority="medium")
    desk.clock.advance(1.0)
    change = await desk.receives(edit(ts, "1900000000.000100", "It is order 2", channel="C0SUPPORT"))
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
        await desk.turns.take(change)
    assert desk.model.requests == []
    assert any("It is order 2" in text for text in await desk.said())


async def test_an_answer_that_is_on_its_way_ends_when_a_person_claims_and_the_person_reads_the_question(
    database: Database, slack: LocalSlack
) -> None:
    speaks = calls(call("refund", {"order": "1"}, id="c1"), text="All about boots: one moment. ")
    desk = Desk(database, slack, speaks, says("All about boots is on that page."))
    ts, row = await desk.asked()
    thread = ThreadRef(TEAM, "C0SUPPORT", ts)
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        case = await desk.cases.open(thread, CUSTOMER, reason="upset", priority="medium")
        await desk.cases.claim(case.ref, "U0AGENTA")
        async with database.transaction() as tx:
            find_requested = await interrupts.find_requested(tx, [row])
        desk.interrupts.tell(row, find_requested[row])
        desk.may_end.set()
        await running
    assert (desk.refunded, len(desk.model.requests)) == (["1"], 1)
    read = [each["text"] for each in slack.workspace.messages["C0SUPPORT"].values() if each["ts"] != ts]
    assert not any("on that page" in text for text in read)
    assert any(text.endswith(f">{BOOTS}") for text in await desk.said())
    async with database.transaction() as tx:
        closed = (await tx.execute(select(schema.inbox.c.reason).where(schema.inbox.c.id == row))).scalar_one()
    assert closed == "relayed"


async def test_an_answer_that_a_dead_process_began_is_not_gone_on_with_once_a_person_has_claimed(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("never asked for"))
    _, row = await desk.asked()
    async with database.transaction() as tx:
        item = await inbox.start(tx, row)
    assert item is not None
    journal = await open_journal(database, desk.clock, turn=row, attempt=item.fence)
    await journal.record("stream", {"opened": []})
    desk.clock.advance(1.0)
    case = await desk.cases.open(item.thread, CUSTOMER, reason="upset", priority="medium")
    await desk.cases.claim(case.ref, "U0AGENTA")
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
    assert desk.model.requests == []
    assert any(text.endswith(f">{BOOTS}") for text in await desk.said())


async def test_who_waits_for_a_place_can_stop_too(database: Database, slack: LocalSlack) -> None:
    slots = NoSlots()
    desk = Desk(database, slack, says("never asked for"), slots=slots)
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await slots.asked.wait()
        await desk.receives(word("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
        await running
    assert (desk.model.requests, await desk.said()) == ([], [load_sentences().say("en", "stopped")])
    assert [turn.ended for turn in await desk.kept()] == ["stopped"]


@pytest.mark.parametrize("interrupt", ["deleted", "stop"])
async def test_an_interrupt_ends_the_reading_of_images(interrupt: str, database: Database, slack: LocalSlack) -> None:
    images = SlowImages()
    desk = Desk(database, slack, says("never asked for"), images=images)
    ts, row = await desk.asked("Boots?", AttachedFile("F1", "boots.png", "image/png", 400))
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await images.asked.wait()
        if interrupt == "stop":
            await desk.receives(word("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
        else:
            gone = edit(ts, "1900000000.000100", "", channel="C0SUPPORT")
            await desk.receives(
                Arrival(gone.event_id, "delete", gone.thread, gone.ts, gone.author, "", DeleteBody(ts), True)
            )
        await running
    stopped = [load_sentences().say("en", "stopped")] if interrupt == "stop" else []
    assert (desk.model.requests, await desk.said()) == ([], stopped)


@pytest.mark.parametrize("interrupt", ["edited", "deleted", "stop"])
async def test_an_interrupt_that_came_before_the_turn_began_reaches_it(
    interrupt: str, database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("All about boots is this."))
    ts, row = await desk.asked("Boots?")
    match interrupt:
        case "edited":
            await desk.receives(edit(ts, "1900000000.000100", "What about boots?", channel="C0SUPPORT"))
        case "stop":
            await desk.receives(word("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
        case _:
            gone = edit(ts, "1900000000.000100", "", channel="C0SUPPORT")
            await desk.receives(
                Arrival(gone.event_id, "delete", gone.thread, gone.ts, gone.author, "", DeleteBody(ts), True)
            )
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
    kept = [(turn.ended, turn.messages[0]["text"]) for turn in await desk.kept()]
    expected = {"edited": [("answered", "What about boots?")], "stop": [("stopped", "Boots?")], "deleted": []}
    assert kept == expected[interrupt]


async def test_a_question_that_was_stopped_and_failed_each_time_calls_nobody(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack)
    ts, row = await desk.asked()
    async with database.transaction() as tx:
        await tx.execute(update(schema.inbox).where(schema.inbox.c.id == row).values(attempts=ATTEMPTS))
    await desk.receives(word("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
    async with asyncio.timeout(PATIENCE):
        await desk.turns.take(row)
    assert await desk.said() == [load_sentences().say("en", "stopped")]
    async with database.transaction() as tx:
        assert (await tx.execute(select(schema.inbox.c.state).where(schema.inbox.c.id == row))).scalar_one() == "done"
        assert (await tx.execute(select(schema.kase))).all() == []


@pytest.mark.parametrize(
    ("text", "language"), [("stop", "en"), ("Berhenti!", "de"), ("ARRÊTE", "de"), ("bitte stopp", "de")]
)
async def test_a_stop_when_nothing_runs_is_told_so_and_asks_no_model(
    database: Database, slack: LocalSlack, text: str, language: Language
) -> None:
    desk = Desk(database, slack, says("never asked for"))
    row = await desk.receives(replace(arrival("5.1", text=text), stops=True))
    if language != "en":
        async with database.transaction() as tx:
            await threads.set_language(tx, THREAD_OF_STOP, language)
    for _ in range(2):
        await desk.turns.take(row)
    assert await desk.said() == [load_sentences().say(language, "nothing_to_stop")]
    assert (desk.model.requests, await desk.kept()) == ([], [])
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, THREAD_OF_STOP)
    assert state is not None
    assert state.language == language, "the word tells nothing of the language"


async def test_thanks_are_returned_without_a_model_unless_they_answer_a_question(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("Brush your boots."), says("Shall I look for a brush?"), says("I will."))
    returned = {load_sentences().say("en", key) for key in RETURNED_THANKS}
    ts, row = await desk.asked()
    await desk.turns.take(row)

    async def asked_models(text: str) -> int:
        said = await desk.slack.client.chat.post("C0SUPPORT", text=text, thread_ts=ts)
        await desk.turns.take(await desk.receives(arrival(said, thread_ts=ts, text=text, channel="C0SUPPORT")))
        return len(desk.model.requests)

    assert await asked_models("Thank you so much, that helped me a lot!") == 1
    assert [text in returned for text in await desk.said()] == [True]
    assert await asked_models("Do you sell brushes for boots?") == 2
    assert await asked_models("Perfect, thanks") == 3, "the model had asked something"


async def test_a_stop_while_people_are_on_the_matter_is_for_them(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, says("never asked for"))
    await desk.cases.open(THREAD_OF_STOP, CUSTOMER, reason="upset", priority="medium")
    row = await desk.receives(replace(arrival("5.2", thread_ts="5.1", text="stop"), stops=True))
    await desk.turns.take(row)
    assert any(text.endswith(">stop") for text in await desk.said())
    assert not any(load_sentences().say("en", "nothing_to_stop") in text for text in await desk.said())


async def test_what_is_edited_into_a_stop_ends_what_was_begun(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, REFUND, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        await desk.receives(edit(ts, "1900000000.000100", "stop", channel="C0SUPPORT"))
        desk.may_end.set()
        await running
    assert (desk.refunded, len(desk.model.requests)) == (["1"], 1)
    assert await desk.said() == [load_sentences().say("en", "stopped_part_done")]
    (turn,) = await desk.kept()
    assert turn.ended == "stopped"


async def test_who_wants_a_person_waits_for_no_answer(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, REFUND, says("never asked for"))
    ts, row = await desk.asked()
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(desk.turns.take(row))
        await desk.begun.wait()
        asked = await desk.receives(call_for_person("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
        desk.may_end.set()
        await running
    assert (desk.refunded, len(desk.model.requests)) == (["1"], 1), "what was begun to be changed is, and no more"
    async with database.transaction() as tx:
        assert (
            await tx.execute(select(schema.inbox.c.reason).where(schema.inbox.c.id == row))
        ).scalar_one() == "called"
        (case,) = (await tx.execute(select(schema.kase))).all()
    assert (case.reason, case.title) == ("asked_for_person", BOOTS)
    (turn,) = await desk.kept()
    assert any(message["type"] == "result" for message in turn.trace), "staff can see what was done"
    before = await desk.said()
    assert sum("A person, please" in text for text in before) == 0
    await desk.turns.take(asked)
    assert sum("A person, please" in text for text in await desk.said()) == 1, "staff read it once"


async def test_a_call_that_was_heard_before_a_crash_opens_one_case(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, says("never asked for"))
    ts, row = await desk.asked()
    await desk.receives(call_for_person("1900000000.000100", thread_ts=ts, channel="C0SUPPORT"))
    for _ in range(2):
        await desk.turns.take(row)
        async with database.transaction() as tx:
            await tx.execute(update(schema.inbox).where(schema.inbox.c.id == row).values(state="new"))
    async with database.transaction() as tx:
        assert len((await tx.execute(select(schema.kase))).all()) == 1
    assert desk.model.requests == []
