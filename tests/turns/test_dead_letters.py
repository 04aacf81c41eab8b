"""Dead letters: what of them is told, who is called over them, and which can be tried again."""

from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import select, update

from bot.slack.outbox import Outbox
from bot.store import dead_letters, inbox, schema, wishes
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.dead import UNSTORABLE, dead_line
from bot.turns.turn import ATTEMPTS
from tests.store.test_wishes import deletion
from tests.turns.arrivals import arrival
from tests.turns.test_turn import untouched_turns


class Erasing:
    """Second thoughts that note whose words are erased."""

    def __init__(self) -> None:
        self.erased: list[int] = []

    async def deleted(self, deed: InboxItem) -> None:
        """As SecondThoughts.deleted."""
        self.erased.append(deed.id)


class Waked:
    """An outbox whose sender sleeps."""

    def wake(self) -> None:
        """There is no sender."""


async def set_aside(database: Database, **body: Any) -> int:
    """A dead letter whose body has these fields too; its number."""
    async with database.transaction() as tx:
        item = await inbox.add(tx, arrival("1.1"), now=1.0)
        assert item is not None
        values = {"body": {"text": "Where is it?", "files": []} | body, "attempts": 4, "fence": 4}
        await tx.execute(update(schema.inbox).values(**values))
        await inbox.finish(tx, item, "dead", reason="failed", now=2.0)
    return item


async def test_a_message_that_failed_and_is_deleted_calls_nobody(database: Database) -> None:
    thoughts = Erasing()
    turns = replace(untouched_turns(database), second_thoughts=cast(Any, thoughts), outbox=cast(Outbox, Waked()))
    async with database.transaction() as tx:
        message, _ = await wishes.store_all(tx, [arrival("1.1"), deletion("1.1", "2.0")], now=1.0)
        assert message.item is not None
        await tx.execute(
            update(schema.inbox).where(schema.inbox.c.id == message.item).values(attempts=ATTEMPTS, fence=ATTEMPTS)
        )
    await turns.take(message.item)
    async with database.transaction() as tx:
        row = (await tx.execute(select(schema.inbox).where(schema.inbox.c.id == message.item))).one()
    assert (row.state, row.reason, thoughts.erased) == ("dropped", "deleted", [message.item])


async def test_of_a_deletion_that_failed_it_is_said_that_the_text_is_still_there(database: Database) -> None:
    async with database.transaction() as tx:
        _, gone = await wishes.store_all(tx, [arrival("1.1"), deletion("1.1", "2.0")], now=1.0)
        assert gone.item is not None
        item = await inbox.start(tx, gone.item)
    assert item is not None
    text = dead_line(item, agent_channel="C0AGENTS").payload["text"]
    assert "still stored" in text
    assert f"`frontdesk dead retry {item.id}`" in text


async def test_what_fails_again_after_it_was_tried_again_is_told_again(database: Database) -> None:
    number, keys = await set_aside(database), []
    for _ in range(2):
        async with database.transaction() as tx:
            assert await dead_letters.retry(tx, number) == ""
            item = await inbox.start(tx, number)
            assert item is not None
            keys.append(dead_line(item, agent_channel="C0AGENTS").key)
            await inbox.finish(tx, number, "dead", reason="failed", now=3.0)
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"deleted": {"length": 9}}, "was deleted since"),
        ({UNSTORABLE: True}, "could not be stored"),
    ],
)
async def test_what_no_try_can_mend_is_not_tried_again(body: dict[str, Any], told: str, database: Database) -> None:
    number = await set_aside(database, **body)
    async with database.transaction() as tx:
        assert told in await dead_letters.retry(tx, number)
        assert "no dead letter" in await dead_letters.retry(tx, number + 1)
        assert [letter.id for letter in await dead_letters.latest(tx, limit=9)] == [number]
