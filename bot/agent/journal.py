"""The loop's side of durability: where a turn notes each finished step."""

from typing import Protocol

from bot.agent.messages import JsonObject


class Journal(Protocol):
    """The finished steps of one turn, so that a resumed turn repeats none of them.

    Names are "round-1", "round-2", … for the model's replies and "call-<id>" for the results of tools. What changed
    something also goes by "write-…" and what was asked for: so it is found again when the turn begins anew with other
    words and its calls have other ids.
    """

    async def recall(self, name: str) -> JsonObject | None:
        """What this turn recorded under the name before, or None."""
        ...

    async def record(self, name: str, value: JsonObject) -> None:
        """Keep the value; it is durable on return."""
        ...


class _NoJournal:
    async def recall(self, name: str) -> JsonObject | None:
        del name
        return None

    async def record(self, name: str, value: JsonObject) -> None:
        del name, value


NO_JOURNAL: Journal = _NoJournal()
"""For turns that need not survive anything."""


WRITE = "write-"
"""How the names of steps begin that hold what a turn has changed, whichever of its runs did it."""


class _Part:
    def __init__(self, journal: Journal, name: str) -> None:
        self._journal = journal
        self._name = name

    async def recall(self, name: str) -> JsonObject | None:
        if name.startswith(WRITE):
            return await self._journal.recall(name)
        return await self._journal.recall(f"{self._name}/{name}")

    async def record(self, name: str, value: JsonObject) -> None:
        await self._journal.record(f"{self._name}/{name}", value)


def part_of(journal: Journal, name: str) -> Journal:
    """The steps of one of several runs that make up a turn, kept apart from those of the others."""
    return _Part(journal, name)
