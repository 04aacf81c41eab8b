"""What models have cost, and what it adds up to."""

import pytest

from bot.agent.model import Usage
from bot.conversation import ThreadRef
from bot.store import inbox, spending
from bot.store.database import Database
from bot.store.spending import By, Purpose, Spending
from tests.turns.arrivals import arrival

TEAM = "T0FRONTDESK"
THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
DAY = 86_400.0
NOON = 20_000 * DAY + DAY / 2


def use(
    key: str,
    cost: float,
    *,
    customer: str = "U0CUSTOMERA",
    thread: ThreadRef = THREAD,
    model: str = "small",
    purpose: Purpose = "answer",
    estimated: bool = False,
) -> Spending:
    usage = Usage(1_000, 100, 500, cost=cost, estimated=estimated)
    return Spending(key, purpose, thread, customer, (model,), usage)


async def keep(database: Database, *uses: Spending, now: float = NOON) -> None:
    async with database.transaction() as tx:
        for each in uses:
            await spending.add(tx, each, now=now)


async def test_a_use_that_is_added_again_counts_once(database: Database) -> None:
    await keep(database, use("turn/1", 0.25))
    await keep(database, use("turn/1", 0.25), now=NOON + 60)
    async with database.transaction() as tx:
        assert await spending.cost_of_customer(tx, TEAM, "U0CUSTOMERA", since=0) == 0.25


async def test_sums_know_their_customer_workspace_and_thread(database: Database) -> None:
    other = ThreadRef(TEAM, "D0CUSTOMERB", "2.2")
    elsewhere = ThreadRef("T0OTHER", "D0CUSTOMERA", "3.3")
    await keep(
        database,
        use("turn/1", 1.0),
        use("turn/2", 2.0, customer="U0CUSTOMERB", thread=other),
        use("turn/3", 4.0, thread=elsewhere),
    )
    async with database.transaction() as tx:
        assert await spending.cost_of_customer(tx, TEAM, "U0CUSTOMERA", since=0) == 1.0
        assert await spending.cost_of_workspace(tx, TEAM, since=0) == 3.0
        by_thread = await spending.totals(tx, since=0, by="thread")
    costs = {total.group: total.usage.cost for total in by_thread}
    assert costs == {THREAD.key: 1.0, other.key: 2.0, elsewhere.key: 4.0}


async def test_what_is_older_does_not_count(database: Database) -> None:
    await keep(database, use("turn/1", 1.0), now=NOON - DAY - 1)
    await keep(database, use("turn/2", 2.0), now=NOON - DAY)
    async with database.transaction() as tx:
        assert await spending.cost_of_customer(tx, TEAM, "U0CUSTOMERA", since=NOON - DAY) == 2.0
        assert await spending.cost_of_workspace(tx, TEAM, since=NOON - DAY) == 2.0


async def test_a_failed_transaction_has_cost_nothing(database: Database) -> None:
    async def fail_half_way() -> None:
        async with database.transaction() as tx:
            await spending.add(tx, use("turn/1", 1.0), now=NOON)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_half_way()
    async with database.transaction() as tx:
        assert await spending.cost_of_workspace(tx, TEAM, since=0) == 0.0


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("customer", [("U0CUSTOMERB", 1, 4.0), ("U0CUSTOMERA", 2, 3.0)]),
        ("thread", [(f"{TEAM}/D0CUSTOMERA/1.1", 3, 7.0)]),
        ("model", [("large", 2, 6.0), ("small", 1, 1.0)]),
        ("purpose", [("summary", 1, 4.0), ("answer", 2, 3.0)]),
        ("day", [("2024-10-04", 2, 3.0), ("2024-10-05", 1, 4.0)]),
    ],
)
async def test_totals_are_told_apart_and_the_dearest_comes_first(
    database: Database, by: By, groups: list[tuple[str, int, float]]
) -> None:
    await keep(database, use("turn/1", 1.0), use("turn/2", 2.0, model="large"))
    summary = use("summary/1/2.2", 4.0, customer="U0CUSTOMERB", model="large", purpose="summary")
    await keep(database, summary, now=NOON + DAY * 0.75)
    async with database.transaction() as tx:
        found = await spending.totals(tx, since=0, by=by)
    assert [(total.group, total.uses, total.usage.cost) for total in found] == groups


async def test_totals_add_up_tokens_and_say_when_some_were_estimated(database: Database) -> None:
    await keep(database, use("turn/1", 1.0), use("turn/2", 2.0, estimated=True))
    async with database.transaction() as tx:
        (total,) = await spending.totals(tx, since=0, by="purpose")
    assert total.usage == Usage(2_000, 200, 1_000, cost=3.0, estimated=True)


async def test_each_turn_knows_what_its_models_cost(database: Database) -> None:
    async with database.transaction() as tx:
        for ts in ("1.1", "1.2", "1.3"):
            await inbox.add(tx, arrival(ts, thread_ts="1.1"), now=NOON)
    await keep(
        database,
        use("turn/1", 1.0),
        use("turn/1/large", 2.0, model="large"),
        use("turn/3", 4.0),
        use("turn/11", 8.0),
        use("summary/x/1", 16.0, purpose="summary"),
    )
    async with database.transaction() as tx:
        found = await spending.of_turns(tx, [1, 2, 3])
    assert {turn: [(use.models, use.usage.cost) for use in uses] for turn, uses in found.items()} == {
        1: [(("small",), 1.0), (("large",), 2.0)],
        3: [(("small",), 4.0)],
    }
