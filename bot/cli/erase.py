"""`frontdesk erase`: operators do what customers can do with a button of their Home tab."""

import argparse
import sys
import time

from bot.settings import Settings
from bot.store import persons
from bot.store.database import open_kept


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print what is stored about a person. With `--yes`, queue the erasure for the processes that serve."""
    user = given.user
    async with open_kept(settings.database, read_only=not given.yes) as database, database.transaction() as tx:
        kept = await persons.find(tx, user)
        counts = await persons.count(tx, kept)
        teams = await persons.teams_of(tx, user)
        if given.yes and teams:
            await persons.ask(tx, kept, teams[-1], now=time.time())
    for what, number in counts.items():
        print(f"{what:12}{number:>8}")
    if not any(counts.values()) and not teams:
        print(f"Nothing is kept of {user}.")
        return 0
    if not given.yes:
        print("frontdesk: nothing was erased; --yes erases it for good", file=sys.stderr)
        return 1
    print("It is erased within a minute, or when Frontdesk starts the next time.")
    return 0
