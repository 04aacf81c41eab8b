"""Fixtures that many tests share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.database import Database, open_database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A fresh SQLite database with today's schema."""
    async with open_database(f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}") as opened:
        await opened.migrate()
        yield opened
