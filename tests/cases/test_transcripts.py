"""What the next colleague, and the assistant, read of a thread in which a person has spoken before."""

import pytest

from bot.agent.messages import StaffMessage
from bot.conversation import ThreadRef
from bot.store import drafts, outbox, threads
from bot.store.cases import Case, card_key
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.store.test_interrupts import deletion, edit
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_edits import Desk

AGENTS = "C0AGENTS"
PLACE = {"thread_ts": "0.9", "channel": AGENTS, "author": "U0AGENTA"}


class TwoCases(Desk):
    """A thread of a real Slack whose first case a person answered in."""

    case: Case
    thread: ThreadRef

    async def begins(self) -> None:
        asked = await self.slack.client.chat.post("D0CUSTOMERA", text="Where is my lamp?")
        self.thread = ThreadRef(TEAM, "D0CUSTOMERA", asked)
        await self.receives(arrival(asked, text="Where is my lamp?"))
        self.case = await self.opened(self.thread, summary="", owner="U0AGENTA")

    async def says(self, ts: str, words: str, *, author: str = "U0AGENTA") -> None:
        """Somebody of the team writes under the card; what the owner writes reaches the customer."""
        await self.sends()
        async with self.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(self.case))
        assert card is not None
        said = arrival(ts, text=words, thread_ts=card.ts, channel=AGENTS, kind="staff", author=author)
        (item,) = await self.receives(said)
        assert await self.relay.from_staff(item) == "relayed"
        await self.sends()

    async def customer_says(self, words: str) -> None:
        ts = await self.slack.client.chat.post("D0CUSTOMERA", text=words, thread_ts=self.thread.ts)
        await self.receives(arrival(ts, text=words, thread_ts=self.thread.ts))

    async def sends(self) -> None:
        await send_all(self.outbox)

    async def next_card(self) -> tuple[str, str]:
        """Hand back, have the customer ask for a person again; the opener and the transcript of the second card."""
        await self.cases.hand_back(self.case.ref, "U0AGENTA")
        await self.sends()
        await self.customer_says("I want a person")
        again = await self.cases.open(self.thread, CUSTOMER, reason="asked_for_person", priority="medium")
        async with self.database.transaction() as tx:
            opener, told = [await outbox.by_key(tx, f"case/{again.id}/{name}") for name in ("opener", "transcript")]
        assert opener is not None
        assert told is not None
        return str(opener.payload["blocks"]), str(told.payload["text"])


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> TwoCases:
    desk = TwoCases(database, slack)
    await desk.begins()
    return desk


def spoken(transcript: str) -> list[tuple[str, str]]:
    """Who says what, in order."""
    lines = transcript.splitlines()
    return [(who.split("*")[1], words[1:]) for who, words in zip(lines[::2], lines[1::2], strict=True)]


async def test_what_staff_answered_in_an_earlier_case_stands_in_the_transcript(desk: TwoCases) -> None:
    await desk.says("2.1", "We ship it <tomorrow>")
    await desk.customer_says("Great")
    opener, told = await desk.next_card()
    assert spoken(told) == [
        ("Customer A", "Where is my lamp?"),
        ("Agent A (support)", "We ship it &lt;tomorrow&gt;"),
        ("Customer A", "Great"),
        ("Customer A", "I want a person"),
    ]
    assert "The last 4 messages follow" in opener


async def test_each_line_of_staff_is_of_who_wrote_it(desk: TwoCases) -> None:
    await desk.says("2.1", "We ship it tomorrow")
    await desk.cases.take_over(desk.case.ref, "U0AGENTB")
    await desk.says("2.2", "By express", author="U0AGENTB")
    _, told = await desk.next_card()
    assert spoken(told)[1:3] == [("Agent A (support)", "We ship it tomorrow"), ("Agent B (support)", "By express")]


async def test_an_edited_reply_reads_as_it_does_for_the_customer(desk: TwoCases) -> None:
    await desk.says("2.1", "We ship it tomorrow")
    (changed,) = await desk.receives(edit("2.1", "2.5", "We ship it on Friday", **PLACE))
    await desk.thoughts.edited(changed)
    await desk.sends()
    _, told = await desk.next_card()
    assert "We ship it on Friday _(edited)_" in told
    assert "tomorrow" not in told


async def test_drafts_and_articles_rest_on_what_staff_say_after_their_edits(desk: TwoCases) -> None:
    await desk.says("2.1", "We ship it tomorrow")
    await desk.says("2.2", "By express")
    await desk.says("2.3", "It costs 99")
    for change in (edit("2.1", "2.5", "We ship it on Friday", **PLACE), edit("2.3", "2.6", "// It costs 99", **PLACE)):
        (changed,) = await desk.receives(change)
        await desk.thoughts.edited(changed)
    await desk.sends()
    async with desk.database.transaction() as tx:
        said = await drafts.conversation(tx, desk.case)
    spoken = [message.text for message in said if isinstance(message, StaffMessage)]
    assert spoken == ["*Agent A (support)*\nWe ship it on Friday", "*Agent A (support)*\nBy express"]


@pytest.mark.parametrize("text", ["", "// We ship it tomorrow"])
async def test_a_reply_that_was_taken_back_is_not_shown(desk: TwoCases, text: str) -> None:
    await desk.says("2.1", "We ship it tomorrow")
    change = edit("2.1", "2.5", text, **PLACE) if text else deletion("2.1", "2.5", **PLACE)
    (changed,) = await desk.receives(change)
    await (desk.thoughts.edited(changed) if text else desk.thoughts.deleted(changed))
    await desk.sends()
    opener, told = await desk.next_card()
    assert "tomorrow" not in told
    assert "The last 2 messages follow" in opener


async def test_a_note_that_slack_did_not_take_back_is_shown_for_the_customer_reads_it(desk: TwoCases) -> None:
    await desk.says("2.1", "We ship it tomorrow")
    (changed,) = await desk.receives(edit("2.1", "2.5", "// We ship it tomorrow", **PLACE))
    await desk.thoughts.edited(changed)
    await desk.slack.breaks(method="chat.delete", do="cant_delete_message", count=1)
    await desk.sends()
    _, told = await desk.next_card()
    assert "We ship it tomorrow" in told


async def test_a_reply_that_slack_refused_is_not_shown(desk: TwoCases) -> None:
    await desk.sends()
    await desk.slack.breaks(method="chat.postMessage", do="msg_too_long", channel="D0CUSTOMERA", count=1)
    await desk.says("2.1", "We ship it tomorrow")
    _, told = await desk.next_card()
    assert "tomorrow" not in told


async def test_what_staff_delete_later_is_taken_out_of_the_next_cases_transcript_too(desk: TwoCases) -> None:
    await desk.says("2.1", "We ship the zebracanary lamp tomorrow")
    _, told = await desk.next_card()
    assert "zebracanary" in told
    (gone,) = await desk.receives(deletion("2.1", "9.5", **PLACE))
    await desk.thoughts.deleted(gone)
    assert "zebracanary" not in await desk.everything()
    assert any(method == "update" and key.startswith("erased/") for method, key in await desk.queued())


async def test_the_assistant_goes_on_with_what_the_person_said_and_noted(desk: TwoCases, database: Database) -> None:
    await desk.says("8000.1", "Your lamp & its <https://help.example.com|cord> ship on Monday")
    await desk.says("8000.2", "Card 4111 1111 1111 1111 is charged")
    await desk.cases.hand_back(desk.case.ref, "U0AGENTA", note="Monday is firm")
    async with database.transaction() as tx:
        state = await threads.find_thread(tx, desk.thread)
    assert state is not None
    assert "Your lamp & its" in state.note
    assert "ship on Monday" in state.note
    assert '"Monday is firm"' in state.note
    assert "4111" not in state.note
