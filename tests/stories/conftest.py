"""One world for all stories of a file: starting it costs seconds, and threads do not see each other."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.doubles.postgres import Postgres
from tests.stories.world import World, open_world


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """Empty: SQLite. With STORIES_ON=postgres the same stories are told on the other database."""
    if os.environ.get("STORIES_ON") != "postgres":
        return ""
    server: Postgres = request.getfixturevalue("postgres")
    return asyncio.run(server.create())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[World]:
    """The world as `make demo` starts it."""
    env = {"DATABASE_URL": database_url} if database_url else None
    async with open_world(tmp_path_factory.mktemp("world"), env=env) as opened:
        yield opened
