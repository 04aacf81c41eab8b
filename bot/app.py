"""The wiring: every part is built here, once, and handed to the parts that need it. There is no logic here.

open_app        settings -> App, over one exit stack
build_…         the parts of one subject, from those of the subjects before it
serve           run an App until SIGTERM or SIGINT, then drain: all of it, or the part that its role has in a fleet

The server on PORT starts first. If a start can't reach Slack or Postgres, it waits, and /healthz says for what.
"""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from aiohttp import web
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

import handlers
from bot.actions.deciding import Deciding
from bot.actions.dialogs import ActionDialogs, ChangeDialogs, can_prepare
from bot.actions.executing import ActionRunner
from bot.actions.judging import Judging
from bot.actions.messages import ActionMessages
from bot.actions.policy_file import NO_POLICY, Policy, read_policy
from bot.actions.preparing import Preparing
from bot.actions.shop_events import ShopEvents
from bot.actions.stepping import ActionStepping
from bot.agent.agent import Team
from bot.agent.endpoints import Models
from bot.agent.tools import Tool
from bot.cases.assignment import Assignment
from bot.cases.availability import Availability
from bot.cases.bulk import Bulk
from bot.cases.cases import Cases
from bot.cases.dialogs import Dialogs
from bot.cases.drafts import CaseDrafts
from bot.cases.files import FilesNotes
from bot.cases.messages import CaseMessages
from bot.cases.queue import Queue
from bot.cases.relay import Relay
from bot.cases.sla import SlaTimers
from bot.cases.staff import Staff
from bot.cases.step import Stepping
from bot.clock import Clock, SystemClock
from bot.desk.budgets import Allowance, Budgets, paced
from bot.desk.danger.asking import build_sorter
from bot.desk.danger.classifier import load_classifier
from bot.desk.escalate import leaving_cases
from bot.desk.identity import Identities
from bot.desk.own_words import OwnWords, instructions
from bot.desk.rewriting import SecondLook, build_rewriter, look_for_staff
from bot.desk.server_tools import server_tools
from bot.desk.summing_up import build_summarizer
from bot.desk.topics import build_topics
from bot.desk_file.model import DeskFile
from bot.desk_file.reading import read_desk_file
from bot.drafts.drafts import Drafting, build_writer, load_voices
from bot.errors import ConfigurationError, FrontdeskError, StoppedEarly, StoreUnavailable
from bot.guard.claim_patterns import Wording, load_wordings
from bot.guard.values import load_value_words
from bot.help_center.article_folder import ArticleFolder, Publishing
from bot.help_center.articles import Articles
from bot.help_center.index_replication import IndexReplication
from bot.help_center.library import Bases, Library
from bot.help_center.recurrence import read_rule
from bot.help_center.refreshes import Refreshes
from bot.help_center.schedule import Schedule
from bot.home.home import Home
from bot.home.search import CaseSearch
from bot.home.staff_commands import Overview
from bot.images.reader import ImageReader
from bot.ingest.admission import AdmissionControl
from bot.ingest.backfill import Backfill
from bot.ingest.engine import CLEANUP_TIMEOUT, TakeTurn, TurnEngine
from bot.ingest.fair_semaphore import FairSemaphore
from bot.ingest.inbox import Inbox, group_of
from bot.ingest.interrupts import Interrupts
from bot.ingest.lanes import Lanes
from bot.integrations import (
    answer_limits,
    build_library,
    build_rate_limiter,
    find_webhooks,
    meet_slack,
    only_one,
    open_knowledge,
    open_models,
    open_shop,
    open_slack,
    open_traces,
    price_faults,
    secret,
    unpriced,
    wait_for,
)
from bot.language.matching import load_matchers
from bot.language.sentences import Sentences, load_sentences
from bot.learning.channels import Channels
from bot.learning.conversations import ChannelThreads
from bot.learning.fix_lists import FixLists
from bot.learning.suggestions import Learning, build_learners
from bot.learning.things_to_fix import ThingsToFix
from bot.live_files import LiveFile
from bot.models.prices import Prices, load_prices
from bot.models.warm_up import probe, warm_up
from bot.private_files import make_private
from bot.procedures.file import Procedures, read_procedures
from bot.procedures.running import ProcedureRuns
from bot.reporting.customer import CustomerCards
from bot.reporting.desk_metrics import DeskMetrics
from bot.reporting.why import Why
from bot.reporting.work_waiting import WorkWaiting
from bot.settings import Settings
from bot.shops.router import RoutedShop
from bot.slack.api.transport import Identity
from bot.slack.client import SlackClient
from bot.slack.files import FileCopies
from bot.slack.outbox import Outbox
from bot.slack.socket import SocketConnection
from bot.store.database import NEEDS_FLEET, Database, open_database
from bot.store.leases import Membership, open_membership
from bot.store.moving import refuse_moved
from bot.telemetry import Metrics
from bot.turns.agents import build_agents
from bot.turns.answers.answer import Answers
from bot.turns.answers.asking import Agents
from bot.turns.answers.danger_check import DangerCheck
from bot.turns.answers.leftovers import Leftovers
from bot.turns.answers.outages import ModelOutages
from bot.turns.answers.posts import AnswerPosts
from bot.turns.answers.records import AnswerRecords
from bot.turns.answers.refusals import Refusals
from bot.turns.answers.reports import AnswerReports
from bot.turns.answers.streams import AnswerStreams
from bot.turns.answers.waiting_line import WaitingLine
from bot.turns.case_titles import CaseTitles, build_titler
from bot.turns.customer_messages import CustomerMessages
from bot.turns.dead_letters import DeadLetters
from bot.turns.edits import MessageEdits
from bot.turns.erasure import Erasure, watch_erasures
from bot.turns.handover_requests import HandoverRequests
from bot.turns.incoming import Notices
from bot.turns.interactions.action_steps import ActionSteps
from bot.turns.interactions.article_steps import ArticleSteps
from bot.turns.interactions.case_steps import CaseSteps
from bot.turns.interactions.customers import CustomerInteractions
from bot.turns.interactions.draft_steps import DraftSteps
from bot.turns.interactions.interactions import Interactions
from bot.turns.interactions.replies import Replies
from bot.turns.interactions.staff import StaffInteractions
from bot.turns.ownership import EpochReader
from bot.turns.retention import RetentionSweep
from bot.turns.sessions import TurnSessions
from bot.turns.summaries import Summaries
from bot.turns.turn import Turns
from bot.turns.upkeep import Upkeep
from handlers.desk import Desk
from handlers.door import Door
from handlers.hook_senders import build_senders
from handlers.http import Serving, build_metrics_app, build_web_app
from handlers.messages import read_missed

logger = logging.getLogger(__name__)

LANES = 1_000
"""Threads with a row in work; more wait. Answers have a limit of their own, so staff never wait for them."""
EXTRA_THREADS = 50
"""Turns that a process of a fleet takes beyond its concurrent answers: interactions, and what staff write."""
OUTBOX_POLL_SECONDS = 0.3
"""Seconds between two looks of a fleet's process for posts that other processes have queued."""
DRAFTS = 4
"""Cases and articles for which drafts are written at the same time. A case needs three requests to the model."""
SLACK_WATCH_INTERVAL = 15.0
"""Seconds between two looks whether events arrive and the token is taken."""
FILES = 3
"""Files that are held in memory at the same time, on their way to the other side."""
SUMMARIES = 8
"""Long conversations that are summarized at the same time."""
DANGER_CHECKS = 16
"""Messages that the cheap model checks for danger at the same time."""
SHUTDOWN_TIMEOUT = 20.0
"""Seconds from SIGTERM to the end of the process, everything included."""
TURN_DRAIN_TIMEOUT = 15.0
"""Seconds that running turns have to finish after SIGTERM; the next process takes up the rest."""
FLUSH_SECONDS = 3.0
"""Seconds that the outbox then has to send what it holds."""
REQUEST_SECONDS = 3.0
"""Seconds that open requests have to finish when the process ends; Slack does not wait longer either."""
ALONE = (
    "DATABASE_URL: several processes need Postgres (postgresql://…); on SQLite one process does everything: "
    "frontdesk serve"
)
NO_MEMORY = (
    "there was no database: Frontdesk begins without any memory. If it ran here before, its data is lost: "
    "DATA_DIR must be a disk that stays"
)

Role = Literal["serve", "ingress", "work"]
"""What a process does: everything, only take in and store what Slack sends, or only work on what is stored."""


@dataclass(frozen=True, slots=True)
class App:
    """A Frontdesk that is built and not yet running."""

    role: Role
    settings: Settings
    server: "HttpServer"
    me: Identity
    door: Door
    database: Database
    inbox: Inbox
    backfill: Backfill
    engine: TurnEngine
    outbox: Outbox
    shop: RoutedShop | None
    bases: Bases
    models: Models
    schedule: Schedule
    channels: Channels | None
    sla: SlaTimers
    queue: Queue
    fix_lists: FixLists
    assignment: Assignment
    titles: CaseTitles | None
    """None without a cheap model."""
    actions: ActionRunner | None
    shop_events: ShopEvents | None
    """None if the shop sends none."""
    runs: ProcedureRuns | None
    outages: ModelOutages | None
    line: WaitingLine | None
    replication: IndexReplication | None
    """Keeps the knowledge bases of several machines the same. None if there is only one machine."""
    publishing: Publishing
    upkeep: Upkeep
    metrics: Metrics
    slack: SlackClient
    clock: Clock
    desk: LiveFile[DeskFile]
    policy: LiveFile[Policy]
    procedures: LiveFile[Procedures]
    background: set[asyncio.Task[None]]
    """Work that outlives its request. It ends with the server."""
    watches: set[asyncio.Task[None]]
    """Tasks that running turns need. They end after the turns."""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """The HTTP server on PORT."""

    runner: web.AppRunner
    serving: Serving

    async def close(self) -> None:
        """Take no more requests, and finish the open ones. A second call does nothing."""
        await self.runner.cleanup()


@asynccontextmanager
async def open_app(
    settings: Settings, stop: asyncio.Event, *, role: Role = "serve", more_tools: Sequence[Tool] = ()
) -> AsyncIterator[App]:
    """Build everything and close it again in reverse. `more_tools` are offered to all agents that answer.

    Raises:
        ConfigurationError: something is missing or refuses to work; it holds every fault that was found.
        StoppedEarly: `stop` was set while the start waited for Slack or Postgres.
    """
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(open_traces(settings, role))
        server, opened = await _open_surroundings(settings, stop, role, stack)
        database, clock, slack = opened.database, opened.clock, opened.slack
        interrupts = Interrupts()
        inbox = Inbox(database, clock, opened.metrics, interrupts)
        delivery = build_delivery(opened)
        cases = build_cases(opened, delivery)
        actions = build_actions(opened, delivery, parts=cases)
        desk = build_desk(opened, delivery, parts=cases, actions=actions, more_tools=more_tools)
        help_center = build_help_center(opened, delivery)
        help_center.library.look_again = look_for_staff(desk.second_look, opened.metrics)
        metrics = DeskMetrics(opened.me, database, clock, settings.targets.hours, opened.desk.current)
        fix_lists = build_fix_lists(opened, delivery, cases.staff)
        home = Home(
            opened.me,
            slack.views,
            database,
            clock,
            opened.sentences,
            cases.identities,
            cases.staff,
            help_center.library,
            settings.targets.hours,
            partial(metrics.show, in_short=True),
            opened.desk.current,
        )
        turns = build_turns(
            opened,
            delivery,
            parts=cases,
            actions=actions,
            desk=desk,
            articles=help_center.articles,
            home=home,
            inbox=inbox,
            interrupts=interrupts,
        )
        channels = None
        if settings.kb_path is not None:
            channels = Channels(database, clock, delivery.outbox, desk.learning.threads, inbox.accept, settings.kb_path)
        admission = AdmissionControl(partial(group_of, database))
        engine = await stack.enter_async_context(_open_engine(opened, admission.admitting(turns.take)))
        background: set[asyncio.Task[None]] = set()
        watches: set[asyncio.Task[None]] = set()
        _start(watches, admission.run())
        if role != "ingress":
            _start(watches, interrupts.watch(database, clock))
        if not settings.is_shared:
            _start(watches, watch_erasures(database, clock, engine.submit))
        bolt = _build_bolt(slack, opened.me, settings)
        dialogs = Dialogs(slack.chat, slack.views, cases.cases)
        handlers.register(
            bolt,
            Desk(
                me=opened.me,
                chat=slack.chat,
                directory=slack.directory,
                views=slack.views,
                database=database,
                clock=clock,
                sentences=opened.sentences,
                inbox=inbox,
                staff=cases.staff,
                cases=cases.cases,
                dialogs=dialogs,
                action_dialogs=ActionDialogs(dialogs),
                change_dialogs=ChangeDialogs(dialogs, actions.preparing.judging, cases.identities.identify_anew)
                if actions
                else None,
                identities=cases.identities,
                home=home,
                overview=Overview(
                    opened.me,
                    database,
                    clock,
                    settings.targets.hours,
                    cases.assignment.availability,
                    metrics.show,
                    opened.desk.current,
                ),
                metrics=metrics,
                search=CaseSearch(opened.me, database, settings.targets.hours, cases.staff, opened.desk.current),
                fix_lists=fix_lists,
                bulk=Bulk(cases.cases, cases.assignment, cases.staff),
                library=help_center.library,
                refreshes=Refreshes(help_center.library, slack.chat),
                articles=help_center.articles,
                channels=channels,
                start=partial(_start, background),
            ),
        )
        yield App(
            role,
            settings,
            server,
            opened.me,
            Door(bolt, opened.metrics, clock),
            database,
            inbox,
            build_backfill(opened, inbox, cases.staff),
            engine,
            delivery.outbox,
            opened.shop,
            opened.bases,
            opened.models,
            help_center.schedule,
            channels,
            SlaTimers(cases.cases.stepping, slack.chat, slack.directory, settings.desk_lead),
            cases.queue,
            fix_lists,
            cases.assignment,
            build_titles(opened, cases.cases),
            actions.runner if actions else None,
            actions.shop_events if actions else None,
            actions.procedures if actions else None,
            turns.messages.answers.outages,
            turns.messages.answers.line,
            help_center.replication,
            help_center.publishing,
            Upkeep(
                database,
                clock,
                RetentionSweep(
                    database,
                    clock,
                    settings.retention,
                    between=settings.targets.hours.between,
                    wake=delivery.outbox.wake,
                ),
            ),
            opened.metrics,
            slack,
            clock,
            opened.desk,
            opened.policy,
            opened.procedures,
            background,
            watches,
        )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all parts are built on: settings, and what lies outside, opened and checked."""

    settings: Settings
    role: Role
    clock: Clock
    metrics: Metrics
    sentences: Sentences
    prices: Prices
    database: Database
    slack: SlackClient
    me: Identity
    agent_channel: str
    shop: RoutedShop | None
    bases: Bases
    models: Models
    claims: Sequence[Wording]
    """The phrases in which an answer can claim an action."""
    voices: Sequence[str]
    """The instructions for drafts."""
    desk: LiveFile[DeskFile]
    """The desk file in force."""
    policy: LiveFile[Policy]
    """The policy in force."""
    procedures: LiveFile[Procedures]
    """The procedures in force."""
    membership: Membership


async def _open_surroundings(
    settings: Settings, stop: asyncio.Event, role: Role, stack: AsyncExitStack
) -> tuple["HttpServer", Surroundings]:
    """Open what lies outside. The server comes first, and says what the start waits for."""
    clock, metrics, sentences = SystemClock(), Metrics(), load_sentences(settings.sentences_path)
    desk = LiveFile(settings.desk_file, read_desk_file, without=DeskFile(), name="the desk file")
    policy = LiveFile(settings.policy_path, read_policy, without=NO_POLICY, name="the policy")
    none: Procedures = {}
    procedures = LiveFile(settings.procedures_path, read_procedures, without=none, name="the procedures")
    prices = load_prices(settings.model_prices)
    if faults := price_faults(settings, prices):
        raise ConfigurationError(faults)
    for name in unpriced(settings, prices):
        logger.warning("no price is known for a model: its tokens count as free", extra={"model": name})
    if role != "serve" and not settings.is_shared:
        raise ConfigurationError([ALONE])
    stack.enter_context(only_one(settings))
    await asyncio.to_thread(make_private, settings.private_places)
    server = await stack.enter_async_context(_open_server(settings, metrics, role))
    waiting = partial(wait_for, stop=stop, clock=clock, show=partial(setattr, server.serving, "waiting_for"))
    database = await stack.enter_async_context(open_database(settings.database))
    database.observe = metrics.database_entered
    await waiting("the database", database.migrate)
    await waiting("the database", partial(refuse_moved, database))
    slack = await stack.enter_async_context(open_slack(settings, build_rate_limiter(settings, database, clock)))
    slack.api.observe = metrics.slack_called
    me, agent_channel = await waiting("Slack", partial(meet_slack, slack, settings))
    shop = await stack.enter_async_context(open_shop(settings, database)) if settings.has_shop else None
    if shop is not None:
        shop.observe = metrics.shop_called
    bases = await stack.enter_async_context(open_knowledge(settings))
    models = await stack.enter_async_context(open_models(settings, prices))
    for endpoint in (*models.strong, *models.cheap):
        metrics.watch_breaker(endpoint.name, partial(getattr, endpoint.breaker, "is_open"))
        endpoint.first_tokens.observe = partial(metrics.model_spoke, endpoint.name)
    load_value_words()
    load_matchers()
    claims, voices = load_wordings(), load_voices()
    # Steps that block the event loop come before this: a member that renews its lease too late has to end.
    membership = await stack.enter_async_context(
        open_membership(database, clock, role=role, is_alone=not settings.is_shared)
    )
    return server, Surroundings(
        settings,
        role,
        clock,
        metrics,
        sentences,
        prices,
        database,
        slack,
        me,
        agent_channel,
        shop,
        bases,
        models,
        claims,
        voices,
        desk,
        policy,
        procedures,
        membership,
    )


@dataclass(frozen=True, slots=True)
class Delivery:
    """How posts reach Slack, and how those about cases look."""

    outbox: Outbox
    messages: CaseMessages


def build_delivery(opened: Surroundings) -> Delivery:
    """The outbox with its files, and the messages about cases."""
    settings, slack, clock = opened.settings, opened.slack, opened.clock
    notes = FilesNotes(opened.sentences, opened.agent_channel)
    files = FileCopies(opened.database, slack.files, clock, notes, places=asyncio.Semaphore(FILES))
    outbox = Outbox(
        opened.database,
        slack.chat,
        slack.sessions,
        clock,
        essential=(opened.agent_channel, *settings.desk_channels),
        claims=opened.membership if settings.is_shared else None,
        poll_seconds=OUTBOX_POLL_SECONDS if settings.is_shared else None,
        files=files,
    )
    messages = CaseMessages(
        opened.sentences,
        opened.agent_channel,
        targets=settings.targets,
        on_call=settings.on_call_mention,
        pages=settings.urgent_pages == "on",
        desk_file=opened.desk.current,
        escalate_notice=settings.escalate_notice,
        prepares=lambda: opened.shop is not None and can_prepare(opened.policy.current()),
    )
    return Delivery(outbox, messages)


@dataclass(frozen=True, slots=True)
class CaseParts:
    """People: who they are, and how they talk about a case."""

    cases: Cases
    staff: Staff
    queue: Queue
    assignment: Assignment
    relay: Relay
    drafts: CaseDrafts
    identities: Identities


def build_cases(opened: Surroundings, delivery: Delivery) -> CaseParts:
    """Cases, and who may work on them."""
    settings, database, slack, clock = opened.settings, opened.database, opened.slack, opened.clock
    outbox, messages, channel = delivery.outbox, delivery.messages, opened.agent_channel
    cases = Cases(
        Stepping(database, outbox, clock, messages),
        slack.chat,
        slack.directory,
        opened.metrics,
        settings.open_cases,
        settings.desk_channels,
    )
    staff = Staff(
        slack.directory, clock, agent_channel=channel, others=settings.desk_channels, group=settings.staff_group
    )
    queue = Queue(cases.stepping, staff, slack.chat, slack.directory)
    availability = Availability(database, slack.directory, clock)
    assignment = Assignment(
        cases.stepping, staff, slack.directory, availability, settings.assign, settings.away_minutes
    )
    relay = Relay(database, outbox, slack.chat, slack.directory, clock, messages, staff)
    drafts = CaseDrafts(database, outbox, clock, relay, channel)
    return CaseParts(cases, staff, queue, assignment, relay, drafts, Identities(slack.directory, opened.shop, database))


def build_fix_lists(opened: Surroundings, delivery: Delivery, staff: Staff) -> FixLists:
    """The lists of things to fix, on Monday and by a command."""
    return FixLists(
        opened.me,
        opened.database,
        delivery.outbox,
        opened.slack.chat,
        opened.clock,
        staff,
        opened.settings.targets.hours,
        ThingsToFix(opened.database, opened.bases.public, staff),
        opened.desk.current,
    )


def build_backfill(opened: Surroundings, inbox: Inbox, staff: Staff) -> Backfill:
    """What reads after an outage what people wrote meanwhile."""
    slack, read = opened.slack, partial(read_missed, me=opened.me, team_channels=staff.channels)
    return Backfill(slack.chat, slack.directory, opened.database, inbox, opened.clock, read)


@dataclass(frozen=True, slots=True)
class ActionParts:
    """What changes orders. None of it is there without a shop."""

    preparing: Preparing
    runner: ActionRunner
    deciding: Deciding
    shop_events: ShopEvents | None
    """None if the shop sends none."""
    procedures: ProcedureRuns | None
    """None without any."""


def build_actions(opened: Surroundings, delivery: Delivery, *, parts: CaseParts) -> ActionParts | None:
    """What prepares, confirms and carries out changes of orders."""
    if opened.shop is None:
        return None
    settings, cases = opened.settings, parts.cases
    hours = settings.targets.hours
    messages = ActionMessages(opened.sentences, opened.agent_channel, hours)
    stepping = ActionStepping(opened.database, delivery.outbox, opened.clock, messages, opened.metrics)
    judging = Judging(opened.database, opened.clock, opened.shop, opened.policy.current, settings.desk_zone)
    preparing = Preparing(stepping, judging, settings.action_minutes, settings.action_offers_per_hour)
    identify = parts.identities.identify_anew
    runner = ActionRunner(stepping, preparing, cases, identify, opened.membership, is_alone=not settings.is_shared)
    deciding = Deciding(stepping, preparing, runner, cases, identify, approval_minutes=settings.approval_minutes)
    runs = None
    if settings.procedures_path is not None:
        runs = ProcedureRuns(
            opened.database, opened.clock, opened.procedures.current, preparing, cases, identify, opened.metrics
        )
    sends_events = bool(settings.shop_webhook_secret or find_webhooks(settings))
    events = ShopEvents(opened.database, opened.clock, runner) if sends_events else None
    return ActionParts(preparing, runner, deciding, events, runs)


@dataclass(frozen=True, slots=True)
class DeskParts:
    """Everything that asks models for words."""

    agents: Callable[[], Agents]
    budgets: Budgets
    drafting: Drafting
    learning: Learning
    second_look: SecondLook


def build_desk(
    opened: Surroundings,
    delivery: Delivery,
    *,
    parts: CaseParts,
    actions: ActionParts | None,
    more_tools: Sequence[Tool],
) -> DeskParts:
    """The agents that answer, and those that write drafts for staff and suggest articles."""
    settings, database, clock, cases = opened.settings, opened.database, opened.clock, parts.cases
    knowledge = opened.bases.public
    shop = opened.desk.current().shop
    second_look = SecondLook(knowledge, opened.models.only_cheap, build_rewriter(shop_name=shop))

    def bounded(team: Team) -> Team:
        return paced(leaving_cases(team, database), database, clock, per_minute=settings.tool_calls_per_minute)

    agents = partial(
        build_agents,
        knowledge=knowledge,
        second_look=second_look,
        sentences=opened.sentences,
        clock=clock,
        cases=cases,
        shop=opened.shop,
        models=opened.models,
        wordings=opened.claims,
        link_hosts=settings.link_hosts,
        own_words=OwnWords(settings.secrets, instructions()),
        layout=settings.agents,
        takes_apart=settings.compound_answers == "split",
        checks=settings.check_answers == "on",
        preparing=actions.preparing if actions else None,
        procedures=actions.procedures if actions else None,
        more_tools=(*more_tools, *server_tools(opened.shop.tool_servers if opened.shop else ())),
        bounded=bounded,
    )
    budgets = Budgets(
        database,
        clock,
        opened.metrics,
        customer_daily=settings.customer_daily_cost,
        workspace_daily=settings.workspace_daily_cost,
        answer_cost=settings.answer_cost,
    )
    drafting = Drafting(
        database=database,
        chat=opened.slack.chat,
        outbox=delivery.outbox,
        clock=clock,
        knowledge=knowledge,
        second_look=second_look,
        models=opened.models,
        writer=opened.desk.follow(build_writer),
        voices=opened.voices,
        wordings=opened.claims,
        drafts=parts.drafts,
        link_hosts=settings.link_hosts,
        budgets=budgets,
        metrics=opened.metrics,
        places=asyncio.Semaphore(DRAFTS),
    )
    learning = Learning(
        database=database,
        chat=opened.slack.chat,
        outbox=delivery.outbox,
        clock=clock,
        knowledge=knowledge,
        models=opened.models,
        team=build_learners(opened.desk.current().shop),
        budgets=budgets,
        metrics=opened.metrics,
        agent_channel=opened.agent_channel,
        threads=ChannelThreads(opened.me, opened.slack.chat, opened.slack.directory, parts.staff, opened.agent_channel),
        places=asyncio.Semaphore(DRAFTS),
        is_on=settings.kb_path is not None,
    )
    return DeskParts(opened.desk.follow(agents), budgets, drafting, learning, second_look)


@dataclass(frozen=True, slots=True)
class HelpCenter:
    """The knowledge base as staff and time change it."""

    articles: Articles
    library: Library
    publishing: Publishing
    schedule: Schedule
    replication: IndexReplication | None


def build_help_center(opened: Surroundings, delivery: Delivery) -> HelpCenter:
    """The articles that staff add, and what keeps the indexes up to date."""
    settings, database, clock, bases = opened.settings, opened.database, opened.clock, opened.bases
    changes = asyncio.Event()
    articles = Articles(database, opened.slack.chat, delivery.outbox, clock, bases.public, changed=changes.set)
    shelf = ArticleFolder(settings.data_dir, database)
    library = build_library(settings, bases, clock=clock, database=database, prices=opened.prices, shelf=shelf)
    publishing = Publishing(shelf, clock, library.publish, articles.expire, changes)
    rule = read_rule(settings.kb_refresh) if settings.kb_refresh else None
    schedule = Schedule(database, clock, rule, partial(_refresh, library), is_urgent=lambda: bases.are_damaged)
    replication = None
    if settings.is_shared:
        replication = IndexReplication(bases.by_audience(), database, clock, library.catch_up)
    return HelpCenter(articles, library, publishing, schedule, replication)


def build_answers(
    opened: Surroundings, delivery: Delivery, *, parts: CaseParts, preparing: Preparing | None, desk: DeskParts
) -> Answers:
    """What writes an answer into a thread."""
    settings, database, slack, clock = opened.settings, opened.database, opened.slack, opened.clock
    sentences, outbox = opened.sentences, delivery.outbox
    posts = AnswerPosts(opened.me.team, database, slack.directory, outbox, clock, sentences)
    sessions = TurnSessions(database, slack.sessions, sentences)
    slots = FairSemaphore(settings.concurrent_answers)
    return Answers(
        sentences=sentences,
        agents=desk.agents,
        limits=answer_limits(settings),
        cases=parts.cases,
        slots=slots,
        sessions=sessions,
        posts=posts,
        leftovers=Leftovers(database, slack, clock, sentences, posts),
        streams=AnswerStreams(database, slack, EpochReader(database), settings.link_hosts, clock, opened.metrics),
        records=AnswerRecords(database, clock, preparing, sessions),
        reports=AnswerReports(database, outbox, clock, opened.metrics, opened.agent_channel),
        outages=ModelOutages(parts.cases.stepping, opened.models, probe, opened.agent_channel),
        line=WaitingLine(database, clock, sessions, slots, opened.membership),
    )


def build_interactions(
    opened: Surroundings,
    *,
    parts: CaseParts,
    actions: ActionParts | None,
    desk: DeskParts,
    articles: Articles,
    inbox: Inbox,
    erasure: Erasure,
) -> Interactions:
    """What the buttons do."""
    database, slack, clock, sentences = opened.database, opened.slack, opened.clock, opened.sentences
    cases, identities, replies = parts.cases, parts.identities, Replies(slack.chat)
    customers = CustomerCards(database, clock, identities, opened.shop)
    why = Why(database, opened.bases.public)
    case_steps = CaseSteps(cases, parts.queue, parts.assignment, parts.relay, why, customers, replies)
    draft_steps = DraftSteps(database, clock, desk.drafting, parts.drafts, replies)
    article_steps = ArticleSteps(database, clock, desk.learning, articles, replies)
    of_actions = ActionSteps(actions.deciding, slack.chat, sentences, replies) if actions else None
    return Interactions(
        customers=CustomerInteractions(
            database, sentences, identities, cases, replies, of_actions.for_customers() if of_actions else {}
        ),
        staff=StaffInteractions(
            cases,
            replies,
            accept=inbox.accept,
            steps={
                **case_steps.table(),
                **draft_steps.table(),
                **article_steps.table(),
                **(of_actions.for_staff() if of_actions else {}),
            },
            abandons={"case.draft": draft_steps.abandon, "kb.suggest": article_steps.abandon},
        ),
        handover_requests=HandoverRequests(
            opened.me, database, slack.chat, slack.directory, clock, sentences, identities, cases
        ),
        erasure=erasure,
    )


def build_turns(
    opened: Surroundings,
    delivery: Delivery,
    *,
    parts: CaseParts,
    actions: ActionParts | None,
    desk: DeskParts,
    articles: Articles,
    home: Home,
    inbox: Inbox,
    interrupts: Interrupts,
) -> Turns:
    """What becomes of a stored row."""
    settings, database, slack, clock = opened.settings, opened.database, opened.slack, opened.clock
    sentences, outbox, cases, identities = opened.sentences, delivery.outbox, parts.cases, parts.identities
    preparing = actions.preparing if actions else None
    answers = build_answers(opened, delivery, parts=parts, preparing=preparing, desk=desk)
    edits = MessageEdits(database, outbox, clock, sentences, answers.leftovers, parts.relay, preparing)
    erasure = Erasure(
        database,
        outbox,
        clock,
        slack.directory,
        identities,
        cases,
        edits,
        interrupts,
        home.show,
        desk.second_look.forget,
    )
    interactions = build_interactions(
        opened, parts=parts, actions=actions, desk=desk, articles=articles, inbox=inbox, erasure=erasure
    )
    summaries = Summaries(
        database=database,
        clock=clock,
        metrics=opened.metrics,
        models=opened.models,
        team=build_summarizer(shop_name=opened.desk.current().shop),
        window=settings.conversation_characters,
        turns=settings.conversation_turns,
        places=asyncio.Semaphore(SUMMARIES),
    )
    notices = Notices(database, outbox, clock, sentences)
    allowance = Allowance(clock, settings.customer_messages_per_minute, settings.customer_messages_per_day)
    messages = CustomerMessages(
        database=database,
        clock=clock,
        sentences=sentences,
        identities=identities,
        answers=answers,
        leftovers=answers.leftovers,
        budgets=desk.budgets,
        cases=cases,
        relay=parts.relay,
        summaries=summaries,
        edits=edits,
        sessions=answers.sessions,
        notices=notices,
        refusals=Refusals(database, outbox, clock, cases, parts.relay, notices, opened.metrics, allowance),
        topics=opened.desk.follow(build_topics),
        images=ImageReader(opened.slack.files, opened.models.take_images),
        danger_check=_build_danger_check(opened),
        changes=preparing,
        procedures=actions.procedures if actions else None,
    )
    return Turns(
        database=database,
        outbox=outbox,
        clock=clock,
        messages=messages,
        relay=parts.relay,
        interactions=interactions,
        edits=edits,
        dead_letters=DeadLetters(identities, cases, parts.relay, interactions, edits, answers.leftovers, notices),
        leftovers=answers.leftovers,
        summaries=summaries,
        sessions=answers.sessions,
        metrics=opened.metrics,
        interrupts=interrupts,
        allowance=allowance,
    )


def build_titles(opened: Surroundings, cases: Cases) -> CaseTitles | None:
    """What names cases better than the rules do. None without a cheap model."""
    if not opened.models.only_cheap:
        return None
    team = build_titler(shop_name=opened.desk.current().shop)
    return CaseTitles(cases, opened.database, opened.clock, opened.metrics, opened.models.only_cheap, team)


def _build_danger_check(opened: Surroundings) -> DangerCheck | None:
    """None without a cheap model."""
    if not opened.models.only_cheap:
        return None
    return DangerCheck(
        database=opened.database,
        clock=opened.clock,
        metrics=opened.metrics,
        models=opened.models.only_cheap,
        team=build_sorter(shop_name=opened.desk.current().shop),
        places=asyncio.Semaphore(DANGER_CHECKS),
    )


def _open_engine(opened: Surroundings, take: TakeTurn) -> AbstractAsyncContextManager[TurnEngine]:
    """Lanes on SQLite. On Postgres the queue that all processes share, and from which only workers take."""
    settings, clock = opened.settings, opened.clock
    if not settings.is_shared:
        return nullcontext(Lanes(take, clock, concurrent=LANES))
    try:
        # The only import of DBOS; SQLite does without it.
        from bot.ingest.fleet import open_fleet
    except ImportError:
        raise ConfigurationError([NEEDS_FLEET]) from None
    concurrent = settings.concurrent_answers + EXTRA_THREADS
    return open_fleet(
        settings.database,
        opened.database,
        clock,
        take,
        opened.membership,
        concurrent=concurrent,
        works=opened.role != "ingress",
    )


async def serve(settings: Settings, *, role: Role = "serve", more_tools: Sequence[Tool] = ()) -> int:
    """Run what the role says until SIGTERM or SIGINT, and return the exit status.

    Raises:
        FrontdeskError: the process cannot serve.
    """
    stop, hangup, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    if settings.has_live_files:
        loop.add_signal_handler(signal.SIGHUP, hangup.set)
    try:
        async with open_app(settings, stop, role=role, more_tools=more_tools) as app:
            await _run(app, stop, hangup)
    except* StoppedEarly:
        logger.info("asked to stop before it was ready")
    except* FrontdeskError as failures:
        raise _first(failures) from None
    logger.info("stopped")
    return 0


async def _run(app: App, stop: asyncio.Event, hangup: asyncio.Event) -> None:
    """Run everything side by side until `stop`, then wind it up. `hangup` has the files of the operator read
    again, also if it was set during the start.
    """
    if app.role != "ingress":
        await asyncio.to_thread(load_classifier)
    _start(app.background, _reload_files(app, hangup))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(app.outbox.run()), tasks.create_task(app.inbox.run(app.engine))]
        if app.settings.kb_path is not None:
            if app.replication is not None:
                await app.replication.begin()
                _start(app.background, app.replication.run())
            if app.role != "ingress":
                _start(app.background, app.schedule.run())
            if app.role != "ingress" and app.channels is not None:
                _start(app.background, app.channels.run())
            _start(app.background, app.publishing.run())
        if app.role != "ingress":
            if app.titles is not None:
                _start(app.background, app.titles.run())
            _start(app.background, app.sla.run())
            _start(app.background, app.queue.run())
            _start(app.background, app.fix_lists.run())
            _start(app.background, app.assignment.run())
            if app.outages is not None:
                _start(app.background, app.outages.run(app.engine.submit))
            if app.line is not None:
                _start(app.background, app.line.run())
            if app.actions is not None:
                _start(app.background, app.actions.run())
            if app.shop_events is not None:
                _start(app.background, app.shop_events.run())
            if app.runs is not None:
                _start(app.background, app.runs.run())
            _start(app.background, warm_up(app.models))
        _start(app.background, app.upkeep.run())
        channels = [each for each in (app.settings.agent_channel, *app.settings.desk_channels) if each]
        _start(app.background, WorkWaiting(app.database, app.clock, app.metrics, channels).run())
        resumed = await app.engine.resume(app.database)
        async with _listening(app, stop):
            ready = {"role": app.role, "team": app.me.team, "resumed": resumed, "port": app.settings.port}
            if app.database.is_new:
                logger.warning(NO_MEMORY, extra={"data": str(app.settings.data_dir)})
            # The objects of a start live on: to scan them for garbage would block the event loop.
            gc.collect()
            gc.freeze()
            logger.info("ready", extra=ready)
            await stop.wait()
            end = app.clock.monotonic() + SHUTDOWN_TIMEOUT
            logger.info("stopping")
        await wind_up(app, end)
        for task in running:
            task.cancel()


async def _reload_files(app: App, hangup: asyncio.Event) -> None:
    while True:
        await hangup.wait()
        hangup.clear()
        _start(app.background, app.desk.reload())
        _start(app.background, app.policy.reload())
        _start(app.background, app.procedures.reload())


async def wind_up(app: App, end: float) -> None:
    """Finish running work by `end` of the monotonic clock. The next process takes up what is not done by then."""

    def left() -> float:
        return max(0.0, end - app.clock.monotonic())

    for work in app.background:
        work.cancel()
    await app.engine.drain(min(TURN_DRAIN_TIMEOUT, max(0.0, left() - CLEANUP_TIMEOUT)))
    if app.actions is not None:
        await app.actions.drain(max(0.0, left() - CLEANUP_TIMEOUT))
    for work in app.watches:
        work.cancel()
    if ending := {*app.background, *app.watches}:
        await asyncio.wait(ending, timeout=left())
    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(left()):
            await app.outbox.flush(FLUSH_SECONDS)


def _first(failures: BaseExceptionGroup[FrontdeskError]) -> FrontdeskError:
    """The first failure inside a group of groups."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure


@asynccontextmanager
async def _listening(app: App, stop: asyncio.Event) -> AsyncIterator[None]:
    """Take events, over HTTP or by Socket Mode, and end before turns are drained. A pure worker takes none."""
    settings, serving = app.settings, app.server.serving
    answers = app.role != "ingress"
    by_socket = app.role != "work" and settings.slack_app_token is not None
    socket = _build_socket(app) if by_socket else None

    async def missing() -> str | None:
        if socket is not None and not await socket.is_ready():
            return "the Socket Mode connection"
        if answers and settings.kb_path is not None and (status := await app.bases.public.status()).generation is None:
            return f"the knowledge base: {'it is being built' if status.building else status.error}"
        if fault := await app.slack.api.find_token_fault():
            return f"Slack refuses SLACK_BOT_TOKEN: {fault}"
        return app.outbox.stuck

    async def impaired() -> str | None:
        if (fault := await app.inbox.find_fault()) is not None:
            return f"the database: {fault}"
        if (fault := app.door.impaired) is not None:
            return fault
        if app.upkeep.fault is not None:
            return app.upkeep.fault
        if (fault := app.desk.fault or app.policy.fault or app.procedures.fault) is not None:
            return fault
        faults = app.models.faults() if answers else []
        faults += app.shop.faults() if app.shop else []
        fault = (await app.bases.public.status()).error
        if settings.kb_path is not None and fault:
            faults.append(f"the knowledge base: {fault}")
        return "; ".join(faults) or None

    async def takes_events() -> bool:
        return socket is None or await socket.is_ready()

    serving.missing, serving.degraded, serving.door = missing, impaired, app.door
    serving.shop_events = app.shop_events
    serving.left_out = app.models.left_out
    try:
        if socket is not None:
            await _connect(socket, stop)
        if app.role != "work":
            _start(app.background, app.backfill.run(takes_events))
        _start(app.background, _watch_slack(app, takes_events))
        yield
    finally:
        if socket is not None:
            await socket.close()  # type: ignore[no-untyped-call]
        await app.server.close()


async def _watch_slack(app: App, takes_events: Callable[[], Awaitable[bool]]) -> None:
    """Note whether events arrive, and notice a dead token though nobody writes."""
    while True:
        app.metrics.watch_socket(is_up=await takes_events())
        await app.slack.api.find_token_fault()
        await app.clock.sleep(SLACK_WATCH_INTERVAL)


@asynccontextmanager
async def _open_server(settings: Settings, metrics: Metrics, role: Role) -> AsyncIterator[HttpServer]:
    """Listen on PORT while nothing behind it is ready yet."""
    serving = Serving()
    senders = build_senders(settings.shop_webhook_key, find_webhooks(settings))
    routes = build_web_app(
        serving,
        metrics=metrics if settings.metrics_port is None else None,
        takes_events=role != "work" and settings.slack_app_token is None,
        signing_secret=secret(settings.slack_signing_secret),
        senders=senders if role != "work" else (),
    )
    async with AsyncExitStack() as stack:
        runner = await _serve(stack, routes, settings.host, settings.port, name="PORT")
        if settings.metrics_port is not None:
            await _serve(stack, build_metrics_app(metrics), settings.host, settings.metrics_port, name="METRICS_PORT")
        yield HttpServer(runner, serving)


async def _serve(stack: AsyncExitStack, routes: web.Application, host: str, port: int, *, name: str) -> web.AppRunner:
    """Answer requests on a port until the stack is closed. Raises ConfigurationError when the port is taken."""
    runner = web.AppRunner(routes, access_log=None, shutdown_timeout=REQUEST_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise ConfigurationError([f"{name}: cannot listen on {host}:{port} ({error.strerror})"]) from None
    return runner


def _build_socket(app: App) -> SocketConnection:
    """The Socket Mode connection that brings events, with the door behind it."""
    socket = SocketConnection(app.slack.api, secret(app.settings.slack_app_token), app.clock)
    socket.socket_mode_request_listeners.append(dispatch_to(app.door, app.clock))
    return socket


def dispatch_to(door: Door, clock: Clock) -> Callable[[Any, Any], Awaitable[None]]:
    """A listener that hands requests of a Socket Mode client to the door, and acknowledges them."""

    async def dispatch(client: Any, request: Any) -> None:
        started = clock.now()
        await send_async_response(client, request, await door.take(request.payload), started)

    return dispatch


async def _connect(socket: SocketConnection, stop: asyncio.Event) -> None:
    """Connect and wait for Slack's hello. It retries without end until `stop` is set."""

    async def connect() -> None:
        await socket.connect()
        await socket.greeted()

    connecting = asyncio.create_task(connect())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({connecting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if connecting.done():
            connecting.result()
    finally:
        for task in (connecting, stopping):
            task.cancel()


def _build_bolt(slack: SlackClient, me: Identity, settings: Settings) -> AsyncApp:
    """Bolt with our own authorization: its default asks Slack at the first event, and a failure loses that event."""
    answer = AuthorizeResult(
        enterprise_id=None,
        team_id=me.team,
        bot_token=secret(settings.slack_bot_token),
        bot_id=me.bot_id,
        bot_user_id=me.user,
    )

    async def authorize() -> AuthorizeResult:
        # There is one workspace. An interaction's team is that of the person, who in Slack Connect may be from another.
        return answer

    return AsyncApp(
        name="frontdesk",
        logger=logging.getLogger("slack_bolt"),
        client=slack.api.web,
        authorize=authorize,
        signing_secret=secret(settings.slack_signing_secret),
        # The guard in handlers/http.py has checked the raw bytes; the connection itself authenticates Socket Mode.
        request_verification_enabled=False,
    )


async def _refresh(library: Library) -> None:
    """Read what has changed in KB_PATH. Build the knowledge base if there is none yet."""
    logger.info("the knowledge base is read", extra={"report": await library.refresh_all()})


def _start(background: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)
    background.add(task)
    task.add_done_callback(background.discard)
    task.add_done_callback(_report)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("work in the background failed", exc_info=error)
