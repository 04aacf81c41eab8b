"""Procedures that are on, over a real database and a shop in memory: what moves them, and what nothing moves."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.actions.preparing import ChangeRequest
from bot.conversation import ShopCustomer, ThreadRef
from bot.procedures.file import Procedure, parse_procedure
from bot.procedures.running import SILENCE, ProcedureRuns, RunMoved, Running, summary_of
from bot.procedures.values import Noted, WrongValue
from bot.store import procedures
from bot.store.database import Database
from tests.actions.changing import TEAM, Changing
from tests.actions.scripted_shop import ScriptedShop
from tests.doubles.clock import ManualClock

CUSTOMER, OTHER = ShopCustomer("cus_a", "Customer A", "a@example.com"), ShopCustomer("cus_b", "B", "b@example.com")
LIMITS = {"EUR": {"staff_above": 10_000_000}, "USD": {"staff_above": 10_000_000}}
RULES: dict[str, Any] = {"version": 1, "currency_limits": LIMITS, "actions": {"cancel_order": {"rules": []}}}
SOURCE = """\
---
procedure: cancel
version: 1
when: The customer wants to cancel an order.
collect:
  order: {type: own_order}
  sure: {type: one_of, values: [sure, unsure]}
steps:
  - {id: find, needs: [order]}
  - {id: open, check: [{fact: order.status, one_of: [pending, processing]}], otherwise: people}
  - {id: ask, needs: [sure], next: {sure: {sure: cancel, unsure: end}}}
  - {id: cancel, prepare: {cancel_order: {reason: other}}, when: {done: end, declined: ask, expired: end, else: people}}
---
## find
Which order?
## ask
Are they sure?
"""


class Desk:
    """One process with procedures, and one customer in one thread."""

    def __init__(self, database: Database) -> None:
        self.database, self.clock, self.shop = database, ManualClock(), ScriptedShop()
        self.shop.add("FW-1", CUSTOMER)
        self.shop.add("FW-2", CUSTOMER)
        self.shop.add("FW-9", OTHER)
        self.changing = Changing(database, self.clock, self.shop, RULES, {"U1": CUSTOMER})
        self.folder: dict[str, Procedure] = {"cancel": parse_procedure(SOURCE)}
        self.runs = self.another()
        self.thread = ThreadRef(TEAM, "D0U1", "1.1")

    def another(self) -> ProcedureRuns:
        """The same, after a restart or in another process."""
        changing = self.changing
        return ProcedureRuns(
            self.database,
            self.clock,
            lambda: self.folder,
            changing.preparing,
            changing.runner.cases,
            changing.identify,
        )

    async def wanted(self, turn: int = 7) -> ChangeRequest:
        return ChangeRequest(await self.changing.identify("U1"), CUSTOMER, self.thread, f"turn/{turn}", "en")

    async def begins(self) -> Running:
        return await self.runs.begin(await self.wanted(), "cancel")

    async def notes(self, running: Running, name: str, value: Noted, *, turn: int = 7) -> Running:
        return await self.runs.note(await self.wanted(turn), running, name, value, images=(), turn=turn)

    async def shows(self, turn: int = 7) -> None:
        """Show what the turn has prepared, as its end does."""
        async with self.database.transaction() as tx:
            await self.changing.preparing.show(tx, f"turn/{turn}", self.thread, 0, language="en")

    async def offered(self) -> Running:
        """Come to the offer."""
        running = await self.notes(await self.notes(await self.begins(), "order", "fw-1"), "sure", "sure")
        await self.shows()
        assert running.run.action
        return running

    async def ends(self) -> dict[tuple[str, str], int]:
        async with self.database.transaction() as tx:
            return dict(await procedures.ended_since(tx, 0.0))


@pytest.fixture
def desk(database: Database) -> Desk:
    return Desk(database)


async def test_a_press_of_yes_leads_to_the_end_without_a_model_and_after_a_restart(desk: Desk) -> None:
    running = await desk.offered()
    action = await desk.changing.find(running.run.action)
    await desk.changing.press(action, "U1", "yes")
    await desk.changing.look()
    await desk.another().move_due()
    assert await desk.ends() == {("cancel", "done"): 1}
    assert len(desk.shop.effects) == 1
    assert await desk.runs.on_in(desk.thread) is None


async def test_two_processes_move_it_once(desk: Desk) -> None:
    running = await desk.offered()
    await desk.changing.press(await desk.changing.find(running.run.action), "U1", "no")
    await asyncio.gather(*(desk.another().move_due() for _ in range(5)))
    found = await desk.runs.on_in(desk.thread)
    assert found is not None
    assert (found.run.step, found.run.version, sorted(found.run.collected)) == (
        "ask",
        running.run.version + 1,
        ["order"],
    )


async def test_somebody_elses_order_is_not_found_and_three_of_them_bring_a_person(desk: Desk) -> None:
    running = await desk.begins()
    for _ in range(2):
        with pytest.raises(WrongValue, match="no order with this number"):
            await desk.notes(running, "order", "FW-9")
        found = await desk.runs.on_in(desk.thread)
        assert found is not None
        running = found
    assert (await desk.notes(running, "order", "FW-9")).run.why == "handed_over"
    assert await desk.runs.on_in(desk.thread) is None


async def test_another_order_has_everything_checked_again_and_withdraws_the_offer(desk: Desk) -> None:
    running = await desk.offered()
    desk.shop.orders["FW-2"] = replace(desk.shop.orders["FW-2"], status="shipped")
    after = await desk.notes(running, "order", "FW-2")
    assert after.run.why == "handed_over"
    assert (await desk.changing.find(running.run.action)).state == "withdrawn"


async def test_a_value_changes_nothing_once_the_customer_has_said_yes(desk: Desk) -> None:
    running = await desk.offered()
    await desk.changing.press(await desk.changing.find(running.run.action), "U1", "yes")
    with pytest.raises(RunMoved):
        await desk.notes(running, "order", "FW-2")
    found = await desk.runs.on_in(desk.thread)
    assert found is not None
    assert found.run.collected["order"] == "FW-1"


async def test_a_day_of_silence_ends_it(desk: Desk) -> None:
    await desk.begins()
    desk.clock.advance(SILENCE - 1)
    await desk.runs.move_due()
    assert await desk.runs.on_in(desk.thread) is not None
    desk.clock.advance(2)
    await desk.runs.move_due()
    assert await desk.ends() == {("cancel", "silence"): 1}


async def test_it_keeps_the_file_with_which_it_began(desk: Desk) -> None:
    running = await desk.begins()
    desk.folder["cancel"] = parse_procedure(
        SOURCE.replace("{id: ask, needs: [sure]", "{id: other, needs: [sure]")
        .replace("declined: ask", "declined: other")
        .replace("## ask", "## other")
    )
    desk.runs = desk.another()
    found = await desk.runs.on_in(desk.thread)
    assert found is not None
    assert found.procedure.digest == running.procedure.digest
    assert (await desk.notes(found, "order", "FW-1")).run.step == "ask"


async def test_what_staff_read_has_the_place_and_what_was_collected_and_nothing_stays(desk: Desk) -> None:
    running = await desk.notes(await desk.begins(), "order", "FW-1")
    assert summary_of(running.run, running.procedure) == "Procedure cancel, version 1, step ask.\norder: FW-1"
    await desk.runs.leave(running, "customer_stopped")
    async with desk.database.transaction() as tx:
        assert await procedures.running_in(tx, desk.thread) is None
    assert await desk.ends() == {("cancel", "left"): 1}
