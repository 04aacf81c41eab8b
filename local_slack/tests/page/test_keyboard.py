"""The page without a mouse: past everything to the messages, along toolbars, through menus."""

import pytest
from playwright.async_api import Page, expect

from local_slack.tests.page import scene
from local_slack.tests.page.stage import NARROW, Stage

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CUSTOMER, AGENT, DM, AGENTS = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS
STOPS = 8
"""At most so many presses of the Tab key lead to the first message."""


async def stops_until(tab: Page, place: str) -> int:
    """How many presses of the Tab key lead into `place`; more than STOPS are not tried."""
    for pressed in range(1, STOPS + 2):
        await tab.keyboard.press("Tab")
        if await tab.evaluate("place => Boolean(document.activeElement.closest(place))", place):
            return pressed
    return STOPS + 1


async def test_the_first_message_is_a_few_stops_from_the_top(stage: Stage) -> None:
    await scene.fill(stage.workspace)
    async with stage.visit() as tab:
        assert await stops_until(tab, "#left .channel .message") <= STOPS


@pytest.mark.parametrize("size", [(1440, 900), NARROW], ids=["wide", "narrow"])
async def test_a_link_skips_to_the_first_card(stage: Stage, size: tuple[int, int]) -> None:
    scene.post(stage.workspace, AGENTS, blocks=scene.case_card(0))
    async with stage.visit(size=size) as tab:
        first = await stops_until(tab, "[data-skip=right]")
        await expect(tab.locator("[data-skip=right]")).to_be_in_viewport()
        await tab.keyboard.press("Enter")
        assert first + await stops_until(tab, "#right .channel .message") <= STOPS
        await expect(tab.locator("[data-action-id='case.claim']")).to_be_focused()


async def test_a_link_skips_to_the_thread_where_the_channel_has_no_room(stage: Stage) -> None:
    root = await stage.workspace.act.send(CUSTOMER, DM, "Hello")
    async with stage.visit(size=NARROW, left=f"{CUSTOMER}:{DM}:{root}") as tab:
        await tab.locator("[data-skip=left]").press("Enter")
        await expect(tab.locator("#left .thread textarea")).to_be_focused()


async def test_the_arrow_keys_go_along_a_toolbar_round_and_round(stage: Stage) -> None:
    async with stage.visit() as tab:
        await tab.locator(".bar [data-show=left]").focus()
        await tab.keyboard.press("ArrowRight")
        await expect(tab.locator(".bar [data-show=both]")).to_be_focused()
        await tab.keyboard.press("End")
        await expect(tab.locator("[data-theme-toggle]")).to_be_focused()
        await tab.keyboard.press("ArrowRight")
        await expect(tab.locator(".bar [data-show=left]")).to_be_focused()
        await tab.locator("#left .place[aria-current]").focus()
        await tab.keyboard.press("Home")
        await expect(tab.locator("#left .seek")).to_be_focused()


async def test_the_arrow_keys_choose_in_a_messages_menu(stage: Stage) -> None:
    await stage.workspace.act.send(CUSTOMER, DM, "Where is it?")
    async with stage.visit() as tab:
        message = tab.locator("#left .channel .message").first
        opener = message.get_by_label("More actions")
        await message.get_by_label("Add a reaction").focus()
        await tab.keyboard.press("ArrowLeft")
        await expect(opener).to_be_focused()
        await tab.keyboard.press("Enter")
        await expect(message.get_by_role("menuitem", name="Copy link")).to_be_focused()
        await tab.keyboard.press("ArrowUp")
        await expect(message.get_by_role("menuitem", name="Delete message")).to_be_focused()
        await tab.keyboard.press("Escape")
        await expect(opener).to_be_focused()
        await tab.keyboard.press("ArrowDown")
        await tab.keyboard.press("ArrowDown")
        await expect(message.get_by_role("menuitem", name="Edit message")).to_be_focused()
        await tab.keyboard.press("Enter")
        await expect(message.locator(".editor textarea")).to_be_visible()


async def test_a_menu_closes_behind_the_tab_key(stage: Stage) -> None:
    scene.post(stage.workspace, AGENTS, blocks=scene.case_card(0))
    async with stage.visit() as tab:
        await tab.locator("#right .button-more").focus()
        await tab.keyboard.press("ArrowUp")
        await expect(tab.locator("#right .block-actions .menu-list button").last).to_be_focused()
        await tab.keyboard.press("Tab")
        await expect(tab.locator("#right .block-actions .menu-list")).to_be_hidden()
