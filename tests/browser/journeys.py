"""What the journeys share: opening the page of the running world, writing into it, and pictures of it.

The screenshots are kept in build/screenshots, to be looked at.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Locator, Page, ViewportSize

from tests.patience import patience
from tests.stories.world import ROOT

SHOTS = ROOT / "build" / "screenshots"
PATIENCE = patience(20_000)
"""Milliseconds that anything on the page may take; generous, since machines are slow at times."""
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 420, "height": 860}
CUSTOMER, AGENTS = "[data-half=left]", "[data-half=right]"


@asynccontextmanager
async def visit(
    browser: Browser,
    address: str,
    *,
    left: str = "U0CUSTOMERA:D0CUSTOMERA",
    right: str = "U0AGENTA:C0AGENTS",
    size: ViewportSize = WIDE,
    sharpness: int = 1,
) -> AsyncIterator[Page]:
    """The page in a fresh context; a script error or a refused fetch fails. `sharpness`: pixels for one of the page."""
    context = await browser.new_context(viewport=size, color_scheme="light", device_scale_factor=sharpness)
    opened = await context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    opened.set_default_timeout(PATIENCE)
    try:
        await opened.goto(f"{address}&left={left}&right={right}")
        await opened.wait_for_selector("#page[data-link=up]")
        yield opened
    finally:
        await context.close()
    assert not faults, faults


async def write(page: Page, composer: str, text: str) -> None:
    """Type into a composer and send."""
    box = page.locator(composer)
    await box.fill(text)
    await box.press("Enter")


async def choose(message: Locator, name: str) -> None:
    """An entry of a message's menu."""
    await message.hover()
    await message.get_by_label("More actions").first.click()
    await message.get_by_role("menuitem", name=name).click()


async def shoot(page: Page, name: str) -> None:
    await page.screenshot(path=str(SHOTS / f"{name}.png"), animations="disabled")
