"""Routing a row to what it needs, and closing it."""

from dataclasses import replace

from sqlalchemy import select

from bot.store import inbox, schema, turns
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.telemetry import Metrics
from bot.turns.summaries import Episode
from tests.doubles.clock import ManualClock
from tests.store.rows import a_turn
from tests.turns.answering import TurnParts
from tests.turns.arrivals import arrival


class Owed:
    """Records for which rows a summary was looked after."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    async def catch_up(self, item: InboxItem, episode: Episode | None = None) -> None:
        self.rows.append(item.id)


class Settled:
    """Has nothing to say of a session."""

    async def settle(self, item: InboxItem) -> None:
        return None


def untouched(database: Database) -> TurnParts:
    """The parts of turns, none of which must be used."""
    return TurnParts(database, ManualClock(), Metrics(), Settled())


async def test_a_row_whose_answer_was_given_before_a_crash_is_only_closed(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        await inbox.start(tx, 1)
        await turns.save(tx, a_turn(), now=2.0)
    summaries = Owed()
    await replace(untouched(database), summaries=summaries).build().take(1)
    async with database.transaction() as tx:
        row = (await tx.execute(select(schema.inbox.c.state, schema.inbox.c.reason))).one()
    assert tuple(row) == ("done", "answered")
    assert summaries.rows == [1]


async def test_a_closed_row_is_left_alone(database: Database) -> None:
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1"), now=1.0)
        await inbox.finish(tx, 1, "dropped", reason="not_a_person", now=2.0)
    await untouched(database).build().take(1)
