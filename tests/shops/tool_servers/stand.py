"""A shop file with a warehouse's tools, accepted, and the desk's tools made from it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.agent.tools import Context, Tool, ToolOutput
from bot.conversation import ShopCustomer
from bot.desk.server_tools import server_tools
from bot.shops.shop_file import open_shop_file, read_shop_file
from bot.shops.tool_servers.file import McpConnector
from bot.shops.tool_servers.pins import write_pins
from bot.shops.tool_servers.server import ToolServer, read_definitions
from demo.mcp.server import TOKEN
from tests.agent.desk import CONTEXT
from tests.patience import patience

STORE = {"kind": "rest", "url": "https://shop.example.com", "token": "env:SHOP"}
TOOLS: Mapping[str, Any] = {
    "stock_of": {"as": "look_up", "title": "Checking stock", "private": False},
    "order_detail": {
        "as": "look_up",
        "title": "Asking the warehouse",
        "inject": {"customer_id": "customer.id"},
        "owner": "customer_id",
        "result": {"state": "state", "boxes": "boxes"},
    },
}
SECRETS = {"SHOP": "shop-secret", "WAREHOUSE": TOKEN, "PATH": "/usr/bin:/bin"}


def at(url: str, **more: Any) -> dict[str, Any]:
    """The entry of a warehouse over HTTP."""
    auth = {"kind": "bearer", "token": "env:WAREHOUSE"}
    return {"kind": "mcp", "url": url, "auth": auth, "pins": "warehouse.pins.json", "tools": TOOLS, **more}


def program(fault: Path, **more: Any) -> dict[str, Any]:
    """The entry of a warehouse that is a program, whose fault is the text of a file."""
    command = [sys.executable, "-m", "demo.mcp", str(fault)]
    env = {"PYTHONPATH": str(Path.cwd())}
    return {"kind": "mcp", "command": command, "env": env, "pins": "warehouse.pins.json", "tools": TOOLS, **more}


def written(folder: Path, entry: Mapping[str, Any]) -> Path:
    """The shop file. JSON is YAML."""
    path = folder / "shop.yml"
    content = {"connectors": {"store": STORE, "warehouse": entry}, "serves": {"customers": "store", "orders": "store"}}
    path.write_text(json.dumps(content))
    return path


async def accept(path: Path) -> None:
    """Accept what the server says of its tools now."""
    connector = read_shop_file(path).connectors["warehouse"]
    assert isinstance(connector, McpConnector)
    found = await read_definitions("warehouse", connector, folder=path.parent, environ=SECRETS, place="")
    write_pins(path.parent / connector.pins, {name: found[name] for name in connector.tools})


class Stand:
    """The tools as the desk has them."""

    def __init__(self, server: ToolServer) -> None:
        self.server = server
        self.tools: dict[str, Tool] = {tool.name: tool for tool in server_tools([server])}

    async def stock_of(self, article: str = "MOSS-M") -> ToolOutput:
        """Ask for an article's stock, as the model does. Raises ToolProblem."""
        return await self._call("warehouse__stock_of", {"article": article}, CONTEXT)

    async def order_detail(self, order: str, customer: str = "cus_a") -> ToolOutput:
        """Ask for an order of a customer of the shop. Raises ToolProblem."""
        shop = ShopCustomer(customer, "Customer", f"{customer}@example.com")
        context = replace(CONTEXT, customer=replace(CONTEXT.customer, shop=shop))
        return await self._call("warehouse__order_detail", {"order": order}, context)

    async def _call(self, name: str, arguments: Mapping[str, Any], context: Context) -> ToolOutput:
        tool = self.tools[name]
        return await tool.call(context, tool.read(json.dumps(arguments)))

    async def is_connected(self) -> None:
        """Wait for the connection."""
        async with asyncio.timeout(patience(20)):
            while self.server.connection.fault:  # noqa: ASYNC110 - it has no event for each connection
                await asyncio.sleep(0.02)


@asynccontextmanager
async def open_stand(path: Path) -> AsyncIterator[Stand]:
    """The tools of the file's warehouse, connected."""
    async with open_shop_file(path, environ=SECRETS) as shop:
        stand = Stand(shop.tool_servers[0])
        await stand.is_connected()
        yield stand
