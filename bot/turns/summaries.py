"""Long conversations: what a request cannot carry is summed up, and an episode that grew long gives way to another.

read      what is known of a thread's present episode
catch_up  after a turn, when the customer has their answer: sum up what the next request could not carry
closing   what the next episode shall know of a long one

A summary begins with the one before it, so no turn is read for one twice. Where none can be made nothing is lost but
detail: the window is trimmed before each request anyway, and a long episode ends with its last exchanges.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bot.agent.agent import Team
from bot.agent.endpoints import Models
from bot.agent.history import fit, repair
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
"""What a summary may take; the thread's next message waits for it."""
SUMMARY_SLOT_TIMEOUT = 5.0
"""How long it may wait for a place."""
PAUSE_TURNS = 3
"""After a summary that was not made, the turns until it is tried again; the window is trimmed meanwhile."""
FAILED_THREADS = 1_000
"""Threads of which that is remembered, those where it was not made last."""
KEPT_TURNS = 4
"""The latest turns that are sent as they were, as far as they fit into half of the window."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What a thread's present episode holds."""

    number: int
    note: str
    """What stands before it: a time with a person, or a long episode."""
    turns: Sequence[PastTurn]
    """Its turns, oldest first; those that the summary covers too."""
    summary: Summary | None

    @property
    def recent(self) -> list[PastTurn]:
        """The turns that no summary covers."""
        return [turn for turn in self.turns if self.summary is None or turn.ts > self.summary.through]

    @property
    def history(self) -> list[Message]:
        """What the agents read of it."""
        return [*self.beginning, *_messages(self.recent)]

    @property
    def beginning(self) -> list[Message]:
        """What stands before the turns that no summary covers."""
        notes = [self.note, as_note(self.summary.text) if self.summary else ""]
        return [SystemNote(note) for note in notes if note]

    @property
    def covered(self) -> list[Message]:
        """What was said and found in the turns that the agents read only a summary of."""
        return _messages(self.turns[: len(self.turns) - len(self.recent)])


@dataclass(frozen=True, slots=True)
class Summaries:
    """Makes summaries and keeps them; the parts are put together in `bot.app`."""

    database: Database
    clock: Clock
    metrics: Metrics
    models: Models
    team: Team
    """Who sums up."""
    window: int
    """Characters of conversation that a request carries."""
    turns: int
    """Turns after which an episode ends."""
    places: asyncio.Semaphore
    """Summaries made at the same time."""
    seconds: float = SUMMARY_SECONDS
    _failed: dict[str, str] = field(default_factory=dict)
    """Threads of which the last summary was not made -> the timestamp of the latest turn then."""

    async def read(self, tx: Transaction, thread: ThreadRef, state: ThreadState) -> Episode:
        """The thread's present episode."""
        past = await turns.of_episode(tx, thread, state.episode, latest=self.turns)
        return Episode(state.episode, state.note, past, await summaries.latest(tx, thread, state.episode))

    async def catch_up(self, item: InboxItem) -> None:
        """Sum up what is owed, once the item's turn has ended. What goes wrong is for the log."""
        try:
            async with self.database.transaction() as tx:
                state = await threads.find_thread(tx, item.thread)
                episode = await self.read(tx, item.thread, state) if state else None
            if episode and not self._is_paused(episode, item.thread) and (older := self._older(episode)):
                made = await self._sum_up(item, episode, older)
                self._remember(episode, item.thread, failed=made is None)
        except StoreUnavailable as error:
            logger.warning("no summary was kept", extra={"turn": item.id, "reason": str(error)})

    async def closing(self, item: InboxItem, episode: Episode) -> str:
        """The note for the episode after this one: its summary, made now if need be, or its last exchanges."""
        recent, before = episode.recent, episode.summary.text if episode.summary else episode.note
        made = await self._sum_up(item, episode, recent) if recent else episode.summary
        return as_note(made.text if made else last_words(before, _messages(recent)))

    def _older(self, episode: Episode) -> list[PastTurn]:
        """The turns that a summary shall cover and none does."""
        recent = episode.recent
        if len(episode.turns) >= self.turns:
            return recent
        if _fit_into(self.window, episode.history):
            return []
        fitting = (many for many in range(KEPT_TURNS, 1, -1) if _fit_into(self.window // 2, _messages(recent[-many:])))
        return recent[: -next(fitting, 1)]

    def _is_paused(self, episode: Episode, thread: ThreadRef) -> bool:
        """Whether a summary was not made only just now."""
        failed = self._failed.get(thread.key)
        return failed is not None and sum(turn.ts > failed for turn in episode.turns) < PAUSE_TURNS

    def _remember(self, episode: Episode, thread: ThreadRef, *, failed: bool) -> None:
        self._failed.pop(thread.key, None)
        if failed:
            self._failed[thread.key] = episode.turns[-1].ts
            if len(self._failed) > FAILED_THREADS:
                del self._failed[next(iter(self._failed))]

    async def _sum_up(self, item: InboxItem, episode: Episode, older: Sequence[PastTurn]) -> Summary | None:
        """Have the turns summed up with what stands before them; None when nothing came of it but what it cost."""
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
        """What the model makes of the turns, in its own time; None when there is no place for it."""
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
    """Whether nothing of them would be cut."""
    return fit(messages, characters=characters) == tuple(repair(messages))
