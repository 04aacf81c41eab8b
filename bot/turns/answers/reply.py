"""What the customer sees of a running turn: the loop's events become a stream in the thread.

Five rules hold text back:

- A sentence is shown only when it is whole. The first sentence that claims an action which no tool took, or names an
  amount, date, number or link without a source, ends the text.
- The first sentence that holds a secret or the agents' instructions ends the text.
- Without evidence nothing is shown, because in the end the answer may not be grounded.
- After a lookup that failed or was refused, nothing is shown until another one succeeds.
- In a channel, everything after a private tool result goes to a direct message, because others read the thread.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from bot.agent.agent import HANDOVER
from bot.agent.events import (
    Event,
    HandedOver,
    Held,
    ModelRetried,
    RequestFailed,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from bot.desk.answers import NOT_SURE, Evidence
from bot.desk.budgets import TOO_MANY_CALLS
from bot.desk.own_words import Leak, OwnWordsGate
from bot.desk.topics import without_marks
from bot.guard.claims import Claim, ClaimGate
from bot.guard.tool_results import ESCALATE, SEARCH
from bot.guard.values import Value
from bot.turns.answers.progress import ProgressLines
from bot.turns.answers.question import Question

FAILURES_KEPT = 8
"""How many failed requests to models are stored for one turn."""


class Page(Protocol):
    """Where a reply is written: a `StreamWriter`, or one of several sections of it."""

    @property
    def stopped(self) -> bool:
        """True once the customer pressed Stop."""
        ...

    def text(self, delta: str) -> None:
        """Add words."""
        ...


@dataclass(slots=True)
class Reply:
    """Feeds one `Page`; `emit` is what the loop calls."""

    writer: Page
    question: Question
    evidence: Evidence
    gate: ClaimGate
    own: OwnWordsGate
    """Finds secrets and instructions in the text that passed `gate`."""
    lines: ProgressLines
    """What the customer sees of the lookups."""
    private: bool
    """True as soon as the following text is only for the customer."""
    wants_person: bool = field(init=False, default=False)
    """True when the agent called a person and the call itself failed."""
    has_person: bool = field(init=False, default=False)
    """True when the agent called a person, and one was called."""
    shown: bool = field(init=False, default=False)
    """True when some text of the answer has been written to the stream."""
    said: str = field(init=False, default="")
    """The text that was written to the stream."""
    claim: Claim | Value | None = field(init=False, default=None)
    """An action that the agent claims but no tool took, or a value without a source. The text is cut off before it."""
    leak: Leak | None = field(init=False, default=None)
    """A secret or instructions in the agent's text. The text is cut off before it."""
    retries: Counter[str] = field(init=False, default_factory=Counter)
    """The number of retried requests to a model, by reason."""
    failures: list[str] = field(init=False, default_factory=list)
    """Failed requests to a model, at most FAILURES_KEPT: the model's name, and what its provider said."""
    _held: list[str] = field(init=False, default_factory=list)
    _broke: bool = field(init=False, default=False)
    _refused: set[str] = field(init=False, default_factory=set)
    """Tools that were refused because this person's calls came too fast."""

    def emit(self, event: Event) -> None:
        """Show an event, or hold it back."""
        interrupt = self.question.interrupt
        if self.writer.stopped and not interrupt.is_set():
            # The agents must not continue.
            interrupt.tell("stop")
        match event:
            case Held() if not self.question.is_unasked:
                self.lines.hold()
            case TextDelta(text):
                self.lines.go_on()
                self._say(self.gate.feed(text))
            case ToolStarted(name=name):
                self.lines.go_on()
                self._say(self.gate.settle())
                if self._is_told(name):
                    self.lines.started(event)
            case ToolFinished():
                self._finished(event)
                self.lines.finished(event)
            case ModelRetried(reason):
                self.retries[reason] += 1
            case RequestFailed(model, words):
                if len(self.failures) < FAILURES_KEPT:
                    self.failures.append(f"{model}: {words}")
            case HandedOver():
                self._say(self.gate.settle())

    def end(self, text: str) -> None:
        """Check what is left, because the agents are done. `text` is their whole answer, shown or not."""
        self.lines.go_on(in_vain=True)
        self._say(self.gate.settle())
        self.claim = self.gate.stopped or self.gate.find(text)
        self.leak = self.own.stopped or self.own.find(text)

    def release(self) -> None:
        """Show the text that was held back because there was no evidence."""
        if self._held and not self.withheld:
            held, self._held = "".join(self._held), []
            self.writer.text(held)
            self.said += held
            self.shown = True

    @property
    def withheld(self) -> bool:
        """True if the text must not be shown in the thread, because others read it."""
        return self.private and not self.question.item.thread.is_direct

    @property
    def is_dead_end(self) -> bool:
        """True if a lookup failed and no other has found anything."""
        return self._broke and not self.evidence.facts

    @property
    def is_too_fast(self) -> bool:
        """True if calls were refused because they came too fast, and nothing else that was found makes up for them."""
        found = self.evidence.found if self._refused <= {SEARCH} else self.evidence.facts
        return bool(self._refused) and not found

    def _is_told(self, tool: str) -> bool:
        """Whether the customer sees a line for a lookup.

        Where others read, only a search of the pages gets one: that another lookup was made is private too.
        """
        if self.question.is_unasked and not self.shown:
            # Nobody asked the app, so nothing is shown before the answer.
            return False
        return tool == SEARCH or (self.question.item.thread.is_direct and _is_shown(tool))

    def _say(self, text: str) -> None:
        if text := without_marks(self.own.feed(text)).replace(NOT_SURE, ""):
            self._held.append(text)
        self._release_what_stands()

    def _finished(self, event: ToolFinished) -> None:
        if event.code == TOO_MANY_CALLS:
            self._refused.add(event.name)
        elif event.ends or event.name == ESCALATE:
            self.wants_person = self.wants_person or event.broke
            self.has_person = self.has_person or event.ok
        elif event.name == SEARCH:
            self.evidence.searched = self.evidence.searched or event.ok
        elif event.broke:
            self._broke = True
        elif _is_shown(event.name):
            # "Not found" is a finding too: an answer can rest on it.
            self.evidence.facts = True
        self._release_what_stands()
        self.private = self.private or event.private

    def _release_what_stands(self) -> None:
        if self.evidence.found and not self.is_dead_end and not self.is_too_fast:
            self.release()


def _is_shown(tool: str) -> bool:
    return tool != ESCALATE and not tool.startswith(HANDOVER)
