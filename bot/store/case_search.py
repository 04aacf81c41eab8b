"""The search for cases: by what they are, and by the words that were said about them. The newest come first.

search_cases  one page of the cases that fit a query

Conditions on what a case is are read from the cases' rows alone. Words are looked for where they were said, case by
case, and in no index: so what is deleted or erased is not found any more. Therefore one page looks for words in a
bounded number of cases, and says where it has stopped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.bodies import text_in
from bot.store.case_lists import EVERYWHERE, Desks, has_tag
from bot.store.cases import Case, as_case, find_all, id_of

LOOKED_THROUGH = 2_000
"""The cases in which one page looks for words."""
PIECE = 200
"""The cases in which one statement looks for words."""


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """What is searched for. A case must fit everything that is there."""

    words: tuple[str, ...] = ()
    """Each must be in the case's title, summary or customer name, or in what was written. Or it is the number of the
    case."""
    customer: str = ""
    """The Slack id."""
    owner: str | None = None
    """The Slack id of the person who has the case, or had it. Empty: nobody has claimed it."""
    states: tuple[str, ...] = ()
    tag: str = ""
    since: float = 0.0
    """The case was opened then or later."""
    before: float | None = None
    """The case was opened earlier."""


@dataclass(frozen=True, slots=True)
class FoundCases:
    """One page."""

    cases: Sequence[Case]
    then: int | None = None
    """The id of the case behind which the next page begins. None if this is the last page."""
    stopped_at: float | None = None
    """When the oldest case was opened that was looked through, if there are older ones that may fit."""


async def search_cases(
    tx: AsyncConnection,
    query: CaseQuery,
    *,
    limit: int,
    at: Desks = EVERYWHERE,
    after: int | None = None,
    look_through: int | None = LOOKED_THROUGH,
) -> FoundCases:
    """The newest cases of these desks that fit, older than the case `after`.

    Words are looked for in `look_through` cases that fit otherwise. With None, in all.
    """
    words = () if _number_in(query) is not None else query.words
    last = None if after is None else await _find(tx, after)
    found: list[Case] = []
    looked = 0
    while True:
        size = PIECE if words else limit + 1
        piece = await _next(tx, query, at=at, last=last, limit=size)
        found += await _saying(tx, piece, words) if words else piece
        looked += len(piece)
        if len(found) > limit:
            return FoundCases(found[:limit], then=found[limit - 1].id)
        if len(piece) < size:
            return FoundCases(found)
        last = piece[-1]
        if look_through is not None and looked >= look_through:
            return FoundCases(found, then=last.id, stopped_at=last.opened_at)


async def _find(tx: AsyncConnection, case_id: int) -> Case | None:
    """The case behind which a page begins. If it is gone, the page is the first one."""
    return next(iter(await find_all(tx, [case_id])), None)


async def _next(tx: AsyncConnection, query: CaseQuery, *, at: Desks, last: Case | None, limit: int) -> list[Case]:
    """The newest cases that fit without regard to words, behind the `last` one."""
    table = schema.kase
    opened, newest_first = table.c.opened_at, (table.c.opened_at.desc(), table.c.id.desc())
    fits = [at.have_row(), *_conditions(query)]
    if last is not None:
        # The second condition implies the first, with which an index helps.
        same_time = and_(opened == last.opened_at, table.c.id < last.id)
        fits += [opened <= last.opened_at, or_(opened < last.opened_at, same_time)]
    rows = await tx.execute(select(table).where(*fits).order_by(*newest_first).limit(limit))
    return [as_case(row) for row in rows]


def _conditions(query: CaseQuery) -> Iterator[ColumnElement[bool]]:
    table = schema.kase
    yield table.c.opened_at >= query.since
    if query.before is not None:
        yield table.c.opened_at < query.before
    if query.customer:
        yield table.c.customer == query.customer
    if query.owner is not None:
        yield table.c.owner == query.owner if query.owner else table.c.owner.is_(None)
    if query.states:
        yield table.c.state.in_(query.states)
    if query.tag:
        yield has_tag(query.tag)
    if (number := _number_in(query)) is not None:
        yield table.c.id == number


def _number_in(query: CaseQuery) -> int | None:
    """The id of the case, if the only word is its number."""
    return id_of(query.words[0].upper()) if len(query.words) == 1 else None


async def _saying(tx: AsyncConnection, cases: Sequence[Case], words: Sequence[str]) -> list[Case]:
    """Those of the cases that contain each of the words."""
    left = list(cases)
    for word in words:
        found = await _containing(tx, left, word) if left else set()
        left = [case for case in left if case.id in found]
    return left


async def _containing(tx: AsyncConnection, cases: Sequence[Case], word: str) -> set[int]:
    """The ids of those cases that contain the word.

    Each table is asked by itself. In one condition with `or`, Postgres would read all that was ever written.
    """
    kase, inbox, outbox = schema.kase, schema.inbox, schema.outbox
    number, ids = id_of(word.upper()), {case.id for case in cases}
    noted = or_(*(_holds(column, word) for column in (kase.c.title, kase.c.summary, kase.c.customer_name)))
    found = ids & {number}
    found |= set((await tx.execute(select(kase.c.id).where(kase.c.id.in_(ids - found), noted))).scalars())
    relayed = select(outbox.c.case_id).where(
        outbox.c.case_id.in_(ids - found),
        outbox.c.source_ts.is_not(None),
        _holds(outbox.c.payload["text"].as_string(), word),
    )
    found |= set((await tx.execute(relayed)).scalars())
    threads = {case.thread.key for case in cases if case.id not in found}
    written = select(inbox.c.thread).where(
        inbox.c.thread.in_(threads), inbox.c.kind == "message", _holds(text_in(inbox.c.body), word)
    )
    # One thread can have had several cases.
    said_in = set((await tx.execute(written)).scalars())
    return found | {case.id for case in cases if case.thread.key in said_in}


def _holds(column: ColumnElement[str], word: str) -> ColumnElement[bool]:
    """Whether the text contains the word. SQLite ignores case only for ASCII letters."""
    spellings = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return or_(*(column.ilike(f"%{_literal(spelling)}%", escape="\\") for spelling in sorted(spellings)))


def _literal(word: str) -> str:
    """The word, escaped so that the pattern matches it literally."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
