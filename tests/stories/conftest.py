"""One world for all stories of a file: starting it costs seconds, and threads do not see each other."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.world import World, open_world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The world as `make demo` starts it."""
    async with open_world(tmp_path_factory.mktemp("world")) as opened:
        yield opened
