"""Everything outside the process that the settings name: opened, contacted at the start, and checked.

check, notes     what is wrong, and what is worth knowing, without serving
open_traces      the collector of traces, if there is one
open_models      the models, each with its own connections and circuit breaker
open_knowledge   the knowledge bases; `build_library` is what staff and operators do with them
open_slack       Slack's Web API; `meet_slack` asks who we are and where staff work
wait_for         waits until a system that can't be reached answers, however long that takes
open_shop        the shop
only_one         the locks that keep a second process from the same folder and the same database
"""

import asyncio
import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TypeVar

import aiohttp
from pydantic import SecretStr

from bot import tracing
from bot.actions.policy_file import read_policy
from bot.agent.endpoints import Deadlines, Endpoint, Models
from bot.agent.limits import Limits
from bot.check_result import CheckResult
from bot.clock import Clock
from bot.desk_file.reading import read_desk_file
from bot.errors import ConfigurationError, StoppedEarly, StoreUnavailable
from bot.help_center.article_folder import ArticleFolder
from bot.help_center.library import Bases, Library
from bot.help_center.source_list import read_sources
from bot.language.sentences import load_sentences
from bot.locks import locked
from bot.models.families import end_of
from bot.models.prices import Prices, load_prices
from bot.models.providers import Server, address_faults, find_card, key_is_refused, open_model, reasons, thinks
from bot.models.traced import TracedModel
from bot.models.trial import try_model
from bot.privacy.retention import in_words
from bot.procedures.file import read_procedures
from bot.settings import Settings
from bot.shops.connectors import WebhookKey
from bot.shops.port import ShopRefuses
from bot.shops.rest import open_rest_shop
from bot.shops.router import RoutedShop, Routes
from bot.shops.shop_file import open_shop_file, unprotected, webhooks_of
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Identity
from bot.slack.client import SlackClient, open_slack_client
from bot.slack.rate_limiter import Budget, MemoryBudget, RateLimiter, SharedBudget
from bot.store.addresses import SQLITE
from bot.store.database import Database, open_database
from knowledge.config import LEARNED
from knowledge.embedding.embedder import Embedder
from knowledge.embedding.folder import FolderEmbedder
from knowledge.embedding.openai import OpenAIEmbedder
from knowledge.embedding.table import load_installed_table
from knowledge.errors import EmbedderFailed
from knowledge.knowledge_base import Findings, KnowledgeBase, open_knowledge_base

logger = logging.getLogger(__name__)
T = TypeVar("T")

START_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between two tries of a start to reach another system. The last value repeats."""
NEEDS_OTEL = "OTEL_EXPORTER_OTLP_ENDPOINT: traces need more packages: pip install frontdesk[otel]"
ROOM = 10_000_000
"""Bytes that must be free in DATA_DIR: roughly what a first start writes there."""

LOADING_SECONDS = 90.0
"""Seconds that a server of one's own may take to load its model. Large models take over 30."""
THINKING_SECONDS = 45.0
"""Seconds that a reasoning model may be silent. It does not show its thoughts, so nothing arrives while it thinks."""


async def check(settings: Settings) -> CheckResult:
    """Find out what is wrong or does not answer: Slack, the channel, the shop, the database, the model's server, the
    documents, the data folder."""
    checked = CheckResult()
    await _meet_slack(checked, settings)
    if settings.has_shop:
        await _meet_shop(checked, settings)
    if settings.is_shared:
        await _meet_database(checked, settings)
    try:
        open_traces(settings, "check")
    except ConfigurationError as error:
        checked.wrong.extend(error.faults)
    await _meet_models(checked, settings)
    checked.wrong.extend(_model_faults(settings))
    for path, read in (
        (settings.sentences_path, load_sentences),
        (settings.desk_file, read_desk_file),
        (settings.policy_path, read_policy),
        (settings.procedures_path, read_procedures),
    ):
        try:
            if path is not None:
                read(path)
        except ConfigurationError as error:
            checked.wrong.extend(error.faults)
    try:
        checked.wrong.extend(price_faults(settings, load_prices(settings.model_prices)))
    except ConfigurationError as error:
        checked.wrong.extend(error.faults)
    checked.wrong.extend(await asyncio.to_thread(_document_faults, settings))
    checked.wrong.extend(await asyncio.to_thread(_folder_faults, settings.data_dir))
    return checked


async def try_models(settings: Settings) -> tuple[CheckResult, list[str]]:
    """Play one round with a tool against each configured model. Return what is wrong, and what is worth knowing."""
    checked = CheckResult()
    told: list[str] = []
    server, fallback_server = _model_servers(settings)
    async with open_models(settings, load_prices(settings.model_prices)) as models:
        fallback = models.strong[-1] if settings.fallback_model else None
        for endpoint in {id(each): each for each in (*models.strong, *models.cheap)}.values():
            name = endpoint.name
            asked = fallback_server if endpoint is fallback else server
            card = await find_card(asked, name)
            if card is None:
                checked.wrong.append(f"its server has no model {name}")
                continue
            if end := card.get("shutdown_date") or (None if asked.is_azure else end_of(name)):
                told.append(f"{name} ends on {end}")
            trial = await try_model(endpoint)
            if trial.failure:
                found = checked.silent if trial.may_pass else checked.wrong
                found.append(f"{name} does not answer: {trial.failure}")
            else:
                told.append(trial.note())
    return checked, told


def notes(settings: Settings) -> list[str]:
    """What is worth knowing and not wrong. Raises ConfigurationError for faults that `check` reports."""
    names = unpriced(settings, load_prices(settings.model_prices))
    told = [f"no price is known for {name}: its tokens count as free (MODEL_PRICES)" for name in names]
    told.append(f"kept: {in_words(settings.retention)} (RETAIN_DAYS)")
    if settings.is_shop_unprotected:
        told.append("SHOP_PLAIN_HTTP is on: the shop's token and orders cross the network unprotected (SHOP_URL)")
    if settings.shop_file is not None:
        message = "is insecure: orders and secrets cross the network unprotected (SHOP_FILE)"
        told += [f"{name} {message}" for name in unprotected(settings.shop_file)]
    return told


def answer_limits(settings: Settings) -> Limits:
    """The limits of one answer."""
    return Limits(
        rounds=settings.answer_rounds,
        turn_seconds=settings.answer_seconds,
        tokens=settings.answer_tokens,
        cost=settings.answer_cost,
        window_characters=settings.conversation_characters,
    )


def open_traces(settings: Settings, role: str) -> AbstractAsyncContextManager[None]:
    """Send traces to the collector while the context is open, if one is set. Raises ConfigurationError."""
    endpoint = settings.otel_exporter_otlp_endpoint
    if endpoint is None:
        return nullcontext()
    try:
        # OpenTelemetry costs time and memory, so it is imported here alone.
        from bot.otel import open_tracing
    except ImportError:
        raise ConfigurationError([NEEDS_OTEL]) from None
    keeps_words = settings.otel_instrumentation_genai_capture_message_content == "SPAN_ONLY"
    return open_tracing(endpoint, role=role, keeps_words=keeps_words)


@asynccontextmanager
async def open_models(settings: Settings, prices: Prices) -> AsyncIterator[Models]:
    """The models by their purpose, each with its own connections and circuit breaker."""
    server, fallback_server = _model_servers(settings)
    customers_key = _customers_key(settings)
    async with AsyncExitStack() as stack:

        async def endpoint(name: str | None, at: Server, *, is_fallback: bool = False) -> tuple[Endpoint, ...]:
            if name is None:
                return ()
            effort, temperature = settings.openai_reasoning_effort, settings.openai_temperature
            images = None if is_fallback else settings.openai_images
            opening = open_model(
                name, at, effort=effort, temperature=temperature, images=images, customers_key=customers_key
            )
            model = await stack.enter_async_context(opening)
            thinking = THINKING_SECONDS if thinks(name, effort=effort) else 0.0
            left_out = model.dialect.left_out
            deadlines = _deadlines(settings, at, is_fallback=is_fallback)
            return (
                Endpoint(
                    name,
                    TracedModel(model, at) if tracing.is_on() else model,
                    price=prices.of(name),
                    thinking_seconds=thinking,
                    deadlines=deadlines,
                    left_out=left_out,
                    takes_images=partial(getattr, model.dialect, "takes_images"),
                ),
            )

        strong = await endpoint(settings.openai_model, server)
        has_cheap = settings.openai_cheap_model != settings.openai_model
        cheap = await endpoint(settings.openai_cheap_model if has_cheap else None, server)
        strong += await endpoint(settings.fallback_model, fallback_server, is_fallback=True)
        yield Models(strong=strong, cheap=(*cheap, *strong))


def _customers_key(settings: Settings) -> bytes:
    """The key of the hashes that name customers to providers, which don't know it. Empty without a token of Slack."""
    token = settings.slack_bot_token
    return blake2b(token.get_secret_value().encode(), person=b"customers").digest() if token else b""


def _deadlines(settings: Settings, server: Server, *, is_fallback: bool) -> Deadlines:
    """The deadlines of a model at this server. OpenAI and Azure have theirs loaded."""
    loading = settings.model_loading_seconds
    if loading is None:
        loading = 0.0 if server.is_openai or server.is_azure else LOADING_SECONDS
    if is_fallback:
        own = (
            settings.fallback_first_sign_seconds,
            settings.fallback_silence_seconds,
            settings.fallback_round_seconds,
        )
    else:
        own = settings.openai_first_sign_seconds, settings.openai_silence_seconds, settings.openai_round_seconds
    first_sign, silence, round_ = own
    return Deadlines(first_sign, silence, round_, loading)


def _model_servers(settings: Settings) -> tuple[Server, Server]:
    """The models' server and the fallback's. Settings of the first do not apply to another server."""
    server = Server(
        key=secret(settings.openai_api_key),
        url=settings.openai_base_url,
        azure_version=settings.azure_api_version,
        api=settings.openai_api,
    )
    if settings.fallback_base_url is None:
        return server, server
    return server, Server(key=secret(settings.fallback_api_key), url=settings.fallback_base_url)


def _model_faults(settings: Settings) -> list[str]:
    """What is wrong with the settings of models, without asking a server."""
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


def _model_names(settings: Settings) -> list[str]:
    """Every model that requests may go to."""
    names = (settings.openai_model, settings.openai_cheap_model, settings.fallback_model)
    return list(dict.fromkeys(name for name in names if name))


def price_faults(settings: Settings, prices: Prices) -> list[str]:
    """Models without a price, if a setting limits what answers cost."""
    if not settings.dollar_bounds:
        return []
    bounds = ", ".join(settings.dollar_bounds)
    return [
        f"MODEL_PRICES: no price is known for {name}, and {bounds} needs one" for name in unpriced(settings, prices)
    ]


def unpriced(settings: Settings, prices: Prices) -> list[str]:
    """The models whose price is unknown. Their tokens count as free."""
    return [name for name in _model_names(settings) if prices.of(name) is None]


@asynccontextmanager
async def open_knowledge(settings: Settings, *, index: Path | None = None, mends: bool = True) -> AsyncIterator[Bases]:
    """The knowledge bases of `DATA_DIR`, or those at `index`, with the embedder that the settings name.

    The internal base, beside the public one, is opened if a source is internal; without KB_PATH, if it exists. Damaged
    vectors are rebuilt in the background if `mends`. Commands that end soon do not ask for that.
    """
    root = index or settings.data_dir / "kb"
    internal_root = root.with_name(f"{root.name}-internal")
    config, faults = await asyncio.to_thread(read_sources, settings.kb_path, learned=settings.data_dir / LEARNED)
    learned = settings.data_dir / LEARNED if index is None else None
    if faults:
        raise ConfigurationError(faults)
    async with AsyncExitStack() as stack:
        embedder = await open_embedder(settings, stack)
        opening = partial(open_knowledge_base, chroma_url=settings.chroma_url or "", mends=mends, watch=_traced_search)
        public = await stack.enter_async_context(opening(root, embedder, learned=learned))
        internal: KnowledgeBase | None = None
        if config.of("internal") or (settings.kb_path is None and internal_root.is_dir()):
            internal = await stack.enter_async_context(opening(internal_root, embedder, audience="internal"))
        yield Bases(public, internal)


@contextmanager
def _traced_search(audience: str, query: str) -> Iterator[Callable[[Findings], None]]:
    """Measure a search."""
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": audience}
    with tracing.span(f"retrieval {audience}", attributes, kind="client", inside=True) as span:
        span.add_words("gen_ai.retrieval.query.text", lambda: query)
        yield lambda findings: span.set(
            {
                "frontdesk.retrieval.passages": len(findings.hits),
                "frontdesk.retrieval.confidence": findings.confidence,
                "frontdesk.retrieval.certainty": findings.certainty,
                "frontdesk.retrieval.degraded": findings.degraded,
            }
        )


def build_library(
    settings: Settings,
    bases: Bases,
    *,
    clock: Clock,
    database: Database | None,
    prices: Prices,
    shelf: ArticleFolder | None,
) -> Library:
    """The library that `/kb` and `frontdesk kb` use."""
    price = prices.of(settings.embedding_model) if settings.embedding_model else None
    return Library(bases, settings.kb_path, clock, price, database, shelf=shelf)


async def open_embedder(settings: Settings, stack: AsyncExitStack) -> Embedder:
    """The embedder that the settings name. The stack closes it."""
    if settings.embedding_model is not None:
        service = OpenAIEmbedder(
            api_key=secret(settings.openai_api_key),
            base_url=settings.openai_base_url,
            model=settings.embedding_model,
        )
        stack.push_async_callback(service.close)
        return service
    if settings.embedding_model_folder is None:
        return load_installed_table()
    try:
        return await asyncio.to_thread(FolderEmbedder, settings.embedding_model_folder)
    except EmbedderFailed as error:
        raise ConfigurationError([f"EMBEDDING_MODEL_FOLDER: {error}"]) from error


def _document_faults(settings: Settings) -> list[str]:
    config, faults = read_sources(settings.kb_path, learned=settings.data_dir / LEARNED)
    away = [
        f"KB_PATH: source {source.name or source.where}: {source.place} cannot be read"
        for source in config.sources
        if not source.addresses and not os.access(source.place, os.R_OK)
    ]
    return faults or away


def _folder_faults(folder: Path) -> list[str]:
    """Why nothing could be stored in DATA_DIR. The start creates the folder if it is missing."""
    folder = folder.absolute()
    place = next(each for each in (folder, *folder.parents) if os.access(each, os.F_OK))
    if not place.is_dir():
        return [f"DATA_DIR: {place} is no folder"]
    if not os.access(place, os.W_OK | os.X_OK):
        return [f"DATA_DIR: {place} cannot be written"]
    free = shutil.disk_usage(place).free
    return [] if free >= ROOM else [f"DATA_DIR: the disk of {place} is full: {free:,} bytes are left"]


@asynccontextmanager
async def open_slack(settings: Settings, rate_limiter: RateLimiter | None = None) -> AsyncIterator[SlackClient]:
    base_url = f"{settings.slack_api_url}/" if settings.slack_api_url else None
    token = secret(settings.slack_bot_token)
    async with open_slack_client(token=token, base_url=base_url, rate_limiter=rate_limiter) as slack:
        yield slack


def build_rate_limiter(settings: Settings, database: Database, clock: Clock) -> RateLimiter:
    """The rate limiter for calls to Slack: for this process, or for all processes that share the database."""
    budget: Budget = SharedBudget(database, clock) if settings.is_shared else MemoryBudget(clock)
    return RateLimiter(budget, clock, factor=settings.slack_rate)


async def wait_for(
    what: str, ask: Callable[[], Awaitable[T]], *, stop: asyncio.Event, clock: Clock, show: Callable[[str], None]
) -> T:
    """Call `ask` at growing intervals until it reaches Slack or the database, and return its result.

    `what` is its name in the log and for `show`. `show` gets a sentence for /healthz.

    Raises:
        StoppedEarly: `stop` was set while it waited.
        ConfigurationError: a person must fix something, so waiting would not help.
    """
    for attempt in count():
        try:
            return await ask()
        except (SlackUnanswered, StoreUnavailable) as error:
            asked_for = error.retry_after if isinstance(error, SlackUnanswered) else 0.0
            pause = max(START_PAUSES[min(attempt, len(START_PAUSES) - 1)], asked_for)
            show(f"{what} does not answer ({error})")
            logger.warning("the start waits", extra={"for": what, "reason": str(error), "seconds": pause})
        if await _is_set_within(stop, pause, clock):
            raise StoppedEarly
    raise AssertionError("it is asked without end")


async def _is_set_within(stop: asyncio.Event, seconds: float, clock: Clock) -> bool:
    waits = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return stop.is_set()


async def meet_slack(slack: SlackClient, settings: Settings) -> tuple[Identity, str]:
    """Return the app's identity and the agent channel. The app must be a member there and in the other desks' channels.

    Raises:
        ConfigurationError: Slack refuses a token, or does not show a channel or group to the app.
        SlackUnanswered: Slack does not answer, so nothing is known yet.
    """
    try:
        me = await slack.api.auth()
    except SlackRefused as error:
        raise ConfigurationError([f"SLACK_BOT_TOKEN: Slack refuses it ({error.error})"]) from None
    if settings.slack_app_token is not None:
        await _ask_for_socket(slack, settings)
    name = settings.agent_channel or ""
    faults = await _channel_faults(slack, "AGENT_CHANNEL", name)
    for channel in settings.desk_channels:
        faults += await _channel_faults(slack, "DESK_CHANNELS", channel)
    if settings.staff_group is not None:
        faults += await _group_faults(slack, settings.staff_group)
    if faults:
        raise ConfigurationError(faults)
    return me, name


async def _channel_faults(slack: SlackClient, variable: str, name: str) -> list[str]:
    """Why cases cannot be shown in a channel."""
    try:
        channel = await slack.directory.channel(name)
    except SlackRefused as error:
        return [f"{variable}: Slack does not show {name} to the app ({error.error})"]
    if channel.is_archived:
        return [f"{variable}: #{channel.name} is archived"]
    return [] if channel.is_member else [f"{variable}: the app is not in #{channel.name}: invite it there"]


async def _group_faults(slack: SlackClient, group: str) -> list[str]:
    """Why the members of a user group are unknown, or that the group is empty."""
    try:
        members = await slack.directory.group_members(group)
    except SlackRefused as error:
        return [f"STAFF_GROUP: Slack does not tell who is in {group} ({error.error})"]
    return [] if members else [f"STAFF_GROUP: nobody is in {group}, so nobody could answer a case"]


async def _ask_for_socket(slack: SlackClient, settings: Settings) -> None:
    """Ask once for a socket: Slack's client would retry a refused app token for ever, so the start must report it."""
    if settings.slack_app_token is None:
        return
    try:
        await slack.api.open_socket(secret(settings.slack_app_token))
    except SlackRefused as error:
        raise ConfigurationError([f"SLACK_APP_TOKEN: Slack refuses it ({error.error})"]) from None


@asynccontextmanager
async def open_shop(settings: Settings, database: Database | None = None) -> AsyncIterator[RoutedShop]:
    """The shop. Raises ConfigurationError with the faults of `SHOP_FILE`."""
    if settings.shop_file is not None:
        async with open_shop_file(settings.shop_file, environ=os.environ, database=database) as shop:
            yield shop
        return
    async with open_rest_shop(settings.shop_url or "", secret(settings.shop_token)) as rest:
        yield RoutedShop(Routes.to_one("shop", rest))


def find_webhooks(settings: Settings) -> list[WebhookKey]:
    """What the services behind connectors sign their events with. Raises ConfigurationError."""
    return webhooks_of(settings.shop_file, environ=os.environ) if settings.shop_file else []


async def _meet_slack(checked: CheckResult, settings: Settings) -> None:
    try:
        async with open_slack(settings) as slack:
            await meet_slack(slack, settings)
    except ConfigurationError as error:
        checked.wrong.extend(error.faults)
    except SlackUnanswered as error:
        address = settings.slack_api_url or "https://slack.com/api"
        checked.add("SLACK_API_URL", f"Slack does not answer at {address} ({error})", error)


async def _meet_shop(checked: CheckResult, settings: Settings) -> None:
    """Ask each connector for what nobody has."""
    try:
        async with open_shop(settings) as shop:
            found = await shop.check()
    except ConfigurationError as error:
        checked.wrong.extend(error.faults)
        return
    for fault in found:
        variable = "SHOP_TOKEN" if isinstance(fault.error, ShopRefuses) else "SHOP_URL"
        if settings.shop_file:
            variable = f"SHOP_FILE: {fault.connector}"
        if fault.error is None:
            checked.wrong.append(f"{variable}: {fault.text}")
        else:
            checked.add(variable, fault.text, fault.error)


async def _meet_database(checked: CheckResult, settings: Settings) -> None:
    try:
        async with open_database(settings.database) as database, database.transaction():
            return
    except ConfigurationError as error:
        checked.wrong.extend(error.faults)
    except StoreUnavailable as error:
        checked.add("DATABASE_URL", f"the database cannot be used ({error})", error)


async def _meet_models(checked: CheckResult, settings: Settings) -> None:
    """Find out whether the models' servers answer, and take their keys."""
    servers = dict(zip(("OPENAI", "FALLBACK"), _model_servers(settings), strict=True))
    if settings.fallback_base_url is None:
        del servers["FALLBACK"]
    for name, server in servers.items():
        answers = await _reach(checked, f"{name}_BASE_URL", server.url)
        if server.key and answers and not address_faults(server) and await key_is_refused(server):
            checked.wrong.append(f"{name}_API_KEY: the model's server refuses it")


async def _reach(checked: CheckResult, name: str, url: str | None) -> bool:
    """Report a server that refuses connections before the first customer is affected."""
    if url is None:
        return True
    try:
        async with asyncio.timeout(5), aiohttp.ClientSession() as session, session.get(url, allow_redirects=False):
            return True
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        checked.add(name, f"no server answers there ({type(error).__name__})", error)
        return False


@contextmanager
def only_one(settings: Settings) -> Iterator[None]:
    """Allow one process for each DATA_DIR, since its index has one owner, and one for each SQLite database, where two
    would answer everything twice. Processes on Postgres share the database and nothing else."""
    with ExitStack() as stack:
        stack.enter_context(locked(settings.data_dir / "frontdesk.lock", "DATA_DIR", settings.data_dir))
        if not settings.is_shared:
            path = Path(settings.database.removeprefix(SQLITE))
            variable = "DATABASE_URL" if settings.database_url else "DATA_DIR"
            stack.enter_context(locked(Path(f"{path}.lock"), variable, path))
        yield


def secret(value: SecretStr | None) -> str:
    return value.get_secret_value() if value is not None else ""
