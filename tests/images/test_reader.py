"""Files of a message, fetched from a Slack on loopback."""

import io
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web
from PIL import Image

from bot.images.formats import MEGABYTES, Unread
from bot.images.reader import IMAGES, ImageReader
from bot.slack.client import open_slack_client
from bot.slack.rate_limiter import MemoryBudget, RateLimiter
from bot.store.bodies import AttachedFile
from tests.doubles.clock import ManualClock
from tests.slack.file_host import SOURCE, FileHost, open_file_host

LAMP = AttachedFile(SOURCE, "lamp.png", "image/png", 400)
BILL = AttachedFile("F0BILL", "bill.pdf", "application/pdf", 400)


def lamp() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (30, 20), "white").save(file, "PNG")
    return file.getvalue()


async def hand_lamp(_: web.Request) -> web.StreamResponse:
    return web.Response(body=lamp(), content_type="image/png")


@pytest.fixture
async def host() -> AsyncIterator[FileHost]:
    async with open_file_host() as opened:
        opened.respond = hand_lamp
        yield opened


@pytest.fixture
async def reader(host: FileHost) -> AsyncIterator[ImageReader]:
    clock = ManualClock()
    limiter = RateLimiter(MemoryBudget(clock), clock)
    async with open_slack_client(token="xoxb-1", base_url=host.api, clock=clock, rate_limiter=limiter) as slack:
        yield ImageReader(slack.files, lambda: True)


async def test_the_first_images_are_read_and_every_other_file_has_its_reason(reader: ImageReader) -> None:
    files = [BILL, *[replace(LAMP, name=f"{number}.png") for number in range(IMAGES + 1)]]
    assert reader.would_read(files)
    read = await reader.read(files)
    assert [(image.media_type, image.width, image.height) for image in read.images] == [("image/png", 30, 20)] * IMAGES
    assert read.unread == [("bill.pdf", "no_image"), (f"{IMAGES}.png", "too_many")]


async def test_a_model_that_takes_no_images_gets_none_fetched(host: FileHost, reader: ImageReader) -> None:
    blind = ImageReader(reader._files, lambda: False)
    assert not blind.would_read([LAMP])
    read = await blind.read([LAMP])
    assert (read.images, read.unread) == ([], [("lamp.png", "no_image")])
    assert host.bearers == []


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        ("sign_in", "not_fetched"),
        ("refused", "not_fetched"),
        ("packed", "not_fetched"),
        ("content", "other_format"),
        ("endless", "too_large"),
    ],
)
async def test_what_slack_does_not_hand_over_has_its_reason(
    host: FileHost, reader: ImageReader, respond: str, reason: Unread
) -> None:
    host.respond = getattr(host, respond)
    read = await reader.read([LAMP])
    assert (read.images, read.unread) == ([], [("lamp.png", reason)])


async def test_a_file_that_is_said_to_be_large_is_not_fetched(host: FileHost, reader: ImageReader) -> None:
    read = await reader.read([replace(LAMP, size=(MEGABYTES << 20) + 1)])
    assert read.unread == [("lamp.png", "too_large")]
    assert host.bearers == []


async def test_a_process_that_cannot_start_costs_the_image_alone(
    reader: ImageReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_place(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("asyncio.create_subprocess_exec", no_place)
    assert (await reader.read([LAMP])).unread == [("lamp.png", "not_fetched")]


async def test_images_that_come_too_late_are_not_waited_for(
    host: FileHost, reader: ImageReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.images.reader.READ_TIMEOUT", 0.2)
    host.respond = host.declared
    read = await reader.read([LAMP] * IMAGES)
    assert read.unread == [("lamp.png", "not_fetched")] * IMAGES


async def test_the_process_that_unpacks_images_knows_no_keys(
    reader: ImageReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-a-secret")
    started: list[dict[str, str]] = []

    async def start(*_: object, env: dict[str, str], **__: object) -> None:
        started.append(env)
        raise OSError

    monkeypatch.setattr("asyncio.create_subprocess_exec", start)
    await reader.read([LAMP])
    assert started
    assert "SLACK_BOT_TOKEN" not in started[0]


@pytest.mark.parametrize(("mimetype", "unread"), [("image/png", []), ("application/pdf", [("", "no_image")])])
async def test_of_another_organisations_file_slack_is_asked_what_it_is(
    host: FileHost, reader: ImageReader, mimetype: str, unread: list[tuple[str, Unread]]
) -> None:
    host.file["mimetype"] = mimetype
    read = await reader.read([AttachedFile(SOURCE, "", "", 0)])
    assert (len(read.images), read.unread) == (1 - len(unread), unread)
    assert len(host.bearers) == len(read.images)
