"""The stream of an answer: opened once for each thread that gets words of it, and adopted after a crash."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.errors import Silenced
from bot.guard.guardrails import OutputGate
from bot.slack.client import SlackClient
from bot.slack.stream import StreamWriter, open_stream
from bot.store import turns
from bot.store.database import Database
from bot.store.turns import SET_ASIDE, STANDING
from bot.telemetry import Metrics
from bot.turns.answers.journal import TurnJournal
from bot.turns.answers.question import Question
from bot.turns.ownership import EpochReader, OwnershipGuard


@dataclass(frozen=True, slots=True)
class AnswerStreams:
    """Opens streams. `bot.app` puts the parts together."""

    database: Database
    slack: SlackClient
    epochs: EpochReader
    link_hosts: frozenset[str]
    clock: Clock
    metrics: Metrics

    @asynccontextmanager
    async def open(
        self, question: Question, thread: ThreadRef, journal: TurnJournal, name: str
    ) -> AsyncIterator[StreamWriter]:
        """Open a stream in `thread`. After a crash it replaces what the earlier attempt left there."""
        begun = journal.standing(name)
        opened: list[str] = begun["opened"] if begun else []

        async def note(ts: str) -> None:
            if not opened and name == STANDING[0]:
                self.metrics.answer_begun(self.clock.now() - question.item.received_at)
            opened.append(ts)
            await journal.record(name, {"opened": opened})

        async def fence() -> None:
            if journal.known(name) is not None:
                await journal.check(name)
            elif name != STANDING[0] or await journal.check(SET_ASIDE) is None:
                # A later attempt finds out that there may be a stream.
                await journal.record(name, {"opened": opened})

        guard = OwnershipGuard(self.epochs, question.item.thread.key, question.epoch, question.local_changes)

        async def may_speak() -> None:
            if not await guard.is_current():
                question.interrupt.tell("claimed")
                raise Silenced("a person has the thread")

        async def known() -> set[str]:
            async with self.database.transaction() as tx:
                return await turns.posts_in(tx, thread)

        async with open_stream(
            self.slack.streams,
            self.slack.chat,
            channel=thread.channel,
            thread_ts=thread.ts,
            user=question.item.author,
            team=question.item.author_team,
            gate=OutputGate(self.link_hosts),
            on_open=note,
            fence=fence,
            may_speak=may_speak,
            adopt=None if begun is None else tuple(opened),
            known=known,
            key=f"turn/{question.item.id}/{name}",
            after=question.item.ts,
        ) as writer:
            yield writer
