"""What the shop says by itself makes things happen sooner, and nothing happen that would not have happened."""

from collections.abc import Sequence

import pytest
from sqlalchemy import func, select

from bot.actions import shop_events
from bot.actions.action import LOOK_DELAYS
from bot.actions.shop_events import ShopEvents, TooManyEvents
from bot.language.sentences import load_sentences
from bot.shops.actions import Arguments
from bot.store import outbox, schema, trackers
from bot.store.actions import Action
from bot.store.database import Database
from tests.actions.scripted_shop import ScriptedShop
from tests.actions.test_executing import CUSTOMER, RULES, Desk, confirmed
from tests.doubles.clock import ManualClock


@pytest.fixture
def desk(database: Database) -> Desk:
    shop = ScriptedShop()
    for number in range(3):
        shop.add(f"FW-{number}", CUSTOMER)
    return Desk(database, ManualClock(), shop, RULES, {"U1": CUSTOMER})


@pytest.fixture
def events(desk: Desk) -> ShopEvents:
    return ShopEvents(desk.database, desk.clock, desk.runner)


async def offered(desk: Desk, order: str = "FW-0") -> Action:
    prepared = await desk.offer("U1", "cancel_order", Arguments(order=order), origin=f"test/{order}")
    assert prepared.action is not None
    return await desk.find(prepared.action.ref)


async def stored(desk: Desk) -> int:
    async with desk.database.transaction() as tx:
        return int((await tx.execute(select(func.count()).select_from(schema.shop_event))).scalar_one())


async def told(desk: Desk, action: Action, end: str) -> Sequence[str]:
    """What the customer reads of it, of the rows whose keys end like that."""
    async with desk.database.transaction() as tx:
        rows = [await outbox.by_key(tx, f"act/{action.ref}/{number}/{end}") for number in range(9)]
    return [str(row.payload) for row in rows if row is not None]


async def test_an_offer_ends_when_the_order_was_changed_elsewhere(desk: Desk, events: ShopEvents) -> None:
    action, other = await offered(desk), await offered(desk, "FW-1")
    desk.shop.change("FW-0")
    await events.accept("evt_1", "FW-0")
    await events.look()
    assert [(now := await desk.find(action.ref)).state, now.reason] == ["withdrawn", "changed"]
    assert load_sentences().say("en", "action_withdrawn_changed") in (await told(desk, action, "stands"))[0]
    assert (await desk.find(other.ref)).state == "offered"
    assert len(await desk.all("order/FW-0")) == 1, "somebody who has not said yes is not asked anew"


async def test_an_offer_stays_when_nothing_has_changed_whatever_the_event_says(desk: Desk, events: ShopEvents) -> None:
    action = await offered(desk)
    await events.accept("evt_1", "FW-0")
    await events.look()
    assert await desk.find(action.ref) == action


async def test_an_action_without_an_answer_is_asked_about_at_once(desk: Desk, events: ShopEvents) -> None:
    desk.shop.manners = ["silence"]
    action = await confirmed(desk)
    await desk.look()
    assert (await desk.find(action.ref)).state == "unknown"
    await events.accept("evt_1", "FW-0")
    await events.look()
    assert (await desk.find(action.ref)).state == "done"
    assert len(desk.shop.effects) == 1


async def test_no_number_of_events_makes_an_action_stuck_or_sends_it_again(desk: Desk, events: ShopEvents) -> None:
    desk.shop.manners = ["lost"]
    action = await confirmed(desk)
    await desk.look()
    before = await desk.find(action.ref)
    for number in range(3 * len(LOOK_DELAYS)):
        await events.accept(f"evt_{number}", "FW-0")
        await events.look()
    assert await desk.find(action.ref) == before
    assert [*desk.shop.sent.values()] == [1]


async def test_an_event_is_looked_at_once_however_often_it_comes(
    desk: Desk, events: ShopEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await offered(desk)
    read: list[str] = []
    get_order = ScriptedShop.get_order

    async def note(shop: ScriptedShop, customer: object, order: str) -> object:
        read.append(order)
        return await get_order(shop, CUSTOMER, order)

    monkeypatch.setattr(ScriptedShop, "get_order", note)
    for event in ("evt_1", "evt_1", "evt_2"):
        await events.accept(event, "FW-0")
    await events.look()
    await events.accept("evt_1", "FW-0")
    await events.look()
    assert read == ["FW-0"]


async def test_an_order_is_looked_at_again_while_its_request_is_out_and_while_the_shop_is_silent(
    desk: Desk, events: ShopEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.shop.manners = ["silence"]
    action = await confirmed(desk)
    during: list[str] = []
    send = ScriptedShop.send

    async def told_meanwhile(shop: ScriptedShop, request: object) -> object:
        await events.accept("evt_1", "FW-0")
        await events.look()
        during.append((await desk.find(action.ref)).state)
        return await send(shop, request)  # type: ignore[arg-type]

    monkeypatch.setattr(ScriptedShop, "send", told_meanwhile)
    await desk.look()
    assert during == ["executing"]
    desk.clock.advance(1.0)
    await events.look()
    assert (await desk.find(action.ref)).state == "done"


async def test_an_event_about_a_parcel_makes_its_order_be_read_again_however_late_it_comes(
    desk: Desk, events: ShopEvents
) -> None:
    action = await offered(desk)
    async with desk.database.transaction() as tx:
        await trackers.save(tx, "1Z999AA10123456784", "trk_1", order="FW-0", now=desk.clock.now())
    await events.accept_parcel("easypost/evt_1", "trk_of_somebody")
    assert await stored(desk) == 0
    await events.accept_parcel("easypost/evt_1", "trk_1")
    await events.look()
    assert await desk.find(action.ref) == action, "the event is not believed: the order is as it was"
    desk.shop.change("FW-0")
    await events.accept_parcel("easypost/evt_0", "trk_1")
    await events.look()
    assert (await desk.find(action.ref)).state == "withdrawn"


async def test_events_that_no_action_waits_for_are_not_stored_and_what_waits_is_bounded(
    desk: Desk, events: ShopEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    await events.accept("evt_1", "FW-2")
    assert await stored(desk) == 0
    await offered(desk)
    monkeypatch.setattr(shop_events, "WAITING_LIMIT", 2)
    for event in ("evt_1", "evt_2"):
        await events.accept(event, "FW-0")
    with pytest.raises(TooManyEvents):
        await events.accept("evt_3", "FW-0")
    await events.look()
    await events.accept("evt_3", "FW-0")
    desk.clock.advance(2 * 3_600.0)
    await events.look()
    assert await stored(desk) == 0
