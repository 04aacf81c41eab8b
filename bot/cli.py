"""The command line: serve, check, migrate, kb, cases.

Faults are sentences on standard error and exit status 2.
"""

import argparse
import asyncio
import html
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bot.errors import ConfigurationError, FrontdeskError
from bot.settings import Settings, load_settings
from bot.telemetry import configure_logging
from knowledge.report import Progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0 done, 1 failed, 2 something is wrong with the settings or the call."""
    parser = build_parser()
    given = parser.parse_args(arguments)
    try:
        settings = load_settings(os.environ, serving=given.command in ("serve", "check"))
        configure_logging(settings.log_level, secrets=settings.secrets)
        status = asyncio.run(_run(given, settings))
        sys.stdout.flush()
    except ConfigurationError as error:
        for fault in error.faults:
            print(f"frontdesk: {fault}", file=sys.stderr)
        return 2
    except FrontdeskError as error:
        print(f"frontdesk: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read the output has stopped; the interpreter's own flush at exit must not say so again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def build_parser() -> argparse.ArgumentParser:
    """The commands and their help; docs/cli.md is held to this."""
    parser = argparse.ArgumentParser(prog="frontdesk", description="A customer-support agent that lives in Slack.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("serve", help="answer customers until stopped")
    commands.add_parser("check", help="say what is missing or wrong, all at once")
    commands.add_parser("migrate", help="bring the database's schema up to date")
    kb = commands.add_parser("kb", help="the knowledge base").add_subparsers(dest="verb", required=True, metavar="VERB")
    build = kb.add_parser("build", help="read documents into a new generation")
    build.add_argument("source", type=Path, help="a folder of Markdown pages and CSV questions, or one such file")
    build.add_argument("--force", action="store_true", help="also when much of what is there would vanish")
    kb.add_parser("status", help="the generation that serves")
    search = kb.add_parser("search", help="what a question would find")
    search.add_argument("text", nargs="+")
    cases = commands.add_parser("cases", help="the cases with people").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    listing = cases.add_parser("list", help="the newest cases")
    listing.add_argument("--all", action="store_true", help="ended ones too")
    return parser


async def _run(given: argparse.Namespace, settings: Settings) -> int:
    match given.command, getattr(given, "verb", None):
        case "serve", _:
            # The application's imports take a second; the other commands do without most of them.
            from bot.app import serve

            return await serve(settings)
        case "check", _:
            from bot.app import check

            return _tell(await check(settings))
        case "migrate", _:
            return await _migrate(settings)
        case "kb", verb:
            return await _knowledge(given, settings, str(verb))
        case _:
            return await _list_cases(settings, ended=given.all)


def _tell(faults: list[str]) -> int:
    for fault in faults:
        print(f"wrong: {fault}")
    if not faults:
        print("Everything is in place.")
    return 2 if faults else 0


async def _migrate(settings: Settings) -> int:
    from bot.store.database import open_database

    async with open_database(settings.database) as database:
        await database.migrate()
    print("The database is up to date.")
    return 0


async def _knowledge(given: argparse.Namespace, settings: Settings, verb: str) -> int:
    from bot.app import open_knowledge
    from bot.desk.library import Library, report_text
    from knowledge.errors import KnowledgeError

    async with open_knowledge(settings) as knowledge:
        library = Library(knowledge, source=settings.kb_path)
        match verb:
            case "build":
                try:
                    report = await knowledge.refresh(given.source, force=given.force, on_progress=_show_progress)
                except KnowledgeError as error:
                    print(f"frontdesk: not built: {error}", file=sys.stderr)
                    return 1
                print(_plain(report_text(report)))
            case "status":
                print(_plain(await library.status()))
            case _:
                print(_plain(await library.search(" ".join(given.text))))
    return 0


async def _list_cases(settings: Settings, *, ended: bool) -> int:
    from bot.store import cases
    from bot.store.database import open_database

    states = (*cases.OPEN_STATES, "resolved", "bot") if ended else cases.OPEN_STATES
    async with open_database(settings.database, read_only=True) as database, database.transaction() as tx:
        found = await cases.latest(tx, states=states, limit=100)
    for case in found:
        opened = datetime.fromtimestamp(case.opened_at, UTC)
        owner = case.owner_name or "-"
        print(f"{case.ref}  {opened:%Y-%m-%d %H:%M}  {case.state:8}  {case.priority:6}  {owner:20}  {case.title}")
    if not found:
        print("No cases." if ended else "No open cases.")
    return 0


def _plain(mrkdwn: str) -> str:
    """Slack's markup as a terminal shows it: dates by their fallback, no stars, no entities."""
    text = re.sub(r"<!date\^[^|>]*\|([^>]*)>", r"\1", mrkdwn)
    return html.unescape(text.replace("*", "").replace("`", "").replace(":warning:", "!"))


def _show_progress(progress: Progress) -> None:
    if sys.stderr.isatty():
        print(f"\r{progress.phase}: {progress.done} of {progress.of}   ", end="", file=sys.stderr, flush=True)
