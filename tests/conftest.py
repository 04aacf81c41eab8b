"""Fixtures that many tests share."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from bot.store import database as databases
from bot.store import leases, schema
from bot.store.database import Database, open_database
from tests import forkserver
from tests.doubles.engines import sharing_statements
from tests.doubles.local_slack import LocalSlack, open_local_slack
from tests.doubles.postgres import Postgres, open_postgres
from tests.stories.prepared import VARIABLE

ON_BOTH = (
    "actions/test_together",
    "store/",
    "cases/",
    "turns/",
    "ingest/",
    "desk/test_budgets",
    "drafts/",
    "learning/",
    "help_center/test_article_folder",
    "help_center/test_schedule",
    "slack/test_rate_limiter",
    "slack/test_outbox",
    "handlers/test_twice",
)
"""Where in `tests` every test that uses a database runs twice, on SQLite and on Postgres."""
MIGRATED = "migrated"
"""A database of the session's Postgres that others are copied from, which is quicker than migrating each."""
OWN_SQL = (
    "store/",
    "actions/test_together",
    "cases/test_cases",
    "slack/test_rate_limiter",
    "slack/test_outbox",
    "ingest/test_engine",
    "ingest/test_inbox",
    "turns/test_erasure",
)
"""Of those, where Postgres has its turn in `make test` already: what they ask of the database is asked nowhere else, or
in words of SQL that the two read differently. The others have it in `make test-both`."""
FIRST = ("chaos", "stories", "faults", "turns", "knowledge")
"""Folders of `tests` whose files take minutes; begun first, they are not what all others have to wait for."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of what the processes of a run prepare for each other, and start the fork server they share."""
    if VARIABLE not in os.environ:
        shared = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="frontdesk-tests-")
        config.add_cleanup(partial(shutil.rmtree, shared, ignore_errors=True))
    if config.option.workers and not config.option.collectonly:
        forkserver.listening_at()  # It imports the product while the tests are collected.


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first = [Path(__file__).parent / name for name in FIRST]
    items.sort(key=lambda item: not any(item.path.is_relative_to(folder) for folder in first))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    where = metafunc.definition.path.relative_to(Path(__file__).parent).as_posix()
    if "database_url" in metafunc.fixturenames and where.startswith(ON_BOTH):
        marks = [] if where.startswith(OWN_SQL) else [pytest.mark.twin]
        metafunc.parametrize("database_url", ["sqlite", pytest.param("postgres", marks=marks)], indirect=True)


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[None]:
    """Processes of the product begin with everything imported; `asyncio.subprocess` starts them as users do."""
    spawn = asyncio.subprocess.create_subprocess_exec
    asyncio.create_subprocess_exec = forkserver.in_place_of(spawn)  # type: ignore[assignment]
    yield
    asyncio.create_subprocess_exec = spawn


@pytest.fixture(scope="session", autouse=True)
def statements() -> Iterator[None]:
    """A statement is compiled once in a process, not for each of a thousand databases."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(databases, "create_async_engine", sharing_statements(create_async_engine))
        yield


@pytest.fixture(scope="session", autouse=True)
def lives() -> Iterator[None]:
    """A member among the tests that missed its beats, on a machine that stood still, does not end pytest with it."""
    end_now = leases.end_now
    leases.end_now = lambda: None
    yield
    leases.end_now = end_now


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running Postgres; tests that stop it start one of their own with `open_postgres`."""
    with open_postgres() as server:
        asyncio.run(_make_migrated(server))
        yield server


@pytest.fixture
async def postgres_url(postgres: Postgres) -> AsyncIterator[str]:
    """The address of a fresh Postgres database with today's schema."""
    url = await postgres.create(template=MIGRATED)
    yield url
    await postgres.drop(url)


@pytest.fixture
async def emptied_postgres_url(postgres: Postgres) -> AsyncIterator[str]:
    """The same for tests that change rows only: others have used the database before."""
    url = await postgres.borrow(template=MIGRATED)
    yield url
    await postgres.give_back(url, tables=schema.metadata.tables)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without rows: SQLite's, which has no tables yet, or Postgres' with today's schema."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}"
    url: str = request.getfixturevalue("emptied_postgres_url")
    return url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with today's schema, of which a copy is quicker than migrating each."""
    path = tmp_path_factory.mktemp("migrated") / "frontdesk.db"
    asyncio.run(_migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
async def database(database_url: str, migrated_file: Path) -> AsyncIterator[Database]:
    """A fresh database with today's schema."""
    if database_url.startswith("sqlite"):
        shutil.copyfile(migrated_file, make_url(database_url).database or "")
    async with open_database(database_url) as opened:
        yield opened


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    """A fresh local Slack."""
    async with open_local_slack() as opened:
        yield opened


async def _make_migrated(server: Postgres) -> None:
    await server.execute(f"create database {MIGRATED} template template0")
    await _migrate(server.url(MIGRATED))


async def _migrate(url: str) -> None:
    async with open_database(url) as opened:
        await opened.migrate()
