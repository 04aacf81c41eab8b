"""`frontdesk kb build`. The builder's process does the work; this one opens neither the index nor the database."""

import argparse
import asyncio
import importlib
import sys
from pathlib import Path

from bot.cli.status import recipe_of, roots_of
from bot.cli.terminal import ProgressLine, as_plain
from bot.errors import ConfigurationError
from bot.help_center import status_texts
from bot.help_center.source_list import audiences_of, read_sources, wanted
from bot.settings import Settings
from knowledge.audience import Audience
from knowledge.build.builder import Builder
from knowledge.build.report import BuildReport
from knowledge.config import LEARNED, BuildOptions
from knowledge.errors import BuildRefused, KnowledgeError
from knowledge.generations import Generations
from knowledge.status import vectors_fault


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Build the bases; return the exit status."""
    roots = roots_of(given.index or settings.data_dir / "kb")
    path: Path | None = given.source or settings.kb_path
    learned = None if given.index else settings.data_dir / LEARNED
    config, faults = await asyncio.to_thread(read_sources, path, learned=learned)
    if faults:
        raise ConfigurationError(faults)
    try:
        if path is None:
            raise BuildRefused("nothing", "KB_PATH is not set: there is nothing to read.")
        for audience in audiences_of(wanted(config, given.only)):
            options = BuildOptions(force=given.force, only=given.only)
            report = await _build_one(path, roots[audience], settings, audience, options=options, learned=learned)
            print(as_plain(status_texts.report(report, audience=audience, cost=_cost(settings, report))))
    except KnowledgeError as error:
        print(f"frontdesk: not built: {error}", file=sys.stderr)
        return 1
    return 0


async def _build_one(
    path: Path, root: Path, settings: Settings, audience: Audience, *, options: BuildOptions, learned: Path | None
) -> BuildReport:
    """Build one base in a process of its own, and show how far it is. Damaged vectors are rebuilt in any case."""
    builder = Builder(root, recipe_of(settings), chroma_url=settings.chroma_url or "", learned=learned)
    line = ProgressLine(sys.stderr)
    try:
        report = await builder.build(path, audience=audience, options=options, on_progress=line)
        if not report.is_new and await asyncio.to_thread(_is_damaged, root):
            report = await builder.repair()
    finally:
        line.end()
        await builder.close()
    return report


def _is_damaged(root: Path) -> bool:
    current = Generations(root).current()
    return current is not None and vectors_fault(current) is not None


def _cost(settings: Settings, report: BuildReport) -> float | None:
    """What the embedder cost, in dollars. None if nothing or unknown."""
    if not (settings.embedding_model and report.embedded_tokens):
        return None
    # Few builds need prices.
    prices = importlib.import_module("bot.models.prices").load_prices(settings.model_prices)
    usage = importlib.import_module("bot.agent.model").Usage(report.embedded_tokens, 0)
    price = prices.of(settings.embedding_model)
    cost: float | None = price.of(usage) if price else None
    return cost
