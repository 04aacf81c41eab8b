"""How long a search for cases takes, at a desk that has had 50,000 of them.

Each kind of search is made many times, one after the other. The floor is the search for a case by its number, which
reads one row. The last line is JSON.
"""

import argparse
import asyncio
import json
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import text

from bench.big_desk import START, customer, fill
from bot.store.case_lists import Desks
from bot.store.case_search import CaseQuery, search_cases
from bot.store.cases import OPEN_STATES
from bot.store.database import Database, open_database
from tests.doubles.postgres import CAREFREE, open_postgres

MESSAGES_A_CASE = 10
"""As bench/big_desk.py makes them."""
CUSTOMERS = 2_000
PAGE = 10
AT = Desks(frozenset({""}), frozenset({"C0BILLING"}))
SEARCHES = {
    "words": CaseQuery(words=("order", "waited")),
    "rare word": CaseQuery(words=("17?",)),
    "no such word": CaseQuery(words=("unicorn", "order")),
    "number": CaseQuery(words=("FD-1017",)),
    "customer": CaseQuery(customer=customer(17)),
    "customer and words": CaseQuery(customer=customer(17), words=("waited",)),
    "owner": CaseQuery(owner="U0AGENTB"),
    "nobody like that": CaseQuery(owner="U0AGENTZ"),
    "open": CaseQuery(states=OPEN_STATES),
    "rare tag": CaseQuery(tag="rare"),
    "dates and words": CaseQuery(words=("unicorn",), since=START + 10_000.0, before=START + 200_000.0),
    "older page": CaseQuery(words=("order",), before=START + 250_000.0),
}


async def measure(database: Database, *, times: int) -> dict[str, float]:
    """Kind of search -> p95 of its time, in milliseconds."""
    found = {}
    for kind, query in SEARCHES.items():
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            async with database.reading() as tx:
                await search_cases(tx, query, limit=PAGE, at=AT)
            taken.append(1_000 * (time.perf_counter() - begun))
        found[kind] = sorted(taken)[int(0.95 * (len(taken) - 1))]
    return found


async def run(cases: int, times: int, *, postgres: bool) -> dict[str, float]:
    """Make the desk, and measure."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = f"sqlite+aiosqlite:///{Path(folder) / 'desk.db'}"
        if postgres:
            url = await stack.enter_context(open_postgres(CAREFREE)).create()
        async with open_database(url) as database:
            await database.migrate()
            await fill(database, messages=cases * MESSAGES_A_CASE, customers=CUSTOMERS)
            async with database.transaction() as tx:
                # A case of each kind that is rare, far behind all others.
                await tx.execute(text("update case_ set tags = ' rare ' where id = 3"))
                await tx.execute(text("update case_ set owner = 'U0AGENTB' where id % 20 = 0"))
            return await measure(database, times=times)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--postgres", action="store_true", help="on a Postgres of its own")
    given = parser.parse_args()
    figures = asyncio.run(run(given.cases, given.times, postgres=given.postgres))
    for kind, p95 in figures.items():
        print(f"{kind:20} {p95:7.1f} ms")
    slowest, floor = max(figures.values()), figures["number"]
    print(json.dumps({"cases": given.cases, "page_p95_ms": round(slowest, 1), "floor_p95_ms": round(floor, 1)}))


if __name__ == "__main__":
    main()
