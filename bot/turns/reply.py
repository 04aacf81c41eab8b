"""What the customer sees of a running turn: the loop's events become a stream in the thread.

Three things keep text back. Without evidence nothing is shown, since it may not stand at the end. After a
look-up that could not be made nothing is shown until another succeeds. In a channel, everything after a private
tool result is kept for a direct message, since others read the thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.agent.agent import HANDOVER
from bot.agent.events import Event, HandedOver, ModelRetried, TextDelta, ToolFinished, ToolStarted
from bot.desk.answers import SEARCH, Evidence
from bot.desk.escalate import ESCALATE
from bot.slack.stream import StreamWriter, TaskStatus


@dataclass(slots=True)
class Reply:
    """Feeds one `StreamWriter`; `emit` is what the loop calls."""

    writer: StreamWriter
    evidence: Evidence
    is_direct: bool
    """True: only the customer reads the thread."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Tool -> what its card says in the customer's language; without it the tool's own title."""
    private: bool = False
    """True as soon as what follows is for the customer's eyes only."""
    wants_person: bool = False
    """True when the agent called a person and the call itself failed."""
    shown: bool = False
    """True when some text of the answer has been written to the stream."""
    _held: list[str] = field(default_factory=list)
    _broke: bool = False

    def emit(self, event: Event) -> None:
        """Show an event, or keep it back."""
        match event:
            case TextDelta(text):
                self._say(text)
            case ToolStarted(call_id, name, title):
                self._show(call_id, name, title, status="in_progress")
            case ToolFinished(call_id, name, title):
                self._finished(event)
                # "Not found" is an outcome like any other; an error is a look-up that could not be made.
                self._show(call_id, name, title, status="error" if event.broke else "complete")
            case HandedOver() | ModelRetried():
                pass

    def release(self) -> None:
        """Show what was kept back for want of evidence."""
        if self._held and not self.withheld:
            held, self._held = "".join(self._held), []
            self.writer.text(held)
            self.shown = True

    @property
    def withheld(self) -> bool:
        """True when text must not be shown where others read."""
        return self.private and not self.is_direct

    @property
    def is_dead_end(self) -> bool:
        """True while a look-up could not be made and no other has found anything."""
        return self._broke and not self.evidence.facts

    def _show(self, call_id: str, name: str, title: str, *, status: TaskStatus) -> None:
        """A card for a look-up; where others read only for the pages, since even that one was made tells something."""
        if name == SEARCH or (self.is_direct and _is_shown(name)):
            self.writer.task(call_id, title=self.titles.get(name, title), status=status)

    def _say(self, text: str) -> None:
        self._held.append(text)
        if self.evidence.found and not self.is_dead_end:
            self.release()

    def _finished(self, event: ToolFinished) -> None:
        if event.name == ESCALATE:
            self.wants_person = self.wants_person or event.broke
        elif event.name == SEARCH:
            self.evidence.searched = self.evidence.searched or event.ok
        elif event.broke:
            self._broke = True
        elif _is_shown(event.name):
            # "Not found" is a finding too: the answer rests on it.
            self.evidence.facts = True
        if self.evidence.found and not self.is_dead_end:
            self.release()
        self.private = self.private or event.private


def _is_shown(tool: str) -> bool:
    return tool != ESCALATE and not tool.startswith(HANDOVER)
