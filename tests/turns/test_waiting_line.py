"""More questions wait than are answered at once: first come, first served, and who waits long sees their place."""

import asyncio
from dataclasses import replace
from typing import Any, cast

from bot.agent.messages import CustomerMessage
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.lanes import Lanes
from bot.language.sentences import load_sentences
from bot.store import inbox
from bot.store.database import Database
from bot.store.waiting import LineRow
from bot.turns.answers.waiting_line import CHANGE_INTERVAL, PLACE_DELAY, WaitingLine, places_of
from tests.doubles.clock import settle
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import says
from tests.turns.arrivals import arrival
from tests.turns.test_sessions import SET_LINE, SET_STATUS
from tests.turns.test_stopping import PATIENCE, REFUND, Desk

CHANNEL = "C0SUPPORT"


class FullDesk:
    """A desk that answers one question at a time."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.database, self.slack, slots = database, slack, FairSemaphore(1)
        self.desk = Desk(database, slack, REFUND, says("Done."), slots=slots)
        answers = self.desk.parts.answers
        membership = cast(Any, None)  # Nothing waits here that no process has taken up.
        self.line = WaitingLine(database, self.desk.clock, answers.sessions, slots, membership)
        parts = replace(self.desk.parts, answers=replace(answers, line=self.line))
        self.lanes = Lanes(parts.build().take, self.desk.clock, concurrent=10)

    async def asks(self, text: str, author: str) -> tuple[str, int]:
        """Somebody asks. Return the thread and the row."""
        ts = await self.slack.client.chat.post(CHANNEL, text=text)
        async with self.database.transaction() as tx:
            arrived = arrival(ts, text=text, channel=CHANNEL, author=author)
            row = await inbox.add(tx, arrived, now=self.desk.clock.now())
        assert row is not None
        return ts, row

    async def all_wait(self, rows: set[int]) -> None:
        """Wait until the rows wait for a place."""
        while self.line.slots.waiting() != rows:
            await settle()

    def shown(self, ts: str) -> str:
        """The status line in a thread."""
        return str(self.slack.workspace.statuses.get((CHANNEL, ts), {}).get("status", ""))

    def told(self, ts: str) -> list[str]:
        """What Slack was told about a thread."""
        calls = [each["detail"]["args"] for each in self.slack.workspace.log if each["name"] in (SET_STATUS, SET_LINE)]
        return [args["status"] for args in calls if args["thread_ts"] == ts]

    def asked(self) -> list[str]:
        """The questions that were answered, in order."""
        said = [
            [message.text for message in request.messages if isinstance(message, CustomerMessage)][-1]
            for request in self.desk.model.requests
        ]
        return list(dict.fromkeys(said))


def place(number: int) -> str:
    """What the status line says."""
    key = "status_next_in_line" if number == 1 else "status_in_line"
    return load_sentences().say("en", key, place=str(number))


async def test_those_who_wait_long_see_their_place_until_they_are_answered_in_the_order_in_which_they_wrote(
    database: Database, slack: LocalSlack
) -> None:
    full = FullDesk(database, slack)
    async with asyncio.timeout(PATIENCE):
        _, first = await full.asks("Please refund my boots", "U0GUEST")
        full.lanes.submit(first, "1")
        await full.desk.begun.wait()
        texts = {"A pair": "U0CUSTOMERA", "Another pair": "U0CUSTOMERA", "Boots?": "U0CUSTOMERB"}
        second, third, other = [await full.asks(text, author) for text, author in texts.items()]
        for thread, row in reversed((second, third, other)):
            full.lanes.submit(row, thread)
        await full.all_wait({second[1], third[1], other[1]})

        full.desk.clock.advance(PLACE_DELAY - CHANGE_INTERVAL)
        await full.line.look()
        assert [full.shown(ts) for ts, _ in (second, third, other)] == ["", "", ""]
        full.desk.clock.advance(CHANGE_INTERVAL)
        await full.line.look()
        assert [full.shown(ts) for ts, _ in (second, third, other)] == [place(1), place(3), place(2)]
        calls = len(slack.workspace.log)
        await full.line.look()
        assert len(slack.workspace.log) == calls, "nothing has changed"

        full.desk.may_end.set()
        while full.lanes.active:
            await settle()
    assert full.asked() == ["Please refund my boots", "A pair", "Boots?", "Another pair"]
    told = [full.told(ts) for ts, _ in (second, third, other)]
    assert [each[:2] for each in told] == [["processing", place(1)], ["processing", place(3)], ["processing", place(2)]]
    at_work = ("processing", load_sentences().say("en", "status_looking"))
    assert all(each[2] in at_work for each in told), "when an answer begins, no place is shown any more"
    sessions = [slack.workspace.sessions[CHANNEL, ts]["status"] for ts, _ in (second, third, other)]
    assert sessions == ["active"] * 3


def test_a_thread_waits_with_its_oldest_message_and_people_take_turns() -> None:
    def row(number: int, thread: str, whose: str, *, is_begun: bool = False) -> LineRow:
        return LineRow(number, thread, whose, 0.0, is_begun)

    rows = [
        row(1, "a", "A", is_begun=True),
        row(2, "a", "A"),
        row(3, "b", "A"),
        row(4, "c", "B", is_begun=True),
        row(5, "c", "B"),
        row(6, "d", "C"),
        row(7, "e", "B"),
    ]
    assert places_of(rows, waiting_here={4}) == {4: 1, 6: 2, 3: 3, 7: 4}
