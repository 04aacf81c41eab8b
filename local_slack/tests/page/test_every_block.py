"""Every kind of block and element that the validator knows, as a browser draws it."""

import pytest
from playwright.async_api import Page, expect

from local_slack import views
from local_slack.block_tables import BLOCKS, ELEMENTS
from local_slack.blocks import completed
from local_slack.tests.page import gallery, scene
from local_slack.tests.page.stage import Stage
from tests.doubles.chromium import TOO_FAINT

SHOWN = {
    "image": ".image",
    "overflow": ".block-actions .menu > summary",
    "url": ".sources a",
    **{kind: f'[data-action-id="in-{kind}"]' for kind in ELEMENTS if kind.endswith("_input") and kind != "file_input"},
}
"""What an element is found by, where that is not its action_id."""

UNSEEN = """(wanted) => {
  const box = (each) => each.getBoundingClientRect();
  const seen = (each) => each.checkVisibility() && box(each).height > 0 && box(each).width > 0;
  return wanted.filter((selector) => ![...document.querySelectorAll(`#left ${selector}`)].some(seen));
}"""
"""Of these selectors those of which nothing can be seen."""

TOO_WIDE = """() => {
  const right = (each) => each.getBoundingClientRect().right;
  const seen = (root, all) => [...root.querySelectorAll(all)].filter((each) => each.checkVisibility());
  const loose = (each) => !each.parentElement.closest(".table-scroll, .carousel, pre");
  const found = document.documentElement.scrollWidth > innerWidth ? [document.body] : [];
  for (const place of seen(document, "#left :is(.list, .modal-body)")) {
    if (place.scrollWidth > place.clientWidth) found.push(place);
    found.push(...seen(place, ".block, .block *").filter((each) => loose(each) && right(each) > right(place) + 1));
  }
  return found.map((each) => each.outerHTML.slice(0, 120));
}"""
"""What sticks out of its place to the right; tables, carousels and code scroll by themselves."""

CONTROLS = """(root) => {
  const all = "button, a[href], input, select, textarea, summary, [tabindex='0']";
  const shown = (each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled && each.tabIndex >= 0;
  const controls = [...document.querySelector(root).querySelectorAll(all)].filter(shown);
  const chosen = new Map();
  for (const each of controls) if (each.checked || !chosen.has(each.name)) chosen.set(each.name, each);
  const wanted = controls.filter((each) => each.type !== "radio" || chosen.get(each.name) === each);
  wanted.forEach((each, at) => (each.dataset.nth = at));
  window.reached = new Set();
  document.addEventListener("focusin", ({ target }) => target.dataset.nth && window.reached.add(target.dataset.nth));
  return wanted.length;
}"""
"""Number the controls that the Tab key should reach (of radio buttons one in a group), and note which it does."""

MISSED = """() => [...document.querySelectorAll("[data-nth]")]
  .filter((each) => !window.reached.has(each.dataset.nth))
  .map((each) => each.outerHTML.slice(0, 120))"""

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (420, 860)], ids=["wide", "narrow"])
async def test_every_block_is_seen_read_and_reached(stage: Stage, size: tuple[int, int], scheme: str) -> None:
    for blocks in gallery.MESSAGES:
        scene.post(stage.workspace, scene.SUPPORT, blocks=completed(blocks, lambda: stage.workspace.new_id("B")))
    async with stage.visit(size=size, scheme=scheme, left=f"{scene.CUSTOMER}:{scene.SUPPORT}") as tab:
        await expect(tab.locator("#left .block-plan .task")).to_have_count(3)
        drawn = [f".block-{kind}" for kind in BLOCKS]
        drawn += [SHOWN.get(kind, f'[data-action-id="{kind}"]') for kind in ELEMENTS if kind != "file_input"]
        assert await tab.evaluate(UNSEEN, drawn) == []
        assert await tab.evaluate(TOO_WIDE) == []
        assert await tab.evaluate(TOO_FAINT) == []
        await tab.locator("#left .list").first.focus()
        await everything_is_reached(tab, "#left-list")
        assert await nameless(tab) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (420, 860)], ids=["wide", "narrow"])
async def test_every_input_is_seen_read_and_reached(stage: Stage, size: tuple[int, int], scheme: str) -> None:
    async with stage.visit(size=size, scheme=scheme) as tab:
        views.show(stage.workspace, scene.CUSTOMER, gallery.MODAL, on_top=False)
        modal = tab.locator("#left .modal")
        await expect(modal.locator("textarea").first).to_be_focused()
        drawn = [f'[data-action-id="{each["element"]["type"]}"]' for each in gallery.MODAL["blocks"]]
        assert await tab.evaluate(UNSEEN, drawn) == []
        assert await tab.evaluate(TOO_WIDE) == []
        assert await tab.evaluate(TOO_FAINT) == []
        await everything_is_reached(tab, "#left-modal")
        assert await nameless(tab) == []


async def everything_is_reached(tab: Page, root: str) -> None:
    """By the Tab key, from where the focus is."""
    count = await tab.evaluate(CONTROLS, root)
    assert count > 20
    for _ in range(count + 20):
        await tab.keyboard.press("Tab")
    assert await tab.evaluate(MISSED) == []


async def nameless(tab: Page) -> list[str]:
    """The roles of what can have the focus and has no accessible name, as the browser tells a screen reader."""
    session = await tab.context.new_cdp_session(tab)
    nodes = (await session.send("Accessibility.getFullAXTree"))["nodes"]
    return [
        f"{node['role']['value']} {node.get('description', {}).get('value', '')}"
        for node in nodes
        if not node["ignored"]
        and any(each["name"] == "focusable" for each in node.get("properties", ()))
        and node["role"]["value"] not in {"RootWebArea", "generic"}
        and not node.get("name", {}).get("value", "").strip()
    ]
