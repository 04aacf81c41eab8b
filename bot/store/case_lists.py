"""Lists of cases for people to look through.

Desks         the desks whose cases a person can see
count_open    how many are open
count_open_at how many were open at a moment
opened_since  when cases were opened, of one topic or person or all
numbered      cases by their ids
of_view       one of the lists that staff choose from
next_waiting  the case that should be claimed next
count_owned   how many each person has
owing_replies those whose customers wait for a reply
of_customer   the cases of one person
cards         where the cards of cases are
addresses     the addresses of these cards
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, String, and_, case, func, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.cases import OPEN_STATES, WAITING, Case, as_case, card_key

URGENCY = {"high": 0, "medium": 1, "low": 2}
ARCHIVES = "/archives/"
"""What follows the workspace's address in the address of a message."""
PIECE = 500
"""The number of cases that are looked up at once."""


@dataclass(frozen=True, slots=True)
class Desks:
    """Some of the desks, each by the channel of its cards as in `Case.desk`. The first desk is "".

    A case of a desk that no longer exists belongs to the first desk.
    """

    theirs: frozenset[str]
    others: frozenset[str] = frozenset()
    """All other desks that exist."""

    def __bool__(self) -> bool:
        """Whether there is at least one desk in `theirs`."""
        return bool(self.theirs)

    def have(self, case: Case) -> bool:
        """Whether the case is at one of them."""
        return self.have_desk(case.desk)

    def have_desk(self, desk: str) -> bool:
        """Whether a case with this `Case.desk` is at one of them."""
        return desk not in self.others if "" in self.theirs else desk in self.theirs

    def have_row(self) -> ColumnElement[bool]:
        """`have` as a condition on rows."""
        desk = schema.kase.c.desk
        return desk.not_in(self.others) if "" in self.theirs else desk.in_(self.theirs)


EVERYWHERE = Desks(frozenset({""}))


async def of_view(
    tx: AsyncConnection,
    view: str,
    *,
    limit: int,
    at: Desks = EVERYWHERE,
    user: str = "",
    today: float = 0.0,
    tag: str = "",
) -> list[Case]:
    """One of the lists that staff choose from: the cases of these desks, or of `user` there. `tag` narrows it.

    First those without an owner, then the more urgent, then those that have waited longer. Those that were solved since
    `today` began: the newest first.

    Raises KeyError for a list that does not exist.
    """
    table = schema.kase
    state, latest = table.c.state, (table.c.ended_at.desc(), table.c.id.desc())
    unowned_first = case((table.c.owner.is_(None), 0), else_=1)
    views: dict[str, list[ColumnElement[bool]]] = {
        "mine": [state == "human", table.c.owner == user],
        "unassigned": [state.in_(WAITING)],
        "late": [_is_late()],
        "customer": [state == "human", table.c.reply_due.is_(None), table.c.snoozed_until.is_(None)],
        "snoozed": [state == "human", table.c.snoozed_until.is_not(None)],
        "claimed": [state == "human"],
        "solved": [state.in_(("resolved", "closed")), table.c.ended_at >= today],
        "all": [state.in_(OPEN_STATES)],
    }
    order = latest if view == "solved" else (unowned_first, *_by_urgency())
    tagged = [has_tag(tag)] if tag else []
    rows = await tx.execute(select(table).where(*views[view], *tagged, at.have_row()).order_by(*order).limit(limit))
    return [as_case(row) for row in rows]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many cases are open."""

    late: int
    """Those that wait too long for a claim or for a reply."""
    waiting: int
    mine: int
    claimed: int
    """Those of everybody."""

    @property
    def open(self) -> int:
        """All of them."""
        return self.waiting + self.claimed


async def count_open(tx: AsyncConnection, *, user: str, at: Desks) -> Counts:
    """How many cases of these desks are open, and how many of them `user` has."""
    table = schema.kase
    waits = table.c.state.in_(WAITING)
    is_claimed = table.c.state == "human"
    wanted = (_is_late(), waits, and_(is_claimed, table.c.owner == user), is_claimed)
    counted = (func.coalesce(func.sum(case((condition, 1), else_=0)), 0) for condition in wanted)
    row = (await tx.execute(select(*counted).where(table.c.state.in_(OPEN_STATES), at.have_row()))).one()
    return Counts(*(int(number) for number in row))


async def count_open_at(tx: AsyncConnection, moment: float, *, at: Desks) -> int:
    """How many cases of these desks were open at a moment. One that was opened again counts as open all the time."""
    table = schema.kase
    was_open = or_(table.c.ended_at.is_(None), table.c.ended_at > moment)
    statement = select(func.count()).where(table.c.opened_at <= moment, was_open, at.have_row())
    return int((await tx.execute(statement)).scalar_one())


async def opened_since(
    tx: AsyncConnection, since: float, *, at: Desks, topic: str | None = None, person: str | None = None
) -> dict[int, float]:
    """When the cases of these desks were opened since then, by their ids, the newest first, without merged ones.

    With a `topic` or a `person`, only those that staff ended with this cause, or that this person has or had. An empty
    one means those without any.
    """
    table = schema.kase
    where = [table.c.opened_at >= since, table.c.merged_into.is_(None), at.have_row()]
    where += [] if topic is None else [table.c.cause == topic]
    where += [] if person is None else [func.coalesce(table.c.owner, "") == person]
    statement = select(table.c.id, table.c.opened_at).where(*where)
    rows = await tx.execute(statement.order_by(table.c.opened_at.desc(), table.c.id.desc()))
    return {row.id: row.opened_at for row in rows}


async def numbered(tx: AsyncConnection, numbers: Collection[int]) -> list[Case]:
    """The cases with these ids, the newest first."""
    table = schema.kase
    statement = select(table).where(table.c.id.in_(numbers))
    rows = await tx.execute(statement.order_by(table.c.opened_at.desc(), table.c.id.desc()))
    return [as_case(row) for row in rows]


async def next_waiting(tx: AsyncConnection, *, at: Desks) -> Case | None:
    """The case that should be claimed next: the most urgent, and among these the one that has waited longest."""
    table = schema.kase
    statement = select(table).where(table.c.state.in_(WAITING), at.have_row()).order_by(*_by_urgency()).limit(1)
    row = (await tx.execute(statement)).one_or_none()
    return as_case(row) if row else None


async def count_owned(tx: AsyncConnection, *, at: Desks) -> dict[str, int]:
    """Person -> how many open cases of these desks they have. People without one are left out."""
    table = schema.kase
    counted = select(table.c.owner, func.count()).where(table.c.state == "human", at.have_row()).group_by(table.c.owner)
    return {str(owner): int(count) for owner, count in await tx.execute(counted)}


async def owing_replies(tx: AsyncConnection, *, at: Desks, limit: int) -> list[Case]:
    """The cases of these desks whose customers wait for a reply of the person who has them, the longest due first."""
    table = schema.kase
    owed = (table.c.state == "human", table.c.reply_due.is_not(None), table.c.snoozed_until.is_(None), at.have_row())
    rows = await tx.execute(select(table).where(*owed).order_by(table.c.reply_due, table.c.id).limit(limit))
    return [as_case(row) for row in rows]


async def of_customer(tx: AsyncConnection, team: str, customer: str, *, limit: int) -> list[Case]:
    """A person's cases, newest first."""
    table = schema.kase
    where = (table.c.team == team, table.c.customer == customer)
    statement = select(table).where(*where).order_by(table.c.opened_at.desc(), table.c.id.desc()).limit(limit)
    return [as_case(row) for row in await tx.execute(statement)]


async def cards(tx: AsyncConnection, cases: Collection[Case]) -> dict[int, tuple[str, str]]:
    """Case -> the channel and ts of its card, for cards that are posted."""
    table = schema.outbox
    keys = {card_key(each): each.id for each in cases}
    rows = await tx.execute(
        select(table.c.key, table.c.channel, table.c.ts).where(table.c.key.in_(keys), table.c.ts.is_not(None))
    )
    return {keys[row.key]: (row.channel, row.ts) for row in rows}


def has_tag(tag: str) -> ColumnElement[bool]:
    """Whether a case has the tag."""
    return type_coerce(schema.kase.c.tags, String).contains(f" {tag} ", autoescape=True)


async def addresses(tx: AsyncConnection, numbers: Collection[int]) -> dict[int, str]:
    """The addresses of the cards of the cases with these ids, as far as the workspace's address is known.

    It is the beginning of the address of the customer's thread, which Slack gave.
    """
    found: dict[int, str] = {}
    listed = sorted(numbers)
    for begin in range(0, len(listed), PIECE):
        some = await numbered(tx, listed[begin : begin + PIECE])
        places, links = await cards(tx, some), {case.id: case.link for case in some}
        for number, (channel, ts) in places.items():
            workspace, archives, _ = links[number].partition(ARCHIVES)
            if archives:
                found[number] = f"{workspace}{ARCHIVES}{channel}/p{ts.replace('.', '')}"
    return found


def _is_late() -> ColumnElement[bool]:
    table = schema.kase
    unclaimed = and_(table.c.state.in_(WAITING), table.c.step > 0)
    return or_(unclaimed, and_(table.c.state == "human", table.c.reply_missed.is_(True)))


def _by_urgency() -> tuple[ColumnElement[Any], ...]:
    table = schema.kase
    return (
        case(URGENCY, value=table.c.priority, else_=len(URGENCY)),
        func.coalesce(table.c.waiting_since, table.c.opened_at),
        table.c.id,
    )
