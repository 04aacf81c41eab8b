"""One world for all stories of a file: starting it costs seconds, and threads do not see each other."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.stage import Stage
from tests.stories.world import World


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Stage:
    """SQLite, or with STORIES_ON=postgres the other database, with STORIES_ON=fleet three processes on it."""
    match os.environ.get("STORIES_ON", "sqlite"):
        case "sqlite":
            return Stage()
        case "postgres" | "fleet" as name:
            return Stage(request.getfixturevalue("postgres"), in_fleet=name == "fleet")
        case other:
            pytest.exit(f"STORIES_ON is sqlite, postgres or fleet, and not {other}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """The world as `make demo` starts it."""
    async with stage.open_world(tmp_path_factory.mktemp("world")) as opened:
        yield opened
