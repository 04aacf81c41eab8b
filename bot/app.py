"""The wiring: every part is built here, once, and handed to the parts that need it. No logic.

open_app        settings -> App, over one exit stack
serve           run an App until SIGTERM or SIGINT, then drain
check           everything that is wrong, without serving
open_knowledge  the knowledge base alone, for the command line
"""

import asyncio
import fcntl
import logging
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from pydantic import SecretStr
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

import handlers
from bot.agent.chat_completions import open_chat_completions
from bot.agent.loop import Limits
from bot.cases.cases import Cases
from bot.cases.messages import CaseMessages
from bot.cases.relay import Relay
from bot.cases.staff import Staff
from bot.clock import SystemClock
from bot.desk.identity import Identities
from bot.desk.library import Library
from bot.desk.team import build_team
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
from bot.turns.inbox import Inbox
from bot.turns.lanes import Lanes
from bot.turns.presses import Presses
from bot.turns.turn import Turns
from handlers.desk import Desk
from handlers.http import build_web_app
from knowledge.embedding.openai import OpenAIEmbedder
from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base

logger = logging.getLogger(__name__)

LANES = 1_000
"""Threads with a row in work; more wait. Answers have a bound of their own, so that staff never wait for them."""
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
    knowledge: KnowledgeBase
    library: Library
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
        clock, metrics, sentences = SystemClock(), Metrics(), load_sentences()
        stack.enter_context(_only_one(settings))
        database = await stack.enter_async_context(open_database(settings.database))
        await database.migrate()
        slack = await stack.enter_async_context(_open_slack(settings))
        me, agent_channel = await _meet_slack(slack, settings)
        shop = await stack.enter_async_context(_open_shop(settings)) if settings.shop_url else None
        knowledge = await stack.enter_async_context(open_knowledge(settings))
        model = await stack.enter_async_context(
            open_chat_completions(api_key=_secret(settings.openai_api_key), base_url=settings.openai_base_url)
        )
        outbox = Outbox(database, slack, clock, essential=frozenset({agent_channel}))
        cases = Cases(database, outbox, slack, clock, CaseMessages(sentences, agent_channel), metrics)
        relay = Relay(database, outbox, slack, clock, sentences, agent_channel)
        answers = Answers(
            me=me,
            database=database,
            slack=slack,
            outbox=outbox,
            clock=clock,
            sentences=sentences,
            knowledge=knowledge,
            team=build_team(shop_name=settings.shop_name, knowledge=knowledge, cases=cases, orders=shop, shipping=shop),
            model=model,
            model_name=settings.openai_model,
            limits=Limits(rounds=settings.answer_rounds, turn_seconds=settings.answer_seconds),
            link_hosts=settings.link_hosts,
            cases=cases,
            places=asyncio.Semaphore(settings.concurrent_answers),
        )
        identities = Identities(slack, shop)
        turns = Turns(
            database=database,
            outbox=outbox,
            clock=clock,
            sentences=sentences,
            identities=identities,
            answers=answers,
            cases=cases,
            relay=relay,
            presses=Presses(database, slack, sentences, identities, cases, relay),
            metrics=metrics,
        )
        lanes = Lanes(turns.take, clock, concurrent=LANES)
        inbox = Inbox(database, lanes, clock, metrics)
        library = Library(knowledge, source=settings.kb_path)
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
        yield App(settings, me, bolt, database, inbox, lanes, outbox, knowledge, library, metrics, background)


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
            _start(app.background, _first_refresh(app))
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
    faults += await asyncio.to_thread(_document_faults, settings)
    return faults


@asynccontextmanager
async def open_knowledge(settings: Settings) -> AsyncIterator[KnowledgeBase]:
    """The knowledge base of `DATA_DIR`, with the embedder that the settings name."""
    faults = await asyncio.to_thread(_document_faults, settings)
    if faults:
        raise ConfigurationError(faults)
    async with AsyncExitStack() as stack:
        if settings.embedding_model is None:
            embedder: TableEmbedder | OpenAIEmbedder = TableEmbedder()
        else:
            embedder = OpenAIEmbedder(
                api_key=_secret(settings.openai_api_key),
                base_url=settings.openai_base_url,
                model=settings.embedding_model,
            )
            stack.push_async_callback(embedder.close)
        yield await stack.enter_async_context(open_knowledge_base(settings.data_dir / "kb", embedder))


@asynccontextmanager
async def _listening(app: App, stop: asyncio.Event) -> AsyncIterator[None]:
    """Take requests on PORT and, in Socket Mode, events; ends before turns are drained."""
    settings = app.settings
    over_http = settings.slack_app_token is None
    socket = None if over_http else AsyncSocketModeHandler(app.bolt, _secret(settings.slack_app_token))

    async def missing() -> str | None:
        if socket is not None and not await socket.client.is_connected():
            return "the Socket Mode connection"
        if settings.kb_path is not None and (status := await app.knowledge.status()).generation is None:
            return f"the knowledge base: {status.error or 'it is being built'}"
        return app.outbox.stuck

    runner = web.AppRunner(
        build_web_app(
            ready=missing,
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


def _document_faults(settings: Settings) -> list[str]:
    path = settings.kb_path
    if path is None:
        return []
    if not path.exists():
        return [f"KB_PATH: there is no {path}"]
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        return [f"KB_PATH: {path} cannot be read"]
    return []


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


async def _first_refresh(app: App) -> None:
    """Read what changed in KB_PATH since the last run; without a knowledge base yet, build it."""
    logger.info("the knowledge base is read", extra={"report": await app.library.refresh(force=False)})


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
