"""`frontdesk kb search`, `rollback` and `gaps`, which open the index. Other commands start without all this."""

import argparse
import json
import sys
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import TextIO

from bot.cli.terminal import as_plain
from bot.clock import SystemClock
from bot.errors import ConfigurationError
from bot.help_center.article_folder import ArticleFolder
from bot.help_center.library import Library
from bot.integrations import build_library, open_knowledge
from bot.models.prices import load_prices
from bot.settings import Settings
from bot.store.database import open_kept
from knowledge.search.filters import Filter

ASKED_LIMIT, ASKED_WORDS = 10, 4_000
"""Passages for each of many questions, and words in these passages: enough to judge the ten best."""


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Run one verb of `kb`; return the exit status."""
    verb = given.verb
    if verb == "search" and bool(given.text) == (given.questions is not None):
        raise ConfigurationError(["kb search: give either a text or --questions"])
    index = getattr(given, "index", None)
    if index:
        settings = settings.model_copy(update={"kb_path": None})
    async with AsyncExitStack() as stack:
        bases = await stack.enter_async_context(open_knowledge(settings, index=index, mends=False))
        opening = open_kept(settings.database)
        database = await stack.enter_async_context(opening) if verb == "gaps" else None
        prices = load_prices(settings.model_prices)
        shelf = None if index else ArticleFolder(settings.data_dir, database)
        library = build_library(settings, bases, clock=SystemClock(), database=database, prices=prices, shelf=shelf)
        match verb:
            case "search":
                return await _search(given, library)
            case "rollback":
                return _told(await library.roll_back("internal" if given.internal else "public"))
            case _:
                print(as_plain(await library.gaps(given.days)))
    return 0


async def _search(given: argparse.Namespace, library: Library) -> int:
    only = Filter(given.source, given.category, given.language)
    status = await library.bases.public.status()
    if status.generation is None:
        print(f"frontdesk: nothing to search: {status.error}", file=sys.stderr)
        return 1
    if given.questions is None:
        print(as_plain(await library.search(" ".join(given.text), only)))
        return 0
    questions = _read_questions(given.questions)
    with _opened(given.out) if given.out else nullcontext(sys.stdout) as out:
        for qid, question in questions:
            found = await library.bases.public.search(question, limit=ASKED_LIMIT, words=ASKED_WORDS, only=only)
            # A row of an FAQ is known by its id alone.
            results = [{"doc": hit.source.rpartition("#")[2], "text": hit.text} for hit in found.hits]
            line = {"qid": qid, "results": results, "confidence": found.confidence}
            print(json.dumps(line, ensure_ascii=False), file=out)
    return 0


def _opened(path: Path) -> TextIO:
    """Open the file for results. Raises ConfigurationError."""
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError([f"--out: {path} cannot be written ({error.strerror})"]) from None


def _read_questions(path: Path) -> list[tuple[str, str]]:
    """Read questions and their ids from lines of JSON. Raises ConfigurationError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigurationError([f"--questions: {path} cannot be read ({error.strerror})"]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([f"--questions: {path} is not UTF-8"]) from None
    questions: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
            questions.append((asked["qid"], str(asked["question"])))
        except (ValueError, KeyError, TypeError):
            raise ConfigurationError([f"--questions: line {number} has no qid and question"]) from None
    return questions


def _told(mrkdwn: str) -> int:
    """Print an answer; return the exit status. An answer that begins with a warning was refused."""
    if mrkdwn.startswith(":warning:"):
        print(f"frontdesk: {as_plain(mrkdwn.removeprefix(':warning: '))}", file=sys.stderr)
        return 1
    print(as_plain(mrkdwn))
    return 0
