"""The cases' rows. Every change is a compare-and-set on `version`, so if two people change a case, one wins."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Row, bindparam, delete, func, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.store import attempts, schema, scores
from bot.store.scores import Score
from bot.store.statements import insert_all_new, insert_new
from bot.store.threads import advance_epoch

OPEN_STATES = ("waiting", "out_of_hours", "human")
"""In these states people have the case or will get it, and the assistant is silent in the customer's thread."""
MERGED = "merged"
"""The state of a case that people handle in another case, as long as that one is open."""
WAITING = ("waiting", "out_of_hours")
"""The states in which no one has claimed the case. "out_of_hours": no one can claim it before the desk opens."""

ERASED = "erased"
"""The outcome of a case whose customer's data was erased."""

LATER = (
    "desk",
    "waiting_since",
    "due",
    "step",
    "keeps_helping",
    "replied_at",
    "reply_due",
    "reply_missed",
    "snoozed_until",
    "reopened",
    "last_owner",
    "outcome",
    "cause",
    "tags",
    "follows",
    "merged_into",
    "titled_by",
    "titled_at",
)
"""The fields that can be empty when a case is opened. They are columns with the same names."""
BESIDE_STEPS = frozenset({"replied_at", "titled_by", "titled_at"})
"""The fields that no step writes. They are written by themselves, so an older copy of the case must not undo them."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A member of the team who helps the owner of a case."""

    person: str
    name: str
    joined_at: float


@dataclass(frozen=True, slots=True)
class Case:
    """One handover to people."""

    id: int
    thread: ThreadRef
    """The customer's thread."""
    customer: str
    customer_name: str
    member_type: str
    """A value of `bot.conversation.MemberType`. Staff see who is a guest or from another organisation."""
    link: str
    """The URL of the customer's thread, for staff. Empty if Slack did not give it."""
    language: str
    state: str
    """A value of `bot.cases.case.State`."""
    version: int
    reason: str
    priority: str
    title: str
    summary: str
    """The assistant's words. Empty if a rule or a button called a person."""
    owner: str | None
    owner_name: str | None
    opened_at: float
    claimed_at: float | None
    ended_at: float | None
    desk: str = ""
    """The channel of its card. Empty for the agent channel."""
    waiting_since: float | None = None
    due: float | None = None
    """When the next automatic step is due. None if there is none."""
    step: int = 0
    """The number of SLA steps that were breached since the case began to wait."""
    keeps_helping: bool = False
    """Whether the assistant answers while the customer waits."""
    replied_at: float | None = None
    """When a person's first words were sent to the customer."""
    reply_due: float | None = None
    """When the next reply to the customer is due, while a person has the case. None while the customer is to answer."""
    reply_missed: bool = False
    """Whether that reply is late."""
    snoozed_until: float | None = None
    """Until when the person has put the case aside. None if they have not."""
    reopened: int = 0
    last_owner: str | None = None
    """The owner before the case was opened again."""
    outcome: str = ""
    """How the case ended, in the words of the person who ended it."""
    cause: str = ""
    tags: tuple[str, ...] = ()
    """The ids of the tags that staff gave it, in the order of the desk file."""
    follows: int | None = None
    """The id of the case that this one continues."""
    merged_into: int | None = None
    """The id of the case into which this one was merged. It stays when that case has ended."""
    titled_by: str = ""
    """Where the title is from: "rule", "model", "asked" while a model is asked, or empty if the matter isn't known."""
    titled_at: float | None = None
    """When the title was made. It can repeat what the customer wrote until then."""
    helpers: tuple[Helper, ...] = ()
    """Only `find` fills this in. Empty while the case has no owner."""
    score: Score | None = None
    """The customer's score. Only `find` fills this in."""

    @property
    def is_open(self) -> bool:
        """Whether people have the case or will get it."""
        return self.state in OPEN_STATES

    @property
    def waits(self) -> bool:
        """Whether no one has claimed it yet."""
        return self.state in WAITING

    @property
    def ref(self) -> str:
        """The name that people use: FD-1001 and on."""
        return ref_of(self.id)

    @property
    def since(self) -> float:
        """When it began to wait, was claimed or ended, depending on its state, in seconds since 1970."""
        if self.waits:
            return self.waiting_since or self.opened_at
        return (self.claimed_at if self.state == "human" else self.ended_at) or self.opened_at

    @property
    def is_late(self) -> bool:
        """Whether it has waited for a claim, or for a person's reply, longer than its target."""
        return (self.waits and self.step > 0) or (self.state == "human" and self.reply_missed)

    @property
    def waits_for_customer(self) -> bool:
        """Whether a person has it, and the customer is to answer."""
        return self.state == "human" and self.reply_due is None and self.snoozed_until is None

    def is_with(self, user: str) -> bool:
        """Whether this member of staff owns it."""
        return self.state == "human" and self.owner == user

    def speaker(self, user: str) -> str | None:
        """The name under which this member of staff talks to the customer. None if they are not on the case."""
        if self.is_with(user):
            return self.owner_name or ""
        return next((helper.name for helper in self.helpers if helper.person == user), None)

    def stands_in(self, agent_channel: str) -> str:
        """The channel of its card."""
        return self.desk or agent_channel


def id_of(ref: str) -> int | None:
    """The row id of `FD-1042`. None if the text has another form."""
    prefix, _, number = ref.partition("-")
    if prefix != "FD" or not (number.isascii() and number.isdigit() and len(number) <= 12):
        return None
    return int(number) - 1000


def ref_of(case_id: int) -> str:
    """The name that people use for the case with this id."""
    return f"FD-{1000 + case_id}"


def card_key(case: Case) -> str:
    """The outbox key of the case's card at its present desk. The card's channel and ts are in that row."""
    return f"{cards_key(case.id)}/{case.desk}" if case.desk else cards_key(case.id)


def cards_key(case_id: int) -> str:
    """The beginning of the keys of all cards of a case."""
    return f"case/{case_id}/card"


async def add(tx: AsyncConnection, case: Case) -> Case | None:
    """Open a case (`case.id` is ignored). None if the thread has an open one. Raises Superseded in a turn that
    a later attempt has taken over.
    """
    await attempts.hold(tx)
    values = {
        "team": case.thread.team,
        "thread": case.thread.key,
        "channel": case.thread.channel,
        "thread_ts": case.thread.ts,
        "customer": case.customer,
        "customer_name": case.customer_name,
        "member_type": case.member_type,
        "link": case.link[:255],
        "language": case.language,
        "state": case.state,
        "reason": case.reason,
        "priority": case.priority,
        "title": case.title,
        "summary": case.summary,
        "opened_at": case.opened_at,
        **{name: getattr(case, name) for name in LATER},
    }
    case_id = await insert_new(tx, schema.kase, values)
    return None if case_id is None else replace(case, id=case_id)


async def find(tx: AsyncConnection, case_id: int) -> Case | None:
    """The case with this id."""
    row = (await tx.execute(select(schema.kase).where(schema.kase.c.id == case_id))).one_or_none()
    return await _whole(tx, as_case(row)) if row else None


async def find_all(tx: AsyncConnection, ids: Collection[int]) -> list[Case]:
    """The cases with these ids."""
    return [as_case(row) for row in await tx.execute(select(schema.kase).where(schema.kase.c.id.in_(ids)))]


async def find_open(tx: AsyncConnection, thread: ThreadRef) -> Case | None:
    """The open case in which people have the thread: its own, or the one into which its own was merged.

    A thread has at most one, because no other is opened while there is one.
    """
    row = (await tx.execute(_FIND_OPEN, {"thread_key": thread.key})).one_or_none()
    return as_case(row) if row else None


async def latest_of(tx: AsyncConnection, thread: ThreadRef) -> Case | None:
    """The thread's latest case in any state."""
    table = schema.kase
    statement = select(table).where(table.c.thread == thread.key).order_by(table.c.id.desc()).limit(1)
    row = (await tx.execute(statement)).one_or_none()
    return as_case(row) if row else None


async def open_or_latest(tx: AsyncConnection, thread: ThreadRef) -> tuple[Case | None, Case | None]:
    """The open case, as `find_open` finds it, or the thread's latest case. One of the two is None."""
    found = [as_case(row) for row in await tx.execute(_FIND_OPEN_AND_LATEST, {"thread_key": thread.key})]
    is_open = next((case for case in found if case.state in OPEN_STATES), None)
    ended = max((case for case in found if case.thread == thread), key=lambda case: case.id, default=None)
    return is_open, None if is_open else ended


async def merged_into(tx: AsyncConnection, case_id: int) -> list[Case]:
    """The cases that are merged into this one."""
    table = schema.kase
    statement = select(table).where(table.c.merged_into == case_id, table.c.state == MERGED).order_by(table.c.id)
    return [as_case(row) for row in await tx.execute(statement)]


async def count_since(tx: AsyncConnection, customer: str, since: float) -> int:
    """How many cases of the person were opened since then."""
    table = schema.kase
    counted = select(func.count()).where(table.c.customer == customer, table.c.opened_at >= since)
    return int((await tx.execute(counted)).scalar_one())


async def find_open_of(tx: AsyncConnection, team: str, customer: str) -> list[Case]:
    """A person's waiting or human cases, the oldest first."""
    table = schema.kase
    statement = (
        select(table)
        .where(
            table.c.team == team,
            table.c.customer == customer,
            table.c.state.in_(OPEN_STATES),
        )
        .order_by(table.c.id)
    )
    return [as_case(row) for row in await tx.execute(statement)]


async def change(tx: AsyncConnection, case: Case, changed: Case) -> Case | None:
    """Write `changed` over `case`. None if someone else was faster. Raises Superseded like `add`.

    A case without an owner has no helpers, owes no reply and is not put aside.
    """
    await attempts.hold(tx)
    table = schema.kase
    if changed.state != "human":
        changed = replace(changed, reply_due=None, reply_missed=False, snoozed_until=None)
    statement = (
        update(table)
        .where(table.c.id == case.id, table.c.version == case.version)
        .values(
            version=case.version + 1,
            state=changed.state,
            reason=changed.reason,
            priority=changed.priority,
            owner=changed.owner,
            owner_name=changed.owner_name,
            claimed_at=changed.claimed_at,
            ended_at=changed.ended_at,
            **{name: getattr(changed, name) for name in LATER if name not in BESIDE_STEPS},
        )
        .returning(table)
    )
    row = (await tx.execute(statement)).one_or_none()
    if row is None:
        return None
    if _holder(case) != _holder(changed):
        others = (each.thread.key for each in await merged_into(tx, case.id))
        await advance_epoch(tx, [case.thread.key, *others])
    helpers = changed.helpers if changed.state == "human" else ()
    if changed.state != "human" or helpers != case.helpers:
        await _set_helpers(tx, case, helpers)
    return replace(as_case(row), helpers=helpers, score=case.score)


def _holder(case: Case) -> str | int | None:
    """The person, or the other case, that has the case's thread. None if no one has it; then the assistant may
    answer.
    """
    if case.state == MERGED:
        return case.merged_into
    return case.owner if case.state == "human" else None


async def note_reply(tx: AsyncConnection, case: Case, *, now: float) -> bool:
    """Note when a person's first words were sent to the customer. The version stays. False if it was noted before."""
    table = schema.kase
    first = update(table).where(table.c.id == case.id, table.c.replied_at.is_(None)).values(replied_at=now)
    return (await tx.execute(first.returning(table.c.id))).scalar_one_or_none() is not None


async def retitle(tx: AsyncConnection, case: Case, title: str, *, by: str, now: float) -> Case | None:
    """Give an open case another title. None if its title or its state is another one by now.

    The version grows, so the card is updated. The state and the version of `case` can be older.
    """
    table = schema.kase
    same = (table.c.id == case.id, table.c.title == case.title, table.c.titled_by == case.titled_by)
    values = {"title": title, "titled_by": by, "titled_at": now, "version": table.c.version + 1}
    statement = update(table).where(*same, table.c.state.in_(OPEN_STATES)).values(**values).returning(table)
    row = (await tx.execute(statement)).one_or_none()
    return None if row is None else await _whole(tx, as_case(row))


async def has_title_to_make(tx: AsyncConnection) -> bool:
    """Whether `take_to_title` would return a case."""
    table = schema.kase
    statement = select(table.c.id).where(table.c.state.in_(OPEN_STATES), table.c.titled_by == "rule").limit(1)
    return (await tx.execute(statement)).first() is not None


async def take_to_title(tx: AsyncConnection, *, now: float, limit: int) -> list[Case]:
    """Open cases whose title is from a rule, for a model to give them a better one. Each is returned once."""
    table = schema.kase
    first = select(table.c.id).where(table.c.state.in_(OPEN_STATES), table.c.titled_by == "rule").limit(limit)
    taken = (
        update(table).where(table.c.id.in_(first), table.c.titled_by == "rule").values(titled_by="asked", titled_at=now)
    )
    return [as_case(row) for row in await tx.execute(taken.returning(table))]


async def due_by(tx: AsyncConnection, now: float, *, states: Collection[str], limit: int) -> list[Case]:
    """The cases in these states that have something due by then. What is due longest comes first."""
    table = schema.kase
    statement = select(table).where(table.c.due <= now, table.c.state.in_(states)).order_by(table.c.due).limit(limit)
    return [as_case(row) for row in await tx.execute(statement)]


async def put_off(tx: AsyncConnection, seconds: float) -> int:
    """Delay everything that is due in waiting cases by `seconds` (negative: sooner), and the replies that are due.
    Returns the number of cases.

    What is due when the desk opens, or at the end of a snooze, stays. The version stays too, so a change that someone
    makes at this moment succeeds.
    """
    table = schema.kase
    running = (table.c.state.in_(("waiting", "human")), table.c.due.is_not(None), table.c.snoozed_until.is_(None))
    later = {"due": table.c.due + seconds, "reply_due": table.c.reply_due + seconds}
    return int((await tx.execute(update(table).where(*running).values(**later))).rowcount)


async def claims_since(tx: AsyncConnection, since: float, *, latest: int) -> list[tuple[float, float]]:
    """For the latest cases that were claimed since then: when they began to wait, and when they were claimed.

    Cases that were taken over by another person are left out, because their first claim is no longer known.
    """
    table, audit = schema.kase, schema.audit
    claimed = (
        select(table.c.id, table.c.waiting_since, table.c.claimed_at)
        .where(table.c.claimed_at >= since, table.c.waiting_since.is_not(None))
        .order_by(table.c.claimed_at.desc())
        .limit(latest)
    )
    found = {ref_of(row.id): (row.waiting_since, row.claimed_at) for row in await tx.execute(claimed)}
    changed = select(audit.c.subject).where(audit.c.subject.in_(found), audit.c.action == "case.taken_over")
    for ref in (await tx.execute(changed)).scalars():
        found.pop(ref, None)
    return list(found.values())


async def latest(tx: AsyncConnection, *, states: tuple[str, ...], limit: int) -> list[Case]:
    """The newest cases in these states."""
    table = schema.kase
    statement = select(table).where(table.c.state.in_(states)).order_by(table.c.opened_at.desc()).limit(limit)
    return [as_case(row) for row in await tx.execute(statement)]


async def _whole(tx: AsyncConnection, case: Case) -> Case:
    """The case with its helpers and its score. A case that never ended has no score."""
    has_ended = case.reopened > 0 or not case.is_open
    score = await scores.find(tx, case.ref, case.customer) if has_ended else None
    return replace(case, helpers=await _helpers(tx, case.id), score=score)


async def _helpers(tx: AsyncConnection, case_id: int) -> tuple[Helper, ...]:
    table = schema.case_helper
    statement = select(table.c.person, table.c.name, table.c.joined_at).where(table.c.case_id == case_id)
    return tuple(Helper(*row) for row in await tx.execute(statement.order_by(table.c.joined_at, table.c.person)))


async def _set_helpers(tx: AsyncConnection, case: Case, helpers: Collection[Helper]) -> None:
    """Replace the helpers of the case."""
    table, stay = schema.case_helper, [helper.person for helper in helpers]
    await tx.execute(delete(table).where(table.c.case_id == case.id, table.c.person.not_in(stay)))
    rows = [{"case_id": case.id, **asdict(helper)} for helper in helpers]
    await insert_all_new(tx, table, rows, "person")


def as_case(row: Row[Any]) -> Case:
    """Turn a whole row into a case."""
    return Case(
        id=row.id,
        thread=ThreadRef(row.team, row.channel, row.thread_ts),
        customer=row.customer,
        customer_name=row.customer_name,
        member_type=row.member_type,
        link=row.link,
        language=row.language,
        state=row.state,
        version=row.version,
        reason=row.reason,
        priority=row.priority,
        title=row.title,
        summary=row.summary,
        owner=row.owner,
        owner_name=row.owner_name,
        opened_at=row.opened_at,
        claimed_at=row.claimed_at,
        ended_at=row.ended_at,
        **{name: getattr(row, name) for name in LATER},
    )


_CASE = schema.kase
_THREAD = _CASE.c.thread == bindparam("thread_key")
_OPEN_ONES = (
    select(_CASE.c.id).where(_THREAD, _CASE.c.state.in_(OPEN_STATES)),
    select(_CASE.c.merged_into).where(_THREAD, _CASE.c.state == MERGED),
)
# Not in one condition with `or`, because a database would then read all cases.
_FIND_OPEN = select(_CASE).where(
    _CASE.c.id.in_(select(union_all(*_OPEN_ONES).subquery().c.id)), _CASE.c.state.in_(OPEN_STATES)
)
_LATEST_ONE = select(func.max(_CASE.c.id)).where(_THREAD)
_FIND_OPEN_AND_LATEST = select(_CASE).where(_CASE.c.id.in_(select(union_all(*_OPEN_ONES, _LATEST_ONE).subquery().c.id)))
