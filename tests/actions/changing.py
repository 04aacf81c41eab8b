"""The parts that change orders, over a real database and any shop, without Slack: presses are made by hand."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from bot.actions.action import ActionMovedOn
from bot.actions.deciding import Deciding, Ended, Press
from bot.actions.executing import ActionRunner
from bot.actions.judging import Judging
from bot.actions.messages import ActionMessages
from bot.actions.policy_file import PolicyFile, build_policy
from bot.actions.preparing import ChangeRequest, Prepared, Preparing
from bot.actions.stepping import ActionStepping
from bot.cases.cases import Cases
from bot.cases.messages import CaseMessages
from bot.clock import Clock
from bot.conversation import Customer, ShopCustomer, ThreadRef
from bot.language.sentences import load_sentences
from bot.shops.actions import ActionKind, Arguments, Shop
from bot.slack.client import SlackClient
from bot.slack.outbox import Outbox
from bot.store import actions
from bot.store.actions import Action, State
from bot.store.database import Database
from bot.store.leases import Membership
from tests.turns.answering import build_cases

TEAM = "T0FRONTDESK"
AGENTS = "C0AGENTS"
EVERY: tuple[State, ...] = (
    *actions.COUNTED,
    "offered",
    "refused",
    "failed",
    "declined",
    "expired",
    "withdrawn",
    "rejected",
)


class _Answer(str):
    """What Slack says of a message or of a person."""

    __slots__ = ()
    display_name = "Agent A"


class _Posted:
    """Stands for Slack: what is queued for it stays queued."""

    def __getattr__(self, name: str) -> "_Posted":
        return self

    async def __call__(self, *_: object, **__: object) -> _Answer:
        return _Answer()


@dataclass(slots=True)
class Changing:
    """One process that changes orders."""

    database: Database
    clock: Clock
    shop: Shop
    rules: dict[str, Any]
    known: dict[str, ShopCustomer] = field(default_factory=dict)
    """Slack user -> the shop's customer."""
    preparing: Preparing = field(init=False)
    runner: ActionRunner = field(init=False)
    deciding: Deciding = field(init=False)
    cases: Cases = field(init=False)

    def __post_init__(self) -> None:
        slack = cast(SlackClient, _Posted())
        outbox = Outbox(self.database, slack.chat, slack.sessions, self.clock, essential=[AGENTS])
        self.cases = cases = build_cases(self.database, outbox, slack, self.clock)
        policy = build_policy(PolicyFile.model_validate(self.rules), digest="rules")
        hours = CaseMessages(load_sentences(), AGENTS).targets.hours
        messages = ActionMessages(load_sentences(), AGENTS, hours)
        stepping = ActionStepping(self.database, outbox, self.clock, messages)
        judging = Judging(self.database, self.clock, self.shop, lambda: policy, "UTC")
        self.preparing = Preparing(stepping, judging, offers_an_hour=1000)
        member = Membership(self.database, self.clock, role="work", is_alone=True)
        self.runner = ActionRunner(stepping, self.preparing, cases, self.identify, member, is_alone=True)
        self.deciding = Deciding(stepping, self.preparing, self.runner, cases, self.identify)

    async def identify(self, user: str) -> Customer:
        """Whoever they are."""
        return Customer(TEAM, user, user, "en-US", "member", shop=self.known.get(user))

    async def offer(self, user: str, kind: ActionKind, arguments: Arguments, *, origin: str) -> Prepared:
        """Prepare a change and show it, as a turn does."""
        prepared = await self.prepare(user, kind, arguments, origin=origin)
        async with self.database.transaction() as tx:
            await self.preparing.show(tx, origin, ThreadRef(TEAM, f"D0{user}", origin), 0, language="en")
        return prepared

    async def prepare(self, user: str, kind: ActionKind, arguments: Arguments, *, origin: str) -> Prepared:
        """Prepare a change and do not show it yet."""
        customer = await self.identify(user)
        assert customer.shop is not None
        thread = ThreadRef(TEAM, f"D0{user}", origin)
        return await self.preparing.prepare(
            ChangeRequest(customer, customer.shop, thread, origin, "en"), kind, arguments
        )

    async def press(self, action: Action, user: str, button: str) -> Ended:
        """Press a button of the newest version that the action shows."""
        decide = {
            "yes": self.deciding.confirm,
            "no": self.deciding.decline,
            "approve": self.deciding.approve,
            "refuse": self.deciding.refuse,
        }[button]
        channel = AGENTS if button in ("approve", "refuse") else action.thread.channel
        try:
            ended, _ = await decide(Press(action.button, user, TEAM, channel, ""))
        except ActionMovedOn:
            return "moved_on"
        return ended

    async def offer_less(self, action: Action, user: str, written: str) -> Ended:
        """Fill in the dialog of the newest card with another amount."""
        ended, _ = await self.deciding.change_amount(Press(action.button, user, TEAM, AGENTS, ""), written)
        return ended

    async def prepare_in_case(
        self, user: str, staff: str, kind: ActionKind, arguments: Arguments, *, submission: int
    ) -> Prepared:
        """Fill in the dialog of a case of the customer."""
        thread = ThreadRef(TEAM, f"D0{user}", "case")
        case = await self.cases.open(thread, await self.identify(user), reason="change", priority="medium")
        return await self.deciding.prepare(case, staff, kind, arguments, submission=submission)

    async def look(self) -> None:
        """Do what is due now, to its end."""
        await self.runner._look()
        while self.runner._running:
            await asyncio.gather(*self.runner._running.values())

    async def find(self, ref: str) -> Action:
        """The action as it is now."""
        async with self.database.transaction() as tx:
            found = await actions.find(tx, ref)
        assert found is not None
        return found

    async def all(self, subject: str) -> list[Action]:
        """Every action of a subject."""
        async with self.database.transaction() as tx:
            return await actions.of_subject(tx, subject, states=EVERY)
