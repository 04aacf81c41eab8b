"""A moving picture of the page: frames shot while a visitor types, points and presses, each shown for a chosen time.

What the machine needs for a frame does not count. A frame that looks like the one before makes that one last longer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from time import monotonic

from PIL import Image, ImageChops
from playwright.async_api import Browser, Locator, Page, ViewportSize

from tests.browser.journeys import PATIENCE

SIZE: ViewportSize = {"width": 920, "height": 600}
"""The page at about the width of a README, so that its text is read at its own size."""
SHARPNESS = 2
"""Pixels of the picture for each of the page."""
CAPTION_HEIGHT = 44
TYPED_MS, STREAMED_MS, MOVED_MS, PRESSED_MS = 80, 300, 50, 250
"""How long frames of each kind are shown, in milliseconds."""
TYPED_AT_ONCE = 4
"""Characters that one frame adds."""
STEPS = 5
"""Frames of a way of the pointer."""
MAX_FRAMES = 400
LEVELS = 64
"""Shades that remain of each colour, a quarter of all: nobody sees it, and the file is a quarter smaller."""

_POINTER = """([x, y, isPressed]) => {
  let pointer = document.getElementById("film-pointer");
  if (!pointer) {
    pointer = document.createElement("div");
    pointer.id = "film-pointer";
    Object.assign(pointer.style, { position: "fixed", zIndex: 9999, width: 0, height: 0, pointerEvents: "none" });
    pointer.innerHTML = `<svg width="60" height="60" viewBox="-30 -30 60 60" overflow="visible">
      <circle r="17" fill="#e8912d" opacity="0"/>
      <path d="M0 0v19l4.6-4.2 3 6.8 3.4-1.5-3-6.6h6.2z" fill="#111" stroke="#fff" stroke-width="1.6"/></svg>`;
    Object.assign(pointer.firstChild.style, { position: "absolute", left: "-30px", top: "-30px" });
    document.documentElement.append(pointer);
  }
  Object.assign(pointer.style, { left: `${x}px`, top: `${y}px` });
  pointer.querySelector("circle").setAttribute("opacity", isPressed ? "0.5" : "0");
}"""
_CAPTION = """<!doctype html><style>
  body {{ margin: 0; display: grid; place-items: center; height: 100vh; background: #10201e; color: #fff;
    font: 600 17px/1 Inter, system-ui, sans-serif; }}
</style>{}"""


@dataclass(slots=True)
class Film:
    """The frames so far, and where the pointer is."""

    page: Page
    captions: Page
    _shots: list[Image.Image] = field(default_factory=list)
    _lasting: list[int] = field(default_factory=list)
    _caption: Image.Image | None = None
    _at: tuple[float, float] = (SIZE["width"] / 2, SIZE["height"] * 0.72)

    @classmethod
    async def open(cls, browser: Browser, page: Page) -> "Film":
        """A film of this page, whose window is as large as a frame without its caption."""
        captions = await browser.new_page(
            viewport={"width": SIZE["width"], "height": CAPTION_HEIGHT}, device_scale_factor=SHARPNESS
        )
        film = cls(page, captions)
        await page.evaluate(_POINTER, [*film._at, False])
        return film

    @property
    def seconds(self) -> float:
        """How long the film lasts."""
        return sum(self._lasting) / 1000

    async def tell(self, words: str) -> None:
        """Put these words under all that follows."""
        await self.captions.set_content(_CAPTION.format(escape(words)))
        self._caption = _read(await self.captions.screenshot())

    async def shoot(self, milliseconds: int) -> bool:
        """Show the page as it is now for so long. Whether it looks different from before."""
        assert self._caption is not None, "a film begins with words"
        above = _read(await self.page.screenshot(animations="disabled"))
        shot = Image.new("RGB", (above.width, above.height + self._caption.height))
        shot.paste(above)
        shot.paste(self._caption, (0, above.height))
        is_new = not self._shots or ImageChops.difference(shot, self._shots[-1]).getbbox() is not None
        if is_new:
            assert len(self._shots) < MAX_FRAMES, "the film has no end"
            self._shots.append(shot)
            self._lasting.append(milliseconds)
        return is_new

    async def wait(self, milliseconds: int) -> None:
        """Show the page for so long, whatever it looked like before."""
        if not await self.shoot(milliseconds):
            self._lasting[-1] += milliseconds

    async def type(self, box: Locator, text: str) -> None:
        """Write the text and send it."""
        for end in range(TYPED_AT_ONCE, len(text) + TYPED_AT_ONCE, TYPED_AT_ONCE):
            await box.fill(text[:end])
            await self.shoot(TYPED_MS)
        await self.wait(400)
        await box.press("Enter")

    async def press(self, target: Locator) -> None:
        """Move the pointer to the target and click."""
        await target.scroll_into_view_if_needed()
        box = await target.bounding_box()
        assert box is not None
        from_x, from_y = self._at
        to_x, to_y = self._at = (box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6)
        for step in range(1, STEPS + 1):
            part = step / STEPS
            eased = part * part * (3 - 2 * part)
            await self._point(from_x + (to_x - from_x) * eased, from_y + (to_y - from_y) * eased)
            await self.shoot(MOVED_MS)
        await self._point(to_x, to_y, is_pressed=True)
        await self.wait(PRESSED_MS)
        await self._point(to_x, to_y)
        await target.click()

    async def follow(self, is_there: Callable[[], Awaitable[bool]]) -> None:
        """Show each change of the page until something is there."""
        deadline = monotonic() + PATIENCE / 1000
        while True:
            is_last = await is_there()
            await self.shoot(STREAMED_MS)
            if is_last:
                return
            assert monotonic() < deadline, "what the film waits for does not come"

    async def save(self, path: Path) -> None:
        """Write it as an animated WebP that begins again for ever."""
        shades = [round(round(shade * (LEVELS - 1) / 255) * 255 / (LEVELS - 1)) for shade in range(256)]
        first, *others = [shot.point(shades * 3) for shot in self._shots]
        await asyncio.to_thread(
            first.save,
            path,
            save_all=True,
            append_images=others,
            duration=self._lasting,
            loop=0,
            lossless=True,
            quality=80,
            method=4,
            kmin=0,
            kmax=MAX_FRAMES,  # only what changes is kept of each frame
        )

    async def _point(self, x: float, y: float, *, is_pressed: bool = False) -> None:
        await self.page.mouse.move(x, y)
        await self.page.evaluate(_POINTER, [x, y, is_pressed])


def _read(png: bytes) -> Image.Image:
    return Image.open(BytesIO(png)).convert("RGB")
