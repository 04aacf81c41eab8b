"""Makes an image small in a process of its own, which has limits of memory and CPU: `python -m bot.images.resizing`.

The process reads one image from its standard input. It writes one line of JSON, and behind it the bytes of the small
image: `{"media_type", "width", "height"}`, the last two as the image was sent, or `{"unread"}` with the reason.
"""

import io
import json
import resource
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress

from PIL import Image, ImageOps

from bot.images.formats import LONG_SIDE, PIXELS, media_type_of

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 10
PNG_BYTES = 1_500_000
"""A larger PNG is sent as a JPEG. Few screenshots are."""
QUALITY = 88

_DECODERS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP", "image/gif": "GIF"}
_ORIENTATION = 0x0112
"""The tag of EXIF in which a camera notes how it was held. From 5 on it was on its side."""


def resize(content: bytes) -> tuple[Mapping[str, object], bytes]:
    """The line that `main` writes, and the small image, turned upright.

    It holds pixels and nothing else: what cameras and programs note beside them, such as the place, is left out.
    """
    media_type = media_type_of(content)
    if media_type is None:
        return {"unread": "other_format"}, b""
    try:
        with Image.open(io.BytesIO(content), formats=[_DECODERS[media_type]]) as opened:
            if opened.width * opened.height > PIXELS:
                return {"unread": "too_many_pixels"}, b""
            # Telephones put a second picture into a JPEG, such as one of depths. The first is the photograph.
            if media_type != "image/jpeg" and getattr(opened, "is_animated", False):
                return {"unread": "animated"}, b""
            is_on_side = opened.getexif().get(_ORIENTATION, 1) >= 5
            width, height = opened.size[::-1] if is_on_side else opened.size
            opened.draft("RGB", (LONG_SIDE, LONG_SIDE))  # A JPEG is unpacked no larger than is needed.
            upright = ImageOps.exif_transpose(opened)
            upright.thumbnail((LONG_SIDE, LONG_SIDE))
            packed_as, data = _packed(_opaque(upright), as_png=media_type != "image/jpeg")
    except Image.DecompressionBombError:
        return {"unread": "too_many_pixels"}, b""
    except Exception:  # noqa: BLE001 - decoders raise whatever they run into in damaged content
        return {"unread": "damaged"}, b""
    return {"media_type": packed_as, "width": width, "height": height}, data


def main() -> None:
    """Answer one request."""
    # Not every system has each limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    line, data = resize(sys.stdin.buffer.read())
    sys.stdout.buffer.write(json.dumps(line).encode() + b"\n" + data)


def _opaque(image: Image.Image) -> Image.Image:
    """The image in RGB, on white where one can see through it."""
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    over = image.convert("RGBA")
    page = Image.new("RGB", over.size, "white")
    page.paste(over, mask=over.getchannel("A"))
    return page


def _packed(image: Image.Image, *, as_png: bool) -> tuple[str, bytes]:
    """The image as a PNG, which keeps letters sharp, or as a JPEG, which is smaller."""
    image.info.clear()
    if as_png:
        packed = io.BytesIO()
        image.save(packed, "PNG")
        if packed.tell() <= PNG_BYTES:
            return "image/png", packed.getvalue()
    packed = io.BytesIO()
    image.save(packed, "JPEG", quality=QUALITY)
    return "image/jpeg", packed.getvalue()


if __name__ == "__main__":
    main()
