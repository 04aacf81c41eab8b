"""Dockerfile and compose.yaml against the tree and the code, as far as that shows without a builder."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.app import SHUTDOWN_TIMEOUT
from bot.cli.main import build_parser
from bot.settings import VARIABLES, Settings, load_settings
from tests.contracts.tree import ROOT, read
from tests.patience import patience

pytestmark = pytest.mark.contract

LINES = [
    line for line in read("Dockerfile").replace("\\\n", " ").splitlines() if line and not line.lstrip().startswith("#")
]
NOT_OURS = {"PATH", "PYTHONUNBUFFERED"}


def instructions(name: str) -> list[str]:
    return [line.partition(" ")[2].strip() for line in LINES if line.split()[0] == name]


def copied() -> set[str]:
    """What comes from the tree, as opposed to another stage."""
    lines = [line for line in instructions("COPY") if not line.startswith("--from")]
    return {source for line in lines for source in line.split()[:-1]}


def compose() -> dict[str, Any]:
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", r"secret", read("compose.yaml"))
    return dict(yaml.safe_load(text))


def services() -> dict[str, Any]:
    """Our own processes."""
    return {name: service for name, service in compose()["services"].items() if "build" in service}


@pytest.mark.parametrize("source", sorted(copied()))
def test_what_is_copied_is_there_and_is_sent_to_the_builder(source: str) -> None:
    assert (ROOT / source).exists()
    is_sent = True
    for pattern in read(".dockerignore").split():
        if fnmatch(source, pattern.removeprefix("!").removeprefix("**/")):
            is_sent = pattern.startswith("!")
    assert is_sent


def test_all_that_the_wheel_needs_is_copied() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert needed <= copied()


def test_the_image_runs_the_command_that_is_installed() -> None:
    (entry,) = json.loads(instructions("ENTRYPOINT")[0])
    arguments = json.loads(instructions("CMD")[0])
    assert entry in tomllib.loads(read("pyproject.toml"))["project"]["scripts"]
    assert build_parser().parse_args(arguments).command == "serve"


def test_the_image_has_settings_that_exist_and_no_rights_that_it_does_not_need() -> None:
    given = dict(each.split("=", 1) for each in shlex.split(instructions("ENV")[-1]))
    assert set(given) - NOT_OURS <= set(VARIABLES)
    settings = load_settings({name: value for name, value in given.items() if name in VARIABLES})
    assert instructions("VOLUME") == [str(settings.data_dir)]
    assert instructions("EXPOSE") == [str(Settings().port)]
    assert instructions("USER") not in ([], ["root"], ["0"])


class _Livez(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/livez" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _is_healthy(port: int) -> bool:
    command = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    assert command[0] == "python"
    environment = {"PATH": os.environ["PATH"], "PORT": str(port)}
    ran = subprocess.run(
        [sys.executable, *command[1:]], env=environment, check=False, capture_output=True, timeout=patience(60)
    )
    return ran.returncode == 0


def test_the_health_check_tells_a_process_that_lives_from_one_that_does_not() -> None:
    with HTTPServer(("127.0.0.1", 0), _Livez) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert _is_healthy(server.server_port)
        server.shutdown()
    assert not _is_healthy(server.server_port)


def test_the_processes_of_the_compose_file_are_a_fleet() -> None:
    roles = [build_parser().parse_args(service["command"]) for service in services().values()]
    assert [role.command for role in roles].count("work") == 2
    assert [role.ingress_only for role in roles if role.command == "serve"] == [True]


@pytest.mark.parametrize("name", services())
def test_a_process_of_the_compose_file_has_what_it_needs(name: str) -> None:
    service = services()[name]
    assert load_settings(service["environment"]).is_shared
    assert service["build"]["args"]["LOCK"] in copied()
    assert "asyncpg==" in read(service["build"]["args"]["LOCK"])
    assert int(service["stop_grace_period"].removesuffix("s")) > SHUTDOWN_TIMEOUT
    (volume,) = service["volumes"]
    assert Path(volume.partition(":")[2]) == Path(instructions("VOLUME")[0])
    shared = [other for other, each in services().items() if each["volumes"] == service["volumes"]]
    assert shared == [name]


def test_the_volumes_of_the_compose_file_are_declared() -> None:
    used = {volume.partition(":")[0] for service in compose()["services"].values() for volume in service["volumes"]}
    assert used == set(compose()["volumes"])
