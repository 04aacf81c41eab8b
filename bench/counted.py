"""A server that says at each mark what it has cost so far: CPU, SQL statements, and transactions.

python -m bench.counted            the product's `serve`; the last line is JSON
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable

from sqlalchemy import Connection, Engine, event

from bot.app import serve
from bot.settings import load_settings
from bot.telemetry import configure_logging

COUNTED = "bench.counted"


async def counted(serving: Awaitable[object]) -> None:
    """Run a server until it ends. Print its CPU seconds, statements, and transactions at each SIGUSR1."""
    done = {"statements": 0, "transactions": 0}
    marks: list[dict[str, float]] = []

    def count_statement(
        _connection: object, _cursor: object, statement: str, _parameters: object, _context: object, _many: object
    ) -> None:
        # SQLite's transactions are begun by a statement of ours.
        done["statements"] += not statement.startswith("BEGIN")

    def count_transaction(connection: Connection) -> None:
        # A statement without a transaction is counted as a statement.
        done["transactions"] += not connection.get_execution_options().get("is_reading")

    event.listen(Engine, "before_cursor_execute", count_statement)
    event.listen(Engine, "begin", count_transaction)
    asyncio.get_running_loop().add_signal_handler(
        signal.SIGUSR1, lambda: marks.append({"cpu_s": time.process_time(), **done})
    )
    await serving
    print(json.dumps({"marks": marks}), flush=True)


async def _serve() -> None:
    settings = load_settings(os.environ, serving=True)
    configure_logging(settings.log_level, secrets=settings.secrets)
    await counted(serve(settings))


if __name__ == "__main__":
    asyncio.run(_serve())
