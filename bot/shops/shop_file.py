"""The file that `SHOP_FILE` names: which connectors lead to the shop, and what each of them serves.

read_shop_file   The file, or every fault of it.
open_shop_file   The shop that it describes.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from bot.checked_files import FileFormat, KeyPath, Part
from bot.errors import ConfigurationError
from bot.shops.actions import Shop
from bot.shops.declared.credentials import read_secret, read_secrets
from bot.shops.declared.file import Secret
from bot.shops.declared.reading import SETTING, address_fault, read_connector
from bot.shops.declared.shop import open_declared_shop
from bot.shops.rest import open_rest_shop

SIZE_LIMIT = 65_536
"""The most bytes of a file."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]


class HttpConnector(Part):
    """A shop that a file of its own describes (docs/guides/connect-your-shop.md)."""

    kind: Literal["http"]
    file: Annotated[str, Field(min_length=1, max_length=500)]
    """Its path, from where this file is."""


class RestConnector(Part):
    """A shop that speaks docs/reference/shop-api.md."""

    kind: Literal["rest"]
    url: Annotated[str, Field(max_length=500)]
    token: Secret
    insecure: bool = False


class Serves(Part):
    """Which connector serves what. The shop's customers are those of one connector, so it serves all for now."""

    customers: Name
    orders: Name
    products: Name | None = None
    parcels: Name | None = None
    actions: Mapping[Literal["default"], Name] | None = None


class ShopFile(Part):
    """The connectors."""

    connectors: Annotated[
        Mapping[Name, Annotated[HttpConnector | RestConnector, Field(discriminator="kind")]], Field(min_length=1)
    ]
    serves: Serves


def read_shop_file(path: Path) -> ShopFile:
    """The file. Raises ConfigurationError; a FileFaulty has the place of every fault."""
    return _FORMAT.read(path)


@asynccontextmanager
async def open_shop_file(path: Path, *, environ: Mapping[str, str]) -> AsyncIterator[Shop]:
    """The shop. It connects at the first question. Raises ConfigurationError with the faults."""
    connector = read_shop_file(path)
    match connector.connectors[connector.serves.customers]:
        case HttpConnector(file=name):
            async with open_declared_shop(path.parent / name, environ=environ) as declared:
                yield declared
        case RestConnector(url=url, token=token):
            try:
                secret = read_secret(token, environ)
            except (OSError, ValueError):
                raise ConfigurationError([f"{SETTING}: {path}: {token} is missing, empty or not readable"]) from None
            async with open_rest_shop(url, secret) as rest:
                yield rest


def secrets_of(path: Path, *, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that the files name, for logs to mask. Empty if a file has a fault: opening it says which."""
    found: dict[str, str] = {}
    try:
        for connector in read_shop_file(path).connectors.values():
            if isinstance(connector, RestConnector):
                found[connector.token] = read_secret(connector.token, environ)
                continue
            file = read_connector(path.parent / connector.file)
            secrets = read_secrets(file, environ, setting=SETTING)
            known = {file.base_url, *(getattr(file.auth, name, "") for name in ("token_url", "client_id", "user"))}
            found |= {name: value.get_secret_value() for name, value in secrets.items() if name not in known}
    except (ConfigurationError, OSError, ValueError):
        return ()
    return tuple(found.values())


def unprotected(path: Path) -> list[str]:
    """The connectors that are allowed plain HTTP to another machine. Raises ConfigurationError as `read_shop_file`."""
    names = []
    for name, connector in read_shop_file(path).connectors.items():
        insecure = (
            connector.insecure
            if isinstance(connector, RestConnector)
            else read_connector(path.parent / connector.file).insecure
        )
        names += [name] if insecure else []
    return names


def _check(file: ShopFile) -> Iterator[tuple[KeyPath, str]]:
    serves = file.serves
    told = {name: value for name, value in serves.model_dump().items() if isinstance(value, str)}
    told |= {f"actions.{name}": value for name, value in (serves.actions or {}).items()}
    for role, name in told.items():
        path: KeyPath = ("serves", *role.split("."))
        if name not in file.connectors:
            yield path, f"names {name}, which is not among the connectors"
        elif name != serves.customers:
            yield path, f"is another connector than that of the customers, {serves.customers}: one serves everything"
    for name, connector in file.connectors.items():
        if name not in told.values():
            yield ("connectors", name), "serves nothing"
        if isinstance(connector, RestConnector):
            fault = address_fault(connector.url, is_insecure=connector.insecure)
            if fault:
                yield ("connectors", name, "url"), fault


_FORMAT = FileFormat(
    ShopFile,
    setting=SETTING,
    size_limit=SIZE_LIMIT,
    forms={
        "": "connectors: {store: {kind: http, file: store.http.yml}}",
        "connectors": "connectors: {store: {kind: http, file: store.http.yml}}",
        "serves": "serves: {customers: store, orders: store, products: store, parcels: store}",
        "serves.actions": "actions: {default: store}",
    },
    check=_check,
)
