"""One browser for the page's tests, a fresh workspace for each."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser

from local_slack.tests.page.stage import Stage, open_stage
from tests.doubles.chromium import browser

__all__ = ["browser"]


@pytest_asyncio.fixture(loop_scope="session")
async def stage(browser: Browser) -> AsyncIterator[Stage]:
    async with open_stage(browser) as opened:
        yield opened
