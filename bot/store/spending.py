"""What models have cost: one row for each use of a model, added once, and totals over them.

It also holds the reserved cost of answers that are being made. That is a step of their journal, which is deleted when
the cost is known.

Keys are `turn/<id>/<model>`, `danger/<id>` (for an edited message, followed by the time of the edit),
`summary/<thread>/<through>/<id>.<attempt>`, `drafts/<id>` and `article/<id>`. The id is that of the inbox row for
which the model was asked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    literal,
    select,
    true,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.agent.model import Usage
from bot.clock import DAY
from bot.conversation import ThreadRef
from bot.store import daily, schema, turns
from bot.store.inbox import InboxItem
from bot.store.statements import insert_new
from bot.telemetry import Metrics

Purpose = Literal["answer", "danger", "summary", "draft", "article", "title"]
"""The purpose of the request: a customer's answer, whether their message shows danger, the summary of a long
conversation, drafts for staff, a suggested article, or a case's title."""
OF_CUSTOMERS: tuple[Purpose, ...] = ("answer", "danger", "summary")
"""The purposes that count towards a customer's budget."""
By = Literal["day", "customer", "thread", "model", "purpose"]
"""What totals are grouped by."""

EARLIER = "(earlier)"
"""The group of what was spent on days whose rows are gone."""
_STORED = ("input_tokens", "output_tokens", "cached_tokens", "cost", "estimated", "written_tokens")
"""What is stored of a day's usage: fields of `Usage`."""
LATEST_ROWS = 60
"""The number of latest uses from which the cost of an answer is estimated: about twenty answers, most of which use
two models."""


@dataclass(frozen=True, slots=True)
class Spending:
    """One use of a model, as it is stored."""

    key: str
    """Names what it was for. A second row with the same key is not added."""
    purpose: Purpose
    thread: ThreadRef
    customer: str
    """The customer of the conversation."""
    models: Sequence[str]
    """The models that wrote, in the order of first use. Usually one."""
    usage: Usage


def count(metrics: Metrics, spending: Spending) -> None:
    """Add a use to the metrics."""
    usage = spending.usage
    metrics.model_used(
        ", ".join(spending.models),
        spending.purpose,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        written_tokens=usage.written_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )


@dataclass(frozen=True, slots=True)
class Total:
    """The total of one group of uses."""

    group: str
    """A customer, a thread's key, a model, a purpose, or a day (UTC, `2026-11-21`)."""
    uses: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class DailySpending:
    """The US dollars that are spent or reserved within a day."""

    by_all: float
    """For all conversations of the workspace."""
    by_one: float
    """For answering one person."""


async def add(tx: AsyncConnection, spending: Spending, *, now: float) -> bool:
    """Store a use. False if its key already exists."""
    usage = spending.usage
    added = await insert_new(
        tx,
        schema.spending,
        {
            "key": spending.key[:200],
            "at": now,
            "purpose": spending.purpose,
            "team": spending.thread.team,
            "thread": spending.thread.key,
            "customer": spending.customer,
            "models": ", ".join(spending.models)[:255],
            "input_tokens": min(usage.input_tokens, schema.INTEGER_LIMIT),
            "cached_tokens": min(usage.cached_tokens, schema.INTEGER_LIMIT),
            "output_tokens": min(usage.output_tokens, schema.INTEGER_LIMIT),
            "cost": usage.cost,
            "estimated": usage.estimated,
            "written_tokens": min(usage.written_tokens, schema.INTEGER_LIMIT),
        },
    )
    return added is not None


async def is_known(tx: AsyncConnection, key: str) -> bool:
    """Whether a use with the key was added."""
    table = schema.spending
    return (await tx.execute(select(table.c.key).where(table.c.key == key[:200]))).first() is not None


async def cost_of_customer(tx: AsyncConnection, team: str, customer: str, *, since: float) -> float:
    """US dollars spent on answering a person. Drafts for staff don't count towards the customer."""
    table = schema.spending
    return await _cost(
        tx,
        table.c.customer == customer,
        table.c.at >= since,
        table.c.team == team,
        table.c.purpose.in_(OF_CUSTOMERS),
    )


async def cost_of_workspace(tx: AsyncConnection, team: str, *, since: float) -> float:
    """US dollars spent on all conversations of the workspace in which the app is installed."""
    table = schema.spending
    return await _cost(tx, table.c.at >= since, table.c.team == team)


async def expected_cost(tx: AsyncConnection, team: str, customer: str, *, since: float) -> float:
    """The mean cost, in US dollars, of a person's latest answers. Without any, of all customers' latest answers. 0.0
    if there are none.
    """
    rows = (await tx.execute(_ANSWERS, {"workspace": team, "since": since, "person": customer})).all()
    of_theirs = [row for row in rows if row.is_theirs]
    counted = of_theirs or rows
    answers = {row.key.split("/")[1] for row in counted}
    return sum(row.cost for row in counted) / len(answers) if answers else 0.0


async def set_aside(tx: AsyncConnection, item: InboxItem, cost: float, *, now: float) -> None:
    """Reserve the expected cost of answering the item, in US dollars."""
    await turns.record(tx, item.id, {turns.SET_ASIDE: {"cost": cost}}, attempt=item.fence, now=now)


async def spent(tx: AsyncConnection, team: str, customer: str, *, since: float) -> DailySpending:
    """What was spent since then, plus what is reserved for questions that are still open.

    If other processes write at the same time, a question that is being closed may briefly count as both, but never as
    neither.
    """
    by_all, by_one, aside_by_all, aside_by_one = (
        await tx.execute(_SPENT, {"workspace": team, "person": customer, "since": since})
    ).one()
    return DailySpending(by_all + aside_by_all, by_one + aside_by_one)


async def of_turns(tx: AsyncConnection, ids: Sequence[int]) -> dict[int, list[Spending]]:
    """What each of these turns cost, a row for each model. Turns that used none are left out."""
    table, inbox = schema.spending, schema.inbox
    threads = select(inbox.c.thread).where(inbox.c.id.in_(ids))
    rows = await tx.execute(select(table).where(table.c.thread.in_(threads)).order_by(table.c.key))
    found: dict[int, list[Spending]] = {}
    for row in rows:
        kind, _, rest = row.key.partition("/")
        number = rest.partition("/")[0]
        if kind == "turn" and number.isdigit() and int(number) in ids:
            found.setdefault(int(number), []).append(_spending(row))
    return found


async def totals(tx: AsyncConnection, *, since: float, by: By) -> list[Total]:
    """Everything spent since then, the most expensive group first; days in order.

    Of days whose rows are gone, neither customers nor threads are known: these form one group, EARLIER.
    """
    stored = await daily.since(tx, "spending", since)
    found: dict[str, Total] = {}
    for day, uses in stored.items():
        groups = {"day": day, "customer": EARLIER, "thread": EARLIER}
        for use in uses:
            usage = Usage(**{name: use[name] for name in _STORED})
            _add(found, Total(groups.get(by) or use[by], use["uses"], usage))
    live = daily.start_of(max(stored)) + DAY if stored else since
    for total in await _totals(tx, max(since, live), columns=(by,)):
        _add(found, total)
    return sorted(found.values(), key=lambda total: total.group if by == "day" else -total.usage.cost)


async def roll_up(tx: AsyncConnection, start: float) -> None:
    """Store the total of a day (UTC) for good, by model and purpose. Its rows can then go."""
    totals = await _totals(tx, start, until=start + DAY, columns=("model", "purpose"))
    figures = []
    for total in totals:
        model, _, purpose = total.group.rpartition("/")
        used = {name: getattr(total.usage, name) for name in _STORED}
        figures.append({"model": model, "purpose": purpose, "uses": total.uses, **used})
    await daily.put(tx, "spending", {daily.day_of(start): figures})


async def delete_before(tx: AsyncConnection, before: float, *, limit: int) -> int:
    """Delete some of the uses before then. Returns their number."""
    table = schema.spending
    some = select(table.c.key).where(table.c.at < before).order_by(table.c.at).limit(limit)
    return (await tx.execute(delete(table).where(table.c.key.in_(some.scalar_subquery())))).rowcount


def _add(found: dict[str, Total], more: Total) -> None:
    """Add to the total of a group."""
    total = found.get(more.group)
    found[more.group] = Total(more.group, total.uses + more.uses, total.usage + more.usage) if total else more


async def _totals(tx: AsyncConnection, since: float, *, until: float = math.inf, columns: Sequence[By]) -> list[Total]:
    """The totals of a time. With several columns, a group is their values with slashes between."""
    table = schema.spending
    # SQLite cuts the fraction off. Postgres would round, and put late evenings into the next day.
    at = table.c.at if tx.dialect.name == "sqlite" else func.floor(table.c.at)
    seconds = cast(at, BigInteger)
    known: dict[By, ColumnElement[Any]] = {
        "customer": table.c.customer,
        "thread": table.c.thread,
        "model": table.c.models,
        "purpose": table.c.purpose,
        "day": seconds - seconds % int(DAY),
    }
    groups = [known[name] for name in columns]
    estimated = func.max(case((table.c.estimated, 1), else_=0))
    sums = [
        func.sum(column).label(column.name)
        for column in (
            table.c.input_tokens,
            table.c.output_tokens,
            table.c.cached_tokens,
            table.c.written_tokens,
            table.c.cost,
        )
    ]
    names = [group.label(f"group_{number}") for number, group in enumerate(groups)]
    statement = select(*names, func.count().label("uses"), *sums, estimated.label("estimated"))
    statement = statement.where(table.c.at >= since)
    if until < math.inf:
        statement = statement.where(table.c.at < until)
    found = []
    for row in (await tx.execute(statement.group_by(*groups))).all():
        values = [
            daily.day_of(float(row[0])) if name == "day" else str(value)
            for name, value in zip(columns, row, strict=False)
        ]
        found.append(Total("/".join(values), row.uses, _usage(row)))
    return found


async def _cost(tx: AsyncConnection, *conditions: ColumnElement[bool]) -> float:
    statement = select(func.coalesce(func.sum(schema.spending.c.cost), 0.0)).where(*conditions)
    return float((await tx.execute(statement)).scalar_one())


def _spending(row: Any) -> Spending:
    models = tuple(row.models.split(", "))
    return Spending(row.key, row.purpose, ThreadRef.of(row.thread), row.customer, models, _usage(row))


def _usage(row: Any) -> Usage:
    return Usage(
        row.input_tokens,
        row.output_tokens,
        row.cached_tokens,
        float(row.cost),
        bool(row.estimated),
        row.written_tokens,
    )


_INBOX, _JOURNAL, _SPENDING = schema.inbox, schema.journal, schema.spending
_OF_ONE = and_(_SPENDING.c.customer == bindparam("person"), _SPENDING.c.purpose.in_(OF_CUSTOMERS))


def _sums(cost: ColumnElement[float], of_one: ColumnElement[bool]) -> list[ColumnElement[float]]:
    """The sum of a cost for all, and that for one person."""
    return [func.coalesce(func.sum(cost), 0.0), func.coalesce(func.sum(cost).filter(of_one), 0.0)]


_ASIDE = (
    select(
        *(
            each.label(name)
            for each, name in zip(
                _sums(_JOURNAL.c.value["cost"].as_float(), _INBOX.c.author == bindparam("person")),
                ("aside_by_all", "aside_by_one"),
                strict=True,
            )
        )
    )
    .join_from(_INBOX, _JOURNAL, _JOURNAL.c.turn == _INBOX.c.id)
    .where(_INBOX.c.state == "new", _INBOX.c.team == bindparam("workspace"), _JOURNAL.c.name == turns.SET_ASIDE)
    .subquery()
)
_BOOKED = (
    select(
        *(each.label(name) for each, name in zip(_sums(_SPENDING.c.cost, _OF_ONE), ("by_all", "by_one"), strict=True))
    )
    .where(_SPENDING.c.at >= bindparam("since"), _SPENDING.c.team == bindparam("workspace"))
    .subquery()
)
_SPENT = select(_BOOKED.c.by_all, _BOOKED.c.by_one, _ASIDE.c.aside_by_all, _ASIDE.c.aside_by_one).join_from(
    _BOOKED, _ASIDE, true()
)
"""What was spent and what is reserved: one row each."""


def _latest_answers(name: str, *, is_theirs: bool) -> Select[Any]:
    """The latest uses for answers, of one person or of all."""
    of_one = (_SPENDING.c.customer == bindparam("person"),) if is_theirs else ()
    latest = (
        select(_SPENDING.c.key, _SPENDING.c.cost)
        .where(
            _SPENDING.c.team == bindparam("workspace"),
            _SPENDING.c.at >= bindparam("since"),
            _SPENDING.c.purpose == "answer",
            *of_one,
        )
        .order_by(_SPENDING.c.at.desc(), _SPENDING.c.key)
        .limit(LATEST_ROWS)
        .subquery(name)
    )
    return select(latest.c.key, latest.c.cost, literal(is_theirs).label("is_theirs"))


_ANSWERS = union_all(_latest_answers("theirs", is_theirs=True), _latest_answers("of_all", is_theirs=False))
