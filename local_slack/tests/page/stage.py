"""The page of a workspace without a bot, served for a browser."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page

from local_slack import page
from local_slack.faults import Faults
from local_slack.page.faults_panel import Breaking
from local_slack.page.guide import Guide, Journey, Tour
from local_slack.tests.page import scene
from local_slack.workspace import Workspace

WIDE, NARROW = (1440, 900), (420, 860)


@dataclass
class Stage:
    """A served page and a browser."""

    workspace: Workspace
    app: scene.Listener
    url: str
    browser: Browser
    faults: list[str] = field(default_factory=list)
    """What the console complained of."""

    @asynccontextmanager
    async def visit(
        self,
        *,
        size: tuple[int, int] = WIDE,
        scheme: str = "light",
        left: str = f"{scene.CUSTOMER}:{scene.DM}",
        right: str = f"{scene.AGENT}:{scene.AGENTS}",
    ) -> AsyncIterator[Page]:
        width, height = size
        dark = {"color_scheme": "dark" if scheme == "dark" else "light"}
        context = await self.browser.new_context(viewport={"width": width, "height": height}, **dark)  # type: ignore[arg-type]
        tab = await context.new_page()
        tab.on("console", lambda told: self.faults.append(told.text) if told.type in {"error", "warning"} else None)
        tab.on("pageerror", lambda error: self.faults.append(str(error)))
        await tab.goto(f"{self.url}?secret={self.workspace.secret}&left={left}&right={right}")
        await tab.wait_for_selector("#page[data-link=up]")
        try:
            yield tab
            if folder := os.environ.get("SCREENSHOTS"):
                name = os.environ["PYTEST_CURRENT_TEST"].split("::")[1].split(" ")[0].replace("/", "-")
                await tab.screenshot(path=Path(folder) / f"{name}.png")
        finally:
            await context.close()
        assert not self.faults, self.faults


@asynccontextmanager
async def open_stage(browser: Browser) -> AsyncIterator[Stage]:
    """A seeded workspace; journeys that do nothing stand in its tour."""
    workspace, listener = scene.build_scene()
    app = web.Application()
    faults = Breaking(Faults(), lambda given: None)
    tour = Tour(
        [Journey(each, f"Journey {each}", "Look at the card.", _nothing) for each in "abcde"], "In two minutes", 0
    )
    app.add_routes(page.routes(workspace, notice="Answers by the offline stand-in model", tour=tour, breaking=faults))
    server = TestServer(app)
    await server.start_server(shutdown_timeout=1)
    yield Stage(workspace, listener, str(server.make_url("/")), browser)
    await server.close()
    await workspace.background.close()


async def _nothing(_: Guide) -> None:
    """A journey without a step."""
