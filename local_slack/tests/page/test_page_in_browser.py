"""The page in headless Chromium: what only a browser can tell."""

import pytest
from playwright.async_api import expect

from local_slack import agent_status, streams
from local_slack.tests.page import scene
from local_slack.tests.page.stage import NARROW, WIDE, Stage
from local_slack.workspace import Ack
from tests.doubles.chromium import TOO_FAINT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CUSTOMER, AGENT, DM, AGENTS, SUPPORT = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS, scene.SUPPORT

ONE_BELOW_THE_OTHER = """() => {
  const box = (one) => document.querySelector(one).getBoundingClientRect();
  const shown = ["header.bar", "#tour", ".halves", "#faults"].map(box);
  const in_order = shown.every((one, at) => at === 0 || one.top >= shown[at - 1].bottom - 0.5);
  return in_order && shown[3].bottom <= innerHeight + 0.5;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_a_full_day_is_readable(stage: Stage, size: tuple[int, int], scheme: str) -> None:
    asked, root = await scene.fill(stage.workspace)
    async with stage.visit(
        size=size, scheme=scheme, left=f"{CUSTOMER}:{DM}:{asked}", right=f"{AGENT}:{AGENTS}:{root}"
    ) as tab:
        await expect(tab.locator(".half .caret").first).to_be_visible()
        assert await tab.evaluate(TOO_FAINT) == []
        assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await tab.evaluate(
            "[...document.querySelectorAll('.list')].every((one) => one.scrollWidth <= one.clientWidth)"
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_panels_are_readable_and_cover_nothing(stage: Stage, size: tuple[int, int], scheme: str) -> None:
    async with stage.visit(size=size, scheme=scheme) as tab:
        await tab.locator("#tour-a").click()
        await expect(tab.locator("#tour-a")).to_have_attribute("data-state", "played")
        await tab.get_by_role("button", name="Faults", exact=True).click()
        await expect(tab.locator("#faults-followed")).to_contain_text("Nothing yet")
        assert await tab.evaluate(TOO_FAINT) == []
        assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await tab.evaluate(ONE_BELOW_THE_OTHER)
        await tab.get_by_role("button", name="Inspector", exact=True).click()
        await expect(tab.locator("#faults")).to_be_hidden()
        await expect(tab.locator("#inspector")).to_be_visible()


async def test_a_question_is_asked_and_its_answer_grows(stage: Stage) -> None:
    async with stage.visit() as tab:
        left = tab.locator("[data-half=left]")
        await left.locator(".channel .composer textarea").fill("Where is my parcel?")
        await tab.keyboard.press("Enter")
        await expect(left.locator(".channel .message .said")).to_have_text("Where is my parcel?")
        root = next(iter(stage.workspace.messages[DM]))
        agent_status.set_status(stage.workspace, DM, root, "is looking that up...", [])
        await expect(left.locator(".status-row")).to_contain_text("Frontdesk is looking that up...")
        await expect(left.locator(".thread .composer textarea")).to_be_focused()
        stream = scene.start(stage.workspace, DM, root)
        working = scene.task("order", "Looking up the order", "in_progress", details="ORD-1")
        streams.grow(stage.workspace, stream, [working, scene.markdown("It left on ")])
        answer = left.locator(f'.thread .message[data-ts="{stream.ts}"]')
        await expect(answer.locator(".caret")).to_be_visible()
        await answer.locator(".task summary").click()
        await expect(answer.locator(".task-details")).to_be_visible()
        await tab.keyboard.insert_text("thanks")
        done = scene.task("order", "Looking up the order", "complete")
        streams.grow(stage.workspace, stream, [done, scene.markdown("**Monday**.")])
        await expect(answer.locator(".task")).to_have_attribute("data-status", "complete")
        await expect(answer.locator(".task-details")).to_be_visible()
        await expect(answer.locator("strong")).to_have_text("Monday")
        streams.finish(stage.workspace, stream, "completed", blocks=scene.footer(1))
        await expect(answer.locator(".caret")).to_have_count(0)
        await answer.locator(".feedback").first.click()
        await expect(answer.locator(".feedback").first).to_have_attribute("aria-pressed", "true")
        await answer.locator('[data-action-id="esc.customer"]').click()
        await stage.app.hears(2)
        pressed = [payload["actions"][0]["action_id"] for _, payload in stage.app.interactions]
        assert pressed == ["fb", "esc.customer"]


async def test_a_half_written_reply_survives_whatever_arrives(stage: Stage) -> None:
    root = await stage.workspace.act.send(CUSTOMER, DM, "hello")
    async with stage.visit(left=f"{CUSTOMER}:{DM}:{root}") as tab:
        reply = tab.locator("[data-half=left] .thread .composer textarea")
        await reply.fill("half a sent")
        scene.post(stage.workspace, DM, root, text="an answer")
        await stage.workspace.act.edit(CUSTOMER, DM, root, "hello again")
        await expect(tab.locator("[data-half=left] .thread .edited")).to_be_visible()
        await expect(reply).to_be_focused()
        await expect(reply).to_have_value("half a sent")


async def test_names_and_commands_are_completed_from_the_keyboard(stage: Stage) -> None:
    async with stage.visit(right=f"{AGENT}:{SUPPORT}") as tab:
        composer = tab.locator("[data-half=right] .channel .composer")
        await composer.locator("textarea").press_sequentially("hello @fro")
        await expect(composer.locator("[role=option]")).to_have_text(["@Frontdesk"])
        await tab.keyboard.press("Tab")
        await expect(composer.locator("textarea")).to_have_value("hello @Frontdesk ")
        await tab.keyboard.press("Enter")
        await expect(tab.locator("[data-half=right] .said .mention")).to_have_text("@Frontdesk")
        await composer.locator("textarea").press_sequentially("/k")
        await expect(composer.locator("[role=option]")).to_contain_text("/kb")
        await tab.keyboard.press("Escape")
        await expect(composer.locator(".completions")).to_be_hidden()
        await composer.locator("textarea").fill("/kb status")
        await tab.keyboard.press("Enter")
        await expect(composer.locator("textarea")).to_have_value("")
        await stage.app.hears(1)
    assert [payload["text"] for kind, payload in stage.app.interactions if kind == "slash_commands"] == ["status"]


async def test_a_modal_takes_the_focus_says_what_is_missing_and_goes(stage: Stage) -> None:
    async with stage.visit() as tab:
        scene.open_modal(stage.workspace, AGENT)
        modal = tab.locator("[data-half=right] .modal")
        await expect(modal.locator("select")).to_be_focused()
        await modal.locator("textarea").fill("Sent a new one")
        await modal.locator(".button-primary").click()
        await expect(modal.locator(".input-error").first).to_have_text("Please complete this required field.")
        await expect(modal.locator("textarea")).to_have_value("Sent a new one")
        await modal.locator("select").select_option("resent")
        await modal.locator("[type=checkbox]").check()
        await modal.locator(".button-primary").click()
        await expect(modal).to_have_count(0)
        values = stage.app.interactions[-1][1]["view"]["state"]["values"]
        assert values["outcome"]["outcome"]["selected_option"]["value"] == "resent"
        assert [each["value"] for each in values["learn"]["learn"]["selected_options"]] == ["yes"]
        scene.open_modal(stage.workspace, AGENT)
        await expect(modal.locator("select")).to_be_focused()
        await tab.keyboard.press("Escape")
        await expect(modal).to_have_count(0)


async def test_a_button_that_asks_first_is_pressed_after_the_answer(stage: Stage) -> None:
    words = {part: scene.text(part.title(), "plain_text") for part in ("title", "text", "confirm", "deny")}
    take_over = scene.button("case.takeover", "Take it over", confirm=words, style="danger")
    scene.post(stage.workspace, AGENTS, blocks=[scene.actions(take_over)])
    async with stage.visit() as tab:
        for answer in ("Deny", "Confirm"):
            await tab.locator('[data-action-id="case.takeover"]').click()
            await tab.get_by_role("button", name=answer, exact=True).click()
            await expect(tab.locator("#confirm")).to_be_hidden()
        await stage.app.hears(1)
    assert len(stage.app.interactions) == 1


async def test_a_choice_in_a_message_is_sent_at_once(stage: Stage) -> None:
    scene.post(stage.workspace, SUPPORT, blocks=scene.every_block())
    async with stage.visit(left=f"{CUSTOMER}:{SUPPORT}") as tab:
        left = tab.locator("[data-half=left]")
        await left.locator("select[data-action-id=how]").select_option("shop")
        await left.locator("[data-action-id=all]").nth(1).check()
        await left.locator(".block-actions .menu summary").click()
        await left.locator("[data-action-id=more]").first.click()
        await stage.app.hears(3)
    actions = [payload["actions"][0] for _, payload in stage.app.interactions]
    assert [each["action_id"] for each in actions] == ["how", "all", "more"]
    assert actions[0]["selected_option"]["value"] == "shop"
    assert [each["value"] for each in actions[1]["selected_options"]] == ["post", "shop"]
    assert actions[2]["selected_option"]["value"] == "post"


async def test_a_narrow_window_shows_one_half_at_a_time(stage: Stage) -> None:
    _, root = await scene.fill(stage.workspace)
    async with stage.visit(size=NARROW, right=f"{AGENT}:{AGENTS}") as tab:
        await expect(tab.locator("#left")).to_be_visible()
        await expect(tab.locator("#right")).to_be_hidden()
        await tab.get_by_role("button", name="Agents").click()
        await expect(tab.locator("#left")).to_be_hidden()
        await tab.locator(f'#right .message[data-ts="{root}"] .thread-footer').click()
        await expect(tab.locator("#right .thread")).to_be_visible()
        await expect(tab.locator("#right .channel")).to_be_hidden()
        await tab.locator("#right .back").click()
        await tab.locator("#right .channel .menu-button").click()
        await tab.locator(f'#right .place[data-channel="{SUPPORT}"]').click()
        await expect(tab.locator("#right .channel .head h2")).to_have_text("support")


async def test_the_inspector_lists_what_happens_with_its_payload(stage: Stage) -> None:
    async with stage.visit() as tab:
        await tab.get_by_role("button", name="Inspector", exact=True).click()
        stage.workspace.note("call", "chat.update", ok=False, detail={"answer": {"error": "ratelimited"}})
        line = tab.locator('#inspector .entry[data-kind=call][data-ok="no"]')
        await line.locator("summary").click()
        await expect(line.locator("pre")).to_contain_text("ratelimited")
        await tab.locator("[data-filter=delivery]").click()
        await expect(line).to_be_hidden()


async def test_the_menu_of_a_message_copies_its_link_and_deletes_after_a_question(stage: Stage) -> None:
    root = await stage.workspace.act.send(CUSTOMER, DM, "Where is it?")
    reply = scene.post(stage.workspace, DM, root, text="Here.")
    async with stage.visit(left=f"{CUSTOMER}:{DM}:{root}") as tab:
        await tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
        theirs = tab.locator(f'#left .thread .message[data-ts="{reply}"]')
        await theirs.hover()
        await theirs.get_by_label("More actions").click()
        await expect(theirs.locator(".menu-list button:visible")).to_have_text(["Copy link"])
        await theirs.get_by_text("Copy link").click()
        await expect(tab.locator(".toast")).to_contain_text("in the clipboard")
        link = await tab.evaluate("navigator.clipboard.readText()")
        assert link.endswith(f"/archives/{DM}/p{reply.replace('.', '')}?thread_ts={root}&cid={DM}")
        mine = tab.locator(f'#left .channel .message[data-ts="{root}"]')
        for answer in ("Cancel", "Delete"):
            await mine.hover()
            await mine.get_by_label("More actions").click()
            await mine.get_by_text("Delete message").click()
            await expect(tab.locator("#confirm")).to_contain_text("cannot be undone")
            await tab.get_by_role("button", name=answer, exact=True).click()
            await expect(tab.locator("#confirm")).to_be_hidden()
        await expect(mine).to_contain_text("This message was deleted.")


async def test_an_external_select_offers_what_the_app_answers(stage: Stage) -> None:
    search = {"type": "external_select", "action_id": "order", "min_query_length": 2}
    scene.post(stage.workspace, AGENTS, blocks=[scene.actions(search)])
    options = [{"text": scene.text(each, "plain_text"), "value": each} for each in ("ORD-1", "ORD-2")]
    stage.app.answers = [Ack(ok=True, payload={"options": options})]
    async with stage.visit() as tab:
        field = tab.locator("#right .external input")
        await field.press_sequentially("OR")
        choices = tab.locator("#right .external select")
        await expect(choices.locator("option")).to_have_text(["Choose…", "ORD-1", "ORD-2"])
        await expect(field).to_be_focused()
        assert await tab.evaluate(TOO_FAINT) == []
        await choices.select_option("ORD-2")
        await stage.app.hears(2)
    asked, chosen = (payload for _, payload in stage.app.interactions)
    assert (asked["type"], asked["value"]) == ("block_suggestion", "OR")
    assert chosen["actions"][0]["selected_option"]["value"] == "ORD-2"


async def test_a_file_goes_with_the_words_beside_it(stage: Stage) -> None:
    async with stage.visit() as tab:
        composer = tab.locator("#left .channel .composer")
        await composer.locator("input[type=file]").set_input_files(
            {"name": "lamp.txt", "mimeType": "text/plain", "buffer": b"broken"}
        )
        await expect(composer.locator(".attached")).to_contain_text("lamp.txt")
        await expect(composer.locator("textarea")).to_be_focused()
        assert await tab.evaluate(TOO_FAINT) == []
        await composer.get_by_label("Remove the file").click()
        await expect(composer.locator(".attached")).to_be_hidden()
        await expect(composer.get_by_label("Attach a file")).to_be_focused()
        await composer.locator("input[type=file]").set_input_files(
            {"name": "lamp.txt", "mimeType": "text/plain", "buffer": b"broken"}
        )
        await tab.keyboard.type("Look")
        await tab.keyboard.press("Enter")
        await expect(tab.locator("#left .message .file-chip")).to_contain_text("lamp.txt")
        await expect(tab.locator("#left .message .said")).to_contain_text("Look")
        await expect(composer.locator(".attached")).to_be_hidden()
        await expect(composer.locator("textarea")).to_have_value("")


async def test_search_is_opened_used_and_closed_from_the_keyboard(stage: Stage) -> None:
    root = await stage.workspace.act.send(CUSTOMER, DM, "Where is my lamp?")
    reply = scene.post(stage.workspace, DM, root, text="The lamp is on its way.")
    async with stage.visit(left=f"{CUSTOMER}:{SUPPORT}") as tab:
        left = tab.locator("#left")
        await tab.keyboard.press("Control+k")
        await expect(left.locator(".search-box input")).to_be_focused()
        await tab.keyboard.type("lamp")
        await expect(left.locator(".hit")).to_have_count(2)
        await expect(left.locator(".hit").first).to_have_attribute("aria-selected", "true")
        await tab.keyboard.press("ArrowDown")
        await expect(left.locator(".hit").nth(1)).to_have_attribute("aria-selected", "true")
        await expect(left.locator(".search-box input")).to_have_value("lamp")
        assert await tab.evaluate(TOO_FAINT) == []
        await tab.keyboard.press("ArrowUp")
        await tab.keyboard.press("Enter")
        await expect(left.locator(".search-box")).to_have_count(0)
        await expect(left.locator(f'.thread .message[data-ts="{reply}"]')).to_be_visible()
        await left.locator(".seek").press("Enter")
        await expect(left.locator(".search-box input")).to_be_focused()
        await tab.keyboard.press("Escape")
        await expect(left.locator(".search-box")).to_have_count(0)
        await expect(left.locator(".seek")).to_be_focused()
        await expect(left.locator(".thread")).to_be_visible()


async def test_the_theme_is_kept(stage: Stage) -> None:
    async with stage.visit(scheme="light") as tab:
        await tab.locator("[data-theme-toggle]").click()
        dark = await tab.evaluate("getComputedStyle(document.body).backgroundColor")
        await tab.reload()
        await tab.wait_for_selector("#page[data-link=up]")
        assert await tab.evaluate("getComputedStyle(document.body).backgroundColor") == dark
        assert await tab.evaluate("document.documentElement.dataset.theme") == "dark"
