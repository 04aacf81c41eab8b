"""What each process of a fleet needs, and where it is refused."""

import asyncio
from pathlib import Path

import pytest

from bot.app import Role, open_app
from bot.errors import ConfigurationError
from bot.settings import load_settings

WORKER = {"SLACK_BOT_TOKEN": "xoxb-1", "AGENT_CHANNEL": "C0AGENTS", "OPENAI_API_KEY": "none"}


def test_a_worker_needs_no_way_in_for_slack_and_whoever_listens_does() -> None:
    load_settings(WORKER, serving=True, listening=False)
    with pytest.raises(ConfigurationError, match="SLACK_SIGNING_SECRET"):
        load_settings(WORKER, serving=True)


@pytest.mark.parametrize("role", ["work", "ingress"])
async def test_on_sqlite_nothing_but_the_whole_is_served(role: Role, tmp_path: Path) -> None:
    settings = load_settings({**WORKER, "DATA_DIR": str(tmp_path / "data")}, serving=True, listening=False)
    with pytest.raises(ConfigurationError, match="several processes need Postgres"):
        async with open_app(settings, asyncio.Event(), role=role):
            raise AssertionError("it was opened")
    assert not (tmp_path / "data").exists()
