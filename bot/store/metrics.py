"""The data behind the desk's metrics: questions and how they ended, cases, ratings, cost, the relay."""

import json
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Column, Select, Text, case, cast, or_, select, tuple_

from bot.store import schema
from bot.store.bodies import is_erased_in, text_in
from bot.store.cases import ERASED, OPEN_STATES, id_of, ref_of
from bot.store.database import Database

LOOKED_UP = '%"ok": true, "private": true%'
"""A pattern for a successful lookup of the customer's own data in a turn's messages. Quoted text cannot match it,
because its quotation marks are escaped. And Postgres does not have to parse every text."""

PIECE = 1_000
"""The number of rows that are read at once."""
CLAIMED, REOPENED, ANSWERED = "case.claimed", "case.reopened", "case.answered"
NOT_OFFERED = "action.not_offered"
"""The audit entry of a change that the rules let nobody offer."""
"""Steps of a case, as in the audit trail."""


@dataclass(frozen=True, slots=True)
class AskedMessage:
    """A customer's message that needed an answer, and how it ended."""

    id: int
    thread: str
    """The key of the thread in which it was written."""
    customer: str
    at: float
    text: str
    ended: str = ""
    """Why its row was closed: a value of `bot.store.turns.TurnRecord.ended`, or `relayed`. Empty while it is open."""
    sources: frozenset[str] = frozenset()
    """The URLs of the pages that its answer names, or their titles."""
    looked_up: bool = False
    """Whether the customer's own data was looked up or changed for it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A case in any state."""

    id: int
    thread: str
    customer: str
    reason: str
    at: float
    claimed_at: float | None = None
    """When it was first claimed."""
    replied_at: float | None = None
    """When a person's words were first sent to the customer."""
    was_resolved: bool = False
    """Whether it was resolved, even if it is open again."""
    reopened: int = 0
    """How often it was opened again."""
    reopened_at: tuple[float, ...] = ()
    """When it was opened again."""
    outcome: str = ""
    """What staff said about the outcome. Empty if they said nothing."""
    was_merged: bool = False
    """Whether it was merged into another one."""
    replies_met: int = 0
    """How many replies of people that were due came in time."""
    replies_missed: int = 0
    """How many came late."""
    cause: str = ""
    """What it was about, as staff said. Empty if they said nothing."""
    tags: tuple[str, ...] = ()
    """The tags that staff gave it."""
    desk: str = ""
    """As `Case.desk`."""
    is_open: bool = False
    """Whether people have it now, or will get it."""
    owner: str = ""
    """The member of staff who has it, or had it when it ended. Empty for none."""
    owner_name: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A customer's rating of an answer or a solved case."""

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
    """In US dollars."""
    estimated: bool = False
    input_tokens: int = 0
    """The part of the tokens that the model read."""
    cached_tokens: int = 0
    """The part of the input that was read from the provider's cache."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """A message on its way from the customer to staff or back."""

    at: float
    """When it was queued."""
    sent_at: float | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class MetricsRecord:
    """All of this data since some time."""

    written: Sequence[AskedMessage] = ()
    """Oldest first."""
    cases: Sequence[Opened] = ()
    """Oldest first."""
    on_answers: Mapping[int, Verdict] = field(default_factory=dict)
    """Message -> `up` or `down`, from the author of the message."""
    on_cases: Mapping[int, Verdict] = field(default_factory=dict)
    """Case -> `1` to `5`, from its customer."""
    uses: Sequence[Use] = ()
    """Oldest first."""
    relayed: Sequence[Relayed] = ()
    """Oldest first."""
    offered: Sequence["Offered"] = ()
    """Oldest first."""
    refused: Sequence["RefusedByRule"] = ()
    """Oldest first."""
    procedures: Sequence["EndedProcedure"] = ()
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A change of an order that was offered to a customer."""

    at: float
    kind: str
    state: str
    turn: int
    """The turn that prepared it. 0 if no turn did."""
    money: int
    """In minor units. Negative: the customer gets it."""
    currency: str
    confirmed_at: float | None
    decided_at: float | None
    """When staff decided, if they had to."""
    settled: bool


@dataclass(frozen=True, slots=True)
class EndedProcedure:
    """A procedure that ended."""

    at: float
    procedure: str
    why: str


@dataclass(frozen=True, slots=True)
class RefusedByRule:
    """A change of an order that the rules let nobody offer."""

    at: float
    kind: str
    outcome: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """The time of which is read."""

    since: float
    until: float = math.inf


async def read(
    database: Database, *, since: float, until: float = math.inf, steps_until: float = math.inf
) -> MetricsRecord:
    """Everything that arrived or happened since then, and before `until`.

    Ratings and the steps of cases are read up to `steps_until`, because they come later than what they are about. It
    can be a lot. So it is read in pieces, and other transactions can run in between.
    """
    span, steps = Span(since, until), Span(since, steps_until)
    written = await _written(database, span)
    cases = await _cases(database, span, steps)
    on_answers, on_cases = await _pressed(database, written, cases, steps)
    uses = await _uses(database, span)
    offered = await _offered(database, span)
    # What was done for a customer counts as an answer that rests on their own data.
    done = {each.turn for each in offered if each.state == "done"}
    written = [replace(each, looked_up=True) if each.id in done else each for each in written]
    relayed = await _relayed(database, span)
    refused = await _refused_by_rule(database, span)
    ended = await _ended_procedures(database, span)
    return MetricsRecord(written, cases, on_answers, on_cases, uses, relayed, offered, refused, ended)


async def _pieces(
    database: Database,
    statement: Select[Any],
    *order: Column[Any],
    span: Span,
    whole: Callable[[Select[Any]], Select[Any]] = lambda piece: piece,
) -> AsyncIterator[Sequence[Any]]:
    """The statement's rows of the span in their `order`, which begins with a time. `whole` completes a piece."""
    if span.until < math.inf:
        statement = statement.where(order[0] < span.until)
    later = order[0] >= span.since
    while True:
        piece = whole(statement.where(later).order_by(*order).limit(PIECE))
        async with database.transaction() as tx:
            rows = (await tx.execute(piece)).all()
        yield rows
        if len(rows) < PIECE:
            return
        latest = [getattr(rows[-1], column.name) for column in order]
        # The second condition implies the first, and an index on the time helps with the first in every database.
        later = (order[0] >= latest[0]) & (tuple_(*order) > tuple_(*latest))


async def _written(database: Database, span: Span) -> list[AskedMessage]:
    """Messages, and edits that had an answer of their own, without dropped or deleted ones."""
    table = schema.inbox.c
    ended = case((table.state == "dead", "failed"), else_=table.reason).label("ended")
    columns = (table.id, table.thread, table.author, table.received_at, text_in(table.body).label("text"))
    # Deleted ones are left out here. Postgres cannot estimate how few they are, and would read all rows.
    asked = select(*columns, ended, table.kind, is_erased_in(table.body).label("is_erased")).where(
        table.kind.in_(("message", "edit")), table.state != "dropped"
    )
    found: dict[int, AskedMessage] = {}
    pages: dict[str, frozenset[str]] = {}
    async for rows in _pieces(database, asked, table.received_at, table.id, span=span, whole=_with_grounds):
        for number, thread, author, at, text, end, kind, is_erased, sources, looked_up in rows:
            if is_erased:
                continue
            if sources is None:
                if kind == "message":
                    found[number] = AskedMessage(number, thread, author, at, text, end)
                continue
            if sources not in pages:
                pages[sources] = frozenset(page["url"] or page["title"] for page in json.loads(sources))
            named, own = pages[sources], bool(looked_up)
            if number in found:
                # The row of a private answer in the channel names nothing. The whole answer, with the same number,
                # does.
                named, own = named | found[number].sources, own or found[number].looked_up
            found[number] = AskedMessage(number, thread, author, at, text, end, named, own)
    return [*found.values()]


def _with_grounds(asked: Select[Any]) -> Select[Any]:
    """The messages with what their answers rest on: a row for each answer, and one for a message without an answer."""
    message, turn = asked.subquery(), schema.turn.c
    looked_up = or_(*(cast(column, Text).like(LOOKED_UP) for column in (turn.messages, turn.trace)))
    return (
        select(message, cast(turn.sources, Text), looked_up)
        .outerjoin(schema.turn, turn.id == message.c.id)
        .order_by(message.c.received_at, message.c.id)
    )


async def _cases(database: Database, span: Span, taken: Span) -> list[Opened]:
    table, audit = schema.kase.c, schema.audit.c
    steps: dict[tuple[str, str], list[float]] = {}
    replies: Counter[tuple[str, str]] = Counter()
    noted = select(audit.id, audit.subject, audit.action, audit.at, audit.detail).where(
        audit.action.in_((CLAIMED, REOPENED, ANSWERED))
    )
    async for rows in _pieces(database, noted, audit.at, audit.id, span=taken):
        for row in rows:
            if row.action == ANSWERED:
                replies[row.subject, str(row.detail.get("met"))] += 1
            else:
                steps.setdefault((row.subject, row.action), []).append(row.at)
    columns = (table.id, table.thread, table.customer, table.reason, table.state, table.opened_at, table.claimed_at)
    later = (table.replied_at, table.reopened, table.outcome, table.merged_into, table.cause, table.tags)
    opened = select(*columns, *later, table.desk, table.owner, table.owner_name)
    return [
        Opened(
            row.id,
            row.thread,
            row.customer,
            row.reason,
            row.opened_at,
            # The column is about the present owner.
            claimed_at=min(steps.get((ref_of(row.id), CLAIMED), [row.claimed_at])),
            replied_at=row.replied_at,
            was_resolved=row.reopened > 0 or (row.state in ("resolved", "closed") and row.outcome != ERASED),
            reopened=row.reopened,
            reopened_at=tuple(steps.get((ref_of(row.id), REOPENED), ())),
            outcome="" if row.outcome == ERASED else row.outcome,
            was_merged=row.merged_into is not None,
            replies_met=replies[ref_of(row.id), "yes"],
            replies_missed=replies[ref_of(row.id), "no"],
            cause=row.cause,
            tags=row.tags,
            desk=row.desk,
            is_open=row.state in OPEN_STATES,
            owner=row.owner or "",
            owner_name=row.owner_name or "",
        )
        async for rows in _pieces(database, opened, table.opened_at, table.id, span=span)
        for row in rows
    ]


async def _pressed(
    database: Database, written: Sequence[AskedMessage], cases: Sequence[Opened], span: Span
) -> tuple[dict[int, Verdict], dict[int, Verdict]]:
    """The ratings of answers and of cases, from the people who had asked."""
    table = schema.feedback.c
    order = (table.given_at, table.subject, table.person)
    asked = {each.id: each.customer for each in written}
    called = {each.id: each.customer for each in cases}
    on_answers: dict[int, Verdict] = {}
    on_cases: dict[int, Verdict] = {}
    async for rows in _pieces(database, select(table.value, *order), *order, span=span):
        for value, at, subject, person in rows:
            kind, _, name = subject.partition("/")
            number = int(name) if kind == "turn" and name.isdecimal() else id_of(name)
            customers, verdicts = (asked, on_answers) if kind == "turn" else (called, on_cases)
            if number is not None and customers.get(number) == person:
                verdicts[number] = Verdict(value, at)
    return on_answers, on_cases


async def _uses(database: Database, span: Span) -> list[Use]:
    table = schema.spending.c
    columns = (table.thread, table.customer, table.at, table.input_tokens, table.output_tokens, table.cost)
    return [
        Use(thread, customer, at, read + written, cost, bool(estimated), read, cached)
        async for rows in _pieces(
            database,
            select(*columns, table.estimated, table.cached_tokens, table.key),
            table.at,
            table.key,
            span=span,
        )
        for thread, customer, at, read, written, cost, estimated, cached, _ in rows
    ]


async def _relayed(database: Database, span: Span) -> list[Relayed]:
    """The posts that show one side what the other wrote. Edits and reactions don't count as messages."""
    table = schema.outbox.c
    columns = (table.created_at, table.sent_at, table.state, table.id)
    relayed = select(*columns).where(table.source_ts.is_not(None))
    return [
        Relayed(at, sent_at, state == "failed")
        async for rows in _pieces(database, relayed, table.created_at, table.id, span=span)
        for at, sent_at, state, _ in rows
    ]


async def _offered(database: Database, span: Span) -> list[Offered]:
    """The changes that customers were shown, with how they stand now."""
    table = schema.action.c
    columns = (table.offered_at, table.kind, table.state, table.origin, table.money, table.currency)
    shown = select(*columns, table.confirmed_at, table.decided_at, table.settled, table.id)
    return [
        Offered(at, kind, state, _turn_of(origin), money, currency, confirmed_at, decided_at, bool(settled))
        async for rows in _pieces(database, shown, table.offered_at, table.id, span=span)
        for at, kind, state, origin, money, currency, confirmed_at, decided_at, settled, _ in rows
    ]


async def _ended_procedures(database: Database, span: Span) -> list[EndedProcedure]:
    table = schema.procedure_run.c
    statement = select(table.ended_at, table.procedure, table.why, table.id)
    return [
        EndedProcedure(at, procedure, why)
        async for rows in _pieces(database, statement, table.ended_at, table.id, span=span)
        for at, procedure, why, _ in rows
    ]


def _turn_of(origin: str) -> int:
    number = origin.split("/")[1] if origin.startswith("turn/") else ""
    return int(number) if number.isdecimal() else 0


async def _refused_by_rule(database: Database, span: Span) -> list[RefusedByRule]:
    """What was not offered. A turn that begins again is told of once."""
    table = schema.audit.c
    noted = select(table.at, table.subject, table.detail, table.id).where(table.action == NOT_OFFERED)
    found: dict[tuple[str, str, str], RefusedByRule] = {}
    async for rows in _pieces(database, noted, table.at, table.id, span=span):
        for at, subject, detail, _ in rows:
            kind, rules = detail.get("kind", ""), detail.get("rules", "")
            refused = RefusedByRule(at, kind, detail.get("outcome", ""), tuple(rules.split()))
            found.setdefault((subject, kind, rules), refused)
    return list(found.values())
