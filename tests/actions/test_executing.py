"""What becomes of an action whose process stands still, or cannot write down what the shop said."""

import asyncio
from typing import Any

import pytest

from bot.actions import executing
from bot.actions.action import SENDING_SECONDS
from bot.actions.executing import CHECK_SECONDS
from bot.conversation import ShopCustomer
from bot.shops.actions import ActionRequest, Arguments, Outcome
from bot.store import actions, outbox
from bot.store.actions import Action
from bot.store.database import Database
from tests.actions.changing import Changing
from tests.actions.scripted_shop import ScriptedShop
from tests.doubles.clock import ManualClock

CUSTOMER = ShopCustomer("c1", "Customer A", "customer.a@example.com")
RULES: dict[str, Any] = {
    "version": 1,
    "currency_limits": {"EUR": {"staff_above": 10_000_000, "never_above": 20_000_000}},
    "actions": {"cancel_order": {"rules": []}},
}


class Desk(Changing):
    """A process with a clock that a test winds."""

    clock: ManualClock
    shop: ScriptedShop


@pytest.fixture
def desk(database: Database) -> Desk:
    shop = ScriptedShop()
    for number in range(3):
        shop.add(f"FW-{number}", CUSTOMER)
    return Desk(database, ManualClock(), shop, RULES, {"U1": CUSTOMER})


async def confirmed(desk: Desk, order: str = "FW-0") -> Action:
    prepared = await desk.offer("U1", "cancel_order", Arguments(order=order), origin=f"test/{order}")
    assert prepared.action is not None
    action = await desk.find(prepared.action.ref)
    assert await desk.press(action, "U1", "yes") == "confirmed"
    return action


async def ends(desk: Desk, action: Action, *, seconds: float = 60.0) -> Action:
    over = desk.clock.now() + seconds
    while (now := await desk.find(action.ref)).is_open and desk.clock.now() < over:
        await desk.look()
        desk.clock.advance(1.0)
    return now


async def test_a_process_that_stood_still_before_it_sent_finds_out_and_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = await confirmed(desk)
    stood: list[str] = []

    def stand_still(name: str) -> None:
        if name == "action_marked" and not stood:
            assert not desk.shop.sent
            stood.append(name)
            desk.clock.advance(SENDING_SECONDS + 1)

    monkeypatch.setattr(executing, "failpoint", stand_still)
    await desk.look()
    assert not desk.shop.sent
    assert (await ends(desk, action)).state == "done"
    assert [*desk.shop.sent.values()] == [1]


async def test_an_order_that_changes_while_its_action_waits_to_be_sent_is_not_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await confirmed(desk), await confirmed(desk, "FW-1")
    desk.runner._places = asyncio.Semaphore(1)
    send = ScriptedShop.send

    async def send_slowly(shop: ScriptedShop, request: ActionRequest) -> Outcome:
        if not shop.sent:
            await asyncio.sleep(0)
            shop.change("FW-1")
            desk.clock.advance(CHECK_SECONDS + 1)
        return await send(shop, request)

    monkeypatch.setattr(ScriptedShop, "send", send_slowly)
    await desk.look()
    assert (await desk.find(first.ref)).state == "done"
    assert [order for _, order, _ in desk.shop.effects] == ["FW-0"]
    now = await desk.find(second.ref)
    assert (now.state, now.reason) == ("withdrawn", "changed")


async def test_what_is_confirmed_begins_at_once_where_actions_are_carried_out(desk: Desk) -> None:
    action = await confirmed(desk)
    assert not desk.runner._running
    desk.runner._is_open = True
    other = await confirmed(desk, "FW-1")
    await asyncio.gather(*desk.runner._running.values())
    assert (await desk.find(other.ref)).state == "done"
    assert (await desk.find(action.ref)).state == "ready"


async def test_the_time_to_send_runs_from_before_the_mark(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await confirmed(desk)
    change = actions.change

    async def stand_still(tx: Any, before: Action, after: Action) -> Action | None:
        if after.state == "executing":
            desk.clock.advance(SENDING_SECONDS + 1)
        return await change(tx, before, after)

    monkeypatch.setattr(actions, "change", stand_still)
    await desk.look()
    assert not desk.shop.sent


async def test_an_answer_that_could_not_be_kept_is_asked_for_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    action = await confirmed(desk)
    add, lost = outbox.add, ["once"]

    async def fail_once(tx: Any, *rows: Any, now: float) -> Any:
        if lost and desk.shop.sent:
            lost.pop()
            raise RuntimeError("the database is away")
        return await add(tx, *rows, now=now)

    monkeypatch.setattr(outbox, "add", fail_once)
    assert (await ends(desk, action)).state == "done"
    assert not lost
    assert len(desk.shop.effects) == 1


async def test_one_action_that_has_moved_on_does_not_hold_up_the_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in ("FW-0", "FW-1"):
        await desk.offer("U1", "cancel_order", Arguments(order=order), origin=f"test/{order}")
    change = actions.change

    async def lose_the_first(tx: Any, before: Action, after: Action) -> Action | None:
        return None if before.subject == "order/FW-0" else await change(tx, before, after)

    monkeypatch.setattr(actions, "change", lose_the_first)
    desk.clock.advance(3_600)
    await desk.look()
    assert [each.state for each in await desk.all("order/FW-1")] == ["expired"]


async def test_a_request_is_not_sent_again_when_the_shop_may_have_forgotten_its_key(desk: Desk) -> None:
    desk.shop.manners = ["silence"]
    action = await confirmed(desk)
    await desk.look()
    desk.clock.advance(24 * 3_600)
    desk.shop.forget()
    now = await ends(desk, action, seconds=3_600)
    assert now.state == "stuck"
    assert [*desk.shop.sent.values()] == [1]


async def test_an_offer_that_was_never_shown_ends_without_a_word(desk: Desk) -> None:
    prepared = await desk.prepare("U1", "cancel_order", Arguments(order="FW-0"), origin="test/1")
    desk.clock.advance(3_600)
    await desk.look()
    assert prepared.action is not None
    assert (await desk.find(prepared.action.ref)).state == "expired"
    async with desk.database.transaction() as tx:
        assert await outbox.by_key(tx, f"act/{prepared.action.ref}/2/stands") is None
