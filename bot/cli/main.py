"""The command line: serve, work, check, doctor, desk, policy, procedures, shop, try, migrate, backup, restore, move,
kb, cases, actions, turns, dead, cost, report, retention and erase.

Faults are sentences on standard error and exit status 2.
"""

import argparse
import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bot import tracing
from bot.errors import ConfigurationError, FrontdeskError
from bot.private_files import OURS
from bot.settings import Settings, load_settings, misspelt
from bot.telemetry import configure_logging

PRIVACY = (
    "Turns hold what customers wrote and what was looked up for them: show them to nobody who may not read that. "
    "Card numbers, passwords and keys are masked."
)
GROUPS = ("day", "customer", "thread", "model", "purpose")
"""What costs are grouped by. It repeats `bot.store.spending.By`, which takes too long to import for every command."""
DAYS_LIMIT = 3_650
REPORT = "frontdesk-report.html"
ONLY_SILENT = 3
"""The exit status of a check that found nothing wrong, but something that does not answer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The exit status is 0 for done, 1 for failed, and 2 for wrong settings or a wrong call.

    `check` also ends with 3: nothing is wrong, but something does not answer.
    """
    parser = build_parser()
    given = parser.parse_args(arguments)
    _hold_standard_streams()
    before = os.umask(OURS)
    try:
        serving = given.command in ("serve", "work", "check")
        settings = load_settings(os.environ, serving=serving, listening=given.command != "work")
        secrets = (*settings.secrets, *_shop_secrets(settings))
        configure_logging(settings.log_level, secrets=secrets, traceparent=tracing.traceparent)
        if given.command in ("serve", "work") and settings.has_live_files:
            # It asks for files to be read again that are not even read yet. The default ends the process.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
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
        # The reader of the output has stopped; the interpreter's own flush at exit must not report that again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        os.umask(before)
    return status


def _hold_standard_streams() -> None:
    """Open /dev/null for standard streams that were closed at the start. Otherwise the next open file, perhaps the
    database, would get their descriptor, and with it what is printed."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", closefd=False))


def build_parser() -> argparse.ArgumentParser:
    """The commands and their help; docs/reference/cli.md is held to this."""
    parser = argparse.ArgumentParser(prog="frontdesk", description="A customer-support agent that lives in Slack.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="answer customers until stopped")
    serve.add_argument(
        "--ingress-only", action="store_true", help="only take what comes from Slack; others work on it (Postgres)"
    )
    commands.add_parser("work", help="only work on what other processes have taken; needs Postgres")
    commands.add_parser("check", help="say what is missing or wrong, all at once")
    commands.add_parser("doctor", help="say what waits, since when, and what needs a person")
    _add_desk(commands)
    _add_policy(commands)
    _add_procedures(commands)
    _add_shop(commands)
    trying = commands.add_parser("try", help="answer a question here, with everything shown; nothing goes to Slack")
    trying.add_argument("question", nargs="+", help="what a customer writes; several words need no quotes")
    trying.add_argument("--desk", type=Path, metavar="FILE", help="another desk file, whose answer is shown beside")
    trying.add_argument("--customer", metavar="EMAIL", help="the shop's customer who asks; nobody's unless given")
    trying.add_argument("--locale", default="en-US", help="their Slack locale; en-US unless given")
    trying.add_argument("--country", default="", help="where they are, as DE; not known unless given")
    commands.add_parser("migrate", help="bring the database's schema up to date")
    _add_copies(commands)
    _add_knowledge(commands)
    cases = commands.add_parser("cases", help="the cases with people").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    listing = cases.add_parser("list", help="the newest cases")
    listing.add_argument("--all", action="store_true", help="ended ones too")
    listing.add_argument("--search", default="", help="those, open or not, of which something says each of these words")
    showing = cases.add_parser("show", help="one case in full")
    showing.add_argument("case", help="the case, as FD-1042")
    _add_actions(commands)
    _add_turns(commands)
    _add_dead_letters(commands)
    cost = commands.add_parser("cost", help="what models have cost")
    cost.add_argument("--days", type=_days, default=7, help="of how many days, today (UTC) included; 7 unless given")
    cost.add_argument(
        "--by", choices=GROUPS, default="day", help="what is added up apart: day, customer, thread, model or purpose"
    )
    report = commands.add_parser("report", help="how the desk is doing, as a page and in short")
    report.add_argument(
        "--days", type=_days, default=30, help="of how many days, today (UTC) included; 30 unless given"
    )
    report.add_argument(
        "--output", type=Path, metavar="FILE", default=Path(REPORT), help=f"where the page goes; {REPORT} unless given"
    )
    report.add_argument(
        "--csv", type=Path, metavar="FILE", help="where a table for spreadsheets goes; none unless given"
    )
    retention = commands.add_parser("retention", help="how long what is stored is kept, and how far that is done")
    retention.add_argument("--dry-run", action="store_true", help="count what would go now; nothing goes")
    erase = commands.add_parser("erase", help="erase everything that is kept of a customer")
    erase.add_argument("user", type=_user, help="their Slack id, as U0123ABCDEF")
    erase.add_argument("--yes", action="store_true", help="do it; else it is only counted")
    return parser


def _add_desk(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs of `desk`."""
    verbs = commands.add_parser("desk", help="the desk file: the shop's own words and rules").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    checking = verbs.add_parser("check", help="say what is wrong in it, with the line of every fault")
    checking.add_argument("file", type=Path, nargs="?", help="the file; `DESK_FILE` unless given")
    verbs.add_parser("schema", help="print its JSON schema, with which editors complete and check it")


def _add_policy(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs of `policy`."""
    verbs = commands.add_parser("policy", help="the policy: what may be changed in the shop").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    checking = verbs.add_parser("check", help="print its rules in plain words, or the line of every fault")
    checking.add_argument("file", type=Path, nargs="?", help="the file; `POLICY_PATH` unless given")
    verbs.add_parser("schema", help="print the JSON schema, with which editors complete and check the policy")


def _add_procedures(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs of `procedures`."""
    verbs = commands.add_parser("procedures", help="the procedures: your team's playbooks").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    checking = verbs.add_parser("check", help="print their steps in plain words, or the line of every fault")
    checking.add_argument("path", type=Path, nargs="?", help="a folder or a file; `PROCEDURES_PATH` unless given")
    trying = verbs.add_parser("try", help="play a procedure by a script, without a shop, a model or a database")
    trying.add_argument("file", type=Path, help="the procedure")
    trying.add_argument("--script", type=Path, metavar="FILE", required=True, help="what happens, as a YAML list")
    verbs.add_parser("schema", help="print the JSON schema, with which editors complete and check a procedure")


def _add_actions(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs of `actions`."""
    verbs = commands.add_parser("actions", help="the changes of orders").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    listing = verbs.add_parser("list", help="the newest changes of orders")
    listing.add_argument("--open", action="store_true", help="only those that go on, or that staff must look at")
    listing.add_argument("--since", type=_since, metavar="DATE", help="offered since this day (UTC), as 2026-11-30")
    showing = verbs.add_parser("show", help="one action in full")
    showing.add_argument("ref", help="its reference, as the list has it")
    export = verbs.add_parser("export", help="the actions as CSV for the books, in minor units")
    export.add_argument(
        "--since", type=_since, metavar="DATE", required=True, help="offered since this day (UTC), as 2026-11-30"
    )


def _add_shop(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs of `shop`."""
    verbs = commands.add_parser("shop", help="the files that say how to reach the shop").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    checking = verbs.add_parser("check", help="say what is wrong in them, with the line of every fault")
    checking.add_argument("file", type=Path, nargs="?", help="a connector's file; those of `SHOP_FILE` unless given")
    checking.add_argument("--live", action="store_true", help="ask the shop each look-up too, for what nobody has")
    trying = verbs.add_parser("try", help="look a customer up and show the request of an action")
    trying.add_argument("file", type=Path, nargs="?", help="a connector's file; those of `SHOP_FILE` unless given")
    trying.add_argument("--email", required=True, help="the customer's address, as the shop has it")
    trying.add_argument("--order", default="", metavar="NUMBER", help="one of the customer's orders")
    trying.add_argument("--action", metavar="KIND", help="what to prepare for the order, such as `cancel_order`")
    trying.add_argument("--arguments", default="{}", metavar="JSON", help='what else it needs: {"reason": "mistake"}')
    trying.add_argument("--really", action="store_true", help="send it, after the order's number is typed once more")
    trying.add_argument("--twice", action="store_true", help="send it twice with one key, to see whether that is kept")
    drafting = verbs.add_parser("draft", help="propose a connector's file from an OpenAPI document")
    drafting.add_argument("document", type=Path, help="the OpenAPI document of the shop's API, JSON or YAML")
    verbs.add_parser("schema", help="print the JSON schema of a connector's file")
    servers = verbs.add_parser("mcp", help="tool servers").add_subparsers(dest="part", required=True, metavar="VERB")
    pins = servers.add_parser("pins", help="show what a tool server says of its tools, and what has changed")
    pins.add_argument("name", help="the connector in `SHOP_FILE`")
    pins.add_argument("--accept", action="store_true", help="write the definitions of the listed tools as accepted")


def _add_copies(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `backup`, `restore` and `move`."""
    backup = commands.add_parser("backup", help="write a backup of the database while Frontdesk serves")
    backup.add_argument("path", type=Path, help="the folder to make, as backups/2026-11-30")
    restore = commands.add_parser("restore", help="put a backup into an empty database")
    restore.add_argument("path", type=Path, help="the folder that `frontdesk backup` has made")
    move = commands.add_parser("move", help="copy the database to an empty one, from SQLite to Postgres or back")
    what = move.add_mutually_exclusive_group(required=True)
    what.add_argument("--to", default="", metavar="ADDRESS", help="the other database, as `DATABASE_URL` names it")
    what.add_argument("--undo", action="store_true", help="let Frontdesk start again on this one, which was moved")


def _add_knowledge(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs of `kb`."""
    verbs = commands.add_parser("kb", help="the knowledge base").add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    build = verbs.add_parser("build", help="read documents into a new generation")
    build.add_argument(
        "source", type=Path, nargs="?", help="a folder, a file, or a YAML file of sources; `KB_PATH` unless given"
    )
    build.add_argument("--only", default="", metavar="NAME", help="read this source of the YAML file alone")
    build.add_argument("--force", action="store_true", help="also when much of what is there would vanish")
    trying = verbs.add_parser("try", help="the passages of one file, before anything is built")
    trying.add_argument("file", type=Path, help="one file, inside a source or anywhere else")
    trying.add_argument(
        "--sources", type=Path, metavar="PATH", help="where its source is described; `KB_PATH` unless given"
    )
    status = verbs.add_parser("status", help="the generation that serves")
    status.add_argument("--problems", action="store_true", help="everything that the last build left out, and why")
    search = verbs.add_parser("search", help="what a question would find")
    search.add_argument("text", nargs="*", help="the question; several words need no quotes")
    search.add_argument("--source", default="", metavar="NAME", help="only in this source")
    search.add_argument("--category", default="", help="only in this category")
    search.add_argument("--language", default="", help="only in this language, as de")
    search.add_argument(
        "--questions", type=Path, metavar="FILE", help="ask all of these, one {qid, question} a line, instead of a text"
    )
    search.add_argument(
        "--out", type=Path, metavar="FILE", help="where their results go, one {qid, results, confidence} a line"
    )
    rollback = verbs.add_parser("rollback", help="serve the generation before this one")
    rollback.add_argument("--internal", action="store_true", help="that of the internal base")
    links = verbs.add_parser("check-links", help="whether the pages' addresses lead anywhere")
    links.add_argument("--source", default="", metavar="NAME", help="only of this source")
    links.add_argument("--limit", type=_count, default=500, help="how many addresses to ask for; 500 unless given")
    for verb in (build, status, search, rollback, links):
        verb.add_argument("--index", type=Path, metavar="DIR", help="where the index is; `DATA_DIR`/kb unless given")
    gaps = verbs.add_parser("gaps", help="what customers asked and the pages did not answer")
    gaps.add_argument("--days", type=_days, default=30, help="of how many days; 30 unless given")


def _add_turns(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `turns list` and `turns show`."""
    turns = commands.add_parser("turns", help="what was asked and what the agents did", description=PRIVACY)
    verbs = turns.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = verbs.add_parser("list", help="the newest turns", description=PRIVACY)
    listing.add_argument("--last", type=_count, default=20, help="how many; 20 unless given")
    listing.add_argument("--thread", help="only of this thread, as team/channel/timestamp")
    listing.add_argument("--customer", help="only of this person, by their Slack id")
    show = verbs.add_parser("show", help="one turn in full", description=PRIVACY)
    show.add_argument("id", type=_count, help="its number, as the list and the log have it")


def _add_dead_letters(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `dead list` and `dead retry`."""
    dead = commands.add_parser("dead", help="what was set aside because it failed each time")
    verbs = dead.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = verbs.add_parser("list", help="the newest dead letters", description=PRIVACY)
    listing.add_argument("--last", type=_count, default=20, help="how many; 20 unless given")
    retry = verbs.add_parser("retry", help="work on one again")
    retry.add_argument("id", type=_count, help="its number, as the list and the agent channel have it")


def _count(text: str) -> int:
    """A number of at least 1."""
    if not re.fullmatch(r"[1-9][0-9]{0,11}", text):
        raise argparse.ArgumentTypeError("it must be a number from 1 on")
    return int(text)


def _user(text: str) -> str:
    if not re.fullmatch(r"[UW][A-Z0-9]{2,30}", text):
        raise argparse.ArgumentTypeError("it must be a person's Slack id, as U0123ABCDEF")
    return text


def _since(text: str) -> float:
    """The beginning of a day (UTC)."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError("a day, as 2026-11-30") from None


def _days(text: str) -> int:
    if _count(text) > DAYS_LIMIT:
        raise argparse.ArgumentTypeError(f"it must be a number from 1 to {DAYS_LIMIT}")
    return int(text)


def _shop_secrets(settings: Settings) -> tuple[str, ...]:
    """The secrets that the connectors' files name, which no log line shows."""
    if settings.shop_file is None:
        return ()
    from bot.shops.shop_file import secrets_of

    return secrets_of(settings.shop_file, environ=os.environ)


async def _run(given: argparse.Namespace, settings: Settings) -> int:
    match given.command, getattr(given, "verb", None):
        case "serve", _:
            # The application's imports take a second; the other commands need few of them.
            from bot.app import serve

            return await serve(settings, role="ingress" if given.ingress_only else "serve")
        case "work", _:
            from bot.app import serve

            return await serve(settings, role="work")
        case "check", _:
            from bot.integrations import check, notes, try_models

            checked = await check(settings)
            told: list[str] = []
            if not checked.faults:
                checked, told = await try_models(settings)
            told = [] if checked.faults else [*misspelt(os.environ), *notes(settings), *told]
            return _tell(checked.faults, told, status=checked.status)
        case "doctor", _:
            from bot.cli.doctor import run as run_doctor

            return await run_doctor(given, settings)
        case "try", _:
            from bot.cli.trying import run as run_try

            return await run_try(given, settings)
        case "desk", _:
            from bot.cli.desk import run as run_desk

            return run_desk(given, settings)
        case "shop", _:
            from bot.cli.shop import run as run_shop

            return await run_shop(given, settings)
        case "policy", _:
            from bot.cli.policy import run as run_policy

            return run_policy(given, settings)
        case "procedures", _:
            from bot.cli.procedures import run as run_procedures

            return run_procedures(given, settings)
        case "migrate", _:
            return await _migrate(settings)
        case "backup", _:
            from bot.cli.backup import run as run_backup

            return await run_backup(given, settings)
        case "restore", _:
            from bot.cli.restore import run as run_restore

            return await run_restore(given, settings)
        case "move", _:
            from bot.cli.move import run as run_move

            return await run_move(given, settings)
        case "kb", "try":
            from bot.cli.preview import run as run_preview

            return await run_preview(given, settings)
        case "kb", "build":
            from bot.cli.build import run as run_build

            return await run_build(given, settings)
        case "kb", "status":
            from bot.cli.status import run as run_status

            return await run_status(given, settings)
        case "kb", "check-links":
            from bot.cli.links import run as run_links

            return await run_links(given, settings)
        case "kb", _:
            from bot.cli.knowledge import run

            return await run(given, settings)
        case "report", _:
            from bot.cli.report import run as run_report

            return await run_report(given, settings)
        case "retention", _:
            from bot.cli.retention import run as run_retention

            return await run_retention(given, settings)
        case "erase", _:
            from bot.cli.erase import run as run_erase

            return await run_erase(given, settings)
        case "actions", _:
            from bot.cli.actions import run as run_actions

            return await run_actions(given, settings)
        case "turns", "list":
            return await _list_turns(given, settings)
        case "turns", _:
            return await _show_turn(given.id, settings)
        case "dead", "list":
            return await _list_dead_letters(given, settings)
        case "dead", _:
            return await _retry_dead_letter(given.id, settings)
        case "cost", _:
            return await _tell_cost(given, settings)
        case _:
            from bot.cli.cases import run as run_cases

            return await run_cases(given, settings)


def _tell(faults: list[str], notes: list[str], *, status: int) -> int:
    for fault in faults:
        print(f"wrong: {fault}")
    for note in notes:
        print(f"note: {note}")
    if status == 0:
        print("Everything is in place.")
    if status == ONLY_SILENT:
        print("Nothing shows that a setting is wrong. Something does not answer: try again later.")
    return status


async def _migrate(settings: Settings) -> int:
    from bot.store.database import open_database

    async with open_database(settings.database) as database:
        await database.migrate()
    print("The database is up to date.")
    return 0


async def _list_turns(given: argparse.Namespace, settings: Settings) -> int:
    from bot.reporting.traces import harmless, turn_line
    from bot.store import spending, traces
    from bot.store.database import open_kept

    async with open_kept(settings.database) as database, database.transaction() as tx:
        found = await traces.latest(tx, limit=given.last, thread=given.thread, customer=given.customer)
        spent = await spending.of_turns(tx, [turn.id for turn in found])
    for turn in found:
        line = turn_line(turn, spent.get(turn.id, ()), clean=partial(harmless, secrets=settings.secrets))
        print(line)
    if not found:
        print("No turns.")
    return 0


async def _show_turn(number: int, settings: Settings) -> int:
    from bot.reporting.traces import harmless, turn_text
    from bot.store import spending, traces
    from bot.store.database import open_kept

    async with open_kept(settings.database) as database, database.transaction() as tx:
        found = await traces.find(tx, number)
        spent = await spending.of_turns(tx, [number])
        row = None if found else await traces.find_row(tx, number)
    clean = partial(harmless, secrets=settings.secrets)
    print("\n\n".join(turn_text(turn, spent.get(number, ()), clean=clean) for turn in found), end="\n" if found else "")
    if found:
        return 0
    if row is None:
        print(f"frontdesk: there is no turn {number}", file=sys.stderr)
        return 1
    print(f"No model has answered {number} ({row.kind}): {row.state}{f', {row.reason}' if row.reason else ''}.")
    if row.steps:
        print(f"Finished steps so far: {clean(', '.join(row.steps))}")
    return 0


async def _list_dead_letters(given: argparse.Namespace, settings: Settings) -> int:
    from bot.reporting.traces import harmless, letter_line
    from bot.store import dead_letters
    from bot.store.database import open_kept

    async with open_kept(settings.database) as database, database.transaction() as tx:
        found = await dead_letters.latest(tx, limit=given.last)
    for letter in found:
        print(letter_line(letter, clean=partial(harmless, secrets=settings.secrets)))
    if not found:
        print("No dead letters.")
    return 0


async def _retry_dead_letter(number: int, settings: Settings) -> int:
    from bot.store import dead_letters
    from bot.store.database import open_kept

    async with open_kept(settings.database, read_only=False) as database, database.transaction() as tx:
        refusal = await dead_letters.retry(tx, number, now=time.time())
    if refusal:
        print(f"frontdesk: {refusal}", file=sys.stderr)
        return 1
    when = "within minutes" if settings.is_shared else "when Frontdesk starts the next time"
    print(f"{number} is worked on again {when}.")
    return 0


async def _tell_cost(given: argparse.Namespace, settings: Settings) -> int:
    from bot.reporting.traces import costs_text
    from bot.store import spending
    from bot.store.database import open_kept

    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since = (today - timedelta(days=given.days - 1)).timestamp()
    async with open_kept(settings.database) as database, database.transaction() as tx:
        totals = await spending.totals(tx, since=since, by=given.by)
    print(costs_text(totals, by=given.by) if totals else "Nothing was spent.")
    return 0
