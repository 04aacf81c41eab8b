"""One question, answered as a customer's would be, and nothing sent to Slack: what `frontdesk try` shows.

try_question  Decide, ask the agents, end the answer, and note all of it.

The code that answers customers runs here unchanged. Only what is outside is replaced: the stream keeps its words, the
records note the end, and a case that would be opened is named.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from bot.agent.limits import Limits
from bot.cases.case import URGENT
from bot.conversation import Customer, ThreadRef
from bot.desk.danger.classifier import find_danger
from bot.desk.topics import Topics, sentences_of
from bot.desk_file.model import DeskFile
from bot.guard.guardrails import OutputGate, mask
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.interrupts import Interrupt
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.api.transport import Block
from bot.slack.stream_text import TaskStatus
from bot.store.bodies import MessageBody
from bot.store.inbox import InboxItem
from bot.turns.answers.answer import Answers
from bot.turns.answers.asking import Agents, Asked
from bot.turns.answers.journal import TurnJournal
from bot.turns.answers.question import Question
from bot.turns.decide import Answer, Decision, Facts, HandOver, Refuse, Say, decide
from bot.turns.hearing import Hearing
from bot.views.announcements import greeting, why_called
from knowledge.knowledge_base import Findings, KnowledgeBase

THREAD = ThreadRef("T0TRY", "D0TRY", "1.000000")
"""The thread of the question: a direct message that there is not."""


@dataclass(slots=True)
class Searches:
    """A knowledge base that notes what is asked of it."""

    base: KnowledgeBase
    found: list[tuple[str, Findings]] = field(default_factory=list)
    """What was searched, and what was found."""

    async def search(self, text: str) -> Findings:
        """Search the base."""
        findings = await self.base.search(text)
        self.found.append((text, findings))
        return findings


@dataclass(frozen=True, slots=True)
class CalledCase:
    """A case that would be opened."""

    reason: str
    priority: str
    summary: str
    ref: str = "FD-0"


@dataclass(slots=True)
class CalledPeople:
    """Notes the cases that would be opened."""

    cases: list[CalledCase] = field(default_factory=list)

    async def open(self, thread: ThreadRef, customer: Customer, **case: Any) -> CalledCase:
        """Note the case."""
        del thread, customer
        priority = "high" if case["reason"] in URGENT else case["priority"]
        self.cases.append(CalledCase(case["reason"], priority, case.get("summary", "")))
        return self.cases[-1]


@dataclass(slots=True)
class Trial:
    """What became of the question."""

    decision: Decision
    """What code decided before any model was asked."""
    language: Language
    said: str = ""
    """What the customer would read."""
    under: Sequence[Block] = ()
    """The blocks under the answer: sources and buttons."""
    tasks: list[str] = field(default_factory=list)
    """The titles of the progress cards that the customer would see."""
    cases: Sequence[CalledCase] = ()
    """The cases that would be opened."""
    asked: Asked | None = None
    """What the agents did. None if no agent was asked."""
    ended: str = ""
    """How the turn ended, in one stable word."""
    seconds: float = 0.0


async def try_question(
    text: str,
    *,
    customer: Customer,
    desk: DeskFile,
    topics: Topics,
    agents: Agents,
    called: CalledPeople,
    sentences: Sentences,
    limits: Limits,
) -> Trial:
    """Answer the question of a customer who writes for the first time, in a direct message."""
    begun = time.monotonic()
    body = MessageBody(mask(text))
    item = InboxItem(1, "message", THREAD, THREAD.ts, customer.user, customer.team, body, 1, time.time())
    language = sentences.language_of(item.words, customer.locale)
    facts = Facts(
        item,
        Hearing(),
        case=None,
        ended=None,
        seen=None,
        danger=find_danger(item.words),
        begun_at=None,
        shows_images=False,
        has_asked_back=False,
        asked=(),
        is_paused=False,
        is_offered=False,
        topics=topics.find(item.words),
        is_over=False,
        now=item.received_at,
    )
    trial = Trial(decide(facts), language, cases=called.cases)
    say = partial(sentences.say, language)
    match trial.decision:
        case HandOver(reason, topic):
            first = topic.sentence(language) if topic else ""
            first = first or why_called(sentences, reason, language, desk, country=customer.country)
            await called.open(THREAD, customer, reason=reason, priority="medium", summary=topic.topic if topic else "")
            trial.said, trial.ended = "\n".join(filter(None, (first, say("escalated")))), "escalated"
        case Refuse(refused):
            trial.said, trial.ended = sentences_of(refused, language), "refused"
        case Say(key, reason):
            trial.said = greeting(sentences, language, desk) if key == "greeting" else say(key)
            trial.ended = reason
        case Answer():
            heading = sentences_of(facts.topics.refused, language)
            asked, rest = item.words, facts.topics.rest
            question = Question(
                item, customer, language, asked, "", 1, (), rest=rest, heading=heading, interrupt=Interrupt()
            )
            answers = _answers(trial, lambda: agents, called, sentences, limits)
            trial.ended = await answers.answer(question)
        case _:
            trial.ended = type(trial.decision).__name__.lower()
    trial.seconds = time.monotonic() - begun
    return trial


def _answers(
    trial: Trial, agents: Callable[[], Agents], called: CalledPeople, sentences: Sentences, limits: Limits
) -> Answers:
    """What answers customers, with nothing outside."""
    outside: Any = _Outside(trial, agents().link_hosts)
    return Answers(
        sentences=sentences,
        agents=agents,
        limits=limits,
        cases=cast(Any, called),
        slots=FairSemaphore(1),
        sessions=outside,
        posts=outside,
        leftovers=outside,
        streams=outside,
        records=outside,
        reports=outside,
    )


@dataclass(frozen=True, slots=True)
class _Outside:
    """In place of sessions, streams, records and reports. A first attempt in a direct message asks no more of them."""

    trial: Trial
    link_hosts: frozenset[str]

    def working(self, item: InboxItem, language: Language) -> AbstractAsyncContextManager[None]:
        del item, language
        return nullcontext()

    async def journal(self, item: InboxItem) -> "_Journal":
        del item
        return _Journal()

    @asynccontextmanager
    async def open(
        self, question: Question, thread: ThreadRef, journal: TurnJournal, name: str
    ) -> AsyncIterator["_Page"]:
        del question, thread, journal, name
        yield _Page(self.trial, OutputGate(self.link_hosts))

    async def keep(self, asked: Asked, ended: str, **rest: Any) -> str:
        del rest
        self.trial.asked = asked
        return ended

    async def warn(self, asked: Asked) -> None:
        self.trial.asked = asked

    def tell(self, asked: Asked, ended: str) -> None:
        self.trial.asked, self.trial.ended = asked, ended


class _Journal(TurnJournal):
    """Keeps the steps of the only attempt."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    async def recall(self, name: str) -> Any | None:
        return self._known.get(name)

    async def record(self, name: str, value: Any) -> None:
        self._known[name] = value

    def note(self, name: str, value: Any) -> None:
        self._known[name] = value


@dataclass(slots=True)
class _Page:
    """In place of a stream: its words, as they leave the gate."""

    trial: Trial
    gate: OutputGate
    stopped: bool = False
    posts: tuple[str, ...] = ()

    def text(self, delta: str) -> None:
        self.trial.said += self.gate.feed(delta)

    def task(self, task_id: str, *, title: str, status: TaskStatus, details: str = "") -> None:
        del task_id, details
        if status == "in_progress":
            self.trial.tasks.append(title)

    async def finish(
        self, *, blocks: Sequence[Block] | None = None, text_if_empty: str | None = None
    ) -> tuple[str, ...]:
        self.trial.said += self.gate.close()
        if not self.trial.said.strip() and text_if_empty:
            self.trial.said = self.gate.feed(text_if_empty) + self.gate.close()
        self.trial.under = blocks or ()
        return ()

    async def abandon(self, text: str) -> tuple[str, ...]:
        self.gate.close()
        self.trial.said += f"\n\n{text}" if self.trial.said and text else text
        return ()
