"""Tools of servers that the operator has connected: look-ups beside those of the shop.

The server knows a customer only by what code puts into the call. What it answers is data.
"""

from collections.abc import Iterable
from typing import Any

from bot.agent.tools import Context, Tool, ToolOutput, ToolProblem
from bot.desk.orders import NO_ORDER_DATA, shop_customer
from bot.errors import ConfigurationError
from bot.shops.port import ShopUnavailable
from bot.shops.tool_servers.arguments import build_model, schema_of
from bot.shops.tool_servers.server import ServerTool, ToolServer

NOTHING = ToolOutput(
    {
        "found": False,
        "message": "There is nothing under what was asked for, for this customer. Ask them to check it.",
    },
    ok=False,
)
"""What a result of somebody else and no result look like, to the byte."""
SILENT = "That system gives no answer at the moment. Say so, and offer a person."
TOOL_SECONDS = 10.0


def server_tools(servers: Iterable[ToolServer]) -> tuple[Tool, ...]:
    """A tool for each that is offered, named after its connector. Raises ConfigurationError if two have one name."""
    found = [_tool(server, tool) for server in servers for tool in server.tools.values()]
    names = [tool.name for tool in found]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigurationError([f"SHOP_FILE: two tools would have the name {double[0]}"])
    return tuple(found)


def _tool(server: ToolServer, tool: ServerTool) -> Tool:
    async def look_up(context: Context, **given: Any) -> ToolOutput:
        customer = shop_customer(context) if tool.offered.private else None
        if tool.offered.private and customer is None:
            return NO_ORDER_DATA
        places = enumerate(tool.arguments)
        arguments = {each.name: given[f"a{place}"] for place, each in places if given[f"a{place}"] is not None}
        try:
            found = await server.look_up(tool.name, arguments, customer)
        except ShopUnavailable:
            raise ToolProblem(SILENT) from None
        return NOTHING if found is None else ToolOutput(found)

    name = _name(server.name, tool.name)
    return Tool(
        name=name,
        description=tool.description,
        title=tool.offered.title,
        schema=schema_of(tool.arguments),
        arguments=build_model(name, tool.arguments),
        function=look_up,
        timeout=TOOL_SECONDS,
        private=tool.offered.private,
    )


def _name(connector: str, tool: str) -> str:
    """A name that models' servers take: letters, digits and underscores, at most 64."""
    text = f"{connector}__{tool}"
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text)[:64]
