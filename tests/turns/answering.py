"""Answers and turns for tests."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from bot.cases.cases import Cases
from bot.cases.files import FilesNotes
from bot.cases.messages import CaseMessages
from bot.cases.relay import Relay
from bot.cases.staff import Staff
from bot.cases.step import Stepping
from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.topics import Topics
from bot.images.reader import ImageReader
from bot.ingest.interrupts import Interrupts
from bot.language.sentences import load_sentences
from bot.slack.client import SlackClient
from bot.slack.files import FileCopies
from bot.slack.outbox import Outbox
from bot.store.database import Database
from bot.telemetry import Metrics
from bot.turns.answers.answer import Answers
from bot.turns.answers.leftovers import Leftovers
from bot.turns.answers.posts import AnswerPosts
from bot.turns.answers.records import AnswerRecords
from bot.turns.answers.refusals import Refusals
from bot.turns.answers.reports import AnswerReports
from bot.turns.answers.streams import AnswerStreams
from bot.turns.customer_messages import CustomerMessages
from bot.turns.dead_letters import DeadLetters
from bot.turns.incoming import Notices
from bot.turns.ownership import EpochReader
from bot.turns.sessions import TurnSessions
from bot.turns.turn import Turns
from tests.turns.arrivals import ME, TEAM

CUSTOMER = Customer(TEAM, "U0CUSTOMERA", "Customer A", "en-US", "member")


class KnownCustomer:
    """Knows who writes."""

    async def identify(self, user: str, with_shop: bool = True) -> Customer:
        """As Identities.identify."""
        return CUSTOMER


class Untouched:
    """Stands for a part that must not be used."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used")


NOTHING: Any = Untouched()


@dataclass(frozen=True)
class TurnParts:
    """What turns are built from. What a test does not name must not be used."""

    database: Database
    clock: Clock
    metrics: Metrics
    sessions: Any
    outbox: Any = NOTHING
    answers: Any = NOTHING
    leftovers: Any = NOTHING
    cases: Any = NOTHING
    identities: Any = NOTHING
    relay: Any = NOTHING
    budgets: Any = NOTHING
    edits: Any = NOTHING
    summaries: Any = NOTHING
    interrupts: Interrupts | None = None
    images: Any = field(default_factory=lambda: ImageReader(cast("Any", None), lambda: False))
    danger_check: Any = None
    topics: Topics = field(default_factory=Topics)

    @classmethod
    def around(cls, answers: Answers, /, **parts: Any) -> "TurnParts":
        """The parts that these answers use, and those that are named."""
        return cls(
            **{
                "database": answers.records.database,
                "clock": answers.records.clock,
                "metrics": answers.reports.metrics,
                "sessions": answers.sessions,
                "outbox": answers.posts.outbox,
                "answers": answers,
                "leftovers": answers.leftovers,
                "cases": answers.cases,
                **parts,
            }
        )

    def build(self) -> Turns:
        """Turns of these parts."""
        sentences = load_sentences()
        notices = Notices(self.database, self.outbox, self.clock, sentences)
        refusals = Refusals(self.database, self.outbox, self.clock, self.cases, self.relay, notices, self.metrics)
        messages = CustomerMessages(
            database=self.database,
            clock=self.clock,
            sentences=sentences,
            identities=self.identities,
            answers=self.answers,
            leftovers=self.leftovers,
            budgets=self.budgets,
            cases=self.cases,
            relay=self.relay,
            summaries=self.summaries,
            edits=self.edits,
            sessions=self.sessions,
            notices=notices,
            refusals=refusals,
            images=self.images,
            danger_check=self.danger_check,
            topics=lambda: self.topics,
        )
        dead_letters = DeadLetters(
            self.identities, self.cases, self.relay, NOTHING, self.edits, self.leftovers, notices
        )
        return Turns(
            database=self.database,
            outbox=self.outbox,
            clock=self.clock,
            messages=messages,
            relay=self.relay,
            interactions=NOTHING,
            edits=self.edits,
            dead_letters=dead_letters,
            leftovers=self.leftovers,
            summaries=self.summaries,
            sessions=self.sessions,
            metrics=self.metrics,
            interrupts=self.interrupts or Interrupts(),
        )


def build_outbox(database: Database, slack: SlackClient, clock: Clock) -> Outbox:
    """An outbox that carries files."""
    notes = FilesNotes(load_sentences(), "C0AGENTS")
    files = FileCopies(database, slack.files, clock, notes, places=asyncio.Semaphore(1))
    return Outbox(database, slack.chat, slack.sessions, clock, essential=["C0AGENTS"], files=files)


def build_cases(
    database: Database,
    outbox: Outbox,
    slack: SlackClient,
    clock: Clock,
    *,
    messages: CaseMessages | None = None,
    metrics: Metrics | None = None,
    desks: Mapping[str, str] | None = None,
) -> Cases:
    """The cases of a team whose main desk is the channel C0AGENTS."""
    stepping = Stepping(database, outbox, clock, messages or CaseMessages(load_sentences(), "C0AGENTS"))
    return Cases(stepping, slack.chat, slack.directory, metrics or Metrics(), desks=desks or {})


def build_answers(database: Database, slack: SlackClient, clock: Clock) -> Answers:
    """Answers that have nobody to ask."""
    sentences, metrics, nothing = load_sentences(), Metrics(), cast(Any, None)
    outbox = build_outbox(database, slack, clock)
    posts = AnswerPosts(ME.team, database, slack.directory, outbox, clock, sentences)
    return Answers(
        sentences=sentences,
        agents=nothing,
        limits=nothing,
        cases=build_cases(database, outbox, slack, clock, metrics=metrics),
        slots=nothing,
        sessions=TurnSessions(database, slack.sessions, sentences),
        posts=posts,
        leftovers=Leftovers(database, slack, clock, sentences, posts),
        streams=AnswerStreams(database, slack, EpochReader(database), frozenset(), clock, metrics),
        records=AnswerRecords(database, clock),
        reports=AnswerReports(database, outbox, clock, metrics),
    )


def with_database(answers: Answers, database: Database) -> Answers:
    """The same answers in another database. Their cases stay."""
    posts = replace(answers.posts, database=database)
    return replace(
        answers,
        posts=posts,
        leftovers=replace(answers.leftovers, database=database, posts=posts),
        streams=replace(answers.streams, database=database),
        records=replace(answers.records, database=database),
        reports=replace(answers.reports, database=database),
    )


def build_relay(database: Database, outbox: Outbox, slack: SlackClient, clock: Clock) -> Relay:
    """The relay of a team that has one channel."""
    staff = Staff(slack.directory, clock, agent_channel="C0AGENTS")
    return Relay(
        database, outbox, slack.chat, slack.directory, clock, CaseMessages(load_sentences(), "C0AGENTS"), staff
    )
