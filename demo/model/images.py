"""What the stand-in sees of an image: how large it is. It reads nothing in it, and says so."""

import base64
import io
import re
from collections.abc import Iterator, Sequence

from PIL import Image

Size = tuple[int, int]

_ATTACHED = re.compile(r"\s*\[attached: [^\]]*\]$")
"""The names of files, behind the words of their message."""
_UNSEEN = re.compile(r"\s*\[Here is an image that you cannot see[^\]\n]{0,100}\]")
"""What an assistant puts in the place of an image that its model's server refused."""


def without_notes(said: str) -> tuple[str, bool]:
    """The words of a message without the notes in the place of images, and whether there were any."""
    words = _UNSEEN.sub("", said)
    return words, words != said


def sizes(content: object) -> tuple[Size, ...]:
    """Width and height of the images in a message's content, in either protocol's form."""
    return tuple(_sizes(content if isinstance(content, list) else []))


def without_names(said: str) -> str:
    """The words of a message without the names of its files."""
    return _ATTACHED.sub("", said)


def _sizes(parts: Sequence[object]) -> Iterator[Size]:
    for part in parts:
        match part:
            case {"image_url": {"url": str(url)}} | {"image_url": str(url)}:
                with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
                    yield image.size
