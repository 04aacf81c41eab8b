"""The journal of one running turn: a finished step is stored once and never repeated after a restart.

Every step begins with a check whether a later attempt has taken the turn over: one query, which also finds the step's
value. It is left out if the database has said within a second that there is none, as each record does. The step ends
with a record, which an older attempt cannot write (fencing). So a process that was frozen repeats nothing if it wakes
up after another one took over its work. What customers see and what changes something outside is always checked.
"""

import re
from collections.abc import Mapping
from typing import Any

from bot.agent.journal import WRITE
from bot.agent.messages import ToolResult, from_json
from bot.clock import Clock
from bot.failpoints import failpoint
from bot.store import attempts, turns
from bot.store.database import Database
from bot.store.turns import STANDING

_ROUND = re.compile(r"(?:.+/)?round-\d+")
"""Matches the steps that hold a model's replies, also if a turn has several runs."""
_CALL = re.compile(rf"(?:(?:.+/)?call-|{WRITE}).+")
"""Matches the steps that hold the results of tools."""


class TurnJournal:
    """Recalls what earlier attempts finished, and records what this one does: a `bot.agent.journal.Journal`."""

    def __init__(self, database: Database, clock: Clock, *, turn: int, attempt: int, known: dict[str, Any]) -> None:
        self._database = database
        self._clock = clock
        self._turn = turn
        self._attempt = attempt
        self._known = known
        self._noted = dict[str, Any]()

    async def recall(self, name: str) -> Any | None:
        """Return the step's value, or None if no attempt has finished it.

        Raises:
            Superseded: a later attempt has begun, so this one must do nothing more.
        """
        is_checked = name.startswith(WRITE) or name in self._known
        if not is_checked and attempts.is_sure(self._turn, self._attempt):
            # All that earlier attempts finished was read when this one began.
            return None
        return await self.check(name)

    async def check(self, name: str) -> Any | None:
        """Like `recall`, and never without a query."""
        async with self._database.reading() as tx:
            value = await turns.look_up(tx, self._turn, name, attempt=self._attempt)
        if value is not None:
            self._known[name] = value
        return self._noted.get(name) if value is None else value

    def note(self, name: str, value: Any) -> None:
        """Have a finished step stored with the next one that is recorded. It is repeated if the process ends before."""
        if kind := _kind_of(name):
            failpoint(f"{kind}_done")
        self._known[name] = self._noted[name] = value

    async def record(self, name: str, value: Any) -> None:
        """Store a finished step, and those that were noted before it.

        Raises:
            Superseded: a later attempt has begun. Nothing is stored.
        """
        kind = _kind_of(name)
        if kind:
            failpoint(f"{kind}_done")
        noted, self._noted = self._noted, {}
        try:
            async with self._database.transaction() as tx:
                steps = {**noted, name: value}
                await turns.record(tx, self._turn, steps, attempt=self._attempt, now=self._clock.now())
        except BaseException:
            self._noted = {**noted, **self._noted}
            raise
        self._known[name] = value
        if kind:
            failpoint(f"{kind}_kept")

    def known(self, name: str) -> Any | None:
        """Return the step's value from this object, without a query. It may be old if a later attempt has begun."""
        return self._known.get(name)

    def standing(self, name: str) -> Any | None:
        """Return where the answer is, as far as it is known, when an attempt begins. None if nothing can be there.

        Its cost was set aside first, so any step means that there may be a stream.
        """
        known = self._known.get(name)
        if known is None and name == STANDING[0] and self._known:
            return {"opened": []}
        return known

    @property
    def has_steps(self) -> bool:
        """True if this attempt or an earlier one has finished a step."""
        return bool(self._known)

    @property
    def rounds(self) -> dict[str, Any]:
        """The replies of models so far, by the name of the step."""
        return rounds_of(self._known)

    @property
    def results(self) -> list[ToolResult]:
        """The results of tools so far."""
        noted = (
            from_json(value["result"])
            for name, value in self._known.items()
            if _CALL.fullmatch(name) and "result" in value
        )
        return [result for result in noted if isinstance(result, ToolResult)]

    @property
    def side_effects(self) -> list[ToolResult]:
        """The side effects from before the customer edited the message. These stay."""
        kept = (from_json(value["result"]) for name, value in self._known.items() if name.startswith(WRITE))
        return [result for result in kept if isinstance(result, ToolResult)]

    @property
    def has_written(self) -> bool:
        """True if a call has changed something outside, or may have."""
        calls = (value for name, value in self._known.items() if _CALL.fullmatch(name))
        return any(value.get("write") and (value["broke"] or value["result"]["ok"]) for value in calls)


async def open_journal(database: Database, clock: Clock, *, turn: int, attempt: int) -> TurnJournal:
    """Return the turn's journal with everything that earlier attempts finished."""
    async with database.reading() as tx:
        known = await turns.recall(tx, turn)
    return TurnJournal(database, clock, turn=turn, attempt=attempt, known=known)


def rounds_of(steps: Mapping[str, Any]) -> dict[str, Any]:
    """Return the steps that hold replies of models."""
    return {name: value for name, value in steps.items() if _ROUND.fullmatch(name)}


def _kind_of(name: str) -> str:
    """Return `round` or `call`. Empty for other steps, such as those that say where an answer is."""
    if _ROUND.fullmatch(name):
        return "round"
    return "call" if _CALL.fullmatch(name) else ""
