"""A start while something outside is away: Frontdesk waits, says for what, and serves as soon as it can."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from demo.ports import free_port
from demo.program import dying_with_parent
from tests.doubles.postgres import open_postgres
from tests.faults.talk import open_bare_world
from tests.stories.world import PATIENCE, ROOT, Json, World, product_environment

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALWAYS = 10_000
"""More calls than are ever made."""
LIVES = 7
HUNG_UP = f"""
import os, signal, sys
from bot.cli.main import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "bot.app":
            os.kill(os.getpid(), signal.SIGHUP)
            os._exit({LIVES})

sys.meta_path.insert(0, Finder())
main(["serve"])
"""
"""A start that gets SIGHUP while it imports the application, and exits with LIVES if that did not end it."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_bare_world(tmp_path_factory.mktemp("world")) as opened:
        yield opened


@dataclass(frozen=True, slots=True)
class Starting:
    """A Frontdesk beside the world's own."""

    process: asyncio.subprocess.Process
    url: str
    http: aiohttp.ClientSession
    log: Path

    async def status(self, path: str) -> tuple[int, Json]:
        """What it answers; status 0 while nobody listens."""
        try:
            async with self.http.get(f"{self.url}{path}") as response:
                return response.status, await response.json()
        except aiohttp.ClientConnectionError:
            return 0, {}

    async def until_missing(self, word: str) -> None:
        """Return when /healthz names what it waits for, and /livez says that it lives."""
        async with asyncio.timeout(PATIENCE):
            while word not in str((await self.status("/healthz"))[1].get("missing")):
                assert self.process.returncode is None, self.log.read_text("utf-8")
                await asyncio.sleep(0.05)
        assert (await self.status("/livez"))[0] == 200

    async def until_ready(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while (await self.status("/healthz"))[0] != 200:
                assert self.process.returncode is None, self.log.read_text("utf-8")
                await asyncio.sleep(0.05)

    async def end(self) -> int | None:
        """Its status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def started(world: World, data: Path, **settings: str) -> AsyncIterator[Starting]:
    """Start a Frontdesk of its own in the world, which has its own folder and database."""
    await asyncio.to_thread(data.mkdir, exist_ok=True)
    port, log = free_port(), data / "start.log"
    environment = product_environment(world, data) | {"PORT": str(port), **settings}
    with log.open("ab") as written:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "serve"),
            cwd=ROOT,
            env=environment,
            stdout=written,
            stderr=written,
            preexec_fn=dying_with_parent(),
        )
    try:
        async with aiohttp.ClientSession() as http:
            yield Starting(process, f"http://127.0.0.1:{port}", http, log)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("auth.test", "503"),
        ("auth.test", "fatal_error"),
        ("apps.connections.open", "drop"),
        ("conversations.info", "503"),
    ],
)
async def test_while_slack_does_not_answer_the_start_waits(
    world: World, tmp_path: Path, method: str, fault: str
) -> None:
    await world.breaks(method=method, do=fault, count=ALWAYS)
    async with started(world, tmp_path / "own") as own:
        try:
            await own.until_missing("Slack does not answer")
        finally:
            await world.breaks(clear=True)
        await own.until_ready()
        assert await own.end() == 0
    assert '"the start waits"' in own.log.read_text("utf-8")


async def test_a_start_that_waits_ends_when_it_is_asked_to(world: World, tmp_path: Path) -> None:
    await world.breaks(method="auth.test", do="503", count=ALWAYS)
    try:
        async with started(world, tmp_path / "own") as own:
            await own.until_missing("Slack does not answer")
            assert await own.end() == 0
    finally:
        await world.breaks(clear=True)
    assert "Traceback" not in own.log.read_text("utf-8")


async def test_a_desk_file_that_changes_while_the_start_waits_is_read_again(world: World, tmp_path: Path) -> None:
    desk = tmp_path / "desk.yml"
    desk.write_text("shop: Harbour Bikes\n", "utf-8")
    await world.breaks(method="auth.test", do="503", count=ALWAYS)
    async with started(world, tmp_path / "own", DESK_FILE=str(desk)) as own:
        try:
            await own.until_missing("Slack does not answer")
            desk.write_text("rule: []\n", "utf-8")
            own.process.send_signal(signal.SIGHUP)
            assert (await own.status("/livez"))[0] == 200
        finally:
            await world.breaks(clear=True)
        async with asyncio.timeout(PATIENCE):
            while "rule is unknown" not in own.log.read_text("utf-8"):
                assert own.process.returncode is None, own.log.read_text("utf-8")
                await own.status("/livez")
        await own.until_ready()
        assert await own.end() == 0


@pytest.mark.parametrize(
    ("setting", "text"), [("DESK_FILE", "shop: Harbour Bikes\n"), ("POLICY_PATH", "version: 1\nactions: {}\n")]
)
async def test_a_hangup_before_the_event_loop_runs_does_not_end_the_process(
    world: World, tmp_path: Path, setting: str, text: str
) -> None:
    file = tmp_path / "file.yml"
    file.write_text(text, "utf-8")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HUNG_UP),
        cwd=ROOT,
        env=product_environment(world, tmp_path / "own") | {setting: str(file)},
        preexec_fn=dying_with_parent(),
    )
    async with asyncio.timeout(PATIENCE):
        assert await process.wait() == LIVES


async def test_what_came_while_the_start_waited_is_answered(world: World) -> None:
    await world.bot("stop")
    await world.breaks(method="auth.test", do="503", count=ALWAYS)
    try:
        await world.bot("restart")
        async with asyncio.timeout(PATIENCE):
            while "Slack does not answer" not in str((await world.health())["missing"]):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        asked = await world.customer.says("I want to talk to a real person")
    finally:
        await world.breaks(clear=True)
    assert "FD-" in (await world.customer.reads(asked, patience=2 * PATIENCE)).text


async def test_neither_the_shop_nor_a_model_nor_an_embedder_that_is_away_keeps_it_from_starting(
    world: World, tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "returns.md").write_text("# Returns\n\nYou can return an item within 30 days.\n", "utf-8")
    away = "http://127.0.0.1:1"
    settings = {"SHOP_URL": away, "SHOP_TOKEN": "none", "OPENAI_BASE_URL": f"{away}/v1"}
    async with started(world, tmp_path / "own", **settings) as own:
        await own.until_ready()
        assert await own.end() == 0
    embedder = {"EMBEDDING_MODEL": "text-embedding-3-small", "KB_PATH": str(pages)}
    async with started(world, tmp_path / "own", **settings, **embedder) as own:
        await own.until_missing("knowledge base")
        assert await own.end() == 0


async def test_what_an_operator_asks_is_served_where_the_documents_say(world: World, tmp_path: Path) -> None:
    port = free_port()
    async with started(world, tmp_path / "own", METRICS_PORT=str(port)) as own:
        await own.until_ready()
        assert await own.status("/livez") == (200, {"alive": True})
        status, health = await own.status("/healthz")
        assert (status, health["missing"], health["degraded"]) == (200, None, None)
        async with own.http.get(f"{own.url}/metrics") as here:
            assert here.status == 404
        async with own.http.get(f"http://127.0.0.1:{port}/metrics") as there:
            shown = await there.text()
        for name in ("frontdesk_payloads_malformed_total", "frontdesk_app_rate_limited_total"):
            assert f"# TYPE {name.removesuffix('_total')}" in shown
        async with own.http.get(f"http://127.0.0.1:{port}/healthz") as elsewhere:
            assert elsewhere.status == 404
        assert await own.end() == 0


async def test_a_postgres_that_starts_later_is_waited_for(world: World, tmp_path: Path) -> None:
    with open_postgres() as postgres:
        url = await postgres.create()
        await asyncio.to_thread(postgres.stop)
        async with started(world, tmp_path / "own", DATABASE_URL=url) as own:
            await own.until_missing("the database does not answer")
            await asyncio.to_thread(postgres.start)
            await own.until_ready()
            assert await own.end() == 0
        # A database that is not there is for a person to make.
        nowhere = postgres.url("nowhere")
        async with started(world, tmp_path / "own", DATABASE_URL=nowhere) as own, asyncio.timeout(PATIENCE):
            assert await own.process.wait() == 2
    assert url not in own.log.read_text("utf-8")
