"""The workspace assembled and served on one loopback port.

`open_workspace` is what the demo and tests use; `build_workspace` is the same without a network.
"""

import asyncio
import hmac
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from local_slack import files, page, pictures
from local_slack.clock import Clock
from local_slack.faults import Faults
from local_slack.http_events import HttpEvents
from local_slack.interactivity import Interactivity
from local_slack.keeping import kept, kept_tokens
from local_slack.local import LocalApi
from local_slack.page.faults_panel import Breaking
from local_slack.page.guide import Tour
from local_slack.people import People
from local_slack.seed import configure, configured_rules, seed
from local_slack.socket_mode import SocketMode
from local_slack.transfers import Transfers
from local_slack.web_api import WebApi
from local_slack.workspace import Json, Rules, Workspace

BODY_BYTES = 8_000_000
SHUTDOWN_SECONDS = 0.2

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def open_workspace(
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    routes: Iterable[web.RouteDef] = (),
    bot_token: str | None = None,
    app_token: str | None = None,
    signing_secret: str | None = None,
    secret: str | None = None,
    events_url: str | None = None,
    rate_limits: bool = True,
    rules: Rules | None = None,
    clock: Clock | None = None,
    config: dict[str, Any] | None = None,
    hint: str = "",
    notice: str = "",
    keep: Path | None = None,
    tour: Tour | None = None,
    behind: Mapping[str, Callable[[], None]] | None = None,
) -> AsyncIterator[Workspace]:
    """Serve a seeded workspace until the block ends.

    `port` 0 takes a free one. `routes` are served beside the workspace's own; those under `/_` want `secret`, like
    `/_local/*`. Tokens and secrets that are not given are new. With `events_url` the app is reached by signed HTTP,
    otherwise by Socket Mode. `rules` overrides `rate_limits`. `config` is what local_slack.seed.configure takes,
    `hint` a line for the page about what one can do in it, `notice` one about who really answers, `tour` what the page
    plays by itself. `behind` is what can befall what stands behind the app: a sentence for the faults menu -> what
    makes it happen the next time.
    With `keep` the workspace is kept in that file; its tokens and secrets count unless others are given.
    Raises ValueError for an address that is not loopback or a file that is no workspace, OSError for an address that is
    taken.
    """
    _refuse_public(host)
    tokens = await asyncio.to_thread(kept_tokens, keep) if keep else {}
    workspace, interactivity = build_workspace(
        rules=rules or Rules(rate_limits=rate_limits),
        clock=clock,
        bot_token=bot_token or tokens.get("bot_token"),
        app_token=app_token or tokens.get("app_token"),
        signing_secret=signing_secret or tokens.get("signing_secret"),
        secret=secret or tokens.get("secret"),
        config=config,
    )
    faults = Faults()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(workspace.background.close)
        if keep:
            await stack.enter_async_context(kept(workspace, keep))
        sockets = SocketMode(workspace, faults)
        app = web.Application(client_max_size=BODY_BYTES, middlewares=[_guard(workspace)])
        local = LocalApi(workspace, faults, break_sockets=sockets.break_all, behind=behind)
        app.add_routes([*WebApi(workspace, faults).routes(), *interactivity.routes(), *local.routes()])
        app.add_routes(
            [
                *Transfers(workspace, faults).routes(),
                *sockets.routes(),
                *pictures.routes(workspace),
                *page.routes(
                    workspace,
                    hint=hint,
                    notice=notice,
                    tour=tour,
                    breaking=Breaking(faults, local.arm, tuple(behind or ())),
                ),
                *routes,
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, host, port)
        await site.start()
        stack.push_async_callback(sockets.close)
        workspace.url = _url(host, runner.addresses[0][1])
        files.readdress(workspace)
        workspace.transport = sockets
        if events_url:
            session = await stack.enter_async_context(aiohttp.ClientSession())
            events = HttpEvents(workspace, faults, events_url=events_url, session=session)
            workspace.transport = events
            workspace.background.start(events.verify())
        yield workspace


def build_workspace(
    *,
    rules: Rules | None = None,
    clock: Clock | None = None,
    bot_token: str | None = None,
    app_token: str | None = None,
    signing_secret: str | None = None,
    secret: str | None = None,
    config: dict[str, Any] | None = None,
) -> tuple[Workspace, Interactivity]:
    """A seeded workspace with people in it, not yet reachable by any app."""
    workspace = Workspace(
        clock=clock,
        rules=configured_rules(rules or Rules(), config or {}),
        bot_token=bot_token,
        app_token=app_token,
        signing_secret=signing_secret,
    )
    workspace.secret = secret or workspace.secret
    seed(workspace)
    configure(workspace, config or {})
    interactivity = Interactivity(workspace)
    workspace.act = People(workspace, interactivity)
    return workspace, interactivity


def addresses(workspace: Workspace) -> Json:
    """What an app and a person need to come in: the line that `python -m local_slack` prints."""
    return {
        "page": f"{workspace.url}/?secret={workspace.secret}",
        "url": workspace.url,
        "api_url": f"{workspace.url}/api/",
        "secret": workspace.secret,
        "bot_token": workspace.bot_token,
        "app_token": workspace.app_token,
        "signing_secret": workspace.signing_secret,
        "team": workspace.team.id,
        "installations": {bot.team: token for token, bot in workspace.installations.items()},
        "bot_user": workspace.app.user_id,
        "bot_id": workspace.app.bot_id,
        "app_id": workspace.app.app_id,
        "users": {user.name: user.id for user in workspace.users.values()},
        "channels": {channel.name: channel.id for channel in workspace.channels.values() if channel.name},
        "direct_messages": {
            workspace.users[user].name: channel.id
            for channel in workspace.channels.values()
            if channel.is_im
            if workspace.app.user_id in channel.members
            for user in channel.members
            if user != workspace.app.user_id
        },
    }


def _refuse_public(host: str) -> None:
    """Whoever reaches the port can be anybody in the workspace."""
    if host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ValueError(f"the local workspace is served on loopback only, not on {host}")


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _guard(workspace: Workspace) -> Any:
    """Refuse requests that another site makes by a name of its own, and paths under `/_` without the secret."""

    @web.middleware
    async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
        name = request.host.rsplit(":", 1)[0] if not request.host.endswith("]") else request.host
        if name not in ("127.0.0.1", "localhost", "[::1]"):
            return web.Response(status=403, text="this workspace answers to its loopback address only")
        given = request.headers.get("secret") or request.query.get("secret") or ""
        if request.path.startswith("/_") and not hmac.compare_digest(given.encode(), workspace.secret.encode()):
            return web.json_response({"ok": False, "error": "wrong or missing secret"}, status=403)
        return await handler(request)

    return guard
