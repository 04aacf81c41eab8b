"""What a visitor of the demo sees in the first half minute; `make pictures` keeps it as the README's moving picture."""

from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import Browser, expect

from tests.browser.film import SHARPNESS, SIZE, Film
from tests.browser.journeys import AGENTS, CUSTOMER, PATIENCE, SHOTS, visit
from tests.patience import patience
from tests.stories.world import open_world

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

LARGEST = 1_500_000
"""Bytes that a README may ask for."""


@pytest.mark.timeout(patience(300.0))
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_first_half_minute_is_a_moving_picture(browser: Browser, tmp_path: Path, scheme: str) -> None:
    expect.set_options(timeout=PATIENCE)
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / f"demo-{scheme}.webp"
    async with (
        open_world(tmp_path, pace=2.0, is_empty=True) as world,
        visit(browser, world.ready["page"], sharpness=SHARPNESS, size=SIZE) as page,
    ):
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await page.locator(".bar [data-panel=tour]").click()
        film = await Film.open(browser, page)
        thread, staff = page.locator(f"{CUSTOMER} .thread"), page.locator(AGENTS)
        reply = thread.locator(".composer textarea")

        await film.tell("A customer asks in a direct message")
        await film.wait(1200)
        await film.type(page.locator(f"{CUSTOMER} .channel .composer textarea"), "How do I return an item?")
        await film.tell("The answer comes from a help page, with its source")
        await film.follow(thread.locator("[data-action-id='esc.customer']").is_visible)
        await film.wait(2500)

        await film.tell("A change is shown first. Nothing happens yet")
        await film.type(reply, "Please cancel my order ORD-19283")
        yes = thread.locator("[data-action-id='act.yes']")
        await film.follow(yes.is_visible)
        await film.wait(2500)
        await film.tell("The customer presses Yes, and the order is cancelled")
        await film.press(yes)
        await film.follow(thread.get_by_text("Done.").is_visible)
        await film.wait(2200)

        await film.tell("The customer asks for a person")
        await film.type(reply, "Thanks! May I talk to a person about my tent?")
        claim = staff.locator("[data-action-id='case.claim']")
        await film.follow(claim.is_visible)
        await film.tell("The team gets a card. One press claims the case")
        await film.wait(2000)
        await film.press(claim)
        await film.follow(thread.get_by_text("Agent A has joined").is_visible)
        await film.wait(1200)
        await film.press(staff.locator(".thread-footer").last)
        answer = staff.locator(".thread .composer textarea")
        await film.follow(answer.is_visible)
        await film.tell("Two people talk. The assistant is silent")
        await film.type(answer, "Hello! What can I do for your tent?")
        await film.follow(thread.get_by_text("What can I do for your tent?").is_visible)
        await film.wait(4500)
        await film.save(path)
    expect.set_options(timeout=patience(5_000))
    assert path.stat().st_size <= LARGEST
    with Image.open(path) as saved:
        assert getattr(saved, "n_frames", 1) > 20
    assert 20 < film.seconds < 50
