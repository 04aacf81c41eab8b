"""Images that customers send to the assistant."""

import io

import pytest
from PIL import Image

from bot.language.sentences import load_sentences
from demo.model.phrases import PHRASES
from tests.stories.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

SENTENCES = load_sentences()
SEEN = PHRASES["en"].image_unread


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(file, "PNG")
    return file.getvalue()


async def test_an_image_reaches_the_model_small_and_is_asked_about(world: World) -> None:
    asked = await world.customer.shares("shot.png", png(3_136, 1_000))
    answer = await world.customer.reads(asked)
    assert SEEN.format(sizes="1568 × 500").rstrip(".") in answer.text
    assert PHRASES["en"].ask_back in answer.text


async def test_words_beside_an_image_are_answered_as_without_it(world: World) -> None:
    words = "How many days do I have to return an item?"
    asked = await world.customer.shares("shot.png", png(640, 480), text=words)
    answer = await world.customer.reads(asked, having=lambda seen: "https://help.example.com/" in seen.text)
    assert SEEN.format(sizes="640 × 480") in answer.text
    assert "30 days" in answer.text
    assert "shot.png" not in answer.text


async def test_what_is_not_looked_at_is_named_with_its_reason(world: World) -> None:
    asked = await world.customer.shares("torn.png", png(900, 900)[:200])
    answer = await world.customer.reads(asked)
    assert SENTENCES.say("en", "image_unopened", files="`torn.png`") in answer.raw["text"]


async def test_an_image_is_not_kept(world: World) -> None:
    asked = await world.customer.shares("shot.png", png(320, 200), text="Where is my order 1042?")
    await world.customer.reads(asked)
    follow = await world.customer.says("And how do I return it?", to=asked)
    answer = await world.customer.reads(follow, after=follow.ts)
    assert "320 × 200" not in answer.text
