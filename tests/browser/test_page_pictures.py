"""The page as a visitor meets it; `make pictures` keeps what is shot here for the README and the reference."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.journeys import AGENTS, CUSTOMER, NARROW, PATIENCE, SHOTS, shoot, visit, write
from tests.doubles.chromium import CUT_OFF, violations
from tests.patience import patience
from tests.stories.world import World, open_world

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

TENT = "The zip of my tent is stuck since last night. May I talk to a person?"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shop(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The world with what stands in it at first."""
    async with open_world(tmp_path_factory.mktemp("shop"), pace=0.4, is_empty=False) as opened:
        yield opened


@asynccontextmanager
async def visited(browser: Browser, shop: World, *, scheme: str = "light") -> AsyncIterator[Page]:
    expect.set_options(timeout=PATIENCE)
    SHOTS.mkdir(parents=True, exist_ok=True)
    async with visit(browser, shop.ready["page"]) as page:
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        yield page
    expect.set_options(timeout=patience(5_000))


async def test_a_visitor_finds_conversations_and_a_busy_desk(browser: Browser, shop: World) -> None:
    async with visited(browser, shop) as page:
        await expect(page.locator(f"{AGENTS} [data-action-id='case.claim']")).to_have_count(4)
        close = page.locator(f"{CUSTOMER} .thread [data-do=close_thread]:visible").last
        if await close.count():  # the answers came while one looked
            await close.click()
        await expect(page.locator(f"{CUSTOMER} .thread-footer").filter(has_text="3 replies")).to_have_count(2)
        await page.mouse.move(0, 0)
        await shoot(page, "page-open")
        assert await violations(page) == []
        for width in (1280, 900, 420):
            await page.set_viewport_size({"width": width, "height": 860})
            assert await page.evaluate(CUT_OFF) == []


async def test_a_person_answers_beside_the_customer(browser: Browser, shop: World) -> None:
    async with visited(browser, shop) as page:
        await page.locator(".bar [data-panel=tour]").click()
        await write(page, f"{CUSTOMER} .channel .composer textarea", TENT)
        card = page.locator(f"{AGENTS} .channel .message").filter(has_text="zip of my tent")
        await card.locator("[data-action-id='case.claim']").click()
        await expect(page.locator(f"{CUSTOMER} .thread")).to_contain_text("Agent A has joined")
        await card.locator(".thread-footer").click()
        reply = page.locator(f"{AGENTS} .thread .composer textarea")
        await reply.fill("Hello! Candle wax along the teeth often helps. Does it stick at the top or at the bottom?")
        await reply.press("Enter")
        await expect(page.locator(f"{CUSTOMER} .thread .author").last).to_have_text("Agent A (support)")
        await write(page, f"{CUSTOMER} .thread .composer textarea", "At the top. The wax worked, thank you!")
        await expect(page.locator(f"{AGENTS} .thread")).to_contain_text("The wax worked")
        await page.mouse.move(0, 0)
        await shoot(page, "page-light")
        for width in (1440, 1280, 900, 420):
            await page.set_viewport_size({"width": width, "height": 860})
            assert await page.evaluate(CUT_OFF) == []
            assert await violations(page) == []


async def test_an_answer_is_cut_off_by_a_kill(browser: Browser, shop: World) -> None:
    async with visited(browser, shop, scheme="dark") as page:
        await page.set_viewport_size({"width": 1280, "height": 800})
        await page.locator("#tour-killed").click()
        await expect(page.locator("#page")).to_have_attribute("data-bot", "offline")
        await expect(page.locator(f"{CUSTOMER} .thread .caret")).to_be_visible()
        await shoot(page, "page-killed")
        await expect(page.locator("#tour-killed")).to_have_attribute("data-state", "played", timeout=3 * PATIENCE)


async def test_a_telephone_shows_one_side(browser: Browser, shop: World) -> None:
    async with visited(browser, shop, scheme="dark") as page:
        await page.locator(".bar [data-panel=tour]").click()
        await page.set_viewport_size(NARROW)
        await page.get_by_role("button", name="Customer").click()
        await write(page, f"{CUSTOMER} .channel .composer textarea", "How do I return an item?")
        answer = page.locator(f"{CUSTOMER} .thread .message").last
        await expect(answer.locator("[data-action-id='esc.customer']")).to_be_visible()
        await shoot(page, "page-narrow")
        assert await page.evaluate(CUT_OFF) == []
        assert await violations(page) == []
