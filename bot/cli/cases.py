"""`frontdesk cases`: the cases that people work on, for operators."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from bot.reporting.traces import harmless
from bot.settings import Settings
from bot.store import audit, cases, transcripts
from bot.store.audit import AuditEntry
from bot.store.case_search import CaseQuery, search_cases
from bot.store.cases import OPEN_STATES, Case
from bot.store.database import open_kept
from bot.store.transcripts import TranscriptLine

MAX_LISTED_CASES = 100
ENDED = ("resolved", "closed", "merged", "bot")
MAX_TRANSCRIPT_LINES = 200
"""Lines of a case's transcript, for each side."""


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """List cases or show one; return the exit status."""
    clean = partial(harmless, secrets=settings.secrets)
    async with open_kept(settings.database) as database, database.transaction() as tx:
        if given.verb == "show":
            number = cases.id_of(given.case.upper())
            case = None if number is None else await cases.find(tx, number)
            if case is None:
                print(f"frontdesk: there is no case {given.case}", file=sys.stderr)
                return 1
            entries = await audit.of_subject(tx, case.ref)
            print(
                _whole(
                    case,
                    entries,
                    await transcripts.of_thread(tx, case.thread, latest=MAX_TRANSCRIPT_LINES),
                    clean=clean,
                )
            )
            return 0
        if given.search:
            query = CaseQuery(words=tuple(given.search.split()))
            found = [*(await search_cases(tx, query, limit=MAX_LISTED_CASES, look_through=None)).cases]
        else:
            found = await cases.latest(
                tx, states=(*OPEN_STATES, *ENDED) if given.all else OPEN_STATES, limit=MAX_LISTED_CASES
            )
    for case in found:
        owner, title = clean(case.owner_name or "-"), clean(case.title)
        print(f"{case.ref}  {_time(case.opened_at)}  {case.state:8}  {case.priority:6}  {owner:20}  {title}")
    if not found:
        print("No cases." if given.all or given.search else "No open cases.")
    return 0


def _whole(
    case: Case, entries: Sequence[AuditEntry], said: Sequence[TranscriptLine], *, clean: Callable[[str], str]
) -> str:
    """The case's data, its audit entries, and what was said in the customer's thread."""
    lines = [
        f"{case.ref}  {case.state}, {case.priority} priority, {case.reason}",
        f"title      {clean(case.title)}",
        f"customer   {clean(case.customer_name)} ({case.customer})",
        f"owner      {clean(case.owner_name or '-')}",
        f"outcome    {case.outcome or '-'}, about {case.cause or '-'}",
        f"summary    {clean(case.summary) or '-'}",
        "",
    ]
    for entry in entries:
        detail = ", ".join(f"{name} {value}" for name, value in entry.detail.items() if value)
        lines.append(f"{_time(entry.at)}  {entry.action:20}  {entry.actor:14}  {clean(detail)}".rstrip())
    lines.append("")
    lines += [f"{_time(float(line.ts))}  {clean(line.speaker)}: {clean(line.text)}" for line in said]
    return "\n".join(lines).rstrip()


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
