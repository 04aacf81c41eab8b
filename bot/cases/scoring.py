"""The scores that customers give their cases (CSAT).

give     The customer chooses a score, or another one within an hour. A case that ended anew can be scored anew.
explain  The customer says what went wrong, in one press or in words.

Each is one transaction: the score is stored, the customer's message and the card show it, and the owner is mentioned.
Repeating it changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from bot.cases.buttons import rewritten
from bot.cases.opening import ENDED
from bot.cases.step import Stepping, UnknownCase, held_case
from bot.failpoints import failpoint
from bot.guard.guardrails import clean, mask
from bot.language.sentences import language_for
from bot.store import audit, outbox, scores
from bot.store.cases import ERASED, Case
from bot.store.database import Transaction
from bot.store.outbox import lane_of_thread
from bot.store.scores import Score
from bot.views import score_cards

Outcome = Literal["noted", "not_yours", "unknown_case", "too_late"]
"""How it ended. Only "noted" stored something, or found it stored."""
ENDINGS = frozenset({"case.resolved", "case.handed_back", "case.cancelled", "case.spam", "case.merged"})
"""The audit entries of steps that end a case. The card says who made the last one."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """Stores scores and shows them. `Cases` puts the parts together."""

    stepping: Stepping

    async def give(self, ref: str, user: str, value: int) -> Outcome:
        """The user gives the case a score from 1 to 5."""
        now = self.stepping.clock.now()
        return await self._change(ref, user, lambda case: _given(case, value, now=now))

    async def explain(self, ref: str, user: str, *, reason: str = "", words: str = "") -> Outcome:
        """The user says what went wrong: with a `reason` of `bot.views.score_cards.REASONS`, or in words."""
        said = mask(clean(words, limit=score_cards.WORDS_LIMIT))
        return await self._change(ref, user, lambda case: _explained(case.score, reason=reason, words=said))

    async def theirs(self, ref: str, user: str) -> Case | None:
        """The case, if the user is its customer."""
        async with self.stepping.database.transaction() as tx:
            case = await _of(tx, ref, user)
        return case if isinstance(case, Case) else None

    async def _change(self, ref: str, user: str, change: Callable[[Case], Score | None]) -> Outcome:
        """Store the changed score and show it. Without one, the case cannot be scored this way any more."""
        async with self.stepping.database.transaction() as tx:
            before = await _of(tx, ref, user)
            if not isinstance(before, Case):
                return before
            score = change(before)
            if score is None:
                return "too_late"
            if score != before.score:
                await scores.save(tx, ref, user, score)
                # A new version, so that the updates have keys of their own.
                after = replace(await self.stepping.put(tx, before, before), score=score)
                await self.stepping.note(tx, user, "scored", after, score=str(score.value))
                failpoint("case_changed")
                await self._show(tx, after, score, before=before.score)
        self.stepping.done()
        return "noted"

    async def _show(self, tx: Transaction, case: Case, score: Score, *, before: Score | None) -> None:
        thread, messages = case.thread, self.stepping.messages
        say = partial(messages.sentences.say, language_for(case.language))
        theirs = await outbox.standing(tx, case.id, thread.channel, lane_of_thread(thread.ts))
        shown = rewritten(
            case, thread.channel, theirs, lambda blocks: score_cards.marked(say, case, score, blocks), name="score"
        )
        rows = messages.scored(case, score, before=before, by=await _ended_by(tx, case))
        await outbox.add(tx, *shown, *rows, now=self.stepping.clock.now())


def _given(case: Case, value: int, *, now: float) -> Score | None:
    """The case's score after the customer chose one. None if the hour for a change is over."""
    before = case.score
    has_ended_since = case.state in ENDED and before is not None and (case.ended_at or 0.0) > before.given_at
    if before is None or has_ended_since:
        return Score(value, now)
    if before.value == value:
        return before
    return replace(before, value=value) if now <= before.given_at + score_cards.CHANGE_SECONDS else None


def _explained(score: Score | None, *, reason: str, words: str) -> Score | None:
    return score and replace(score, reason=reason or score.reason, words=words or score.words)


async def _of(tx: Transaction, ref: str, user: str) -> Case | Outcome:
    """The case, locked until the transaction ends, or why the user cannot score it."""
    try:
        case = await held_case(tx, ref)
    except UnknownCase:
        return "unknown_case"
    return case if case.customer == user and case.outcome != ERASED else "not_yours"


async def _ended_by(tx: Transaction, case: Case) -> str:
    """The user who ended the case, whom its card names. Empty while it is open."""
    entries = [] if case.is_open else await audit.of_subject(tx, case.ref)
    return next((entry.actor for entry in reversed(entries) if entry.action in ENDINGS), "")
