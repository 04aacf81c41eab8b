"""`frontdesk retention`: how long what is stored is kept, and what would go now."""

import argparse
from collections import Counter

from bot.clock import SystemClock
from bot.privacy.retention import in_words
from bot.settings import Settings
from bot.store import retention
from bot.store.database import Database, open_kept
from bot.turns.retention import RetentionSweep


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the rule and how far it is carried out. With `--dry-run`, count what a sweep would take now."""
    async with open_kept(settings.database) as database:
        reached = await _reached(database)
        print(f"Kept: {in_words(settings.retention)} (RETAIN_DAYS).")
        for kind, day in reached.items():
            gone = f"{kind.capitalize()} of conversations that ended before {day} are gone."
            print(gone if day else f"No {kind} went yet.")
        if not given.dry_run:
            return 0
        due = await RetentionSweep(database, SystemClock(), settings.retention).due()
    _tell("Words that would go", due.words)
    _tell("Records that would go", due.records)
    _tell("Rows of deliveries that would go", due.delivery)
    return 0


async def _reached(database: Database) -> dict[str, str]:
    """Kind -> the day up to which it is swept; empty if it never was."""
    async with database.transaction() as tx:
        return {kind: await retention.reached(tx, kind) for kind in ("words", "records")}


def _tell(what: str, counted: Counter[str]) -> None:
    if not counted:
        print(f"{what}: none.")
        return
    print(f"{what}:")
    for kind, number in counted.items():
        print(f"  {kind:14}{number:>9}")
