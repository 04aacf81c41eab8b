"""Answers for tests."""

import asyncio
from dataclasses import replace
from typing import Any, cast

from bot.cases.cases import Cases
from bot.cases.files import FilesNotes
from bot.cases.messages import CaseMessages
from bot.cases.relay import Relay
from bot.cases.staff import Staff
from bot.clock import Clock
from bot.conversation import Customer
from bot.language.sentences import load_sentences
from bot.slack.client import SlackClient
from bot.slack.files import FileCopies
from bot.slack.outbox import Outbox
from bot.store.database import Database
from bot.telemetry import Metrics
from bot.turns.answer import Answers
from bot.turns.answer_posts import AnswerPosts
from bot.turns.leftovers import Leftovers
from bot.turns.ownership import EpochReader
from bot.turns.sessions import TurnSessions
from tests.turns.arrivals import ME, TEAM

CUSTOMER = Customer(TEAM, "U0CUSTOMERA", "Customer A", "en-US", "member")


class KnownCustomer:
    """Knows who writes."""

    async def identify(self, user: str, with_shop: bool = True) -> Customer:
        """As Identities.identify."""
        return CUSTOMER


def build_outbox(database: Database, slack: SlackClient, clock: Clock) -> Outbox:
    """An outbox that carries files."""
    notes = FilesNotes(load_sentences(), "C0AGENTS")
    files = FileCopies(database, slack.files, clock, notes, places=asyncio.Semaphore(1))
    return Outbox(database, slack.chat, slack.sessions, clock, essential=["C0AGENTS"], files=files)


def build_answers(database: Database, slack: SlackClient, clock: Clock) -> Answers:
    """Answers that have nobody to ask."""
    sentences, metrics, nothing = load_sentences(), Metrics(), cast(Any, None)
    outbox, messages = build_outbox(database, slack, clock), CaseMessages(sentences, "C0AGENTS")
    posts = AnswerPosts(ME.team, database, slack.directory, outbox, clock, sentences)
    return Answers(
        database=database,
        slack=slack,
        outbox=outbox,
        clock=clock,
        sentences=sentences,
        agents=nothing,
        limits=nothing,
        link_hosts=frozenset(),
        cases=Cases(database, outbox, slack.chat, slack.directory, clock, messages, metrics),
        slots=nothing,
        metrics=metrics,
        epochs=EpochReader(database),
        sessions=TurnSessions(database, slack.sessions, sentences),
        posts=posts,
        leftovers=Leftovers(database, slack, clock, sentences, posts),
    )


def with_database(answers: Answers, database: Database) -> Answers:
    """The same answers in another database. Their cases stay."""
    posts = replace(answers.posts, database=database)
    leftovers = replace(answers.leftovers, database=database, posts=posts)
    return replace(answers, database=database, posts=posts, leftovers=leftovers)


def build_relay(database: Database, outbox: Outbox, slack: SlackClient, clock: Clock) -> Relay:
    """The relay of a team that has one channel."""
    staff = Staff(slack.directory, clock, agent_channel="C0AGENTS")
    return Relay(
        database, outbox, slack.chat, slack.directory, clock, CaseMessages(load_sentences(), "C0AGENTS"), staff
    )
