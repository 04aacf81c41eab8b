"""A desk's things to fix, over a real database and a local Slack: posted once, done, gone when fixed, and for staff."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.cases.hours import Hours
from bot.cases.staff import Staff
from bot.cases.step import the_case
from bot.clock import DAY, WEEK
from bot.conversation import ThreadRef
from bot.learning.fix_lists import LOOK_INTERVAL, FixLists
from bot.learning.things_to_fix import ThingsToFix
from bot.slack.outbox import Outbox
from bot.store import audit, cases, inbox, schema, suggestions, turns
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.suggestions import Suggestion
from bot.views.fix_cards import DONE, WRITE
from handlers import fixing, frontdesk
from handlers.desk import Desk as Handlers
from knowledge.knowledge_base import Findings, KnowledgeBase
from knowledge.search.passages import Hit
from local_slack.workspace import Channel
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack, open_local_slack
from tests.doubles.sending import send_all
from tests.handlers.wiring import wire
from tests.patience import patience
from tests.store.rows import a_case, a_turn
from tests.turns.arrivals import TEAM, arrival

AGENT, OTHER, CUSTOMER = "U0AGENTA", "U0AGENTB", "U0CUSTOMERA"
CHANNEL, BILLING = "C0AGENTS", "C0BILLING"
PAGE = {"title": "Shipping", "url": "https://help.example.com/shipping"}
HIT = Hit("Shipping", "Shipping", PAGE["url"], "shipping.md", "", "2020-02-03", "Two days.", 0.4, "c1")


@dataclass
class Pages:
    """Help pages in which questions with the same last word are the same matter."""

    found: Findings = field(default_factory=lambda: Findings((HIT,)))
    built_at: str = ""

    async def search(self, query: str, **_options: Any) -> Findings:
        return self.found

    async def alike(self, texts: Sequence[str]) -> list[list[int]]:
        words = [text.split()[-1] for text in texts]
        groups = [[place for place, each in enumerate(words) if each == word] for word in dict.fromkeys(words)]
        return sorted(groups, key=len, reverse=True)

    async def status(self) -> Any:
        return self


class Desk:
    """Two desks, and as many processes that keep their lists as a test likes."""

    def __init__(self, database: Database, slack: LocalSlack, clock: ManualClock, me: Any) -> None:
        self.database, self.slack, self.clock, self.me = database, slack, clock, me
        self.pages = Pages()
        self.outbox = Outbox(database, slack.client.chat, slack.client.sessions, clock)
        self.staff = Staff(slack.client.directory, clock, agent_channel=CHANNEL, others=[BILLING])
        self.lists = self.process()
        self.asked = 0

    def process(self) -> FixLists:
        things = ThingsToFix(self.database, cast(KnowledgeBase, self.pages), self.staff)
        chat = self.slack.client.chat
        return FixLists(self.me, self.database, self.outbox, chat, self.clock, self.staff, Hours(), things)

    async def asks(self, question: str, *, ended: str = "no_answer", rating: str = "", sources: Any = ()) -> int:
        """A question of its own customer, in a thread of its own; the number of its turn."""
        self.asked += 1
        now, who, thread = self.clock.now(), f"U{self.asked}", ThreadRef(TEAM, "D0CUSTOMERA", f"{self.asked}.1")
        async with self.database.transaction() as tx:
            number = await inbox.add(tx, arrival(thread.ts, text=question), now=now)
            assert number is not None
            said = [{"type": "customer", "text": question, "speaker": ""}]
            answer = a_turn(id=number, thread=thread, ts=thread.ts, customer=who, ended=ended, messages=said)
            await turns.save(tx, replace(answer, sources=list(sources)), now=now)
            if rating:
                await audit.rate(tx, f"turn/{number}", who, rating, now=now)
        return number

    async def ends(self, turn: int = 0, *, desk: str = "", score: int = 0, **fields: Any) -> int:
        """A case that a person has resolved, in the thread of a turn or of its own; its id."""
        self.asked += 1
        thread = ThreadRef(TEAM, "D0CUSTOMERA", f"{turn or 1_000 + self.asked}.1")
        now = self.clock.now()
        async with self.database.transaction() as tx:
            case = await cases.add(tx, a_case(thread=thread, desk=desk, opened_at=now))
            assert case is not None
            ended = replace(case, state="resolved", ended_at=now, **fields)
            assert await cases.change(tx, case, ended) is not None
            await cases.note_reply(tx, case, now=now)
            if score:
                await audit.rate(tx, f"case/{case.ref}", case.customer, f"{score}", now=now)
        return case.id

    async def looks(self, *processes: FixLists) -> None:
        """Let every process look a few times, and posts leave."""
        for _ in range(4):
            self.clock.advance(LOOK_INTERVAL)
            await asyncio.gather(*(each.look() for each in processes or (self.lists,)))
            await send_all(self.outbox, patience=100_000.0)

    async def passes_monday(self) -> None:
        """Let the lists be planned, and Monday come."""
        await self.lists.look()
        self.clock.advance(Hours().morning(self.clock.now(), weekday=0) - self.clock.now())

    def shown(self, channel: str = CHANNEL) -> list[str]:
        """The lists in a channel, oldest first."""
        there = sorted(self.slack.workspace.messages.get(channel, {}).items())
        return [str(message["blocks"]) for _, message in there if "to fix" in str(message.get("blocks"))]

    async def says(self, channel: str = CHANNEL) -> list[str]:
        """The texts of the things to fix now."""
        blocks = (await self.lists.card(channel)).blocks
        return [block["text"]["text"] for block in blocks if block["type"] == "section"]


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    """Its client has the desk's clock: what Slack lets through each second, it waits for in no time."""
    clock = ManualClock()
    async with open_local_slack(clock) as slack:
        members = slack.workspace.channels[CHANNEL].members
        members[:] = [AGENT, "U0FRONTDESK"]
        slack.workspace.channels[BILLING] = Channel(BILLING, "billing", is_private=True, members=[OTHER, "U0FRONTDESK"])
        yield Desk(database, slack, clock, await slack.client.api.auth())


async def test_the_most_frequent_five_are_listed_with_why_and_what_to_do(desk: Desk) -> None:
    for number in range(4):
        await desk.asks(f"{number} Do you repair tents?")
    await desk.ends(await desk.asks("ORD-1001: do you sell kayaks?"))
    await desk.asks("Can I rent kayaks?", ended="answered", rating="wrong")
    await desk.asks("Do you ship to Iceland?")
    await desk.ends(score=1, cause="delivery")
    await desk.ends(score=5)
    await desk.ends(outcome="assistant_could_have", cause="returns")
    for _ in range(3):
        await desk.asks("How long is shipping?", ended="answered", sources=[PAGE])
    said = await desk.says()
    assert [text.split("×")[0] for text in said] == ["*4", "*3", "*2", "*1", "*1"]
    assert "not answered 4" in said[0]
    assert "*Shipping* is in answers" in said[1]
    assert "last changed on 2020-02-03" in said[1]
    assert "not helpful (wrong) 1" in said[2]
    assert "A person answered in FD-1001" in said[2]
    assert "1001:" not in said[2]
    buttons = [block for block in (await desk.lists.card(CHANNEL)).blocks if block["type"] == "actions"]
    assert [each["action_id"] for each in buttons[2]["elements"]] == ["fix.write", "fix.page", "fix.done"]
    assert [each["action_id"] for each in buttons[0]["elements"]] == ["fix.page", "fix.done"]


async def test_a_list_is_posted_on_monday_once_by_two_processes_and_its_words_are_stored_nowhere(desk: Desk) -> None:
    await desk.asks("Do you repair tents?")
    processes = desk.lists, desk.process()
    await desk.looks(*processes)
    assert desk.shown() == []
    await desk.passes_monday()
    await desk.looks(*processes)
    (shown,) = desk.shown()
    assert "Do you repair tents?" in shown
    assert desk.shown(BILLING) == [], "nothing is to fix there"
    async with desk.database.transaction() as tx:
        for table in (schema.outbox, schema.fix_list, schema.schedule, schema.audit):
            assert "tents" not in str((await tx.execute(select(table))).all()), table.name
    edits = sum(entry["name"] == "chat.update" for entry in desk.slack.workspace.log)
    assert edits == 1
    desk.clock.advance(WEEK)
    await desk.looks(*processes)
    (again,) = desk.shown()
    assert again != shown, "the next list takes the place of this one"


async def test_what_is_done_comes_back_only_when_it_happens_again(desk: Desk) -> None:
    for number in range(3):
        last = await desk.asks(f"{number} Do you repair tents?")
    await desk.asks("Do you sell kayaks?")
    await desk.passes_monday()
    await desk.looks()
    assert await desk.lists.close(CHANNEL, f"turn/{last}", AGENT)
    assert not await desk.lists.close(CHANNEL, f"turn/{last}", AGENT)
    await desk.looks(desk.process())
    (shown,) = desk.shown()
    assert "kayaks" in shown
    assert "tents" not in shown
    desk.clock.advance(DAY)
    await desk.asks("Do you repair old tents?")
    assert [text.split("\n")[0] for text in await desk.says()] == [
        "*1×*  “Do you repair old tents?”",
        "*1×*  “Do you sell kayaks?”",
    ]


async def test_it_is_gone_when_an_article_was_written_or_the_pages_answer_it_now(desk: Desk) -> None:
    turn = await desk.asks("Do you repair tents?")
    case = await desk.ends(turn)
    await desk.asks("Do you sell kayaks?")
    desk.clock.advance(60.0)
    now = desk.clock.now()
    article = Suggestion(0, f"case/{case}", case, "Tents", "Tents?", "Yes.", "approved", AGENT, now, decided_at=now)
    async with desk.database.transaction() as tx:
        await suggestions.add(tx, article)
    (left,) = await desk.says()
    assert "kayaks" in left
    answers = Findings((HIT,), certainty="clearly")
    desk.pages.found, desk.pages.built_at = answers, datetime.fromtimestamp(now - DAY, UTC).isoformat()
    assert await desk.says() == [left], "the pages were the same when it was asked"
    desk.pages.built_at = datetime.fromtimestamp(now, UTC).isoformat()
    assert await desk.says() == []


async def test_a_customers_words_leave_the_list_when_they_are_erased(desk: Desk) -> None:
    turn = await desk.asks("Do you repair my yellow tents?")
    await desk.asks("Do you sell kayaks?")
    await desk.passes_monday()
    await desk.looks()
    assert "yellow" in desk.shown()[0]
    async with desk.database.transaction() as tx:
        await tx.execute(schema.turn.update().where(schema.turn.c.id == turn).values(messages=[], sources=[]))
    await desk.looks()
    (shown,) = desk.shown()
    assert "yellow" not in shown
    assert "kayaks" in shown


@dataclass
class Known:
    """Finds cases."""

    database: Database

    async def find(self, ref: str) -> Case:
        """As Cases.find."""
        async with self.database.transaction() as tx:
            return await the_case(tx, ref)


@dataclass
class Pressed:
    """The handlers behind the list."""

    work: list[asyncio.Task[None]] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self.work.append(asyncio.create_task(work))

    async def accept(self, arrival: Any) -> None:
        """As Inbox.accept."""
        self.stored.append(arrival)

    async def is_first(self, _arrival: Any) -> bool:
        """As Inbox.is_first."""
        return True


async def test_only_staff_of_the_desk_see_and_change_its_list(desk: Desk) -> None:
    await desk.ends(await desk.asks("Do you repair tents?"))
    await desk.ends(desk=BILLING, score=1)
    await desk.passes_monday()
    await desk.looks()
    pressed, workspace = Pressed(), desk.slack.workspace

    def register(app: Any, wired: Handlers) -> None:
        fixing.register(app, wired)
        frontdesk.register(app, wired)

    parts = {"staff": desk.staff, "fix_lists": desk.lists, "start": pressed.start, "inbox": pressed}
    await wire(desk.slack, register, **parts, cases=Known(desk.database), clock=desk.clock, chat=desk.slack.client.chat)

    async def runs(user: str, line: str) -> str:
        before = len(workspace.ephemerals)
        await workspace.act.command(user, "C0SUPPORT", line)
        async with asyncio.timeout(patience(20.0)):
            while len(workspace.ephemerals) == before:
                await workspace.wait_for_change(workspace.counter, timeout=0.05)
        return str(workspace.ephemerals[-1])

    async def press(user: str, action: str, value: str) -> None:
        payload = {
            "type": "block_actions",
            "trigger_id": f"1.{len(pressed.work)}.{user}",
            "user": {"id": user, "team_id": TEAM},
            "container": {"type": "message", "channel_id": CHANNEL, "message_ts": "1.1"},
            "actions": [{"action_id": action, "block_id": "b", "value": value, "action_ts": "1.1"}],
        }
        assert (await workspace.transport.interact("interactive", payload)).ok
        await asyncio.gather(*pressed.work)

    assert "support team" in await runs(CUSTOMER, "/frontdesk fix")
    theirs = await runs(OTHER, "/frontdesk fix")
    assert "A score of 1 or 2" in theirs
    assert "tents" not in theirs
    assert "tents" in await runs(AGENT, "/frontdesk fix")
    # A button's value can be forged, and a press can come from somebody who has left the desk.
    await press(OTHER, DONE, f"{CHANNEL}/turn/1")
    await press(OTHER, WRITE, "FD-1001")
    await press(CUSTOMER, DONE, f"{CHANNEL}/turn/1")
    workspace.channels[CHANNEL].members.remove(AGENT)
    desk.clock.advance(61.0)
    await press(AGENT, DONE, f"{CHANNEL}/turn/1")
    assert pressed.stored == []
    assert len(await desk.says()) == 1
    workspace.channels[CHANNEL].members.append(AGENT)
    desk.clock.advance(61.0)
    await press(AGENT, WRITE, "FD-1001")
    assert [arrival.interaction.value for arrival in pressed.stored] == ["FD-1001"]
    await press(AGENT, DONE, f"{CHANNEL}/turn/1")
    assert await desk.says() == []
    await desk.looks()
    assert "Nothing to fix" in desk.shown()[0]
