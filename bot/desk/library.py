"""The knowledge base as staff see it: its state, a look at what a search finds and why, a refresh with its report."""

import logging
import re
from datetime import datetime
from pathlib import Path

from bot.desk.answers import place
from bot.slack.mrkdwn import escape
from knowledge.errors import KnowledgeError
from knowledge.knowledge_base import KnowledgeBase
from knowledge.passages import Hit
from knowledge.report import Report

logger = logging.getLogger(__name__)

_MARKUP = re.compile(r"[*_#`|]+")

SHOWN = 5
EXCERPT = 160


class Library:
    """Words for `/kb`, in mrkdwn."""

    def __init__(self, knowledge: KnowledgeBase, *, source: Path | None) -> None:
        self._knowledge = knowledge
        self._source = source

    async def status(self) -> str:
        """The generation that serves, and what is wrong with it."""
        status = await self._knowledge.status()
        if status.generation is None:
            reason = escape(status.error or "Set `KB_PATH` and use `/kb refresh`.")
            return f"The knowledge base is {'being built' if status.building else 'empty'}. {reason}"
        built = datetime.fromisoformat(status.built_at)
        sources = ", ".join(f"`{escape(Path(each.path).name)}` ({each.documents})" for each in status.sources)
        lines = [
            f"*Knowledge base*, generation {status.generation}",
            f"{status.documents} documents, {status.chunks} passages, built {_date(built)}",
            f"Sources: {sources}",
            f"Embedder `{escape(status.embedder)}`, answers from a confidence of {status.floor:.2f}",
        ]
        if status.error:
            lines.append(f":warning: {escape(status.error)}")
        if status.building:
            lines.append("A refresh is under way.")
        return "\n".join(lines)

    async def search(self, query: str) -> str:
        """The passages a customer's question would get, with their scores."""
        if not query.strip():
            return "Search for what?"
        if (await self._knowledge.status()).generation is None:
            return await self.status()
        findings = await self._knowledge.search(query)
        verdict = "would be answered" if findings.answerable else "would *not* be answered"
        head = f"*{escape(query)}* {verdict}: confidence {findings.confidence:.2f}"
        return "\n".join([head, *(_line(hit) for hit in findings.hits[:SHOWN])])

    async def refresh(self, *, force: bool) -> str:
        """Build a new generation and say what changed; the present one serves until the new one is whole."""
        if self._source is None:
            return "`KB_PATH` is not set: there is nothing to read."
        try:
            return report_text(await self._knowledge.refresh(self._source, force=force))
        except KnowledgeError as error:
            logger.warning("a refresh failed", extra={"reason": type(error).__name__})
            return f":warning: Not refreshed, the present knowledge base goes on serving. {escape(str(error))}"


def report_text(report: Report) -> str:
    """What a refresh changed, in mrkdwn."""
    if not report.is_new and not report.quarantined:
        return f"Nothing has changed: generation {report.generation} serves on with {report.documents} documents."
    lines = [
        f"*Refreshed* in {report.seconds:.1f} s: {report.added} added, {report.changed} changed, "
        f"{report.removed} removed, {report.unchanged} unchanged. Generation {report.generation} serves now."
    ]
    left_out = [(each.name, each.reason) for each in report.quarantined]
    lines += [f":warning: left out `{escape(name)}`: {escape(reason)}" for name, reason in left_out[:SHOWN]]
    if len(left_out) > SHOWN:
        lines.append(f"… and {len(left_out) - SHOWN} more left out.")
    return "\n".join(lines)


def _line(hit: Hit) -> str:
    title = escape(place(hit))
    excerpt = escape(" ".join(_MARKUP.sub("", hit.text).split())[:EXCERPT])
    return f"• `{hit.score:.2f}` *{title}*\n>{excerpt} …"


def _date(moment: datetime) -> str:
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} {{time}}|{moment:%Y-%m-%d %H:%M} UTC>"
