"""Who decides about a change: its customer and staff, each by a press of what was shown to them, and in time."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import update

from bot.actions.deciding import Ended, Press
from bot.conversation import Customer, ThreadRef
from bot.shops.rest import open_rest_shop
from bot.store import audit, cases, schema
from bot.store.actions import Action
from bot.store.cases import Case
from bot.store.database import Database
from demo.shop.server import Shop, open_shop
from tests.actions.changing import AGENTS, TEAM, Changing
from tests.actions.test_after_the_offer import CUSTOMER, HOUR, RULES, asked_staff
from tests.actions.test_together import copies, offered
from tests.doubles.clock import ManualClock

COLLEAGUE = "USTAFF"


@dataclass(frozen=True, slots=True)
class Desk:
    """A shop whose staff approve every change, and what changes its orders."""

    changing: Changing
    clock: ManualClock
    shop: Shop

    async def offered(self) -> Action:
        """A refund that its customer is asked about."""
        return await offered(self.changing, *copies(self.shop, 1))

    async def asked(self) -> Action:
        """The same after the customer's yes, as staff are asked about it."""
        return await asked_staff(self.changing, *copies(self.shop, 1))

    async def presses(self, button: str, press: Press) -> Ended:
        """How a press ends."""
        deciding = self.changing.deciding
        buttons = {
            "yes": deciding.confirm,
            "no": deciding.decline,
            "again": deciding.again,
            "approve": deciding.approve,
            "refuse": deciding.refuse,
            "take over": deciding.take_over,
        }
        ended, _ = await buttons[button](press)
        return ended

    async def open_case(self, thread: ThreadRef) -> Case | None:
        """The thread's case with people."""
        async with self.changing.database.transaction() as tx:
            return await cases.find_open(tx, thread)


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_shop() as double, open_rest_shop(double.url, double.token) as shop:
        changing = Changing(database, clock, shop, {**RULES, "staff": "always"}, {"U1": CUSTOMER})
        yield Desk(changing, clock, double)


def by_customer(action: Action) -> Press:
    return Press(action.button, "U1", TEAM, action.thread.channel, "")


def by_staff(action: Action) -> Press:
    return Press(action.button, COLLEAGUE, TEAM, AGENTS, "")


@pytest.mark.parametrize("button", ["yes", "no"])
async def test_nobody_but_the_customer_answers_what_the_customer_is_asked(desk: Desk, button: str) -> None:
    action = await desk.offered()
    press = by_customer(action)
    assert await desk.presses(button, replace(press, user="U2")) == "not_yours"
    assert await desk.presses(button, replace(press, team="T0OTHER")) == "not_yours"
    assert await desk.presses(button, replace(press, channel="D0ELSEWHERE")) == "unknown_action"
    assert await desk.presses(button, replace(press, value="ACT-0/1")) == "unknown_action"
    assert await desk.changing.find(action.ref) == action
    assert await desk.presses(button, press) == {"yes": "confirmed", "no": "declined"}[button]


@pytest.mark.parametrize("button", ["approve", "refuse", "take over"])
async def test_staff_decide_on_their_own_card_and_never_about_what_is_theirs(desk: Desk, button: str) -> None:
    action = await desk.asked()
    press = by_staff(action)
    assert await desk.presses(button, replace(press, user="U1")) == "own_action"
    assert await desk.presses(button, replace(press, channel=action.thread.channel)) == "unknown_action"
    assert await desk.presses(button, replace(press, value="ACT-0/1")) == "unknown_action"
    assert await desk.presses(button, replace(press, value=f"{action.ref}/{action.version + 1}")) == "moved_on"
    assert await desk.changing.find(action.ref) == action
    assert await desk.open_case(action.thread) is None


async def test_an_approval_that_comes_too_late_changes_nothing(desk: Desk) -> None:
    action = await desk.asked()
    desk.clock.advance(HOUR)
    assert await desk.presses("approve", by_staff(action)) == "expired"
    assert (await desk.changing.find(action.ref)).state == "expired"
    assert desk.shop.records.ledger == []


async def test_a_yes_that_comes_too_late_changes_nothing(desk: Desk) -> None:
    action = await desk.offered()
    desk.clock.advance(24 * HOUR)
    assert await desk.presses("yes", by_customer(action)) == "expired"
    assert (await desk.changing.find(action.ref)).state == "expired"


async def test_what_did_not_fail_cannot_be_shown_once_more_and_by_nobody_else(desk: Desk) -> None:
    action = await desk.offered()
    assert await desk.presses("again", replace(by_customer(action), user="U2")) == "not_yours"
    assert await desk.presses("again", replace(by_customer(action), team="T0OTHER")) == "not_yours"
    assert await desk.presses("again", replace(by_customer(action), value="ACT-0/1")) == "unknown_action"
    assert await desk.presses("again", by_customer(action)) == "moved_on"


async def test_a_change_of_somebody_who_is_gone_is_taken_over_without_a_case(desk: Desk) -> None:
    async def nobody(_user: str) -> None:
        return None

    action = await desk.asked()
    deciding = replace(desk.changing.deciding, identify=nobody)
    ended, _ = await deciding.take_over(by_staff(action))
    assert ended == "taken_over"
    assert (await desk.changing.find(action.ref)).state == "withdrawn"
    assert await desk.open_case(action.thread) is None


async def test_who_takes_a_change_over_has_its_case_also_after_a_second_press(desk: Desk) -> None:
    action = await desk.asked()
    assert await desk.presses("take over", by_staff(action)) == "taken_over"
    case = await desk.open_case(action.thread)
    assert case is not None
    assert (case.owner, case.reason) == (COLLEAGUE, "change")
    assert await desk.presses("take over", by_staff(action)) == "taken_over"
    assert await desk.open_case(action.thread) == case
    assert await desk.presses("take over", replace(by_staff(action), user="UOTHER")) == "moved_on"
    assert (await desk.changing.find(action.ref)).state == "withdrawn"
    assert desk.shop.records.ledger == []


async def test_a_yes_waits_until_the_shop_says_who_the_customer_is_and_counts_for_what_is_shown_now(
    desk: Desk,
) -> None:
    action, deciding = await desk.offered(), desk.changing.deciding

    async def silent(user: str) -> Customer:
        return replace(await desk.changing.identify(user), shop=None, shop_silent=True)

    assert await replace(deciding, identify=silent).confirm(by_customer(action)) == ("cannot_check", action)
    stale = replace(by_customer(action), value=f"{action.ref}/{action.version + 1}")
    assert await desk.presses("yes", stale) == "moved_on"
    assert await desk.changing.find(action.ref) == action
    assert await desk.presses("yes", by_customer(action)) == "confirmed"
    assert (await desk.changing.find(action.ref)).state == "approving"


@pytest.mark.parametrize("is_there", [True, False])
async def test_an_offer_is_withdrawn_when_its_customer_is_another_one_to_the_shop(desk: Desk, is_there: bool) -> None:
    async def another(user: str) -> Customer | None:
        customer = await desk.changing.identify(user)
        return replace(customer, shop=replace(CUSTOMER, id="another")) if is_there else None

    action = await desk.offered()
    ended, after = await replace(desk.changing.deciding, identify=another).confirm(by_customer(action))
    assert after is not None
    assert (ended, after.state, after.reason) == ("withdrawn", "withdrawn", "identity_changed")


async def test_an_offer_is_withdrawn_when_people_have_the_conversation(desk: Desk) -> None:
    action = await desk.offered()
    customer = await desk.changing.identify("U1")
    await desk.changing.cases.open(action.thread, customer, reason="upset", priority="medium")
    ended, after = await desk.changing.deciding.confirm(by_customer(action))
    assert after is not None
    assert (ended, after.state, after.reason) == ("withdrawn", "withdrawn", "with_people")


async def test_an_offer_whose_arguments_are_not_those_that_were_shown_is_withdrawn_and_reported(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    action = await desk.offered()
    table = schema.action
    async with desk.changing.database.transaction() as tx:
        changed = update(table).where(table.c.ref == action.ref)
        await tx.execute(changed.values(arguments={**action.arguments, "reason": "other"}))
    ended, after = await desk.changing.deciding.confirm(by_customer(action))
    assert after is not None
    assert (ended, after.state, after.reason) == ("withdrawn", "withdrawn", "tampered")
    assert "an action's arguments are not those that were shown" in caplog.messages
    async with desk.changing.database.transaction() as tx:
        noted = await audit.of_subject(tx, action.ref)
    assert "action.tampered" in [entry.action for entry in noted]


@pytest.mark.parametrize(("early", "ended"), [(0.5, ["confirmed", "approved"]), (0.0, ["expired", "expired"])])
async def test_a_yes_and_a_vote_count_until_the_moment_they_are_due(
    desk: Desk, early: float, ended: list[Ended]
) -> None:
    first, second = copies(desk.shop, 2)
    offer = await offered(desk.changing, first)
    asked = await asked_staff(desk.changing, second)
    assert offer.due is not None
    assert asked.due is not None
    approving = replace(by_staff(asked), user=COLLEAGUE)
    desk.clock.advance(asked.due - desk.clock.now() - early)
    voted = await desk.presses("approve", approving)
    desk.clock.advance(offer.due - desk.clock.now() - early)
    assert [await desk.presses("yes", by_customer(offer)), voted] == ended


async def test_only_an_action_that_got_stuck_is_settled_and_not_by_its_customer(desk: Desk) -> None:
    action, settle = await desk.asked(), desk.changing.deciding.settle
    press = by_staff(action)
    assert (await settle(replace(press, value="ACT-0/1"), was_done=True))[0] == "unknown_action"
    assert (await settle(replace(press, user="U1"), was_done=True))[0] == "own_action"
    assert (await settle(press, was_done=True))[0] == "moved_on"
    assert await desk.changing.find(action.ref) == action
