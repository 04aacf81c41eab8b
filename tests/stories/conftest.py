"""One world for all stories of a file: starting it costs seconds, and threads do not see each other."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.stage import Stage
from tests.stories.world import World

STORIES_ON = os.environ.get("STORIES_ON", "")
"""`sqlite`, `postgres`, or `fleet`: three processes on Postgres. Empty: SQLite, and Postgres too for `ON_BOTH`."""
ON_BOTH = ("test_cases",)
"""The stories in which a case goes through most of what may become of one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not STORIES_ON and metafunc.definition.path.stem in ON_BOTH:
        metafunc.parametrize("stage", ["sqlite", "postgres"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Stage:
    """Where the stories of a file are told."""
    match getattr(request, "param", STORIES_ON or "sqlite"):
        case "sqlite":
            return Stage()
        case "postgres" | "fleet" as name:
            return Stage(request.getfixturevalue("postgres"), in_fleet=name == "fleet")
        case other:
            pytest.exit(f"STORIES_ON is sqlite, postgres or fleet, and not {other}")


PACE = 0.3
"""The model writes faster than in the demo, and still slowly enough for what happens while it writes."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """The world as `make demo` starts it."""
    async with stage.open_world(tmp_path_factory.mktemp("world"), pace=PACE) as opened:
        yield opened
