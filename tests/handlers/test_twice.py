"""What Slack delivers twice, as after a lost acknowledgement: it is done once, and whoever did it is told once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from slack_bolt.async_app import AsyncApp
from sqlalchemy import func, select

from bot.cases.dialogs import Dialogs
from bot.conversation import ThreadRef
from bot.ingest.inbox import Inbox
from bot.store import schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.telemetry import Metrics
from bot.views import cards, staff_cards
from bot.views.announcements import to_customer
from handlers import actions, commands, dialogs, feedback, frontdesk, shortcuts, staff
from handlers.desk import Desk
from local_slack.workspace import Ack, Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import Wiring, wire
from tests.patience import patience
from tests.turns.answering import CUSTOMER, build_answers
from tests.turns.arrivals import TEAM

AGENT = "U0AGENTA"
PATIENCE = patience(20.0)


class Twice(Wiring):
    """A transport that loses each first answer, and delivers again."""

    async def interact(self, kind: str, payload: Json) -> Ack:
        first = await self._whole(kind, payload)
        again = await self._whole(kind, payload)
        assert (first.ok, again.ok) == (True, True)
        return again

    async def _whole(self, kind: str, payload: Json) -> Ack:
        """Deliver it, and wait for what its listener does after the acknowledgement."""
        ack = await self._hand_over(payload)
        await asyncio.gather(*(task for task in asyncio.all_tasks() if "run_ack_function" in repr(task.get_coro())))
        return ack


@dataclass
class Recorder:
    """What commands do, as Library and Overview, and what the inbox hands on, as a TurnQueue."""

    done: list[str] = field(default_factory=list)

    async def roll_back(self, base: str, *, by: str) -> str:
        self.done.append(f"rolled back {base}")
        return "Rolled back."

    async def pause(self, channel: str, *, user: str) -> str:
        self.done.append(f"paused {channel}")
        return "Paused."

    def submit(self, item: int, thread: str) -> None:
        self.done.append(f"row {item}")


@dataclass
class Wired:
    """A desk whose every press, dialog, shortcut and command arrives twice."""

    slack: LocalSlack
    database: Database
    recorder: Recorder
    case: Case
    work: list[asyncio.Task[None]]

    @property
    def act(self) -> Any:
        return self.slack.workspace.act

    async def posts(self, channel: str, card: Any, thread_ts: str | None = None) -> str:
        return await self.slack.client.chat.post(channel, text=card.text, blocks=card.blocks, thread_ts=thread_ts)

    async def posts_the_card(self) -> str:
        """A case's card, with its buttons."""
        return await self.posts("C0AGENTS", staff_cards.case_card(self.case))

    async def told(self) -> list[str]:
        """All that single people read, once nothing is under way."""
        await asyncio.gather(*self.work)
        return [each["text"] for each in self.slack.workspace.ephemerals]

    async def stored(self) -> int:
        """The presses that somebody works on."""
        table = schema.inbox
        open_rows = select(func.count()).select_from(table).where(table.c.state == "new")
        async with self.database.transaction() as tx:
            return int((await tx.execute(open_rows)).scalar_one())


def register(app: AsyncApp, desk: Desk) -> None:
    for each in (actions, staff, dialogs, shortcuts, commands, frontdesk, feedback):
        each.register(app, desk)


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> AsyncIterator[Wired]:
    clock, recorder = ManualClock(), Recorder()
    work: list[asyncio.Task[None]] = []
    cases = build_answers(database, slack.client, clock).cases
    inbox = Inbox(database, clock, Metrics())
    writing = asyncio.create_task(inbox.run(cast(Any, recorder)))
    await wire(
        slack,
        register,
        inbox=inbox,
        database=database,
        clock=clock,
        cases=cases,
        dialogs=Dialogs(slack.client.chat, slack.client.views, cases),
        library=recorder,
        overview=recorder,
        start=lambda doing: work.append(asyncio.create_task(doing)),
    )
    transport = cast(Wiring, slack.workspace.transport)
    slack.workspace.transport = Twice(transport.bolt)
    root = await slack.client.chat.post("C0SUPPORT", text="Where is my lamp?")
    case = await cases.open(ThreadRef(TEAM, "C0SUPPORT", root), CUSTOMER, reason="upset", priority="medium")
    async with asyncio.timeout(PATIENCE):
        yield Wired(slack, database, recorder, case, work)
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing


async def test_a_press_is_one_row(wired: Wired) -> None:
    card = await wired.posts_the_card()
    await wired.act.click(AGENT, "C0AGENTS", card, "case.claim")
    assert (await wired.stored(), wired.recorder.done, await wired.told()) == (1, ["row 1"], [])


async def test_a_press_that_opens_a_dialog_opens_one_and_what_is_submitted_is_one_row(wired: Wired) -> None:
    card = await wired.posts_the_card()
    await wired.act.click(AGENT, "C0AGENTS", card, "case.handback")
    (view,) = wired.slack.workspace.modals[AGENT]
    assert await wired.told() == []
    await wired.act.submit_view(AGENT, view["id"], {"note": {"note": "Replaced."}})
    assert (await wired.stored(), wired.recorder.done, await wired.told()) == (1, ["row 1"], [])


async def test_a_shortcut_is_one_row(wired: Wired) -> None:
    await wired.act.message_shortcut(AGENT, "C0SUPPORT", wired.case.thread.ts, "case.escalate")
    assert (await wired.stored(), wired.recorder.done, await wired.told()) == (1, ["row 1"], [])


@pytest.mark.parametrize(
    ("line", "expected", "answer"),
    [
        ("/kb rollback", "rolled back public", "Rolled back."),
        ("/frontdesk pause", "paused C0AGENTS", "Paused."),
        ("/kb suggest FD-1001", "row ", None),
    ],
)
async def test_a_command_is_carried_out_and_answered_once(
    wired: Wired, line: str, expected: str, answer: str | None
) -> None:
    await wired.act.command(AGENT, "C0AGENTS", line)
    assert await wired.told() == ([answer] if answer else [])
    (done,) = wired.recorder.done
    assert done.startswith(expected)
    await wired.act.command(AGENT, "C0AGENTS", line)
    await wired.told()
    assert len(wired.recorder.done) == 2, "typed again it is another one"


async def test_what_is_answered_at_once_is_answered_once(wired: Wired) -> None:
    sentences = build_answers(wired.database, wired.slack.client, ManualClock()).sentences
    root = await wired.slack.client.chat.post("C0SUPPORT", text="Another matter")
    offer = await wired.posts("C0SUPPORT", cards.no_answer(sentences, "en", ref="1"), root)
    await wired.act.click(CUSTOMER.user, "C0SUPPORT", offer, "esc.decline")
    assert await wired.told() == [sentences.say("en", "rephrase")]
    asked = await wired.posts("C0SUPPORT", to_customer(sentences, wired.case, "resolved", staff="Agent A"), root)
    await wired.act.click("U0CUSTOMERB", "C0SUPPORT", asked, "csat.4")
    assert (await wired.told())[1:] == [sentences.say("id", "not_yours")]
