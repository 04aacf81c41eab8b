"""A file on its way from one conversation to another, through a Slack that misbehaves."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
from yarl import URL

from bot.slack import files as copying
from bot.slack.api.files import Refusal, is_slacks
from bot.slack.client import open_slack_client
from bot.slack.files import FileCopies
from bot.slack.outbox import Outbox
from bot.slack.rate_limiter import MemoryBudget, RateLimiter
from bot.store import outbox as rows
from bot.store.database import Database, Transaction
from bot.store.outbox import OutboxRow, Outgoing
from tests.doubles.clock import ManualClock
from tests.patience import patience
from tests.slack.file_host import CHANNEL, SOURCE, THREAD, FileHost, open_file_host

TOKEN = "xoxb-1"
KEY = "relay/7"


class Recorded:
    """Keeps why files were not passed on."""

    def __init__(self) -> None:
        self.why: list[Refusal] = []

    async def content(self, tx: Transaction, row: OutboxRow) -> bytes:
        """As `Notes`."""
        raise AssertionError("the app writes no file here")

    async def not_passed_on(
        self, tx: Transaction, row: OutboxRow, refused: Mapping[str, Refusal]
    ) -> Sequence[Outgoing]:
        """As `Notes`."""
        self.why += refused.values()
        return []


class Sender:
    """Sends one message that brings one file."""

    def __init__(self, database: Database, host: FileHost) -> None:
        self.database, self.host, self.notes = database, host, Recorded()

    async def sends(self) -> list[Refusal]:
        """Why it was not passed on; nothing when it was."""
        clock = ManualClock()
        rate_limiter = RateLimiter(MemoryBudget(clock), clock)
        async with open_slack_client(
            token=TOKEN, base_url=self.host.api, clock=clock, rate_limiter=rate_limiter
        ) as slack:
            places = asyncio.Semaphore(1)
            files = FileCopies(self.database, slack.files, clock, self.notes, places=places, megabytes=1)
            outbox = Outbox(self.database, slack.chat, slack.sessions, clock, files=files)
            payload = {"text": "Look", "files": [{"id": SOURCE, "name": "lamp.png"}], "if_missing": "_It is not here._"}
            async with self.database.transaction() as tx:
                await rows.add(tx, Outgoing(KEY, "post", CHANNEL, payload, thread_ts=THREAD), now=clock.now())
            running = asyncio.create_task(outbox.run())
            async with asyncio.timeout(patience(20)):
                assert await outbox.flush(10_000)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return self.notes.why

    async def ts(self) -> str | None:
        async with self.database.transaction() as tx:
            row = await rows.by_key(tx, KEY)
        assert row is not None
        assert row.state == "sent"
        return row.ts


@pytest.fixture
async def host() -> AsyncIterator[FileHost]:
    async with open_file_host() as opened:
        yield opened


@pytest.fixture
def sender(database: Database, host: FileHost) -> Sender:
    return Sender(database, host)


def told_alone(host: FileHost) -> bool:
    """Whether the text went, without the file."""
    return [(said["text"], "files" in said) for said in host.said] == [("Look\n_It is not here._", False)]


async def test_the_token_is_shown_to_slack_and_the_content_comes_back_as_it_was(sender: Sender, host: FileHost) -> None:
    assert await sender.sends() == []
    assert host.bearers == [f"Bearer {TOKEN}"]
    assert host.given == [b"\x89PNG"]
    (said,) = host.said
    assert (said["text"], said["thread_ts"], said["files"]) == ("Look", THREAD, [{"id": "F0COPY"}])
    assert await sender.ts() == said["ts"]


async def test_long_words_go_with_a_file(sender: Sender, host: FileHost, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "word " * 2_400
    monkeypatch.setattr(copying, "_text", lambda row, is_whole: long)
    assert await sender.sends() == []
    assert host.said[0]["text"] == long


async def test_a_message_that_is_seen_late_is_waited_for(sender: Sender, host: FileHost) -> None:
    host.shown_after = 4
    assert await sender.sends() == []
    assert await sender.ts() == host.said[0]["ts"]
    assert len(host.said) == 1


async def test_a_message_that_is_never_seen_is_not_made_again(sender: Sender, host: FileHost) -> None:
    host.shown_after = 1_000
    assert await sender.sends() == []
    assert await sender.ts() is None
    assert len(host.said) == 1


async def test_redirects_within_slack_are_followed(sender: Sender, host: FileHost) -> None:
    host.respond = host.leads_to(*["/pri/again"] * 5)
    assert await sender.sends() == []
    assert host.bearers == [f"Bearer {TOKEN}"] * 6


async def test_redirects_without_an_end_are_not(sender: Sender, host: FileHost) -> None:
    host.respond = host.leads_to(*["/pri/again"] * 6)
    assert await sender.sends() == ["refused"]
    assert told_alone(host)


async def test_a_redirect_elsewhere_gets_neither_the_token_nor_a_visit(sender: Sender, host: FileHost) -> None:
    async with open_file_host() as foreign:
        host.respond = host.leads_to(f"{foreign.root}/pri/lamp.png")
        assert await sender.sends() == ["outside"]
        assert foreign.bearers == []
    assert told_alone(host)


async def test_a_file_that_is_kept_elsewhere_is_not_fetched(sender: Sender, host: FileHost) -> None:
    async with open_file_host() as foreign:
        host.file["url_private_download"] = f"{foreign.root}/pri/lamp.png"
        assert await sender.sends() == ["outside"]
        assert foreign.bearers == []


async def test_what_somebody_shared_is_given_to_slack_alone(sender: Sender, host: FileHost) -> None:
    async with open_file_host() as foreign:
        host.upload_url = f"{foreign.root}/up"
        assert await sender.sends() == ["outside"]
        assert foreign.given == []


async def test_a_content_without_an_end_is_read_up_to_the_limit(sender: Sender, host: FileHost) -> None:
    host.respond = host.endless
    assert await sender.sends() == ["too_large"]
    assert host.sent < 40_000_000
    assert told_alone(host)


@pytest.mark.parametrize(
    ("respond", "why"),
    [("sign_in", "sign_in"), ("declared", "too_large"), ("packed", "refused"), ("refused", "refused")],
)
async def test_what_is_no_file_is_not_passed_on(sender: Sender, host: FileHost, respond: str, why: Refusal) -> None:
    host.respond = getattr(host, respond)
    assert await sender.sends() == [why]
    assert host.given == []
    assert told_alone(host)


async def test_a_page_is_passed_on_when_the_file_is_one(sender: Sender, host: FileHost) -> None:
    host.file["mimetype"], host.respond = "text/html", host.sign_in
    assert await sender.sends() == []
    assert host.given[0].startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"size": 1_000_001}, "too_large"),
        ({"mode": "tombstone"}, "gone"),
        ({"is_external": True}, "outside"),
        ({"url_private_download": ""}, "outside"),
        ({"url_private_download": "not an address"}, "outside"),
    ],
)
async def test_what_slack_says_of_a_file_may_be_enough(
    sender: Sender, host: FileHost, about: dict[str, object], why: Refusal
) -> None:
    host.file |= about
    assert await sender.sends() == [why]
    assert host.bearers == []


def test_which_addresses_are_slacks() -> None:
    table = [
        ("https://files.slack.com/files-pri/T1-F1/download/lamp.png", True),
        ("https://slack-files.com/T1-F1", True),
        ("https://a.slack-edge.com/lamp.png", True),
        ("https://proxy.example.com/files/lamp.png", True),
        ("http://files.slack.com/lamp.png", False),
        ("https://files.slack.com:8443/lamp.png", False),
        ("https://evilslack.com/lamp.png", False),
        ("https://slack.com.example.com/lamp.png", False),
        ("https://slack.com@example.com/lamp.png", False),
        ("https://files.slack.com\\@example.com/lamp.png", False),
        ("https://me:secret@files.slack.com/lamp.png", False),
        ("http://proxy.example.com/lamp.png", False),
        ("https://proxy.example.com:8443/lamp.png", False),
        ("http://127.0.0.1/lamp.png", False),
        ("http://169.254.169.254/latest", False),
        ("file:///etc/passwd", False),
        ("", False),
    ]
    misses = [address for address, is_fine in table if is_taken(address) is not is_fine]
    assert misses == []


def is_taken(address: str) -> bool:
    try:
        url = URL(address)
    except ValueError:
        return False
    return is_slacks(url, api=URL("https://proxy.example.com/api/"))


def test_loopback_is_slacks_where_the_web_api_is() -> None:
    api = URL("http://127.0.0.1:4000/api/")
    assert is_slacks(URL("http://127.0.0.1:4000/files/F1"), api=api)
    assert not is_slacks(URL("http://127.0.0.1:4001/files/F1"), api=api)
    assert not is_slacks(URL("http://10.0.0.1:4000/files/F1"), api=URL("http://10.0.0.1:4000/api/"))
