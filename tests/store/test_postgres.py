"""What only Postgres can do to us: be away, come back, refuse, hang; and what it must never be told or tell."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import insert, select, text

from bot.agent.model import Usage
from bot.conversation import ThreadRef
from bot.errors import ConfigurationError, FrontdeskError, StoreUnavailable
from bot.store import audit, cases, inbox, schema, spending, turns
from bot.store import database as database_module
from bot.store.database import Database, open_database, open_kept
from bot.store.spending import Spending
from bot.store.statements import lock
from tests import forkserver
from tests.doubles.postgres import Postgres, open_postgres
from tests.patience import patience
from tests.store.rows import a_case
from tests.turns.arrivals import TEAM, arrival

DEADLINE = patience(30.0)
LIMITER = """
import asyncio, sys, time
from bot.store import limits
from bot.store.database import open_database

async def main():
    allowed = 0
    async with open_database(sys.argv[1]) as database:
        end = time.time() + float(sys.argv[2])
        while time.time() < end or allowed < 13:
            async with database.transaction() as tx:
                allowed += await limits.take(tx, "model", times=50, seconds=10.0, now=time.time())
    print(allowed)

asyncio.run(main())
"""


SERVER = """
import sys
from tests.doubles.postgres import open_postgres

with open_postgres() as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server that a test may stop."""
    with open_postgres() as server:
        yield server


async def notes(database: Database) -> int:
    async with database.transaction() as tx:
        return len((await tx.execute(select(schema.audit.c.id))).all())


async def note(database: Database) -> None:
    async with database.transaction() as tx:
        await audit.note(tx, actor="U1", action="noted", subject="x", now=1.0)


@pytest.mark.parametrize("crash", [True, False])
async def test_a_restart_of_the_server_is_ridden_out(own_postgres: Postgres, *, crash: bool) -> None:
    async with open_database(await own_postgres.create()) as database:
        await database.migrate()
        # Several connections, each of which the restart cuts.
        await asyncio.gather(*(note(database) for _ in range(20)))
        await asyncio.to_thread(own_postgres.stop, crash=crash)
        results = await asyncio.gather(*(note(database) for _ in range(20)), return_exceptions=True)
        assert {type(result) for result in results} == {StoreUnavailable}
        await asyncio.to_thread(own_postgres.start)
        await asyncio.gather(*(note(database) for _ in range(20)))
        assert await notes(database) == 40


async def test_a_transaction_that_is_cut_off_is_unavailable_and_leaves_nothing(own_postgres: Postgres) -> None:
    async def cut_off(database: Database) -> None:
        async with database.transaction() as tx:
            await audit.note(tx, actor="U1", action="noted", subject="x", now=1.0)
            await asyncio.to_thread(own_postgres.stop)
            await audit.note(tx, actor="U1", action="noted", subject="x", now=1.0)

    async with open_database(await own_postgres.create()) as database:
        await database.migrate()
        with pytest.raises(StoreUnavailable):
            await cut_off(database)
        await asyncio.to_thread(own_postgres.start)
        assert await notes(database) == 0


async def test_who_is_cut_off_by_an_administrator_goes_on(postgres: Postgres, postgres_url: str) -> None:
    async with open_database(postgres_url) as database:
        await asyncio.gather(*(note(database) for _ in range(20)))
        await postgres.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname <> 'postgres'")
        async with asyncio.timeout(DEADLINE):
            while True:
                try:
                    await note(database)
                    break
                except StoreUnavailable:
                    continue
        assert await notes(database) == 21


async def test_too_many_connections_is_unavailable(own_postgres: Postgres) -> None:
    url = await own_postgres.create()
    async with open_database(url) as database:
        await database.migrate()
    await own_postgres.execute(f"alter database {url.rpartition('/')[2]} connection limit 0")
    await own_postgres.execute("create role guest login password 'pw'")
    guest = f"postgresql://guest:pw@127.0.0.1:{own_postgres.port}/{url.rpartition('/')[2]}"
    async with open_database(guest) as database:
        with pytest.raises(StoreUnavailable, match="TooManyConnections"):
            await note(database)


async def test_a_server_that_does_not_speak_as_it_should_is_unavailable() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(8)
        # To the question for TLS, whoever this is answers neither yes nor no.
        writer.write(b"R\0\0\0\x08\0\0\0\x63" * 2)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        address = f"postgresql://guest:pw@127.0.0.1:{server.sockets[0].getsockname()[1]}/desk?sslmode=disable"
        async with open_database(address) as database:
            with pytest.raises(StoreUnavailable):
                await note(database)


async def test_no_statement_and_no_lock_is_waited_for_without_end(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "STATEMENT_SECONDS", 1.0)
    monkeypatch.setattr(database_module, "BUSY_MILLISECONDS", 200)

    async def sleep(database: Database) -> None:
        async with database.transaction() as tx:
            await tx.execute(text("select pg_sleep(60)"))

    async with open_database(postgres_url) as database, open_database(postgres_url) as other:
        await note(database)
        async with database.transaction() as tx:
            await tx.execute(text("lock table audit"))
            with pytest.raises(StoreUnavailable, match="LockNotAvailable"):
                await note(other)
        with pytest.raises(StoreUnavailable, match="QueryCanceled"):
            await sleep(other)
        await note(other)


@pytest.mark.parametrize("between", ["statements", "messages"])
async def test_who_stands_still_in_the_middle_holds_nobody_up_for_long(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    """A frozen process would keep its locks, and whoever takes its work over would wait until it wakes."""
    assert database_module.IDLE_SECONDS * 1_000 < database_module.BUSY_MILLISECONDS
    monkeypatch.setattr(database_module, "IDLE_SECONDS", 0.5)
    statement = text("update audit set action = 'changed'")
    gone_on: list[bool] = []

    async def stand_still(frozen: Database, other: Database) -> None:
        async with frozen.transaction() as tx:
            await tx.execute(statement)
            if between == "messages":
                # Of one statement: Postgres has read it, and is not told yet to carry it out.
                driver = (await tx.get_raw_connection()).driver_connection
                assert driver is not None
                await driver.prepare("select count(*) from audit")
            async with other.transaction() as more:
                await more.execute(statement)
            gone_on.append(True)

    async with AsyncExitStack() as stack:
        other = await stack.enter_async_context(open_database(postgres_url))
        await note(other)
        monkeypatch.setattr(database_module, "TRANSACTION_SECONDS", 1.0)
        frozen = await stack.enter_async_context(open_database(postgres_url))
        with pytest.raises(StoreUnavailable):
            await stand_still(frozen, other)
    assert gone_on == [True]


async def test_who_is_cancelled_in_the_middle_leaves_nothing_behind(postgres_url: str) -> None:
    """More often than there are connections, so that none may be lost."""

    async def hold(database: Database, begun: asyncio.Event) -> None:
        async with database.transaction() as tx:
            await lock(tx, "held")
            await audit.note(tx, actor="U1", action="noted", subject="x", now=1.0)
            begun.set()
            await tx.execute(text("select pg_sleep(60)"))

    async with open_database(postgres_url) as database:
        for _ in range(database_module.CONNECTIONS + database_module.MORE_CONNECTIONS + 1):
            begun = asyncio.Event()
            task = asyncio.create_task(hold(database, begun))
            async with asyncio.timeout(DEADLINE):
                await begun.wait()
            task.cancel()
            assert (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError
        async with asyncio.timeout(DEADLINE), database.transaction() as tx:
            await lock(tx, "held")
        assert await notes(database) == 0


async def test_a_server_that_says_nothing_any_more_is_not_listened_to_for_ever(
    own_postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "STATEMENT_SECONDS", 0.5)
    monkeypatch.setattr(database_module, "GRACE_SECONDS", 0.5)

    async def count(database: Database, backend: int) -> None:
        async with database.transaction() as tx:
            os.kill(backend, signal.SIGSTOP)
            await tx.execute(text("select 1"))

    async with open_database(await own_postgres.create()) as database:
        await database.migrate()
        async with database.transaction() as tx:
            backend: int = (await tx.execute(text("select pg_backend_pid()"))).scalar_one()
        try:
            async with asyncio.timeout(DEADLINE):
                with pytest.raises(StoreUnavailable, match="does not answer"):
                    await count(database, backend)
                await note(database)
        finally:
            os.kill(backend, signal.SIGCONT)


async def test_two_that_wait_for_each_other_are_told_apart(postgres_url: str) -> None:
    async def both(first: str, second: str, met: asyncio.Barrier) -> None:
        async with database.transaction() as tx:
            await tx.execute(text(f"update thread set note = 'x' where key = '{first}'"))  # noqa: S608
            await met.wait()
            await tx.execute(text(f"update thread set note = 'x' where key = '{second}'"))  # noqa: S608

    async with open_database(postgres_url) as database:
        async with database.transaction() as tx:
            for key in ("a", "b"):
                await tx.execute(insert(schema.thread).values(key=key, team=TEAM, channel="C", ts="1.1", opened_at=1.0))
        met = asyncio.Barrier(2)
        results = await asyncio.gather(both("a", "b", met), both("b", "a", met), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["NoneType", "StoreUnavailable"]


async def test_what_was_changed_under_a_running_process_is_prepared_again(postgres_url: str) -> None:
    """A newer release adds a column while this one runs and has `select *` prepared."""
    async with open_database(postgres_url) as database:
        await asyncio.gather(*(notes(database) for _ in range(20)))
        async with database.transaction() as tx:
            await tx.execute(text("alter table audit alter column subject type varchar(300)"))
        for _ in range(20):
            async with database.transaction() as tx:
                await tx.execute(select(schema.audit))


@pytest.mark.parametrize(
    ("of", "part", "told"),
    [
        ("{user}:wr:on:g@127.0.0.1:{port}/postgres", "wr:on", "InvalidPassword"),
        ("{user}:{password}@127.0.0.1:{port}/nowhere", "", "InvalidCatalogName"),
        ("somebody:s3cret@127.0.0.1:1/postgres", "s3cret", "does not answer"),
        ("somebody:s3cret@127.0.0.1:port/postgres", "s3cret", "no address"),
        ("somebody:s3/cr:et@127.0.0.1/postgres", "cr:et", "no address"),
        ("somebody:s3cret@127.0.0.1:{port}/postgres?sslmode=always", "s3cret", "no address"),
    ],
)
async def test_a_wrong_address_is_told_without_the_password(postgres: Postgres, of: str, part: str, told: str) -> None:
    account = postgres.url().partition("://")[2].partition("@")[0]
    user, _, password = account.partition(":")
    url = "postgresql://" + of.format(user=user, password=password, port=postgres.port)
    for read_only in (False, True):
        with pytest.raises(FrontdeskError, match=told) as refusal:
            async with open_database(url, read_only=read_only) as database:
                await database.migrate()
        shown = [str(refusal.value), repr(refusal.value), repr(refusal.value.__cause__)]
        assert not [each for each in shown if (part and part in each) or password in each]


async def test_who_only_reads_writes_nothing_and_is_told_when_there_is_nothing(
    postgres: Postgres, postgres_url: str
) -> None:
    async with open_kept(postgres_url) as database:
        assert await notes(database) == 0
        with pytest.raises(StoreUnavailable, match="ReadOnly"):
            await note(database)
    with pytest.raises(ConfigurationError, match="no tables"):
        async with open_kept(await postgres.create()):
            pass


async def test_every_form_of_the_address_is_understood(postgres_url: str) -> None:
    rest = postgres_url.partition("://")[2]
    for url in (f"postgres://{rest}", f"postgresql+asyncpg://{rest}", f"postgresql://{rest}?sslmode=disable"):
        async with open_database(url) as database:
            assert await notes(database) == 0


async def test_without_the_driver_a_sentence_says_what_to_install(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(ConfigurationError, match=r"pip install frontdesk\[fleet\]"):
        async with open_database(postgres_url):
            pass


async def test_timestamps_are_sorted_by_their_characters_whatever_the_language(postgres_url: str) -> None:
    statement = text(
        "select table_name || '.' || column_name, collation_name from information_schema.columns "
        "where table_schema = 'public' and column_name in ('ts', 'through')"
    )
    async with open_database(postgres_url) as database, database.transaction() as tx:
        found = {row[0]: row[1] for row in await tx.execute(statement)}
    named = ("inbox.ts", "thread.ts", "turn.ts", "outbox.ts", "desk.ts", "fix_list.ts", "summary.through")
    assert found == dict.fromkeys(named, "C")


@pytest.mark.parametrize("words", ["half \ud83d", "nul \0 inside", "whole \U0001f600", "\u202eبالعربية"])
async def test_whatever_somebody_wrote_is_stored(database: Database, words: str) -> None:
    async with database.transaction() as tx:
        values = {"case_id": 1, "asked": 1, "number": 1, "text": words, "made_at": 1.0}
        await cases.add(tx, a_case(customer_name=words, title=words * 40, summary=words))
        await tx.execute(insert(schema.draft).values(**values))
        await audit.note(tx, actor="U1", action="x", subject="y", detail={"said": words}, now=1.0)
        kept = (await tx.execute(select(schema.draft.c.text))).scalar_one()
        name, title = (await tx.execute(select(schema.kase.c.customer_name, schema.kase.c.title))).one()
        (detail,) = (await tx.execute(select(schema.audit.c.detail))).scalars()
    clean = words.replace("\ud83d", "\ufffd").replace("\0", "\ufffd")
    assert kept == name == clean
    assert title == (clean * 40)[:160]
    assert detail == {"said": words}


async def test_a_name_that_a_models_server_made_up_is_found_again(database: Database) -> None:
    names = ["call-" + "x" * 500 + end for end in "ab"] + ["call-\0", "call-\ud800", "call-ok"]
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        await inbox.start(tx, 1)
        for name in names:
            await turns.record(tx, 1, {name: {"of": repr(name)}}, attempt=1, now=1.0)
        found = [await turns.look_up(tx, 1, name, attempt=1) for name in names]
    assert found == [{"of": repr(name)} for name in names]


async def test_numbers_that_no_column_holds_are_no_fault(database: Database) -> None:
    many = Usage(input_tokens=10**15, output_tokens=10**15, cached_tokens=10**15, cost=1.0)
    async with database.transaction() as tx:
        use = Spending("turn/1/m", "answer", ThreadRef(TEAM, "D1", "1.1"), "U1", ("m",), many)
        assert await spending.add(tx, use, now=1.0)
        assert await turns.customer_of(tx, 999_999_999_999) is None


async def test_a_days_last_second_is_of_that_day(database: Database) -> None:
    async with database.transaction() as tx:
        for number, at in enumerate((86_399.7, 86_400.0, 172_799.999)):
            use = Spending(f"turn/{number}", "answer", ThreadRef(TEAM, "D1", "1.1"), "U1", ("m",), Usage(cost=1.0))
            await spending.add(tx, use, now=at)
        totals = await spending.totals(tx, since=0.0, by="day")
    assert [(total.group, total.uses) for total in totals] == [("1970-01-01", 1), ("1970-01-02", 2)]


async def test_four_processes_share_one_pace(postgres_url: str) -> None:
    """50 in 10 seconds: 50 at once and 5 more each second, however many ask."""
    began = asyncio.get_running_loop().time()
    children = [
        await forkserver.start("-c", LIMITER, postgres_url, "1.5", stdout=asyncio.subprocess.PIPE) for _ in range(4)
    ]
    async with asyncio.timeout(patience(60)):
        counts = [int((await child.communicate())[0] or 0) for child in children]
    lasted = asyncio.get_running_loop().time() - began
    assert 50 <= sum(counts) <= 50 + 5 * lasted + 1


async def test_the_tests_server_ends_with_the_tests_even_when_they_are_killed() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    async with asyncio.timeout(patience(60)):
        port = int(await child.stdout.readline())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        child.kill()
        await child.wait()
        # Whoever is connected hears of the end.
        assert await reader.read() == b""
    writer.close()
