"""A customer's message with what was read next to it, and our own sentences in its thread."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.budgets import Cap
from bot.desk.topics import NO_TOPICS, FoundTopics
from bot.ingest.interrupts import Interrupt
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.api.transport import Block
from bot.slack.outbox import Outbox
from bot.store import outbox, threads, turns
from bot.store.actions import Action
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing
from bot.store.turns import TurnRecord
from bot.turns.hearing import Hearing
from bot.turns.row_closing import RowClosing
from bot.turns.summaries import Episode


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A customer's message with what was read next to it."""

    item: InboxItem
    customer: Customer
    language: Language
    agent: str
    """The agent that answered last in the thread. Empty if none did."""
    episode: Episode
    interrupt: Interrupt
    epoch: int
    """The ownership epoch of the thread, read before the turn decided who answers."""
    local_changes: int
    """The count of LOCAL_CHANGES when the epoch was read."""
    hearing: Hearing
    topics: FoundTopics = NO_TOPICS
    """The topics of the desk file that the message is about."""
    actions: Sequence[Action] = ()
    """The changes of orders that were prepared in the thread."""
    cap: Cap | None = None
    """Whose budget is used up, if that forbids to ask the agents."""
    closing: RowClosing = field(default_factory=RowClosing)


@dataclass(frozen=True, slots=True)
class Notices:
    """Posts our own sentences in the threads of customers. Each is posted once, however often it is said."""

    database: Database
    outbox: Outbox
    clock: Clock
    sentences: Sentences

    async def language(self, item: InboxItem) -> Language:
        """Return the language of the row's thread, or of its words if nothing was said in the thread yet."""
        async with self.database.transaction() as tx:
            state = await threads.find_thread(tx, item.thread)
        if state and state.language:
            return self.sentences.language_for(state.language)
        return self.sentences.language_of(item.words, "")

    async def say(self, incoming: IncomingMessage, key: str, *more: str) -> None:
        """Post a sentence, followed by `more`. It is dropped if the epoch changes before it is sent."""
        words = " ".join(self.sentences.say(incoming.language, each) for each in (key, *more))
        await self.post(incoming, key, words)

    def sentence(self, incoming: IncomingMessage, key: str) -> Outgoing:
        """The post of `say`, for a transaction that queues it beside something else."""
        return _in_thread(incoming, f"turn/{incoming.item.id}/{key}", self.sentences.say(incoming.language, key))

    async def post(
        self,
        incoming: IncomingMessage,
        name: str,
        words: str,
        *,
        blocks: Sequence[Block] = (),
        turn: TurnRecord | None = None,
    ) -> None:
        """Post words whose `name` is unique among the posts of the row. They are dropped as those of `say` are.

        If they are the answer, `turn` is saved with them.
        """
        post = _in_thread(incoming, f"turn/{incoming.item.id}/{name}", words, blocks)
        async with self.database.transaction() as tx:
            await outbox.add(tx, post, now=self.clock.now())
            if turn is not None:
                await turns.save(tx, turn, now=self.clock.now())
        self.outbox.wake()

    async def deliver(self, incoming: IncomingMessage, sentence: str, *, key: str) -> None:
        """Post a sentence and wait until it is there. The `key` is unique among all posts."""
        words = self.sentences.say(incoming.language, sentence)
        await self.outbox.deliver(_in_thread(incoming, key, words))


def _in_thread(incoming: IncomingMessage, key: str, words: str, blocks: Sequence[Block] = ()) -> Outgoing:
    """Return a post of the assistant in the message's thread."""
    thread = incoming.item.thread
    payload = {"text": words, "blocks": list(blocks)} if blocks else {"text": words}
    epoch = (thread.key, incoming.epoch)
    return Outgoing(key, "post", thread.channel, payload, thread_ts=thread.ts, epoch=epoch)
