"""`frontdesk doctor`: what waits is named, with its age and what to do; a desk that is well needs nobody."""

import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from bot.cli.doctor import run
from bot.cli.main import build_parser
from bot.locks import locked
from bot.settings import load_settings
from bot.store import actions, cases, leases, schema
from bot.store.database import Database
from tests.actions.test_action import an_action
from tests.store.rows import a_case


@asynccontextmanager
async def healthz(told: dict[str, object]) -> AsyncIterator[str]:
    """A process that says this of itself; its port."""

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(told)

    app = web.Application()
    app.router.add_get("/healthz", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield str(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def doctor(
    url: str, data: Path, told: dict[str, object] | None, capsys: pytest.CaptureFixture[str], role: str = "serve"
) -> tuple[int, str]:
    """Its status and what it says. `told` is the answer of the process; without one, none runs."""
    async with healthz(told or {}) as port:
        with ExitStack() as stack:
            if told is not None:
                stack.enter_context(locked(data / "frontdesk.lock", "DATA_DIR", data))
            settings = load_settings({"DATABASE_URL": url, "DATA_DIR": str(data), "PORT": port})
            status = await run(build_parser().parse_args(["doctor"]), settings)
    return status, capsys.readouterr().out


WELL: dict[str, object] = {"missing": None, "degraded": None}


@pytest.fixture
async def desk(database: Database) -> Database:
    """A desk with one process, in a fleet."""
    await database.migrate()
    async with database.transaction() as tx:
        await leases.beat(tx, "one-1", "serve", now=time.time())
    return database


async def test_a_desk_that_is_well_needs_nobody(
    desk: Database, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = await doctor(database_url, tmp_path, WELL, capsys)
    assert (status, "Nothing needs you." in told, "wrong:" in told) == (0, True, False), told


async def test_what_waits_is_named_with_its_age(
    desk: Database, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    row = {"team": "T", "channel": "C0GONE", "author": "U", "author_team": "T", "body": {}, "kind": "message"}
    async with desk.transaction() as tx:
        for number, (state, at) in enumerate((("new", now - 7_300), ("new", now), ("dead", now), ("done", now - 9e4))):
            values = {"event_id": f"E{number}", "ts": f"{number}.1", "thread": "t", "state": state}
            await tx.execute(schema.inbox.insert().values(**row, **values, received_at=at, finished_at=at))
        post = {"key": "k", "method": "post", "channel": "C0GONE", "payload": {}, "afterwards": {}, "state": "pending"}
        await tx.execute(schema.outbox.insert().values(**post, created_at=now - 200))
        await cases.add(tx, a_case(opened_at=now - 3 * 86_400))
        await actions.add(tx, an_action("stuck", ref="act_stuck"))
        await tx.execute(schema.schedule.insert().values(name="kb-refresh", rule="1h", due=now - 7_300))
    status, told = await doctor(database_url, tmp_path, WELL, capsys)
    assert status == 1
    for line in (
        "wrong: 2 messages or presses wait, the oldest for 2 hours (1, 2)",
        "wrong: 1 posts wait for Slack, the oldest for 3 minutes (C0GONE)",
        "note: 1 cases wait for a person, the oldest for 3 days (FD-1001)",
        "wrong: 1 changes of orders are stuck",
        "(act_stuck). Look in the shop",
        "wrong: 1 messages or presses were set aside in the last week",
        "wrong: recurring work is late: kb-refresh",
    ):
        assert line in told


async def test_what_has_just_come_is_no_fault(
    desk: Database, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    post = {"key": "k", "method": "post", "channel": "C0A", "payload": {}, "afterwards": {}, "state": "pending"}
    async with desk.transaction() as tx:
        await tx.execute(schema.outbox.insert().values(**post, created_at=time.time()))
    status, told = await doctor(database_url, tmp_path, WELL, capsys)
    assert (status, "note: 1 posts wait for Slack" in told) == (0, True), told


async def test_a_process_says_what_it_lacks(
    desk: Database, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking: dict[str, object] = {"missing": "Slack does not answer", "degraded": "the model is left alone"}
    status, told = await doctor(database_url, tmp_path, lacking, capsys)
    assert status == 1
    assert "wrong: customers get no answers: Slack does not answer." in told
    assert "wrong: it works worse than it should: the model is left alone." in told
    status, told = await doctor(database_url, tmp_path, {"something": "else"}, capsys)
    assert (status, "does not answer on port" in told) == (1, True)


@pytest.mark.parametrize(
    ("role", "told"), [("", "no process runs"), ("ingress", "no process answers"), ("work", "no process takes events")]
)
async def test_a_process_that_is_missing_is_named(
    role: str,
    told: str,
    database: Database,
    database_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if role and database_url.startswith("sqlite"):
        pytest.skip("one process does everything")
    await database.migrate()
    if role:
        async with database.transaction() as tx:
            await leases.beat(tx, "one-1", role, now=time.time())
    status, said = await doctor(database_url, tmp_path, None, capsys)
    assert (status, told in said) == (1, True), said
