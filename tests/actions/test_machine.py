"""Any sequence of what people, the shop, time and crashes do to changes of orders, against what must always hold.

P1 at most one effect of an action · P2 none without the yes of its customer, and a vote where the rules ask · P3 what
was sent is what was shown · P4 one running action of an order · P5 no more money than shown · P6 each ends or is due ·
P7 the audit trail rebuilds the state · P8 what the customer reads last agrees with the state · P9 after the end a
repeated request for the change makes a new offer.
"""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from bot.actions.messages import TOLD_AFTER_YES
from bot.conversation import ShopCustomer
from bot.shops.actions import Arguments
from bot.shops.port import Money
from bot.store import schema
from bot.store.actions import RUNNING, Action
from bot.store.database import Database, open_database
from tests.actions.changing import Changing
from tests.actions.scripted_shop import Manner, ScriptedShop
from tests.doubles.clock import ManualClock

CUSTOMER, OTHER = ShopCustomer("c1", "Customer A", "a@example.com"), ShopCustomer("c2", "Customer B", "b@example.com")
ORDERS = ("FW-0", "FW-1")
PEOPLE = ("U1", "U2")
MANNERS: tuple[Manner, ...] = ("ok", "no", "silence", "lost", "late", "unreachable")
CRASH_POINTS = ("action_marked", "action_answered", "action_kept")
Result = TypeVar("Result")


ENDS_TOLD = ("done", "refused", "failed", "stuck", "rejected")


class Killed(BaseException):
    """The process is gone."""


class Machine(RuleBasedStateMachine):
    """One desk and its shop. Orders cost more than staff let pass in one of two kinds of rules."""

    file: Path
    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        path = Path(self.folder) / "frontdesk.db"
        shutil.copyfile(self.file, path)
        self.opening = open_database(f"sqlite+aiosqlite:///{path}")
        self.database: Database = self.run(self.opening.__aenter__())
        self.clock, self.shop = ManualClock(), ScriptedShop()
        for order in ORDERS:
            self.shop.add(order, CUSTOMER)
        self.turns = 0
        self.said_yes: set[str] = set()
        self.voted: set[str] = set()
        self.unasked: set[str] = set()
        """What staff prepared and the rules need no yes for."""
        self.shown: dict[str, tuple[Any, int]] = {}

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    @initialize(needs_staff=st.booleans(), needs_yes=st.booleans(), manner=st.sampled_from(MANNERS))
    def begin(self, needs_staff: bool, needs_yes: bool, manner: Manner) -> None:
        """The product starts, and both orders are to be changed."""
        self.needs_staff, self.needs_yes = needs_staff, needs_yes
        self.start()
        for order in ORDERS:
            self.ask(order, True, manner)

    def start(self) -> None:
        limits = {"EUR": {"staff_above": 1 if self.needs_staff else 10_000_000, "never_above": 20_000_000}}
        refund: dict[str, Any] = {"rules": [], "customer_yes": "needed" if self.needs_yes else "not_needed"}
        rules = {"version": 1, "currency_limits": limits, "actions": {"refund": refund}}
        self.desk = Changing(self.database, self.clock, self.shop, rules, {"U1": CUSTOMER, "U2": OTHER})

    def actions(self) -> list[Action]:
        return [each for order in ORDERS for each in self.run(self.desk.all(f"order/{order}"))]

    @rule(
        order=st.sampled_from(ORDERS), is_wanted=st.sampled_from([True, True, False]), manner=st.sampled_from(MANNERS)
    )
    def ask(self, order: str, is_wanted: bool, manner: Manner) -> None:
        """A customer asks for a change, and mostly says yes at once; staff, too."""
        self.prepare(order)
        if is_wanted and self.shown:
            self.shop.manners = [manner]
            self.press(0, "U1", "yes")
            if self.needs_staff and self.said_yes:
                self.vote(0, "USTAFF", "approve")

    @rule(order=st.sampled_from(ORDERS))
    def prepare(self, order: str) -> None:
        before = self.actions()
        self.turns += 1
        made = self.run(self.desk.offer("U1", "refund", Arguments(order=order), origin=f"test/{self.turns}"))
        if any(each.subject == f"order/{order}" and each.state in RUNNING for each in before):
            assert made.state == "under_way"
        if made.action is not None:
            action = self.run(self.desk.find(made.action.ref))
            assert action.ref not in {each.ref for each in before}, "P9"
            self.shown[action.ref] = (action.request, action.money)

    @rule(order=st.sampled_from(ORDERS))
    def prepare_in_case(self, order: str) -> None:
        """Staff fill in the dialog, and the submission is worked on twice, as after a crash."""
        self.turns += 1
        before = {each.ref for each in self.actions()}
        for _ in range(2):
            made = self.run(
                self.desk.prepare_in_case("U1", "USTAFF", "refund", Arguments(order=order), submission=self.turns)
            )
            if made.action is not None and made.action.prepared_by:
                action = self.run(self.desk.find(made.action.ref))
                self.shown.setdefault(action.ref, (action.request, action.money))
                if not self.needs_yes:
                    self.unasked.add(action.ref)
                assert action.state != "offered" or self.needs_yes
        assert len({each.ref for each in self.actions()} - before) <= 1

    @precondition(lambda self: self.shown)
    @rule(which=st.integers(0, 5), user=st.sampled_from(PEOPLE), button=st.sampled_from(["yes", "yes", "yes", "no"]))
    def press(self, which: int, user: str, button: str) -> None:
        action = self.run(self.desk.find([*self.shown][-1 - which % len(self.shown)]))
        ended = self.run(self.desk.press(action, user, button))
        if ended == "confirmed":
            assert user == "U1"
            assert action.state == "offered"
            self.said_yes.add(action.ref)
            assert action.ref not in self.voted or self.run(self.desk.find(action.ref)).state == "ready", (
                "the vote stands"
            )

    @precondition(lambda self: self.needs_staff and (self.said_yes or self.unasked))
    @rule(
        which=st.integers(0, 5),
        user=st.sampled_from(["U1", "USTAFF", "USTAFF", "UOTHER"]),
        button=st.sampled_from(["approve", "approve", "refuse"]),
    )
    def vote(self, which: int, user: str, button: str) -> None:
        action = self.run(self.desk.find([*self.shown][-1 - which % len(self.shown)]))
        if self.run(self.desk.press(action, user, button)) == "approved":
            assert user not in ("U1", action.prepared_by)
            self.voted.add(action.ref)

    @precondition(lambda self: self.needs_staff and (self.said_yes or self.unasked))
    @rule(which=st.integers(0, 5), user=st.sampled_from(["U1", "USTAFF", "UOTHER"]), percent=st.integers(0, 110))
    def offer_less(self, which: int, user: str, percent: int) -> None:
        """Staff offer another amount, and the customer has not said yes to that."""
        before = self.run(self.desk.find([*self.shown][-1 - which % len(self.shown)]))
        amount = -before.money * percent // 100
        ended = self.run(self.desk.offer_less(before, user, Money(amount, before.currency).figure))
        if ended == "amount_changed":
            assert before.state == "approving"
            assert user not in ("U1", before.prepared_by)
            after = self.run(self.desk.find(before.ref))
            assert after.money == -amount
            assert 0 < amount <= -before.money, "P5"
            self.shown[before.ref] = (after.request, after.money)
            self.said_yes.discard(before.ref)
            self.unasked.discard(before.ref)
            self.voted.add(before.ref)

    @precondition(lambda self: self.shown)
    @rule(which=st.integers(0, 5))
    def take_back(self, which: int) -> None:
        """The message that asked is edited or deleted."""
        ref = [*self.shown][-1 - which % len(self.shown)]
        origin = self.run(self.desk.find(ref)).origin

        async def drop() -> None:
            async with self.database.transaction() as tx:
                await self.desk.preparing.drop(tx, origin, "edited")

        self.run(drop())

    @precondition(lambda self: self.shown)
    @rule(which=st.integers(0, 5))
    def say_yes_in_words(self, which: int) -> None:
        """The preview is shown again, and nothing else happens."""
        before = self.run(self.desk.find([*self.shown][-1 - which % len(self.shown)]))

        async def show_again() -> None:
            async with self.database.transaction() as tx:
                await self.desk.preparing.show_again(tx, before)

        self.run(show_again())
        after = self.run(self.desk.find(before.ref))
        assert after.state == before.state
        assert after.shown - before.shown == int(before.state == "offered")

    @rule(order=st.sampled_from(ORDERS))
    def change(self, order: str) -> None:
        self.shop.change(order)

    @rule()
    def catch_up(self) -> None:
        self.shop.catch_up()

    @rule(seconds=st.sampled_from([1.0, 3.0, 40.0, 2_000.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.run(self.desk.look())

    @rule(seconds=st.sampled_from([-3_600.0, 3_600.0]))
    def set_clock(self, seconds: float) -> None:
        self.clock.jump(seconds)

    @rule(place=st.sampled_from(CRASH_POINTS))
    def die(self, place: str) -> None:
        """The process is killed there, or anywhere if it does not come there, and starts again."""

        def kill(name: str) -> None:
            if name == place:
                raise Killed

        with patch("bot.actions.executing.failpoint", kill):
            self.run(self.die_looking())
        self.start()

    async def die_looking(self) -> None:
        await self.desk.runner._look()
        await asyncio.gather(*self.desk.runner._running.values(), return_exceptions=True)

    @rule()
    def look(self) -> None:
        """What is due is done."""
        self.run(self.desk.look())

    @invariant()
    def holds(self) -> None:
        if not self.shown:
            return
        found = self.actions()
        done = Counter(key for key, _, _ in self.shop.effects)
        for action in found:
            assert done[action.key] <= 1, "P1"
            if self.shop.sent[action.key]:
                assert action.ref in self.said_yes | self.unasked, "P2"
                assert not self.needs_staff or action.ref in self.voted, "P2"
            assert (action.request, action.money) == self.shown.setdefault(
                action.ref, (action.request, action.money)
            ), "P3"
            assert action.is_open or action.state in ("stuck", "partly") or action.due is None, "P6"
            assert not action.is_open or action.due is not None or action.state == "executing", "P6"
            assert action.state != "done" or done[action.key] == 1, "P8"
            assert action.state not in ("failed", "refused", "declined", "withdrawn") or not done[action.key], "P8"
        for key, _, money in self.shop.effects:
            assert [each.money for each in found if each.key == key] == [money], "P5"
        running = Counter(each.subject for each in found if each.state in RUNNING)
        assert all(number <= 1 for number in running.values()), "P4"
        self.run(self.trail(found))

    async def trail(self, found: list[Action]) -> None:
        """P7, and the end of each action is told once at most."""
        async with self.database.transaction() as tx:
            lines = (await tx.execute(select(schema.audit).order_by(schema.audit.c.id))).all()
            keys = set((await tx.execute(select(schema.outbox.c.key))).scalars())
        last = {line.subject: line.detail["state"] for line in lines if line.action.startswith("action.")}
        for action in found:
            assert last[action.ref] == action.state, "P7"
            is_late = action.confirmed_at is not None and action.state in ("expired", "withdrawn")
            must = action.state in ENDS_TOLD or (is_late and action.reason in TOLD_AFTER_YES)
            # Of an order that changed meanwhile the customer reads this, or the new preview.
            may = must or (is_late and action.reason == "changed")
            if not any(key.startswith(f"act/{action.ref}/offer/") for key in keys):
                # The customer was not asked, and reads only what was done.
                must = may = action.state == "done"
            assert must <= (f"act/{action.ref}/end" in keys) <= may, "P8"

    def teardown(self) -> None:
        """Whatever happened, with a shop that answers everything comes to its end."""
        if self.shown:
            self.shop.catch_up()
            self.shop.manners = []
            steps = 0
            while steps < 40 and any(each.is_open for each in self.actions()):
                self.clock.advance(700.0)
                self.run(self.desk.look())
                steps += 1
            left = [(each.state, each.attempts, each.looks, each.due) for each in self.actions() if each.is_open]
            assert not left, ("P6", left, self.clock.now())
            self.holds()
        self.run(self.opening.__aexit__(None, None, None))
        shutil.rmtree(self.folder, ignore_errors=True)


def test_whatever_happens_a_change_is_made_once_as_shown_and_told(
    migrated_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "file", migrated_file, raising=False)
    with asyncio.Runner() as runner:
        monkeypatch.setattr(Machine, "loop", runner.get_loop(), raising=False)
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=settings().max_examples * 2 // 5,
                stateful_step_count=20,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
