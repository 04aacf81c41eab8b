"""One world for all tests of a file."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.world import World, open_world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A world whose model does not dawdle."""
    async with open_world(tmp_path_factory.mktemp("world"), pace=0) as opened:
        yield opened
