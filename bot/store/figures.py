"""What the figures of the desk are made of: who asked what and how it ended, cases, verdicts, money, the relay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Text, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.cases import ERASED, ref_of
from bot.store.database import Database
from bot.store.wishes import is_erased

LOOKED_UP = '%"ok": true, "private": true%'
"""How a look-up of the customer's own data that succeeded stands among a turn's messages. What is quoted in them
cannot look like it, since its quotation marks are escaped; and Postgres need not read every text there is."""

PIECE = 500
"""Messages that are read at once, with what their answers rest on."""
DAY_SECONDS = 86_400.0
CLAIMED, REOPENED = "case.claimed", "case.reopened"
"""Steps of a case, as the audit trail has them."""


@dataclass(frozen=True, slots=True)
class Written:
    """A customer's message that was to be answered, and how it ended."""

    id: int
    thread: str
    """The key of the thread in which it was written."""
    customer: str
    at: float
    text: str
    ended: str = ""
    """Why its row was closed, as `bot.store.turns.TurnRecord.ended` or `relayed`; empty while it is open."""
    sources: frozenset[str] = frozenset()
    """The addresses of the pages that its answer names, or their titles."""
    looked_up: bool = False
    """Whether the customer's own data was looked up or changed for it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A case, whatever became of it."""

    id: int
    thread: str
    customer: str
    reason: str
    at: float
    claimed_at: float | None = None
    """When somebody claimed it first."""
    replied_at: float | None = None
    """When the customer was first sent what a person wrote."""
    was_resolved: bool = False
    """Whether it was resolved, be it open again or not."""
    reopened: int = 0
    """How often it was opened again,"""
    reopened_at: tuple[float, ...] = ()
    """and when."""
    outcome: str = ""
    """What staff said that came of it; empty when they said nothing."""
    was_merged: bool = False
    """Whether it goes on in another."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A customer's press under an answer or a solved case."""

    value: str
    at: float


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a model."""

    thread: str
    customer: str
    at: float
    tokens: int
    cost: float
    """US dollars."""
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Relayed:
    """A message on its way from the customer to staff or back."""

    at: float
    """When it was queued."""
    sent_at: float | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """All of it since some time."""

    written: Sequence[Written] = ()
    """Oldest first."""
    cases: Sequence[Opened] = ()
    """Oldest first."""
    on_answers: Mapping[int, Verdict] = field(default_factory=dict)
    """Message -> `up` or `down`, by whoever wrote the message."""
    on_cases: Mapping[int, Verdict] = field(default_factory=dict)
    """Case -> `1` to `5`, by its customer."""
    uses: Sequence[Use] = ()
    """Oldest first."""
    relayed: Sequence[Relayed] = ()
    """Oldest first."""


async def read(database: Database, *, since: float) -> Record:
    """Everything that came or happened since then.

    It may be much, so it is read in pieces, between which others come to write.
    """
    written: list[Written] = []
    async with database.transaction() as tx:
        last = await _last_before(tx, since=since)
    while last is not None:
        async with database.transaction() as tx:
            piece, last = await _written(tx, since=since, after=last)
        written += piece
    uses: list[Use] = []
    async with database.transaction() as tx:
        at = schema.spending.c.at
        start, latest = (await tx.execute(select(func.min(at), func.max(at)).where(at >= since))).one()
    while start is not None and start <= latest:
        async with database.transaction() as tx:
            uses += await _uses(tx, since=start, until=start + DAY_SECONDS)
        start += DAY_SECONDS
    async with database.transaction() as tx:
        cases = await _cases(tx, since=since)
        pressed = await _pressed(tx, since=since)
        relayed = await _relayed(tx, since=since)
    answers = {each.id: pressed.get((f"turn/{each.id}", each.customer)) for each in written}
    solved = {each.id: pressed.get((f"case/{ref_of(each.id)}", each.customer)) for each in cases}
    return Record(
        sorted(written, key=lambda message: (message.at, message.id)),
        cases,
        {message: verdict for message, verdict in answers.items() if verdict},
        {case: verdict for case, verdict in solved.items() if verdict},
        uses,
        relayed,
    )


async def _last_before(tx: AsyncConnection, *, since: float) -> int | None:
    """The message before the first that came since then; None when none has come."""
    table = schema.inbox
    first = (await tx.execute(select(func.min(table.c.id)).where(table.c.received_at >= since))).scalar_one()
    return None if first is None else first - 1


async def _written(tx: AsyncConnection, *, since: float, after: int) -> tuple[list[Written], int | None]:
    """The next messages, and edits that had an answer of their own; without what was dropped or deleted.

    And the last row that was looked at; None when there are no more.
    """
    table = schema.inbox
    columns = (table.c.id, table.c.kind, table.c.thread, table.c.author, table.c.body, table.c.received_at)
    statement = (
        select(*columns, table.c.state, table.c.reason)
        .where(table.c.id > after, table.c.kind.in_(("message", "edit")), table.c.received_at >= since)
        .order_by(table.c.id)
        .limit(PIECE)
    )
    rows = (await tx.execute(statement)).all()
    if not rows:
        return [], None
    grounds = await _grounds(tx, first=rows[0].id, last=rows[-1].id)
    found = [
        Written(
            row.id,
            row.thread,
            row.author,
            row.received_at,
            str(row.body["text"]),
            "failed" if row.state == "dead" else row.reason,
            *grounds.get(row.id, ()),
        )
        for row in rows
        if row.state != "dropped" and not is_erased(row.body) and (row.kind == "message" or row.id in grounds)
    ]
    return found, rows[-1].id


async def _grounds(tx: AsyncConnection, *, first: int, last: int) -> dict[int, tuple[frozenset[str], bool]]:
    """What answers rest on, from a turn to a turn: pages, and whether something of the customer's own was looked up.

    A private answer's stub in the channel names nothing; the whole, which has the same number, does.
    """
    table = schema.turn
    looked_up = or_(*(cast(column, Text).like(LOOKED_UP) for column in (table.c.messages, table.c.trace)))
    statement = select(table.c.id, table.c.sources, looked_up.label("looked_up")).where(table.c.id.between(first, last))
    found: dict[int, tuple[frozenset[str], bool]] = {}
    for row in await tx.execute(statement):
        pages, own = found.get(row.id, (frozenset[str](), False))
        found[row.id] = pages.union(page["url"] or page["title"] for page in row.sources), own or bool(row.looked_up)
    return found


async def _cases(tx: AsyncConnection, *, since: float) -> list[Opened]:
    table, audit = schema.kase, schema.audit
    noted = select(audit.c.subject, audit.c.action, audit.c.at).where(
        audit.c.action.in_((CLAIMED, REOPENED)), audit.c.at >= since
    )
    steps: dict[tuple[str, str], list[float]] = {}
    for row in await tx.execute(noted.order_by(audit.c.id)):
        steps.setdefault((row.subject, row.action), []).append(row.at)
    statement = select(table).where(table.c.opened_at >= since)
    return [
        Opened(
            row.id,
            row.thread,
            row.customer,
            row.reason,
            row.opened_at,
            # The column tells of whoever has it now.
            claimed_at=min(steps.get((ref_of(row.id), CLAIMED), [row.claimed_at])),
            replied_at=row.replied_at,
            was_resolved=row.reopened > 0 or (row.state in ("resolved", "closed") and row.outcome != ERASED),
            reopened=row.reopened,
            reopened_at=tuple(steps.get((ref_of(row.id), REOPENED), ())),
            outcome="" if row.outcome == ERASED else row.outcome,
            was_merged=row.merged_into is not None,
        )
        for row in await tx.execute(statement.order_by(table.c.opened_at, table.c.id))
    ]


async def _pressed(tx: AsyncConnection, *, since: float) -> dict[tuple[str, str], Verdict]:
    """(Subject, person) -> what they pressed."""
    table = schema.feedback
    rows = await tx.execute(select(table).where(table.c.given_at >= since))
    return {(row.subject, row.person): Verdict(row.value, row.given_at) for row in rows}


async def _uses(tx: AsyncConnection, *, since: float, until: float) -> list[Use]:
    table = schema.spending
    statement = select(table).where(table.c.at >= since, table.c.at < until)
    rows = await tx.execute(statement.order_by(table.c.at, table.c.key))
    return [
        Use(row.thread, row.customer, row.at, row.input_tokens + row.output_tokens, row.cost, bool(row.estimated))
        for row in rows
    ]


async def _relayed(tx: AsyncConnection, *, since: float) -> list[Relayed]:
    """What shows one side what the other wrote; edits and marks are no messages of their own."""
    table = schema.outbox
    statement = select(table.c.created_at, table.c.sent_at, table.c.state).where(
        table.c.source_ts.is_not(None), table.c.created_at >= since
    )
    rows = await tx.execute(statement.order_by(table.c.created_at, table.c.id))
    return [Relayed(row.created_at, row.sent_at, row.state == "failed") for row in rows]
