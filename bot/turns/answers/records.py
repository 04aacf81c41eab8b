"""What is stored of an answer: the journal while it is written, and then the turn.

journal  open the journal of a row's answer
keep     save the transcript and the costs, and close the journal
forget   save only the costs
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.actions.preparing import Preparing
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolResult, to_json
from bot.agent.patterns import reworded
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.desk.topics import without_marks
from bot.failpoints import failpoint
from bot.store import actions, inbox, procedures, spending, threads, turns
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.turns import PastTurn, TurnRecord
from bot.turns.answers.asking import Asked
from bot.turns.answers.journal import TurnJournal, open_journal
from bot.turns.answers.question import Question
from bot.turns.costs import costs_of
from bot.turns.sessions import TurnSessions
from knowledge.search.passages import Hit

WITHHELD = "[Not repeated here: it held one customer's order data.]"
"""Stored in a channel's thread instead of an answer with private lookups, because others continue there."""


@dataclass(frozen=True, slots=True)
class AnswerRecords:
    """Saves answers. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    changes: Preparing | None = None
    """What the tools prepare. None for a desk without rules for it."""
    sessions: TurnSessions | None = None
    """None if rows are never closed with their answers."""

    async def journal(self, item: InboxItem) -> TurnJournal:
        """Open the journal of the row's answer, with what earlier attempts recorded."""
        if item.fence == 1:
            return TurnJournal(self.database, self.clock, turn=item.id, attempt=item.fence, known={})
        return await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)

    async def keep(
        self,
        asked: Asked,
        ended: str,
        *,
        sources: Sequence[Hit] = (),
        thread: ThreadRef | None = None,
        instead: str | None = None,
        posts: Sequence[str] | None = None,
        reason: str = "",
    ) -> str:
        """Save the turn and return `ended`.

        `thread` is where the answer is, if not in the question's thread, and `posts` are its messages there. `instead`
        replaces what the agent wrote. `reason` is why a person was called, if the agent's own outcome has no reason.

        What the agent did is still kept for people, once: here, or with the answer in the direct messages.
        """
        failpoint("answer_shown")
        question, outcome = asked.question, asked.outcome
        place = thread or question.item.thread
        said = _said_in(place, asked, instead)
        shown = asked.writer.posts if posts is None else posts
        if question.heading and thread is None and shown:
            said = _below(question.heading, said, agent=outcome.agent)
        did = tuple(asked.did)
        is_replaced = did != tuple(said) and (thread is not None or asked.journal.known("private-stream") is None)
        record = TurnRecord(
            id=question.item.id,
            thread=place,
            episode=0 if thread else question.episode,
            ts=question.item.ts,
            customer=question.customer.user,
            agent=outcome.agent,
            ended=ended,
            reason=outcome.reason or reason,
            messages=[to_json(message) for message in (question.message, *said)],
            sources=[{"title": hit.title, "url": hit.url or ""} for hit in sources],
            confidence=asked.confidence,
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
            trace=[to_json(message) for message in (question.message, *did)] if is_replaced else None,
            failures=asked.reply.failures,
            rewrites=asked.rewrites,
            posts=shown,
        )
        async with self.database.transaction() as tx:
            if thread is not None:
                await threads.add_thread(tx, thread, now=self.clock.now())
            for use in costs_of(question.item, asked.journal.rounds, outcome):
                await spending.add(tx, use, now=self.clock.now())
            is_told = await self._show_changes(tx, asked, ended, place)
            if asked.follows_procedure:
                await procedures.count(tx, question.item.thread, rounds=_rounds(asked), now=self.clock.now())
            await turns.save(tx, record, now=self.clock.now(), closes=thread is None)
            if outcome.agent != question.agent or thread is not None:
                await threads.set_agent(tx, record.thread, outcome.agent)
            closes_row = thread is None and await self._may_close(tx, question)
            if closes_row:
                await inbox.finish(tx, question.item.id, "done", reason=ended, now=self.clock.now())
                failpoint("turn_closing")
        question.closing.is_done = closes_row
        if thread is None and question.before is not None:
            kept = PastTurn(ended, [dict(message) for message in record.messages], record.ts)
            question.closing.episode = question.before.followed_by(kept)
        if self.changes is not None and is_told:
            self.changes.stepping.outbox.wake()
        if not closes_row:
            failpoint("turn_kept")
        return ended

    async def _may_close(self, tx: Transaction, question: Question) -> bool:
        """Whether nothing is left to do for the row: nothing after the answer, and nothing in its session."""
        if self.sessions is None or not question.closing.may_follow():
            return False
        return await self.sessions.is_settled(tx, question.item)

    async def _show_changes(self, tx: Transaction, asked: Asked, ended: str, place: ThreadRef) -> bool:
        """Show under the answer what the tools have prepared. Without an answer to stand under, it is withdrawn.

        Return whether posts may have been queued.
        """
        if self.changes is None:
            return False
        origin, question = f"turn/{asked.question.item.id}", asked.question
        if ended == "answered" and place.is_direct:
            if not await actions.of_origin(tx, origin, states=("offered",)):
                return False
            epoch = await threads.epoch_of(tx, place.key)
            return await self.changes.show(tx, origin, place, epoch, language=question.language)
        if ended != "answered":
            await self.changes.drop(tx, origin, "with_people" if ended == "escalated" else "not_shown")
        return ended != "answered"

    async def forget(self, asked: Asked) -> None:
        """Save only the costs, and close the journal: nothing was said."""
        async with self.database.transaction() as tx:
            for use in costs_of(asked.question.item, asked.journal.rounds, asked.outcome):
                await spending.add(tx, use, now=self.clock.now())
            if self.changes is not None:
                await self.changes.drop(tx, f"turn/{asked.question.item.id}", "not_shown")
            await turns.forget(tx, asked.question.item.id)


def _rounds(asked: Asked) -> int:
    """The model's replies."""
    return sum(isinstance(message, AgentMessage) for message in asked.did)


def refusal_record(item: InboxItem, words: str, *, episode: int) -> TurnRecord:
    """The turn of a message that code answered with these words, because the shop refuses its topics."""
    asked = CustomerMessage(item.words, speaker=item.author, ts=item.ts)
    return TurnRecord(
        id=item.id,
        thread=item.thread,
        episode=episode,
        ts=item.ts,
        customer=item.author,
        agent="",
        ended=turns.REFUSED,
        reason="",
        messages=[to_json(asked), to_json(AgentMessage(words))],
        sources=[],
        confidence=0.0,
        input_tokens=0,
        output_tokens=0,
    )


def _said_in(place: ThreadRef, asked: Asked, instead: str | None) -> Sequence[Message]:
    """What the thread keeps of the agent's messages: all of them, or one with other words."""
    outcome, reply = asked.outcome, asked.reply
    if asked.refusal and asked.verdict == "stands":
        outcome = reworded(outcome, f"{without_marks(outcome.text).strip()}\n\n{asked.refusal}".strip())
    if instead is None and (reply.claim or reply.leak) is not None and not asked.partly:
        instead = reply.said
    if instead is None and not place.is_direct and _holds_private(outcome.messages):
        instead = WITHHELD
    return outcome.messages if instead is None else (AgentMessage(instead, agent=outcome.agent),)


def _below(heading: str, said: Sequence[Message], *, agent: str) -> Sequence[Message]:
    """The messages with the lines that code wrote above them, in the first of the agent's."""
    for place, message in enumerate(said):
        if isinstance(message, AgentMessage):
            first = replace(message, text=f"{heading}\n\n{message.text}".strip())
            return (*said[:place], first, *said[place + 1 :])
    return (AgentMessage(heading, agent=agent), *said)


def _holds_private(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, ToolResult) and message.private for message in messages)
