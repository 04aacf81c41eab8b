"""Which images are looked at."""

from typing import Literal

MEGABYTES = 10
"""The size limit, in megabytes, of an image that is looked at."""
PIXELS = 40_000_000
"""The most pixels of an image. A small file can hold so many that unpacking it takes gigabytes."""
LONG_SIDE = 1_568
"""The longer side of an image, in pixels, as a model gets it. Providers make larger ones smaller themselves."""

MediaType = Literal["image/png", "image/jpeg", "image/webp", "image/gif"]
"""The formats that OpenAI, Anthropic and Google all document."""
Unread = Literal[
    "no_image", "too_large", "other_format", "too_many_pixels", "animated", "damaged", "too_many", "not_fetched"
]
"""Why a file is not looked at: it is said to be no image, or the model takes none · too many bytes · its content is in
none of the formats · too many pixels · it moves · it can't be unpacked · other images of the message fill the limit ·
Slack did not hand it over."""


def media_type_of(content: bytes) -> MediaType | None:
    """The format by the content's first bytes. None for any other content, whatever its name says."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None
