"""A tool server as the desk sees it: the tools that are offered, and what a call to one of them found.

open_tool_server  The server, which connects in the background.
read_definitions  What a server says of its tools now, for who accepts them.
ToolServer        `look_up` calls a tool for a customer. Code sets the identity and compares the owner.
"""

import asyncio
import importlib
import importlib.util
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bot.alerts import Alerts
from bot.conversation import ShopCustomer
from bot.errors import ConfigurationError
from bot.shops.declared.credentials import read_secret
from bot.shops.declared.expressions import Expression, Stopwatch, Unusable
from bot.shops.port import ShopUnavailable
from bot.shops.tool_servers.arguments import Argument, arguments_of
from bot.shops.tool_servers.connection import CONNECT_TIMEOUT, Connection, Session, ToolAnswer
from bot.shops.tool_servers.file import McpConnector, OfferedTool, is_reference
from bot.shops.tool_servers.pins import (
    DEFINITION_LIMIT,
    Definition,
    differences,
    pin_of,
    read_pins,
    size_of,
)
from bot.shops.tool_servers.target import AddressTarget, ProgramTarget, Target
from bot.shops.wire import one_line
from knowledge.text import visible

logger = logging.getLogger(__name__)

NEEDS_MCP = "kind: mcp needs more packages: pip install frontdesk[mcp]"
TEXT_LIMIT = 4_000
"""Characters of a result's text that the model reads."""
VALUE_LIMIT = 500
"""Characters of one mapped field."""
ENTRIES_LIMIT = 50
"""Entries of a mapped list."""
DIFFERENCES_LOGGED = 10
DESCRIPTION_LIMIT = 1_000
_value = one_line(VALUE_LIMIT)


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that is offered to the model."""

    name: str
    """Its name at the server."""
    offered: OfferedTool
    definition: Definition
    """As it was accepted."""
    arguments: tuple[Argument, ...]
    """Those that the model gives."""

    @property
    def description(self) -> str:
        """What the model reads: the operator's words, else the accepted ones."""
        own = self.offered.description or str(self.definition.get("description") or self.offered.title)
        return visible(own)[:DESCRIPTION_LIMIT]

    @property
    def writes(self) -> bool:
        """Whether the server says that the tool changes something."""
        annotations = self.definition.get("annotations")
        return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is False


@asynccontextmanager
async def open_tool_server(
    name: str, connector: McpConnector, *, folder: Path, environ: Mapping[str, str], place: str
) -> AsyncIterator["ToolServer"]:
    """The server. Raises ConfigurationError with all faults of the entry and its pins, which begin with `place`."""
    faults: list[str] = []
    target: Target | None = None
    tools: Mapping[str, ServerTool] = {}
    try:
        target = _target(name, connector, folder=folder, environ=environ, place=place)
    except ConfigurationError as error:
        faults += error.faults
    try:
        tools = _tools(connector, read_pins(folder / connector.pins, place=place), place=place)
    except ConfigurationError as error:
        faults += error.faults
    if importlib.util.find_spec("mcp") is None:
        faults.append(f"{place}: {NEEDS_MCP}")
    if faults or target is None:
        raise ConfigurationError(faults)
    server = ToolServer(name, tools, target)
    running = asyncio.create_task(server.connection.run())
    try:
        yield server
    finally:
        running.cancel()
        await asyncio.wait({running})


async def read_definitions(
    name: str, connector: McpConnector, *, folder: Path, environ: Mapping[str, str], place: str
) -> Mapping[str, Definition]:
    """What the server says of all its tools. Raises ConfigurationError or ShopUnavailable."""
    target = _target(name, connector, folder=folder, environ=environ, place=place)
    if importlib.util.find_spec("mcp") is None:
        raise ConfigurationError([f"{place}: {NEEDS_MCP}"])
    found: dict[str, Definition] = {}
    connection = Connection(
        name, lambda: _open(target), found.update, seconds=connector.seconds, gives_up=True, alerts=Alerts()
    )
    running = asyncio.create_task(connection.run())
    await connection.first_look(CONNECT_TIMEOUT + 1)
    running.cancel()
    await asyncio.wait({running})
    if not found:
        raise ShopUnavailable(connection.fault or "it has no tools")
    return found


class ToolServer:
    """One server."""

    def __init__(self, name: str, tools: Mapping[str, ServerTool], target: Target) -> None:
        self.name = name
        self.tools = tools
        self.withdrawn: dict[str, str] = {}
        """Tool -> why it is not called: what it says of itself is not what was accepted."""
        self._alerts = Alerts()
        self.connection = Connection(
            name,
            lambda: _open(target),
            self.compare,
            seconds=target.seconds,
            gives_up=isinstance(target, ProgramTarget),
            alerts=self._alerts,
        )

    async def look_up(
        self, name: str, arguments: Mapping[str, Any], customer: ShopCustomer | None
    ) -> Mapping[str, Any] | None:
        """What a tool found. None if it found nothing, or something of another customer. Raises ShopUnavailable.

        `customer` is needed for a tool with injected arguments.
        """
        tool = self.tools[name]
        given = {**arguments, **_identity(tool.offered, customer)}
        self._refuse_withdrawn(name)
        answer = await self.connection.call(name, given)
        # A look at the tools can have come between the call and its answer.
        self._refuse_withdrawn(name)
        if answer.is_error:
            logger.info("a tool server found nothing", extra={"connector": self.name, "tool": name})
            return None
        try:
            return self._read(tool, answer, customer)
        except Unusable as fault:
            self._tell("a tool server's answer cannot be used", name, why=f"{fault.field} {fault.why}")
            raise

    def compare(self, definitions: Mapping[str, Definition]) -> None:
        """Withdraw each tool whose definition is not the accepted one, and offer it again once it is."""
        self.withdrawn = {}
        for name, tool in self.tools.items():
            now = definitions.get(name)
            if now is not None and pin_of(now) == pin_of(tool.definition):
                continue
            changes = differences(tool.definition, now) if now else ["the server has no such tool any more"]
            self.withdrawn[name] = changes[0] if changes else "its definition"
            self._tell("a tool is withdrawn: it is not what was accepted", name, changes=changes[:DIFFERENCES_LOGGED])

    async def check(self) -> list[str]:
        """Connect, and return what is wrong, in sentences. Raises ShopUnavailable."""
        await self.connection.first_look(CONNECT_TIMEOUT + 1)
        if self.connection.fault:
            raise ShopUnavailable(self.connection.fault)
        told = [f"{name} is not what was accepted: {why}" for name, why in self.withdrawn.items()]
        return told + [f"{name} is a look_up, and its server says that it changes something" for name in self._writing]

    def faults(self) -> list[str]:
        """What is wrong now, in sentences for operators."""
        if self.connection.fault:
            return [f"the tool server {self.name}: {self.connection.fault}"]
        return [f"the tool server {self.name}: {name} is withdrawn" for name in self.withdrawn]

    @property
    def _writing(self) -> list[str]:
        return [name for name, tool in self.tools.items() if tool.writes]

    def _refuse_withdrawn(self, name: str) -> None:
        if name in self.withdrawn:
            raise ShopUnavailable(f"{name} is withdrawn")

    def _read(self, tool: ServerTool, answer: ToolAnswer, customer: ShopCustomer | None) -> Mapping[str, Any] | None:
        record = _record(answer) if tool.offered.owner or tool.offered.result else None
        stopwatch = Stopwatch()
        if tool.offered.owner:
            owner = stopwatch.search(Expression(tool.offered.owner), record, "owner")
            if customer is None or str(owner) != customer.id:
                logger.warning("a tool server answered with another customer's data", extra={"tool": tool.name})
                return None
        if not tool.offered.result:
            text = answer.text or (json.dumps(answer.structured, ensure_ascii=False) if answer.structured else "")
            return {"text": visible(text)[:TEXT_LIMIT]} if text.strip() else None
        found = {
            name: _plain(stopwatch.search(Expression(at), record, name), name)
            for name, at in tool.offered.result.items()
        }
        return {name: value for name, value in found.items() if value not in (None, "", [])} or None

    def _tell(self, message: str, tool: str, **extra: Any) -> None:
        self._alerts.tell(logger, message, about=f"{self.name} {tool}", connector=self.name, tool=tool, **extra)


async def _open(target: Target) -> AbstractAsyncContextManager[Session]:
    # A thread loads the SDK: its import takes a second or more, in which the event loop would stand still.
    door = await asyncio.to_thread(importlib.import_module, "bot.shops.tool_servers.wire")
    opened: AbstractAsyncContextManager[Session] = door.open_session(target)
    return opened


def _target(name: str, connector: McpConnector, *, folder: Path, environ: Mapping[str, str], place: str) -> Target:
    secrets, faults = {}, []
    for where, reference in connector.secrets.items():
        try:
            secrets[where] = read_secret(reference, environ)
        except (OSError, ValueError):
            faults.append(f"{place}: {where}: {reference} is missing, empty or not readable")
    if faults:
        raise ConfigurationError(faults)
    if connector.command is None:
        return AddressTarget(
            name=name,
            url=connector.url or "",
            token=secrets.get("auth.token", ""),
            seconds=connector.seconds,
            limit=connector.bytes,
        )
    env = {key: secrets[f"env.{key}"] if is_reference(value) else str(value) for key, value in connector.env.items()}
    return ProgramTarget(
        name=name,
        command=tuple(map(str, connector.command)),
        env={"PATH": environ.get("PATH", "/usr/bin:/bin"), **env},
        cwd=str(folder / connector.cwd) if connector.cwd else None,
        memory_bytes=connector.memory_mb * 1_048_576,
        seconds=connector.seconds,
        limit=connector.bytes,
    )


def _tools(connector: McpConnector, pins: Mapping[str, Definition], *, place: str) -> Mapping[str, ServerTool]:
    """The offered tools. Raises ConfigurationError for each that is not accepted, or cannot be offered."""
    found, faults = {}, []
    for name, offered in connector.tools.items():
        definition = pins.get(name)
        if definition is None:
            faults.append(f"{place}: tools.{name} is not accepted: run `frontdesk shop mcp pins` and read it")
            continue
        if size_of(definition) > DEFINITION_LIMIT:
            faults.append(f"{place}: tools.{name} has a definition of more than {DEFINITION_LIMIT:,} bytes")
            continue
        try:
            arguments = arguments_of(definition, offered.inject)
        except ValueError as error:
            faults.append(f"{place}: tools.{name} {error}")
            continue
        found[name] = ServerTool(name, offered, definition, arguments)
    if faults:
        raise ConfigurationError(faults)
    return found


def _identity(offered: OfferedTool, customer: ShopCustomer | None) -> dict[str, str]:
    if not offered.inject:
        return {}
    if customer is None:
        raise ShopUnavailable("nobody is known to look up for")
    known = {"customer.id": customer.id, "customer.email": customer.email}
    return {argument: known[what] for argument, what in offered.inject.items()}


def _record(answer: ToolAnswer) -> Any:
    """The structured content. Some servers write it as text alone."""
    if answer.structured is not None:
        return answer.structured
    try:
        return orjson.loads(answer.text)
    except orjson.JSONDecodeError:
        raise Unusable("result", "is no JSON") from None


def _plain(value: object, field: str) -> object:
    """A value of a result as data: a number, one line, or a list of these."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return _value(value)
        case list():
            return [_plain(each, field) for each in value[:ENTRIES_LIMIT] if not isinstance(each, (list, dict))]
        case _:
            raise Unusable(field, "is no single value")
