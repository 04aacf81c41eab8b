"""The commands that read and prepare the database, on either of them."""

import asyncio
import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest

from bot.cli import actions as exporting
from bot.integrations import check
from bot.settings import load_settings
from bot.store import actions, audit, cases, inbox, persons
from bot.store.database import Database, open_database, open_kept
from tests import forkserver
from tests.actions.test_action import an_action
from tests.doubles.postgres import Postgres
from tests.patience import patience
from tests.store.preliminary import create_preliminary
from tests.store.rows import a_case

COMMANDS = {
    "migrate": "The database is up to date.",
    "cases list": "FD-1001",
    "cases list --search unicorn": "No cases.",
    "cases list --search order": "FD-1001",
    "cases show fd-1001": "waiting, medium priority, asked_for_person",
    "cases show FD-9999": "",
    "actions list": "act_told",
    "actions list --open": "act_stuck",
    "actions list --since 2999-01-01": "No actions.",
    "actions show act_told": "approve               U0AGENTA        -100",
    "actions show act_stuck": "action.answered       frontdesk       reason status",
    "actions show act_9999": "",
    "actions export --since 1970-01-01": "act_told,cancel_order,done,,order/ORD-1,cus_a,'=C-1,-100,EUR,1970",
    "turns list": "No turns.",
    "turns show 999999999999": "",
    "dead list": "No dead letters.",
    "cost --by day": "Nothing was spent.",
    "retention --dry-run": "Words that would go: none.",
    "erase U0NOBODY": "Nothing is kept of U0NOBODY.",
    "kb gaps": "",
    "report --days 7 --output /dev/null": "Conversations",
}

ONE_AFTER_ANOTHER = """
import contextlib, io, json, sys
from bot.cli.main import main
for command in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = main(command.split())
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""
"""All commands in one process: to begin takes each of them a second."""


async def run(command: str, environ: dict[str, str]) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of one command."""
    return await python("-m", "bot", *command.split(), environ=environ)


async def python(*arguments: str, environ: dict[str, str]) -> tuple[int, str, str]:
    """The same of a Python of its own."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    child = await forkserver.start(
        *arguments,
        env={**kept, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(patience(100)):
        out, err = await child.communicate()
    return child.returncode or 0, (out or b"").decode(), (err or b"").decode()


async def test_every_command_works_on_it(database: Database, database_url: str, tmp_path: Path) -> None:
    async with database.transaction() as tx:
        await cases.add(tx, a_case())
        told_of = await actions.add(tx, an_action("done", ref="act_told", key="k1", reference="=C-1"))
        assert told_of is not None
        await actions.vote(tx, told_of, "U0AGENTA", "approve", now=1.0)
        await actions.add(tx, an_action("stuck", ref="act_stuck", key="k2", origin="turn/2"))
        detail = {"reason": "status"}
        await audit.note(tx, actor="frontdesk", action="action.answered", subject="act_stuck", detail=detail, now=1.0)
    environ = {"DATABASE_URL": database_url, "DATA_DIR": str(tmp_path)}
    _, told, fault = await python("-c", ONE_AFTER_ANOTHER, *COMMANDS, environ=environ)
    assert fault == ""
    for (command, expected), line in zip(COMMANDS.items(), told.splitlines(), strict=True):
        status, out, err = json.loads(line)
        assert status == (1 if "9999" in command else 0), (command, out, err)
        assert expected in out, (command, out, err)
        assert "Traceback" not in err


async def test_an_export_has_every_action_once_however_many_there_are(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "EXPORT_PAGE", 2)
    async with database.transaction() as tx:
        for number in range(5):
            mine = {
                "ref": f"act_{number}",
                "key": f"k{number}",
                "origin": f"turn/{number}",
                "offered_at": float(number),
            }
            await actions.add(tx, an_action("done", **mine))
    out = io.StringIO()
    await exporting._export(database, 1.0, out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert [row["ref"] for row in rows] == ["act_1", "act_2", "act_3", "act_4"]
    assert {len(row) for row in rows} == {len(exporting.COLUMNS)}


async def test_erasing_is_counted_first_and_asked_for_with_yes(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    async with database.transaction() as tx:
        await cases.add(tx, a_case())
    environ = {"DATABASE_URL": database_url, "DATA_DIR": str(tmp_path)}
    status, out, err = await run("erase U0CUSTOMERA", environ)
    assert (status, err) == (1, "frontdesk: nothing was erased; --yes erases it for good\n")
    assert ["cases", "1"] in [line.split() for line in out.splitlines()]
    async with database.transaction() as tx:
        assert await persons.asked_outside(tx) == []
    status, out, _ = await run("erase U0CUSTOMERA --yes", environ)
    assert status == 0
    assert "It is erased within a minute" in out
    async with database.transaction() as tx:
        ((row, _),) = await persons.asked_outside(tx)
        item = await inbox.start(tx, row)
    assert item is not None
    assert (item.author, item.interaction.action) == ("U0CUSTOMERA", persons.REQUEST)
    status, _, err = await run("erase somebody", environ)
    assert status == 2
    assert "Slack id" in err


async def test_a_database_that_is_away_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    environ = {"DATABASE_URL": "postgresql://somebody:s3cret@127.0.0.1:1/x", "DATA_DIR": str(tmp_path)}
    told = await asyncio.gather(*(run(command, environ) for command in ("migrate", "cases list")))
    assert [status for status, _, _ in told] == [1, 1]
    for _, out, err in told:
        assert err.startswith("frontdesk: ")
        assert "does not answer" in err
        assert "s3cret" not in out + err
        assert len(err.splitlines()) == 1


async def test_a_disk_without_room_is_one_sentence_that_names_the_file(tmp_path: Path) -> None:
    limited = f"ulimit -f 8; exec {sys.executable} -B -m bot migrate"
    child = await asyncio.create_subprocess_exec(
        *("bash", "-c", limited),
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)},
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(patience(100)):
        _, err = await child.communicate()
    told = err.decode().splitlines()
    assert (child.returncode, len(told)) == (2, 1), told
    assert f"the database {tmp_path}/frontdesk.db cannot be used (SQLITE_" in told[0]
    assert "disk may be full" in told[0]
    assert "DATABASE_URL" not in told[0]


async def test_a_damaged_file_is_one_sentence_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "frontdesk.db"
    path.write_bytes(b"no database at all " * 400)
    status, _, err = await run("migrate", {"DATA_DIR": str(tmp_path)})
    assert (status, len(err.splitlines())) == (2, 1)
    assert f"{path} is damaged" in err
    assert path.read_bytes() == b"no database at all " * 400


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("nothing", "no database at"),
        ("an empty file", "no tables in this database"),
        ("an older schema", "`frontdesk migrate` brings it up to date"),
        ("something else", "cannot be used (SQLITE_NOTADB): it is damaged"),
    ],
)
async def test_what_cannot_be_read_is_one_sentence_for_every_command_and_stays_as_it_is(
    tmp_path: Path, found: str, told: str
) -> None:
    path = tmp_path / "frontdesk.db"
    if found == "an older schema":
        async with open_database(f"sqlite+aiosqlite:///{path}") as database:
            await create_preliminary(database)
    elif found != "nothing":
        path.write_bytes(b"no database at all " * 400 if found == "something else" else b"")
    before = path.read_bytes() if path.exists() else None
    commands = [each for each in COMMANDS if each != "migrate"] + ["dead retry 1", "erase U0CUSTOMERA --yes"]
    _, answers, _ = await python("-c", ONE_AFTER_ANOTHER, *commands, environ={"DATA_DIR": str(tmp_path)})
    for command, answer in zip(commands, answers.splitlines(), strict=True):
        status, out, err = json.loads(answer)
        assert (status in (1, 2), out, len(err.splitlines())) == (True, "", 1), (command, out, err)
        assert told in err, (command, err)
    assert (path.read_bytes() if path.exists() else None) == before


async def test_check_tells_of_the_database(postgres: Postgres, postgres_url: str) -> None:
    async def faults(url: str) -> list[str]:
        settings = load_settings({"DATABASE_URL": url, "SLACK_API_URL": "http://127.0.0.1:1"})
        return [fault for fault in (await check(settings)).faults if "DATABASE_URL" in fault]

    assert await faults(postgres_url) == []
    (fault,) = await faults(postgres.url("nowhere"))
    assert "InvalidCatalogName" in fault


async def test_what_the_command_line_reads_is_what_was_committed(database: Database, database_url: str) -> None:
    async with database.transaction() as tx:
        await cases.add(tx, a_case())
        async with open_kept(database_url) as reader, reader.transaction() as seen:
            assert await cases.latest(seen, states=cases.OPEN_STATES, limit=9) == []
    async with open_kept(database_url) as reader, reader.transaction() as seen:
        assert len(await cases.latest(seen, states=cases.OPEN_STATES, limit=9)) == 1
