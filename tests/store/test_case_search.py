"""The search for cases, on both databases."""

from typing import Any

from sqlalchemy import update

from bot.store import case_search, erasure, inbox, outbox, schema
from bot.store.case_search import CaseQuery, FoundCases, search_cases
from bot.store.cases import card_key
from bot.store.database import Database
from bot.store.outbox import Outgoing
from tests.store.test_case_lists import opened
from tests.turns.arrivals import arrival


async def found(database: Database, *, limit: int = 10, after: int | None = None, **query: Any) -> FoundCases:
    async with database.transaction() as tx:
        return await search_cases(tx, CaseQuery(**query), limit=limit, after=after)


async def refs_of(database: Database, words: str) -> list[str]:
    return [case.ref for case in (await found(database, words=tuple(words.split()))).cases]


async def test_a_search_wants_every_word_wherever_it_was_said(database: Database) -> None:
    lamp = await opened(database, "1.1", title="A broken lamp", opened_at=1.0)
    boots = await opened(database, "1.2", title="Boots", customer_name="Customer Ä", opened_at=2.0)
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1", text="Die Lampe ist zerbrochen, 100 % Ärger"), now=1.0)
        key = card_key(boots)
        said = Outgoing("relay/1", "post", "C0AGENTS", {"text": "Refunded\nin full"}, parent=key, case_id=boots.id)
        mirrored = Outgoing(
            "relay/2", "post", "C0AGENTS", {"text": "Replaced"}, case_id=boots.id, source=("C0AGENTS", "5.5")
        )
        await outbox.add(tx, said, mirrored, now=1.0)
    assert await refs_of(database, "LAMP") == [lamp.ref]
    assert await refs_of(database, "zerbrochen lamp") == [lamp.ref]
    assert await refs_of(database, "zerbrochen boots") == []
    assert await refs_of(database, "ärger") == [lamp.ref]
    assert await refs_of(database, "ä") == [boots.ref, lamp.ref]
    assert await refs_of(database, "replaced") == [boots.ref]
    assert await refs_of(database, "refunded") == []
    assert await refs_of(database, boots.ref.lower()) == [boots.ref]


async def test_what_is_searched_stands_for_nothing_but_itself(database: Database) -> None:
    lamp = await opened(database, "1.1", title="100 % of the lamp_shade")
    assert await refs_of(database, "%") == [lamp.ref]
    assert await refs_of(database, "lamp_shade") == [lamp.ref]
    assert await refs_of(database, "lamp%shade") == []
    assert await refs_of(database, "l_mp") == []
    assert await refs_of(database, "\\") == []


async def test_each_condition_and_all_together_narrow_the_cases(database: Database) -> None:
    mine = await opened(database, "1.1", opened_at=1.0, state="human", tags=("refund", "vip"))
    solved = await opened(database, "1.2", opened_at=2.0, state="resolved", customer="U0CUSTOMERB")
    free = await opened(database, "1.3", opened_at=3.0, tags=("re_und",))
    async with database.transaction() as tx:
        for case in (mine, solved):
            owner = "U0AGENTA" if case is mine else "U0AGENTB"
            await tx.execute(update(schema.kase).where(schema.kase.c.id == case.id).values(owner=owner))
    misses = [
        (query, refs)
        for query, expected in (
            ({}, [free, solved, mine]),
            ({"owner": "U0AGENTA"}, [mine]),
            ({"owner": ""}, [free]),
            ({"customer": "U0CUSTOMERB"}, [solved]),
            ({"states": ("human", "waiting")}, [free, mine]),
            ({"tag": "refund"}, [mine]),
            ({"tag": "fund"}, []),
            ({"tag": "re_und"}, [free]),
            ({"since": 2.0}, [free, solved]),
            ({"before": 2.0}, [mine]),
            ({"since": 2.0, "before": 3.0, "customer": "U0CUSTOMERB", "words": ("lamp",)}, []),
        )
        if (refs := [case.ref for case in (await found(database, **query)).cases]) != [each.ref for each in expected]
    ]
    assert misses == []


async def test_pages_follow_each_other_without_a_gap_though_cases_are_opened_at_the_same_time(
    database: Database,
) -> None:
    refs = [(await opened(database, f"1.{number}", opened_at=number // 3)).ref for number in range(8)][::-1]
    for words in ((), ("customer",)):
        pages, after = list[list[str]](), None
        while True:
            page = await found(database, limit=3, after=after, words=words)
            pages.append([case.ref for case in page.cases])
            if (after := page.then) is None:
                break
        assert pages == [refs[:3], refs[3:6], refs[6:]]


async def test_words_are_looked_for_in_so_many_cases_and_the_next_page_goes_on_from_there(
    database: Database, monkeypatch: Any
) -> None:
    monkeypatch.setattr(case_search, "PIECE", 2)
    old = await opened(database, "1.0", opened_at=0.5, title="A unicorn")
    others = [await opened(database, f"1.{number}", opened_at=number) for number in range(1, 6)]
    async with database.transaction() as tx:
        page = await search_cases(tx, CaseQuery(words=("unicorn",)), limit=10, look_through=4)
        assert (page.cases, page.then, page.stopped_at) == ([], others[1].id, 2.0)
        page = await search_cases(tx, CaseQuery(words=("unicorn",)), limit=10, after=page.then, look_through=4)
    assert ([case.ref for case in page.cases], page.then) == ([old.ref], None)


async def test_what_the_customer_has_deleted_is_not_found_any_more(database: Database) -> None:
    case = await opened(database, "1.1", title="Nothing")
    async with database.transaction() as tx:
        row = await inbox.add(tx, arrival("1.1", text="My flamingo is broken"), now=1.0)
        assert row is not None
    assert await refs_of(database, "flamingo") == [case.ref]
    async with database.transaction() as tx:
        items = await erasure.not_erased(tx, [row])
        await erasure.hide(tx, items)
    assert await refs_of(database, "flamingo") == []
    async with database.transaction() as tx:
        await erasure.tombstone(tx, await erasure.not_erased(tx, [row]))
    assert await refs_of(database, "flamingo") == []
