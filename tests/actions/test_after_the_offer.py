"""What becomes of a change between its offer and its request: taken back, asked for again, decided too late."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bot.actions.deciding import Press
from bot.clock import SystemClock
from bot.conversation import ShopCustomer
from bot.shops.actions import ActionKind, Arguments, KindSpec, LineQuantity, Quote, Reason
from bot.shops.port import Order
from bot.shops.rest import open_rest_shop
from bot.store import outbox
from bot.store.actions import Action
from bot.store.database import Database
from demo.shop.server import Shop, open_shop
from tests.actions.changing import AGENTS, TEAM, Changing
from tests.actions.scripted_shop import ScriptedShop
from tests.actions.test_together import copies, queued
from tests.doubles.clock import ManualClock

CUSTOMER = ShopCustomer("cus_a", "Customer A", "customer.a@example.com")
LIMITS = {"USD": {"staff_above": 10_000_000, "never_above": 20_000_000}}
RULES: dict[str, Any] = {"version": 1, "currency_limits": LIMITS, "actions": {"refund": {"rules": []}}}
ONCE_A_DAY = {
    "id": "once_a_day",
    "fact": "customer.actions_today",
    "at_most": "0",
    "else": "refuse",
    "because": "nothing_paid",
}
HOUR = 3600.0


@pytest.fixture
async def demo() -> AsyncIterator[Shop]:
    """A shop of its own."""
    async with open_shop() as shop:
        yield shop


def refund(order: str) -> Arguments:
    return Arguments(order=order, lines=(LineQuantity("2", 1),), reason="damaged")


async def test_what_was_taken_back_and_is_wanted_again_in_the_same_turn_is_shown(
    database: Database, demo: Shop
) -> None:
    """As after an edit before the answer ends."""
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, SystemClock(), shop, RULES, {"U1": CUSTOMER})
        (order,) = copies(demo, 1)
        first = await changing.prepare("U1", "refund", refund(order), origin="turn/7")
        async with database.transaction() as tx:
            await changing.preparing.take_back(tx, [7])
        again = await changing.offer("U1", "refund", refund(order), origin="turn/7")
        assert first.action is not None
        assert again.action is not None
        assert again.action.ref != first.action.ref
        shown = await changing.find(again.action.ref)
        assert shown.state == "offered"
        assert await queued(database, "/offer/0") == [f"act/{shown.ref}/offer/0"]
        assert await changing.press(shown, "U1", "yes") == "confirmed"


async def test_a_rule_that_holds_no_more_stops_what_was_confirmed(database: Database, demo: Shop) -> None:
    """Two offers that the rule allows one by one, and two presses."""
    rules = {**RULES, "actions": {"refund": {"rules": [ONCE_A_DAY]}}}
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, SystemClock(), shop, rules, {"U1": CUSTOMER})
        orders = copies(demo, 2)
        offers = [await changing.offer("U1", "refund", refund(order), origin=f"turn/{order}") for order in orders]
        shown = [await changing.find(offer.action.ref) for offer in offers if offer.action]
        assert [await changing.press(each, "U1", "yes") for each in shown] == ["confirmed", "confirmed"]
        await changing.look()
        ended = [(await changing.find(each.ref)).state for each in shown]
    assert len(demo.records.ledger) <= 1
    assert set(ended) <= {"done", "withdrawn"}
    assert "withdrawn" in ended


async def test_whoever_said_yes_is_told_that_nobody_decided_in_time(database: Database, demo: Shop) -> None:
    clock = ManualClock()
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, clock, shop, {**RULES, "staff": "always"}, {"U1": CUSTOMER})
        (order,) = copies(demo, 1)
        offer = await changing.offer("U1", "refund", refund(order), origin="turn/7")
        assert offer.action is not None
        shown = await changing.find(offer.action.ref)
        assert await changing.press(shown, "U1", "yes") == "confirmed"
        clock.advance(HOUR)
        await changing.look()
    assert (await changing.find(shown.ref)).state == "expired"
    assert await queued(database, "/end") == [f"act/{shown.ref}/end"]
    assert demo.records.ledger == []


async def asked_staff(changing: Changing, order: str) -> Action:
    """A refund of one piece that its customer said yes to, as staff are asked about it."""
    offer = await changing.offer("U1", "refund", refund(order), origin=f"turn/{order}")
    assert offer.action is not None
    assert await changing.press(await changing.find(offer.action.ref), "U1", "yes") == "confirmed"
    return await changing.find(offer.action.ref)


@pytest.fixture
async def changing(database: Database, demo: Shop) -> AsyncIterator[Changing]:
    """Staff approve everything."""
    async with open_rest_shop(demo.url, demo.token) as shop:
        yield Changing(database, ManualClock(), shop, {**RULES, "staff": "always"}, {"U1": CUSTOMER})


@pytest.mark.parametrize("written", ["", "0", "0.00", "-1", "12.001", "1,2,3", "a hundred", "9" * 40, "17.01", "nan"])
async def test_an_amount_that_is_none_or_too_much_changes_nothing(changing: Changing, demo: Shop, written: str) -> None:
    asked = await asked_staff(changing, *copies(demo, 1))
    assert -asked.money < 1701
    assert await changing.offer_less(asked, "USTAFF", written) == "wrong_amount"
    assert await changing.find(asked.ref) == asked


async def test_the_least_amount_is_a_cent_and_none_is_offered_to_somebody_who_is_gone(
    changing: Changing, demo: Shop
) -> None:
    async def nobody(_user: str) -> None:
        return None

    asked = await asked_staff(changing, *copies(demo, 1))
    press = Press(asked.button, "USTAFF", TEAM, AGENTS, "")
    gone = replace(changing.deciding, identify=nobody)
    assert await gone.change_amount(press, "0.01") == ("cannot_check", asked)
    assert await changing.offer_less(asked, "USTAFF", "0.01") == "amount_changed"


async def test_another_amount_is_shown_to_the_customer_and_sent_after_their_yes_alone(
    changing: Changing, demo: Shop
) -> None:
    asked = await asked_staff(changing, *copies(demo, 1))
    assert await changing.offer_less(asked, "USTAFF", "5") == "amount_changed"
    await changing.look()
    assert demo.records.ledger == []
    offered = await changing.find(asked.ref)
    assert (offered.state, offered.money, offered.key) == ("offered", -500, asked.key)
    assert offered.arguments_hash != asked.arguments_hash
    assert offered.request["body"] != asked.request["body"]
    assert await changing.press(asked, "U1", "yes") == "moved_on"
    assert await changing.press(offered, "U1", "yes") == "confirmed"
    await changing.look()
    assert (await changing.find(asked.ref)).state == "done"
    assert [each["money"]["amount"] for each in demo.records.ledger] == [-500]


async def test_the_customer_and_who_saw_an_earlier_card_change_no_amount(changing: Changing, demo: Shop) -> None:
    asked = await asked_staff(changing, *copies(demo, 1))
    assert await changing.offer_less(asked, "U1", "5") == "own_action"
    came_to = await asyncio.gather(*(changing.offer_less(asked, f"USTAFF{number}", "5") for number in range(5)))
    assert sorted(came_to) == ["amount_changed", *["moved_on"] * 4]


async def test_a_second_person_still_approves_what_is_changed_to_an_amount_for_two(
    database: Database, demo: Shop
) -> None:
    limits = {"USD": {"staff_above": 1, "second_person_above": 400, "never_above": 20_000_000}}
    async with open_rest_shop(demo.url, demo.token) as shop:
        changing = Changing(database, ManualClock(), shop, {**RULES, "currency_limits": limits}, {"U1": CUSTOMER})
        asked = await asked_staff(changing, *copies(demo, 1))
        assert await changing.offer_less(asked, "USTAFF", "5") == "amount_changed"
        assert await changing.press(await changing.find(asked.ref), "U1", "yes") == "confirmed"
        again = await changing.find(asked.ref)
        assert again.state == "approving"
        assert await changing.press(again, "USTAFF", "approve") == "voted"
        assert await changing.press(again, "UOTHER", "approve") == "approved"


async def test_a_note_of_staff_reaches_the_customer_as_one_line_without_markup(
    changing: Changing, database: Database, demo: Shop
) -> None:
    asked = await asked_staff(changing, *copies(demo, 1))
    press = Press(asked.button, "USTAFF", TEAM, AGENTS, "")
    ended, _ = await changing.deciding.refuse(press, "The seam is *worn*,\n<!channel> not torn")
    assert ended == "rejected"
    async with database.transaction() as tx:
        row = await outbox.by_key(tx, f"act/{asked.ref}/end")
    assert row is not None
    assert "The seam is *worn*, &lt;!channel&gt; not torn" in row.payload["text"]


@dataclass(slots=True)
class QuietShop(ScriptedShop):
    """It gives no quotes, and moves the money that a request names if `takes_money`."""

    takes_money: bool = True

    async def kinds(self) -> Mapping[ActionKind, KindSpec]:
        kinds = await super(QuietShop, self).kinds()
        return {kind: replace(spec, has_quotes=False, takes_money=self.takes_money) for kind, spec in kinds.items()}

    async def quote(self, customer: ShopCustomer, kind: ActionKind, order: Order | None, arguments: Arguments) -> Quote:
        return replace(await super(QuietShop, self).quote(customer, kind, order, arguments), computed=True)


@pytest.mark.parametrize("takes_money", [True, False])
@pytest.mark.parametrize("reason", ["changed_mind", "damaged"])
async def test_the_fee_of_the_rules_is_taken_off_what_a_shop_without_quotes_is_told_to_move(
    database: Database, reason: Reason, *, takes_money: bool
) -> None:
    shop = QuietShop(takes_money=takes_money)
    shop.add("FW-1", CUSTOMER)
    whole = shop.orders["FW-1"].total
    fee = {"fact": "reason", "when": ["changed_mind"], "money": {whole.currency: "495"}, "label": "return_postage"}
    limits = {whole.currency: {"staff_above": 10_000_000, "never_above": 20_000_000}}
    rules = {"version": 1, "currency_limits": limits, "actions": {"refund": {"rules": [], "fee": fee}}}
    changing = Changing(database, ManualClock(), shop, rules, {"U1": CUSTOMER})
    offer = await changing.offer("U1", "refund", Arguments(order="FW-1", reason=reason), origin="turn/1")
    assert offer.action is not None
    shown = await changing.find(offer.action.ref)
    is_deducted = takes_money and reason == "changed_mind"
    assert shown.money == -whole.minor + (495 if is_deducted else 0)
    assert any(each.get("deducted") for each in shown.preview.get("fees", ())) == is_deducted
    await changing.press(shown, "U1", "yes")
    await changing.look()
    assert (await changing.find(shown.ref)).state == "done"
    assert [money for _, _, money in shop.effects] == [shown.money]
