"""The page under somebody's hands in headless Chromium: what they write, press and open, also where that fails."""

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import expect

from local_slack import views
from local_slack.tests.page import gallery, scene
from local_slack.tests.page.scene import AGENT, AGENTS, CUSTOMER, DM, SUPPORT
from local_slack.tests.page.stage import NARROW, Stage
from local_slack.workspace import Ack
from tests.doubles.chromium import TOO_FAINT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Slow(scene.Listener):
    """An app that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def interact(self, kind: str, payload: dict[str, Any]) -> Ack:
        await self.go.wait()
        return await super().interact(kind, payload)


@pytest.mark.parametrize("how", ["beside", "escape", "tab"])
async def test_the_channels_of_a_narrow_page_close_and_nothing_below_is_hit(stage: Stage, how: str) -> None:
    scene.post(
        stage.workspace, DM, blocks=[scene.actions(*(scene.button(f"a{at}", "Press me" * 4) for at in range(9)))]
    )
    async with stage.visit(size=NARROW) as tab:
        opener, drawer = tab.locator("#left .channel .menu-button"), tab.locator("#left .side")
        await expect(drawer).to_be_hidden()
        await opener.click()
        await expect(drawer).to_be_visible()
        await expect(opener).to_have_attribute("aria-expanded", "true")
        await expect(drawer.locator(".place[aria-current]")).to_be_focused()
        match how:
            case "beside":
                await tab.mouse.click(
                    400, (await tab.locator("#left .block-actions").bounding_box() or {"y": 0})["y"] + 20
                )
            case "escape":
                await tab.keyboard.press("Escape")
                await expect(opener).to_be_focused()
            case "tab":
                while await drawer.evaluate("(side) => side.contains(document.activeElement)"):
                    await tab.keyboard.press("Tab")
        await expect(drawer).to_be_hidden()
        await expect(opener).to_have_attribute("aria-expanded", "false")
        await opener.click()
        await drawer.locator(f'.place[data-channel="{SUPPORT}"]').press("Enter")
        await expect(tab.locator("#left .channel .head h2")).to_have_text("support")
        await expect(drawer).to_be_hidden()
    assert stage.app.interactions == []


async def test_words_stay_until_they_are_sent(stage: Stage) -> None:
    root = await stage.workspace.act.send(CUSTOMER, DM, "Where is my lamp?")
    async with stage.visit(left=f"{CUSTOMER}:{DM}:{root}") as tab:
        composer = tab.locator("#left .channel .composer textarea")
        await composer.fill("x" * 12_001)
        await tab.keyboard.press("Enter")
        await expect(tab.locator(".toast")).to_have_text("This is too long for one message.")
        await expect(composer).to_have_value("x" * 12_001)
        await composer.fill("Hello?")
        await tab.keyboard.press("Enter")
        await expect(composer).to_have_value("")
        reply = tab.locator("#left .thread .composer textarea")
        await reply.fill("/kb status")
        await tab.keyboard.press("Enter")
        await expect(tab.locator(".toast").last).to_contain_text("not in threads")
        await expect(reply).to_have_value("/kb status")
        await expect(reply).to_be_focused()


async def test_a_command_that_reaches_nobody_stays_to_be_sent_again(stage: Stage) -> None:
    stage.app.answers = [Ack(ok=False, error="dispatch_failed")]
    async with stage.visit(right=f"{AGENT}:{AGENTS}") as tab:
        composer = tab.locator("#right .channel .composer textarea")
        await composer.fill("/kb status")
        await tab.keyboard.press("Enter")
        await expect(tab.locator("#right .message.ephemeral")).to_contain_text(
            'failed with the error "dispatch_failed"'
        )
        await expect(composer).to_have_value("/kb status")
        await tab.keyboard.press("Enter")
        await expect(composer).to_have_value("")


async def test_what_is_typed_while_a_message_is_on_its_way_stays(stage: Stage) -> None:
    stage.workspace.transport = app = Slow()
    async with stage.visit(right=f"{AGENT}:{AGENTS}") as tab:
        composer, send = tab.locator("#right .channel .composer textarea"), tab.locator("#right .channel .send")
        await composer.fill("/kb status")
        await tab.keyboard.press("Enter")
        await expect(send).to_have_attribute("aria-busy", "true")
        await tab.keyboard.press("Enter")
        await tab.keyboard.type(" and more")
        app.go.set()
        await expect(composer).to_have_value(" and more")
        await expect(send).not_to_have_attribute("aria-busy", "true")
    assert len(app.interactions) == 1


async def test_a_draft_waits_in_its_channel(stage: Stage) -> None:
    async with stage.visit() as tab:
        left = tab.locator("#left")
        await left.locator(".channel textarea").fill("half a sent")
        await left.locator(f'.place[data-channel="{SUPPORT}"]').click()
        await expect(left.locator(".channel .head h2")).to_have_text("support")
        await expect(left.locator(".channel textarea")).to_have_value("")
        await left.locator(f'.place[data-channel="{DM}"]').click()
        await expect(left.locator(".channel textarea")).to_have_value("half a sent")


async def test_a_press_shows_until_it_is_acknowledged_and_where_it_was_not(stage: Stage) -> None:
    stage.workspace.transport = app = Slow()
    scores = [scene.button(f"csat.{score}", score, f"FD-1041/{score}") for score in "12345"]
    scene.post(stage.workspace, DM, blocks=[scene.actions(*scores)])
    async with stage.visit() as tab:
        four = tab.locator('#left [data-action-id="csat.4"]')
        await four.focus()
        await tab.keyboard.press("Enter")
        await expect(four).to_have_attribute("aria-busy", "true")
        await tab.keyboard.press("Enter")
        app.go.set()
        await expect(four).not_to_have_attribute("aria-busy", "true")
        await expect(four).to_be_focused()
        app.answers = [Ack(ok=False, error="operation_timeout")]
        await tab.keyboard.press("Enter")
        await expect(four).to_have_attribute("data-failed", "")
        await expect(tab.locator(".toast")).to_have_text("The app did not answer within 3 seconds.")
        await expect(four).not_to_have_attribute("aria-busy", "true")
        assert await tab.evaluate(TOO_FAINT) == []
        await tab.keyboard.press("Enter")
        await expect(four).not_to_have_attribute("data-failed", "")
    assert [payload["actions"][0]["value"] for _, payload in app.interactions] == ["FD-1041/4"] * 3


async def test_a_button_that_became_another_does_not_look_pressed(stage: Stage) -> None:
    stage.workspace.transport = app = Slow()
    ts = scene.post(stage.workspace, AGENTS, blocks=[scene.actions(scene.button("case.claim", "Claim"))])
    async with stage.visit() as tab:
        await tab.locator('#right [data-action-id="case.claim"]').click()
        message = stage.workspace.message(AGENTS, ts)
        resolve = [scene.actions(scene.button("case.resolve", "Resolve"))]
        stage.workspace.keep_message(AGENTS, message | {"blocks": resolve})
        await expect(tab.locator('#right [data-action-id="case.resolve"]')).not_to_have_attribute("aria-busy", "true")
        app.go.set()


async def test_global_shortcuts_are_run_from_the_composer_the_slash_and_the_search(stage: Stage) -> None:
    stage.workspace.shortcuts = [
        {"name": "Report a bug", "type": "global", "callback_id": "bug"},
        {"name": "File a case", "type": "message", "callback_id": "case"},
    ]
    ts = await stage.workspace.act.send(CUSTOMER, DM, "It is broken")
    async with stage.visit() as tab:
        composer = tab.locator("#left .channel .composer")
        await composer.get_by_label("Attach a file or run a shortcut").press("Enter")
        await expect(composer.locator(".menu-list button")).to_have_text(["Attach a file", "Report a bug"])
        assert await tab.evaluate(TOO_FAINT) == []
        await composer.get_by_role("menuitem", name="Report a bug").click()
        await stage.app.hears(1)
        await expect(composer.locator(".menu-list")).to_be_hidden()
        await composer.locator("textarea").press_sequentially("/rep")
        await expect(composer.locator("[role=option]")).to_have_text(["Report a bug Frontdesk"])
        await tab.keyboard.press("Enter")
        await stage.app.hears(2)
        await expect(composer.locator("textarea")).to_have_value("")
        await tab.keyboard.press("Control+k")
        await expect(tab.locator("#left .search-box input")).to_be_focused()
        await tab.keyboard.type("bug")
        await expect(tab.locator("#left .hit").first).to_contain_text("Report a bug")
        await tab.keyboard.press("Enter")
        await stage.app.hears(3)
        await expect(tab.locator("#left .search-box")).to_have_count(0)
        mine = tab.locator(f'#left .message[data-ts="{ts}"]')
        await mine.hover()
        await mine.get_by_label("More actions").click()
        await mine.get_by_role("menuitem", name="File a case").click()
        await stage.app.hears(4)
    used = [(payload["type"], payload["callback_id"]) for _, payload in stage.app.interactions]
    assert used == [("shortcut", "bug")] * 3 + [("message_action", "case")]


async def test_a_modal_says_what_is_wrong_and_another_lies_over_it(stage: Stage) -> None:
    stage.app.answers = [
        Ack(ok=True, payload={"response_action": "errors", "errors": {"note": "Please say more."}}),
        Ack(ok=True, payload={"response_action": "push", "view": scene.MODAL | {"title": gallery.plain("Really?")}}),
        Ack(ok=False, error="dispatch_failed"),
    ]
    async with stage.visit() as tab:
        scene.open_modal(stage.workspace, AGENT)
        modal = tab.locator("#right .modal")
        submit = modal.get_by_role("button", name="Resolve")
        await modal.locator("select").select_option("resent")
        await modal.locator("textarea").fill("Sorry")
        await submit.click()
        await expect(modal.locator(".input-error").nth(1)).to_have_text("Please say more.")
        assert await tab.evaluate(TOO_FAINT) == []
        await submit.click()
        await expect(modal.locator("h2")).to_have_text("Really?")
        await modal.locator("select").select_option("refunded")
        await modal.locator("textarea").fill("All of it")
        await submit.click()
        await expect(tab.locator(".toast")).to_contain_text("The app is not connected")
        await expect(modal.locator("textarea")).to_have_value("All of it")
        await modal.locator("header").get_by_role("button", name="Cancel").first.click()
        await expect(modal.locator("h2")).to_have_text("Resolve FD-1041")
        await tab.keyboard.press("Escape")
        await expect(modal).to_have_count(0)


async def test_a_menu_stays_inside_a_narrow_column(stage: Stage) -> None:
    card = scene.post(stage.workspace, AGENTS, blocks=scene.case_card(1_795_200_000))
    scene.post(stage.workspace, AGENTS, thread_ts=card, text="6 messages")
    async with stage.visit(size=(1280, 900), right=f"{AGENT}:{AGENTS}:{card}") as tab:
        column = tab.locator("#right .channel")
        opener = column.locator(".block-actions .menu summary")
        await opener.click()
        await tab.keyboard.press("Escape")
        await expect(column.locator(".block-actions .menu-list")).to_be_hidden()
        await expect(opener).to_be_focused()
        await expect(tab.locator("#right .thread")).to_be_visible()
        await opener.click()
        await column.get_by_role("menuitem", name="Mark as spam").click()
        await stage.app.hears(1)
    assert stage.app.interactions[0][1]["actions"][0]["selected_option"]["value"] == "spam/FD-1042"


async def test_whoever_closes_a_modal_goes_on_in_their_own_half(stage: Stage) -> None:
    async with stage.visit() as tab:
        scene.open_modal(stage.workspace, AGENT)
        await expect(tab.locator("#right .modal select")).to_be_focused()
        await tab.keyboard.press("Escape")
        await expect(tab.locator("#right .channel .composer textarea")).to_be_focused()


async def test_a_file_is_chosen_in_a_modal(stage: Stage) -> None:
    modal = gallery.MODAL | {"blocks": [gallery.labelled("Photo", gallery.named("file_input"), block_id="photo")]}
    async with stage.visit() as tab:
        view = views.show(stage.workspace, CUSTOMER, modal, on_top=False)
        photo = tab.locator("#left .modal").get_by_label("Photo")
        await expect(photo).to_be_focused()
        await photo.set_input_files({"name": "lamp.png", "mimeType": "image/png", "buffer": b"x"})
        await expect(photo).to_have_attribute("data-files", re.compile("F"))
        stage.workspace.changed("modal", user=view["id"])
        await tab.locator("#left .modal").get_by_role("button", name="Send").click()
        await expect(tab.locator("#left .modal")).to_have_count(0)
    held = stage.app.interactions[0][1]["view"]["state"]["values"]["photo"]["file_input"]
    assert [file["name"] for file in held["files"]] == ["lamp.png"]


async def test_a_data_table_is_sorted_and_its_pages_are_turned(stage: Stage) -> None:
    blocks = [each for each in gallery.MESSAGES[1] if each["type"] == "data_table"]
    ts = scene.post(stage.workspace, SUPPORT, blocks=blocks)
    async with stage.visit(left=f"{CUSTOMER}:{SUPPORT}") as tab:
        table = tab.locator("#left .data-table")
        first = table.locator("tbody tr:visible th").first
        await expect(table.locator("tbody tr:visible")).to_have_count(5)
        await table.get_by_label("Next rows").click()
        await expect(table.locator(".pages")).to_contain_text("6–10 of 12")
        await table.get_by_label("Next rows").press("Enter")
        await expect(table.locator("tbody tr:visible")).to_have_count(2)
        await expect(table.get_by_label("Next rows")).to_be_disabled()
        await table.get_by_role("button", name="Total").click()
        await table.get_by_role("button", name="Total").click()
        await expect(first).to_have_text("ORD-1012")
        await expect(table.locator("th[aria-sort=descending]")).to_have_text("Total")
        await stage.workspace.act.react(CUSTOMER, SUPPORT, ts, "eyes")
        await expect(tab.locator("#left .reaction")).to_be_visible()
        await expect(first).to_have_text("ORD-1012")
        await table.get_by_role("button", name="State").click()
        await expect(table.locator("tbody tr:visible td").first).to_have_text("Delivered")


async def test_a_message_is_edited_and_deleted_and_the_home_tab_is_used(stage: Stage) -> None:
    scene.publish_home(stage.workspace, CUSTOMER)
    ts = await stage.workspace.act.send(CUSTOMER, DM, "Where is my lamb?")
    async with stage.visit() as tab:
        mine = tab.locator(f'#left .message[data-ts="{ts}"]')
        await mine.hover()
        await mine.get_by_label("More actions").click()
        await mine.get_by_role("menuitem", name="Edit message").click()
        await mine.get_by_label("Edit the message").fill("Where is my lamp?")
        await tab.keyboard.press("Enter")
        await expect(mine.locator(".said")).to_have_text("Where is my lamp?")
        await expect(mine.locator(".edited")).to_be_visible()
        await tab.locator("#left").get_by_role("tab", name="Home").click()
        await tab.locator('#left .home [data-action-id="open"]').click()
        await stage.app.hears(1)
        assert await tab.evaluate(TOO_FAINT) == []
        await tab.locator("#left").get_by_role("tab", name="Messages").click()
        await mine.hover()
        await mine.get_by_label("More actions").click()
        await mine.get_by_role("menuitem", name="Delete message").click()
        await tab.get_by_role("button", name="Delete", exact=True).click()
        await expect(mine).to_have_count(0)
    assert stage.app.interactions[0][1]["view"]["type"] == "home"


async def test_a_file_that_was_deleted_leaves_a_line(stage: Stage) -> None:
    ts = await stage.workspace.act.upload(CUSTOMER, DM, "lamp.png", b"x", text="Look")
    async with stage.visit() as tab:
        mine = tab.locator(f'#left .message[data-ts="{ts}"] .file-chip')
        await expect(mine).to_contain_text("lamp.png")
        message = stage.workspace.message(DM, ts)
        stone = {"id": message["files"][0]["id"], "mode": "tombstone"}
        stage.workspace.keep_message(DM, message | {"files": [stone]})
        await expect(mine).to_have_text(re.compile("This file was deleted"))


async def test_what_is_sent_while_a_message_is_on_its_way_goes_after_it(stage: Stage) -> None:
    async with stage.visit() as tab:
        composer = tab.locator("#left .channel .composer textarea")
        await tab.evaluate(
            """() => {
              const send = socket.send.bind(socket);
              socket.send = (written) => setTimeout(() => send(written), 300);
            }"""
        )
        for words in ("First", "Second"):
            await composer.fill(words)
            await composer.press("Enter")
        await expect(tab.locator("#left .channel .message .said")).to_have_text(["First", "Second"])
        await expect(composer).to_have_value("")
