"""The progress lines of one answer: what is being looked up, in the customer's language.

A line names what a call is about, such as an order's number. The words are ours, and the name has passed the tool's own
check of its arguments. Calls of one tool that run at the same time share a line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.agent.events import ToolFinished, ToolStarted
from bot.slack.stream_text import TaskStatus

HELD = "held"
"""The line of an answer that waits for its model, and the key of its title."""
MAX_NAMED = 4
"""The most names in one line. Further ones are not named."""


class Cards(Protocol):
    """Where the lines are shown: a `StreamWriter`."""

    def task(self, task_id: str, *, title: str, status: TaskStatus) -> None:
        """Show or change a progress card."""
        ...


@dataclass(slots=True)
class _Line:
    """A line, and the calls that share it."""

    id: str
    tool: str
    title: str
    """The tool's own title. It is shown where the catalogue has none, or nothing is named."""
    subjects: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    broke: bool = False


@dataclass(slots=True)
class ProgressLines:
    """Shows the lookups of one answer, however many agents make them, and that it waits for its model."""

    cards: Cards
    titles: Mapping[str, str]
    """Tool -> the title of its line in the customer's language, in which `{subject}` is what the calls name."""
    _lines: list[_Line] = field(default_factory=list)
    _is_held: bool = False

    def started(self, event: ToolStarted) -> None:
        """Show a call that began: in the line of the same tool that is running, or in a new one."""
        line = next((each for each in self._lines if each.tool == event.name and each.running), None)
        if line is None:
            line = _Line(event.call_id, event.name, event.title)
            self._lines.append(line)
        line.running.add(event.call_id)
        if event.subject and event.subject not in line.subjects:
            line.subjects.append(event.subject)
        self.cards.task(line.id, title=self._title(line), status="in_progress")

    def finished(self, event: ToolFinished) -> None:
        """Show that a line is complete, once none of its calls is running."""
        line = next((each for each in self._lines if event.call_id in each.running), None)
        if line is None:
            return
        line.running.remove(event.call_id)
        line.broke = line.broke or event.broke
        if not line.running:
            # "Not found" is an outcome like any other; an error is a lookup that could not be made.
            self.cards.task(line.id, title=self._title(line), status="error" if line.broke else "complete")

    def hold(self) -> None:
        """Show that the answer waits."""
        self._is_held = True
        self.cards.task(HELD, title=self.titles[HELD], status="in_progress")

    def go_on(self, *, in_vain: bool = False) -> None:
        """Show that the answer no longer waits: it goes on, or it was `in_vain`."""
        if self._is_held:
            self._is_held = False
            self.cards.task(HELD, title=self.titles[HELD], status="error" if in_vain else "complete")

    def _title(self, line: _Line) -> str:
        title = self.titles.get(line.tool, "")
        if "{subject}" in title and not line.subjects:
            title = ""
        return title.replace("{subject}", _listed(line.subjects)) or line.title


def _listed(subjects: Sequence[str]) -> str:
    more = ["…"] if len(subjects) > MAX_NAMED else []
    return ", ".join([*subjects[:MAX_NAMED], *more])
