"""One turn: from a stored message to something the customer reads, and then the row is closed.

take               count the attempt, do the work, close the row
  _customer_wrote  a person is on it: relay · the words ask for a person: a case · else an answer
  _pressed         a customer's button
  _give_up         the row failed three times: a case, so that nobody waits for an answer that never comes
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Literal

from bot.agent.messages import Message, SystemNote, from_json
from bot.cases.case import MovedOn
from bot.cases.cases import Cases, UnknownCase
from bot.cases.relay import Relay
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk import policy
from bot.desk.identity import Identities
from bot.sentences import Sentences
from bot.slack.client import SlackClient, SlackRefused, SlackUnanswered
from bot.store import cases as case_rows
from bot.store import inbox, threads, turns
from bot.store.database import Database
from bot.store.inbox import FinishedState, InboxItem
from bot.store.threads import ThreadState
from bot.store.turns import PastTurn
from bot.telemetry import Metrics
from bot.turns.answer import Answers, Question

logger = logging.getLogger(__name__)

ATTEMPTS = 3
"""Tries at one row, crashes included."""
SETTLE_SECONDS = 30.0
"""What a turn may take beyond its answer: reading, finishing the stream, storing."""

Ending = tuple[FinishedState, str]
"""How a row is closed, and why in one stable word."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Takes turns; the parts are put together in `bot.app`."""

    database: Database
    slack: SlackClient
    clock: Clock
    sentences: Sentences
    identities: Identities
    answers: Answers
    cases: Cases
    relay: Relay
    metrics: Metrics

    async def take(self, item_id: int) -> None:
        """Work on one inbox row until it is closed; does nothing when it is closed already."""
        async with self.database.transaction() as tx:
            item = await inbox.start(tx, item_id)
        if item is None:
            return
        if item.attempts > ATTEMPTS:
            state, reason = await self._give_up(item)
        else:
            async with asyncio.timeout(self.answers.limits.turn_seconds + SETTLE_SECONDS):
                state, reason = await self._work(item)
        async with self.database.transaction() as tx:
            await inbox.finish(tx, item.id, state, reason=reason, now=self.clock.now())
        self.metrics.turn_finished(item.kind, reason, self.clock.now() - item.received_at)

    async def _work(self, item: InboxItem) -> Ending:
        match item.kind:
            case "staff":
                return "done", await self.relay.from_staff(item)
            case "press":
                return await self._pressed(item)
            case "message":
                return await self._customer_wrote(item)

    async def _customer_wrote(self, item: InboxItem) -> Ending:
        customer = await self.identities.identify(item.author)
        text = _text_of(item)
        if customer is None or not text:
            return "dropped", "not_a_person" if customer is None else "empty"
        language = self.sentences.language_of(text, customer.locale)
        async with self.database.transaction() as tx:
            await threads.set_language(tx, item.thread, language)
            state = await threads.find_thread(tx, item.thread) or ThreadState("", language, 0, "")
            case = await case_rows.find_open(tx, item.thread)
            past = await turns.of_episode(tx, item.thread, state.episode)
        if item.body.get("masked"):
            await self._tell_one(item, self.sentences.say(language, "masked"))
        if case is not None:
            await self.relay.from_customer(case, item, customer)
            return "done", "relayed"
        if not item.body["text"]:
            await self._tell_one(item, self.sentences.say(language, "file_unread"))
            return "done", "file_unread"
        if reason := _reason_for_person(text, past):
            await self.cases.open(item.thread, customer, reason=reason, priority=_priority(reason))
            return "done", "escalated"
        question = Question(item, customer, language, text, state.agent, state.episode, _history(state, past))
        return "done", await self.answers.answer(question)

    async def _tell_one(self, item: InboxItem, words: str) -> None:
        """Say something that only the author needs to see; it may be lost without harm."""
        try:
            await self.slack.ephemeral(item.thread.channel, item.author, text=words, thread_ts=item.thread.ts)
        except (SlackRefused, SlackUnanswered):
            logger.warning("a note to one person was not delivered", extra={"turn": item.id})

    async def _pressed(self, item: InboxItem) -> Ending:
        customer = await self.identities.identify(item.author)
        if customer is None:
            return "dropped", "not_a_person"
        try:
            match item.body["action"]:
                case "esc.cancel":
                    await self.cases.cancel(item.body["value"], customer.user)
                case "case.reopen":
                    await self.cases.reopen(item.body["value"], customer.user)
                case _:
                    await self.cases.open(item.thread, customer, reason="asked_for_person", priority="medium")
        except MovedOn as error:
            await self.cases.tell_customer_moved_on(error.case, item.thread, customer)
            return "done", "moved_on"
        except UnknownCase:
            return "dropped", "unknown_case"
        return "done", "pressed"

    async def _give_up(self, item: InboxItem) -> Ending:
        logger.error("a row failed too often and is closed", extra={"turn": item.id, "kind": item.kind})
        if item.kind == "staff":
            return "dead", "failed"
        nobody = Customer(item.author_team, item.author, name=item.author, locale="", standing="stranger")
        try:
            await self.cases.open(item.thread, nobody, reason="technical", priority="high")
        except Exception:
            logger.exception("not even a case could be opened", extra={"turn": item.id})
        return "dead", "failed"


def _text_of(item: InboxItem) -> str:
    """The message's words, and the names of the files it brought."""
    files = ", ".join(item.body.get("files", ()))
    return f"{item.body['text']}\n[attached: {files}]".strip() if files else item.body["text"]


Reason = Literal["asked_for_person", "sensitive", "no_answer"]


def _reason_for_person(text: str, past: list[PastTurn]) -> Reason | None:
    """Why a person is called without asking the model; None when the agent may try."""
    if policy.asks_for_person(text):
        return "asked_for_person"
    if policy.needs_person(text):
        return "sensitive"
    if len(past) >= 2 and all(turn.ended == "no_answer" for turn in past[-2:]) and not policy.is_small_talk(text):
        return "no_answer"
    return None


def _priority(reason: Reason) -> Literal["medium", "high"]:
    return "high" if reason == "sensitive" else "medium"


def _history(state: ThreadState, past: list[PastTurn]) -> list[Message]:
    note: list[Message] = [SystemNote(state.note)] if state.note else []
    return note + [from_json(message) for turn in past for message in turn.messages]
