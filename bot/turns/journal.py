"""The journal of one running turn: a finished step is stored once and never repeated after a restart."""

import re
from typing import Any

from bot.agent.messages import ToolResult, from_json
from bot.clock import Clock
from bot.store import turns
from bot.store.database import Database

_ROUND = re.compile(r"(?:.+/)?round-\d+")
"""The steps that hold a model's replies, those of a turn's several runs included."""
_CALL = re.compile(r"(?:.+/)?call-.+")
"""The same for results of tools."""


class TurnJournal:
    """Recalls what earlier attempts finished and records what this one does; `bot.agent.loop.Journal`."""

    def __init__(self, database: Database, clock: Clock, *, turn: int, attempt: int, known: dict[str, Any]) -> None:
        self._database = database
        self._clock = clock
        self._turn = turn
        self._attempt = attempt
        self._known = known

    async def recall(self, name: str) -> Any | None:
        """The step's value, or None when no attempt has finished it."""
        return self._known.get(name)

    async def record(self, name: str, value: Any) -> None:
        """Store a finished step."""
        async with self._database.transaction() as tx:
            await turns.record(tx, self._turn, name, value, attempt=self._attempt, now=self._clock.now())
        self._known[name] = value

    @property
    def has_steps(self) -> bool:
        """True when something was done already, by this attempt or before."""
        return bool(self._known)

    @property
    def rounds(self) -> dict[str, Any]:
        """The replies of models so far, by their steps."""
        return {name: value for name, value in self._known.items() if _ROUND.fullmatch(name)}

    @property
    def results(self) -> list[ToolResult]:
        """What tools have returned so far."""
        noted = (
            from_json(value["result"])
            for name, value in self._known.items()
            if _CALL.fullmatch(name) and "result" in value
        )
        return [result for result in noted if isinstance(result, ToolResult)]


async def open_journal(database: Database, clock: Clock, *, turn: int, attempt: int) -> TurnJournal:
    """The turn's journal with everything that earlier attempts finished."""
    async with database.transaction() as tx:
        known = await turns.recall(tx, turn)
    return TurnJournal(database, clock, turn=turn, attempt=attempt, known=known)
