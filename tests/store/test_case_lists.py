"""Lists of cases, on both databases."""

import pytest

from bot.conversation import ThreadRef
from bot.store import case_lists, cases, outbox
from bot.store.case_lists import Desks
from bot.store.case_search import CaseQuery, search_cases
from bot.store.cases import Case, card_key
from bot.store.database import Database
from bot.store.outbox import Outgoing
from tests.store.rows import a_case
from tests.turns.arrivals import TEAM


async def opened(database: Database, ts: str, **fields: object) -> Case:
    """A case of a thread of its own."""
    thread = ThreadRef(TEAM, "D0CUSTOMERA", ts)
    async with database.transaction() as tx:
        case = await cases.add(tx, a_case(thread=thread, **fields))
    assert case is not None
    return case


async def test_nobodys_cases_come_first_then_the_urgent_then_those_that_wait_longer(database: Database) -> None:
    late = await opened(database, "1.1", priority="low", waiting_since=1.0)
    mine = await opened(database, "1.2", priority="high", waiting_since=1.0)
    urgent = await opened(database, "1.3", priority="high", waiting_since=9.0)
    later = await opened(database, "1.4", priority="low", waiting_since=5.0, state="out_of_hours")
    async with database.transaction() as tx:
        before = await cases.find(tx, mine.id)
        assert before is not None
        await cases.change(tx, before, a_case(state="human", owner="U0AGENTA", priority="high", waiting_since=1.0))
        queue = await case_lists.of_view(tx, "all", limit=10)
    assert [case.ref for case in queue] == [urgent.ref, late.ref, later.ref, mine.ref]


@pytest.mark.parametrize(
    ("desks", "seen"),
    [
        (Desks(frozenset({""}), frozenset({"C0BILLING"})), ["first", "gone"]),
        (Desks(frozenset({"C0BILLING"}), frozenset({""})), ["billing"]),
        (Desks(frozenset({"", "C0BILLING"})), ["first", "billing", "gone"]),
        (Desks(frozenset(), frozenset({"", "C0BILLING"})), []),
        (case_lists.EVERYWHERE, ["first", "billing", "gone"]),
    ],
)
async def test_a_desk_has_its_own_cases_and_the_first_one_those_of_a_desk_that_is_gone(
    database: Database, desks: Desks, seen: list[str]
) -> None:
    for number, (title, desk) in enumerate((("first", ""), ("billing", "C0BILLING"), ("gone", "C0GONE"))):
        await opened(database, f"1.{number}", title=title, desk=desk, opened_at=9.0 - number)
    async with database.transaction() as tx:
        everything = await case_lists.of_view(tx, "all", limit=10)
        assert {case.title for case in await case_lists.of_view(tx, "all", limit=10, at=desks)} == set(seen)
        found = await search_cases(tx, CaseQuery(words=("Customer",)), limit=10, at=desks)
        assert [case.title for case in found.cases] == seen
    assert {case.title for case in everything if desks.have(case)} == set(seen)


async def test_a_customers_cases_are_theirs_alone_and_the_newest_is_first(database: Database) -> None:
    first = await opened(database, "1.1", opened_at=1.0)
    second = await opened(database, "1.2", opened_at=2.0)
    await opened(database, "1.3", customer="U0CUSTOMERB")
    async with database.transaction() as tx:
        found = await case_lists.of_customer(tx, TEAM, "U0CUSTOMERA", limit=10)
    assert [case.ref for case in found] == [second.ref, first.ref]


async def test_a_card_is_found_once_it_stands(database: Database) -> None:
    case = await opened(database, "1.1")
    async with database.transaction() as tx:
        await outbox.add(tx, Outgoing(card_key(case), "post", "C0AGENTS", {"text": "card"}, case_id=case.id), now=1.0)
        assert await case_lists.cards(tx, [case]) == {}
        (row,) = await outbox.open_rows(tx)
        await outbox.mark_sent(tx, row, "7.7", now=2.0)
        assert await case_lists.cards(tx, [case]) == {case.id: ("C0AGENTS", "7.7")}
