"""`frontdesk move`: the database to Postgres, or back to a file."""

import argparse
import sys
import time

from bot.errors import ConfigurationError
from bot.integrations import only_one
from bot.settings import Settings
from bot.store import moving
from bot.store.addresses import POSTGRES, SQLITE


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Copy the database to an empty one, compare the two, and say what is left to do; or undo the mark of that."""
    if given.undo:
        return await _use_again(settings)
    if not given.to.startswith((SQLITE, *POSTGRES)):
        raise ConfigurationError([f"--to must start with postgresql:// or {SQLITE}"])
    with only_one(settings):
        counts = await moving.move(settings.database, given.to, now=time.time(), tell=_tell)
    print(f"{sum(counts.values())} rows were copied and compared. The old database is as it was, and marked as moved.")
    print("Set DATABASE_URL to the new one, and start Frontdesk. It doesn't start on the old one any more.")
    return 0


async def _use_again(settings: Settings) -> int:
    with only_one(settings):
        was_moved = await moving.use_again(settings.database)
    print("Frontdesk can start on this database again." if was_moved else "This database was not moved.")
    return 0 if was_moved else 1


def _tell(table: str, rows: int) -> None:
    if rows:
        print(f"{table:14}{rows:>10}", file=sys.stderr)
