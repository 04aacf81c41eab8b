"""The articles that staff added, as a folder on this machine's disk that the index reads. It is written from the rows.

Shelf        Writes the folder, and next to it the questions for the evaluation of the knowledge base.
Publishing   Refreshes the index when the rows have changed, in this process or another one.

Each machine has a folder of its own. The rows in the database are the truth for all machines. After a successful
refresh the folder records what the index contains, so after a crash at any point the index is found to be behind.
"""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import yaml

from bot.alerts import Alerts
from bot.clock import Clock
from bot.errors import StoreUnavailable
from bot.help_center.articles import document_of
from bot.store import suggestions
from bot.store.database import Database
from bot.store.suggestions import Suggestion
from knowledge.config import LEARNED
from knowledge.errors import KnowledgeError

logger = logging.getLogger(__name__)

QUESTIONS = Path("evaluation", "questions.jsonl")
"""A file in DATA_DIR with a line for each article, for `frontdesk kb search --questions` and the evaluation."""
MARK = ".indexed"
"""The file that records which articles the index contains. A file whose name begins with a dot is no page."""
REVIEW = timedelta(days=182)
"""After this time, a person should check whether an article is still correct."""
ARTICLE_POLL_INTERVAL = 20.0
"""The time between two checks for changes of the articles by other processes, in seconds."""
INDEX_RETRY_DELAY = 120.0
"""The delay before a failed refresh of the index is tried again, in seconds."""


@dataclass(frozen=True, slots=True)
class ArticleFolder:
    """Writes the folder of articles."""

    data: Path
    """DATA_DIR. The pages are in its folder LEARNED."""
    database: Database | None
    """None on a command line without a database. The folder then stays as it is."""

    @property
    def folder(self) -> Path:
        """The folder with the pages."""
        return self.data / LEARNED

    async def lay_out(self) -> str:
        """Write the rows into the folder. Returns their mark, or an empty string if the database can't be reached."""
        try:
            return await self._lay_out()
        except (StoreUnavailable, OSError) as error:
            logger.warning("the articles could not be written", extra={"reason": str(error)})
            return ""

    async def _lay_out(self) -> str:
        if self.database is None:
            return ""
        async with self.database.transaction() as tx:
            mark = await suggestions.mark_of_articles(tx)
            articles = await suggestions.articles(tx)
        await asyncio.to_thread(self._write, articles)
        return mark

    async def is_behind(self) -> bool:
        """Whether the index differs from the rows. Raises StoreUnavailable."""
        if self.database is None:
            return False
        async with self.database.reading() as tx:
            mark = await suggestions.mark_of_articles(tx)
            has_any = bool(await suggestions.articles(tx))
        if not self.folder.is_dir() and not has_any:
            return False
        return await asyncio.to_thread(self._noted) != mark

    async def note(self, mark: str) -> None:
        """Record that the index contains the articles of this mark."""
        if mark and self.folder.is_dir():
            await asyncio.to_thread(_write_file, self.folder / MARK, mark)

    def _write(self, articles: Sequence[Suggestion]) -> None:
        if not articles and not self.folder.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = {document_of(article).partition("/")[2]: page(article) for article in articles}
        for path in self.folder.glob("*.md"):
            if path.name not in wanted:
                path.unlink(missing_ok=True)
        for name, text in wanted.items():
            _write_if_new(self.folder / name, text)
        questions = self.data / QUESTIONS
        questions.parent.mkdir(exist_ok=True)
        _write_if_new(questions, "".join(f"{question(article)}\n" for article in articles))

    def _noted(self) -> str:
        try:
            return (self.folder / MARK).read_text("utf-8")
        except OSError:
            return ""


class Publisher(Protocol):
    """Makes the public index read the articles."""

    async def __call__(self, *, follows: bool) -> None:
        """`follows` is set if another process has changed the articles. Raises KnowledgeError."""


class Publishing:
    """Keeps the index up to date with the articles, and closes suggestions that no one decides on."""

    def __init__(
        self,
        shelf: ArticleFolder,
        clock: Clock,
        publish: Publisher,
        expire: Callable[[], Awaitable[None]],
        changes: asyncio.Event,
    ) -> None:
        """`changes` is set whenever this process has changed the articles."""
        self._shelf = shelf
        self._clock = clock
        self._publish = publish
        self._expire = expire
        self._changes = changes
        self._not_before = float("-inf")
        self._alerts = Alerts()

    async def run(self) -> None:
        """Check and refresh until cancelled."""
        while True:
            napping = asyncio.ensure_future(self._clock.sleep(ARTICLE_POLL_INTERVAL))
            waking = asyncio.create_task(self._changes.wait())
            try:
                await asyncio.wait({napping, waking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                napping.cancel()
                waking.cancel()
            is_ours = self._changes.is_set()
            self._changes.clear()
            try:
                await self.look(follows=not is_ours)
            except Exception as error:  # noqa: BLE001 - memory may run out, and whoever stopped looking would never look
                self._alerts.tell(logger, "the articles could not be looked at", about=type(error).__name__)

    async def look(self, *, follows: bool) -> None:
        """Close overdue suggestions, and refresh the index if it is behind."""
        await self._expire()
        if (follows and self._clock.monotonic() < self._not_before) or not await self._shelf.is_behind():
            return
        try:
            await self._publish(follows=follows)
        except KnowledgeError as error:
            self._not_before = self._clock.monotonic() + INDEX_RETRY_DELAY
            logger.warning("the articles are not in the index", extra={"reason": type(error).__name__})


def page(article: Suggestion) -> str:
    """The article as a page. Every machine writes the same text."""
    day = datetime.fromtimestamp(article.decided_at or article.made_at, UTC).date()
    matter = {
        "title": article.title,
        "source": article.ref or ("a thread of a channel" if article.thread else "a message of the team"),
        "approved_by": article.decided_by,
        "last_updated": day.isoformat(),
        "review": (day + REVIEW).isoformat(),
    }
    front = yaml.safe_dump(matter, allow_unicode=True, sort_keys=False, width=10_000)
    return f"---\n{front}---\n# {article.question}\n\n{article.answer}\n"


def question(article: Suggestion) -> str:
    """The article's question and the page that a search for it must find, as a line of JSON."""
    document = document_of(article)
    qid = document.partition("/")[2].removesuffix(".md")
    told = {"qid": qid, "question": article.question, "answerable": True, "kind": LEARNED, "docs": [document]}
    return json.dumps(told, ensure_ascii=False)


def _write_if_new(path: Path, text: str) -> None:
    try:
        if path.read_text("utf-8") == text:
            return
    except (OSError, UnicodeDecodeError):
        pass
    _write_file(path, text)


def _write_file(path: Path, text: str) -> None:
    """Write the file atomically. A reader sees either the old text or the new one."""
    fresh = path.with_name(f".{path.name}.tmp")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
