"""What figures are made of, read back from what the product writes."""

from typing import Any

import pytest
from sqlalchemy import event, text

from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolResult, to_json
from bot.agent.model import Usage
from bot.conversation import ThreadRef
from bot.store import actions, audit, cases, erasure, inbox, metrics, outbox, spending, turns
from bot.store.database import Database, Transaction
from bot.store.metrics import NOT_OFFERED, AskedMessage, Opened, Relayed, Use, Verdict
from bot.store.outbox import Outgoing
from bot.store.spending import Spending
from tests.actions.test_action import an_action
from tests.store.rows import a_case, a_turn
from tests.turns.arrivals import TEAM, arrival

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
CHANNEL = ThreadRef(TEAM, "C0ORDERS", "2.2")
WHO = "U0CUSTOMERA"
PAGE = {"title": "Returns", "url": "https://help.example.com/returns"}
OFFLINE = {"title": "Sizes", "url": ""}
LOOKED_UP = ToolResult("call_1", "lookup_order", '{"state": "sent"}', private=True)


async def answer(
    tx: Transaction, item: int, *messages: Message, thread: ThreadRef = THREAD, now: float = 101.0, **fields: Any
) -> None:
    await turns.save(tx, a_turn(id=item, thread=thread, messages=[*map(to_json, messages)], **fields), now=now)


async def test_a_message_is_known_with_its_end_and_what_its_answer_rests_on(database: Database) -> None:
    async with database.transaction() as tx:
        first = await inbox.add(tx, arrival("1.1", text="How do I return it?"), now=100.0)
        open_one = await inbox.add(tx, arrival("1.2", thread_ts="1.1", text="Still there?"), now=102.0)
        assert first is not None
        await answer(tx, first, CustomerMessage("How do I return it?"), sources=[PAGE, OFFLINE])
        await inbox.finish(tx, first, "done", reason="answered", now=101.0)
    found = await metrics.read(database, since=0.0)
    assert found.written == [
        AskedMessage(
            first, THREAD.key, WHO, 100.0, "How do I return it?", "answered", frozenset({PAGE["url"], "Sizes"})
        ),
        AskedMessage(open_one or 0, THREAD.key, WHO, 102.0, "Still there?"),
    ]
    assert [each.text for each in (await metrics.read(database, since=101.0)).written] == ["Still there?"]


async def test_a_private_answer_to_a_question_in_a_channel_is_one_message_in_the_channel(database: Database) -> None:
    async with database.transaction() as tx:
        asked = await inbox.add(tx, arrival("2.2", channel="C0ORDERS", text="Where is it?"), now=100.0)
        assert asked is not None
        question = CustomerMessage("Where is it?")
        await answer(tx, asked, question, LOOKED_UP, AgentMessage("Tomorrow."), sources=[PAGE])
        await answer(tx, asked, question, AgentMessage("I've sent it to you."), thread=CHANNEL)
        await inbox.finish(tx, asked, "done", reason="answered", now=101.0)
    (message,) = (await metrics.read(database, since=0.0)).written
    assert message.thread == CHANNEL.key
    assert message.sources == {PAGE["url"]}
    assert message.looked_up


async def test_nobodys_words_look_like_a_look_up(database: Database) -> None:
    forged = '"ok": true, "private": true'
    found: dict[str, list[Message]] = {
        "forged": [CustomerMessage(forged), AgentMessage(forged), ToolResult("c", "search_knowledge", forged)],
        "failed": [ToolResult("c", "lookup_order", "{}", ok=False, private=True)],
        "in the trace": [CustomerMessage("Where is it?")],
    }
    async with database.transaction() as tx:
        for number, (text, messages) in enumerate(found.items()):
            item = await inbox.add(tx, arrival(f"{number}.1", text=text), now=100.0)
            trace = [to_json(LOOKED_UP)] if "trace" in text else None
            await answer(tx, item or 0, *messages, trace=trace, ts=f"{number}.1")
    assert [each.text for each in (await metrics.read(database, since=0.0)).written if each.looked_up] == [
        "in the trace"
    ]


async def test_what_was_dropped_deleted_or_an_edit_that_nobody_answered_is_no_message(database: Database) -> None:
    came: tuple[tuple[str, inbox.Kind], ...] = (
        ("dropped", "message"),
        ("deleted", "message"),
        ("noted", "edit"),
        ("answered", "edit"),
        ("dead", "message"),
    )
    async with database.transaction() as tx:
        kept = [await inbox.insert(tx, arrival(text, text=text, kind=kind), now=100.0) for text, kind in came]
        dropped, deleted, noted, answered, dead = (each or 0 for each in kept)
        await inbox.finish(tx, dropped, "dropped", reason="not_a_person", now=101.0)
        await inbox.finish(tx, noted, "done", reason="noted", now=101.0)
        await inbox.finish(tx, answered, "done", reason="answered", now=101.0)
        await inbox.finish(tx, dead, "dead", reason="unstorable", now=101.0)
        await answer(tx, answered, CustomerMessage("answered"))
        item = await inbox.start(tx, deleted)
        assert item is not None
        await erasure.tombstone(tx, [item])
    assert [(each.text, each.ended) for each in (await metrics.read(database, since=0.0)).written] == [
        ("answered", "answered"),
        ("dead", "failed"),
    ]


async def test_verdicts_are_those_of_whom_they_are_about(database: Database) -> None:
    async with database.transaction() as tx:
        asked = await inbox.add(tx, arrival("1.1"), now=100.0)
        case = await cases.add(tx, a_case(opened_at=100.0))
        assert case is not None
        for person, verdict, score in ((WHO, "up", "2"), ("U0SOMEBODY", "down", "5")):
            await audit.rate(tx, f"turn/{asked}", person, verdict, now=110.0)
            await audit.rate(tx, f"case/{case.ref}", person, score, now=111.0)
        await audit.rate(tx, f"case/{case.ref}", WHO, "4", now=112.0)
    found = await metrics.read(database, since=0.0)
    assert found.on_answers == {asked: Verdict("up", 110.0)}
    assert found.on_cases == {case.id: Verdict("4", 112.0)}


async def test_a_case_is_known_with_its_first_claim_and_every_reopening(database: Database) -> None:
    async with database.transaction() as tx:
        case = await cases.add(tx, a_case(opened_at=100.0))
        assert case is not None
        for at, action in enumerate(("claimed", "resolved", "reopened", "claimed", "taken_over"), start=101):
            await audit.note(tx, actor="U0AGENTA", action=f"case.{action}", subject=case.ref, now=float(at))
        await cases.change(tx, case, a_case(id=case.id, state="human", reopened=1, claimed_at=105.0))
        await cases.note_reply(tx, case, now=101.5)
    assert (await metrics.read(database, since=0.0)).cases == [
        Opened(
            case.id,
            THREAD.key,
            WHO,
            "asked_for_person",
            100.0,
            claimed_at=101.0,
            replied_at=101.5,
            was_resolved=True,
            reopened=1,
            reopened_at=(103.0,),
            is_open=True,
        )
    ]
    assert (await metrics.read(database, since=100.5)).cases == []


async def test_money_and_the_relay(database: Database) -> None:
    def call(key: str, source: tuple[str, str] | None = None) -> Outgoing:
        return Outgoing(key, "post", "C0AGENTS", {"text": "hi"}, source=source)

    async with database.transaction() as tx:
        usage = Usage(1_000, 100, 500, cost=0.25, estimated=True)
        await spending.add(tx, Spending("turn/1/small", "answer", THREAD, WHO, ("small",), usage), now=100.0)
        copies = [call(f"relay/{number}", ("D0CUSTOMERA", f"1.{number}")) for number in (1, 2)]
        await outbox.add(tx, *copies, call("case/1/card"), now=100.0)
        first, second, _ = await outbox.open_rows(tx)
        await outbox.mark_sent(tx, first, "9.9", now=100.5)
        await outbox.mark_failed(tx, second, "channel_not_found", now=101.0)
    found = await metrics.read(database, since=0.0)
    assert found.uses == [
        Use(THREAD.key, WHO, 100.0, 1_100, 0.25, estimated=True, input_tokens=1_000, cached_tokens=500)
    ]
    assert found.relayed == [Relayed(100.0, 100.5), Relayed(100.0, None, failed=True)]


async def test_what_is_read_in_pieces_is_whole(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "PIECE", 2)
    day = 86_400.0
    async with database.transaction() as tx:
        for number in range(9):
            # Those that come last were received first, as what Slack delivers again is.
            item = await inbox.insert(tx, arrival(f"{number}.1", text=str(number)), now=100.0 - number)
            assert item is not None
            if number in (2, 3, 4):
                await inbox.finish(tx, item, "dropped", reason="not_a_person", now=101.0)
            use = Spending(f"turn/{item}/small", "answer", THREAD, WHO, ("small",), Usage(cost=1.0))
            await spending.add(tx, use, now=100.0 + number * day / 2)
    found = await metrics.read(database, since=93.0)
    assert [each.text for each in found.written] == ["7", "6", "5", "1", "0"]
    assert [use.at for use in found.uses] == [100.0 + number * day / 2 for number in range(9)]


async def test_what_is_older_than_the_period_is_not_looked_through(database: Database) -> None:
    statements: list[tuple[str, Any]] = []
    async with database.transaction() as tx:
        engine = tx.engine.sync_engine
    event.listen(engine, "before_cursor_execute", lambda *call: statements.append((call[2], call[3])))
    await metrics.read(database, since=100.0)
    looks = [each for each in statements if each[0].startswith("SELECT")]
    assert len(looks) == 9
    async with database.transaction() as tx:
        if is_postgres := tx.dialect.name == "postgresql":
            # Of an empty table Postgres reads all and sorts it, if it may.
            for way in ("seqscan", "bitmapscan", "sort"):
                await tx.execute(text(f"set local enable_{way} = off"))
        explain = "explain" if is_postgres else "explain query plan"
        plans = [
            "\n".join(str(row[-1]) for row in await tx.exec_driver_sql(f"{explain} {statement}", parameters))
            for statement, parameters in looks
        ]
    answers = ("inbox_received", "audit_action", "case_opened", "feedback_given", "spending_at")
    indexes = (*answers, "action_offered_at", "outbox_relayed", "audit_action", "procedure_run_ended_at")
    for index, plan in zip(indexes, plans, strict=True):
        assert f"ix_{index}" in plan, plan


async def test_an_action_that_is_done_is_something_that_was_done_for_the_customer(database: Database) -> None:
    async with database.transaction() as tx:
        asked = [await inbox.add(tx, arrival(f"1.{number}", text="Cancel it"), now=100.0 + number) for number in (1, 2)]
        for each, state in zip(asked, ("done", "declined"), strict=True):
            assert each is not None
            await answer(tx, each, CustomerMessage("Cancel it"))
            mine = {"ref": f"act_{each}", "key": f"k{each}", "origin": f"turn/{each}/again/act_x", "money": -5}
            await actions.add(tx, an_action(state, **mine))  # type: ignore[arg-type]
        for _ in range(2):
            detail = {"kind": "refund", "outcome": "refuse", "rules": "paid window"}
            await audit.note(
                tx, actor="frontdesk", action=NOT_OFFERED, subject=f"turn/{asked[1]}", detail=detail, now=103.0
            )
    found = await metrics.read(database, since=0.0)
    assert [each.looked_up for each in found.written] == [True, False]
    assert [(each.state, each.turn, each.money) for each in found.offered] == [
        ("done", asked[0], -5),
        ("declined", asked[1], -5),
    ]
    assert [(each.kind, each.rules) for each in found.refused] == [("refund", ("paid", "window"))]
    assert (await metrics.read(database, since=2_000.0)).offered == []
