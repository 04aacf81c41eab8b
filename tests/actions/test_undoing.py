"""Staff undo what the shop did: once, in time, with the customer's yes and a colleague's."""

from collections.abc import AsyncIterator

import pytest

from bot.actions import policy
from bot.actions.deciding import Press
from bot.actions.known import may_be_claimed, note_on
from bot.actions.policy_file import PolicyFile, build_policy
from bot.actions.preparing import Prepared
from bot.shops.actions import Arguments, LineQuantity
from bot.shops.rest import open_rest_shop
from bot.store.actions import Action
from bot.store.database import Database
from demo.shop.faults import Fault
from demo.shop.server import Shop, open_shop
from tests.actions.changing import AGENTS, TEAM, Changing
from tests.actions.test_after_the_offer import CUSTOMER
from tests.doubles.clock import ManualClock

PREPARER, COLLEAGUE = "USTAFF", "UOTHER"
ORDER = "ORD-31415"
RETURN = Arguments(order=ORDER, lines=(LineQuantity("2", 1),), reason="changed_mind")
BOTH = Arguments(order=ORDER, lines=(LineQuantity("1", 1), LineQuantity("2", 1)), reason="changed_mind")
RULES = {
    "version": 1,
    "currency_limits": {"USD": {"staff_above": 90_000}},
    "actions": {"return_items": {"rules": [], "undo": {"hours": 2}}, "refund": {"rules": []}},
}


class Desk:
    """A shop that can undo, and who presses."""

    def __init__(self, changing: Changing, clock: ManualClock, shop: Shop) -> None:
        self.changing = changing
        self.clock = clock
        self.shop = shop

    async def done(self, arguments: Arguments = RETURN, *, origin: str = "turn/1") -> Action:
        """A return to its end."""
        prepared = await self.changing.offer("U1", "return_items", arguments, origin=origin)
        assert prepared.action is not None
        await self.changing.press(await self.changing.find(prepared.action.ref), "U1", "yes")
        await self.changing.look()
        return await self.changing.find(prepared.action.ref)

    async def undo(self, undone: Action, *, submission: int = 7) -> Prepared:
        """What comes of the wish of a member of staff to undo it."""
        case = await self.changing.cases.open(
            undone.thread, await self.changing.identify("U1"), reason="change", priority="medium"
        )
        return await self.changing.deciding.prepare_undo(case, PREPARER, undone, submission=submission)

    async def asked_staff(self, undone: Action) -> Action:
        """The undo after the customer's yes."""
        prepared = await self.undo(undone)
        assert prepared.action is not None
        assert await self.changing.press(await self.changing.find(prepared.action.ref), "U1", "yes") == "confirmed"
        return await self.changing.find(prepared.action.ref)

    @property
    def kinds(self) -> list[str]:
        """What the shop did, in order."""
        return [str(entry["kind"]) for entry in self.shop.records.ledger]


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_shop() as double, open_rest_shop(double.url, double.token) as shop:
        yield Desk(Changing(database, clock, shop, RULES, {"U1": CUSTOMER}), clock, double)


async def test_an_undo_needs_the_customer_and_a_colleague_of_who_prepared_it(desk: Desk) -> None:
    undone = await desk.done()
    asked = await desk.asked_staff(undone)
    assert (asked.state, asked.undoes, asked.kind) == ("approving", undone.ref, "cancel_return")
    assert await desk.changing.press(asked, PREPARER, "approve") == "own_action"
    assert desk.kinds == ["return_items"]
    assert await desk.changing.press(asked, COLLEAGUE, "approve") == "approved"
    await desk.changing.look()
    assert (await desk.changing.find(asked.ref)).state == "done"
    assert desk.kinds == ["return_items", "cancel_return"]
    assert desk.shop.records.orders[ORDER]["status"] == "delivered"


async def test_nothing_is_undone_twice_nor_by_the_same_dialog_again(desk: Desk) -> None:
    undone = await desk.done()
    first = await desk.undo(undone)
    again = await desk.undo(undone)
    assert first.action is not None
    assert again.action is not None
    assert again.action.ref == first.action.ref
    assert (await desk.undo(undone, submission=11)).state == "under_way"
    asked = await desk.asked_staff(undone)
    assert (await desk.undo(undone)).action == asked
    assert (await desk.undo(undone, submission=8)).state == "refused"
    await desk.changing.press(asked, COLLEAGUE, "approve")
    await desk.changing.look()
    assert (await desk.undo(undone, submission=9)).state == "refused"
    assert desk.kinds == ["return_items", "cancel_return"]


async def test_nothing_is_undone_too_late_even_if_it_was_approved_in_time(desk: Desk) -> None:
    undone = await desk.done()
    desk.clock.advance(2 * 3600 - 30)
    asked = await desk.asked_staff(undone)
    desk.clock.advance(31)
    assert await desk.changing.press(asked, COLLEAGUE, "approve") == "approved"
    await desk.changing.look()
    ended = await desk.changing.find(asked.ref)
    assert (ended.state, ended.reason) == ("withdrawn", "no_longer_allowed")
    assert (await desk.undo(undone, submission=8)).state == "refused"
    assert desk.kinds == ["return_items"]


async def test_only_what_took_effect_of_a_kind_that_the_rules_list_is_undone(desk: Desk) -> None:
    prepared = await desk.changing.offer("U1", "refund", RETURN, origin="turn/3")
    assert prepared.action is not None
    assert (await desk.undo(prepared.action)).state == "not_offered"
    desk.shop.add_fault(Fault("error", path="/actions"))
    unknown = await desk.done()
    assert unknown.state == "unknown"
    assert (await desk.undo(unknown, submission=8)).state == "refused"


async def test_what_went_through_in_part_is_settled_by_its_undo_and_the_order_is_free_again(desk: Desk) -> None:
    desk.shop.add_fault(Fault("half", path="/actions"))
    undone = await desk.done(BOTH)
    assert undone.state == "partly"
    assert (await desk.changing.prepare("U1", "return_items", RETURN, origin="turn/4")).state == "under_way"
    asked = await desk.asked_staff(undone)
    settled = await desk.changing.find(undone.ref)
    assert (settled.state, settled.reason, settled.settled) == ("partly", "undoing", True)
    desk.shop.add_fault(Fault("act_then_silence", path="/actions"))
    await desk.changing.press(asked, COLLEAGUE, "approve")
    await desk.changing.look()
    desk.clock.advance(3)
    await desk.changing.look()
    assert (await desk.changing.find(asked.ref)).state == "done"
    assert desk.kinds == ["return_items", "cancel_return"]
    assert (await desk.changing.prepare("U1", "return_items", RETURN, origin="turn/5")).state == "offered"


async def test_a_customer_who_is_staff_does_not_undo_their_own_change(desk: Desk) -> None:
    desk.shop.add_fault(Fault("half", path="/actions"))
    undone = await desk.done(BOTH)
    await desk.changing.look()
    undone = await desk.changing.find(undone.ref)
    press = Press(undone.button, "U1", TEAM, AGENTS, "")
    ended, _ = await desk.changing.deciding.undo(press, submission=7)
    assert ended == "own_action"


async def test_an_answer_no_longer_claims_what_was_undone(desk: Desk) -> None:
    undone = await desk.done()
    asked = await desk.asked_staff(undone)
    await desk.changing.press(asked, COLLEAGUE, "approve")
    await desk.changing.look()
    both = [undone, await desk.changing.find(asked.ref)]
    assert "done, and undone later" in note_on(both)
    assert len(may_be_claimed(both)) == 1


@pytest.mark.parametrize(("hours", "outcome"), [(None, "refuse"), (1.9, "staff"), (2.0, "refuse")])
def test_an_undo_is_never_without_staff(hours: float | None, outcome: str) -> None:
    rules = build_policy(PolicyFile.model_validate(RULES), digest="rules")
    judged = policy.judge_undo(rules, "return_items", {}, hours=hours, money=0, currency="")
    assert judged.outcome == outcome
    assert policy.judge_undo(rules, "refund", {}, hours=0.0, money=0, currency="").outcome == "refuse"
