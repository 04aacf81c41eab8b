"""A customer's message with what is known around it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.agent.messages import CustomerMessage, Image, Message, SystemNote, ToolResult
from bot.conversation import Customer
from bot.ingest.interrupts import Interrupt
from bot.language.languages import Language
from bot.store.actions import Action
from bot.store.bodies import naming_files
from bot.store.inbox import InboxItem
from bot.turns.row_closing import RowClosing
from bot.turns.summaries import Episode


@dataclass(frozen=True, slots=True)
class Question:
    """A message that needs an answer."""

    item: InboxItem
    customer: Customer
    language: Language
    text: str
    """What the customer wrote, without the names of files."""
    agent: str
    """The agent that answered last. Empty if none did."""
    episode: int
    history: Sequence[Message]
    """The episode so far, without this message."""
    covered: Sequence[Message] = ()
    """The messages of those turns of the episode that the history only summarizes."""
    rest: str = ""
    """What of the text the agents answer, if code has answered the others. Empty if they answer all of it."""
    heading: str = ""
    """The lines before the answer."""
    files: Sequence[str] = ()
    """The names of the message's files."""
    images: Sequence[Image] = ()
    """What the model sees of them. The content of the other files was not read."""
    in_vain_before: bool = False
    """Whether nothing was found for the message before this one either."""
    epoch: int = 0
    """The ownership epoch of the thread when the turn decided that the assistant answers."""
    local_changes: int = -1
    """The count of LOCAL_CHANGES when the epoch was read. -1 is never current."""
    is_unasked: bool = False
    """True if the app was not mentioned. It then stays silent if it cannot answer."""
    concerns: bool = True
    """Whether the words name the matter of the conversation. If not, no person is called about them."""
    passages: str = ""
    """What was retrieved for the message, as far as it is known."""
    actions: Sequence[Action] = ()
    """The changes of orders that were prepared in this thread."""
    interrupt: Interrupt = field(default_factory=Interrupt)
    """Ends the answer early."""
    closing: RowClosing = field(default_factory=RowClosing)
    """Whether the row is closed with the answer."""
    before: Episode | None = None
    """The episode before the answer. None if it is not known."""

    @property
    def known(self) -> Sequence[Message]:
        """All messages of the episode that an answer can rest on."""
        return [*self.covered, *self.history]

    @property
    def whose(self) -> str:
        """The customer's id, unique across workspaces."""
        return f"{self.item.author_team}/{self.item.author}"

    @property
    def asked(self) -> str:
        """The text that the agents answer."""
        return self.rest or self.text

    @property
    def message(self) -> CustomerMessage:
        """The message in the form for the agent."""
        text, who = naming_files(self.text, self.files), self.customer.user
        return CustomerMessage(text, who, self.item.ts, passages=self.passages, images=self.images)

    def after(self, side_effects: Sequence[ToolResult]) -> "Question":
        """Return the question with a note about side effects from before the customer edited it."""
        if not side_effects:
            return self
        done = "\n".join(f"- {result.name}: {result.content}" for result in side_effects)
        note = (
            f"Before the customer edited this message, this was done for it and stays done; do not do it again:\n{done}"
        )
        return replace(self, history=[*self.history, SystemNote(note)])
