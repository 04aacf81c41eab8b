"""The whole journey as two people see it: a question, a streamed answer, an order, a person who takes over.

The screenshots are kept in build/screenshots, to be looked at.
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright, expect

from tests.stories.world import ROOT, World, open_world

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SHOTS = ROOT / "build" / "screenshots"
PATIENCE = 20_000
"""Milliseconds that anything on the page may take; generous, since machines are slow at times."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(CHROMIUM is None, reason="NOT TESTED in a browser: there is no Chromium on this machine"),
]

CUSTOMER, AGENTS = "[data-half=left]", "[data-half=right]"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_world(tmp_path_factory.mktemp("world")) as opened:
        yield opened


@asynccontextmanager
async def visit(address: str) -> AsyncIterator[Page]:
    """The page with Customer A on the left and Agent A on the right; a script error or a refused fetch fails."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        opened = await browser.new_page(viewport={"width": 1440, "height": 900})
        faults: list[str] = []
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        opened.set_default_timeout(PATIENCE)
        await opened.goto(f"{address}&left=U0CUSTOMERA:D0CUSTOMERA&right=U0AGENTA:C0AGENTS")
        await opened.wait_for_selector("#page[data-link=up]")
        yield opened
        await browser.close()
        assert faults == []


@pytest_asyncio.fixture(loop_scope="module")
async def page(world: World) -> AsyncIterator[Page]:
    async with visit(world.ready["page"]) as opened:
        yield opened


async def test_a_question_is_answered_and_a_person_takes_over(page: Page) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)

    await write(page, f"{CUSTOMER} .channel .composer textarea", "How long does standard shipping take?")
    await page.locator(f"{CUSTOMER} .channel .message .thread-footer").last.click()
    answer = page.locator(f"{CUSTOMER} .thread .message").nth(1)
    await expect(answer).to_have_attribute("aria-busy", "true")
    await expect(answer.locator(".caret")).to_be_visible()
    await shoot(page, "1-first-words")
    await expect(answer).not_to_have_attribute("aria-busy", "true")
    await expect(answer.locator("a[href^='https://help.example.com/']").first).to_be_visible()
    await expect(answer.locator(".feedback").first).to_be_visible()
    await shoot(page, "2-answer-with-sources")

    await write(page, f"{CUSTOMER} .thread .composer textarea", "Where are my orders ORD-12345 and ORD-67890?")
    orders = page.locator(f"{CUSTOMER} .thread .message").filter(has=page.locator(".task"))
    await expect(orders.locator(".task").first).to_be_visible()
    await expect(orders.locator(".task[data-status=complete]").nth(1)).to_be_visible()
    await expect(orders).to_contain_text("1Z999AA10123456784")
    await shoot(page, "3-orders")

    await page.locator(f"{CUSTOMER} .thread [data-action-id='esc.customer']").last.click()
    told = page.locator(f"{CUSTOMER} .thread .message").filter(has_text="FD-10")
    await expect(told.first).to_be_visible()
    card = page.locator(f"{AGENTS} .channel .message").filter(has=page.locator("[data-action-id='case.claim']"))
    await expect(card).to_be_visible()
    await shoot(page, "4-case-card")

    await card.locator("[data-action-id='case.claim']").click()
    await expect(page.locator(f"{AGENTS} .channel [data-action-id='case.resolve']")).to_be_visible()
    await expect(page.locator(f"{CUSTOMER} .thread")).to_contain_text("Agent A has joined")
    await page.locator(f"{AGENTS} .channel .message .thread-footer").last.click()
    await write(page, f"{AGENTS} .thread .composer textarea", "Hello! I have your orders in front of me.")
    await expect(page.locator(f"{CUSTOMER} .thread")).to_contain_text("I have your orders in front of me.")
    await expect(page.locator(f"{AGENTS} .thread .reaction").first).to_be_visible()
    await write(page, f"{CUSTOMER} .thread .composer textarea", "Great, thank you!")
    await expect(page.locator(f"{AGENTS} .thread")).to_contain_text("Great, thank you!")
    await shoot(page, "5-relay")

    await page.locator(f"{AGENTS} .channel [data-action-id='case.resolve']").click()
    await shoot(page, "6-resolve")
    await page.locator(f"{AGENTS} .modal footer .button-primary").click()
    await expect(page.locator(f"{CUSTOMER} .thread [data-action-id='csat.5']")).to_be_visible()
    await shoot(page, "6-resolved")


async def test_staff_use_the_slash_command_line(page: Page) -> None:
    await write(page, f"{AGENTS} .channel .composer textarea", "/kb status")
    await expect(page.locator(f"{AGENTS} .message.ephemeral").last).to_contain_text("generation")
    await shoot(page, "7-kb-status")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_holds_on_a_narrow_screen(page: Page, scheme: str) -> None:
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.set_viewport_size({"width": 420, "height": 860})
    overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    await shoot(page, f"8-narrow-{scheme}")


async def write(page: Page, composer: str, text: str) -> None:
    """Type into a composer and send."""
    box = page.locator(composer)
    await box.fill(text)
    await box.press("Enter")


async def shoot(page: Page, name: str) -> None:
    await page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), animations="disabled")
