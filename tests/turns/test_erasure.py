"""Whoever has their data erased is in no column of any table any more, and nobody else has lost anything.

Each text column is either filled here with what a customer wrote, is called or stands for, or named in IMPERSONAL: a
new column belongs to one of the two, and what of the first kind is not erased is found.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sqlalchemy import JSON, Column, String, Text, select, update

from bot.actions import action as steps
from bot.actions.messages import approval_key, offer_key
from bot.actions.stepping import note
from bot.conversation import Customer, ThreadRef
from bot.desk.identity import Identities
from bot.errors import StoreUnavailable, Superseded
from bot.ingest.dead_letters import dead_line
from bot.ingest.interrupts import Interrupts
from bot.language.languages import Language, languages
from bot.language.sentences import load_sentences
from bot.shops.actions import Outcome
from bot.slack.api.errors import SlackRefused
from bot.store import (
    actions,
    attempts,
    audit,
    drafts,
    inbox,
    limits,
    outbox,
    persons,
    preferences,
    procedures,
    schema,
    scores,
    spending,
    suggestions,
    summaries,
    threads,
)
from bot.store.actions import ERASED_PREVIEW, Action, State
from bot.store.bodies import InteractionBody, decode
from bot.store.cases import ERASED, Case, card_key, cards_key, find
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.store.procedures import ProcedureRun
from bot.store.scores import Score
from bot.store.suggestions import Suggestion
from bot.store.summaries import Summary
from bot.store.transcripts import of_thread
from bot.turns import erasure
from bot.turns.batches import FIRST_STEP, LARGEST_STEP, MAX_TRANSACTION_TIME, Steps
from bot.turns.costs import costs_of
from bot.turns.erasure import Erasure
from local_slack import timeline
from local_slack.files import keep
from tests.actions.test_action import an_action
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.patience import patience
from tests.store.test_interrupts import edit
from tests.turns.answering import CUSTOMER, build_outbox
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_edits import REPLY, Desk, Dying

AGENTS, SUPPORT = "C0AGENTS", "C0SUPPORT"
OTHER = Customer(TEAM, "U0CUSTOMERB", "Customer B", "en-US", "member")
DIRECT = {CUSTOMER.user: "D0CUSTOMERA", OTHER.user: "D0CUSTOMERB"}
CANARY = {CUSTOMER.user: "quokkalamp77", OTHER.user: "numbatchair88"}
USAGE = {"input_tokens": 9, "output_tokens": 2, "cached_tokens": 0, "cost": 0.1, "estimated": False}

IMPERSONAL = {
    # Slack's ids of deliveries, workspaces, channels, messages and files, and keys made of them and of rows' numbers.
    *("inbox.event_id", "inbox.team", "inbox.channel", "inbox.ts", "inbox.thread", "inbox.author_team"),
    *("thread.key", "thread.team", "thread.channel", "thread.ts", "turn.thread", "turn.ts", "turn.posts"),
    *("case_.team", "case_.thread", "case_.channel", "case_.thread_ts", "case_.desk"),
    *("outbox.key", "outbox.channel", "outbox.thread_ts", "outbox.lane", "outbox.parent", "outbox.ts"),
    *("outbox.source_channel", "outbox.source_ts", "outbox.conversation", "outbox.traceparent"),
    *("file_copy.post", "file_copy.source", "file_copy.copy"),
    *("spending.key", "spending.team", "spending.thread", "summary.thread", "summary.through"),
    *("suggestion.key", "pause.channel", "feedback.subject", "desk.channel", "desk.ts", "desk.shown"),
    *("fix_list.channel", "fix_list.ts", "fix_list.shown", "fixed.channel", "fixed.subject"),
    *("action.undoes", "shop_event.id", "shop_event.subject", "tracker.number", "tracker.id", "tracker.order_id"),
    # Words of closed lists, and names of agents, models, documents and steps.
    *("inbox.kind", "inbox.state", "inbox.reason", "inbox.interrupt", "thread.agent", "thread.language"),
    *("turn.agent", "turn.ended", "turn.reason", "turn.sources", "journal.name", "case_.member_type", "case_.language"),
    *("case_.titled_by", "case_.tags"),
    *("case_.state", "case_.reason", "case_.priority", "case_.outcome", "case_.cause", "outbox.method", "outbox.state"),
    *("outbox.error", "file_copy.refusal", "spending.purpose", "spending.models", "suggestion.state"),
    *(
        "suggestion.close_to",
        "suggestion.reason",
        "feedback.value",
        "feedback.reason",
        "preference.language",
        "audit.action",
    ),
    # Staff, and processes.
    *("case_.owner", "case_.owner_name", "case_.last_owner", "case_helper.person", "case_helper.name"),
    *("suggestion.thread", "suggestion.asked_by", "suggestion.decided_by", "pause.by"),
    *("schedule.name", "schedule.rule", "member.id", "member.role", "claim.name", "claim.owner"),
    *("alias.name", "alias.target", "alias.set_by", "action.prepared_by", "away.person", "desk.assigned"),
    "fixed.person",
    *("daily.day", "daily.name", "daily.figures"),
    # What the books and the daily limits need of a change: the shop's numbers, closed words, hashes, staff's votes.
    *("action.ref", "action.state", "action.reason", "action.team", "action.channel", "action.thread_ts"),
    *("action.origin", "action.customer_team", "action.language", "action.zone", "action.shop_customer"),
    *("action.subject", "action.kind", "action.arguments_hash", "action.facts_hash", "action.currency"),
    *("action.policy", "action.rules", "action.key", "action.worker", "action.reference"),
    *("action_vote.person", "action_vote.vote"),
    # A procedure's file and its words, and numbers of messages.
    *("procedure_run.thread", "procedure_run.procedure", "procedure_run.digest", "procedure_run.source"),
    *("procedure_run.step", "procedure_run.tries", "procedure_run.turns", "procedure_run.action", "procedure_run.why"),
}
"""The text columns that hold nothing of a customer's own."""
STAYS = {"audit.subject"}
"""Where the id of somebody who was erased stands: in the one line that says so."""


@dataclass
class Homes:
    """Remembers whose Home tab was shown."""

    shown: list[str] = field(default_factory=list)

    async def show(self, user: str) -> None:
        """As Home.show."""
        self.shown.append(user)


class SlowClock(ManualClock):
    """A clock by which everything takes as long as a transaction may."""

    def monotonic(self) -> float:
        self.advance(MAX_TRANSACTION_TIME)
        return super().monotonic()


class Company(Desk):
    """A desk that two customers have filled."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        super().__init__(database, slack)
        self.homes, self.running, self.count = Homes(), Interrupts(), 0
        self.forgotten: list[str] = []
        identities = Identities(slack.client.directory, None, database)
        self.erasure = Erasure(
            database,
            self.outbox,
            self.clock,
            slack.client.directory,
            identities,
            self.cases,
            self.thoughts,
            self.running,
            self.homes.show,
            self.forgotten.append,
        )

    async def fills(self, who: Customer, root: str) -> Case:
        """All that a customer can leave behind: directly, and in the thread `root` of a channel."""
        user, words, direct = who.user, CANARY[who.user], DIRECT[who.user]
        thread = ThreadRef(TEAM, direct, await self.writes(who, direct, f"Where is my {words}?"))
        asked = await self.received(who, thread, thread.ts, f"Where is my {words}?")
        told = await self.slack.client.chat.post(direct, text=f"Your {words} is late.", thread_ts=thread.ts)
        await self.answered(asked, f"Your {words} is late.", posts=(told,))
        case = await self.cases.open(
            thread, who, reason="billing", priority="high", summary=f"{who.name} misses {words}"
        )
        async with self.database.transaction() as tx:
            await tx.execute(update(schema.kase).values(link=f"https://x.slack.com/{words}").where(_is(case)))
            failed = update(schema.turn).where(schema.turn.c.customer == user)
            rewritten = {"failures": [f"model-1: refused_request: 400, “{words}”"], "rewrites": [words]}
            await tx.execute(failed.values(**rewritten))
            await preferences.choose_language(tx, user, "de")
            await audit.rate(tx, f"turn/{asked.id}", user, "up", now=1.0)
            await scores.save(tx, case.ref, user, Score(1, 1.0, "slow", f"My {words} is still missing"))
            await limits.take(tx, f"tools/{TEAM}/{user}", times=5, seconds=60.0, now=1.0)
            await summaries.save(tx, thread, 0, Summary("1.1", f"They miss {words}."), now=1.0)
            for use in costs_of(asked, {"round-1": {**REPLY, "usage": USAGE}}):
                await spending.add(tx, use, now=1.0)
            detail = {"told": f"{who.name} of {words}"}
            await audit.note(tx, actor=user, action="case.noted", subject=case.ref, detail=detail, now=1.0)
        await self.sends()
        case = await self.cases.claim(case.ref, "U0AGENTA")
        async with self.database.transaction() as tx:
            await drafts.save(tx, case.id, asked.id, [f"Dear {who.name}, your {words} …"], now=1.0)
            await threads.begin_episode(tx, thread, note=f"They spoke of {words}.")
            await suggestions.add(tx, _suggestion(case, words))
            of_thread = replace(_suggestion(case, words), case_id=None, thread=f"{TEAM}/C0GENERAL/1.1", person=user)
            await suggestions.add(tx, replace(of_thread, key=f"thread/{case.ref}"))
        below = ThreadRef(TEAM, AGENTS, await self.card_of(case))
        lamp = keep(self.slack.workspace, f"{words}.png", b"\x89PNG", user=user)
        at = await self.writes(who, direct, words, thread_ts=thread.ts, files=[lamp])
        seen = await self.received(who, thread, at, words, files=[_file(lamp)])
        await self.relay.from_customer(case, seen, who)
        await self.closes(seen)
        answer = await self.received(who, below, self.ts(), f"So your {words}, {who.name}?", kind="staff")
        await self.relay.from_staff(answer)
        await self.closes(answer)
        await self.pressed(below, "submit.priority", case.ref, fields={"note": f"{who.name}: {words}"})
        await self.changes(who, thread, "done", words=words)
        await self.follows_procedure(who, thread, words, turn=asked.id)
        await self.sends()
        # In a channel with others.
        said = await self.received(who, ThreadRef(TEAM, SUPPORT, root), self.ts(), f"I have a {words} and a blue table")
        there = await self.slack.client.chat.post(SUPPORT, text=f"A {words}, {who.name}?", thread_ts=root)
        await self.answered(said, f"A {words}, {who.name}?", posts=(there,))
        (changed,) = await self.receives(
            edit(said.ts, self.ts(), f"I have the {words}!", thread_ts=root, channel=SUPPORT, author=user)
        )
        await self.thoughts.edited(changed)
        await self.closes(changed)
        dead = await self.received(who, ThreadRef(TEAM, SUPPORT, root), self.ts(), f"Is {words} lost?")
        await self.notes(dead, call_c1={"result": f"{words} of {who.name}"})
        await self.closes(dead, "dead")
        return case

    async def changes(
        self, who: Customer, thread: ThreadRef, state: State, *, words: str = "", turn: int = 0
    ) -> Action:
        """A change of an order in this state, of which customer and staff have seen messages. Staff have voted."""
        self.count += 1
        address = {"name": who.name, "line1": words}
        new = an_action(
            state,
            ref=f"act_{self.count}",
            key=f"key-{self.count}",
            version=1,
            thread=thread,
            origin=f"turn/{turn or self.count}",
            customer=who.user,
            customer_team=who.team,
            customer_name=who.name,
            zone="Europe/Berlin",
            shop_customer="cus_a",
            subject=f"order/ORD-{self.count}",
            arguments={"order": f"ORD-{self.count}", "address": address},
            arguments_hash=f"hash-{self.count}",
            preview={"new_address": address},
            request={"method": "POST", "path": "/", "headers": {}, "body": words, "about": "", "key_hours": 24},
            reference=f"C-{self.count}",
            rules={"outcome": "staff", "rules": [{"id": "paid", "held": True}]},
            due=None,
        )
        async with self.database.transaction() as tx:
            stored = await actions.add(tx, new)
            assert stored is not None
            await actions.vote(tx, stored, "U0AGENTA", "approve", now=1.0)
            await note(tx, stored, "confirmed", who.user, now=1.0)
            told = {"text": f"{who.name}: {words}"}
            await outbox.add(
                tx,
                Outgoing(offer_key(stored), "post", thread.channel, told, thread_ts=thread.ts),
                Outgoing(approval_key(stored), "post", AGENTS, told),
                now=1.0,
            )
        return stored

    async def follows_procedure(self, who: Customer, thread: ThreadRef, words: str, *, turn: int) -> None:
        """Have a procedure on in the thread, which has collected words of this message."""
        new = ProcedureRun(
            thread=thread,
            customer=who.user,
            procedure="damaged-item",
            digest="hash",
            source="---",
            step="find",
            started_at=1.0,
            touched_at=1.0,
            collected={"what": words},
            tries={"order": 1},
            turns=(turn,),
        )
        async with self.database.transaction() as tx:
            assert await procedures.begin(tx, new) is not None

    async def action(self, of: Action) -> Action:
        """The action as it is now."""
        async with self.database.transaction() as tx:
            found = await actions.find(tx, of.ref)
        assert found is not None
        return found

    def ts(self) -> str:
        """A later moment each time."""
        self.count += 1
        return f"1795000100.{self.count:06}"

    async def writes(self, who: Customer, channel: str, text: str, **more: Any) -> str:
        """What a customer writes in Slack; its ts."""
        said = {"type": "message", "user": who.user, "text": text, **more}
        workspace = self.slack.workspace
        return str(timeline.post(workspace, workspace.channel(channel), said)["ts"])

    async def received(
        self, who: Customer, thread: ThreadRef, ts: str, text: str, *, kind: Any = "message", files: Any = ()
    ) -> InboxItem:
        author = "U0AGENTA" if kind == "staff" else who.user
        said = arrival(ts, text=text, thread_ts=thread.ts, channel=thread.channel, author=author, kind=kind)
        (item,) = await self.receives(replace(said, body=decode(kind, {"text": text, "files": files})))
        return item

    async def pressed(self, thread: ThreadRef, action: str, value: str, **more: Any) -> InboxItem:
        said = arrival(self.ts(), thread_ts=thread.ts, channel=thread.channel, author="U0AGENTA", kind="interaction")
        (item,) = await self.receives(replace(said, body=InteractionBody(action, value, **more)))
        await self.closes(item)
        return item

    async def closes(self, item: InboxItem, state: Any = "done") -> None:
        async with self.database.transaction() as tx:
            await inbox.finish(tx, item.id, state, now=1.0)

    async def interrupts(self, who: Customer = CUSTOMER, channel: str = "V0HOME") -> InboxItem:
        """A press of "Delete my data", at its first try."""
        interaction = arrival(self.ts(), thread_ts=channel, channel=channel, author=who.user, kind="interaction")
        (item,) = await self.receives(replace(interaction, body=InteractionBody(persons.REQUEST, message_ts="V")))
        return item

    def is_slow(self) -> None:
        """Have all that may take a transaction of its own take one when a person is erased."""
        self.erasure = replace(self.erasure, clock=SlowClock())

    def erases_in(self, database: Database) -> None:
        """Erase by way of this database from here on."""
        thoughts = replace(self.thoughts, database=database)
        self.erasure = replace(self.erasure, database=database, edits=thoughts)

    async def erases(self, item: InboxItem) -> str:
        with attempts.working_on(item.id, item.fence):
            done = await self.erasure.carry_out(item)
            await self.closes(item)
        return done

    async def sends(self) -> None:
        await send_all(self.outbox, patience=10_000)

    async def rows(self) -> dict[tuple[str, ...], Mapping[str, Any]]:
        """Every row of every table, by the table's name and the row's key."""
        found: dict[tuple[str, ...], Mapping[str, Any]] = {}
        async with self.database.transaction() as tx:
            for table in schema.metadata.sorted_tables:
                for row in (await tx.execute(select(table))).mappings():
                    found[(table.name, *(str(row[key.name]) for key in table.primary_key))] = dict(row)
        return found

    async def columns_with(self, who: Customer) -> set[str]:
        """The columns that hold a word, the name or the id of somebody."""
        return {
            f"{name[0]}.{column}"
            for name, row in (await self.rows()).items()
            for column, value in row.items()
            if _is_of(who, value)
        }

    async def card_of(self, case: Case) -> str:
        """The ts of the case's card."""
        async with self.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(case))
        assert card is not None
        assert card.ts is not None
        return card.ts

    def told(self, channel: str) -> str:
        """All that the app says there now."""
        messages = self.slack.workspace.messages.get(channel, {}).values()
        return json.dumps([message for message in messages if message.get("bot_id")], ensure_ascii=False)


def _is(case: Case) -> Any:
    return schema.kase.c.id == case.id


def _is_of(who: Customer, value: object) -> bool:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return any(mark in text for mark in (CANARY[who.user], who.user, who.name))


def _file(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": kept["id"], "name": kept["name"], "mimetype": "image/png", "size": 4}


def _suggestion(case: Case, words: str) -> Suggestion:
    said = (words, f"Where is {words}?", f"The {words} is late.")
    return Suggestion(0, case.ref, case.id, *said, state="pending", asked_by="U0AGENTA", made_at=1.0)


def text_columns() -> set[str]:
    def holds_text(column: Column[Any]) -> bool:
        kind = column.type
        return isinstance(getattr(kind, "impl", kind), String | Text | JSON)

    tables = schema.metadata.sorted_tables
    return {f"{table.name}.{column.name}" for table in tables for column in table.columns if holds_text(column)}


@pytest.fixture
async def company(database: Database, slack: LocalSlack) -> Company:
    company = Company(database, slack)
    company.outbox = build_outbox(database, slack.client, company.clock)
    return company


async def filled(company: Company) -> tuple[Case, Case]:
    root = await company.slack.client.chat.post(SUPPORT, text="A thread of the channel")
    return await company.fills(CUSTOMER, root), await company.fills(OTHER, root)


async def test_nothing_of_a_customer_is_left_and_nobody_else_has_lost_anything(company: Company) -> None:
    await filled(company)
    held = await company.columns_with(CUSTOMER)
    assert text_columns() - IMPERSONAL == held | STAYS, "a column is neither filled above nor named in IMPERSONAL"
    rows = (await company.rows()).items()
    before = {key: row for key, row in rows if _is_of(OTHER, row) and not _is_of(CUSTOMER, row)}
    assert await company.erases(await company.interrupts()) == ERASED
    after = await company.rows()
    assert await company.columns_with(CUSTOMER) == STAYS
    assert {key: after.get(key) for key in before} == before
    assert company.forgotten == [CUSTOMER.user]
    # Nor does what is queued bring anything back.
    await company.sends()
    assert await company.columns_with(CUSTOMER) == STAYS


async def test_what_stood_in_slack_is_taken_away_and_both_sides_are_told(company: Company) -> None:
    case, others = await filled(company)
    places = (AGENTS, SUPPORT, *DIRECT.values())
    before = [company.told(place) for place in places]
    assert [CANARY[CUSTOMER.user] in told for told in before] == [True, True, True, False]
    assert ".png" in before[0]
    await company.erases(await company.interrupts())
    await company.sends()
    agents, support, direct, theirs = (company.told(place) for place in places)
    for mark in (CANARY[CUSTOMER.user], CUSTOMER.user, CUSTOMER.name, case.ref):
        assert mark not in agents.replace(f"{case.ref} was erased because the customer asked for it.", "") + support
    assert f"{case.ref} was erased because the customer asked for it." in agents
    assert others.ref in agents
    assert CANARY[OTHER.user] in support
    assert theirs == before[3]
    # The language they had chosen is the last thing that was known of them.
    (words,) = (message for message in json.loads(direct))
    assert words["text"] == "\n".join(load_sentences().say("de", key) for key in ("erased", "erased_stays"))
    assert company.homes.shown == [CUSTOMER.user]
    uploads = company.slack.workspace.uploads
    assert len([file for file in uploads.values() if file]) == 3


async def test_a_case_stays_as_a_number_and_the_audit_trail_says_who_and_how_much(company: Company) -> None:
    case, _ = await filled(company)
    await company.erases(await company.interrupts())
    async with company.database.transaction() as tx:
        left = await find(tx, case.id)
        noted = (await tx.execute(select(schema.audit).where(schema.audit.c.action == "person.erased"))).one()
    assert left is not None
    assert (left.state, left.outcome, left.owner, left.due) == ("closed", ERASED, "U0AGENTA", None)
    assert (left.customer, left.customer_name, left.summary, left.link) == (ERASED, "", "", "")
    assert (noted.actor, noted.subject) == ("customer", CUSTOMER.user)
    assert {"cases": 1, "answers": 2, "drafts": 1, "suggestions": 2, "files": 1}.items() <= noted.detail.items()


@pytest.mark.parametrize("in_small_pieces", [False, True])
async def test_wherever_it_is_cut_off_it_is_done_when_it_is_done_again(company: Company, in_small_pieces: bool) -> None:
    await filled(company)
    thread = ThreadRef(TEAM, SUPPORT, await company.slack.client.chat.post(SUPPORT, text="Another thread"))
    lamp = CANARY[CUSTOMER.user]
    for who, words, answer in ((CUSTOMER, f"My {lamp}?", "Late."), (OTHER, "And mine?", f"As late as the {lamp}.")):
        await company.answered(await company.received(who, thread, company.ts(), words), answer)
    if in_small_pieces:
        company.is_slow()
    item = await company.interrupts()

    async def attempt(database: Database) -> None:
        company.erases_in(database)
        async with company.database.transaction() as tx:
            row = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == item.id))).one()
        with attempts.working_on(row.id, row.fence):
            await company.erasure.carry_out(inbox.item_of(row))

    for lives in range(60):
        with suppress(StoreUnavailable):
            await attempt(Dying(company.database, lives))
            break
    assert 6 < lives < 59
    await attempt(company.database)
    await company.closes(item)
    assert await company.columns_with(CUSTOMER) == STAYS
    keys = [key for _, key in await company.queued()]
    assert keys.count(f"forgotten/told/{item.id}") == 1
    rows = (await company.rows()).values()
    assert [row["detail"]["cases"] for row in rows if row.get("action") == "person.erased"] == [1]


@pytest.mark.parametrize("state", ["offered", "approving", "ready"])
async def test_a_change_that_nobody_has_sent_is_withdrawn_when_its_customer_is_erased(
    company: Company, state: State
) -> None:
    thread = ThreadRef(TEAM, DIRECT[CUSTOMER.user], "1.1")
    before = await company.changes(CUSTOMER, thread, state, words=CANARY[CUSTOMER.user])
    await company.sends()
    await company.erases(await company.interrupts())
    left = await company.action(before)
    assert (left.state, left.reason, left.customer) == ("withdrawn", "erased", ERASED)
    assert (left.arguments, left.request, left.preview) == ({}, {}, ERASED_PREVIEW)
    await company.sends()
    assert CANARY[CUSTOMER.user] not in company.told(AGENTS) + company.told(thread.channel)
    assert await company.columns_with(CUSTOMER) == STAYS


async def test_the_books_keep_what_was_done_and_who_agreed_and_the_limits_of_the_day_go_on(company: Company) -> None:
    thread = ThreadRef(TEAM, DIRECT[CUSTOMER.user], "1.1")
    before = await company.changes(CUSTOMER, thread, "done", words=CANARY[CUSTOMER.user])
    await company.erases(await company.interrupts())
    left = await company.action(before)
    kept = (
        "kind",
        "money",
        "currency",
        "offered_at",
        "reference",
        "subject",
        "arguments_hash",
        "rules",
        "shop_customer",
    )
    assert {name: getattr(left, name) for name in kept} == {name: getattr(before, name) for name in kept}
    async with company.database.transaction() as tx:
        votes = (await tx.execute(select(schema.action_vote.c.person))).scalars().all()
        noted = (await tx.execute(select(schema.audit).where(schema.audit.c.subject == before.ref))).one()
    assert votes == ["U0AGENTA"]
    assert (noted.actor, noted.detail["money"]) == (ERASED, "-100")


async def test_a_request_that_is_out_keeps_what_its_outcome_needs_until_that_is_known(company: Company) -> None:
    thread = ThreadRef(TEAM, DIRECT[CUSTOMER.user], "1.1")
    before = await company.changes(CUSTOMER, thread, "unknown", words="Main Street 1")
    await company.erases(await company.interrupts())
    left = await company.action(before)
    assert (left.state, left.customer, left.customer_name, left.preview) == ("unknown", ERASED, "", ERASED_PREVIEW)
    assert (left.arguments, left.request) == (before.arguments, before.request)
    ended = steps.erase(steps.settle(left, Outcome("done"), now=2.0, has_key=True))
    assert (ended.state, ended.arguments, ended.request) == ("done", {}, {})


async def test_an_erasure_waits_for_a_request_on_its_way_and_no_longer_than_it_may(company: Company) -> None:
    thread = ThreadRef(TEAM, DIRECT[CUSTOMER.user], "1.1")
    before = await company.changes(CUSTOMER, thread, "executing", words=CANARY[CUSTOMER.user])
    began = company.clock.monotonic()
    await company.erases(await company.interrupts())
    assert company.clock.monotonic() - began >= erasure.RUNNING_ACTIONS_TIMEOUT
    left = await company.action(before)
    # The process that sends it read it before, and can still note the answer.
    assert left.version != before.version
    assert steps.differs_by_erasure(before, left)
    assert not steps.differs_by_erasure(before, replace(left, state="unknown"))


async def test_staff_are_asked_again_about_a_change_that_nobody_could_find_out(company: Company) -> None:
    thread = ThreadRef(TEAM, DIRECT[CUSTOMER.user], "1.1")
    before = await company.changes(CUSTOMER, thread, "stuck", words=CANARY[CUSTOMER.user])
    await company.erases(await company.interrupts())
    left = await company.action(before)
    assert (left.state, left.settled) == ("stuck", False)
    assert left.due is not None


async def test_a_deleted_message_takes_what_was_prepared_for_it_along_and_leaves_the_books(company: Company) -> None:
    direct = DIRECT[CUSTOMER.user]
    words = f"Send it to {CANARY[CUSTOMER.user]}"
    thread = ThreadRef(TEAM, direct, await company.writes(CUSTOMER, direct, words))
    item = await company.received(CUSTOMER, thread, thread.ts, words)
    await company.answered(item, "Please check.")
    done = await company.changes(CUSTOMER, thread, "done", words=words, turn=item.id)
    other = await company.changes(CUSTOMER, thread, "done", words="Another street", turn=item.id * 10)
    async with Steps(company.database, company.clock).pieces() as pieces:
        await company.thoughts.deleted_together([item], pieces=pieces)
    left = await company.action(done)
    assert (left.customer, left.preview, left.arguments, left.money) == (CUSTOMER.user, ERASED_PREVIEW, {}, done.money)
    assert (await company.action(other)).preview == other.preview
    assert CANARY[CUSTOMER.user] not in json.dumps(list((await company.rows()).values()), default=str)


async def test_a_deleted_message_ends_the_procedure_that_holds_something_of_it(company: Company) -> None:
    direct, words = DIRECT[CUSTOMER.user], f"My {CANARY[CUSTOMER.user]} is torn"
    thread = ThreadRef(TEAM, direct, await company.writes(CUSTOMER, direct, words))
    item = await company.received(CUSTOMER, thread, thread.ts, words)
    await company.answered(item, "Which order is it?")
    await company.follows_procedure(CUSTOMER, thread, words, turn=item.id)
    other = ThreadRef(TEAM, direct, await company.writes(CUSTOMER, direct, "My tent"))
    await company.follows_procedure(CUSTOMER, other, "My tent", turn=item.id * 10)
    async with Steps(company.database, company.clock).pieces() as pieces:
        await company.thoughts.deleted_together([item], pieces=pieces)
    async with company.database.transaction() as tx:
        assert await procedures.running_in(tx, thread) is None
        assert await procedures.running_in(tx, other) is not None
        assert await procedures.ended_since(tx, 0.0) == {("damaged-item", "taken_back"): 1}
    assert CANARY[CUSTOMER.user] not in json.dumps(list((await company.rows()).values()), default=str)


async def test_two_interactions_are_one_erasing_and_one_sentence(company: Company) -> None:
    first, again = await company.interrupts(), await company.interrupts()
    await company.erases(first)
    rows = await company.rows()
    assert rows[("inbox", str(again.id))]["state"] == "dropped"
    assert await company.columns_with(CUSTOMER) == STAYS
    later = await company.interrupts()
    await company.erases(later)
    assert [key for _, key in await company.queued()] == [f"forgotten/told/{item.id}" for item in (first, later)]


async def test_a_running_answer_ends_first_and_what_it_still_writes_is_refused(company: Company) -> None:
    thread = ThreadRef(TEAM, DIRECT[CUSTOMER.user], await company.writes(CUSTOMER, DIRECT[CUSTOMER.user], "Hello"))
    running = await company.received(CUSTOMER, thread, thread.ts, f"Where is my {CANARY[CUSTOMER.user]}?")
    item = await company.interrupts()
    with company.running.running(running.id) as interrupt:
        began = company.clock.monotonic()
        await company.erases(item)
    assert interrupt.kind == "deleted"
    assert company.clock.monotonic() - began >= erasure.RUNNING_TURNS_TIMEOUT
    assert (await company.rows())[("inbox", str(running.id))]["state"] == "dropped"
    with attempts.working_on(running.id, running.fence), pytest.raises(Superseded):
        await company.answered(running, f"Your {CANARY[CUSTOMER.user]} is late.")
    assert await company.columns_with(CUSTOMER) == STAYS


async def test_an_answer_that_ends_in_time_is_waited_for_and_no_longer(company: Company) -> None:
    thread = ThreadRef(TEAM, SUPPORT, "1795000000.000001")
    running = await company.received(CUSTOMER, thread, thread.ts, "Hello")
    item, clock = await company.interrupts(), company.clock

    async def end() -> None:
        with company.running.running(running.id) as interrupt, suppress(TimeoutError):
            async with asyncio.timeout(patience(20)) as limit:
                with interrupt.bounding(limit):
                    await asyncio.Event().wait()
        await company.closes(running, "dropped")

    ending = asyncio.create_task(end())
    await asyncio.sleep(0)
    began = clock.monotonic()
    await company.erases(item)
    await ending
    assert clock.monotonic() - began < erasure.RUNNING_TURNS_TIMEOUT


async def test_what_others_wrote_in_their_case_stays(company: Company) -> None:
    root = await company.writes(CUSTOMER, SUPPORT, "Where is it?")
    thread = ThreadRef(TEAM, SUPPORT, root)
    await company.closes(await company.received(CUSTOMER, thread, root, f"Where is my {CANARY[CUSTOMER.user]}?"))
    case = await company.cases.open(thread, CUSTOMER, reason="billing", priority="high", summary="A lamp")
    said = await company.received(OTHER, thread, company.ts(), f"And my {CANARY[OTHER.user]}?")
    await company.relay.from_customer(case, said, OTHER)
    await company.closes(said)
    await company.sends()
    await company.erases(await company.interrupts())
    await company.sends()
    assert CANARY[OTHER.user] in company.told(AGENTS)
    assert "outbox.payload" in await company.columns_with(OTHER)
    assert await company.columns_with(CUSTOMER) == STAYS


class Pieces(Database):
    """A database that counts its transactions, and how many of somebody's messages each of them has erased."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.erased: list[int] = []

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[Transaction]:
        async with self._database.transaction(urgent=urgent) as tx:
            before = await self._stones(tx)
            yield tx
            self.erased.append(await self._stones(tx) - before)

    async def scrub(self) -> None:
        await self._database.scrub()

    async def _stones(self, tx: Transaction) -> int:
        return sum("deleted" in body for body in (await tx.execute(select(schema.inbox.c.body))).scalars())


async def test_much_that_somebody_wrote_among_others_goes_in_a_few_pieces_and_never_all_at_once(
    company: Company,
) -> None:
    root = await company.slack.client.chat.post(SUPPORT, text="A thread of the channel")
    thread, many = ThreadRef(TEAM, SUPPORT, root), 3 * LARGEST_STEP
    for number in range(many):
        for who, words in ((CUSTOMER, f"Is my {CANARY[CUSTOMER.user]} number {number} here?"), (OTHER, "I wait too.")):
            item = await company.received(who, thread, company.ts(), words)
            await company.answered(item, f"You asked: {words}")
    database = Pieces(company.database)
    company.erases_in(database)
    await company.erases(await company.interrupts())
    assert sum(database.erased) == many
    assert max(database.erased) <= LARGEST_STEP
    assert len(database.erased) < many
    assert await company.columns_with(CUSTOMER) == STAYS
    async with company.database.transaction() as tx:
        bodies = (await tx.execute(select(schema.inbox.c.body))).scalars().all()
    assert sum(body.get("text") == "I wait too." for body in bodies) == many


class Watched(Database):
    """A database at which somebody looks after each transaction."""

    def __init__(self, database: Database, look: Callable[[], Awaitable[object]]) -> None:
        self._database = database
        self._look = look

    @asynccontextmanager
    async def transaction(self, *, urgent: bool = False) -> AsyncIterator[Transaction]:
        async with self._database.transaction(urgent=urgent) as tx:
            yield tx
        await self._look()

    async def scrub(self) -> None:
        await self._database.scrub()


async def test_between_two_steps_nothing_is_made_of_what_they_wrote(company: Company) -> None:
    """Others may open a case at any moment, and a file of a case is made when it leaves."""
    company.is_slow()
    thread = ThreadRef(TEAM, SUPPORT, await company.slack.client.chat.post(SUPPORT, text="A thread of the channel"))
    long = f"{CANARY[CUSTOMER.user]} " + "is not here, and I have waited for it " * 30
    for who, words in ((CUSTOMER, long), (OTHER, "My chair is blue"), (CUSTOMER, f"And my {long}")):
        item = await company.received(who, thread, company.ts(), words)
        await company.answered(item, f"You asked: {words}")
    await company.cases.open(thread, OTHER, reason="billing", priority="high", summary="A chair")
    await company.sends()
    seen: list[tuple[bool, bool, bool]] = []

    async def look() -> None:
        async with company.database.transaction() as tx:
            shown = any(CANARY[CUSTOMER.user] in line.text for line in await of_thread(tx, thread, latest=None))
            bodies = (await tx.execute(select(schema.inbox.c.body))).scalars().all()
            files = await outbox.posts_under(tx, "case/")
        begun = any("deleted" in body for body in bodies)
        seen.append((begun, shown, sum(bool(file.payload.get("files")) for file in files) > 1))

    company.erases_in(Watched(company.database, look))
    await company.erases(await company.interrupts())
    assert {(begun, shown) for begun, shown, _ in seen} == {(False, True), (True, False)}
    assert sum(begun and not has_new_file for begun, _, has_new_file in seen) > 3, "it was not in pieces"
    assert seen[-1] == (True, False, True)


@pytest.mark.parametrize(
    ("seconds", "size"),
    [
        ((0.001,), 2 * FIRST_STEP),
        ((0.001, 2 * MAX_TRANSACTION_TIME, 0.001), FIRST_STEP // 2),
        ((0.001, MAX_TRANSACTION_TIME / 2), FIRST_STEP),
        ((), FIRST_STEP),
    ],
)
async def test_the_next_piece_is_as_large_as_the_longest_transaction_of_the_last_one_allows(
    company: Company, seconds: tuple[float, ...], size: int
) -> None:
    clock = ManualClock()
    steps = Steps(company.database, clock)
    assert steps.next_size() == FIRST_STEP
    for each in seconds:
        async with steps.transaction():
            clock.advance(each)
    assert steps.next_size() == size


async def test_a_post_that_is_refused_while_it_is_erased_is_quoted_to_nobody(company: Company) -> None:
    case, _ = await filled(company)
    below = ThreadRef(TEAM, AGENTS, await company.card_of(case))
    said = await company.received(CUSTOMER, below, company.ts(), f"Thanks, {CUSTOMER.name}", kind="staff")
    await company.relay.from_staff(said)
    await company.closes(said)
    reached, goes_on = asyncio.Event(), asyncio.Event()

    async def refuse(*_: Any, ready: Any, **__: Any) -> str:
        await ready()
        reached.set()
        await goes_on.wait()
        raise SlackRefused("chat.postMessage", "is_archived")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(company.slack.client.chat, "post", refuse)
        running = asyncio.create_task(company.outbox.run())
        company.outbox.wake()
        await reached.wait()
        await company.erases(await company.interrupts())
    goes_on.set()
    assert await company.outbox.flush(10_000)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await company.columns_with(CUSTOMER) == STAYS
    assert CUSTOMER.name not in company.told(AGENTS)


async def test_a_card_that_was_at_two_desks_is_gone_at_both(company: Company) -> None:
    case, _ = await filled(company)
    moved = Outgoing(f"{cards_key(case.id)}/{SUPPORT}", "post", SUPPORT, {"text": case.title}, case_id=case.id)
    async with company.database.transaction() as tx:
        await outbox.add(tx, moved, now=1.0)
    await company.sends()
    below = ThreadRef(TEAM, SUPPORT, await company.card_of(replace(case, desk=SUPPORT)))
    note = await company.received(CUSTOMER, below, company.ts(), f"// {CUSTOMER.name}", kind="staff")
    await company.closes(note)
    await company.erases(await company.interrupts())
    await company.sends()
    assert case.title not in company.told(AGENTS) + company.told(SUPPORT)
    assert await company.columns_with(CUSTOMER) == STAYS


async def test_what_somebody_did_as_staff_is_not_theirs_as_a_customer(company: Company) -> None:
    await filled(company)
    before = await company.rows()
    await company.erases(await company.interrupts(replace(CUSTOMER, user="U0AGENTA")))
    after = await company.rows()
    assert {key: after[key] for key in before} == before
    assert "Agent A" in company.told(DIRECT[CUSTOMER.user])


async def test_whom_slack_does_not_know_any_more_is_erased_all_the_same(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(user: str) -> None:
        raise SlackRefused("users.info", "user_not_found")

    await filled(company)
    monkeypatch.setattr(company.slack.client.directory, "user", nobody)
    await company.erases(await company.interrupts())
    assert await company.columns_with(CUSTOMER) == STAYS
    assert not [key for _, key in await company.queued() if key.startswith("forgotten/told")]


async def test_operators_ask_from_outside_and_it_is_found(company: Company) -> None:
    await filled(company)
    async with company.database.transaction() as tx:
        kept = await persons.find(tx, CUSTOMER.user)
        await persons.ask(tx, kept, TEAM, now=1.0)
    found: asyncio.Queue[int] = asyncio.Queue()
    submit = found.put_nowait
    watching = asyncio.create_task(erasure.watch_erasures(company.database, company.clock, lambda row, _: submit(row)))
    async with asyncio.timeout(patience(20)):
        asked = await found.get()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    async with company.database.transaction() as tx:
        item = await inbox.start(tx, asked)
    assert item is not None
    await company.erases(item)
    assert await company.columns_with(CUSTOMER) == STAYS
    assert "operator" in str([row.get("actor") for row in (await company.rows()).values()])


async def test_who_cannot_be_erased_is_told_so(company: Company) -> None:
    item = await company.interrupts()
    await company.erasure.tell_failed(item)
    await company.sends()
    assert load_sentences().say("en", "erase_failed") in company.told(DIRECT[CUSTOMER.user])
    assert "it is still stored" in dead_line(item, agent_channel=AGENTS).payload["text"]


@pytest.mark.parametrize("language", languages())
def test_the_dialog_says_it_within_what_slack_shows(language: Language) -> None:
    say = load_sentences().say
    assert len(say(language, "erase_confirm")) <= 300
    assert max(len(say(language, key)) for key in ("erase_yes", "erase_no")) <= 30
