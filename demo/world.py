"""The world: a local Slack, a stand-in for the model and a shop in this process, the product as its child.

The product is the production program, unchanged. It is told apart from the real thing only by addresses and
tokens in its environment.
"""

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from demo.house.server import House, open_house
from demo.model.server import MODEL, Pace, StandIn, open_stand_in
from demo.ports import free_port
from demo.program import Program
from demo.shop.events import Webhook
from demo.shop.faults import Fault
from demo.shop.server import Call, Shop, open_shop
from demo.shopify.server import ShopifyShop, open_shopify
from demo.tour import build_tour
from local_slack.manifest import read_manifest
from local_slack.server import addresses, open_workspace
from local_slack.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "manifest.yml"
PAGES = ROOT / "demo" / "kb.yml"
"""The invented shop's help pages, and a few notes that only its staff may see."""
DESK_FILE = ROOT / "demo" / "desk.yml"
"""What the invented shop says about its desk: its name, its rules, its helplines."""
POLICY_FILE = ROOT / "demo" / "policy.yml"
"""What its assistant may change for customers, and when a person decides."""
PROCEDURES = ROOT / "demo" / "procedures"
"""The playbooks of its support team."""
HOUSE_FILE = ROOT / "demo" / "house" / "shop.yml"
"""How Frontdesk reaches the house system of demo/house."""
SHOPIFY_FILE = ROOT / "demo" / "shopify" / "shop.yml"
"""How Frontdesk reaches the stand-in for Shopify."""
SHOPS = ("shop", "house", "shopify")
SHOP_FAULTS = {
    "The shop makes the next change, and its answer is lost": "act_then_500",
    "The shop takes three seconds for its next answer": "slow",
    "The shop answers the next request with an error": "error",
}
"""What the faults menu says -> the fault of the shop (demo/shop/faults.py)."""
HINT = "Write as a customer, answer as an agent, or play the tour."
LINK_HOSTS = "help.example.com"
COMMAND = (sys.executable, "-P", "-m", "bot", "serve")

_INHERITED = ("PATH", "HOME", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
_INHERITED_WITH_A_REAL_MODEL = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "OPENAI_CHEAP_MODEL",
    "OPENAI_API",
    "OPENAI_REASONING_EFFORT",
    "OPENAI_TEMPERATURE",
    "OPENAI_IMAGES",
    "AZURE_API_VERSION",
    "MODEL_PRICES",
    "FALLBACK_MODEL",
    "FALLBACK_BASE_URL",
    "FALLBACK_API_KEY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)


class PortTaken(Exception):
    """Another program listens on the page's port; the message names it."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything that runs."""

    workspace: Workspace
    stand_in: StandIn | None
    """None: a real model answers."""
    shop: Shop | House | ShopifyShop
    program: Program
    notice: str
    """Who answers, for people to read."""
    shop_name: str = ""
    """What the shop is called, as its desk file says."""

    @property
    def page(self) -> str:
        """The page's address, with the secret that opens it."""
        return str(addresses(self.workspace)["page"])

    def describe(self) -> dict[str, Any]:
        """Addresses, ids and secrets, as `python -m demo --json` prints them."""
        model = {"url": self.program.environment.get("OPENAI_BASE_URL", "")}
        if self.stand_in:
            model |= {"key": self.stand_in.key, "local": f"{self.stand_in.root}/_local"}
        return {
            "page": self.page,
            "slack": addresses(self.workspace),
            "model": model,
            "shop": {
                "url": self.shop.url,
                "token": self.shop.token if isinstance(self.shop, Shop) else "",
                "webhook_secret": self.program.environment.get("SHOP_WEBHOOK_SECRET", ""),
            },
            "bot": {
                "pid": self.program.pid,
                "url": self.program.health.removesuffix("/healthz"),
                "log": str(self.program.log),
                "data": self.program.environment["DATA_DIR"],
            },
        }


@asynccontextmanager
async def open_world(
    data: Path,
    *,
    port: int = 0,
    kb: Path = PAGES,
    desk: Path = DESK_FILE,
    policy: Path = POLICY_FILE,
    procedures: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    extra: Mapping[str, str] | None = None,
    command: Sequence[str] = COMMAND,
    pace: Pace | None = None,
    tour_pace: float = 1.0,
    rate_limits: bool = True,
    manifest: Path = MANIFEST,
    shop_kind: str = "shop",
) -> AsyncIterator[World]:
    """Start everything; the program is started, not yet ready. Leaving the block ends it all. The app is installed
    with what `manifest` asks for, and nothing more.

    `data` is the program's DATA_DIR and holds its log. `port` is the page's, 0 takes a free one. Of `environ` the
    program gets what every program needs, and the model's settings if OPENAI_API_KEY is among them; `extra` is
    set on top, and `POLICY_PATH=` there lets nothing be changed. `tour_pace` is a factor of the tour's pauses. Raises
    PortTaken.
    """
    notice, health_port = _notice(environ), free_port()
    program = Program(
        command=command,
        directory=ROOT,
        environment={},
        log=data / "frontdesk.log",
        health=f"http://127.0.0.1:{health_port}/healthz",
    )
    webhook = Webhook(f"http://127.0.0.1:{health_port}/hooks/shop")
    async with AsyncExitStack() as stack:
        shop: Shop | House | ShopifyShop
        match shop_kind:
            case "house":
                shop = await stack.enter_async_context(open_house())
            case "shopify":
                shop = await stack.enter_async_context(open_shopify())
            case _:
                shop = await stack.enter_async_context(open_shop(webhook=webhook))
        changed = shop if isinstance(shop, Shop) else None
        try:
            workspace = await stack.enter_async_context(
                open_workspace(
                    port=port,
                    routes=_controls(program),
                    rate_limits=rate_limits,
                    hint=HINT,
                    notice=notice,
                    tour=build_tour(program, changed, pace=tour_pace),
                    behind={words: partial(shop.add_fault, Fault(kind)) for words, kind in SHOP_FAULTS.items()},
                    config=read_manifest(manifest) | {"team": {"name": _shop_name()}},
                )
            )
        except OSError as error:
            raise PortTaken(
                f"port {port} is taken by another program; choose another with --port or DEMO_PORT"
            ) from error
        real = bool(environ.get("OPENAI_API_KEY"))
        stand_in = None if real else await stack.enter_async_context(open_stand_in(pace=pace))
        program.environment = {
            **_inherited(environ, real_model=real),
            **_settings(workspace, shop, stand_in),
            "DATA_DIR": str(data),
            "DATABASE_URL": f"sqlite+aiosqlite:///{data / 'frontdesk.db'}",
            "KB_PATH": str(kb),
            "DESK_FILE": str(desk),
            "POLICY_PATH": str(policy),
            **({"PROCEDURES_PATH": str(procedures)} if procedures else {}),
            **({"SHOP_WEBHOOK_SECRET": webhook.secret} if changed else {}),
            **(extra or {}),
            "PORT": str(health_port),
        }
        shop.on_call = lambda call: _note_call(workspace, call)
        program.on_asked = lambda what: workspace.note("act", what)
        stack.push_async_callback(program.stop)
        await program.start()
        yield World(workspace, stand_in, shop, program, notice, shop_name(desk))


def _note_call(workspace: Workspace, call: Call) -> None:
    """Show a call to the shop in the page's inspector, with its key."""
    told = {"text": f"key {call.key}" if call.key else "", "error": f"HTTP {call.status}" if call.status >= 400 else ""}
    ok = 0 < call.status < 400
    workspace.note("outside", f"shop {call.method} {call.path}", ok=ok, detail=told | {"status": str(call.status)})


def _shop_name() -> str:
    return str(yaml.safe_load(DESK_FILE.read_text("utf-8"))["shop"])


def shop_name(desk: Path) -> str:
    """The shop's name in a desk file. Whether the rest of the file is right, the program says itself."""
    try:
        entries = yaml.safe_load(desk.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        entries = None
    return str(entries.get("shop") or "") if isinstance(entries, dict) else ""


def _notice(environ: Mapping[str, str]) -> str:
    if not environ.get("OPENAI_API_KEY"):
        return "Answers by rules, not by a language model"
    return f"Answers by {environ.get('OPENAI_MODEL') or 'the default model'}"


def _inherited(environ: Mapping[str, str], *, real_model: bool) -> dict[str, str]:
    names = _INHERITED + (_INHERITED_WITH_A_REAL_MODEL if real_model else ())
    return {name: environ[name] for name in names if environ.get(name)}


def _shop_settings(shop: Shop | House | ShopifyShop) -> dict[str, str]:
    if isinstance(shop, House):
        return {"SHOP_FILE": str(HOUSE_FILE), **shop.environment()}
    if isinstance(shop, ShopifyShop):
        return {"SHOP_FILE": str(SHOPIFY_FILE), **shop.environment()}
    return {"SHOP_URL": shop.url, "SHOP_TOKEN": shop.token}


def _settings(workspace: Workspace, shop: Shop | House | ShopifyShop, stand_in: StandIn | None) -> dict[str, str]:
    """The documented variables; PYTHONPATH because `-P` keeps the current folder out."""
    settings = {
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
        "SLACK_API_URL": str(addresses(workspace)["api_url"]),
        "AGENT_CHANNEL": "C0AGENTS",
        **_shop_settings(shop),
        "LINK_HOSTS": LINK_HOSTS,
        # Two customers play all day.
        "OPEN_CASES": "50",
        "CUSTOMER_MESSAGES_PER_MINUTE": "60",
        "CUSTOMER_MESSAGES_PER_DAY": "5000",
    }
    if stand_in:
        settings |= {
            "OPENAI_API_KEY": stand_in.key,
            "OPENAI_BASE_URL": stand_in.url,
            "OPENAI_MODEL": MODEL,
            "OPENAI_IMAGES": "true",
            "MODEL_LOADING_SECONDS": "0",
            "MODEL_PRICES": str(Path(__file__).parent / "model" / "prices.yml"),
        }
    return settings


def _controls(program: Program) -> list[web.RouteDef]:
    """`POST /_world/kill | restart | stop`: what happens to the program, from the page."""

    async def kill(_: web.Request) -> web.Response:
        await program.kill()
        return web.json_response({"ok": True, "pid": program.pid})

    async def restart(_: web.Request) -> web.Response:
        await program.restart()
        return web.json_response({"ok": True, "pid": program.pid})

    async def stop(_: web.Request) -> web.Response:
        await program.stop()
        return web.json_response({"ok": True, "pid": program.pid})

    return [web.post("/_world/kill", kill), web.post("/_world/restart", restart), web.post("/_world/stop", stop)]
