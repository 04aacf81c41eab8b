"""A change of an order on the page: the customer is asked, presses Yes, staff approve, the end is told."""

import pytest
from playwright.async_api import Browser, Page, expect

from bot.language.languages import DEFAULT
from bot.language.sentences import load_sentences
from tests.browser.journeys import AGENTS, CUSTOMER, PATIENCE, shoot, write
from tests.doubles.chromium import CUT_OFF, violations

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

ORDER = "ORD-67890"
DONE = load_sentences().say(DEFAULT, "action_done_cancel_order", order=ORDER)


async def test_a_change_above_the_limit_is_confirmed_approved_and_told(browser: Browser, page: Page) -> None:
    await write(page, f"{CUSTOMER} .channel .composer textarea", f"Please cancel my order {ORDER}, I changed my mind")
    yes = page.locator(f"{CUSTOMER} .thread [data-action-id='act.yes']")
    await expect(yes).to_be_visible(timeout=PATIENCE)
    await shoot(page, "20-change-asked")
    for width, scheme in ((1440, "dark"), (420, "light")):
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await page.set_viewport_size({"width": width, "height": 900})
        await shoot(page, f"20-change-asked-{scheme}-{width}")
        assert await page.evaluate(CUT_OFF) == []
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size({"width": 1440, "height": 900})
    await yes.click()
    approve = page.locator(f"{AGENTS} [data-action-id='appr.yes']")
    await expect(approve).to_be_visible(timeout=PATIENCE)
    await shoot(page, "21-change-to-approve")
    assert await violations(page) == []
    await approve.click()
    await page.locator("dialog[open] button").filter(has_text="Approve").click()
    await expect(page.locator(f"{CUSTOMER} .thread").filter(has_text=f"Done. {DONE}")).to_be_visible(timeout=PATIENCE)
    await shoot(page, "22-change-done")
