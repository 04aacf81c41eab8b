"""Changes of orders while the product is killed: what customers want, what they and staff press, what must come of it.

Demand      one change of one order of a customer of their own
Buyers    the people of a campaign over changes: they ask, press until somebody listens, and read the end
decide    the model's next reply: it prepares what was asked for, once a turn
look      what Slack, the shop and the database say in the end
"""

import asyncio
import copy
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from sqlalchemy import select

from bot.language.sentences import load_sentences
from bot.store import schema
from bot.store.database import Database
from demo.shop.records import Json as Record
from demo.shop.records import Pieces
from demo.shop.server import Fault
from local_slack.workspace import Channel, Json, User, Workspace
from tests.chaos.invariants import NEVER_LOGGED, Findings
from tests.chaos.outside import Outside
from tests.chaos.people import AGAIN_SECONDS, DIALOG_SECONDS, PATIENCE, People
from tests.chaos.reading import buttons, by_app, in_thread
from tests.chaos.script import AGENTS, CANARY, STAFF, Line, Reply
from tests.chaos.script import Course as CaseCourse

Course = Literal["cancelled", "approved", "reduced", "rejected", "declined", "unheard"]
"""The customer says yes · and staff, too · or staff offer less, and the customer says yes again · or staff refuse · or
the customer says no · the customer says yes, and the shop acts without saying so, is slow, or ends the connection."""
COURSES: tuple[Course, ...] = get_args(Course)
OF_STAFF = ("approved", "reduced", "rejected")
REDUCED = "1"
"""What staff offer instead."""
UNEXECUTED = ("rejected", "declined")
MISHAPS = ("act_then_500", "in_progress", "slow", "reset", "error")
"""What the shop does to a change that is `unheard`. It answers questions about it."""
SLOW_SECONDS = 1.5
AT_ONCE = 3
"""Changes that are begun together."""
RULES = """
version: 1
currency_limits:
  USD: {staff_above: 10000000, never_above: 20000000}
actions:
  cancel_order:
    rules:
      - {id: not_packed, fact: order.status, one_of: [pending, processing], else: refuse, because: shipped_already}
  refund:
    staff: always
    rules:
      - {id: paid, fact: order.payment, one_of: [paid, partly_refunded], else: refuse, because: nothing_paid}
"""
TEMPLATES = {"cancel_order": "ORD-67890", "refund": "ORD-31415"}
"""Kind -> the order of the shop's own customers that a new one is made from."""
SOME = [{"line": "2", "quantity": 1}]
"""What is refunded: little enough that the shop could do it twice."""
DETAILS = "Please check the details below and press a button."
_SAY = load_sentences()
_DEMAND = re.compile(r"\b(m\d{5})\b.*\b(cancel|refund) (ORD-\d+)\b")


@dataclass(slots=True)
class Demand:
    """One change that a customer wants."""

    mark: str
    course: Course
    user: str
    channel: str
    order: str
    money: int
    """What they must get back if it is done, in minor units."""
    ts: str = ""
    is_pressed: bool = False
    """The customer's press was acknowledged, or has done what it does."""
    is_decided: bool = False
    """The same of the vote of staff."""
    ended_at: float | None = None
    hit_at: float | None = None

    @property
    def kind(self) -> str:
        """What is changed."""
        return "refund" if self.course in OF_STAFF else "cancel_order"

    @property
    def text(self) -> str:
        """What they write."""
        return f"Note {self.mark} {CANARY}: please {self.kind.partition('_')[0]} {self.order}"

    @property
    def is_executed(self) -> bool:
        """Whether the shop must do it."""
        return self.course not in UNEXECUTED

    @property
    def end(self) -> str:
        """The words that tell the end."""
        if self.course in UNEXECUTED:
            return _SAY.say("en", f"action_{self.course}")
        return _SAY.say("en", f"action_done_{self.kind}", order=self.order)


def decide(request: Mapping[str, Any]) -> Reply:
    """Prepare what the last message asks for, unless this turn has."""
    messages = request["messages"]
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    found = _DEMAND.search(str(messages[last]["content"]))
    called = any(message.get("tool_calls") for message in messages[last:])
    offered = {tool["function"]["name"] for tool in request.get("tools", ())}
    if found is None or called:
        return Reply(DETAILS)
    if found[2] == "cancel" and "prepare_cancel_order" in offered:
        return Reply(calls=[("prepare_cancel_order", {"order_id": found[3], "reason": "changed_mind"})])
    if found[2] == "refund" and "prepare_refund" in offered:
        return Reply(calls=[("prepare_refund", {"order_id": found[3], "lines": SOME, "reason": "damaged"})])
    return Reply("Nothing is known of that.")


@dataclass(slots=True)
class Buyers(People):
    """Customers who want a change, each in direct messages of their own, and the staff who decide."""

    demands: list[Demand] = field(default_factory=list)

    @property
    def are_busy(self) -> bool:
        return bool(self._playing)

    async def say_some(self, *, course: CaseCourse | None = None) -> list[Line]:
        """A few changes at once."""
        del course
        for _ in range(AT_ONCE):
            await self.want(self.chance.choice(COURSES))
        return []

    async def want(self, course: Course) -> Demand:
        """A customer asks for a change; the rest goes on beside whatever else is done."""
        demand = self._new_demand(course)
        if course == "unheard":
            kind = self.chance.choice(MISHAPS)
            self.outside.shop.add_fault(Fault(kind, seconds=SLOW_SECONDS, path="/actions"))
        self.demands.append(demand)
        demand.ts = await self.outside.workspace.act.send(demand.user, demand.channel, demand.text)
        playing = asyncio.create_task(self._change_order(demand), name=f"{course} {demand.mark}")
        self._playing[demand.mark] = playing
        playing.add_done_callback(partial(self._ended, demand))
        return demand

    def look(self) -> None:
        """Whoever plays a demand looks for themselves."""

    def hit(self) -> None:
        for demand in self.demands:
            if demand.is_pressed and demand.ended_at is None and demand.hit_at is None:
                demand.hit_at = time.monotonic()

    def late(self) -> list[float]:
        return [demand.ended_at - demand.hit_at for demand in self.demands if demand.hit_at and demand.ended_at]

    async def _change_order(self, demand: Demand) -> None:
        workspace = self.outside.workspace
        await self._until(lambda: bool(_offers(workspace, demand)), f"the question of {demand.mark}")
        await self._click_until_heard(demand.user, "act.no" if demand.course == "declined" else "act.yes", demand)
        demand.is_pressed = True
        if demand.course in OF_STAFF:
            await self._until(lambda: bool(_cards(workspace, demand)), f"the card of {demand.mark}")
            await self._decide(demand)
            demand.is_decided = True
        await self._until(lambda: bool(_ends(workspace, demand)), f"the end of {demand.mark}")
        demand.ended_at = time.monotonic()

    async def _click_until_heard(self, user: str, action: str, demand: Demand) -> None:
        workspace = self.outside.workspace
        shown, channel = (_cards, AGENTS) if user in STAFF else (_offers, demand.channel)
        while message := next((each for each in reversed(shown(workspace, demand)) if action in buttons(each)), None):
            if (await workspace.act.click(user, channel, message["ts"], action)).ok:
                return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _decide(self, demand: Demand) -> None:
        """One of the staff decides."""
        user = self.chance.choice(STAFF)
        match demand.course:
            case "reduced":
                await self._submit(user, "appr.change", {"amount": {"amount": REDUCED}}, demand)
                await self._until(lambda: bool(_offers(self.outside.workspace, demand)), f"the offer of {demand.mark}")
                await self._click_until_heard(demand.user, "act.yes", demand)
            case "rejected":
                await self._submit(user, "appr.no", {}, demand)
            case _:
                await self._click_until_heard(user, "appr.yes", demand)

    async def _submit(self, user: str, action: str, state: Json, demand: Demand) -> None:
        """Open the dialog and submit it, again until that is acknowledged."""
        workspace = self.outside.workspace
        async with self._busy[user]:
            while card := next(iter(_cards(workspace, demand)), None):
                view = next((each for each in workspace.modals.get(user, ()) if card["ts"] in str(each)), None)
                if view is None:
                    await workspace.act.click(user, AGENTS, card["ts"], action)
                    await self._change(DIALOG_SECONDS, until=lambda: bool(workspace.modals.get(user)))
                elif (await workspace.act.submit_view(user, view["id"], state)).ok:
                    break
                else:
                    await asyncio.sleep(AGAIN_SECONDS)
            for view in tuple(workspace.modals.get(user, ())):
                # It had been taken, and nobody was told so.
                await workspace.act.close_view(user, view["id"])

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await self._change()

    def _new_demand(self, course: Course) -> Demand:
        number = len(self.demands) + 1
        name, mark = f"BUYER{number:05}", f"m{number:05}"
        user, channel, customer, order_id = f"U0{name}", f"D0{name}", f"cus_{number:05}", f"ORD-9{number:05}"
        workspace, records = self.outside.workspace, self.outside.shop.records
        workspace.users[user] = User(user, name.lower(), name.title(), f"{name.lower()}@example.com")
        members = [user, workspace.app.user_id]
        workspace.channels[channel] = Channel(channel, "", is_im=True, members=members)
        kind = "refund" if course in OF_STAFF else "cancel_order"
        known = records.orders[TEMPLATES[kind]]
        owner = known["customer_id"]
        records.customers[customer] = {
            **copy.deepcopy(records.customers[owner]),
            "id": customer,
            "email": f"{name.lower()}@example.com",
        }
        records.methods[customer] = copy.deepcopy(records.methods[owner])
        records.addresses[customer] = copy.deepcopy(records.addresses[owner])
        order: Record = {**copy.deepcopy(known), "id": order_id, "customer_id": customer, "parcels": []}
        records.orders[order_id] = order
        for line in order["lines"]:
            kept = records.pieces[known["id"], line["id"]]
            records.pieces[order_id, line["id"]] = Pieces(kept.shipped, kept.returned, kept.sent_again)
        one = next(
            line["unit_price"]["amount"] for line in order["lines"] if line["id"] == SOME[0]["line"] or kind != "refund"
        )
        money = one if kind == "refund" else order["refundable"]["amount"]
        money = int(REDUCED) * 100 if course == "reduced" else money
        return Demand(mark, course, user, channel, order_id, money)

    def _ended(self, demand: Demand, playing: asyncio.Task[None]) -> None:
        del self._playing[demand.mark]
        self.changed.set()
        if playing.cancelled():
            self.findings.wrong(f"not over: {playing.get_name()}")
        elif (error := playing.exception()) is not None:
            self.findings.wrong(f"nothing came of it: {playing.get_name()}, {error!r}")


@asynccontextmanager
async def open_buyers(outside: Outside, chance: random.Random, findings: Findings) -> AsyncIterator[Buyers]:
    """Customers and staff who watch Slack."""
    people = Buyers(outside, chance, findings)
    hanging_up = outside.workspace.subscribe(people.hear)
    try:
        yield people
    finally:
        hanging_up()
        await people.close()


@dataclass(slots=True)
class Tally:
    """What a campaign over changes has found."""

    kills: int = 0
    actions: int = 0
    lost: int = 0
    """Confirmed, and the shop has not done it."""
    doubled: int = 0
    """Done more than once, done though nobody agreed, or its end told more than once."""
    untold: int = 0
    """Its end was not told, or another one was."""
    wrong_amount: int = 0
    """Another amount moved than was shown."""


async def look(buyers: Buyers, database: Database, log: Path, findings: Findings) -> Tally:
    """Everything, once nothing runs any more."""
    tally = Tally(actions=len(buyers.demands))
    workspace, ledger = buyers.outside.workspace, buyers.outside.shop.records.ledger
    action, outbox, inbox, audit = schema.action, schema.outbox, schema.inbox, schema.audit
    async with database.transaction() as tx:
        rows = (await tx.execute(select(action))).all()
        unsent = (await tx.execute(select(outbox.c.key, outbox.c.state).where(outbox.c.state != "sent"))).all()
        unread = (await tx.execute(select(inbox.c.kind, inbox.c.state).where(inbox.c.state != "done"))).all()
        noted = Counter((row.subject, row.action) for row in await tx.execute(select(audit.c.subject, audit.c.action)))
    for demand in buyers.demands:
        _look_at_demand(
            workspace, demand, [each for each in ledger if each["arguments"].get("order") == demand.order], tally
        )
        _look_at_row(demand, [row for row in rows if row.subject == f"order/{demand.order}"], noted, findings)
    findings.violations += [f"the {name} is {number}" for name, number in _faults(tally) if number]
    findings.violations += [f"{key} is {state} in the outbox" for key, state in unsent]
    findings.violations += [f"a {kind} is {state} in the inbox" for kind, state in unread]
    text = await asyncio.to_thread(log.read_text, "utf-8", "replace")
    findings.violations += [f"the log holds {never!r}" for never in NEVER_LOGGED if never in text]
    return tally


def _look_at_demand(workspace: Workspace, demand: Demand, done: list[Record], tally: Tally) -> None:
    """What the shop did, and what the customer reads of it."""
    told, expected = [str(each["text"]) for each in _ends(workspace, demand)], int(demand.is_executed)
    tally.lost += len(done) < expected
    tally.doubled += len(done) > expected or len(told) > 1
    tally.untold += not told or any(demand.end not in text for text in told)
    tally.wrong_amount += any(each.get("money", {}).get("amount") != -demand.money for each in done)


def _look_at_row(demand: Demand, rows: list[object], noted: Counter[tuple[str, str]], findings: Findings) -> None:
    """One action of the order says how it ended, and the audit trail tells of it once."""
    states = Counter(row.state for row in rows)  # type: ignore[attr-defined]
    expected = "done" if demand.is_executed else demand.course
    others = {"withdrawn", expected}
    if states[expected] != 1 or not others.issuperset(states):
        findings.wrong(f"{demand.mark} ({demand.course}): its actions are {dict(states)}, not {expected}")
    for row in rows:
        ref, is_done = row.ref, row.state == "done"  # type: ignore[attr-defined]
        confirmed = 2 if demand.course == "reduced" else 1
        if is_done and (noted[ref, "action.confirmed"] != confirmed or not noted[ref, "action.sent"]):
            findings.wrong(f"{demand.mark}: {ref} is done, and the audit trail does not tell how")


def _faults(tally: Tally) -> list[tuple[str, int]]:
    return [("lost", tally.lost), ("doubled", tally.doubled), ("untold", tally.untold), ("wrong", tally.wrong_amount)]


def _offers(workspace: Workspace, demand: Demand) -> list[Json]:
    return [each for each in in_thread(workspace, demand.channel, demand.ts) if "act.yes" in buttons(each)]


def _cards(workspace: Workspace, demand: Demand) -> list[Json]:
    return [each for each in by_app(workspace, AGENTS) if "appr.yes" in buttons(each) and demand.order in str(each)]


def _ends(workspace: Workspace, demand: Demand) -> list[Json]:
    """What tells of an end, whichever it is. What was declined says so in the preview itself."""
    shown = in_thread(workspace, demand.channel, demand.ts)
    asked = _SAY.say("en", f"action_ask_{demand.kind}", order=demand.order)
    if demand.course == "declined":
        return [each for each in shown if asked in str(each["text"]) and "act.yes" not in buttons(each)]
    return [each for each in shown if asked not in str(each["text"]) and DETAILS not in str(each)]
