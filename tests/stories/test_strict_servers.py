"""The product before servers that each keep one family's rules: whatever it asks them, nothing ends as technical."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from demo.model.phrases import PHRASES
from demo.model.server import MODEL, Pace, open_stand_in
from demo.ports import listening
from tests.agent.strict.server import FAMILIES, Family, Json, no_images, no_projector, words_alone
from tests.stories.stage import Stage
from tests.stories.test_images import png
from tests.stories.world import Post, World

RETURNS = "How many days do I have to return an item?"
TOLD = (
    "leading-system",
    "mistral",
    "images-refused",
    "images-refused-by-500",
    "images-refused-by-responses",
    "gateway",
    "gemini-3",
    "deepseek-v4",
)
"""The families that the stand-in model, which looks for its instructions in their own place, can be behind."""


@dataclass(slots=True)
class Gate:
    """A family's rules before the stand-in model."""

    family: Family
    http: aiohttp.ClientSession
    to: str
    refused: list[Json] = field(default_factory=list)

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        """Refuse what the family refuses, and have the rest answered."""
        content = await request.read()
        body = orjson.loads(content) if content else {}
        rules = self.family.rules if request.method == "POST" else ()
        if error := next((error for rule in rules if (error := rule(body)) is not None), None):
            self.refused.append(error)
            return web.json_response(error, status=self.family.status)
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        address = f"{self.to}/{request.match_info['path']}"
        async with self.http.request(request.method, address, data=content, headers=headers) as answer:
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            return response


@asynccontextmanager
async def open_strict_world(stage: Stage, folder: Path, family: Family) -> AsyncIterator[tuple[World, Gate]]:
    """A world whose model stands behind a family's rules."""
    async with open_stand_in(pace=Pace(first=0.02, chunk=0.002)) as model, aiohttp.ClientSession() as http:
        gate = Gate(family, http, model.url)
        app = web.Application(client_max_size=64 << 20)
        app.add_routes([web.route("*", "/v1/{path:.+}", gate.pass_on)])
        async with listening(app, cancels=True) as root:
            settings = {"OPENAI_BASE_URL": f"{root}/v1", "OPENAI_API_KEY": model.key, "OPENAI_MODEL": MODEL}
            settings |= {"OPENAI_API": family.api, "OPENAI_IMAGES": "true"}
            async with stage.open_world(folder, env=settings, pace=0.1) as world:
                yield world, gate


@pytest.mark.parametrize("family", [each for each in FAMILIES if each.name in TOLD], ids=lambda family: family.name)
async def test_nothing_ends_as_technical(stage: Stage, tmp_path: Path, family: Family) -> None:
    async with open_strict_world(stage, tmp_path, family) as (world, gate):
        shown = await world.customer.shares("shot.png", png(64, 48), text=RETURNS)
        answer = await world.customer.reads(shown)
        assert "30 days" in answer.text
        if any(rule in family.rules for rule in (no_images, no_projector, words_alone)):
            assert PHRASES["en"].image_unseen in answer.text
        asked = await world.customer.says("Where is my order ORD-12345?")
        seen = await world.customer.reads(asked)
        assert "1Z999AA10123456784" in seen.text
        called = await world.customer.says("May I talk to a real person about it?", to=asked)
        await world.customer.reads(asked, after=called.ts)
        await world.staff.presses(await world.card_of(asked), "case.claim")
        card = await world.card(having="Claimed by")
        await world.staff.presses(card, "case.draft")
        thread = Post(card.channel, card.ts, card.ts)
        await world.staff.reads(thread, having=lambda seen: "draft.send" in seen.buttons)
        log = world.bot_log()
    assert "turn failed" not in log
    assert "no draft was written" not in log
    assert len(gate.refused) <= 5, "a refusal is remembered"
    assert bool(gate.refused) == (family.name != "leading-system")
