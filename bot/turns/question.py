"""A customer's message with what is known around it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.agent.messages import CustomerMessage, Message, SystemNote, ToolResult
from bot.conversation import Customer
from bot.ingest.interrupts import Interrupt
from bot.language.sentences import Language
from bot.store.inbox import InboxItem, naming_files


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be answered."""

    item: InboxItem
    customer: Customer
    language: Language
    text: str
    """What the customer wrote, without the names of files."""
    agent: str
    """Who answered last; empty for nobody."""
    episode: int
    history: Sequence[Message]
    """The episode so far, without this message."""
    covered: Sequence[Message] = ()
    """What was said and found in those turns of the episode that the history only sums up."""
    heading: str = ""
    """What is said before the answer."""
    files: Sequence[str] = ()
    """What the files beside it are called, which nobody has read."""
    in_vain_before: bool = False
    """Whether nothing was found for the message before this one either."""
    epoch: int = 0
    """The ownership epoch of the thread when it was decided that the assistant answers."""
    local_changes: int = -1
    """LOCAL_CHANGES when the epoch was read. -1 is never current."""
    is_unasked: bool = False
    """The app was not mentioned: what it cannot answer ends in silence."""
    concerns: bool = True
    """Whether the words name the matter of the conversation; else no person is called over them."""
    interrupt: Interrupt = field(default_factory=Interrupt)
    """Ends the answer early."""

    @property
    def known(self) -> Sequence[Message]:
        """All of the episode that an answer may rest on."""
        return [*self.covered, *self.history]

    @property
    def whose(self) -> str:
        """The customer, of all workspaces."""
        return f"{self.item.author_team}/{self.item.author}"

    @property
    def message(self) -> CustomerMessage:
        """The message as the agent reads it."""
        return CustomerMessage(naming_files(self.text, self.files), speaker=self.customer.user, ts=self.item.ts)

    def after(self, side_effects: Sequence[ToolResult]) -> "Question":
        """The question, with what was done for it before the customer edited it."""
        if not side_effects:
            return self
        done = "\n".join(f"- {result.name}: {result.content}" for result in side_effects)
        note = (
            f"Before the customer edited this message, this was done for it and stays done; do not do it again:\n{done}"
        )
        return replace(self, history=[*self.history, SystemNote(note)])
