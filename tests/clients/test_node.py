"""@slack/socket-mode and @slack/bolt, by Socket Mode and over HTTP. `make test-clients` installs them."""

from pathlib import Path

import pytest

from tests.clients.play import a_client_that_is_sent_away_comes_back, play
from tests.clients.processes import open_client

pytestmark = pytest.mark.clients

SCRIPTS = Path(__file__).parent / "node"


@pytest.mark.parametrize(
    ("script", "by_http"),
    [("socket-mode.mjs", False), ("bolt.mjs", False), ("bolt.mjs", True)],
    ids=["socket-mode", "bolt-by-socket-mode", "bolt-over-http"],
)
async def test_a_client_for_node_plays(script: str, by_http: bool, tmp_path: Path) -> None:
    command = ["node", str(SCRIPTS / script)]
    async with open_client(command, tmp_path / "stderr", by_http=by_http) as opened:
        await play(*opened)


@pytest.mark.parametrize("script", ["socket-mode.mjs", "bolt.mjs"])
async def test_a_client_for_node_comes_back(script: str, tmp_path: Path) -> None:
    command = ["node", str(SCRIPTS / script)]
    async with open_client(command, tmp_path / "stderr", by_http=False) as (slack, _):
        await a_client_that_is_sent_away_comes_back(slack)
