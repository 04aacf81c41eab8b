"""What staff can do with the knowledge base: see its status, search it, refresh it, and list its gaps.

There are at most two bases: the public one, for answers to customers, and the internal one, which only staff see.
The texts are in texts.py.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import get_args

from bot.agent.endpoints import Price
from bot.agent.model import Usage
from bot.clock import DAY, Clock
from bot.errors import StoreUnavailable
from bot.help_center import status_texts, texts
from bot.help_center.article_folder import ArticleFolder
from bot.help_center.gaps import QUESTIONS, gaps_from, impersonal, the_same
from bot.help_center.index_replication import ReplicationStatus, replication_status
from bot.help_center.schedule import NAME
from bot.help_center.source_list import audiences_of, wanted
from bot.help_center.status_texts import Watch
from bot.store import audit, schedule, suggestions, traces
from bot.store.cases import ref_of
from bot.store.database import Database
from bot.views.cards import NOT_HELPFUL
from knowledge.audience import Audience
from knowledge.build.report import BuildReport, Progress
from knowledge.config import LEARNED, Config, read_config
from knowledge.errors import BuildRefused, BuildStopped, EmbedderFailed, KnowledgeError, SourcesFaulty
from knowledge.knowledge_base import Findings, KnowledgeBase
from knowledge.search.filters import EVERYTHING, Filter
from knowledge.search.passages import Hit

logger = logging.getLogger(__name__)

ADDED = "Internal sources were added: restart Frontdesk, and they are read."
BEHIND = "The articles that staff added are not all in it."
GONE = "KB_PATH lists no such source any more: this base stays as it is until Frontdesk is restarted."

Tell = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Bases:
    """The knowledge bases of a desk."""

    public: KnowledgeBase
    """The only base that is searched for customers' questions and for drafts to customers."""
    internal: KnowledgeBase | None = None
    """The base for staff only. None if no source is internal."""

    @property
    def are_damaged(self) -> bool:
        """Whether one of the bases is damaged and must be built again."""
        return self.public.is_damaged or (self.internal is not None and self.internal.is_damaged)

    def by_audience(self) -> dict[Audience, KnowledgeBase]:
        """The existing bases by their audience."""
        return {audience: base for audience in get_args(Audience) if (base := self.of(audience)) is not None}

    def of(self, audience: Audience) -> KnowledgeBase | None:
        """The base for an audience."""
        return self.public if audience == "public" else self.internal


@dataclass(frozen=True, slots=True)
class Refresh:
    """A request to refresh the bases."""

    only: str = ""
    """The one source to read. If it is empty, all sources are read."""
    force: bool = False
    """Refresh even if many documents would be removed."""


@dataclass(slots=True)
class Library:
    """Carries out `/kb` and `frontdesk kb`. Every answer is mrkdwn that fits into one message."""

    bases: Bases
    source: Path | None
    """KB_PATH."""
    clock: Clock
    price: Price | None = None
    """The price of the embedder, if it costs money and the price is known."""
    database: Database | None = None
    """None on a command line without a database. Then gaps are unknown, and no audit entry is written."""
    shelf: ArticleFolder | None = None
    """The articles that staff added, which are a source of the public base. None if the index is not the served one."""
    failures: dict[Audience, str] = field(default_factory=dict)
    """Audience -> why its base differs from its sources, until a refresh succeeds."""
    look_again: Callable[[str, Findings], Awaitable[tuple[Findings, str]]] | None = None
    """Looks for what staff search for again, as for a customer: what is found then, and for which words."""

    async def problems(self) -> str:
        """Everything that the last build of each base left out, in full."""
        told = [
            status_texts.problems((await base.status()).left_out, audience=audience) for audience, base in self._all()
        ]
        return "\n\n".join(told)

    async def status(self) -> str:
        """The status of both bases, and the time of the next refresh."""
        told = []
        for audience, base in self._all():
            status, failure = await base.status(), self.failures.get(audience)
            replication = await self._replication_status(audience)
            among = texts.among(status, replication) if replication else ()
            told.append(
                status_texts.status(status, audience=audience, now=self.clock.now(), failure=failure, among=among)
            )
        told += self._left_out()
        if self.source is None and self.database is not None:
            told.append("`KB_PATH` is not set: nothing is read.")
        if due := await self._due():
            told.append(f"Next refresh {status_texts.moment(due)}.")
        return status_texts.fitting("\n\n".join(told))

    async def search(self, query: str, only: Filter = EVERYTHING) -> str:
        """What a customer's question would find, with the scores, and what it finds in the internal base."""
        if not query.strip():
            return "Search for what?"
        async with asyncio.TaskGroup() as tasks:
            asked = [(a, base, tasks.create_task(base.search(query, only=only))) for a, base in self._all()]
        told = []
        for audience, base, task in asked:
            found, rewritten = task.result(), ""
            if self.look_again is not None and audience == "public" and not only:
                found, rewritten = await self.look_again(query, found)
            told.append(texts.findings(query, found, await base.status(), audience=audience, rewritten=rewritten))
        return status_texts.fitting("\n\n".join(told))

    async def refresh(self, interrupt: Refresh, *, begins: Tell, watch: Watch, by: str = "") -> str:
        """Refresh the bases from their sources, and say what changed. Until it is done, the present index serves.

        `begins` is called once, when the refresh begins. From then on `watch` tracks its progress. `by` is the user
        who asked, for the audit trail.
        """
        try:
            targets = await self.targets(interrupt)
        except KnowledgeError as error:
            return f":warning: Not refreshed. {status_texts.plain(str(error))}"
        await self._note(by, "kb_refresh", interrupt.only or "all", force=interrupt.force)
        await begins(status_texts.JOINS if any(base.is_building for _, base in targets) else status_texts.BEGINS)
        told = [await self._refresh(audience, base, interrupt, watch) for audience, base in targets]
        return status_texts.fitting("\n\n".join([*told, *self._left_out()]))

    async def refresh_all(self, *, on_progress: Callable[[Progress], None] | None = None) -> str:
        """Refresh all bases, without a user who asked."""
        try:
            targets = await self.targets(Refresh())
        except KnowledgeError as error:
            self.failures["public"] = f"The last refresh failed. {error}"
            return f"Not refreshed. {error}"
        watch = Watch(on_progress)
        return "\n\n".join([await self._refresh(audience, base, Refresh(), watch) for audience, base in targets])

    async def catch_up(self, audience: Audience, *, force: bool) -> None:
        """Refresh one base because another machine has refreshed its own. Raises KnowledgeError."""
        base = self.bases.of(audience)
        if base is None:
            return
        mark = await self._lay_out(audience)
        try:
            await base.refresh(self.place(), force=force, follows=True)
        except KnowledgeError as error:
            if not (isinstance(error, BuildRefused) and error.reason == "busy"):
                self.failures[audience] = f"The last refresh failed. {error}"
            raise
        self.failures.pop(audience, None)
        await self._has_read(audience, mark)

    async def publish(self, *, follows: bool) -> None:
        """Make the public base read only the articles that staff added. Raises KnowledgeError.

        `follows` is set if another process has changed them.
        """
        mark = await self._lay_out("public")
        try:
            await self.bases.public.refresh(self.place(), only=LEARNED, follows=follows)
        except KnowledgeError as error:
            self.failures["public"] = f"{BEHIND} {error}"
            raise
        if self.failures.get("public", "").startswith(BEHIND):
            del self.failures["public"]
        await self._has_read("public", mark)

    async def roll_back(self, audience: Audience = "public", *, by: str = "") -> str:
        """Serve the generation before this one."""
        base = self.bases.of(audience)
        if base is None:
            return "There is no internal knowledge base."
        try:
            status = await base.rollback()
        except KnowledgeError as error:
            return f":warning: Not rolled back. {status_texts.plain(str(error))}"
        await self._note(by, "kb_rollback", audience, generation=status.generation)
        return status_texts.rolled_back(status, audience=audience)

    async def gaps(self, days: int) -> str:
        """The questions of the last days that were not answered, or whose answer did not help, grouped by meaning."""
        if self.database is None:
            return "Without a database nothing is known of what was asked."
        async with self.database.transaction() as tx:
            since = self.clock.now() - days * DAY
            asked = await traces.unanswered(tx, since=since, limit=QUESTIONS)
            asked += await traces.rated(tx, NOT_HELPFUL, since=since, limit=QUESTIONS)
        questions = [impersonal(each.text) for each in asked]
        by_meaning = True
        try:
            groups: Sequence[Sequence[int]] = await self.bases.public.alike(questions)
        except EmbedderFailed:
            logger.exception("the gaps could not be sorted by meaning")
            groups, by_meaning = the_same(questions), False
        found = gaps_from(asked, groups)
        async with self.database.transaction() as tx:
            over = await suggestions.cases_answered_in(tx, {each.thread for each in asked})
        answered = {thread: ref_of(case) for thread, case in over.items()}
        nearest = await self._nearest([gap.example for gap in found[: texts.GAPS_SHOWN]])
        told = texts.gaps(found, days=days, by_meaning=by_meaning, answered=answered, nearest=nearest)
        return status_texts.fitting(told)

    async def _nearest(self, questions: Sequence[str]) -> dict[str, Hit]:
        """The page of the public base that comes closest to each question. Some may have none."""
        async with asyncio.TaskGroup() as tasks:
            asked = {each: tasks.create_task(self.bases.public.search(each, limit=1)) for each in set(questions)}
        return {each: task.result().hits[0] for each, task in asked.items() if task.result().hits}

    def cost_of(self, report: BuildReport) -> float | None:
        """What the embedder cost in a refresh, in dollars. None if that is not known."""
        return self.price.of(Usage(report.embedded_tokens, 0)) if self.price else None

    def _all(self) -> list[tuple[Audience, KnowledgeBase]]:
        return list(self.bases.by_audience().items())

    def _left_out(self) -> list[str]:
        """The sources of a base that is not open."""
        return [f":warning: {why}" for audience, why in self.failures.items() if self.bases.of(audience) is None]

    def place(self) -> Path:
        """The path of the sources. Raises BuildRefused if KB_PATH is not set."""
        if self.source is None:
            raise BuildRefused("nothing", "KB_PATH is not set: there is nothing to read.")
        return self.source

    async def targets(self, interrupt: Refresh) -> list[tuple[Audience, KnowledgeBase]]:
        """The bases to refresh. Raises KnowledgeError if the sources can't be read, or the wanted one is not there."""
        learned = self.shelf.folder if self.shelf else None
        config: Config = await asyncio.to_thread(partial(read_config, self.place(), learned=learned))
        audiences = audiences_of(wanted(config, interrupt.only))
        self._compare(config)
        targets = [(audience, base) for audience, base in self._all() if audience in audiences]
        if not targets:
            raise SourcesFaulty([ADDED])
        return targets

    def _compare(self, config: Config) -> None:
        """Note a base that the sources file has added or removed since the start, when the bases were opened."""
        for audience in get_args(Audience):
            if self.failures.get(audience) in (ADDED, GONE):
                del self.failures[audience]
            listed, is_open = bool(config.of(audience)), self.bases.of(audience) is not None
            if listed != is_open:
                self.failures[audience] = ADDED if listed else GONE

    async def _refresh(self, audience: Audience, base: KnowledgeBase, interrupt: Refresh, watch: Watch) -> str:
        watch.begin(audience)
        mark = await self._lay_out(audience)
        try:
            report = await base.refresh(self.place(), only=interrupt.only, force=interrupt.force, on_progress=watch)
        except KnowledgeError as error:
            serves = (await base.status()).generation is not None
            if serves or isinstance(error, BuildStopped):
                logger.warning("a refresh failed", extra={"base": audience, "reason": type(error).__name__})
            else:
                told = "nothing can be looked up: the knowledge base could not be built"
                logger.error(told, extra={"base": audience, "reason": str(error)})
            self.failures[audience] = f"The last refresh failed. {error}"
            return status_texts.not_refreshed(error, audience=audience, serves=serves)
        self.failures.pop(audience, None)
        if interrupt.only in ("", LEARNED):
            await self._has_read(audience, mark)
        return status_texts.report(report, audience=audience, cost=self.cost_of(report))

    async def _lay_out(self, audience: Audience) -> str:
        """Write the articles that staff added into the folder for the base's next build. Returns their mark."""
        return await self.shelf.lay_out() if self.shelf and audience == "public" else ""

    async def _has_read(self, audience: Audience, mark: str) -> None:
        """Record that the base contains the articles of this mark."""
        if self.shelf and audience == "public":
            await self.shelf.note(mark)

    async def _replication_status(self, audience: Audience) -> ReplicationStatus | None:
        if self.database is None:
            return None
        try:
            return await replication_status(self.database, audience, now=self.clock.now())
        except StoreUnavailable:
            return None

    async def _due(self) -> float | None:
        if self.database is None:
            return None
        try:
            async with self.database.transaction() as tx:
                return await schedule.due(tx, NAME)
        except StoreUnavailable:
            return None

    async def _note(self, by: str, action: str, subject: str, **detail: object) -> None:
        """Write an audit entry for what a person did."""
        if self.database is None or not by:
            return
        async with self.database.transaction() as tx:
            await audit.note(tx, actor=by, action=action, subject=subject, detail=detail, now=self.clock.now())
