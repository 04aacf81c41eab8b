"""One running world and one browser for the journeys through its page; each has a page of its own."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.journeys import PATIENCE, SHOTS, visit
from tests.doubles.chromium import browser
from tests.patience import patience
from tests.stories.world import World, open_world

__all__ = ["browser"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The whole product; nothing is started where there is no browser."""
    async with open_world(tmp_path_factory.mktemp("world"), pace=0.4) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, world: World) -> AsyncIterator[Page]:
    """Customer A on the left, Agent A on the right."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    async with visit(browser, world.ready["page"]) as opened:
        yield opened
    expect.set_options(timeout=patience(5_000))
