"""Fetches the images of a message from Slack and makes them small. After a restart they are fetched again."""

import asyncio
import json
import logging
import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from bot.agent.messages import Image
from bot.images.formats import MEGABYTES, Unread, media_type_of
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.files import NotPassedOn, SlackFiles
from bot.store.bodies import AttachedFile
from knowledge.sources.isolation import reader_environment

logger = logging.getLogger(__name__)

IMAGES = 4
"""The most images of one message."""
AT_ONCE = 2
"""The most images that are fetched and unpacked at the same time."""
FETCH_TIMEOUT = 20.0
RESIZE_TIMEOUT = 20.0
"""Seconds. An image that takes longer is not looked at."""
READ_TIMEOUT = 30.0
"""Seconds for all images of a message, with the time that others' images take before them."""

_PROGRAM = ("-m", "bot.images.resizing")
_BYTES = MEGABYTES << 20


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """The images of a message, and why its other files were not looked at."""

    images: Sequence[Image] = ()
    unread: Sequence[tuple[str, Unread]] = ()
    """Names of files, each with the reason. Images that are pasted into Slack all have the same name."""


class ImageReader:
    """Fetches images and makes them small."""

    def __init__(self, files: SlackFiles, takes_images: Callable[[], bool]) -> None:
        """`takes_images` tells whether the model takes images as far as is known now."""
        self._files = files
        self._takes_images = takes_images
        self._places = asyncio.Semaphore(AT_ONCE)

    def would_read(self, files: Sequence[AttachedFile]) -> bool:
        """Whether any of these files would be fetched."""
        return any(map(self._may_read, files))

    async def read(self, files: Sequence[AttachedFile]) -> ReadFiles:
        """Read the files of a message. Nothing that is wrong with one of them is raised."""
        places = [place for place, file in enumerate(files) if self._may_read(file)]
        first = [files[place] for place in places[:IMAGES]]
        read = dict(zip(places, await self._read_all(first), strict=False))
        unread: list[tuple[str, Unread]] = []
        images: list[Image] = []
        for place, file in enumerate(files):
            found: Image | Unread = read.get(place, "too_many") if place in places else "no_image"
            if isinstance(found, Image):
                images.append(found)
            else:
                unread.append((file.name, found))
                logger.info("a file was not looked at", extra={"reason": found})
        return ReadFiles(images, unread)

    def _may_read(self, file: AttachedFile) -> bool:
        """Whether a file may be an image. Of another organisation's file, an event tells the id alone."""
        is_likely = not file.mimetype or file.mimetype.startswith("image/")
        return self._takes_images() and bool(file.id) and is_likely

    async def _read_all(self, files: Sequence[AttachedFile]) -> list[Image | Unread]:
        """Read images side by side. What is not there when the time is up is not waited for."""
        running = [asyncio.create_task(self._read(file)) for file in files]
        if not running:
            return []
        try:
            await asyncio.wait(running, timeout=READ_TIMEOUT)
            return [task.result() if task.done() else "not_fetched" for task in running]
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _read(self, file: AttachedFile) -> Image | Unread:
        if file.size > _BYTES:
            return "too_large"
        try:
            async with self._places:
                content = await self._fetch(file)
                return "no_image" if content is None else await resized(content)
        except NotPassedOn as error:
            return "too_large" if error.refusal == "too_large" else "not_fetched"
        except (SlackRefused, SlackUnanswered, TimeoutError, OSError):
            return "not_fetched"

    async def _fetch(self, file: AttachedFile) -> bytes | None:
        """The content. None if Slack says that it is no image."""
        async with asyncio.timeout(FETCH_TIMEOUT):
            found = await self._files.find(file.id)
            return await self._files.fetch(found, limit=_BYTES) if found.mimetype.startswith("image/") else None


async def resized(content: bytes) -> Image | Unread:
    """Make an image small in a process of its own, or tell why that can't be done."""
    if media_type_of(content) is None:
        return "other_format"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        *_PROGRAM,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd="/",
        env=reader_environment(),
    )
    try:
        async with asyncio.timeout(RESIZE_TIMEOUT):
            written, _ = await process.communicate(content)
    except TimeoutError:
        return "damaged"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    line, _, data = written.partition(b"\n")
    if process.returncode or not line:
        return "damaged"
    found = json.loads(line)
    if "unread" in found:
        return cast("Unread", found["unread"])
    return Image(found["media_type"], b64encode(data).decode(), found["width"], found["height"])
