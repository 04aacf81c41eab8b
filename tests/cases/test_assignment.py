"""Who gets a case by the setting ASSIGN, over a real database and a local Slack with two people at the desk."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.cases.assignment import LOOK_SECONDS, Assignment, How
from bot.cases.availability import PRESENCE_KEPT, Availability
from bot.cases.case import MovedOn
from bot.cases.sla import SlaTimers
from bot.cases.staff import Staff
from bot.store.database import Database
from tests.cases.test_queue import AGENT, CHANNEL, OTHER, Desk
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack, open_local_slack
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER

NOBODY: Any = None
"""Slack's people, who are not asked for."""


class Room(Desk):
    """A desk that gives its cases to people."""

    def __init__(self, database: Database, slack: LocalSlack, clock: ManualClock) -> None:
        super().__init__(database, slack, clock)
        self.cases = replace(self.cases, most=1_000)
        slack.workspace.channels[CHANNEL].members = [AGENT, OTHER, "U0FRONTDESK", "U0STRANGER"]

    def process_of(self, how: How) -> Assignment:
        client = self.slack.client
        staff = Staff(client.directory, self.clock, agent_channel=CHANNEL)
        availability = Availability(self.database, client.directory, self.clock)
        return Assignment(self.cases.stepping, staff, client.directory, availability, how)

    async def owners(self, refs: list[str]) -> list[str | None]:
        return [(await self.cases.find(ref)).owner for ref in refs]


@pytest.fixture
async def room(database: Database) -> AsyncIterator[Room]:
    clock = ManualClock()
    async with open_local_slack(clock) as slack:
        yield Room(database, slack, clock)


async def test_round_robin_gives_the_cases_to_all_in_turn_and_writes_to_each(room: Room) -> None:
    refs = [(await room.opens(number)).ref for number in range(3)]
    giving = room.process_of("round_robin")
    await giving.give_out(CHANNEL)
    assert await room.owners(refs) == [AGENT, OTHER, AGENT]
    again = (await room.opens(4)).ref
    await room.process_of("round_robin").give_out(CHANNEL)
    assert await room.owners([again]) == [OTHER], "another process goes on where the first one was"
    await send_all(room.outbox, patience=100_000.0)
    assert len(room.slack.texts("D0AGENTA")) == 2
    assert "It's your turn" in room.slack.texts("D0AGENTB")[0]


async def test_least_open_gives_to_who_has_the_fewest(room: Room) -> None:
    for number in range(2):
        await room.cases.claim((await room.opens(number)).ref, OTHER)
    refs = [(await room.opens(number)).ref for number in (3, 4, 5)]
    await room.process_of("least_open").give_out(CHANNEL)
    assert await room.owners(refs) == [AGENT, AGENT, OTHER], "then both have two, and AGENT got the last one"


async def test_two_processes_and_claims_at_once_give_each_case_once(room: Room) -> None:
    refs = [(await room.opens(number)).ref for number in range(20)]
    giving = [room.process_of("round_robin") for _ in range(2)]

    async def claims() -> None:
        for press in range(5):
            await room.queue.claim_next(CHANNEL, OTHER, press=f"{press}")

    await asyncio.gather(*(each.give_out(CHANNEL) for each in giving), claims())
    await giving[0].give_out(CHANNEL)
    owners = await room.owners(refs)
    assert None not in owners
    async with room.database.reading() as tx:
        told = await tx.exec_driver_sql("select count(*) from audit where action = 'case.claimed'")
        assert told.scalar_one() == 20


async def test_who_is_away_gets_none_and_without_anybody_a_case_waits_for_a_claim(room: Room) -> None:
    people = room.slack.workspace.users
    availability = room.process_of("round_robin").availability
    await availability.leave(AGENT, seconds=7_200)
    people[OTHER].is_away = True
    ref = (await room.opens(1)).ref
    giving = room.process_of("round_robin")
    await giving.give_out(CHANNEL)
    assert await room.owners([ref]) == [None]
    room.clock.advance(PRESENCE_KEPT)
    people[OTHER].is_away = False
    people[OTHER].paused = (int(room.clock.now()) - 10, int(room.clock.now()) + 600)
    await giving.give_out(CHANNEL)
    assert await room.owners([ref]) == [None], "their notifications are paused"
    room.clock.advance(7_200.0)
    people[OTHER].is_away = True
    await giving.give_out(CHANNEL)
    assert await room.owners([ref]) == [AGENT], "the time away is over"


async def test_without_the_scope_a_pause_of_notifications_does_not_count(room: Room) -> None:
    room.slack.workspace.scopes -= {"dnd:read"}
    room.slack.workspace.users[OTHER].paused = (int(room.clock.now()) - 10, int(room.clock.now()) + 600)
    await room.process_of("round_robin").availability.leave(AGENT, seconds=None)
    ref = (await room.opens(1)).ref
    await room.process_of("round_robin").give_out(CHANNEL)
    assert await room.owners([ref]) == [OTHER]
    assert await room.process_of("claim").availability.come_back(AGENT)
    assert not await room.process_of("claim").availability.come_back(AGENT)


async def test_nobody_gets_their_own_case(room: Room) -> None:
    room.slack.workspace.channels[CHANNEL].members = ["U0CUSTOMERA", "U0FRONTDESK"]
    own, other = (await room.opens(1)).ref, (await room.opens(2, customer=replace(CUSTOMER, user="U0CUSTOMERB"))).ref
    await room.process_of("least_open").give_out(CHANNEL)
    assert await room.owners([own, other]) == [None, "U0CUSTOMERA"], "and the cases behind it are still given"


async def test_who_puts_a_case_back_does_not_get_it_again_by_the_setting(room: Room) -> None:
    ref = (await room.opens(1)).ref
    giving = room.process_of("least_open")
    for person in (AGENT, OTHER):
        await giving.give_out(CHANNEL)
        assert await room.owners([ref]) == [person]
        await giving.unassign(ref, person)
    await giving.give_out(CHANNEL)
    assert await room.owners([ref]) == [None], "it waits for a claim"


async def test_while_nobody_is_there_slack_is_asked_about_each_person_once_a_minute(room: Room) -> None:
    for person in (AGENT, OTHER):
        room.slack.workspace.users[person].is_away = True
    await room.opens(1)
    giving = room.process_of("round_robin")
    for _ in range(30):
        await giving.give_out(CHANNEL)
        room.clock.advance(LOOK_SECONDS)
    asked = [entry["name"] for entry in room.slack.workspace.log if entry["name"] == "users.getPresence"]
    assert len(asked) == 2


async def test_who_gets_a_case_whose_reply_is_late_already_keeps_it_though_slack_shows_them_as_away(
    room: Room,
) -> None:
    case = await room.cases.claim((await room.opens(1)).ref, AGENT)
    room.clock.advance(15 * 60.0)
    await SlaTimers(room.cases.stepping, room.slack.client.chat, NOBODY).look()
    room.slack.workspace.users[OTHER].is_away = True
    giving = room.process_of("claim")
    await giving.assign(case.ref, AGENT, to=OTHER)
    room.clock.advance(30.0)
    await giving.take_back(CHANNEL)
    assert await room.owners([case.ref]) == [OTHER]


async def test_a_case_that_is_transferred_while_slack_is_asked_is_not_assigned(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = await room.opens(1)

    async def transfer(_: Staff, user: str, *, channel: str) -> bool:
        await room.cases.transfer(case.ref, AGENT, "C0BILLING")
        return True

    room.cases = replace(room.cases, desks={"C0BILLING": "Billing"})
    monkeypatch.setattr(Staff, "surely_includes", transfer)
    with pytest.raises(MovedOn):
        await room.process_of("claim").assign(case.ref, AGENT, to=OTHER)
    assert await room.owners([case.ref]) == [None]


async def test_cases_of_somebody_who_is_away_go_back_when_a_customer_waits_too_long(room: Room) -> None:
    waits, answered = [await room.cases.claim((await room.opens(number)).ref, AGENT) for number in (1, 2)]
    await room.cases.await_customer(answered.ref, AGENT)
    giving = room.process_of("claim")
    await giving.availability.leave(AGENT, seconds=None)
    room.clock.advance(14 * 60.0)
    await giving.take_back(CHANNEL)
    assert await room.owners([waits.ref]) == [AGENT]
    room.clock.advance(60.0)
    await asyncio.gather(*(room.process_of("claim").take_back(CHANNEL) for _ in range(2)))
    assert await room.owners([waits.ref, answered.ref]) == [None, AGENT]
    await send_all(room.outbox, patience=100_000.0)
    told = [text for text in room.slack.texts(CHANNEL) if f"<@{AGENT}> is away: {waits.ref}" in text]
    assert len(told) == 1


async def test_slacks_presence_takes_a_case_back_only_when_its_reply_is_late(room: Room) -> None:
    case = await room.cases.claim((await room.opens(1)).ref, AGENT)
    room.slack.workspace.users[AGENT].is_away = True
    giving, sla = room.process_of("claim"), SlaTimers(room.cases.stepping, room.slack.client.chat, NOBODY)
    room.clock.advance(14 * 60.0)
    await giving.take_back(CHANNEL)
    assert await room.owners([case.ref]) == [AGENT]
    room.clock.advance(60.0)
    await sla.look()
    await giving.take_back(CHANNEL)
    assert await room.owners([case.ref]) == [None]
