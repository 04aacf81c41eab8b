"""Conversations that are gone: a turn ends at the first refusal, and staff read that nobody was answered."""

import asyncio

import pytest
from sqlalchemy import select

from bot.conversation import ThreadRef
from bot.store import inbox, outbox, schema
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import call, calls, says
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_sessions import CHANNEL, sending
from tests.turns.test_stopping import PATIENCE, Desk

AGENT = "U0AGENTA"
QUIET = ("auth.test", "users.info")
SAID = "C0AGENTS"


def calls_to(slack: LocalSlack, channel: str) -> list[str]:
    """The methods that the app called for a channel, in order."""
    asked = [(entry["name"], entry["detail"]["args"]) for entry in slack.workspace.log if entry["kind"] == "call"]
    return [name for name, args in asked if channel in (args.get("channel"), args.get("channel_id"))]


async def how_it_ended(database: Database, row: int) -> tuple[str, str]:
    async with database.transaction() as tx:
        table = schema.inbox
        return tuple((await tx.execute(select(table.c.state, table.c.reason).where(table.c.id == row))).one())


@pytest.mark.parametrize("kind", ["agent", "plain"])
async def test_a_turn_in_an_archived_channel_ends_after_one_call_for_it(
    kind: str, database: Database, slack: LocalSlack
) -> None:
    slack.workspace.kind = "agent" if kind == "agent" else "plain"
    desk = Desk(database, slack, calls(call("refund", {"order": "1"}, id="c1")), says("never asked for"))
    # A refund that was begun before Slack refused is not broken off.
    desk.may_end.set()
    _, row = await desk.asked()
    slack.workspace.channels[CHANNEL].is_archived = True
    before = len(calls_to(slack, CHANNEL))
    async with asyncio.timeout(PATIENCE), sending(desk):
        await desk.turns.take(row)
    made = calls_to(slack, CHANNEL)[before:]
    assert made == (["agents.sessions.setStatus"] if kind == "agent" else ["agents.sessions.setStatus", LINE])
    assert await how_it_ended(database, row) == ("dropped", "unreachable")
    assert any("is_archived" in text and f"<#{CHANNEL}>" in text for text in slack.texts(SAID))


LINE = "assistant.threads.setStatus"


@pytest.mark.parametrize("error", ["channel_not_found", "not_in_channel", "is_archived"])
async def test_a_channel_that_refuses_every_post_is_not_tried_again(
    error: str, database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("All about boots is on that page."))
    for method in ("chat.startStream", "chat.postMessage"):
        await slack.breaks(method=method, do=error, count=50, channel=CHANNEL)
    row = await desk.receives(arrival("1.1", text="What about boots?", channel=CHANNEL))
    async with asyncio.timeout(PATIENCE), sending(desk):
        await desk.turns.take(row)
    posts = [name for name in calls_to(slack, CHANNEL) if name.startswith("chat.")]
    assert len(posts) <= 2
    assert await how_it_ended(database, row) == ("dropped", "unreachable")
    assert any(error in text for text in slack.texts(SAID))


async def test_a_reply_to_a_deactivated_customer_is_not_sent_and_staff_read_so_under_the_card(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, says("never asked for"))
    thread = ThreadRef(TEAM, "D0CUSTOMERA", await slack.client.chat.post("D0CUSTOMERA", text="Where is my lamp?"))
    async with asyncio.timeout(PATIENCE), sending(desk):
        case = await desk.cases.open(thread, CUSTOMER, reason="upset", priority="medium")
        await desk.cases.claim(case.ref, AGENT)
        assert await desk.outbox.flush(PATIENCE)
        slack.workspace.users[CUSTOMER.user].deleted = True
        card = await card_ts(database, case.id)
        ts = await staff_writes(slack, card, "It is on its way.")
        assert await desk.turns.relay.from_staff(await stored(desk, ts, card)) == "relayed"
    assert not any("on its way" in text for text in slack.texts("D0CUSTOMERA"))
    assert slack.marks(SAID, ts) == ["warning"]
    under = [m["text"] for m in slack.workspace.messages[SAID].values() if m.get("thread_ts") == card]
    assert sum("deactivated" in text for text in under) == 1


async def test_a_dead_channel_of_a_case_is_told_under_its_card_once(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, says("never asked for"))
    ts = await slack.client.chat.post(CHANNEL, text="Where is my lamp?")
    async with asyncio.timeout(PATIENCE), sending(desk):
        case = await desk.cases.open(ThreadRef(TEAM, CHANNEL, ts), CUSTOMER, reason="upset", priority="medium")
        assert await desk.outbox.flush(PATIENCE)
        slack.workspace.channels[CHANNEL].is_archived = True
        await desk.cases.claim(case.ref, AGENT)
        await desk.cases.hand_back(case.ref, AGENT)
    card = await card_ts(database, case.id)
    told = [m for m in slack.workspace.messages[SAID].values() if "is_archived" in m["text"]]
    assert [message.get("thread_ts") for message in told] == [card]


async def card_ts(database: Database, case: int) -> str:
    async with database.transaction() as tx:
        card = await outbox.by_key(tx, f"case/{case}/card")
    assert card is not None
    assert card.ts is not None
    return card.ts


async def staff_writes(slack: LocalSlack, card: str, text: str) -> str:
    return await slack.workspace.act.send(AGENT, SAID, text, thread_ts=card)


async def stored(desk: Desk, ts: str, card: str) -> inbox.InboxItem:
    said = arrival(ts, text="It is on its way.", channel=SAID, thread_ts=card, kind="staff", author=AGENT)
    async with desk.database.transaction() as tx:
        row = await inbox.add(tx, said, now=1.0)
        assert row is not None
        item = await inbox.start(tx, row)
    assert item is not None
    return item
