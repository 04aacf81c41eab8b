"""The page in ten states, light and dark, from a wide window to a telephone's: axe-core, and text that is cut off."""

from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, expect

from local_slack.tests.page import scene
from local_slack.tests.page.stage import Stage
from tests.doubles.chromium import CUT_OFF, violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CUSTOMER, AGENT, DM, AGENTS, SUPPORT = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS, scene.SUPPORT
SIZES = ((1440, 900), (1280, 800), (900, 800), (420, 860))

State = Callable[[Stage, Page], Awaitable[None]]


async def two_threads(stage: Stage, tab: Page) -> None:
    await tab.locator("#right .channel .thread-footer").first.click()
    await expect(tab.locator("#right .thread .message").first).to_be_visible()


async def a_tour(stage: Stage, tab: Page) -> None:
    await tab.locator("#tour-a").click()
    await expect(tab.locator("#tour-a")).to_have_attribute("data-state", "played")


async def a_menu(stage: Stage, tab: Page) -> None:
    message = tab.locator("#left .channel .message").first
    await message.hover()
    await message.get_by_label("More actions").first.click()


async def reactions(stage: Stage, tab: Page) -> None:
    message = tab.locator("#left .channel .message").first
    await message.hover()
    await message.get_by_label("Add a reaction").click()


async def a_search(stage: Stage, tab: Page) -> None:
    await tab.keyboard.press("Control+k")
    await tab.keyboard.type("par")
    await expect(tab.locator("#left .hit").first).to_be_visible()


async def a_refused_dialog(stage: Stage, tab: Page) -> None:
    scene.open_modal(stage.workspace, CUSTOMER)
    await tab.locator("#left .modal .button-primary").click()
    await expect(tab.locator("#left .input-error").first).not_to_be_empty()


async def a_home_tab(stage: Stage, tab: Page) -> None:
    scene.publish_home(stage.workspace, CUSTOMER)
    await tab.locator("#left").get_by_role("tab", name="Home").click()
    await expect(tab.locator("#left .home")).to_be_visible()


async def faults(stage: Stage, tab: Page) -> None:
    await tab.get_by_role("button", name="Faults", exact=True).click()


async def an_inspector(stage: Stage, tab: Page) -> None:
    await tab.get_by_role("button", name="Inspector", exact=True).click()
    await expect(tab.locator("#inspector .entry").first).to_be_visible()


async def every_block(stage: Stage, tab: Page) -> None:
    scene.post(stage.workspace, SUPPORT, blocks=scene.every_block())
    await tab.locator(f'#left .place[data-channel="{SUPPORT}"]').click()
    await expect(tab.locator("#left .block-actions").first).to_be_visible()


@pytest.mark.parametrize(
    "state",
    [
        two_threads,
        a_tour,
        a_menu,
        reactions,
        a_search,
        a_refused_dialog,
        a_home_tab,
        faults,
        an_inspector,
        every_block,
    ],
)
async def test_axe_finds_nothing_serious_at_any_width_in_either_scheme(stage: Stage, state: State) -> None:
    asked, _ = await scene.fill(stage.workspace)
    async with stage.visit(left=f"{CUSTOMER}:{DM}:{asked}" if state is two_threads else f"{CUSTOMER}:{DM}") as tab:
        await state(stage, tab)
        for width, height in SIZES:
            await tab.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                await tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
                assert await violations(tab) == [], f"{scheme}, {width} wide"


@pytest.mark.parametrize("state", [two_threads, a_tour, a_refused_dialog, a_home_tab])
async def test_no_text_is_cut_off_at_any_width(stage: Stage, state: State) -> None:
    asked, _ = await scene.fill(stage.workspace)
    async with stage.visit(left=f"{CUSTOMER}:{DM}:{asked}" if state is two_threads else f"{CUSTOMER}:{DM}") as tab:
        await state(stage, tab)
        for width, height in SIZES:
            await tab.set_viewport_size({"width": width, "height": height})
            assert await tab.evaluate(CUT_OFF) == [], f"{width} wide"
