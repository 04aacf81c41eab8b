"""Cases over a real database and a local Slack."""

import asyncio

import pytest

from bot.cases.case import MovedOn
from bot.cases.cases import OPEN_CASES, Cases
from bot.cases.step import UnknownCase
from bot.conversation import Customer, ThreadRef
from bot.slack.outbox import Outbox
from bot.store import cases as case_rows
from bot.store import outbox as rows
from bot.store import threads
from bot.store.cases import Case
from bot.store.database import Database
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.turns.answering import build_cases
from tests.turns.arrivals import TEAM, arrival, begin

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
CUSTOMER = Customer(TEAM, "U0CUSTOMERA", "Customer A", "en-US", "member")


@pytest.fixture
async def cases(database: Database, slack: LocalSlack) -> Cases:
    async with database.transaction() as tx:
        await begin(tx, arrival("1.1", text="My parcel is lost, card 4111 1111 1111 1111"))
    clock = ManualClock()
    outbox = Outbox(database, slack.client.chat, slack.client.sessions, clock)
    return build_cases(database, outbox, slack.client, clock)


async def keys(database: Database) -> list[str]:
    async with database.transaction() as tx:
        return [row.key for row in await rows.open_rows(tx)]


async def said(database: Database, key: str) -> str:
    """The text of what is to be said under this key."""
    async with database.transaction() as tx:
        row = await rows.by_key(tx, key)
    assert row is not None
    return str(row.payload)


async def claimed(cases: Cases) -> Case:
    """A case that Agent A has."""
    case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    return await cases.claim(case.ref, "U0AGENTA")


async def test_opening_twice_is_opening_once(cases: Cases, database: Database) -> None:
    opened = await asyncio.gather(
        *(cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium") for _ in range(10))
    )
    assert {case.ref for case in opened} == {"FD-1001"}
    assert [key for key in await keys(database) if key.endswith("/card")] == ["case/1/card"]


async def test_of_one_reason_a_customer_has_one_case_when_more_would_say_nothing_new(
    cases: Cases, database: Database
) -> None:
    threads_of_theirs = [ThreadRef(TEAM, "D0CUSTOMERA", f"{number}.2") for number in range(1, 11)]
    opened = await asyncio.gather(
        *(
            cases.open(thread, CUSTOMER, reason="budget", priority="medium", one_a_customer=True)
            for thread in threads_of_theirs
        )
    )
    assert {case.ref for case in opened} == {"FD-1001"}
    await cases.claim("FD-1001", "U0AGENTA")
    again = await cases.open(threads_of_theirs[0], CUSTOMER, reason="budget", priority="medium", one_a_customer=True)
    assert again.ref == "FD-1001"
    other = Customer(TEAM, "U0CUSTOMERB", "Customer B", "en-US", "member")
    theirs = ThreadRef(TEAM, "C0SUPPORT", "20.2")
    assert (await cases.open(theirs, other, reason="budget", priority="medium", one_a_customer=True)).ref == "FD-1002"
    await cases.resolve("FD-1001", "U0AGENTA")
    later = await cases.open(threads_of_theirs[1], CUSTOMER, reason="budget", priority="medium", one_a_customer=True)
    assert later.ref == "FD-1003"


async def test_a_direct_message_joins_no_case_that_others_read(cases: Cases) -> None:
    in_channel, direct = ThreadRef(TEAM, "C0SUPPORT", "1.2"), ThreadRef(TEAM, "D0CUSTOMERA", "2.2")
    public = await cases.open(in_channel, CUSTOMER, reason="budget", priority="medium", one_a_customer=True)
    private = await cases.open(direct, CUSTOMER, reason="budget", priority="medium", one_a_customer=True)
    assert (public.ref, private.ref) == ("FD-1001", "FD-1002")


async def test_of_fifty_claims_one_wins(cases: Cases, database: Database) -> None:
    case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    claims = (cases.claim(case.ref, "U0AGENTA" if number % 2 else "U0AGENTB") for number in range(50))
    results = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(isinstance(result, MovedOn) for result in results) == 49
    assert len([key for key in await keys(database) if "/claimed/" in key]) == 1


async def test_a_case_is_named_after_the_customers_words_when_nobody_summed_it_up(cases: Cases) -> None:
    case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    assert case.title.startswith("My parcel is lost")
    assert case.summary == ""


async def test_what_a_case_is_called_says_nothing_that_its_summary_says_again(cases: Cases, database: Database) -> None:
    summary = (
        "Customer reports a parcel that never came, order ORD-1001, and wants the money back. Looked up the order."
    )
    case = await cases.open(THREAD, CUSTOMER, reason="billing", priority="high", summary=summary)
    assert case.title.startswith("My parcel is lost")
    assert (await said(database, "case/1/card")).count("Customer reports") == 1
    other = ThreadRef(TEAM, "D0CUSTOMERA", "2.1")
    subject = "Lost  parcel\nORD-1001, card 4111 1111 1111 1111"
    named = await cases.open(other, CUSTOMER, reason="billing", priority="high", subject=subject, summary=summary)
    assert named.title.startswith("Lost parcel ORD-1001, card ")
    assert "1111" not in named.title


async def test_a_summary_hides_card_numbers(cases: Cases) -> None:
    summary = "Paid with 4111 1111 1111 1111 and wants it back"
    case = await cases.open(THREAD, CUSTOMER, reason="billing", priority="high", summary=summary)
    assert "1111 1111" not in case.summary


async def test_ending_a_case_begins_a_fresh_episode_with_a_note(cases: Cases, database: Database) -> None:
    case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    await cases.claim(case.ref, "U0AGENTA")
    await cases.resolve(case.ref, "U0AGENTA")
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, THREAD)
    assert state is not None
    assert state.episode == 1
    assert "Agent A" in state.note
    assert case.ref in state.note


async def test_the_customer_and_the_card_are_told_who_solved_the_case_whoever_had_it(
    cases: Cases, database: Database
) -> None:
    await cases.resolve((await claimed(cases)).ref, "U0AGENTB")
    to_customer, card = await said(database, "case/1/resolved/3"), await said(database, "case/1/card/3")
    assert "Agent B marked your case" in to_customer
    assert "Agent A" not in to_customer
    assert "Solved* by <@U0AGENTB>" in card
    assert "U0AGENTA" not in card


async def test_the_card_says_who_handed_the_case_back_whoever_had_it(cases: Cases, database: Database) -> None:
    await cases.hand_back((await claimed(cases)).ref, "U0AGENTB")
    card = await said(database, "case/1/card/3")
    assert "Back with the assistant* by <@U0AGENTB>" in card
    assert "U0AGENTA" not in card


async def test_the_card_says_that_the_customer_went_on_with_the_assistant(cases: Cases, database: Database) -> None:
    case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    await cases.cancel(case.ref, CUSTOMER.user)
    assert f"Back with the assistant* by <@{CUSTOMER.user}>" in await said(database, "case/1/card/2")


async def test_ten_rounds_of_handing_over_and_back_do_not_loop(cases: Cases, database: Database) -> None:
    for number in range(1, 11):
        case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
        assert case.ref == f"FD-{1000 + number}"
        await cases.claim(case.ref, "U0AGENTA")
        await cases.hand_back(case.ref, "U0AGENTA")
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, THREAD)
    assert state is not None
    assert state.episode == 10


async def test_nobody_elses_case_is_cancelled(cases: Cases) -> None:
    case = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    with pytest.raises(MovedOn):
        await cases.cancel(case.ref, "U0CUSTOMERB")
    assert (await cases.find(case.ref)).state == "waiting"


async def test_a_thread_has_one_open_case_however_many_open_and_reopen_at_once(
    cases: Cases, database: Database
) -> None:
    solved = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    await cases.claim(solved.ref, "U0AGENTA")
    await cases.resolve(solved.ref, "U0AGENTA")
    again = (cases.reopen(solved.ref, CUSTOMER.user) for _ in range(10))
    anew = (cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium") for _ in range(10))
    told = await asyncio.gather(
        *(one for pair in zip(again, anew, strict=True) for one in pair), return_exceptions=True
    )
    assert {type(one) for one in told} <= {Case, MovedOn}
    assert len({one.id for one in told if isinstance(one, Case)}) == 1
    async with database.transaction() as tx:
        assert await case_rows.find_open(tx, THREAD) is not None


async def test_a_solved_case_is_not_reopened_beside_another(cases: Cases) -> None:
    first = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    await cases.claim(first.ref, "U0AGENTA")
    await cases.resolve(first.ref, "U0AGENTA")
    second = await cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")
    with pytest.raises(MovedOn) as told:
        await cases.reopen(first.ref, "U0CUSTOMERA")
    assert told.value.case.ref == second.ref


async def test_what_a_channel_reads_on_after_a_case_says_nothing_of_the_matter(
    cases: Cases, database: Database
) -> None:
    channel = ThreadRef(TEAM, "C0SUPPORT", "5.1")
    async with database.transaction() as tx:
        await begin(tx, arrival("5.1", channel="C0SUPPORT"))
    case = await cases.open(channel, CUSTOMER, reason="upset", priority="high", summary="Order ORD-12345 is late")
    await cases.hand_back(case.ref, "U0AGENTA")
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, channel)
    assert state is not None
    assert "ORD-12345" not in state.note


@pytest.mark.parametrize("ref", ["FD-9999", "FD-0", "nonsense", "FD-99999999999999999999"])
async def test_a_case_that_is_not_there_is_said_so(cases: Cases, ref: str) -> None:
    with pytest.raises(UnknownCase):
        await cases.claim(ref, "U0AGENTA")


async def test_who_has_many_open_cases_gets_no_further_ones(cases: Cases, database: Database) -> None:
    threads_of_theirs = [ThreadRef(TEAM, "D0CUSTOMERA", f"{number}.2") for number in range(1, OPEN_CASES + 1)]
    one_more = ThreadRef(TEAM, "D0CUSTOMERA", "99.2")
    async with database.transaction() as tx:
        await begin(tx, arrival("99.2", text="Somebody, please"))
    opened = await asyncio.gather(
        *(cases.open(thread, CUSTOMER, reason="asked_for_person", priority="medium") for thread in threads_of_theirs)
    )
    assert len({case.ref for case in opened}) == OPEN_CASES
    for _ in range(2):
        joined = await cases.open(one_more, CUSTOMER, reason="upset", priority="medium")
    assert joined.ref == f"FD-{1000 + OPEN_CASES}"

    async with database.transaction() as tx:
        said = [row for row in await rows.open_rows(tx) if "/joined/" in row.key]
        mirrors = await rows.mirrors(tx, one_more.channel, "99.2")
    to_customer, to_staff = sorted(said, key=lambda row: row.channel, reverse=True)
    assert (to_customer.thread_ts, joined.ref in to_customer.payload["text"]) == (one_more.ts, True)
    assert to_staff.payload["text"].endswith(">Somebody, please")
    assert [row.key for row in mirrors] == [to_staff.key], "an edit and a deletion reach it"

    another = Customer(TEAM, "U0CUSTOMERB", "Customer B", "en-US", "member")
    theirs = await cases.open(ThreadRef(TEAM, "C0SUPPORT", "20.2"), another, reason="upset", priority="medium")
    assert theirs.ref == f"FD-{1001 + OPEN_CASES}"
    await cases.cancel("FD-1001", CUSTOMER.user)
    assert (await cases.open(one_more, CUSTOMER, reason="upset", priority="medium")).thread == one_more
