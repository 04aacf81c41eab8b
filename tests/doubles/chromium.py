"""Debian's Chromium without a window, one for all tests of a folder, and what may be asked of any page in it."""

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
)

TOO_FAINT = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame().then(frame); // what has just been changed begins to fade
  const fading = document.getAnimations().filter((each) => each instanceof CSSTransition);
  await Promise.allSettled(fading.map((each) => each.finished));
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (colour) => (colour.startsWith("rgb") ? colour.match(/[\\d.]+/g).map(Number) : [0, 0, 0, 0]);
  const mix = (alpha, top, under) => top * alpha + under * (1 - alpha);
  const over = (top, under) => [0, 1, 2].map((i) => mix(top[3] ?? 1, top[i], under[i]));
  const ground = (element) => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) {
      if (getComputedStyle(at).backgroundImage !== "none") return null;
      chain.unshift(parse(getComputedStyle(at).backgroundColor));
    }
    return chain.reduce((under, top) => over(top.length === 3 ? [...top, 1] : top, under), [255, 255, 255]);
  };
  const found = new Set();
  const look = (element, style, words) => {
    const behind = words && ground(element);
    if (!behind) return;
    const [one, other] = [light(over([...parse(style.color), 1].slice(0, 4), behind)), light(behind)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.add(`${ratio.toFixed(2)} ${element.getAttribute("class")}: ${words}`);
  };
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const exempt = "[inert], option, .emoji, select, :disabled, button[aria-busy=true]";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!shown(element) || element.closest(exempt)) continue;
    look(element, getComputedStyle(element), walker.currentNode.data.trim());
  }
  for (const field of document.querySelectorAll("input:not([type=checkbox], [type=radio]), select, textarea")) {
    if (!shown(field) || field.closest("[inert], .who")) continue;
    const written = field.value || !field.placeholder;
    look(field, getComputedStyle(field, written ? null : "::placeholder"), field.value || field.placeholder);
  }
  return [...found];
}"""
"""Text whose contrast to what lies behind it is below WCAG's AA, when nothing fades any more."""

CUT_OFF = """() => {
  const shown = (each) => each.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const pen = document.createElement("canvas").getContext("2d");
  const hint = (field, style) => {
    if (!field.placeholder || field.value) return false;
    pen.font = style.font;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return pen.measureText(field.placeholder).width > room + 0.5;
  };
  const found = [];
  for (const each of document.querySelectorAll("body *")) {
    if (!shown(each) || !each.clientWidth) continue;
    const style = getComputedStyle(each);
    const across = style.textOverflow === "ellipsis" && each.scrollWidth > each.clientWidth;
    const below = style.webkitLineClamp !== "none" && each.scrollHeight > each.clientHeight + 1;
    const cut = each.matches("input, textarea") ? hint(each, style) : across || below;
    if (cut) found.push(`${each.className}: ${each.placeholder ?? each.textContent}`);
  }
  return found;
}"""
"""Text that is not all to be seen: what ends in an ellipsis, and what a field's placeholder has no room for."""


async def violations(tab: Page) -> list[str]:
    """What axe-core finds on the page that is serious or critical, a line for each element."""
    if not await tab.evaluate("'axe' in window"):
        await tab.evaluate(AXE_SCRIPT)
    found = await tab.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("NOT TESTED in a browser: there is no Chromium on this machine (Debian: apt-get install chromium)")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        await opened.close()
