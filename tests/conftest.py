"""Fixtures that many tests share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from bot.store.database import Database, open_database

# The same examples each time, however busy the machine is: whether a change is taken must not be a matter of luck.
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A fresh SQLite database with today's schema."""
    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}") as opened:
        await opened.migrate()
        yield opened
