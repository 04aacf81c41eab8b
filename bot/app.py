"""The wiring: every part is built here, once, and handed to the parts that need it. No logic.

open_app        settings -> App, over one exit stack
serve           run an App until SIGTERM or SIGINT, then drain
check           everything that is wrong, without serving
notes           what is worth knowing and not wrong
open_knowledge  the knowledge bases alone, for the command line
build_library   what staff and operators do with them
"""

import asyncio
import fcntl
import logging
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from pydantic import SecretStr
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

import handlers
from bot.agent.endpoints import Endpoint, Models
from bot.agent.limits import Limits
from bot.agent.prices import Prices, load_prices
from bot.agent.providers import Server, address_faults, open_model, reasons
from bot.cases.cases import Cases
from bot.cases.drafts import CaseDrafts
from bot.cases.messages import CaseMessages
from bot.cases.relay import Relay
from bot.cases.staff import Staff
from bot.clock import Clock, SystemClock
from bot.desk.budgets import Budgets, paced
from bot.desk.claim_patterns import load_wordings
from bot.desk.drafts import Drafting, build_writer, load_voices
from bot.desk.identity import Identities
from bot.desk.library import Bases, Library
from bot.desk.recurrence import read_rule
from bot.desk.schedule import Schedule
from bot.desk.summing_up import build_summarizer
from bot.desk.team import build_checker, build_lead, build_team
from bot.errors import ConfigurationError, FrontdeskError
from bot.sentences import load_sentences
from bot.settings import Settings
from bot.shops.port import ShopUnavailable
from bot.shops.rest import RestShop, open_rest_shop
from bot.slack.client import Identity, SlackClient, SlackRefused, SlackUnanswered, open_slack_client
from bot.slack.outbox import Outbox
from bot.store.database import Database, open_database
from bot.telemetry import Metrics
from bot.turns.answer import Answers
from bot.turns.asking import Agents
from bot.turns.inbox import Inbox
from bot.turns.lanes import Lanes
from bot.turns.presses import Presses
from bot.turns.summaries import Summaries
from bot.turns.turn import Turns
from handlers.desk import Desk
from handlers.http import build_web_app
from knowledge.config import Config, read_config
from knowledge.embedding.embedder import Embedder
from knowledge.embedding.folder import FolderEmbedder
from knowledge.embedding.openai import OpenAIEmbedder
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import EmbedderFailed, SourcesFaulty
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base

logger = logging.getLogger(__name__)

LANES = 1_000
"""Threads with a row in work; more wait. Answers have a bound of their own, so that staff never wait for them."""
DRAFTS = 4
"""Cases for which drafts are written at the same time, each with three requests to the model."""
SUMMARIES = 8
"""Long conversations that are summed up at the same time."""
THINKING_SECONDS = 45.0
"""How long a model that reasons may be silent: it does not show its thoughts, so nothing comes while it thinks."""
DRAIN_SECONDS = 15.0
"""How long running turns may finish after SIGTERM; the rest is taken up by the next process."""
FLUSH_SECONDS = 3.0
"""How long the outbox may empty itself after that."""


@dataclass(frozen=True, slots=True)
class App:
    """A Frontdesk that is put together and not yet running."""

    settings: Settings
    me: Identity
    bolt: AsyncApp
    database: Database
    inbox: Inbox
    lanes: Lanes
    outbox: Outbox
    bases: Bases
    schedule: Schedule
    metrics: Metrics
    background: set[asyncio.Task[None]]
    """Work that outlives its request; ended with the server."""


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Build everything and close it again in reverse.

    Raises:
        ConfigurationError: something that is needed is missing or refuses; every fault that was found.
    """
    async with AsyncExitStack() as stack:
        clock, metrics, sentences = SystemClock(), Metrics(), load_sentences(settings.sentences_path)
        prices = load_prices(settings.model_prices)
        if faults := _price_faults(settings, prices):
            raise ConfigurationError(faults)
        for name in _free(settings, prices):
            logger.warning("no price is known for a model: its tokens count as free", extra={"model": name})
        stack.enter_context(_only_one(settings))
        database = await stack.enter_async_context(open_database(settings.database))
        await database.migrate()
        slack = await stack.enter_async_context(_open_slack(settings))
        me, agent_channel = await _meet_slack(slack, settings)
        shop = await stack.enter_async_context(_open_shop(settings)) if settings.shop_url else None
        bases = await stack.enter_async_context(open_knowledge(settings))
        knowledge = bases.public
        models = await stack.enter_async_context(_open_models(settings, prices))
        outbox = Outbox(database, slack, clock, essential=frozenset({agent_channel}))
        cases = Cases(database, outbox, slack, clock, CaseMessages(sentences, agent_channel), metrics)
        relay = Relay(database, outbox, slack, clock, sentences, agent_channel)
        team = build_team(shop_name=settings.shop_name, knowledge=knowledge, cases=cases, orders=shop, shipping=shop)
        team = paced(team, database, clock, per_minute=settings.tool_calls_per_minute)
        for endpoint in (*models.strong, *models.cheap):
            metrics.watch_breaker(endpoint.name, partial(_is_open, endpoint))
        splits, wordings = settings.compound_answers == "split", load_wordings()
        agents = Agents(
            knowledge=knowledge,
            sentences=sentences,
            clock=clock,
            team=team,
            models=models,
            wordings=wordings,
            link_hosts=settings.link_hosts,
            lead=build_lead(shop_name=settings.shop_name, cases=cases) if splits and shop else None,
            checker=build_checker(shop_name=settings.shop_name) if settings.check_answers == "on" else None,
            takes_apart=splits,
        )
        answers = Answers(
            me=me,
            database=database,
            slack=slack,
            outbox=outbox,
            clock=clock,
            sentences=sentences,
            agents=agents,
            limits=_answer_limits(settings),
            link_hosts=settings.link_hosts,
            cases=cases,
            places=asyncio.Semaphore(settings.concurrent_answers),
            metrics=metrics,
        )
        budgets = Budgets(
            database,
            clock,
            metrics,
            customer_daily=settings.customer_daily_cost,
            workspace_daily=settings.workspace_daily_cost,
        )
        drafts = CaseDrafts(database, outbox, clock, relay, agent_channel)
        drafting = Drafting(
            database=database,
            slack=slack,
            outbox=outbox,
            clock=clock,
            knowledge=knowledge,
            models=models,
            team=build_writer(settings.shop_name),
            voices=load_voices(),
            wordings=wordings,
            drafts=drafts,
            link_hosts=settings.link_hosts,
            budgets=budgets,
            metrics=metrics,
            places=asyncio.Semaphore(DRAFTS),
        )
        identities = Identities(slack, shop)
        turns = Turns(
            database=database,
            outbox=outbox,
            clock=clock,
            sentences=sentences,
            identities=identities,
            answers=answers,
            budgets=budgets,
            cases=cases,
            relay=relay,
            presses=Presses(database, slack, clock, sentences, identities, cases, relay, drafts, drafting),
            summaries=Summaries(
                database=database,
                clock=clock,
                metrics=metrics,
                models=models,
                team=build_summarizer(shop_name=settings.shop_name),
                window=settings.conversation_characters,
                turns=settings.conversation_turns,
                places=asyncio.Semaphore(SUMMARIES),
            ),
            metrics=metrics,
        )
        lanes = Lanes(turns.take, clock, concurrent=LANES)
        inbox = Inbox(database, lanes, clock, metrics)
        library = build_library(settings, bases, clock=clock, database=database, prices=prices)
        background: set[asyncio.Task[None]] = set()
        bolt = _build_bolt(slack, me, settings)
        desk = Desk(
            me=me,
            agent_channel=agent_channel,
            slack=slack,
            database=database,
            clock=clock,
            sentences=sentences,
            inbox=inbox,
            staff=Staff(slack, clock, agent_channel=agent_channel),
            library=library,
            start=lambda work: _start(background, work),
        )
        handlers.register(bolt, desk)
        rule = read_rule(settings.kb_refresh) if settings.kb_refresh else None
        schedule = Schedule(
            database, clock, rule, partial(_refresh, library), is_urgent=lambda: library.bases.are_damaged
        )
        yield App(settings, me, bolt, database, inbox, lanes, outbox, bases, schedule, metrics, background)


async def serve(settings: Settings) -> int:
    """Answer customers until SIGTERM or SIGINT; the exit status.

    Raises:
        FrontdeskError: what kept it from serving.
    """
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    try:
        async with open_app(settings) as app:
            await _run(app, stop)
    except* FrontdeskError as failures:
        raise _first(failures) from None
    logger.info("stopped")
    return 0


async def _run(app: App, stop: asyncio.Event) -> None:
    """Everything that runs beside each other, until `stop`; then what is under way is brought to an end."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(app.outbox.run()), tasks.create_task(app.inbox.run())]
        if app.settings.kb_path is not None:
            _start(app.background, app.schedule.run())
        resumed = await app.lanes.resume(app.database)
        async with _listening(app, stop):
            logger.info("ready", extra={"team": app.me.team, "resumed": resumed, "port": app.settings.port})
            await stop.wait()
            logger.info("stopping")
        for work in app.background:
            work.cancel()
        await asyncio.gather(*app.background, return_exceptions=True)
        await app.lanes.drain(DRAIN_SECONDS)
        await app.outbox.flush(FLUSH_SECONDS)
        for task in running:
            task.cancel()


def _first(failures: BaseExceptionGroup[FrontdeskError]) -> FrontdeskError:
    """The first failure inside a group of groups."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure


async def check(settings: Settings) -> list[str]:
    """Everything that is wrong, in sentences: Slack, the channel, the shop, the model's server, the documents."""
    faults: list[str] = []
    try:
        async with _open_slack(settings) as slack:
            await _meet_slack(slack, settings)
    except ConfigurationError as error:
        faults += error.faults
    if settings.shop_url:
        async with _open_shop(settings) as shop:
            faults += await _meet_shop(shop)
    faults += await _reach("OPENAI_BASE_URL", settings.openai_base_url)
    faults += await _reach("FALLBACK_BASE_URL", settings.fallback_base_url)
    faults += _model_faults(settings)
    try:
        load_sentences(settings.sentences_path)
    except ConfigurationError as error:
        faults += error.faults
    try:
        faults += _price_faults(settings, load_prices(settings.model_prices))
    except ConfigurationError as error:
        faults += error.faults
    faults += await asyncio.to_thread(_document_faults, settings)
    return faults


def notes(settings: Settings) -> list[str]:
    """What is worth knowing and not wrong. Raises ConfigurationError for what `check` tells."""
    names = _free(settings, load_prices(settings.model_prices))
    return [f"no price is known for {name}: its tokens count as free (MODEL_PRICES)" for name in names]


@asynccontextmanager
async def _open_models(settings: Settings, prices: Prices) -> AsyncIterator[Models]:
    """The models by what they do, each with connections and a breaker of its own."""
    server, fallback_server = _model_servers(settings)
    async with AsyncExitStack() as stack:

        async def endpoint(name: str | None, at: Server) -> tuple[Endpoint, ...]:
            if name is None:
                return ()
            effort, temperature = settings.openai_reasoning_effort, settings.openai_temperature
            model = await stack.enter_async_context(open_model(name, at, effort=effort, temperature=temperature))
            thinking = THINKING_SECONDS if reasons(name, effort=effort) else 0.0
            return (Endpoint(name, model, price=prices.of(name), thinking_seconds=thinking),)

        strong = await endpoint(settings.openai_model, server)
        has_cheap = settings.openai_cheap_model != settings.openai_model
        cheap = await endpoint(settings.openai_cheap_model if has_cheap else None, server)
        strong += await endpoint(settings.fallback_model, fallback_server)
        yield Models(strong=strong, cheap=(*cheap, *strong))


def _model_servers(settings: Settings) -> tuple[Server, Server]:
    """The models' server and the fallback's. What was set for the first says nothing about another one."""
    server = Server(
        key=_secret(settings.openai_api_key),
        url=settings.openai_base_url,
        azure_version=settings.azure_api_version,
        api=settings.openai_api,
    )
    if settings.fallback_base_url is None:
        return server, server
    return server, Server(key=_secret(settings.fallback_api_key), url=settings.fallback_base_url)


def _model_faults(settings: Settings) -> list[str]:
    """What is wrong with the settings of models, by their look."""
    server, fallback_server = _model_servers(settings)
    faults = [f"OPENAI_BASE_URL {fault}" for fault in address_faults(server)]
    if settings.fallback_base_url is not None:
        faults += [f"FALLBACK_BASE_URL {fault}" for fault in address_faults(fallback_server)]
    elif settings.fallback_model == settings.openai_model:
        faults.append("FALLBACK_MODEL is OPENAI_MODEL at the same server, so it is away when that is")
    effort = settings.openai_reasoning_effort
    if effort is not None and not any(reasons(name, effort=effort) for name in _model_names(settings)):
        faults.append("OPENAI_REASONING_EFFORT is set, but no model that reasons is")
    return faults


def _answer_limits(settings: Settings) -> Limits:
    return Limits(
        rounds=settings.answer_rounds,
        turn_seconds=settings.answer_seconds,
        tokens=settings.answer_tokens,
        cost=settings.answer_cost,
        window_characters=settings.conversation_characters,
    )


@asynccontextmanager
async def open_knowledge(settings: Settings, *, index: Path | None = None) -> AsyncIterator[Bases]:
    """The knowledge bases of `DATA_DIR`, or those at `index`, with the embedder that the settings name.

    The internal one, beside the public one, is opened when a source is internal; without KB_PATH, when it is there.
    """
    root = index or settings.data_dir / "kb"
    internal_root = root.with_name(f"{root.name}-internal")
    config, faults = await asyncio.to_thread(_read_sources, settings)
    if faults:
        raise ConfigurationError(faults)
    async with AsyncExitStack() as stack:
        embedder = await _open_embedder(settings, stack)
        opening = partial(open_knowledge_base, chroma_url=settings.chroma_url or "")
        public = await stack.enter_async_context(opening(root, embedder))
        internal: KnowledgeBase | None = None
        if config.of("internal") or (settings.kb_path is None and internal_root.is_dir()):
            internal = await stack.enter_async_context(opening(internal_root, embedder, audience="internal"))
        yield Bases(public, internal)


async def _open_embedder(settings: Settings, stack: AsyncExitStack) -> Embedder:
    """The embedder that the settings name, closed with the stack."""
    if settings.embedding_model is not None:
        service = OpenAIEmbedder(
            api_key=_secret(settings.openai_api_key),
            base_url=settings.openai_base_url,
            model=settings.embedding_model,
        )
        stack.push_async_callback(service.close)
        return service
    if settings.embedding_model_folder is None:
        return TableEmbedder()
    try:
        return await asyncio.to_thread(FolderEmbedder, settings.embedding_model_folder)
    except EmbedderFailed as error:
        raise ConfigurationError([f"EMBEDDING_MODEL_FOLDER: {error}"]) from error


def build_library(
    settings: Settings, bases: Bases, *, clock: Clock, database: Database | None, prices: Prices
) -> Library:
    """What `/kb` and `frontdesk kb` use."""
    price = prices.of(settings.embedding_model) if settings.embedding_model else None
    return Library(bases, settings.kb_path, clock, price, database)


def _price_faults(settings: Settings, prices: Prices) -> list[str]:
    """Models without a price, when what they cost is to be bounded."""
    if not settings.dollar_bounds:
        return []
    bounds = ", ".join(settings.dollar_bounds)
    return [f"MODEL_PRICES: no price is known for {name}, and {bounds} needs one" for name in _free(settings, prices)]


def _free(settings: Settings, prices: Prices) -> list[str]:
    """The models whose price is unknown, so that their tokens count as free."""
    return [name for name in _model_names(settings) if prices.of(name) is None]


def _model_names(settings: Settings) -> list[str]:
    """Every model that may be asked."""
    names = (settings.openai_model, settings.openai_cheap_model, settings.fallback_model)
    return list(dict.fromkeys(name for name in names if name))


def _is_open(endpoint: Endpoint) -> bool:
    return endpoint.breaker.is_open


@asynccontextmanager
async def _listening(app: App, stop: asyncio.Event) -> AsyncIterator[None]:
    """Take requests on PORT and, in Socket Mode, events; ends before turns are drained."""
    settings = app.settings
    over_http = settings.slack_app_token is None
    socket = None if over_http else AsyncSocketModeHandler(app.bolt, _secret(settings.slack_app_token))

    async def missing() -> str | None:
        if socket is not None and not await socket.client.is_connected():
            return "the Socket Mode connection"
        if settings.kb_path is not None and (status := await app.bases.public.status()).generation is None:
            return f"the knowledge base: {'it is being built' if status.building else status.error}"
        return app.outbox.stuck

    async def impaired() -> str | None:
        fault = (await app.bases.public.status()).error
        return f"the knowledge base: {fault}" if settings.kb_path is not None and fault else None

    runner = web.AppRunner(
        build_web_app(
            ready=missing,
            degraded=impaired,
            metrics=app.metrics,
            bolt=app.bolt if over_http else None,
            signing_secret=_secret(settings.slack_signing_secret),
        ),
        access_log=None,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.host, settings.port).start()
        except OSError as error:
            raise ConfigurationError(
                [f"PORT: cannot listen on {settings.host}:{settings.port} ({error.strerror})"]
            ) from None
        if socket is not None:
            await _connect(socket, stop)
        yield
    finally:
        if socket is not None:
            await socket.close_async()  # type: ignore[no-untyped-call]
        await runner.cleanup()


async def _connect(socket: AsyncSocketModeHandler, stop: asyncio.Event) -> None:
    """Connect, which Slack's client tries for ever, or be told to stop."""
    connecting = asyncio.create_task(socket.connect_async())  # type: ignore[no-untyped-call]
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({connecting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if connecting.done():
            connecting.result()
    finally:
        for task in (connecting, stopping):
            task.cancel()


def _build_bolt(slack: SlackClient, me: Identity, settings: Settings) -> AsyncApp:
    """Bolt with our own authorization: its default asks Slack at the first event and loses that event on a fault."""
    answer = AuthorizeResult(
        enterprise_id=None,
        team_id=me.team,
        bot_token=_secret(settings.slack_bot_token),
        bot_id=me.bot_id,
        bot_user_id=me.user,
    )

    async def authorize() -> AuthorizeResult:
        # One workspace. The team of a press is the presser's own, which in Slack Connect is another.
        return answer

    return AsyncApp(
        name="frontdesk",
        logger=logging.getLogger("slack_bolt"),
        client=slack.web,
        authorize=authorize,
        signing_secret=_secret(settings.slack_signing_secret),
        # The guard in handlers/http.py has checked the raw bytes; Socket Mode is authenticated by its connection.
        request_verification_enabled=False,
    )


@asynccontextmanager
async def _open_slack(settings: Settings) -> AsyncIterator[SlackClient]:
    base_url = f"{settings.slack_api_url}/" if settings.slack_api_url else None
    async with open_slack_client(token=_secret(settings.slack_bot_token), base_url=base_url) as slack:
        yield slack


def _open_shop(settings: Settings) -> AbstractAsyncContextManager[RestShop]:
    return open_rest_shop(settings.shop_url or "", _secret(settings.shop_token))


async def _meet_slack(slack: SlackClient, settings: Settings) -> tuple[Identity, str]:
    """Who the app is, and the agent channel, which it must be a member of."""
    try:
        me = await slack.auth()
    except SlackRefused as error:
        raise ConfigurationError([f"SLACK_BOT_TOKEN: Slack refuses it ({error.error})"]) from None
    except SlackUnanswered as error:
        where = settings.slack_api_url or "https://slack.com/api"
        raise ConfigurationError([f"Slack does not answer at {where} ({error.reason})"]) from None
    if settings.slack_app_token is not None:
        await _ask_for_socket(slack, settings)
    name = settings.agent_channel or ""
    try:
        channel = await slack.channel(name)
    except SlackRefused as error:
        raise ConfigurationError([f"AGENT_CHANNEL: Slack does not show {name} to the app ({error.error})"]) from None
    except SlackUnanswered as error:
        raise ConfigurationError([f"AGENT_CHANNEL: Slack does not answer ({error.reason})"]) from None
    if channel.is_archived:
        raise ConfigurationError([f"AGENT_CHANNEL: #{channel.name} is archived"])
    if not channel.is_member:
        raise ConfigurationError([f"AGENT_CHANNEL: the app is not in #{channel.name}: invite it there"])
    return me, channel.id


async def _ask_for_socket(slack: SlackClient, settings: Settings) -> None:
    """Slack's client retries a refused app token for ever; ask once ourselves, so that it is told at start."""
    if settings.slack_app_token is None:
        return
    try:
        await slack.open_socket(_secret(settings.slack_app_token))
    except SlackRefused as error:
        raise ConfigurationError([f"SLACK_APP_TOKEN: Slack refuses it ({error.error})"]) from None
    except SlackUnanswered as error:
        raise ConfigurationError([f"SLACK_APP_TOKEN: Slack does not answer ({error.reason})"]) from None


async def _meet_shop(shop: RestShop) -> list[str]:
    try:
        await shop.find_customer("nobody@example.com")
    except ShopUnavailable as error:
        return [f"SHOP_URL: {error}"]
    return []


async def _reach(name: str, url: str | None) -> list[str]:
    """A server that cannot even be connected to is told before the first customer meets it."""
    if url is None:
        return []
    try:
        async with asyncio.timeout(5), aiohttp.ClientSession() as session, session.get(url, allow_redirects=False):
            return []
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return [f"{name}: no server answers there ({type(error).__name__})"]


def _read_sources(settings: Settings) -> tuple[Config, list[str]]:
    """What KB_PATH names, and what is wrong with it. A listed folder may be away for a while: `check` says that."""
    path, none = settings.kb_path, Config(())
    if path is None:
        return none, []
    if not path.exists():
        return none, [f"KB_PATH: there is no {path}"]
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        return none, [f"KB_PATH: {path} cannot be read"]
    try:
        config = read_config(path)
    except SourcesFaulty as error:
        return none, [f"KB_PATH: {fault}" for fault in error.faults]
    if not config.of("public"):
        return config, [f"KB_PATH: {path} lists no public source, and customers are answered from those alone"]
    return config, []


def _document_faults(settings: Settings) -> list[str]:
    config, faults = _read_sources(settings)
    away = [
        f"KB_PATH: source {source.name or source.where}: {source.place} cannot be read"
        for source in config.sources
        if not source.addresses and not os.access(source.place, os.R_OK)
    ]
    return faults or away


@contextmanager
def _only_one(settings: Settings) -> Iterator[None]:
    """One process a database: two would answer everything twice."""
    path = Path(settings.database.removeprefix("sqlite+aiosqlite:///") + ".lock")
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("a+")
    except OSError as error:
        raise ConfigurationError([f"DATA_DIR: {error.filename} cannot be written ({error.strerror})"]) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            raise ConfigurationError([f"another Frontdesk (process {owner}) runs on {path.with_suffix('')}"]) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


async def _refresh(library: Library) -> None:
    """Read what has changed in KB_PATH; without a knowledge base yet, build it."""
    logger.info("the knowledge base is read", extra={"report": await library.refresh_all()})


def _start(background: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)
    background.add(task)
    task.add_done_callback(background.discard)
    task.add_done_callback(_report)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("work in the background failed", exc_info=error)


def _secret(value: SecretStr | None) -> str:
    return value.get_secret_value() if value is not None else ""
