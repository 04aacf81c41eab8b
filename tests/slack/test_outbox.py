"""What Slack must be told exactly once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.slack.client import EVENT_TYPE, SlackRefused
from bot.slack.outbox import Outbox
from bot.store import outbox as rows
from bot.store.database import Database
from bot.store.outbox import Outgoing
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack, open_local_slack

SUPPORT, AGENTS = "C0SUPPORT", "C0AGENTS"


class Clock(ManualClock):
    """Real waits would make these tests slow; Slack's own time goes on."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        await asyncio.sleep(0.005)


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with open_local_slack() as opened:
        yield opened


@asynccontextmanager
async def sending(
    database: Database, slack: LocalSlack, *, essential: frozenset[str] = frozenset()
) -> AsyncIterator[Outbox]:
    outbox = Outbox(database, slack.client, Clock(now=0.0), essential=essential)
    task = asyncio.create_task(outbox.run())
    try:
        yield outbox
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def queue(database: Database, *outgoing: Outgoing) -> None:
    async with database.transaction() as tx:
        for one in outgoing:
            await rows.add(tx, one, now=0.0)


async def send_all(database: Database, slack: LocalSlack, *outgoing: Outgoing) -> None:
    await queue(database, *outgoing)
    async with sending(database, slack) as outbox:
        assert await outbox.flush(10_000)


async def state_of(database: Database, key: str) -> str:
    async with database.transaction() as tx:
        row = await rows.by_key(tx, key)
    return row.state if row else "absent"


def post(key: str, text: str, channel: str = SUPPORT, **more: object) -> Outgoing:
    return Outgoing(key, "post", channel, {"text": text}, **more)  # type: ignore[arg-type]


async def test_posts_of_a_channel_leave_in_order(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, *(post(f"p{number}", f"post {number}") for number in range(5)))
    assert slack.texts(SUPPORT) == [f"post {number}" for number in range(5)]


async def test_the_same_key_is_posted_once(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, post("p", "once"), post("p", "twice"))
    await send_all(database, slack, post("p", "thrice"))
    assert slack.texts(SUPPORT) == ["once"]


async def test_a_child_is_posted_under_its_parent(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, post("card", "card", AGENTS), post("opener", "opener", AGENTS, parent="card"))
    card, opener = sorted(slack.workspace.messages[AGENTS].items())
    assert opener[1]["thread_ts"] == card[0]


async def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="lost", count=1)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]
    assert await state_of(database, "p") == "sent"


async def test_a_post_that_never_arrived_is_sent_again(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="drop", count=2)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]


@pytest.mark.parametrize("arrived", [True, False])
async def test_what_a_dead_process_may_have_sent_is_looked_up_first(
    database: Database, slack: LocalSlack, arrived: bool
) -> None:
    await queue(database, post("p", "once"))
    async with database.transaction() as tx:
        await rows.mark_sending(tx, 1)
    if arrived:
        mark = {"event_type": EVENT_TYPE, "event_payload": {"o": "p"}}
        await slack.client.post(SUPPORT, text="once", metadata=mark)
    await send_all(database, slack)
    assert slack.texts(SUPPORT) == ["once"]


async def test_a_refusal_for_good_fails_the_row_and_queues_what_follows(database: Database, slack: LocalSlack) -> None:
    refused = post("p", "nowhere", "C0NOWHERE", when_failed=(post("sorry", "not delivered", AGENTS),))
    await send_all(database, slack, refused)
    assert await state_of(database, "p") == "failed"
    assert slack.texts(AGENTS) == ["not delivered"]


async def test_a_delivery_queues_what_follows_once(database: Database, slack: LocalSlack) -> None:
    root = await slack.client.post(AGENTS, text="from staff")
    mark = Outgoing("mark", "react", AGENTS, {"ts": root, "name": "outbox_tray"})
    await send_all(database, slack, post("p", "relayed", when_sent=(mark,)))
    reactions = slack.workspace.messages[AGENTS][root]["reactions"]
    assert [reaction["name"] for reaction in reactions] == ["outbox_tray"]


async def test_a_slack_that_is_away_for_long_loses_nothing(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="503", count=20)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]


async def test_what_the_agent_channel_refuses_waits_for_repair(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="not_in_channel", count=2)
    await queue(database, post("card", "card", AGENTS), post("opener", "opener", AGENTS, parent="card"))
    async with sending(database, slack, essential=frozenset({AGENTS})) as outbox:
        assert await outbox.flush(10_000)
        assert outbox.stuck is None
    assert slack.texts(AGENTS) == ["card", "opener"]


async def test_blocks_that_slack_refuses_leave_the_text(database: Database, slack: LocalSlack) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": ""}}]
    await send_all(database, slack, Outgoing("p", "post", SUPPORT, {"text": "plain", "blocks": blocks}))
    assert slack.texts(SUPPORT) == ["plain"]


async def test_a_busy_channel_with_very_many_rows_starves_no_other(database: Database, slack: LocalSlack) -> None:
    await queue(database, *(post(f"p{number}", "x") for number in range(600)), post("q", "other", AGENTS))
    async with database.transaction() as tx:
        found = await rows.open_rows(tx, besides={SUPPORT})
    assert [row.key for row in found] == ["q"]


async def test_a_child_of_a_post_that_failed_fails_too(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, post("card", "x", "C0NOWHERE"), post("child", "y", "C0NOWHERE", parent="card"))
    assert await state_of(database, "child") == "failed"


async def test_a_channel_that_waits_holds_up_no_other(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="slow", count=1, seconds=9)
    await queue(database, post("slow", "slow"))
    async with sending(database, slack) as outbox:
        await asyncio.sleep(0)
        await asyncio.wait_for(slack.workspace.wait_for_change(0, timeout=0.3), 5)
        ts = await asyncio.wait_for(outbox.deliver(post("fast", "fast", AGENTS)), 8)
        assert ts
        assert await state_of(database, "slow") == "sending"


async def test_a_caller_may_wait_for_its_post(database: Database, slack: LocalSlack) -> None:
    async with sending(database, slack) as outbox:
        ts = await outbox.deliver(post("p", "once"))
        assert await outbox.deliver(post("p", "once")) == ts
        with pytest.raises(SlackRefused):
            await outbox.deliver(post("q", "x", "C0NOWHERE"))
    assert slack.workspace.messages[SUPPORT][ts]["text"] == "once"


async def test_an_update_replaces_what_its_parent_posted(database: Database, slack: LocalSlack) -> None:
    await send_all(
        database,
        slack,
        post("card", "waiting", AGENTS),
        Outgoing("card/2", "update", AGENTS, {"text": "claimed"}, parent="card"),
    )
    assert slack.texts(AGENTS) == ["claimed"]


async def test_an_answer_that_is_about_the_row_itself_does_not_block_the_channel(
    database: Database, slack: LocalSlack
) -> None:
    await slack.breaks(method="chat.postMessage", do="internal_error", count=10)
    await queue(database, post("poison", "poison", AGENTS), post("next", "next", AGENTS))
    async with sending(database, slack, essential=frozenset({AGENTS})) as outbox:
        assert await outbox.flush(10_000)
    assert await state_of(database, "poison") == "failed"
    assert slack.texts(AGENTS) == ["next"]


async def test_a_mark_that_is_refused_holds_up_no_words(database: Database, slack: LocalSlack) -> None:
    root = await slack.client.post(SUPPORT, text="a message")
    await slack.breaks(method="reactions.add", do="missing_scope", count=100)
    mark = Outgoing("mark", "react", SUPPORT, {"ts": root, "name": "eyes"})
    await send_all(database, slack, mark, post("p", "words"))
    assert slack.texts(SUPPORT) == ["a message", "words"]


async def test_a_look_up_that_fails_does_not_make_an_ambiguous_post_a_fresh_one(
    database: Database, slack: LocalSlack
) -> None:
    await slack.breaks(method="chat.postMessage", do="lost", count=1)
    await slack.breaks(method="conversations.history", do="503", count=2)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]
