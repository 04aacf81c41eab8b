"""The actions' rows. Every change is a compare-and-set on `version`, so of two steps that meet, one is made.

Action         one change of an order, from the preview to its end
add            store a new one, or return the one that the same turn prepared before
change         save a changed one
find, due_by, of_origin, of_turns, of_thread, of_subject, of_customer  read them
sums_of        what counts for the daily limits
vote, approvers  what staff decided
unsign         take somebody's name off the audit entries of an action
listed, next_page, votes_of  what operators see, and what the books get
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sqlalchemy import Row, and_, bindparam, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import Customer, ThreadRef
from bot.store import schema
from bot.store.cases import ERASED
from bot.store.statements import after_prefix, begins_any, in_batches, insert_new

State = Literal[
    "offered",
    "approving",
    "ready",
    "executing",
    "unknown",
    "done",
    "refused",
    "failed",
    "partly",
    "stuck",
    "declined",
    "expired",
    "withdrawn",
    "rejected",
]
RUNNING: tuple[State, ...] = ("approving", "ready", "executing", "unknown")
"""Somebody has said yes, and its end is not known."""
COUNTED: tuple[State, ...] = (*RUNNING, "stuck", "partly", "done")
"""The states that count for the daily limits."""
ERASED_PREVIEW: Mapping[str, Any] = {"erased": True}
"""The preview of an action whose words are erased. What is still needed to find its outcome goes when that is known."""

_FIXED = ("id", "ref", "thread", "version")


@dataclass(frozen=True, slots=True)
class Action:
    """One change of an order. What was confirmed is stored here, byte for byte, before anything is sent."""

    ref: str
    """`act_` and 26 characters. With the version, it is all that a button holds."""
    version: int
    state: State
    thread: ThreadRef
    """Where it is shown: a thread in the customer's direct messages."""
    origin: str
    """What it was prepared for, such as `turn/7`. One origin has one action of a kind with the same arguments."""
    customer: str
    customer_team: str
    customer_name: str
    language: str
    zone: str
    shop_customer: str
    subject: str
    """What it changes, such as `order/ORD-12345`. One running action has a subject to itself."""
    kind: str
    arguments: Mapping[str, Any]
    arguments_hash: str
    """Made from kind, customer and arguments. A row whose arguments do not match it is never executed."""
    facts_hash: str
    """Made from what the preview and the policy read of the order."""
    preview: Mapping[str, Any]
    """What the customer is shown, as data."""
    money: int
    """In minor units. Negative: the customer gets it."""
    currency: str
    policy: str
    """The digest of the policy file."""
    rules: Mapping[str, Any]
    """Each rule with its outcome, and what follows from all of them."""
    request: Mapping[str, Any]
    """The request as it will be sent."""
    key: str
    """The idempotency key, a UUID."""
    offered_at: float
    due: float | None
    """When the next step is due that nobody presses: the end of the offer, the next question about the outcome."""
    reason: str = ""
    attempts: int = 0
    looks: int = 0
    worker: str = ""
    reference: str = ""
    confirmed_at: float | None = None
    decided_at: float | None = None
    sent_at: float | None = None
    ended_at: float | None = None
    settled: bool = False
    shown: int = 0
    """How often the preview was posted anew. Only the last one has power."""
    asked: int = 0
    """How often the card of staff was posted anew. Only the last one has power."""
    case_id: int = 0
    """The case in whose thread the card of staff is. 0: it is in the agent channel."""
    prepared_by: str = ""
    """The member of staff who prepared it. Empty: the assistant did."""
    undoes: str = ""
    """The reference of the action that it undoes. Empty: it undoes none."""
    id: int = 0
    """0 until it is stored."""

    @property
    def is_open(self) -> bool:
        """Whether something still happens to it."""
        return self.state == "offered" or self.state in RUNNING

    def is_of(self, customer: Customer | None) -> bool:
        """Whether this is still the customer of the shop for whom it was prepared."""
        return customer is not None and customer.shop is not None and customer.shop.id == self.shop_customer

    @property
    def is_of_staff(self) -> bool:
        """Whether staff offer it: they prepared it, or offered something else than the customer had said yes to."""
        return bool(self.prepared_by) or (self.state == "offered" and self.asked > 0)

    @property
    def is_erased(self) -> bool:
        """Whether its words are erased."""
        return self.preview == ERASED_PREVIEW

    @property
    def is_nobodys(self) -> bool:
        """Whether its customer had all of their data erased. Nobody is told what becomes of it, except staff."""
        return self.customer == ERASED

    @property
    def button(self) -> str:
        """The value of its buttons."""
        return f"{self.ref}/{self.version}"


async def add(tx: AsyncConnection, new: Action) -> Action | None:
    """Store it, and return it with its id. None if its origin has one of this kind with these arguments already."""
    number = await insert_new(tx, schema.action, _values(new) | {"ref": new.ref, "version": new.version})
    return None if number is None else replace(new, id=number)


async def change(tx: AsyncConnection, before: Action, after: Action) -> Action | None:
    """Save it under the next version. None if it has changed since it was read.

    Whoever makes an action run holds the lock of its subject and has asked `is_taken`.
    """
    table = schema.action
    statement = (
        update(table)
        .where(table.c.id == before.id, table.c.version == before.version)
        .values(_values(after) | {"version": before.version + 1})
    )
    changed = (await tx.execute(statement)).rowcount
    return replace(after, version=before.version + 1) if changed else None


async def find(tx: AsyncConnection, ref: str) -> Action | None:
    """The action with this reference."""
    row = (await tx.execute(select(schema.action).where(schema.action.c.ref == ref))).one_or_none()
    return _action(row) if row else None


async def prepared(tx: AsyncConnection, origin: str, kind: str, arguments_hash: str) -> Action | None:
    """What this origin prepared before."""
    table = schema.action
    same = (table.c.origin == origin, table.c.kind == kind, table.c.arguments_hash == arguments_hash)
    row = (await tx.execute(select(table).where(*same))).one_or_none()
    return _action(row) if row else None


async def made_for(tx: AsyncConnection, origin: str) -> Action | None:
    """The first action that this origin prepared, whatever came of it."""
    table = schema.action
    row = (await tx.execute(select(table).where(table.c.origin == origin).order_by(table.c.id).limit(1))).one_or_none()
    return _action(row) if row else None


async def any_moves(tx: AsyncConnection) -> bool:
    """Whether anything can become of any action by itself. Mostly nothing can, and one look at an index says so."""
    table = schema.action
    is_left_to_tell = and_(table.c.state.in_(("stuck", "partly")), table.c.due.is_not(None))
    moves = or_(table.c.state.in_(("offered", *RUNNING)), is_left_to_tell)
    return (await tx.execute(select(table.c.id).where(moves).limit(1))).first() is not None


async def due_by(tx: AsyncConnection, now: float, *, states: Sequence[State], limit: int) -> list[Action]:
    """Those in these states whose next step is due, the oldest first."""
    table = schema.action
    is_due = (table.c.state.in_(states), table.c.due <= now)
    rows = await tx.execute(select(table).where(*is_due).order_by(table.c.due, table.c.id).limit(limit))
    return [_action(row) for row in rows]


async def marked_by_others(tx: AsyncConnection, alive: Collection[str]) -> list[Action]:
    """Those that are marked as leaving by a process that is none of these."""
    table = schema.action
    rows = await tx.execute(select(table).where(table.c.state == "executing", table.c.worker.not_in(alive)))
    return [_action(row) for row in rows]


async def left_to_people(tx: AsyncConnection) -> list[Action]:
    """Those that nobody has sent and in whose thread people have a case by now."""
    table, case = schema.action, schema.kase
    has_case = exists().where(
        case.c.channel == table.c.channel,
        case.c.thread_ts == table.c.thread_ts,
        case.c.state.in_(("waiting", "out_of_hours", "human")),
        case.c.opened_at > table.c.offered_at,
    )
    rows = await tx.execute(select(table).where(table.c.state == "offered", has_case))
    return [_action(row) for row in rows]


async def asked_elsewhere(tx: AsyncConnection, *, limit: int) -> list[tuple[Action, int]]:
    """Those whose card for staff is not in the thread of the case that people have by now, each with that case."""
    table, case = schema.action, schema.kase
    here = and_(case.c.channel == table.c.channel, case.c.thread_ts == table.c.thread_ts)
    is_open = case.c.state.in_(("waiting", "out_of_hours", "human"))
    statement = (
        select(table, case.c.id.label("case"))
        .join(case, here)
        .where(table.c.state == "approving", is_open, case.c.id != table.c.case_id)
        .order_by(table.c.id)
        .limit(limit)
    )
    found = []
    for row in await tx.execute(statement):
        values = dict(row._mapping)
        number = values.pop("case")
        found.append((_read(values), number))
    return found


async def of_origin(tx: AsyncConnection, origin: str, *, states: Sequence[State]) -> list[Action]:
    """What was prepared for it, at first or again, and is in one of these states."""
    again = f"{origin}/again/"
    values = {"origin": origin, "again": again, "beyond": after_prefix(again), "states": list(states)}
    return [_action(row) for row in await tx.execute(_OF_ORIGIN, values)]


async def of_turns(tx: AsyncConnection, turns: Collection[int]) -> list[Action]:
    """What was prepared for these turns, and what was offered again in its place."""
    table = schema.action
    found: list[Action] = []
    for some in in_batches([f"turn/{turn}" for turn in turns]):
        where = or_(table.c.origin.in_(some), *begins_any(table.c.origin, [f"{origin}/" for origin in some]))
        found += map(_action, await tx.execute(select(table).where(where)))
    return sorted(found, key=lambda action: action.id)


async def of_customer(
    tx: AsyncConnection, customer: str, *, states: Sequence[State] = (), limit: int | None = None
) -> list[Action]:
    """Actions of a Slack user, oldest first: in any state, or in one of these."""
    table = schema.action
    theirs = [table.c.customer == customer, *([table.c.state.in_(states)] if states else [])]
    rows = await tx.execute(select(table).where(*theirs).order_by(table.c.id).limit(limit))
    return [_action(row) for row in rows]


async def of_thread(
    tx: AsyncConnection, thread: ThreadRef, *, states: Sequence[State] = (), since: float = 0.0
) -> list[Action]:
    """Those of a thread, oldest first: in any state, or in one of these."""
    here = {"channel": thread.channel, "thread_ts": thread.ts, "since": since}
    if states:
        rows = await tx.execute(_OF_THREAD_IN_STATES, here | {"states": list(states)})
    else:
        rows = await tx.execute(_OF_THREAD, here)
    return [_action(row) for row in rows]


async def of_subject(tx: AsyncConnection, subject: str, *, states: Sequence[State]) -> list[Action]:
    """The actions that change this order and are in one of these states, oldest first."""
    table = schema.action
    rows = await tx.execute(
        select(table).where(table.c.subject == subject, table.c.state.in_(states)).order_by(table.c.id)
    )
    return [_action(row) for row in rows]


async def with_key(tx: AsyncConnection, key: str) -> Action | None:
    """The action with this idempotency key."""
    row = (await tx.execute(select(schema.action).where(schema.action.c.key == key))).first()
    return _action(row) if row else None


async def is_undone(tx: AsyncConnection, ref: str, *, besides: int = 0) -> bool:
    """Whether another action, `besides` the one with this id, has undone it or is about to."""
    table = schema.action
    undoing = and_(table.c.undoes == ref, table.c.state.in_(COUNTED), table.c.id != besides)
    return (await tx.execute(select(table.c.id).where(undoing).limit(1))).first() is not None


async def is_taken(tx: AsyncConnection, subject: str, *, besides: int = 0) -> bool:
    """Whether another action of the order runs, or ended in a way that staff have not settled.

    The action with the id `besides` does not count.
    """
    table = schema.action
    unsettled = and_(table.c.state.in_(("stuck", "partly")), ~table.c.settled)
    running = or_(table.c.state.in_(RUNNING), unsettled)
    return (
        await tx.execute(select(table.c.id).where(table.c.subject == subject, running, table.c.id != besides).limit(1))
    ).first() is not None


async def offered_since(tx: AsyncConnection, customer: str, since: float) -> int:
    """How many offers this Slack user got since then."""
    table = schema.action
    counted = select(func.count()).where(table.c.customer == customer, table.c.offered_at >= since)
    return int((await tx.execute(counted)).scalar_one())


@dataclass(frozen=True, slots=True)
class Sums:
    """What was confirmed in a time. Money is what customers get, in minor units, as a positive number."""

    actions: int
    money: int


async def sums_of(
    tx: AsyncConnection, *, since: float, currency: str, shop_customer: str | None = None, besides: int = 0
) -> Sums:
    """What one customer of the shop, or all of them, confirmed since then, without the action with the id `besides`.

    The money is of one currency.
    """
    table = schema.action
    of = [table.c.state.in_(COUNTED), table.c.confirmed_at >= since, table.c.id != besides]
    if shop_customer is not None:
        of.append(table.c.shop_customer == shop_customer)
    money = func.coalesce(func.sum(-table.c.money).filter(table.c.currency == currency, table.c.money < 0), 0)
    row = (await tx.execute(select(func.count(), money).where(*of))).one()
    return Sums(int(row[0]), int(row[1]))


async def refunds_since(tx: AsyncConnection, shop_customer: str, since: float) -> int:
    """How often the customer got money back since then."""
    table = schema.action
    of = (table.c.shop_customer == shop_customer, table.c.state == "done", table.c.ended_at >= since, table.c.money < 0)
    return int((await tx.execute(select(func.count()).select_from(table).where(*of))).scalar_one())


async def vote(tx: AsyncConnection, action: Action, person: str, choice: str, *, now: float) -> bool:
    """Store a vote. False if this person has voted on this version already."""
    values = {
        "action": action.id,
        "version": action.version,
        "person": person,
        "vote": choice,
        "amount": action.money,
        "at": now,
    }
    return await insert_new(tx, schema.action_vote, values) is not None


async def has_voted(tx: AsyncConnection, action: Action, person: str, choice: str) -> bool:
    """Whether this person decided like that about the action."""
    table = schema.action_vote
    theirs = (table.c.action == action.id, table.c.person == person, table.c.vote == choice)
    return (await tx.execute(select(table.c.action).where(*theirs).limit(1))).first() is not None


async def approvers(tx: AsyncConnection, action: Action) -> list[str]:
    """Who has approved it, in the order of their votes: votes for at least its amount, whatever the version."""
    table = schema.action_vote
    fits = and_(table.c.vote == "approve", func.abs(table.c.amount) >= abs(action.money))
    rows = await tx.execute(select(table.c.person).where(table.c.action == action.id, fits).order_by(table.c.at))
    return list(dict.fromkeys(rows.scalars()))


async def unsign(tx: AsyncConnection, action: Action, person: str) -> None:
    """Take a person's id off the action's entries in the audit trail. What was done, and when, stays."""
    audit = schema.audit
    here = (audit.c.subject == action.ref, audit.c.actor == person)
    await tx.execute(update(audit).where(*here).values(actor=ERASED))


@dataclass(frozen=True, slots=True)
class Vote:
    """What a member of staff decided about an action."""

    action: int
    person: str
    choice: str
    amount: int
    """What they saw, in minor units."""
    at: float


async def votes_of(tx: AsyncConnection, numbers: Collection[int]) -> list[Vote]:
    """The votes about these actions, oldest first."""
    table, found = schema.action_vote, list[Vote]()
    for some in in_batches(list(numbers)):
        rows = await tx.execute(select(table).where(table.c.action.in_(some)))
        found += [Vote(row.action, row.person, row.vote, row.amount, row.at) for row in rows]
    return sorted(found, key=lambda vote: vote.at)


async def listed(tx: AsyncConnection, *, since: float, limit: int, unsettled: bool = False) -> list[Action]:
    """The actions offered since then, newest first. `unsettled`: only those that go on, or that staff must look at."""
    table = schema.action
    wanted = [table.c.offered_at >= since]
    if unsettled:
        left = and_(table.c.state.in_(("stuck", "partly")), ~table.c.settled)
        wanted.append(or_(table.c.state.in_(("offered", *RUNNING)), left))
    rows = await tx.execute(select(table).where(*wanted).order_by(table.c.id.desc()).limit(limit))
    return [_action(row) for row in rows]


async def count_open(tx: AsyncConnection) -> dict[str, int]:
    """The number in each state that is no end, and of those that staff must look at."""
    table, states = schema.action, ("offered", *RUNNING, "stuck", "partly")
    wanted = (table.c.state.in_(states), ~table.c.settled)
    rows = await tx.execute(select(table.c.state, func.count()).where(*wanted).group_by(table.c.state))
    return dict.fromkeys(states, 0) | {state: int(number) for state, number in rows}


async def next_page(tx: AsyncConnection, *, since: float, after: int, limit: int) -> list[Action]:
    """The next actions by id that were offered since then."""
    table = schema.action
    wanted = (table.c.offered_at >= since, table.c.id > after)
    rows = await tx.execute(select(table).where(*wanted).order_by(table.c.id).limit(limit))
    return [_action(row) for row in rows]


def _values(action: Action) -> dict[str, Any]:
    values = {name: value for name, value in asdict(action).items() if name not in _FIXED}
    thread = action.thread
    return values | {"team": thread.team, "channel": thread.channel, "thread_ts": thread.ts}


def _action(row: Row[Any]) -> Action:
    return _read(dict(row._mapping))


def _read(values: dict[str, Any]) -> Action:
    thread = ThreadRef(values.pop("team"), values.pop("channel"), values.pop("thread_ts"))
    return Action(thread=thread, **values)


_ACTION = schema.action
_OF_THREAD = (
    select(_ACTION)
    .where(
        _ACTION.c.channel == bindparam("channel"),
        _ACTION.c.thread_ts == bindparam("thread_ts"),
        _ACTION.c.offered_at >= bindparam("since"),
    )
    .order_by(_ACTION.c.id)
)
_IN_STATES = _ACTION.c.state.in_(bindparam("states", expanding=True))
_OF_THREAD_IN_STATES = _OF_THREAD.where(_IN_STATES)
_AGAIN = and_(_ACTION.c.origin >= bindparam("again"), _ACTION.c.origin < bindparam("beyond"))
_OF_ORIGIN = (
    select(_ACTION).where(or_(_ACTION.c.origin == bindparam("origin"), _AGAIN), _IN_STATES).order_by(_ACTION.c.id)
)
