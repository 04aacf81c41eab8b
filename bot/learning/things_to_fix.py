"""What a desk could fix next, the most frequent first: derived from the last weeks whenever it is shown.

find             The things to fix of one desk.
  _questions     Questions without an answer that helped, grouped by matter.
  _low_scores    Solved cases whose customers were not satisfied, by topic.
  _could_have    Cases that needed no person, by topic.
  _old_pages     Pages that answers name and that no one has changed for long.

A thing is named by what it is made of, such as `turn/7` or `low/FD-1012`. What staff have done is noted under these
names, so it counts again only if it happens again. A question is gone, too, when an article was made from a case in
which a person answered it, and when the help pages have changed since and answer it now.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Literal

from bot.cases.staff import Staff
from bot.clock import DAY, WEEK
from bot.help_center.gaps import QUESTIONS, impersonal, the_same
from bot.store import fixes, suggestions, traces
from bot.store.cases import ref_of
from bot.store.database import Database, Transaction
from bot.store.fixes import BadCase, Cited
from bot.store.traces import Unanswered
from bot.views.cards import NOT_HELPFUL
from knowledge.errors import EmbedderFailed
from knowledge.knowledge_base import Findings, KnowledgeBase

logger = logging.getLogger(__name__)

MAX_THINGS = 5
"""The most things in a list."""
WINDOW = 4 * WEEK
"""How far a list looks back."""
BAD_CASES = 200
"""The most cases of a kind that are read."""
LOOKED_UP = 12
"""The most groups of questions, and the most pages, that are looked up in the help pages."""
OFTEN = 3
"""How many answers have to name a page before its age matters."""
OLD_DAYS = 365
"""The age in days from which a page is old."""

Kind = Literal["question", "low", "could", "page"]


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing to fix."""

    kind: Kind
    subjects: tuple[str, ...]
    """What it is made of, the newest first."""
    times: int
    people: int
    last: float
    """When it last happened."""
    example: str = ""
    """A question without personal data, or the title of a page. Empty for cases."""
    cause: str = ""
    """What the cases were about."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Why it is bad -> how often: a rating of an answer, or what went wrong in a case. Empty for "not answered"."""
    cases: tuple[int, ...] = ()
    """The cases that it happened in, or in which a person answered, the newest first."""
    page: str = ""
    """The title of the page that is old, or that comes closest to the question."""
    url: str = ""
    """The page's address. Empty if it has none."""
    changed: str = ""
    """When the old page was last changed, as an ISO date."""


@dataclass(frozen=True, slots=True)
class Found:
    """The things to fix, and what they were made from."""

    things: tuple[Thing, ...]
    turns: tuple[int, ...]
    cases: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ThingsToFix:
    """Finds the things to fix."""

    database: Database
    knowledge: KnowledgeBase
    staff: Staff

    async def find(self, channel: str, *, until: float, most: int = MAX_THINGS) -> Found:
        """The things to fix of the desk with this channel, of the weeks before `until`."""
        since, at = until - WINDOW, self.staff.desk_in(channel)
        async with self.database.reading() as tx:
            done = await fixes.since(tx, channel, since)
            asked = await self._asked(tx, channel, since=since, until=until)
            low = await fixes.low_scores(tx, since=since, at=at, limit=BAD_CASES)
            could = await fixes.could_have(tx, since=since, at=at, limit=BAD_CASES)
            # The help pages are the same for all desks, so one of them looks after their age.
            cited = await fixes.cited(tx, since=since) if at.have_desk("") else []
            answered = await suggestions.cases_answered_in(tx, {each.thread for each in asked})
            written = await fixes.articles_from(tx, {*answered.values(), *(each.id for each in could)})
        low = [each for each in low if each.at <= until]
        could = [each for each in could if each.at <= until and each.at > written.get(each.id, 0.0)]
        left = [each for each in asked if _is_left(f"turn/{each.turn}", each.at, done)]
        things = [
            *await self._questions(left, answered, written),
            *_of_cases("low", [each for each in low if _is_left(f"low/{each.ref}", each.at, done)]),
            *_of_cases("could", [each for each in could if _is_left(f"could/{each.ref}", each.at, done)]),
            *await self._old_pages([each for each in cited if each.at <= until], done, until=until),
        ]
        things.sort(key=lambda thing: (-thing.times, -thing.people, -thing.last))
        numbers = sorted({each.id for each in (*low, *could)} | set(answered.values()))
        return Found(tuple(things[:most]), tuple(sorted({each.turn for each in asked})), tuple(numbers))

    async def _asked(self, tx: Transaction, channel: str, *, since: float, until: float) -> list[Unanswered]:
        """The questions that belong to the desk: that of the thread's latest case, else the first desk."""
        found = await traces.unanswered(tx, since=since, limit=QUESTIONS)
        found += await traces.rated(tx, NOT_HELPFUL, since=since, limit=QUESTIONS)
        desks = await fixes.desks_of(tx, {each.thread for each in found})
        at = self.staff.desk_in(channel)
        # A private answer to a question in a channel has two turns with one number.
        ours = {each.turn: each for each in found if each.at <= until and at.have_desk(desks.get(each.thread, ""))}
        return list(ours.values())

    async def _questions(
        self, asked: Sequence[Unanswered], answered: Mapping[str, int], written: Mapping[int, float]
    ) -> list[Thing]:
        texts = [impersonal(each.text) for each in asked]
        try:
            groups: Sequence[Sequence[int]] = await self.knowledge.alike(texts)
        except EmbedderFailed:
            logger.warning("the questions to fix could not be grouped by meaning")
            groups = the_same(texts)
        things = []
        for places in groups:
            group = [asked[place] for place in places]
            cases = {answered[each.thread] for each in group if each.thread in answered}
            article_at = max((written[case] for case in cases if case in written), default=0.0)
            if left := [each for each in group if each.at > article_at]:
                things.append(_of_questions(left, cases))
        things.sort(key=lambda thing: (-thing.times, -thing.last))
        looked_up = [await self._look_up(thing) for thing in things[:LOOKED_UP]]
        return [thing for thing in looked_up if thing is not None]

    async def _look_up(self, thing: Thing) -> Thing | None:
        """The thing with the page that comes closest. None if the pages have changed since and answer it now."""
        found = await self.knowledge.search(thing.example, limit=1)
        if found.answerable and not any(thing.counts) and await self._built_at() > thing.last:
            return None
        return _beside(thing, found)

    async def _built_at(self) -> float:
        built = (await self.knowledge.status()).built_at
        return datetime.fromisoformat(built).timestamp() if built else 0.0

    async def _old_pages(self, cited: Sequence[Cited], done: Mapping[str, float], *, until: float) -> list[Thing]:
        pages: dict[tuple[str, str], list[Cited]] = {}
        for each in cited:
            if each.at > done.get(_page_subject(each), 0.0):
                pages.setdefault((each.title, each.url), []).append(each)
        often = sorted(pages.values(), key=lambda some: -len(some))[:LOOKED_UP]
        things = []
        for some in often:
            changed = await self._changed(some[0]) if len(some) >= OFTEN else ""
            if changed and _age(changed, until) >= OLD_DAYS:
                things.append(_of_page(some, changed))
        return things

    async def _changed(self, page: Cited) -> str:
        """When the page was last changed, as an ISO date. Empty if it is not known."""
        found = await self.knowledge.search(page.title)
        same = (hit for hit in found.hits if (hit.url == page.url if page.url else hit.title == page.title))
        return next((hit.last_updated for hit in same if hit.last_updated), "")


def _is_left(subject: str, at: float, done: Mapping[str, float]) -> bool:
    """Whether it has happened since staff have done it, or they have not."""
    return at > done.get(subject, 0.0)


def _of_questions(asked: Sequence[Unanswered], cases: Iterable[int]) -> Thing:
    newest = sorted(asked, key=lambda each: -each.at)
    counts = Counter(each.rating for each in asked)
    return Thing(
        "question",
        tuple(f"turn/{each.turn}" for each in newest),
        len(asked),
        len({each.customer for each in asked}),
        newest[0].at,
        example=impersonal(asked[0].text),
        counts=dict(counts.most_common()),
        cases=tuple(sorted(cases, reverse=True)),
    )


def _beside(thing: Thing, found: Findings) -> Thing:
    if not found.hits:
        return thing
    return replace(thing, page=found.hits[0].title, url=found.hits[0].url)


def _of_cases(kind: Literal["low", "could"], cases: Sequence[BadCase]) -> list[Thing]:
    by_cause: dict[str, list[BadCase]] = {}
    for each in sorted(cases, key=lambda case: -case.at):
        by_cause.setdefault(each.cause, []).append(each)
    return [
        Thing(
            kind,
            tuple(f"{kind}/{each.ref}" for each in some),
            len(some),
            len({each.customer for each in some}),
            some[0].at,
            cause=cause,
            counts=dict(Counter(each.reason for each in some if each.reason).most_common()),
            cases=tuple(each.id for each in some),
        )
        for cause, some in by_cause.items()
    ]


def _of_page(cited: Sequence[Cited], changed: str) -> Thing:
    page = cited[0]
    people, last = len({each.customer for each in cited}), max(each.at for each in cited)
    return Thing(
        "page",
        (_page_subject(page),),
        len(cited),
        people,
        last,
        example=page.title,
        page=page.title,
        url=page.url,
        changed=changed,
    )


def _page_subject(page: Cited) -> str:
    return f"page/{hashlib.sha256((page.url or page.title).encode()).hexdigest()[:32]}"


def _age(changed: str, now: float) -> float:
    """The age of a page in days. 0.0 if the date can't be read."""
    try:
        since = date.fromisoformat(changed[:10])
    except ValueError:
        return 0.0
    return (now - datetime(since.year, since.month, since.day, tzinfo=UTC).timestamp()) / DAY


def article_case(thing: Thing) -> str:
    """The case from which an article can be made. Empty if no person answered, or nothing can be written."""
    return ref_of(thing.cases[0]) if thing.kind in ("question", "could") and thing.cases else ""
