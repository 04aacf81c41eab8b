"""The opening of a case: which case a thread belongs to when a person is needed.

find_or_open   the thread's open case, another one of the customer's that the thread joins, or a new one
usual_minutes  the usual time to claim, which the customer is told
permalink      the address of the customer's thread, for the card
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bot.cases import case as steps
from bot.cases.case import Priority
from bot.cases.files import earlier
from bot.cases.step import Stepping, lock_of
from bot.cases.titles import UNTITLED, cut, names_matter, title_in
from bot.clock import DAY
from bot.conversation import Customer, ThreadRef
from bot.failpoints import failpoint
from bot.slack.api.chat import Chat
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store import cases, outbox, threads, transcripts
from bot.store.cases import Case
from bot.store.database import Transaction
from bot.store.statements import lock
from bot.store.transcripts import TranscriptLine

SUMMARY_LIMIT = 820
ENDED = ("resolved", "closed")
"""The states of a case that a person ended. A later case in the same thread follows it, and its card says so."""

USUAL_SECONDS = 30 * DAY
"""The period, in seconds, over which the usual reply time is computed."""
USUAL_CLAIMS = 5
"""The number of claimed cases that the period must have. With fewer, no usual reply time is shown."""
USUAL_LATEST = 200
"""The number of latest claims that are used."""
LINK_SECONDS = 2.0
"""How long opening a case waits for the link to the customer's thread. A card without the link is better than none."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a case is opened with."""

    thread: ThreadRef
    customer: Customer
    reason: str
    priority: Priority
    subject: str
    """The title. If it does not say what the matter is, the title is made from what the customer wrote."""
    summary: str
    called_by: str
    """The name of the colleague who opened the case from the customer's message."""
    link: str
    """The address of the customer's thread."""
    said_first: str
    """What the customer reads first, in place of the sentence of the reason. Empty for that one."""
    usual: float | None
    """The usual time to claim, in minutes of open desk."""


async def find_or_open(
    tx: Transaction, opening: Opening, stepping: Stepping, *, most: int, one_a_customer: bool
) -> tuple[Case, bool]:
    """The case that the thread belongs to from now on, and whether the case is new.

    A customer with `most` open cases gets no further one. With `one_a_customer` an open case of another of the
    customer's threads is returned if it has the same reason.
    """
    thread, customer = opening.thread, opening.customer
    await lock(tx, f"cases/{customer.team}/{customer.user}")
    await lock(tx, lock_of(thread))
    if already := await cases.find_open(tx, thread):
        return already, False
    theirs = await _joinable(tx, thread, customer)
    if one_a_customer and (already := next((each for each in theirs if each.reason == opening.reason), None)):
        return already, False
    state = await threads.find_thread(tx, thread)
    language = state.language if state else ""
    lines = await transcripts.of_thread(tx, thread)
    if len(theirs) >= most and not one_a_customer:
        await _join(tx, theirs[-1], opening, stepping, language=language, lines=lines)
        return theirs[-1], False
    return await _open(tx, opening, stepping, language=language, lines=lines), True


async def _join(
    tx: Transaction,
    case: Case,
    opening: Opening,
    stepping: Stepping,
    *,
    language: str,
    lines: Sequence[TranscriptLine],
) -> None:
    """Join the thread to one of the customer's open cases, and tell both sides."""
    thread, customer, messages = opening.thread, opening.customer, stepping.messages
    written = [line for line in lines if line.speaker == customer.user]
    latest = written[-1] if written else TranscriptLine(thread.ts, customer.user, "")
    files = await earlier(tx, case, thread, messages.desk(case))
    rows = messages.thread_joined(
        case, thread, language, latest, reason=opening.reason, said_first=opening.said_first, country=customer.country
    )
    await outbox.add(tx, *rows, *files, now=stepping.clock.now())


async def _open(
    tx: Transaction, opening: Opening, stepping: Stepping, *, language: str, lines: Sequence[TranscriptLine]
) -> Case:
    thread, customer, messages, now = opening.thread, opening.customer, stepping.messages, stepping.clock.now()
    before = await cases.latest_of(tx, thread)
    follows = before is not None and before.state in ENDED and before.customer == customer.user
    written = (line.text for line in reversed(lines) if line.speaker == customer.user)
    title = _title(opening, written)
    new = Case(
        id=0,
        thread=thread,
        customer=customer.user,
        customer_name=customer.name,
        member_type=customer.member_type,
        link=opening.link,
        language=language,
        state="waiting",
        version=1,
        reason=opening.reason,
        priority=opening.priority,
        title=title or UNTITLED,
        summary=opening.summary[:SUMMARY_LIMIT],
        owner=None,
        owner_name=None,
        opened_at=now,
        claimed_at=None,
        ended_at=None,
        follows=before.id if before and follows else None,
        titled_by="rule" if title else "",
        titled_at=now if title else None,
    )
    case = await cases.add(tx, steps.wait(new, now=now, targets=stepping.targets))
    if case is None:
        raise RuntimeError("the thread's case was opened inside this transaction")
    failpoint("case_added")
    files = await earlier(tx, case, thread, messages.desk(case))
    rows = messages.opened(
        case,
        lines,
        usual=opening.usual,
        called_by=opening.called_by,
        said_first=opening.said_first,
        country=customer.country,
    )
    await outbox.add(tx, *rows, *files, messages.session(case), now=now)
    await stepping.note(tx, customer.user, "opened", case, reason=opening.reason)
    return case


async def usual_minutes(stepping: Stepping) -> float | None:
    """The median time to claim, in minutes of open desk. None if too few cases were claimed."""
    since = stepping.clock.now() - USUAL_SECONDS
    async with stepping.database.transaction() as tx:
        claims = await cases.claims_since(tx, since, latest=USUAL_LATEST)
    if len(claims) < USUAL_CLAIMS:
        return None
    return median(stepping.targets.hours.between(waited, claimed) for waited, claimed in claims) / 60


async def permalink(chat: Chat, thread: ThreadRef) -> str:
    """The address of the thread. Empty if Slack does not say it in time."""
    try:
        async with asyncio.timeout(LINK_SECONDS):
            return await chat.permalink(thread.channel, thread.ts)
    except (SlackRefused, SlackUnanswered, TimeoutError):
        return ""


async def _joinable(tx: Transaction, thread: ThreadRef, customer: Customer) -> list[Case]:
    """The customer's open cases that the thread can join.

    A direct message joins no case in a channel, where other people would read the reply.
    """
    found = await cases.find_open_of(tx, thread.team, customer.user)
    return [case for case in found if hides(case, thread)]


def hides(case: Case, thread: ThreadRef) -> bool:
    """Whether everyone who can read the case's messages can read the thread too."""
    return case.thread.is_direct or not thread.is_direct


def _title(opening: Opening, written: Iterable[str]) -> str:
    """What the case is about, in a few words. Empty if that is not known yet."""
    if names_matter(opening.subject):
        return cut(opening.subject)
    return title_in(written) or title_in([opening.summary])
