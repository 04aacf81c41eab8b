"""The loop's interface for durability: a turn records each finished step here."""

from typing import Protocol

from bot.agent.messages import JsonObject


class Journal(Protocol):
    """The finished steps of one turn, so that a resumed turn repeats none of them.

    Names are "round-1", "round-2", … for the model's replies and "call-<id>" for the results of tools. A call
    that changed something also has a step "write-…", named after its arguments. So it is found again if the turn begins
    again after an edit and its calls have other ids.
    """

    async def recall(self, name: str) -> JsonObject | None:
        """Return what this turn recorded under the name before, or None."""
        ...

    async def record(self, name: str, value: JsonObject) -> None:
        """Store the value, and what was noted before it. Both are durable on return."""
        ...

    def note(self, name: str, value: JsonObject) -> None:
        """Have the value stored with the next one that is recorded. It is for steps that can be repeated."""
        ...


class _NoJournal:
    async def recall(self, name: str) -> JsonObject | None:
        del name
        return None

    async def record(self, name: str, value: JsonObject) -> None:
        del name, value

    def note(self, name: str, value: JsonObject) -> None:
        del name, value


NO_JOURNAL: Journal = _NoJournal()
"""For turns that need not survive a crash."""


WRITE = "write-"
"""The prefix of the steps that hold side effects of a turn, in any of its runs."""


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

    def note(self, name: str, value: JsonObject) -> None:
        self._journal.note(f"{self._name}/{name}", value)


def part_of(journal: Journal, name: str) -> Journal:
    """Return a journal for one of several runs in a turn, with steps of its own."""
    return _Part(journal, name)
