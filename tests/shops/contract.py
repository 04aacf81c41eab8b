"""What every connector promises that can change a shop, or that knows parcels, tried against the double it talks to.

A connector's test file derives a class from `ConnectorContract` and gives it the fixture `stand`, or from
`ParcelContract` and gives it `parcels`. The double has the
seeded customers and orders of demo/shop/seed.py and misbehaves on demand. A connector that reads back what became of
an action, and is not told it by its key, finds less: that it was done, and neither its reference nor its money.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import uuid4

import pytest

from bot.conversation import ShopCustomer
from bot.shops.actions import (
    UNDOES,
    ActionBackend,
    ActionKind,
    ActionRequest,
    Arguments,
    LineQuantity,
    NotSupported,
    Outcome,
    ProductBackend,
    Quote,
    Swap,
    Undone,
)
from bot.shops.port import Address, Money, Order, OrderBackend, ShippingBackend, ShopUnavailable
from demo.shop.faults import Fault
from tests.patience import patience

CUSTOMER_A = ShopCustomer("cus_a", "Customer A", "customer.a@example.com")
CUSTOMER_B = ShopCustomer("cus_b", "Customer B", "customer.b@example.com")
PARCEL = "1Z999AA10123456784"
"""A parcel of ORD-12345, which is customer A's."""
ELSEWHERE = Address("Customer A", "2 Mill Street", "Salem", "US", region="OR", postal_code="97301")

EVERY_KIND: Mapping[ActionKind, Arguments] = {
    "cancel_order": Arguments(order="ORD-67890", reason="mistake"),
    "cancel_lines": Arguments(order="ORD-24680", lines=(LineQuantity("3", 1),), reason="changed_mind"),
    "change_order_address": Arguments(order="ORD-67890", address=ELSEWHERE),
    "change_order_items": Arguments(order="ORD-67890", swaps=(Swap("1", "var_hollow_sale"),)),
    "change_order_payment": Arguments(order="ORD-67890", method="pm_a_wallet"),
    "return_items": Arguments(order="ORD-31415", lines=(LineQuantity("2", 1),), reason="changed_mind"),
    "exchange_items": Arguments(order="ORD-31415", swaps=(Swap("1", "var_talus_40_mid"),), method="pm_a_gift"),
    "refund": Arguments(order="ORD-31415", amount=Money(2_500, "USD"), reason="damaged"),
    "send_again": Arguments(order="ORD-12345", lines=(LineQuantity("2", 2),), reason="too_slow"),
    "change_customer_address": Arguments(address=ELSEWHERE),
}
"""Each kind with arguments that the seeded shop takes."""

REFUSED: list[tuple[ActionKind, Arguments, str]] = [
    ("cancel_order", Arguments(order="ORD-12345"), "wrong_status"),
    ("change_order_address", Arguments(order="ORD-12345", address=ELSEWHERE), "wrong_status"),
    ("return_items", Arguments(order="ORD-12345", lines=(LineQuantity("1", 1),), reason="other"), "wrong_status"),
    ("refund", Arguments(order="ORD-11223", lines=(LineQuantity("1", 1),), reason="other"), "wrong_status"),
    ("return_items", Arguments(order="ORD-31415", lines=(LineQuantity("2", 3),), reason="other"), "too_much"),
    ("cancel_lines", Arguments(order="ORD-24680", lines=(LineQuantity("1", 1),)), "too_much"),
    ("refund", Arguments(order="ORD-31415", amount=Money(16_801, "USD"), reason="other"), "too_much"),
    ("exchange_items", Arguments(order="ORD-31415", swaps=(Swap("1", "var_socks_41"),)), "not_available"),
    ("change_order_items", Arguments(order="ORD-67890", swaps=(Swap("1", "var_nothing"),)), "not_available"),
    ("return_items", Arguments(order="ORD-31415", lines=(LineQuantity("9", 1),), reason="other"), "no_such_line"),
    ("cancel_lines", Arguments(order="ORD-24680"), "invalid"),
    ("change_order_payment", Arguments(order="ORD-67890", method="pm_b_card"), "invalid"),
    ("refund", Arguments(order="ORD-31415", amount=Money(100, "EUR"), reason="other"), "invalid"),
    ("refund", Arguments(order="ORD-31415", lines=(LineQuantity("1", 1),)), "invalid"),
    ("cancel_order", Arguments(order="ORD-00000"), "not_found"),
]
"""What a shop does not do, and why."""

BEFORE_IT_ACTS = ["error", "garbage", "huge", "bomb", "reset", "hang", "redirect"]
AFTER_IT_ACTED = ["act_then_silence", "act_then_500", "other_amount"]


class Connector(OrderBackend, ProductBackend, ActionBackend, Protocol):
    """A connector that looks up and changes."""


@dataclass(frozen=True, slots=True)
class Stand:
    """A connector, and its double."""

    shop: Connector
    break_with: Callable[[Fault], None]
    """Make the double misbehave."""
    digest: Callable[[], str]
    """A hash over everything in the double."""
    changes: Callable[[], list[str]]
    """The keys of all changes that took effect, in order."""
    requests: Callable[[], int]
    """How many requests have come in."""
    secret: str
    """What must not be in a request that is stored."""
    kinds: Sequence[ActionKind] = (*EVERY_KIND, *UNDOES)
    """What the double can do."""
    keyless: Sequence[ActionKind] = ()
    """What the double does again if it is sent again."""
    reads_back: bool = False
    """Whether the connector finds an outcome by reading the order, and not by the key."""
    break_action_with: Callable[[Fault], None] | None = None
    """Make the double misbehave at the next request that changes something. None: at the next request of any kind."""
    shows_methods: bool = True
    """Whether the shop shows how a customer can pay."""
    quote_refuses: bool = False
    """Whether what the shop does not do is refused before it is offered, by the connector."""

    def break_action(self, fault: Fault) -> None:
        """Make the double misbehave at the request of the next action."""
        (self.break_action_with or self.break_with)(fault)

    async def quoted(self, kind: ActionKind, order: Order, arguments: Arguments) -> tuple[Quote, str]:
        """The quote, or the reason why there is none."""
        try:
            return await self.shop.quote(CUSTOMER_A, kind, order, arguments), ""
        except NotSupported as refused:
            return Quote(None), refused.reason

    def skip_unless(self, kind: ActionKind) -> None:
        """Skip a test of a kind that the double does not have."""
        if kind not in self.kinds:
            pytest.skip(f"it has no {kind}")

    async def prepare(self, kind: ActionKind, arguments: Arguments, *, key: str = "") -> "Prepared":
        """The order, the quote and the request, as they are stored before anybody is asked."""
        order = await self.shop.get_order(CUSTOMER_A, arguments.order) if arguments.order else None
        quote = await self.shop.quote(CUSTOMER_A, kind, order, arguments)
        key = key or str(uuid4())
        request = self.shop.render(CUSTOMER_A, kind, order, arguments, quote=quote, key=key)
        return Prepared(self, kind, arguments, order, quote, key, request)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An action that can be sent."""

    stand: Stand
    kind: ActionKind
    arguments: Arguments
    order: Order | None
    quote: Quote
    key: str
    request: ActionRequest

    async def send(self) -> Outcome:
        """Send it once."""
        return await self.stand.shop.send(self.request)

    @property
    def entry(self) -> str:
        """What the double's list of changes has for it."""
        return "" if self.kind in self.stand.keyless else self.key

    def is_found(self, found: Outcome, done: Outcome) -> bool:
        """Whether asking says the same as the answer to the request did."""
        return found.state == done.state if self.stand.reads_back else found == done

    async def outcome(self) -> Outcome:
        """Ask what became of it."""
        return await self.stand.shop.outcome(CUSTOMER_A, self.kind, self.arguments, key=self.key)

    async def ends(self) -> Outcome:
        """Ask until the shop has decided."""
        async with asyncio.timeout(patience(10)):
            while (found := await self.outcome()).state in ("in_progress", "not_found"):  # noqa: ASYNC110 - the double's
                await asyncio.sleep(0.05)
        return found


class ConnectorContract:
    """The promises. `stand` is given by the class of a connector."""

    @pytest.mark.parametrize("kind", EVERY_KIND)
    async def test_each_kind_is_quoted_done_once_and_found_by_its_key(self, stand: Stand, kind: ActionKind) -> None:
        stand.skip_unless(kind)
        action = await stand.prepare(kind, EVERY_KIND[kind])
        before = stand.digest()
        done = await action.send()
        assert (done.state, stand.changes()) == ("done", [action.entry])
        assert done.reference
        assert stand.digest() != before
        assert done.money in (action.quote.money, None)
        found = await action.outcome()
        assert action.is_found(found, done)
        if action.order:
            now = await stand.shop.get_order(CUSTOMER_A, action.order.id)
            assert now is not None
            assert now == found.order
            assert now.revision != action.order.revision

    @pytest.mark.parametrize("kind", UNDOES)
    async def test_what_was_done_is_undone_once_and_only_by_whose_it_is(self, stand: Stand, kind: ActionKind) -> None:
        stand.skip_unless(kind)
        first = await stand.prepare(UNDOES[kind], EVERY_KIND[UNDOES[kind]])
        done = await first.send()
        before = await stand.shop.get_order(CUSTOMER_A, first.arguments.order)
        assert before is not None
        arguments = Arguments(order=before.id, undoes=Undone(first.key, done.reference))
        unknown = replace(arguments, undoes=Undone(str(uuid4()), "R-0"))
        quote, key = Quote(None), str(uuid4())
        refused = await stand.shop.send(
            stand.shop.render(CUSTOMER_A, kind, before, unknown, quote=quote, key=str(uuid4()))
        )
        assert refused == Outcome("refused", reason="not_found")
        foreign = replace(before, customer_id=CUSTOMER_B.id)
        of_another = stand.shop.render(CUSTOMER_B, kind, foreign, arguments, quote=quote, key=str(uuid4()))
        assert await stand.shop.send(of_another) == Outcome("refused", reason="not_found")
        undoing = await stand.prepare(kind, arguments, key=key)
        assert (await undoing.send()).state == (await undoing.send()).state == "done"
        assert (await undoing.outcome()).state == "done"
        again = await stand.shop.get_order(CUSTOMER_A, before.id)
        assert again is not None
        request = stand.shop.render(CUSTOMER_A, kind, again, arguments, quote=undoing.quote, key=str(uuid4()))
        assert await stand.shop.send(request) == Outcome("refused", reason="wrong_status")
        assert len(stand.changes()) == 2

    async def test_what_can_be_done_is_said_before_anything_is_offered(self, stand: Stand) -> None:
        kinds = await stand.shop.kinds()
        assert set(kinds) == set(stand.kinds)
        assert {kind for kind, spec in kinds.items() if spec.key_hours is None} == set(stand.keyless)

    @pytest.mark.parametrize(("kind", "arguments", "reason"), REFUSED)
    async def test_the_shop_refuses_in_closed_words_and_changes_nothing(
        self, stand: Stand, kind: ActionKind, arguments: Arguments, reason: str
    ) -> None:
        stand.skip_unless(kind)
        before = stand.digest()
        if kind == "refund" and not arguments.reason and not (await stand.shop.kinds())[kind].needs_reason:
            pytest.skip("it refunds without a reason")
        order = await stand.shop.get_order(CUSTOMER_A, arguments.order) or await a_missing_order(stand, arguments)
        quote, said = await stand.quoted(kind, order, arguments) if stand.quote_refuses else (Quote(None), "")
        if said:
            assert said == reason
            return
        request = stand.shop.render(CUSTOMER_A, kind, order, arguments, quote=quote, key=str(uuid4()))
        assert await stand.shop.send(request) == Outcome("refused", reason=reason)  # type: ignore[arg-type]
        assert (stand.digest(), stand.changes()) == (before, [])

    async def test_what_it_costs_is_not_said_of_what_is_impossible(self, stand: Stand) -> None:
        arguments = Arguments(order="ORD-31415", lines=(LineQuantity("9", 1),), reason="other")
        with pytest.raises(NotSupported) as refused:
            await stand.prepare("return_items", arguments)
        assert refused.value.reason == "no_such_line"

    async def test_a_foreign_order_is_to_the_byte_like_an_unknown_one(self, stand: Stand) -> None:
        order = await stand.shop.get_order(CUSTOMER_A, "ORD-67890")
        assert order is not None
        outcomes, refusals = [], []
        for order_id in ("ORD-67890", "ORD-00000"):
            arguments = Arguments(order=order_id, reason="mistake")
            assert await stand.shop.get_order(CUSTOMER_B, order_id) is None
            with pytest.raises(NotSupported) as refused:
                await stand.shop.quote(CUSTOMER_B, "cancel_order", order, arguments)
            refusals.append((str(refused.value), refused.value.reason))
            # As if a fault of ours had passed somebody else's order on: the shop has the last word.
            forged = replace(order, id=order_id, customer_id=CUSTOMER_B.id)
            request = stand.shop.render(
                CUSTOMER_B, "cancel_order", forged, arguments, quote=Quote(None), key=str(uuid4())
            )
            outcomes.append(await stand.shop.send(request))
        assert refusals[0] == refusals[1]
        assert outcomes == [Outcome("refused", reason="not_found")] * 2
        assert stand.changes() == []

    async def test_nothing_is_rendered_for_somebody_elses_order(self, stand: Stand) -> None:
        order = await stand.shop.get_order(CUSTOMER_A, "ORD-67890")
        with pytest.raises(NotSupported):
            stand.shop.render(
                CUSTOMER_B, "cancel_order", order, Arguments(order="ORD-67890"), quote=Quote(None), key=str(uuid4())
            )

    @pytest.mark.parametrize("kind", EVERY_KIND)
    async def test_a_request_is_rendered_purely_and_without_secrets(self, stand: Stand, kind: ActionKind) -> None:
        stand.skip_unless(kind)
        first = await stand.prepare(kind, EVERY_KIND[kind], key=str(uuid4()))
        asked = stand.requests()
        again = stand.shop.render(CUSTOMER_A, kind, first.order, EVERY_KIND[kind], quote=first.quote, key=first.key)
        assert again == first.request
        assert stand.requests() == asked
        assert stand.secret not in repr(first.request)

    async def test_the_same_request_again_gets_the_first_answer(self, stand: Stand) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        first = await action.send()
        assert await action.send() == first
        assert stand.changes() == [action.key]

    async def test_a_refusal_is_the_answer_to_the_same_request_again(self, stand: Stand) -> None:
        action = await stand.prepare("cancel_order", EVERY_KIND["cancel_order"])
        other = await stand.prepare("change_order_address", EVERY_KIND["change_order_address"])
        assert (await other.send()).state == "done"
        assert await action.send() == await action.send() == Outcome("refused", reason="changed")

    async def test_a_key_with_other_content_is_refused(self, stand: Stand) -> None:
        first = await stand.prepare("refund", EVERY_KIND["refund"])
        await first.send()
        more = replace(EVERY_KIND["refund"], amount=Money(9_900, "USD"))
        other = await stand.prepare("refund", more, key=first.key)
        assert await other.send() == Outcome("refused", reason="key_reused")
        assert stand.changes() == [first.key]

    async def test_twenty_at_once_with_one_key_are_one_change(self, stand: Stand) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        outcomes = await asyncio.gather(*(action.send() for _ in range(20)))
        assert {outcome.state for outcome in outcomes} <= {"done", "in_progress"}
        assert stand.changes() == [action.key]

    @pytest.mark.parametrize("fault", BEFORE_IT_ACTS)
    async def test_without_an_answer_nothing_is_known_and_the_key_makes_a_second_try_safe(
        self, stand: Stand, fault: str
    ) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        stand.break_action(Fault(fault))
        assert await action.send() == Outcome("unknown")
        assert await action.outcome() == Outcome("not_found")
        assert (await action.send()).state == "done"
        assert stand.changes() == [action.key]

    @pytest.mark.parametrize("fault", AFTER_IT_ACTED)
    async def test_silence_after_the_change_is_unknown_until_the_key_is_asked_about(
        self, stand: Stand, fault: str
    ) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        stand.break_action(Fault(fault))
        assert await action.send() == Outcome("unknown")
        found = await action.outcome()
        assert (found.state, found.money) == ("done", None if stand.reads_back else action.quote.money)
        again = await action.send()
        assert (again.state, again.money) == ("done", action.quote.money)
        assert action.is_found(found, again)
        assert stand.changes() == [action.key]

    @pytest.mark.parametrize("fault", BEFORE_IT_ACTS)
    async def test_a_question_without_an_answer_is_no_news(self, stand: Stand, fault: str) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        await action.send()
        stand.break_with(Fault(fault, times=2))  # a look-up whose connection ends may be asked again at once
        assert await action.outcome() == Outcome("unavailable")

    async def test_an_action_that_took_effect_partly_names_its_lines(self, stand: Stand) -> None:
        if stand.reads_back:
            pytest.skip("it answers for the whole")
        lines = (LineQuantity("1", 1), LineQuantity("2", 2))
        action = await stand.prepare("return_items", Arguments(order="ORD-31415", lines=lines, reason="other"))
        stand.break_action(Fault("half"))
        partly = await action.send()
        assert (partly.state, partly.lines) == ("partly", ("1",))
        assert await action.outcome() == partly

    async def test_an_order_that_changed_since_is_left_alone(self, stand: Stand) -> None:
        action = await stand.prepare("cancel_order", EVERY_KIND["cancel_order"])
        stand.break_action(Fault("changed"))
        assert await action.send() == Outcome("refused", reason="changed")
        assert stand.changes() == []

    async def test_a_shop_that_still_works_on_it_is_waited_for(self, stand: Stand) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        stand.break_action(Fault("in_progress", seconds=0.3))
        assert await action.send() == Outcome("in_progress")
        assert await action.outcome() == Outcome("not_found" if stand.reads_back else "in_progress")
        assert (await action.ends()).state == "done"
        assert stand.changes() == [action.key]

    async def test_a_slow_shop_may_act_after_we_stopped_waiting(self, stand: Stand) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        stand.break_action(Fault("slow", seconds=patience(2.5)))
        assert await action.send() == Outcome("unknown")
        found = await action.ends()
        assert found.state == "done"
        assert stand.changes() == [action.key]
        assert action.is_found(found, await action.send())

    async def test_an_order_that_is_read_too_early_does_not_hide_what_was_done(self, stand: Stand) -> None:
        action = await stand.prepare("cancel_order", EVERY_KIND["cancel_order"])
        stand.break_action(Fault("act_then_500"))
        stand.break_with(Fault("stale", path="/orders"))
        await action.send()
        assert await stand.shop.get_order(CUSTOMER_A, "ORD-67890") == action.order
        if stand.reads_back:
            stand.break_with(Fault("stale", path="/orders"))
            assert await action.outcome() == Outcome("not_found")
        assert (await action.outcome()).state == "done"

    async def test_the_records_of_somebody_else_in_an_answer_are_no_outcome(self, stand: Stand) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        if stand.reads_back:
            await action.send()
            stand.break_with(Fault("foreign"))
            assert await action.outcome() == Outcome("unknown")
            return
        stand.break_action(Fault("foreign", times=2))
        assert [await action.send(), await action.outcome()] == [Outcome("unknown")] * 2

    async def test_a_request_that_is_cancelled_is_not_swallowed(self, stand: Stand) -> None:
        action = await stand.prepare("refund", EVERY_KIND["refund"])
        stand.break_action(Fault("hang"))
        asked = stand.requests()
        sending = asyncio.create_task(action.send())
        async with asyncio.timeout(10):
            while stand.requests() == asked:  # noqa: ASYNC110 - the double's
                await asyncio.sleep(0.01)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    async def test_the_variants_of_a_product_and_the_ways_to_pay_are_read(self, stand: Stand) -> None:
        order = await stand.shop.get_order(CUSTOMER_A, "ORD-31415")
        assert order is not None
        product = await stand.shop.get_product(CUSTOMER_A, order.lines[0].product_id)
        assert product is not None
        assert order.lines[0].variant_id in {variant.id for variant in product.variants}
        assert await stand.shop.get_product(CUSTOMER_A, "prd_nothing") is None
        methods = await stand.shop.payment_methods(CUSTOMER_A)
        if not stand.shows_methods:
            assert methods == ()
            return
        assert {payment.method_id for payment in order.payments} <= {method.method_id for method in methods}
        assert Money(2_000, "USD") in [method.amount for method in methods]


@dataclass(frozen=True, slots=True)
class ParcelStand:
    """A shop, and the double that knows its parcels."""

    shop: ShippingBackend
    break_with: Callable[[Fault], None]
    """Make the double misbehave at questions about parcels."""


class ParcelContract:
    """The promises about parcels. `parcels` is given by the class of a connector."""

    async def test_a_parcel_of_their_order_is_read_with_its_newest_scans_first(self, parcels: ParcelStand) -> None:
        parcel = await parcels.shop.track(CUSTOMER_A, PARCEL)
        assert parcel is not None
        assert (parcel.tracking_number, parcel.order_id, parcel.status) == (PARCEL, "ORD-12345", "in_transit")
        assert parcel.carrier == "UPS"
        assert parcel.expected_at is not None
        times = [event.at for event in parcel.events]
        assert times == sorted(times, reverse=True)
        assert len(times) > 1

    @pytest.mark.parametrize("number", ["1Z999AA19999999999", "../" + PARCEL, PARCEL.lower(), "", "1Z 99"])
    async def test_no_other_number_is_answered(self, parcels: ParcelStand, number: str) -> None:
        assert await parcels.shop.track(CUSTOMER_A, number) is None

    async def test_the_parcel_of_somebody_else_is_not_even_asked_about(self, parcels: ParcelStand) -> None:
        parcels.break_with(Fault("error", times=100))
        assert await parcels.shop.track(CUSTOMER_B, PARCEL) is None

    @pytest.mark.parametrize("fault", [*BEFORE_IT_ACTS, "busy"])
    async def test_a_fault_is_no_answer_and_does_not_last(self, parcels: ParcelStand, fault: str) -> None:
        parcels.break_with(Fault(fault, times=2, seconds=0))
        with pytest.raises(ShopUnavailable):
            await parcels.shop.track(CUSTOMER_A, PARCEL)
        parcels.break_with(Fault("none"))
        assert await parcels.shop.track(CUSTOMER_A, PARCEL)


async def a_missing_order(stand: Stand, arguments: Arguments) -> Order:
    """An order that the shop does not have, with the revision of one that it has."""
    order = await stand.shop.get_order(CUSTOMER_A, "ORD-67890")
    assert order is not None
    return replace(order, id=arguments.order)
