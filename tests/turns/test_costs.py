"""What a turn has cost, told apart by model."""

from types import SimpleNamespace
from typing import Any, cast

from bot.agent.loop import Outcome
from bot.agent.model import Usage
from bot.agent.replies import ModelReply
from bot.conversation import ThreadRef
from bot.store import inbox, spending, turns
from bot.store.bodies import MessageBody
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.answers.journal import open_journal
from bot.turns.costs import UNKNOWN, costs_of
from tests.doubles.clock import ManualClock
from tests.turns.answering import build_answers
from tests.turns.arrivals import TEAM, arrival

ITEM = InboxItem(7, "message", ThreadRef(TEAM, "D0CUSTOMERA", "1.1"), "1.1", "U0CUSTOMERA", TEAM, MessageBody(), 1, 0.0)
SMALL = Usage(100, 10, 0, 0.25)


def reply(model: str, usage: Usage) -> dict[str, Any]:
    return ModelReply("Hello", (), "stop", usage, model).to_json()


def outcome(usage: Usage, *models: str) -> Outcome:
    return Outcome("answered", "frontdesk", "Hello", (), usage, models=models)


def test_each_model_has_a_row_with_the_sum_of_its_rounds() -> None:
    rounds = {
        "round-1": reply("small", Usage(100, 10, 0, 0.001)),
        "round-2": reply("large", Usage(200, 20, 50, 0.01)),
        "check/round-1": reply("small", Usage(1_000, 100, 0, 0.01)),
    }
    whole = Usage(1_300, 130, 50, 0.021)
    uses = costs_of(ITEM, rounds, outcome(whole, "small", "large"))
    assert [(use.key, use.models, use.usage) for use in uses] == [
        ("turn/7/small", ("small",), Usage(1_100, 110, 0, 0.011)),
        ("turn/7/large", ("large",), Usage(200, 20, 50, 0.01)),
    ]
    assert {(use.purpose, use.thread.key, use.customer) for use in uses} == {
        ("answer", ITEM.thread.key, "U0CUSTOMERA"),
    }


def test_what_failed_besides_is_put_down_to_the_model_that_wrote_last() -> None:
    rounds = {"round-1": reply("small", Usage(100, 10, 0, 1.0))}
    (use,) = costs_of(ITEM, rounds, outcome(Usage(150, 30, 0, 1.5, estimated=True), "small"))
    assert use.usage == Usage(150, 30, 0, 1.5, estimated=True)


def test_a_turn_in_which_every_request_failed_has_cost_what_came_of_them() -> None:
    (use,) = costs_of(ITEM, {}, outcome(Usage(50, 5)))
    assert (use.models, use.usage.input_tokens) == ((UNKNOWN,), 50)


def test_a_turn_that_used_nothing_has_no_row() -> None:
    assert costs_of(ITEM, {}, outcome(Usage())) == []


def test_a_turn_that_never_ended_has_cost_its_rounds() -> None:
    (use,) = costs_of(ITEM, {"round-1": reply("small", Usage(100, 10))})
    assert use.usage == Usage(100, 10)


async def test_the_journal_knows_the_rounds_of_all_runs_of_a_turn_and_of_earlier_attempts(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        await inbox.start(tx, 1)
    first = await open_journal(database, ManualClock(), turn=1, attempt=1)
    for name in ("stream", "round-1", "call-1", "part/of/round-12", "surround-1", "round-x"):
        await first.record(name, {"n": name})
    async with database.transaction() as tx:
        await inbox.start(tx, 1)
    resumed = await open_journal(database, ManualClock(), turn=1, attempt=2)
    await resumed.record("round-2", {"n": "round-2"})
    assert set(resumed.rounds) == {"round-1", "part/of/round-12", "round-2"}


async def test_a_turn_that_is_kept_again_after_a_restart_has_cost_the_same(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        item = await inbox.start(tx, 1)
    assert item is not None
    rounds = {"draft/round-1": reply("strong", Usage(1_000, 100, 0, 1.0)), "check/round-1": reply("cheap", SMALL)}
    whole = outcome(Usage(1_100, 110, 0, 1.25), "strong", "cheap")
    for known in (rounds, dict(reversed(rounds.items()))):
        async with database.transaction() as tx:
            for use in costs_of(item, known, whole):
                await spending.add(tx, use, now=1.0)
    async with database.transaction() as tx:
        (total,) = await spending.totals(tx, since=0, by="thread")
        assert (total.group, total.usage.cost) == (item.thread.key, 1.25)
        assert len((await spending.of_turns(tx, [1]))[1]) == 2


async def test_the_journal_brings_steps_back_in_the_order_in_which_they_were_finished(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        await inbox.start(tx, 1)
    clock = ManualClock()
    journal = await open_journal(database, clock, turn=1, attempt=1)
    names = ["draft/round-1", "call-9", "draft/round-2", "check/round-1"]
    for name in names:
        await journal.record(name, {})
        clock.advance(1.0)
    async with database.transaction() as tx:
        assert list(await turns.recall(tx, 1)) == names


async def test_what_a_turn_that_is_given_up_had_cost_is_kept(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        item = await inbox.start(tx, 1)
    assert item is not None
    clock = ManualClock()
    journal = await open_journal(database, clock, turn=1, attempt=1)
    await journal.record("round-1", reply("small", Usage(100, 10, 0, 0.25)))

    async def nothing_said(*where: str, oldest: float | None = None) -> list[dict[str, Any]]:
        """As Chat.own_replies."""
        return []

    chat = SimpleNamespace(own_replies=nothing_said)
    no_slack = SimpleNamespace(files=None, chat=chat, streams=None, sessions=None, directory=None)
    answers = build_answers(database, cast(Any, no_slack), clock)
    await answers.leftovers.close(item)
    async with database.transaction() as tx:
        await answers.leftovers.save(tx, item, reason="dead_letter", may_return=True)
        (total,) = await spending.totals(tx, since=0, by="thread")
    assert (total.group, total.usage.cost) == (item.thread.key, 0.25)
