"""The guided tour as a newcomer sees it, in the running world; and the faults menu breaking the line under it."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.journeys import AGENTS, CUSTOMER, PATIENCE, shoot, write
from tests.doubles.chromium import violations

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_tour_is_open_at_first_and_closed_afterwards(page: Page) -> None:
    await expect(page.locator("#tour .journey")).to_have_count(9)
    await shoot(page, "tour-1-open")
    await page.locator("#tour-question").focus()
    await page.keyboard.press("Escape")
    await expect(page.locator("#tour")).to_be_hidden()
    await expect(page.locator(".bar [data-panel=tour]")).to_be_focused()
    await page.reload()
    await page.wait_for_selector("#page[data-link=up]")
    await expect(page.locator("#tour")).to_be_hidden()
    await page.keyboard.press("Tab")
    await page.locator(".bar [data-panel=tour]").press("Enter")
    await expect(page.locator("#tour")).to_be_visible()


async def test_a_question_is_answered_from_the_help_pages(page: Page) -> None:
    await play(page, "question")
    answer = page.locator(f"{CUSTOMER} .thread .message").last
    await expect(answer.locator("a[href^='https://help.example.com/']").first).to_be_visible()
    assert await violations(page) == []


async def test_an_order_is_told_in_indonesian(page: Page) -> None:
    await play(page, "order")
    answer = page.locator(f"{CUSTOMER} .thread .message").last
    await expect(answer).to_contain_text("ORD-54321")
    await expect(answer).to_contain_text("dikirim")


async def test_a_person_comes_and_both_halves_show_it(page: Page) -> None:
    await play(page, "person")
    await expect(page.locator(f"{AGENTS} .channel .message").last).to_contain_text("Solved")
    await expect(page.locator(f"{CUSTOMER} .thread [data-action-id='csat.5']")).to_be_visible()
    await shoot(page, "tour-2-person")


async def test_an_angry_customer_gets_an_urgent_card(page: Page) -> None:
    await play(page, "angry")
    card = page.locator(f"{AGENTS} .channel .message").last
    await expect(card).to_contain_text("High")
    await expect(card.locator("[data-action-id='case.claim']")).to_be_visible()
    await shoot(page, "tour-3-angry")


@pytest.mark.parametrize("width", [1440, 420])
async def test_an_agent_sends_a_drafted_reply_under_their_own_name(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 900})
    await play(page, "draft")
    await expect(page.locator(CUSTOMER)).to_be_visible()
    reply = page.locator(f"{CUSTOMER} .thread .message").last
    await expect(reply.locator(".author")).to_have_text("Agent A (support)")
    await expect(reply).to_contain_text("30 days")
    await expect(reply.locator(".avatar")).to_have_text("AA")


async def test_the_short_tour_plays_three_journeys_one_after_the_other(page: Page) -> None:
    await page.locator("#tour [data-name=short]").click()
    for name in ("angry", "draft"):
        await expect(page.locator(f"#tour-{name}")).to_have_attribute("data-state", "played", timeout=3 * PATIENCE)
    await expect(page.locator("#tour-killed")).to_have_attribute("data-state", "playing")
    await page.get_by_role("button", name="Stop the tour").click()
    await expect(page.locator("#page")).to_have_attribute("data-bot", "online")
    await expect(page.locator("#tour-question")).to_have_attribute("data-state", "waiting")


async def test_an_answer_survives_the_kill(page: Page) -> None:
    await page.locator("#tour-killed").click()
    await expect(page.locator("#page")).to_have_attribute("data-bot", "offline")
    await expect(page.locator(f"{CUSTOMER} .thread .caret")).to_be_visible()
    await shoot(page, "tour-4-killed")
    await expect(page.locator("#tour-killed")).to_have_attribute("data-state", "played", timeout=3 * PATIENCE)
    said = page.locator(f"{CUSTOMER} .thread .message")
    await expect(said.filter(has_text="ORD-24680").filter(has_text="9400110200881234567890")).to_have_count(1)
    await expect(said.last).to_contain_text("Indonesia")
    await shoot(page, "tour-5-recovered")


async def test_a_lost_delivery_comes_again_and_the_menu_tells_it(page: Page) -> None:
    await page.locator(".bar [data-panel=tour]").click()
    await page.locator(".bar [data-panel=faults]").click()
    deliveries = page.locator("#faults form[data-fault=deliveries]")
    await deliveries.get_by_role("button").click()
    await expect(page.locator("#faults-armed")).to_contain_text("The next delivery is lost on the way.")
    await shoot(page, "faults-1-armed")
    await write(page, f"{CUSTOMER} .channel .composer textarea", "How do I return something?")
    await expect(page.locator("#faults-armed")).to_contain_text("everything works")
    await expect(page.locator("#faults-followed")).to_contain_text("message was delivered again.")
    await expect(page.locator(f"{CUSTOMER} .thread .message").last).to_contain_text("help page")
    await shoot(page, "faults-2-recovered")


async def test_the_shop_is_broken_from_the_menu_too(page: Page) -> None:
    await page.locator(".bar [data-panel=faults]").click()
    shop = page.locator("#faults form[data-fault=behind]").first
    await shop.get_by_role("button").click()
    said = "Armed: The shop makes the next change, and its answer is lost."
    await expect(page.locator("#faults-followed")).to_contain_text(said)
    await shoot(page, "faults-3-shop")


async def test_the_bot_is_killed_and_restarted_from_the_menu(page: Page) -> None:
    await page.locator(".bar [data-panel=faults]").click()
    await page.locator("#faults [data-world=kill]").click()
    await expect(page.locator("#page")).to_have_attribute("data-bot", "offline")
    await page.locator("#faults [data-world=restart]").click()
    await expect(page.locator("#page")).to_have_attribute("data-bot", "online")
    await expect(page.locator("#faults-followed")).to_contain_text("is connected.")


async def play(page: Page, name: str) -> None:
    """From the click to the end of the journey."""
    await page.locator(f"#tour-{name}").click()
    await expect(page.locator(f"#tour-{name}")).to_have_attribute("data-state", "played", timeout=3 * PATIENCE)


@pytest.mark.parametrize("journey", ["cancel", "approve", "lost"])
async def test_an_order_is_cancelled_by_a_press(page: Page, journey: str) -> None:
    await play(page, journey)
    done = page.locator(f"{CUSTOMER} .thread .message").last
    await expect(done).to_contain_text("Done.")
    await shoot(page, f"tour-6-{journey}")
