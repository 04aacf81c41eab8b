"""`frontdesk report`, as an operator runs it."""

from pathlib import Path

from bot.clock import SystemClock
from bot.store import cases
from bot.store.database import Database
from tests.cli.test_knowledge import frontdesk
from tests.desk.outline import Outline
from tests.store.rows import a_case


async def test_a_report_is_a_page_and_a_table(database: Database, database_url: str, tmp_path: Path) -> None:
    async with database.transaction() as tx:
        await cases.add(tx, a_case(opened_at=SystemClock().now()))
    ran = await frontdesk("report", cwd=tmp_path, DATABASE_URL=database_url)
    assert ran.status == 0, ran.err
    assert "asked for a person" in ran.out
    assert ran.out.endswith("As a page: frontdesk-report.html\n")
    html = (tmp_path / "frontdesk-report.html").read_text(encoding="utf-8")
    assert "asked for a person" in html
    assert len(Outline(html).named("figure")) == 10


async def test_a_page_that_cannot_be_written_is_one_sentence(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    ran = await frontdesk(
        "report", "--days", "1", "--output", "nowhere/x.html", cwd=tmp_path, DATABASE_URL=database_url
    )
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "frontdesk: nowhere/x.html cannot be written (No such file or directory)\n"
