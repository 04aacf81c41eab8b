"""The file that `SHOP_FILE` names: which connectors lead to the shop, and what each of them serves.

read_shop_file   The file, or every fault of it.
open_shop_file   The shop that it describes.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from bot.checked_files import FileFormat, KeyPath, Part
from bot.errors import ConfigurationError
from bot.shops import connectors
from bot.shops.actions import ActionKind
from bot.shops.connectors import Connector, Role, WebhookKey, open_connector
from bot.shops.declared.reading import SETTING
from bot.shops.quoting import OF_NO_ORDER
from bot.shops.router import Route, RoutedShop, Routes
from bot.shops.tool_servers.file import McpConnector
from bot.shops.tool_servers.server import ToolServer, open_tool_server
from bot.store.database import Database

SIZE_LIMIT = 65_536
"""The most bytes of a file."""
DEFAULT: Literal["default"] = "default"
"""Stands for the kinds of action that have no connector of their own."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]


class Serves(Part):
    """Which connector serves what. What is left out is served by the connector of the orders."""

    customers: Name
    orders: Name
    products: Name | None = None
    parcels: Name | None = None
    actions: Mapping[Literal["default"] | ActionKind, Name] | None = None
    """Kind of action -> its connector. `default` has all others."""

    def entries(self) -> Iterator[tuple[KeyPath, Role, str]]:
        """Place in `serves`, role and connector of all that is named."""
        for role in cast("tuple[Role, ...]", ("customers", "orders", "products", "parcels")):
            if name := getattr(self, role):
                yield (role,), role, name
        for kind, name in (self.actions or {}).items():
            yield ("actions", kind), "actions", name

    def roles_of(self, connector: str) -> tuple[Role, ...]:
        """What the connector is named for."""
        return tuple(dict.fromkeys(role for _, role, name in self.entries() if name == connector))


class ShopFile(Part):
    """The connectors."""

    connectors: Annotated[Mapping[Name, Connector], Field(min_length=1)]
    serves: Serves


def read_shop_file(path: Path) -> ShopFile:
    """The file. Raises ConfigurationError; a FileFaulty has the place of every fault."""
    return _FORMAT.read(path)


@asynccontextmanager
async def open_shop_file(
    path: Path, *, environ: Mapping[str, str], database: Database | None = None
) -> AsyncIterator[RoutedShop]:
    """The shop. It connects at the first question. Raises ConfigurationError with the faults of all connectors.

    Without a `database`, what connectors remember is gone when the block is left.
    """
    file = read_shop_file(path)
    opened: dict[str, Any] = {}
    tool_servers: list[ToolServer] = []
    faults: list[str] = []
    async with AsyncExitStack() as stack:
        for name, connector in file.connectors.items():
            place, roles, folder = f"{SETTING}: {path}: {name}", file.serves.roles_of(name), path.parent
            try:
                if isinstance(connector, McpConnector):
                    serving = open_tool_server(name, connector, folder=folder, environ=environ, place=place)
                    tool_servers.append(await stack.enter_async_context(serving))
                    continue
                opening = open_connector(
                    connector, roles, folder=folder, environ=environ, place=place, database=database
                )
                opened[name] = await stack.enter_async_context(opening)
            except ConfigurationError as error:
                faults += error.faults
        if faults:
            raise ConfigurationError(faults)
        yield RoutedShop(_routes(file.serves, opened), tool_servers=tool_servers)


def _routes(serves: Serves, opened: Mapping[str, Any]) -> Routes:
    """Where questions go. `_check` and the kinds of the connectors say that each can serve what it is named for."""

    def to(name: str | None) -> Route[Any]:
        chosen = name or serves.orders
        return Route(chosen, opened[chosen])

    kinds = dict(serves.actions or {})
    default = kinds.pop(DEFAULT, None)
    return Routes(
        to(serves.orders),
        to(serves.parcels),
        to(serves.products),
        to(default),
        {cast("ActionKind", kind): to(name) for kind, name in kinds.items()},
    )


def secrets_of(path: Path, *, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that the files name, for logs to mask. Empty if a file has a fault: opening it says which."""
    try:
        named = read_shop_file(path).connectors.values()
        found = [connectors.secrets_of(each, folder=path.parent, environ=environ) for each in named]
        return tuple(dict.fromkeys(secret for secrets in found for secret in secrets))
    except (ConfigurationError, OSError, ValueError):
        return ()


def webhooks_of(path: Path, *, environ: Mapping[str, str]) -> list[WebhookKey]:
    """What the services behind the connectors sign their events with. Raises ConfigurationError.

    Without a secret that is missing there is none: opening the shop says which.
    """
    found: list[WebhookKey] = []
    for connector in read_shop_file(path).connectors.values():
        with suppress(OSError, ValueError):
            if key := connectors.webhook_of(connector, environ=environ):
                found.append(key)
    return found


def unprotected(path: Path) -> list[str]:
    """The connectors that are allowed plain HTTP to another machine. Raises ConfigurationError as `read_shop_file`."""
    named = read_shop_file(path).connectors.items()
    return [name for name, connector in named if connectors.is_unprotected(connector, folder=path.parent)]


def _check(file: ShopFile) -> Iterator[tuple[KeyPath, str]]:
    serves = file.serves
    for path, role, name in serves.entries():
        if name not in file.connectors:
            yield ("serves", *path), f"names {name}, which is not among the connectors"
        elif role == "orders" and name != serves.customers:
            yield ("serves", *path), f"is another connector than that of the customers, {serves.customers}"
        elif path[-1] in OF_NO_ORDER and name != serves.customers:
            yield ("serves", *path), f"is about the customer, so {serves.customers} serves it"
    for name, connector in file.connectors.items():
        roles = serves.roles_of(name)
        if isinstance(connector, McpConnector):
            if roles:
                yield ("connectors", name), f"offers tools, and cannot serve {', '.join(roles)}"
        elif not roles:
            yield ("connectors", name), "serves nothing"
            continue
        for path, fault in connectors.faults_of(connector, roles):
            yield ("connectors", name, *path), fault


_FORMAT = FileFormat(
    ShopFile,
    setting=SETTING,
    size_limit=SIZE_LIMIT,
    forms={
        "": "connectors: {store: {kind: http, file: store.http.yml}}",
        "connectors": "connectors: {store: {kind: http, file: store.http.yml}}",
        "serves": "serves: {customers: store, orders: store, products: store, parcels: store}",
        "serves.actions": "actions: {default: store}",
        "connectors.tools": 'tools: {stock_of: {as: look_up, title: "Checking stock", private: false}}',
    },
    check=_check,
)
