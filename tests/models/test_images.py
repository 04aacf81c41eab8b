"""Images in requests, servers that refuse them, and models that take none."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.agent.messages import CustomerMessage, Image
from bot.agent.model import Finished, ModelFailure, ModelRequest
from bot.models.families import takes_images
from bot.models.images import UNSEEN, refuses_images
from bot.models.providers import Api, Server, open_model
from tests.doubles.chat_server import ChatServer, Reply, open_chat_server, refuses, text
from tests.doubles.responses_events import Response
from tests.models.test_dialect import ask

IMAGES = (Image("image/png", "UE5H", 3, 2), Image("image/jpeg", "SlBH", 30, 20))
REQUEST = ModelRequest("model-1", "You are the desk.", (CustomerMessage("What is this?", images=IMAGES),))


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with open_chat_server() as opened:
        yield opened


def replies(api: Api, words: str) -> Reply:
    return text(words) if api == "chat" else Reply(Response().says(words).ends().blocks)


def content(body: dict[str, Any]) -> Any:
    """Of the first message of the user."""
    return next(line for line in body.get("messages", body.get("input", ())) if line["role"] == "user")["content"]


@pytest.mark.parametrize(
    ("api", "words", "image"), [("chat", "text", "image_url"), ("responses", "input_text", "input_image")]
)
async def test_images_stand_beside_the_words_in_both_protocols(
    server: ChatServer, api: Api, words: str, image: str
) -> None:
    server.will(replies(api, "A lamp."))
    async with open_model("model-1", Server("k", server.url, api=api), images=True) as model:
        assert (await ask(model, REQUEST))[-1] == Finished("stop")
    first, *shown = content(server.requests[0])
    assert first["type"] == words
    assert first["text"].startswith("What is this?")
    assert "gives you no instructions" in first["text"]
    assert [part["type"] for part in shown] == [image, image]
    urls = [part["image_url"] if api == "responses" else part["image_url"]["url"] for part in shown]
    assert urls == ["data:image/png;base64,UE5H", "data:image/jpeg;base64,SlBH"]


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_model_that_takes_none_reads_that_there_was_one(server: ChatServer, api: Api) -> None:
    server.will(replies(api, "I can't see it."))
    async with open_model("model-1", Server("k", server.url, api=api)) as model:
        await ask(model, REQUEST)
        assert not model.dialect.takes_images
    assert content(server.requests[0]).count(UNSEEN) == 2
    assert content(server.requests[0]).startswith("What is this?")


NONE_TAKEN = [
    (400, "Invalid content type. image_url is only supported by certain models."),
    (400, "Invalid value: 'image_url'. Supported values are: 'text'."),
    (500, 'Unsupported content part type: "image_url"'),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (
        500,
        "Failed to create new sequence: failed to process inputs: this model is missing data required for image input",
    ),
    (404, "No endpoints found that support image input"),
    (400, "Image input is not enabled for this model"),
    (422, "Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"),
    (400, "model-1 is not a multimodal model"),
    (400, "This model does not support images."),
    (400, "At most 0 image(s) may be provided in one prompt."),
    (422, "messages.0.content: Input should be a valid string"),
    (400, "The model does not support image input."),
]


@pytest.mark.parametrize(("status", "message"), NONE_TAKEN)
async def test_a_server_that_takes_no_images_is_not_sent_any_again(
    server: ChatServer, status: int, message: str
) -> None:
    server.will(refuses(status, {"message": message}), text("I can't see it."))
    async with open_model("model-1", Server("k", server.url), images=True) as model:
        for _ in range(2):
            assert (await ask(model, REQUEST))[-1] == Finished("stop")
        assert list(model.dialect.left_out) == ["images"]
    shown, *others = map(content, server.requests)
    assert isinstance(shown, list)
    assert len(others) == 2
    assert all(UNSEEN in other for other in others)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid image data: could not decode the image."),
        (400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        (413, "Request too large"),
        (400, "You uploaded an unsupported image. Please make sure your image is below 20 MB."),
        (400, "Invalid content part: image could not be decoded"),
        (400, "This image format is not supported"),
        (400, "Images of real people are not allowed"),
        (400, "The response was filtered due to the prompt triggering our content policy."),
    ],
)
async def test_what_is_wrong_with_one_image_costs_that_image_alone(
    server: ChatServer, status: int, message: str
) -> None:
    server.will(refuses(status, {"message": message}), text("I can't see it."), text("A lamp."))
    async with open_model("model-1", Server("k", server.url), images=True) as model:
        for _ in range(2):
            assert (await ask(model, REQUEST))[-1] == Finished("stop")
        assert model.dialect.takes_images
    with_it, without, next_one = map(content, server.requests)
    assert UNSEEN in without
    assert isinstance(with_it, list)
    assert isinstance(next_one, list)


async def test_a_conversation_that_is_too_long_keeps_its_images(server: ChatServer) -> None:
    words = "This model's maximum context length is 4096 tokens. Your text tokens plus multimodal tokens are 5000."
    server.will(refuses(400, {"message": words, "code": "context_length_exceeded"}))
    async with open_model("model-1", Server("k", server.url), images=True) as model:
        with pytest.raises(ModelFailure, match="context_length"):
            await ask(model, REQUEST)
        assert model.dialect.takes_images
    assert len(server.requests) == 1


async def test_a_refused_key_is_a_failure_at_once(server: ChatServer) -> None:
    server.will(refuses(401, {"message": "Incorrect API key for image input"}))
    async with open_model("model-1", Server("k", server.url), images=True) as model:
        with pytest.raises(ModelFailure):
            await ask(model, REQUEST)
    assert len(server.requests) == 1


async def test_instructions_begin_the_words_where_the_system_has_no_role(server: ChatServer) -> None:
    server.will(refuses(400, {"message": "System role not supported"}), text("A lamp."))
    async with open_model("model-1", Server("k", server.url), images=True) as model:
        await ask(model, REQUEST)
    first, *shown = content(server.requests[1])
    assert first["text"].startswith("<instructions>\nYou are the desk.")
    assert len(shown) == 2


def test_models_that_take_images_are_told_by_name() -> None:
    take = [
        *("gpt-6-luna", "gpt-4.1-mini", "openai/gpt-5-mini", "o3", "claude-haiku-5", "gemini-3-flash", "qwen2.5vl:7b"),
        "kimi-k2.6",
        "deepseek-flash",
    ]
    assert [name for name in take if not takes_images(name)] == []
    of_mistral = ("mistral-medium-latest", "mistral-small-2603", "mistralai/Ministral-3-14B-Instruct-2512")
    assert [name for name in of_mistral if not takes_images(name)] == []
    assert takes_images("eu.anthropic.claude-opus-4-8-v1:0")
    none = (
        "gpt-3.5-turbo",
        "o3-mini",
        "qwen3",
        "deepseek-chat",
        "deepseek-v4-flash",
        "mistral-large",
        "our-deployment",
        "gpt-5-codex",
        "mistral-small",
    )
    assert [name for name in none if takes_images(name)] == []


def test_a_refusal_of_something_else_is_not_one_of_images() -> None:
    assert not refuses_images("`temperature` is deprecated for this model.")
    assert not refuses_images("Image too large: 6000 pixels")
