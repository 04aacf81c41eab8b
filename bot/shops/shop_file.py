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
from bot.shops.shopify.shop import App, ShopifyShop, open_shopify

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


class ShopifyConnector(Part):
    """A shop at Shopify (docs/guides/shopify.md)."""

    kind: Literal["shopify"]
    url: Annotated[str, Field(max_length=500)]
    """Such as `https://fernwick.myshopify.com`, or `env:NAME` for a variable with the address."""
    token: Secret | None = None
    """A token that does not end, of an app that was made in the shop's admin. Otherwise the shop's own app signs in."""
    client_id: Secret | None = None
    client_secret: Secret | None = None
    returns: Literal["request", "create"] = "request"
    """Whether a return waits for the shop's approval, or is open at once."""

    @property
    def secrets(self) -> dict[str, str | None]:
        """The references to secrets, by their fields."""
        return {"token": self.token, "client_id": self.client_id, "client_secret": self.client_secret}


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
        Mapping[Name, Annotated[HttpConnector | RestConnector | ShopifyConnector, Field(discriminator="kind")]],
        Field(min_length=1),
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
        case ShopifyConnector() as shopify:
            async with _open_shopify(shopify, environ, place=f"{SETTING}: {path}") as shop:
                yield shop


@asynccontextmanager
async def _open_shopify(
    connector: ShopifyConnector, environ: Mapping[str, str], *, place: str
) -> AsyncIterator[ShopifyShop]:
    found: dict[str, str] = {}
    faults = []
    for name, reference in {"url": connector.url, **connector.secrets}.items():
        try:
            found[name] = read_secret(reference, environ) if reference and _is_reference(reference) else reference or ""
        except (OSError, ValueError):
            faults.append(f"{place}: {reference} is missing, empty or not readable")
    if not faults and (fault := address_fault(found["url"], is_insecure=False)):
        faults.append(f"{place}: url {fault}")
    if faults:
        raise ConfigurationError(faults)
    access = found["token"] or App(found["client_id"], found["client_secret"])
    async with open_shopify(found["url"], access, asks_first=connector.returns == "request") as shop:
        yield shop


def _is_reference(text: str) -> bool:
    return text.startswith(("env:", "file:/"))


def secrets_of(path: Path, *, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that the files name, for logs to mask. Empty if a file has a fault: opening it says which."""
    found: dict[str, str] = {}
    try:
        for connector in read_shop_file(path).connectors.values():
            if isinstance(connector, RestConnector):
                found[connector.token] = read_secret(connector.token, environ)
                continue
            if isinstance(connector, ShopifyConnector):
                own = (connector.token, connector.client_secret)
                found |= {reference: read_secret(reference, environ) for reference in own if reference}
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
        match connector:
            case RestConnector():
                is_insecure = connector.insecure
            case HttpConnector():
                is_insecure = read_connector(path.parent / connector.file).insecure
            case _:
                is_insecure = False
        names += [name] if is_insecure else []
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
        if isinstance(connector, ShopifyConnector):
            yield from _check_shopify(name, connector)


def _check_shopify(name: str, connector: ShopifyConnector) -> Iterator[tuple[KeyPath, str]]:
    if not _is_reference(connector.url) and (fault := address_fault(connector.url, is_insecure=False)):
        yield ("connectors", name, "url"), fault
    given = {field for field, reference in connector.secrets.items() if reference}
    if given not in ({"token"}, {"client_id", "client_secret"}):
        yield ("connectors", name), "needs either token, or client_id and client_secret"


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
