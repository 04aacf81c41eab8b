"""The apps in local_slack/README.md run in the workspace that its first command starts."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.clients.play import CUSTOMER, DIRECT, said
from tests.clients.processes import ROOT, open_client

README = (ROOT / "local_slack" / "README.md").read_text("utf-8")
NODE_MODULES = Path(__file__).parent / "node" / "node_modules"


def code(language: str) -> list[str]:
    """The blocks of code of a language, in the order of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("language", "file", "program"),
    [
        ("python", "app.py", sys.executable),
        pytest.param("js", "app.mjs", "node", marks=pytest.mark.clients),
    ],
)
async def test_the_app_of_the_readme_answers(language: str, file: str, program: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / file).write_text(code(language)[0], "utf-8")
    _, _, _, *options = shlex.split(code("sh")[0])
    command = [program, str(tmp_path / file)]
    async with open_client(command, tmp_path / "stderr", by_http=False, options=options) as (slack, client):
        await slack.act("send", user=CUSTOMER, channel=DIRECT, text="hello")
        await slack.until(said(DIRECT, f"Hello, <@{CUSTOMER}>!"))
        assert client.complaints() == ""
