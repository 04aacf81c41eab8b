"""The world around the product: what the product is given, and what is left when all is over."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from demo.program import NotReady, Program
from demo.shop.server import Shop
from demo.world import PAGES, ROOT, PortTaken, World, open_world
from tests.patience import patience

SURROUNDINGS = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "SECRET_OF_MINE": "x", "SLACK_BOT_TOKEN": "xoxb-real"}
DOUBLE = """
import http.server, json, os, pathlib, subprocess, sys
sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
about = {"environment": dict(os.environ), "cwd": os.getcwd(), "path": sys.path, "sleeper": sleeper.pid}
pathlib.Path(os.environ["DATA_DIR"], f"{os.getpid()}.json").write_text(json.dumps(about))
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
    def log_message(self, *arguments): pass
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Healthy).serve_forever()
"""
"""Stands for the product: it is healthy, tells what it was given, and has a child of its own."""
COMMAND = (sys.executable, "-P", "-c", DOUBLE)


@asynccontextmanager
async def a_world(data: Path, **more: Any) -> AsyncIterator[World]:
    """A world whose product is the double, ready."""
    async with open_world(data, **{"environ": SURROUNDINGS, "command": COMMAND, **more}) as world:
        await world.program.wait_ready(seconds=patience(20))
        yield world


async def test_the_product_gets_the_documented_settings_and_nothing_of_the_callers_secrets(tmp_path: Path) -> None:
    async with a_world(tmp_path, extra={"LOG_LEVEL": "DEBUG"}) as world:
        about = _about(world)
        assert isinstance(world.shop, Shop)
        assert world.stand_in is not None
        expected = {
            "PATH": SURROUNDINGS["PATH"],
            "HOME": "/nowhere",
            "PYTHONPATH": str(ROOT),
            "SLACK_BOT_TOKEN": world.workspace.bot_token,
            "SLACK_APP_TOKEN": world.workspace.app_token,
            "SLACK_API_URL": f"{world.workspace.url}/api/",
            "AGENT_CHANNEL": "C0AGENTS",
            "OPENAI_API_KEY": world.stand_in.key,
            "OPENAI_BASE_URL": world.stand_in.url,
            "OPENAI_MODEL": "frontdesk-offline",
            "OPENAI_IMAGES": "true",
            "MODEL_LOADING_SECONDS": "0",
            "MODEL_PRICES": str(ROOT / "demo" / "model" / "prices.yml"),
            "DESK_FILE": str(ROOT / "demo" / "desk.yml"),
            "POLICY_PATH": str(ROOT / "demo" / "policy.yml"),
            "SHOP_URL": world.shop.url,
            "SHOP_TOKEN": world.shop.token,
            "SHOP_WEBHOOK_SECRET": about["environment"]["SHOP_WEBHOOK_SECRET"],
            "DATA_DIR": str(tmp_path),
            "DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path}/frontdesk.db",
            "KB_PATH": str(PAGES),
            "LINK_HOSTS": "help.example.com",
            "OPEN_CASES": "50",
            "CUSTOMER_MESSAGES_PER_MINUTE": "60",
            "CUSTOMER_MESSAGES_PER_DAY": "5000",
            "PORT": about["environment"]["PORT"],
            "LOG_LEVEL": "DEBUG",
        }
        given = {name: value for name, value in about["environment"].items() if not name.startswith("LC_")}
        assert given == expected
        assert about["cwd"] == str(ROOT)


async def test_everything_is_described_for_programs(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        told = json.loads(json.dumps(world.describe()))
        assert told["page"] == f"{world.workspace.url}/?secret={world.workspace.secret}"
        assert told["slack"]["channels"]["agents"] == "C0AGENTS"
        assert told["bot"]["pid"] == world.program.pid
        assert set(told) == {"page", "slack", "model", "shop", "bot"}
        async with aiohttp.ClientSession() as session, session.get(told["page"]) as page:
            text = await page.text()
    assert page.status == 200
    assert "not by a language model" in text


async def test_a_real_model_is_used_when_its_key_is_set_and_the_page_says_so(tmp_path: Path) -> None:
    real = {"OPENAI_API_KEY": "sk-real", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "some-model"}
    async with a_world(tmp_path, environ=SURROUNDINGS | real) as world:
        environment = _about(world)["environment"]
        assert world.stand_in is None
        assert {name: environment[name] for name in real} == real
        assert "some-model" in world.notice
        assert "sk-real" not in json.dumps(world.describe())


async def test_nothing_is_left_when_the_world_ends(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        pid, sleeper = world.program.pid, _about(world)["sleeper"]
        assert pid is not None
    assert not await _lives(pid)
    assert not await _lives(sleeper)


async def test_the_page_can_kill_restart_and_stop_the_product(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, aiohttp.ClientSession() as session:
        first, sleeper = world.program.pid, _about(world)["sleeper"]
        assert await _control(session, world, "kill") is None
        assert not await _lives(first)
        assert not await _lives(sleeper)
        second = await _control(session, world, "restart")
        await world.program.wait_ready(seconds=patience(20))
        third = await _control(session, world, "restart")
        assert None not in (second, third)
        assert len({first, second, third}) == 3
        assert await _control(session, world, "stop") is None
        assert not await _lives(third)
        async with session.post(f"{world.workspace.url}/_world/kill") as response:
            assert response.status == 403


async def test_a_product_that_ends_by_itself_is_reported(tmp_path: Path) -> None:
    ended: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
    async with a_world(tmp_path) as world:
        world.program.on_crash = lambda pid, status: ended.put_nowait((pid, status))
        pid = world.program.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(patience(20)):
            assert await ended.get() == (pid, -signal.SIGKILL)
        assert world.program.pid is None


async def test_a_product_that_does_not_start_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "print('SHOP_TOKEN is missing'); raise SystemExit(2)")
    async with open_world(tmp_path, environ=SURROUNDINGS, command=command) as world:
        with pytest.raises(NotReady, match="status 2"):
            await world.program.wait_ready(seconds=patience(20))
        assert world.program.last_lines() == ["SHOP_TOKEN is missing"]


async def test_a_product_that_never_becomes_ready_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    async with open_world(tmp_path, environ=SURROUNDINGS, command=command) as world:
        with pytest.raises(NotReady, match="within"):
            await world.program.wait_ready(seconds=0.3)


async def test_an_occupied_port_is_told_by_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=str(port)):
            async with open_world(tmp_path, port=port, environ=SURROUNDINGS, command=COMMAND):
                pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
async def test_the_product_dies_with_a_world_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom demo.program import Program\n"
        "async def main():\n"
        "    program = Program([sys.executable, '-c', 'import time; time.sleep(600)'], Path('/'), {},"
        f" Path({str(tmp_path / 'log')!r}), '')\n"
        "    await program.start()\n    print(program.pid, flush=True)\n    await asyncio.sleep(600)\n"
        "asyncio.run(main())"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert await _lives(child, soon=False)
    parent.kill()
    await parent.wait()
    assert not await _lives(child)


async def test_a_program_that_does_not_heed_the_signal_is_ended_by_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demo.program.STOP_SECONDS", 0.2)
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    program = Program([sys.executable, "-c", deaf], tmp_path, {}, tmp_path / "log", "")
    await program.start()
    pid = program.pid
    async with asyncio.timeout(patience(20)):
        while not program.last_lines():  # noqa: ASYNC110 - another process's file
            await asyncio.sleep(0.02)
        await program.stop()
    assert not await _lives(pid)


def test_an_argument_that_makes_no_sense_is_refused_in_words() -> None:
    table = [["--port", "99999"], ["--port", "x"], ["--kb", "/does/not/exist"], ["--env", "NOT A NAME=1"]]
    misses = []
    for arguments in table:
        ended = _demo(*arguments)
        if ended.returncode != 2 or arguments[0] not in ended.stderr or "Traceback" in ended.stderr:
            misses.append((arguments, ended))
    assert misses == []


def test_an_occupied_port_is_one_line_and_exit_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = _demo(environ={"DEMO_PORT": port})
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines() == [
        f"demo: port {port} is taken by another program; choose another with --port or DEMO_PORT"
    ]


async def test_the_demonstration_starts_with_the_product_and_ends_on_ctrl_c() -> None:
    process = await asyncio.subprocess.create_subprocess_exec(
        sys.executable,
        "-m",
        "demo",
        *("--port", "0", "--no-browser", "--json"),
        cwd=ROOT,
        env=SURROUNDINGS,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(patience(90)):
        told = json.loads(await process.stdout.readline() or "null")
    assert told, (await process.communicate())[1].decode()
    async with aiohttp.ClientSession() as session, session.get(f"{told['bot']['url']}/healthz") as health:
        assert health.status == 200
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
    assert not await _lives(told["bot"]["pid"])
    assert not os.path.exists(told["bot"]["data"])  # noqa: ASYNC240, PTH110


def _demo(*arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        env=SURROUNDINGS | (environ or {}),
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=False,
    )


def _about(world: World) -> dict[str, Any]:
    """What the present double has told of itself."""
    about: dict[str, Any] = json.loads((world.program.log.parent / f"{world.program.pid}.json").read_text())
    return about


async def _control(session: aiohttp.ClientSession, world: World, what: str) -> int | None:
    url = f"{world.workspace.url}/_world/{what}"
    async with session.post(url, params={"secret": world.workspace.secret}) as response:
        assert response.status == 200
        pid: int | None = (await response.json())["pid"]
        return pid


async def _lives(pid: int | None, *, soon: bool = True) -> bool:
    """Whether the process is there; with `soon`, still there after it had ten seconds to go."""
    for _ in range(200 if soon else 1):
        if pid is None or not _is_running(pid):
            return False
        await asyncio.sleep(0.05 if soon else 0)
    return True


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
