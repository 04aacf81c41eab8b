"""`/kb refresh` and its button, from the press to what is read, in a local Slack."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from bot.help_center import status_texts
from bot.help_center.library import Bases, Library
from bot.help_center.refreshes import Refreshes
from handlers import commands
from knowledge.build.report import Progress
from local_slack.workspace import Json, Workspace
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack, open_local_slack
from tests.handlers.wiring import wire
from tests.help_center.test_library import SOURCES, FakeBase, write
from tests.patience import patience

PATIENCE = patience(20.0)
REPORT = "3 added, 2 changed, 1 removed"


@dataclass
class Wired:
    """Slack, with the product's command and its button behind it and a base that is refreshed when it is told."""

    slack: LocalSlack
    base: FakeBase
    library: Library
    work: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def workspace(self) -> Workspace:
        return self.slack.workspace

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self.work.append(asyncio.create_task(work))

    async def open(self) -> None:
        """Again, and what was remembered is forgotten."""
        refreshes = Refreshes(self.library, self.slack.client.chat)
        await wire(self.slack, commands.register, library=self.library, refreshes=refreshes, start=self.start)

    async def runs(self, line: str = "/kb refresh") -> None:
        await self.workspace.act.command("U0AGENTA", "C0AGENTS", line)

    async def interactions(self, message: Json, *, user: str = "U0AGENTA") -> None:
        await self.workspace.act.click(user, "C0AGENTS", message["ts"], "kb.progress")

    async def read(self, wanted: Callable[[list[Json]], bool]) -> list[Json]:
        """What only Agent A sees, oldest first, as soon as it is as wanted."""
        async with asyncio.timeout(PATIENCE):
            while not wanted(self.workspace.ephemerals):
                await self.workspace.wait_for_change(self.workspace.counter, timeout=PATIENCE)
        return sorted(self.workspace.ephemerals, key=lambda each: str(each["ts"]))

    async def one(self, having: str) -> Json:
        """The only message, once it says so."""
        (message,) = await self.read(lambda seen: any(having in each["text"] for each in seen))
        return message

    async def end(self) -> None:
        """Let the refresh end, and all that waits for it."""
        assert self.base.until is not None
        self.base.until.set()
        await asyncio.gather(*self.work)


@pytest.fixture
async def wired(tmp_path: Path) -> AsyncIterator[Wired]:
    base = FakeBase(progress=Progress("embed", 30, 120), until=asyncio.Event())
    library = Library(Bases(cast(Any, base)), write(tmp_path / "kb.yml", SOURCES), ManualClock())
    async with open_local_slack() as slack:
        opened = Wired(slack, base, library)
        await opened.open()
        yield opened
        await opened.end()


async def test_each_press_shows_in_the_same_message_how_far_it_is_and_the_report_takes_its_place(wired: Wired) -> None:
    await wired.runs()
    first = await wired.one(status_texts.BEGINS)
    assert "Show progress" in str(first)

    await wired.interactions(first)
    shown = await wired.one("embedding, 30 of 120")
    assert shown["ts"] == first["ts"]
    wired.base.listener(Progress("index", 60, 120))
    await wired.interactions(shown)
    assert (await wired.one("indexing, 60 of 120"))["ts"] == first["ts"]

    await wired.end()
    report = await wired.one(REPORT)
    assert report["ts"] == first["ts"]
    assert "Show progress" not in str(report)


async def test_who_never_presses_reads_two_messages(wired: Wired) -> None:
    await wired.runs()
    await wired.one(status_texts.BEGINS)
    await wired.end()
    first, report = await wired.read(lambda seen: len(seen) == 2)
    assert (first["text"], REPORT in report["text"]) == (status_texts.BEGINS, True)

    await wired.interactions(first)
    shown, _ = await wired.read(lambda seen: all(REPORT in each["text"] for each in seen))
    assert shown["ts"] == first["ts"]
    assert "Show progress" not in str(shown)


async def test_any_number_of_interactions_uses_up_no_address(wired: Wired) -> None:
    await wired.runs()
    await wired.interactions(await wired.one(status_texts.BEGINS))
    # The base tells its own progress once, when it begins.
    message = await wired.one("embedding, 30 of 120")
    for done in range(12):
        wired.base.listener(Progress("embed", done, 12))
        await wired.interactions(message)
        message = await wired.one(f"embedding, {done} of 12")
    await wired.end()
    assert REPORT in (await wired.one(REPORT))["text"]


async def test_who_asks_during_a_refresh_has_a_message_that_progresses_too(wired: Wired) -> None:
    wired.base.is_building = True
    await wired.runs()
    message = await wired.one(status_texts.JOINS)
    await wired.interactions(message)
    await wired.one("embedding, 30 of 120")
    await wired.end()
    await wired.one(REPORT)


async def test_after_a_restart_a_press_tells_what_serves_and_the_button_goes(wired: Wired) -> None:
    await wired.runs()
    message = await wired.one(status_texts.BEGINS)
    await wired.open()
    await wired.interactions(message)
    shown = await wired.one("isn't known here")
    assert "generation 7" in shown["text"]
    assert "Show progress" not in str(shown)


async def test_what_cannot_begin_has_no_button(wired: Wired) -> None:
    await wired.runs("/kb refresh nothing")
    assert "Show progress" not in str(await wired.one("There is no source nothing"))


@pytest.mark.parametrize("why", ["left", "unknown"])
async def test_whoever_is_not_surely_staff_learns_nothing_by_a_press(wired: Wired, why: str) -> None:
    await wired.runs()
    message = await wired.one(status_texts.BEGINS)
    await wired.open()
    if why == "left":
        wired.workspace.channel("C0AGENTS").members.remove("U0AGENTA")
        wired.workspace.ephemerals[0]["channel"] = "C0SUPPORT"
        await wired.workspace.act.click("U0AGENTA", "C0SUPPORT", message["ts"], "kb.progress")
    else:
        await wired.slack.breaks(method="conversations.members", do="internal_error")
        await wired.interactions(message)
    first, refusal = await wired.read(lambda seen: len(seen) == 2)
    assert first["text"] == status_texts.BEGINS
    assert "support team" in refusal["text"]
