"""What no validator would let pass, in the page of a browser: it stays whole, readable and in use."""

import pytest
from playwright.async_api import expect

from local_slack.tests.page import scene
from local_slack.tests.page.rough import LONG, ROUGH
from local_slack.tests.page.stage import NARROW, WIDE, Stage
from tests.doubles.chromium import TOO_FAINT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
async def test_rough_messages_break_nothing(stage: Stage, size: tuple[int, int], scheme: str) -> None:
    for blocks in ROUGH:
        scene.post(stage.workspace, scene.SUPPORT, blocks=blocks)
    last = scene.post(stage.workspace, scene.SUPPORT, blocks="no list", text=LONG)
    rough = {"files": [None, {"name": LONG, "size": "x"}], "reactions": [7, {"name": [], "users": 3}], "edited": []}
    stage.workspace.keep_message(scene.SUPPORT, stage.workspace.message(scene.SUPPORT, last) | rough)
    async with stage.visit(size=size, scheme=scheme, left=f"{scene.CUSTOMER}:{scene.SUPPORT}") as tab:
        left = tab.locator("#left")
        await expect(left.locator(".message")).to_have_count(len(ROUGH) + 1)
        assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await tab.evaluate(
            "[...document.querySelectorAll('#left .list')].every((one) => one.scrollWidth <= one.clientWidth)"
        )
        assert await tab.evaluate(TOO_FAINT) == []
        assert await tab.locator("script:not([src]), #left img, #left iframe, #left [onerror]").count() == 0
        await left.locator(".channel .composer textarea").fill("still here")
        await tab.keyboard.press("Enter")
        await expect(left.locator(".message").last).to_contain_text("still here")
        stage.workspace.modals[scene.CUSTOMER] = [{"id": "V1", "type": "modal", "title": 7, "blocks": ROUGH[1]}]
        stage.workspace.homes[scene.CUSTOMER] = {"id": "V2", "type": "home", "blocks": ROUGH[0]}
        stage.workspace.changed("modal", user=scene.CUSTOMER)
        await expect(left.locator(".modal")).to_be_visible()
        await tab.keyboard.press("Escape")
