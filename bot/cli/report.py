"""`frontdesk report`: the desk's metrics, in the terminal, as a page, and as a table for spreadsheets."""

import argparse
import asyncio
from pathlib import Path

from bot.clock import SystemClock
from bot.desk_file.model import DeskFile
from bot.desk_file.reading import read_desk_file
from bot.errors import FrontdeskError
from bot.reporting.csv_file import csv_text
from bot.reporting.groups import CASES_LISTED, NamedGroups, name_groups
from bot.reporting.key_metrics import key_lines, key_metrics
from bot.reporting.metrics import report_of
from bot.reporting.report import page
from bot.reporting.texts import table
from bot.settings import Settings
from bot.store import case_lists
from bot.store.case_lists import EVERYWHERE
from bot.store.database import Database, open_kept
from bot.views.staff_cards import causes_of


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write the page and perhaps the table, and print the metrics; return the exit status."""
    now, hours = SystemClock().now(), settings.targets.hours
    desk = read_desk_file(settings.desk_file) if settings.desk_file else DeskFile()
    async with open_kept(settings.database) as database:
        report = await report_of(database, days=given.days, now=now, between=hours.between)
        groups = name_groups(report.cases, report.scores, hours=hours, topics=causes_of(desk))
        async with database.reading() as tx:
            open_now = (await case_lists.count_open(tx, user="", at=EVERYWHERE)).open
            open_before = await case_lists.count_open_at(tx, report.whole.since, at=EVERYWHERE)
        links = await _links(database, groups)
    numbers = key_metrics(report, open_now=open_now, open_before=open_before)
    html = page(report, made_at=now, numbers=numbers, groups=groups, links=links)
    await asyncio.to_thread(_write, given.output, html)
    print(f"{key_lines(numbers)}\n\n{table(report.whole)}\n\nAs a page: {given.output}")
    if given.csv is not None:
        await asyncio.to_thread(_write, given.csv, csv_text(report, groups))
        print(f"As a table: {given.csv}")
    return 0


async def _links(database: Database, groups: list[NamedGroups]) -> dict[int, str]:
    """The addresses of the cards of those cases that the page lists."""
    listed = {case.id for kind in groups for _, group in kind.groups for case in group.cases[-CASES_LISTED:]}
    async with database.reading() as tx:
        return await case_lists.addresses(tx, listed)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FrontdeskError(f"{path} cannot be written ({error.strerror})") from None
