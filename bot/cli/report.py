"""`frontdesk report`: the desk's metrics, in the terminal and as a page."""

import argparse
import asyncio

from bot.clock import SystemClock
from bot.errors import FrontdeskError
from bot.reporting.metrics import report_of
from bot.reporting.report import page
from bot.reporting.texts import table
from bot.settings import Settings
from bot.store.database import open_kept


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write the page and print the metrics; return the exit status."""
    now = SystemClock().now()
    async with open_kept(settings.database) as database:
        report = await report_of(database, days=given.days, now=now, between=settings.targets.hours.between)
    try:
        await asyncio.to_thread(given.output.write_text, page(report, made_at=now), encoding="utf-8")
    except OSError as error:
        raise FrontdeskError(f"{given.output} cannot be written ({error.strerror})") from None
    print(f"{table(report.whole)}\n\nAs a page: {given.output}")
    return 0
