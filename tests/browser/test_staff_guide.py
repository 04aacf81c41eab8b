"""The journeys of the staff guide as the people in it see them; `make pictures` keeps what is shot here for the guide.

The clock of a waiting case is short here, so that the desk is called while one looks.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser.journeys import AGENTS, CUSTOMER, PATIENCE, SHOTS, visit, write
from tests.patience import patience
from tests.stories.world import World, open_world

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

WIDE: ViewportSize = {"width": 1280, "height": 800}
CUSTOMER_B = "U0CUSTOMERB:D0CUSTOMERB"
MATTERS = (
    "my lamp arrived broken",
    "I want my money back for ORD-12345",
    "I cannot log in any more",
    "the invoice has the wrong address",
    "the zip of my jacket is stuck",
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def desk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A desk of two that wants urgent cases claimed within 36 seconds."""
    env = {"WAIT_MINUTES": "0.6,15,60", "ON_CALL": "S0ONCALL"}
    async with open_world(tmp_path_factory.mktemp("desk"), pace=0.2, env=env) as opened:
        yield opened


@asynccontextmanager
async def seen(browser: Browser, desk: World, *, left: str = "U0CUSTOMERA:D0CUSTOMERA") -> AsyncIterator[Page]:
    """The page without its tour: somebody on the left, Agent A on the right."""
    expect.set_options(timeout=PATIENCE)
    SHOTS.mkdir(parents=True, exist_ok=True)
    async with visit(browser, desk.ready["page"], left=left) as page:
        await page.set_viewport_size(WIDE)
        await page.locator(".bar [data-panel=tour]").click()
        yield page
    expect.set_options(timeout=patience(5_000))


async def test_a_case_comes_is_claimed_and_answered(browser: Browser, desk: World) -> None:
    async with seen(browser, desk) as page:
        message = "The lamp of my order ORD-12345 arrived broken. Can I talk to a person, please?"
        await write(page, f"{CUSTOMER} .channel .composer textarea", message)
        await waiting(page, "lamp")
        await picture(page, "staff-card", half="right", height=500)
        await claim(page, "lamp")
        await say(page, "Hello, I am sorry about your lamp. Is the glass broken, or the foot?")
        await write(page, f"{CUSTOMER} .thread .composer textarea", "The glass. It was in pieces in the box.")
        await expect(page.locator(f"{AGENTS} .thread")).to_contain_text("in pieces")
        await write(page, f"{AGENTS} .thread .composer textarea", "// third broken glass this week, tell the warehouse")
        await say(page, "Thank you. A new glass is on its way tomorrow; you need not send anything back.")
        await picture(page, "staff-thread", half="right")
        await picture(page, "staff-customer-side", half="left", of=page.locator(f"{CUSTOMER} .thread .message").last)
        await picture(page, "staff-both", height=620)


async def test_drafts_are_written_changed_and_sent(browser: Browser, desk: World) -> None:
    async with seen(browser, desk) as page:
        await write(page, f"{CUSTOMER} .channel .composer textarea", "How long are gift cards valid?")
        await page.locator(f"{CUSTOMER} .thread [data-action-id='esc.customer']").click()
        await claim(page, "gift cards")
        await page.locator(f"{AGENTS} .channel [data-action-id='case.draft']").last.click()
        drafts = page.locator(f"{AGENTS} .thread .message").filter(has=page.locator("[data-action-id='draft.edit']"))
        await expect(drafts).to_be_visible()
        await picture(page, "staff-drafts", half="right", height=800)
        await drafts.locator("[data-action-id='draft.edit']").first.click()
        dialog = page.locator(f"{AGENTS} .modal")
        await dialog.locator("textarea").fill("Five years from the day you bought it.")
        await dialog.get_by_role("button", name="Send").click()
        await expect(page.locator(f"{CUSTOMER} .thread")).to_contain_text("from the day you bought it")
        await expect(drafts).to_have_count(0)


async def test_a_colleague_is_told_and_may_help_or_take_over(browser: Browser, desk: World) -> None:
    async with seen(browser, desk) as page:
        await claimed(page, "My kettle leaks. I want to talk to a person.", "kettle")
        await page.locator(f"{CUSTOMER} [data-choose=act_as]").select_option("U0AGENTB")
        await page.locator(f"{CUSTOMER} .place", has_text="agents").click()
        await open_thread(page, "kettle", half=CUSTOMER)
        await write(page, f"{CUSTOMER} .thread .composer textarea", "I had that one yesterday, it is the seal.")
        offer = page.locator(f"{CUSTOMER} .thread .ephemeral [data-action-id='case.takeover']")
        await expect(offer).to_be_visible()
        await picture(page, "staff-colleague", half="left", of=offer)
        await page.locator(f"{CUSTOMER} .thread [data-action-id='case.join']").last.click()
        await expect(page.locator(f"{CUSTOMER} .thread .ephemeral").last).to_contain_text("You're helping with")
        await write(page, f"{CUSTOMER} .thread .composer textarea", "It is the seal: a new one is free.")
        await page.locator(f"{CUSTOMER} .thread [data-action-id='relay.send']").last.click()
        sent = page.locator(f"{CUSTOMER} .thread .message").filter(has_text="a new one is free")
        await expect(sent.locator(".reaction").first).to_be_visible()


async def test_two_cases_of_a_customer_become_one(browser: Browser, desk: World) -> None:
    async with seen(browser, desk) as page:
        await desk.customer.says("My parcel has not come. I want to talk to a person.")
        await waiting(page, "parcel has not come")
        await desk.customer.says("Hello, the parcel again! I want to talk to a person.")
        card = await waiting(page, "the parcel again")
        await choose_in_menu(card, "Merge into…")
        dialog = page.locator(f"{AGENTS} .modal")
        earlier = dialog.locator("select option").filter(has_text="has not come")
        await dialog.locator("select").select_option(await earlier.get_attribute("value"))
        await picture(page, "staff-merge", half="right")
        await dialog.get_by_role("button", name="Merge", exact=True).click()
        merged = page.locator(f"{AGENTS} .channel .message").filter(has_text="Merged into")
        await expect(merged).to_contain_text("the parcel again")


async def test_a_solved_case_teaches(browser: Browser, desk: World) -> None:
    async with seen(browser, desk) as page:
        await claimed(page, "Do you repair clocks of the Dawn series? I want to talk to a person.", "Dawn")
        await say(page, "Yes, our workshop repairs clocks of the Dawn series within 12 days for 30 EUR.")
        await page.locator(f"{AGENTS} .channel [data-action-id='case.resolve']").last.click()
        dialog = page.locator(f"{AGENTS} .modal")
        await dialog.locator("select").select_option(label="Product")
        await dialog.locator("input[type=checkbox]").check()
        await picture(page, "staff-resolve", half="right")
        await dialog.locator("footer .button-primary").click()
        await expect(page.locator(f"{CUSTOMER} .thread [data-action-id='csat.5']")).to_be_visible()
        suggestion = page.locator(f"{AGENTS} .thread .message").filter(has=page.locator("[data-action-id='kb.new']"))
        await expect(suggestion).to_be_visible()
        await picture(page, "staff-article", half="right")
        await suggestion.locator("[data-action-id='kb.new']").click()
        await expect(page.locator(f"{AGENTS} .thread")).to_contain_text("approved by")


async def test_nobody_claims_and_the_desk_is_called(browser: Browser, desk: World) -> None:
    async with seen(browser, desk, left=CUSTOMER_B) as page:
        message = "This is the third time I write! My vase is broken and nobody answers. I am furious."
        await write(page, f"{CUSTOMER} .channel .composer textarea", message)
        await waiting(page, "vase")
        call = page.locator(f"{AGENTS} .channel .message").filter(has=page.locator("[data-action-id='case.snooze']"))
        await expect(call).to_be_visible(timeout=3 * PATIENCE)
        await picture(page, "staff-call", half="right")
        await page.locator(f"{AGENTS} .place", has_text="Frontdesk").click()
        await page.locator(AGENTS).get_by_role("tab", name="Home").click()
        await expect(page.locator(f"{AGENTS} .home .block-header").first).to_be_visible()
        await picture(page, "staff-home", half="right", height=1000)


async def test_the_queue_shows_many_cases_wide_and_narrow(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Twenty-five cases of two customers, some of them claimed: the queue is one message, at 1440 and at 420 pixels."""
    async with open_world(tmp_path_factory.mktemp("queue"), pace=0.2, env={"OPEN_CASES": "40"}) as busy:
        for number, matter in enumerate(MATTERS * 5):
            who = (busy.customer, busy.other_customer)[number % 2]
            asked = await who.says(f"A person please: {matter}")
            card = await busy.card_of(asked)
            if number % 4 == 0:
                await busy.staff.presses(card, "case.claim")
        async with seen(browser, busy) as page:
            queue = page.locator(f"{AGENTS} .channel .message").filter(has_text="Queue").last
            await expect(queue).to_contain_text("18 unassigned · 7 claimed")
            await queue.scroll_into_view_if_needed()
            await picture(page, "staff-queue", half="right", height=900, of=queue)
            await queue.locator("[data-action-id='queue.next']").click()
            await expect(page.locator(f"{AGENTS} .channel")).to_contain_text("is yours")
            await expect(queue).to_contain_text("17 unassigned · 8 claimed")
            for width in (1440, 420):
                await page.set_viewport_size({"width": width, "height": 900})
                sizes = "element => [element.scrollWidth, element.clientWidth]"
                whole, there = await page.locator("body").evaluate(sizes)
                assert whole <= there, f"the page is wider than its window at {width}"


async def claimed(page: Page, message: str, words: str) -> None:
    """Customer A's case with Agent A, its thread open in both halves."""
    await write(page, f"{CUSTOMER} .channel .composer textarea", message)
    await claim(page, words)


async def claim(page: Page, words: str) -> None:
    """Agent A claims the case with these words and opens its thread."""
    await (await waiting(page, words)).locator("[data-action-id='case.claim']").click()
    await expect(page.locator(f"{CUSTOMER} .thread")).to_contain_text("Agent A has joined")
    await open_thread(page, words)


async def choose_in_menu(card: Locator, name: str) -> None:
    """An entry of the menu on a card."""
    await card.locator(".button-more").click()
    await card.get_by_role("menuitem", name=name).click()


async def waiting(page: Page, words: str) -> Locator:
    """The card of the case with these words that nobody has claimed."""
    cards = page.locator(f"{AGENTS} .channel .message").filter(has=page.locator("[data-action-id='case.claim']"))
    card = cards.filter(has_text=words).last
    await expect(card).to_be_visible()
    return card


async def open_thread(page: Page, words: str, *, half: str = AGENTS) -> None:
    await page.locator(f"{half} .channel .message").filter(has_text=words).last.locator(".thread-footer").click()


async def say(page: Page, words: str) -> None:
    """Agent A writes to the customer, until it is marked as delivered."""
    await write(page, f"{AGENTS} .thread .composer textarea", words)
    said = page.locator(f"{AGENTS} .thread .message").filter(has_text=words)
    await expect(said.locator(".reaction")).to_be_visible()
    await expect(page.locator(f"{CUSTOMER} .thread")).to_contain_text(words)


async def picture(page: Page, name: str, *, half: str = "both", height: int = 700, of: Locator | None = None) -> None:
    """One half of the page, as wide as the window, or both with the bar above them; `of` is in sight."""
    await page.locator(f".bar .views [data-show={half}]").click()
    await page.set_viewport_size({"width": WIDE["width"], "height": height})
    if of is not None:
        await of.scroll_into_view_if_needed()
    part = page if half == "both" else page.locator(f"#{half}")
    await part.screenshot(path=str(SHOTS / f"{name}.png"), animations="disabled")
    await page.set_viewport_size(WIDE)
    await page.locator(".bar .views [data-show=both]").click()
