"""Long conversations: older turns are summarized, and a new episode follows one that grew long.

read      load a thread's present episode
catch_up  after the answer of a turn, summarize the turns that do not fit into the next request
closing   write the note about a long episode for the next one

A summary starts from the one before it, so no turn is summarized twice. If no summary can be made, only detail is lost:
the window is trimmed before each request anyway, and the note about a long episode holds its last exchanges.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bot.agent.agent import Team
from bot.agent.endpoints import Models
from bot.agent.history import fit, repair, size_of
from bot.agent.limits import Limits
from bot.agent.loop import Outcome, run
from bot.agent.messages import CustomerMessage, Message, SystemNote, from_json
from bot.agent.tools import Context
from bot.clock import Clock
from bot.conversation import Customer, ThreadRef
from bot.desk.summing_up import as_note, as_summary, last_words, transcript
from bot.errors import StoreUnavailable
from bot.store import spending, summaries, threads, turns
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.spending import Spending
from bot.store.summaries import Summary
from bot.store.threads import ThreadState
from bot.store.turns import PastTurn
from bot.telemetry import Metrics
from bot.turns.costs import UNKNOWN

logger = logging.getLogger(__name__)

SUMMARY_SECONDS = 15.0
"""How long a summary may take, in seconds. The thread's next message waits for it."""
SUMMARY_SLOT_TIMEOUT = 5.0
"""How long a summary may wait for a slot, in seconds."""
PAUSE_TURNS = 3
"""After a failed summary, the number of turns until the next try. Until then requests only get a trimmed window."""
FAILED_THREADS = 1_000
"""For how many threads a failed summary is remembered. The newest failures stay."""
KEPT_TURNS = 4
"""How many of the latest turns stay unsummarized, as far as they fit into half of the window."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A thread's present episode."""

    number: int
    note: str
    """What came before it: a time with a person, or a long episode. Empty if nothing did."""
    turns: Sequence[PastTurn]
    """The turns, oldest first, including those that the summary covers."""
    summary: Summary | None

    def followed_by(self, turn: PastTurn) -> "Episode":
        """The episode with one more turn."""
        return replace(self, turns=(*self.turns, turn))

    @property
    def has_offered(self) -> bool:
        """Whether the last turn had no answer. Its sentence then offered a person."""
        return bool(self.turns) and self.turns[-1].ended == "no_answer"

    @property
    def last_question(self) -> str:
        """What the customer of the last turn wrote. Empty if there is no turn."""
        written = [each.text for each in _messages(self.turns[-1:]) if isinstance(each, CustomerMessage)]
        return written[-1] if written else ""

    @property
    def recent(self) -> list[PastTurn]:
        """The turns that no summary covers."""
        return [turn for turn in self.turns if self.summary is None or turn.ts > self.summary.through]

    @property
    def history(self) -> list[Message]:
        """What the agents read of the episode."""
        return [*self.beginning, *_messages(self.recent)]

    @property
    def beginning(self) -> list[Message]:
        """The notes before the turns that no summary covers."""
        notes = [self.note, as_note(self.summary.text) if self.summary else ""]
        return [SystemNote(note) for note in notes if note]

    @property
    def covered(self) -> list[Message]:
        """The messages of the turns that the agents see only in the summary."""
        return _messages(self.turns[: len(self.turns) - len(self.recent)])


@dataclass(frozen=True, slots=True)
class Summaries:
    """Makes and stores summaries. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    metrics: Metrics
    models: Models
    team: Team
    """The team whose entry agent writes the summaries."""
    window: int
    """How many characters of conversation a request holds."""
    turns: int
    """The number of turns after which an episode ends."""
    places: asyncio.Semaphore
    """Bounds how many summaries are made at once."""
    seconds: float = SUMMARY_SECONDS
    _failed: dict[str, str] = field(default_factory=dict)
    """Thread whose last summary failed -> the timestamp of its latest turn at that time."""

    async def read(self, tx: Transaction, thread: ThreadRef, state: ThreadState) -> Episode:
        """Load the thread's present episode."""
        past = await turns.of_episode(tx, thread, state.episode, latest=self.turns)
        return Episode(state.episode, state.note, past, await summaries.latest(tx, thread, state.episode))

    async def catch_up(self, item: InboxItem, episode: Episode | None = None) -> None:
        """Summarize what is due, after the item's turn has ended. If the database is away, it is only logged.

        Nothing is read if the `episode`, which the turn has left, is short.
        """
        if episode is not None and not self._older(episode):
            return
        try:
            async with self.database.reading() as tx:
                state = await threads.find_thread(tx, item.thread)
                episode = await self.read(tx, item.thread, state) if state else None
            if episode and not self._is_paused(episode, item.thread) and (older := self._older(episode)):
                made = await self._sum_up(item, episode, older)
                self._remember(episode, item.thread, failed=made is None)
        except StoreUnavailable as error:
            logger.warning("no summary was kept", extra={"turn": item.id, "reason": str(error)})

    async def closing(self, item: InboxItem, episode: Episode) -> str:
        """Return the note for the next episode: the summary, made now if needed, or the last exchanges."""
        recent, before = episode.recent, episode.summary.text if episode.summary else episode.note
        made = await self._sum_up(item, episode, recent) if recent else episode.summary
        return as_note(made.text if made else last_words(before, _messages(recent)))

    def _older(self, episode: Episode) -> list[PastTurn]:
        """Return the turns that should be summarized and are not."""
        recent = episode.recent
        if len(episode.turns) >= self.turns:
            return recent
        if _fit_into(self.window, episode.history):
            return []
        fitting = (many for many in range(KEPT_TURNS, 1, -1) if _fit_into(self.window // 2, _messages(recent[-many:])))
        return recent[: -next(fitting, 1)]

    def _is_paused(self, episode: Episode, thread: ThreadRef) -> bool:
        """Whether a summary failed within the last PAUSE_TURNS turns."""
        failed = self._failed.get(thread.key)
        return failed is not None and sum(turn.ts > failed for turn in episode.turns) < PAUSE_TURNS

    def _remember(self, episode: Episode, thread: ThreadRef, *, failed: bool) -> None:
        self._failed.pop(thread.key, None)
        if failed:
            self._failed[thread.key] = episode.turns[-1].ts
            if len(self._failed) > FAILED_THREADS:
                del self._failed[next(iter(self._failed))]

    async def _sum_up(self, item: InboxItem, episode: Episode, older: Sequence[PastTurn]) -> Summary | None:
        """Have the turns summarized with the notes before them. None if there is no summary. Costs are saved anyway."""
        outcome = await self._ask(item, episode, older)
        if outcome is None:
            logger.warning("no summary was made", extra={"turn": item.id, "reason": "no_place"})
            return None
        text, thread, through = as_summary(outcome.text), item.thread, older[-1].ts
        made = Summary(through, text) if outcome.ended == "answered" and text else None
        key = f"summary/{thread.key}/{through}/{item.id}.{item.attempts}"
        spent = Spending(key, "summary", thread, item.author, outcome.models or (UNKNOWN,), outcome.usage)
        is_spent = bool(spent.usage.input_tokens or spent.usage.output_tokens)
        async with self.database.transaction() as tx:
            if made is not None:
                await summaries.save(tx, thread, episode.number, made, now=self.clock.now())
            if is_spent:
                await spending.add(tx, spent, now=self.clock.now())
        if is_spent:
            spending.count(self.metrics, spent)
        if made is None:
            logger.warning("no summary was made", extra={"turn": item.id, "reason": outcome.reason or "blank"})
            return None
        logger.info("older turns were summed up", extra={"turn": item.id, "turns": len(older), "characters": len(text)})
        return made

    async def _ask(self, item: InboxItem, episode: Episode, older: Sequence[PastTurn]) -> Outcome | None:
        """Ask the model for the summary, with limits of its own. None if no slot was free."""
        read = transcript(fit(_messages(older), characters=self.window))
        customer = Customer(item.author_team, item.author, name="", locale="", member_type="member")
        limits = Limits(turn_seconds=self.seconds, output_tokens=2_000, output_characters=8_000)
        try:
            async with asyncio.timeout(SUMMARY_SLOT_TIMEOUT):
                await self.places.acquire()
        except TimeoutError:
            return None
        try:
            return await run(
                self.team,
                self.team.entry,
                [*episode.beginning, CustomerMessage(read)],
                models=self.models,
                context=Context(customer, item.thread, str(item.id)),
                passages="",
                emit=lambda event: None,
                limits=limits,
            )
        finally:
            self.places.release()


def _messages(past: Iterable[PastTurn]) -> list[Message]:
    return [from_json(message) for turn in past for message in turn.messages]


def _fit_into(characters: int, messages: Sequence[Message]) -> bool:
    """Whether the messages fit without a cut. Passages have a room of their own."""
    return size_of(repair(messages)) <= characters
