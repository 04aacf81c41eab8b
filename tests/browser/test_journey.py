"""The whole journey as two people see it: a question, a streamed answer, an order, a person who takes over, a score;
and what else they do on the way: they stop, edit, delete, hand back, look at Home, send files and search.
"""

import pytest
from playwright.async_api import Page, expect

from tests.browser.journeys import AGENTS, CUSTOMER, NARROW, choose, shoot, write
from tests.doubles.chromium import TOO_FAINT
from tests.stories.world import World

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_question_is_answered_and_a_person_takes_over(page: Page) -> None:
    await write(page, f"{CUSTOMER} .channel .composer textarea", "How long does standard shipping take?")
    await page.locator(f"{CUSTOMER} .channel .message .thread-footer").last.click()
    answer = page.locator(f"{CUSTOMER} .thread .message").nth(1)
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

    await page.locator(f"{CUSTOMER} .thread [data-action-id='csat.4']").click()
    await expect(page.locator(f"{CUSTOMER} .thread [data-action-id='csat.4']")).to_contain_text("✓")
    await expect(page.locator(f"{CUSTOMER} .thread [data-action-id='csat.4']")).not_to_have_attribute(
        "aria-busy", "true"
    )
    assert await page.evaluate(TOO_FAINT) == []


async def test_staff_use_the_slash_command_line(page: Page) -> None:
    await write(page, f"{AGENTS} .channel .composer textarea", "/kb status")
    await expect(page.locator(f"{AGENTS} .message.ephemeral").last).to_contain_text("generation")
    await shoot(page, "7-kb-status")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_holds_on_a_narrow_screen(page: Page, scheme: str) -> None:
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.set_viewport_size(NARROW)
    overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    assert await page.evaluate(TOO_FAINT) == []
    await shoot(page, f"8-narrow-{scheme}")


async def test_an_answer_is_stopped_by_its_reader(page: Page, world: World) -> None:
    question = "How do I return something?"
    begun = "You can send it back within 30 days. Open your order, press Return an item, and print the label. Then "
    await world.model_says({"text": begun, "stall": 60, "when": question})
    await write(page, f"{CUSTOMER} .channel .composer textarea", question)
    answer = page.locator(f"{CUSTOMER} .thread .message").last
    await expect(answer).to_contain_text("press Return an item")
    await expect(answer).to_have_attribute("aria-busy", "true")
    await expect(answer.locator(".caret")).to_be_visible()
    await expect(page.locator(f"{CUSTOMER} .status-row")).to_be_visible()
    await shoot(page, "1-being-written")
    await page.locator(f"{CUSTOMER} .stop").click()
    await expect(page.locator(f"{CUSTOMER} .thread .stopped")).to_be_visible()
    await expect(page.locator(f"{CUSTOMER} .status-row")).to_have_count(0)
    await expect(page.locator(f"{CUSTOMER} .thread [aria-busy=true]")).to_have_count(0)


async def test_a_question_is_edited_and_deleted_with_its_answer(page: Page) -> None:
    await write(page, f"{CUSTOMER} .channel .composer textarea", "How long does express shipping take?")
    answer = page.locator(f"{CUSTOMER} .thread .message").nth(1)
    await expect(answer.locator(".feedback").first).to_be_visible()
    mine = page.locator(f"{CUSTOMER} .channel .message").last
    await choose(mine, "Edit message")
    await mine.get_by_label("Edit the message").fill("How long are gift cards valid?")
    await page.keyboard.press("Enter")
    await expect(mine.locator(".edited")).to_be_visible()
    await expect(page.locator(f"{CUSTOMER} .thread .message").last).to_contain_text("5 years")
    await expect(page.locator(f"{CUSTOMER} .thread [aria-busy=true]")).to_have_count(0)
    ts = await mine.get_attribute("data-ts")
    await choose(mine, "Delete message")
    await page.get_by_role("button", name="Delete", exact=True).click()
    deleted = page.locator(f'{CUSTOMER} .channel .message[data-ts="{ts}"]:not(.system)')
    await expect(deleted).to_have_count(0)
    await expect(page.locator(f"{CUSTOMER} .thread")).not_to_contain_text("5 years")


async def test_a_case_is_handed_back_through_a_dialog(page: Page) -> None:
    await write(page, f"{CUSTOMER} .channel .composer textarea", "I want to talk to a person about my kettle.")
    card = page.locator(f"{AGENTS} .channel .message").filter(has=page.locator("[data-action-id='case.claim']")).last
    await expect(card).to_contain_text("kettle")
    await card.locator("[data-action-id='case.handback']").click()
    dialog = page.locator(f"{AGENTS} .modal")
    await expect(dialog.locator("textarea")).to_be_focused()
    await dialog.locator("textarea").fill("Kettles are under warranty for two years.")
    assert await page.evaluate(TOO_FAINT) == []
    await shoot(page, "10-dialog")
    await dialog.get_by_role("button", name="Hand back").click()
    await expect(dialog).to_have_count(0)
    await expect(page.locator(f"{CUSTOMER} .thread .message").last).to_contain_text("assistant")


async def test_somebody_new_looks_at_home_and_takes_a_suggestion(page: Page) -> None:
    await page.locator(f"{CUSTOMER} [data-choose=act_as]").select_option("U0CUSTOMERB")
    await expect(page.locator(f"{CUSTOMER} .prompt").first).to_be_visible()
    await page.locator(f"{CUSTOMER}").get_by_role("tab", name="Home").click()
    await expect(page.locator(f"{CUSTOMER} .home-scroll :is(.home, .empty)")).to_be_visible()
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(TOO_FAINT) == []
    await shoot(page, "11-home-dark")
    await page.locator(f"{CUSTOMER}").get_by_role("tab", name="Messages").click()
    prompt = page.locator(f"{CUSTOMER} .prompt").first
    await prompt.click()
    await expect(page.locator(f"{CUSTOMER} .thread .message")).to_have_count(2)
    await expect(page.locator(f"{CUSTOMER} .channel .prompt")).to_have_count(0)


async def test_staff_see_their_cases_on_the_home_tab(page: Page) -> None:
    await page.locator(f"{AGENTS} .place", has_text="Frontdesk").click()
    await page.locator(AGENTS).get_by_role("tab", name="Home").click()
    await expect(page.locator(f"{AGENTS} .home .block-header").first).to_be_visible()
    assert await page.evaluate(TOO_FAINT) == []
    await shoot(page, "13-home-of-staff")


async def test_a_file_is_sent_and_what_was_said_is_found(page: Page) -> None:
    composer = page.locator(f"{CUSTOMER} .channel .composer")
    photo = {"name": "scratch.png", "mimeType": "image/png", "buffer": b"\x89PNG"}
    await composer.locator("input[type=file]").set_input_files(photo)  # type: ignore[arg-type]
    await composer.locator("textarea").fill("How do I return something scratched like this?")
    await page.keyboard.press("Enter")
    mine = page.locator(f"{CUSTOMER} .channel .message").last
    await expect(mine.locator(".file-chip")).to_contain_text("scratch.png")
    await expect(page.locator(f"{CUSTOMER} .thread .button").first).to_be_visible()
    await page.keyboard.press("Control+k")
    await expect(page.locator(f"{CUSTOMER} .search-box input")).to_be_focused()
    await page.keyboard.type("something scratched")
    await expect(page.locator(f"{CUSTOMER} .hit").first).to_contain_text("something scratched")
    await shoot(page, "12-search")
    await page.keyboard.press("Enter")
    await expect(page.locator(f"{CUSTOMER} .thread .file-chip")).to_contain_text("scratch.png")


async def test_a_person_is_called_over_a_message_from_its_menu(page: Page) -> None:
    await page.locator(f"{CUSTOMER} .place", has_text="support").click()
    await write(page, f"{CUSTOMER} .channel .composer textarea", "My umbrella has no handle, does anybody know why?")
    mine = page.locator(f"{CUSTOMER} .channel .message").last
    await expect(mine).to_contain_text("umbrella")
    await choose(mine, "Escalate to support")
    card = page.locator(f"{AGENTS} .channel .message").filter(has=page.locator("[data-action-id='case.claim']")).last
    await expect(card).to_contain_text("umbrella")
