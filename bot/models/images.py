"""Images in requests: their form in both protocols, and requests without them.

beside           The content of a user's message with images, in Chat Completions.
beside_input     The same in Responses.
has_images       Whether a request has images.
without_images   The request with a note where an image was.
refuses_images   Whether a refusal says that the model takes no images, not that something is wrong with one.
"""

import re
from collections.abc import Sequence

from bot.agent.messages import Image, JsonObject

UNSEEN = "[Here is an image that you cannot see. Tell the customer so.]"
"""What stands where an image was that the model does not get."""

_REFUSES = re.compile(
    r"image_url is only|support image input|data required for image input|not a multimodal|mmproj"
    r"|content part type|textcontentpart"
    r"|unknown variant .{0,3}image|values are: .{0,3}text|should be 'text'|at most 0 images?"
    r"|content\W{0,3} .{0,20}(?:must|should) be a (?:valid )?string|content\W{1,6}expected a (?:valid )?string"
    r"|not support\w* .{0,20}\b(?:images|image input|vision)|not (?:supported for|a) .{0,10}vision"
    r"|image inputs? (?:is|are) not (?:supported|enabled)|images are not supported",
    re.IGNORECASE,
)
"""How servers say that a model takes no images: OpenAI, Azure, vLLM, llama.cpp, LM Studio, Mistral, OpenRouter,
DeepSeek, Ollama, and validators that know words only. Refusals of one image say that it is invalid, too large or not
loaded."""


def beside(text: str, images: Sequence[Image]) -> str | list[JsonObject]:
    """The words, and the images if there are any."""
    shown = [{"type": "image_url", "image_url": {"url": _url(each)}} for each in images]
    return [{"type": "text", "text": text}, *shown] if shown else text


def beside_input(text: str, images: Sequence[Image]) -> str | list[JsonObject]:
    """The words, and the images if there are any."""
    shown = [{"type": "input_image", "image_url": _url(each)} for each in images]
    return [{"type": "input_text", "text": text}, *shown] if shown else text


def has_images(body: JsonObject) -> bool:
    """Whether any message of a request has an image."""
    return any(isinstance(line.get("content"), list) for line in _user_lines(body))


def without_images(body: JsonObject) -> JsonObject:
    """The request with words alone."""
    lines = "messages" if "messages" in body else "input"
    return {**body, lines: [_words_alone(line) for line in body[lines]]}


def refuses_images(words: str) -> bool:
    """Whether a refusal of a request with images is about all images."""
    return _REFUSES.search(words) is not None


def _url(image: Image) -> str:
    return f"data:{image.media_type};base64,{image.base64}"


def _user_lines(body: JsonObject) -> list[JsonObject]:
    return [line for line in (*body.get("messages", ()), *body.get("input", ())) if line.get("role") == "user"]


def _words_alone(line: JsonObject) -> JsonObject:
    if line.get("role") != "user" or not isinstance(line.get("content"), list):
        return line
    words = [part.get("text", UNSEEN) for part in line["content"]]
    return {**line, "content": "\n\n".join(words)}
