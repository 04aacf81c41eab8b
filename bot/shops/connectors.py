"""The kinds of connectors that a shop file can name: what each needs, what it can serve, and how it is opened.

A new kind is a `Part` with `kind`, an entry in `Connector`, and a case in each of the functions below.

faults_of       what is wrong with a connector's entry, without asking anybody
open_connector  the connector, which connects at the first question
secrets_of      the secrets that it names
webhook_of      who sends events for it, and what signs them
is_unprotected  whether it is allowed plain HTTP to another machine
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from bot.checked_files import KeyPath, Part
from bot.errors import ConfigurationError
from bot.shops.declared.credentials import read_secret, read_secrets
from bot.shops.declared.file import LookUps, Secret
from bot.shops.declared.reading import SETTING, address_fault, read_connector
from bot.shops.declared.shop import open_declared_shop
from bot.shops.easypost.parcels import LIVE, open_easypost
from bot.shops.rest import open_rest_shop
from bot.shops.router import ParcelConnector, ShopConnector
from bot.shops.shopify.shop import App, open_shopify
from bot.shops.tool_servers import file as tool_server_file
from bot.shops.tool_servers.file import McpConnector, is_reference
from bot.store.database import Database

Role = Literal["customers", "orders", "products", "parcels", "actions"]

Short = Annotated[str, Field(min_length=1, max_length=60)]

LOOK_UPS: Mapping[Role, tuple[str, ...]] = {
    "customers": ("find_customer",),
    "orders": ("list_orders", "get_order"),
    "products": ("get_product",),
    "parcels": ("track",),
}
"""What the file of a described connector needs for what it serves."""


@dataclass(frozen=True, slots=True)
class WebhookKey:
    """What the service behind a connector signs its events with. The shop's own come with SHOP_WEBHOOK_SECRET."""

    sender: Literal["easypost", "shopify"]
    secrets: tuple[str, ...]
    """Two while a secret is changed."""
    domain: str = ""
    """The shop that events are about, if the service has several."""


class HttpConnector(Part):
    """A system that a file of its own describes (docs/guides/connect-your-shop.md)."""

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
    webhooks: Literal["app", "shop"] | None = None
    """Where the subscriptions to events are: in the app's configuration, or made for the shop by the API."""
    webhook_secret: Secret | None = None
    """What events are signed with, if there is no `client_secret`."""
    old_webhook_secret: Secret | None = None
    """What events were signed with until now, while the secret is changed."""

    @property
    def secrets(self) -> dict[str, str | None]:
        """The references to secrets, by their fields."""
        return {"token": self.token, "client_id": self.client_id, "client_secret": self.client_secret}


class EasyPostConnector(Part):
    """Parcels that EasyPost tracks (docs/guides/easypost.md)."""

    kind: Literal["easypost"]
    key: Secret
    webhook_secret: Secret | None = None
    """What EasyPost signs its events with. Without it, none are received."""
    carriers: Annotated[Mapping[Short, Short], Field(max_length=100)] = Field(default_factory=dict)
    """What the orders call a carrier -> what EasyPost calls it."""
    url: Annotated[str, Field(max_length=500)] = LIVE
    """Another address than EasyPost's, for tests. `env:NAME` names a variable with it."""


Connector = Annotated[
    HttpConnector | RestConnector | ShopifyConnector | EasyPostConnector | McpConnector, Field(discriminator="kind")
]
"""Each kind that there is."""


def faults_of(connector: Connector, roles: Iterable[Role]) -> Iterator[tuple[KeyPath, str]]:
    """Where in the entry a fault is, and what. `roles` is what the connector serves."""
    match connector:
        case RestConnector(url=url, insecure=insecure):
            if fault := address_fault(url, is_insecure=insecure):
                yield ("url",), fault
        case ShopifyConnector(url=url, secrets=secrets):
            if not is_reference(url) and (fault := address_fault(url, is_insecure=False)):
                yield ("url",), fault
            given = {field for field, reference in secrets.items() if reference}
            if given not in ({"token"}, {"client_id", "client_secret"}):
                yield (), "needs either token, or client_id and client_secret"
            if connector.webhooks and not (connector.client_secret or connector.webhook_secret):
                yield ("webhooks",), "needs webhook_secret, what Shopify signs events with"
            if "orders" not in roles:
                yield (), f"serves {', '.join(roles)}: Shopify does so for its own orders only, so it serves orders too"
        case EasyPostConnector(url=url):
            if not is_reference(url) and (fault := address_fault(url, is_insecure=False)):
                yield ("url",), fault
            if others := [role for role in roles if role != "parcels"]:
                yield (), f"serves {', '.join(others)}: EasyPost has parcels only"
        case McpConnector():
            yield from tool_server_file.faults_of(connector)
        case HttpConnector():
            pass


@asynccontextmanager
async def open_connector(
    connector: HttpConnector | RestConnector | ShopifyConnector | EasyPostConnector,
    roles: Iterable[Role],
    *,
    folder: Path,
    environ: Mapping[str, str],
    place: str,
    database: Database | None,
) -> AsyncIterator[ShopConnector | ParcelConnector]:
    """The connector. `folder` is where its paths begin. Raises ConfigurationError with faults that begin with `place`.

    What a described connector's file lacks for its roles is such a fault, too. `database` is for those that remember
    something.
    """
    match connector:
        case HttpConnector(file=name):
            path = folder / name
            async with open_declared_shop(path, environ=environ) as declared:
                if missing := missing_look_ups(declared.file.look_ups, roles):
                    raise ConfigurationError([f"{SETTING}: {path}: {each}" for each in missing])
                yield declared
        case RestConnector(url=url, token=token):
            found = _read({"token": token}, environ, place=place)
            async with open_rest_shop(url, found["token"]) as rest:
                yield rest
        case ShopifyConnector(returns=returns):
            signing = {name: getattr(connector, name) for name in ("webhook_secret", "old_webhook_secret")}
            found = _read({"url": connector.url, **connector.secrets, **signing}, environ, place=place)
            if fault := address_fault(found["url"], is_insecure=False):
                raise ConfigurationError([f"{place}: url {fault}"])
            access = found["token"] or App(found["client_id"], found["client_secret"])
            async with open_shopify(
                found["url"],
                access,
                asks_first=returns == "request",
                has_subscriptions=connector.webhooks == "shop",
            ) as shopify:
                yield shopify
        case EasyPostConnector(carriers=carriers):
            named = {"url": connector.url, "key": connector.key, "webhook_secret": connector.webhook_secret}
            found = _read(named, environ, place=place)
            if fault := address_fault(found["url"], is_insecure=False):
                raise ConfigurationError([f"{place}: url {fault}"])
            has_webhook = bool(found["webhook_secret"])
            async with open_easypost(
                found["key"], url=found["url"], carriers=carriers, has_webhook=has_webhook, database=database
            ) as parcels:
                yield parcels


def secrets_of(connector: Connector, *, folder: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """The secrets, for logs to mask. Raises ConfigurationError, OSError or ValueError if one is missing."""
    match connector:
        case HttpConnector(file=name):
            file = read_connector(folder / name)
            known = {file.base_url, *(getattr(file.auth, name, "") for name in ("token_url", "client_id", "user"))}
            secrets = read_secrets(file, environ, setting=SETTING)
            yield from (value.get_secret_value() for name, value in secrets.items() if name not in known)
        case RestConnector(token=token):
            yield read_secret(token, environ)
        case ShopifyConnector(token=one, client_secret=other):
            signing = (connector.webhook_secret, connector.old_webhook_secret)
            yield from (read_secret(reference, environ) for reference in (one, other, *signing) if reference)
        case EasyPostConnector(key=one, webhook_secret=other):
            yield from (read_secret(reference, environ) for reference in (one, other) if reference)
        case McpConnector(secrets=references):
            yield from (read_secret(reference, environ) for reference in references.values())


def webhook_of(connector: Connector, *, environ: Mapping[str, str]) -> WebhookKey | None:
    """Who sends signed events, and what signs them. None if nobody does. Raises OSError or ValueError."""
    match connector:
        case EasyPostConnector(webhook_secret=str() as reference):
            return WebhookKey("easypost", (read_secret(reference, environ),))
        case ShopifyConnector(webhooks="app" | "shop", url=url):
            named = (connector.webhook_secret or connector.client_secret, connector.old_webhook_secret)
            secrets = tuple(read_secret(reference, environ) for reference in named if reference)
            address = read_secret(url, environ) if is_reference(url) else url
            return WebhookKey("shopify", secrets, urlsplit(address).hostname or "")
        case _:
            return None


def is_unprotected(connector: Connector, *, folder: Path) -> bool:
    """Whether it is allowed plain HTTP to another machine. Raises ConfigurationError if its file has a fault."""
    match connector:
        case RestConnector(insecure=insecure) | McpConnector(insecure=insecure):
            return insecure
        case HttpConnector(file=name):
            return read_connector(folder / name).insecure
        case _:
            return False


def missing_look_ups(look_ups: LookUps, roles: Iterable[Role]) -> list[str]:
    """What a connector's file lacks for what it serves."""
    return [
        f"look_ups lacks {name}, which a connector that serves {role} needs"
        for role in roles
        for name in LOOK_UPS.get(role, ())
        if getattr(look_ups, name) is None
    ]


def _read(fields: Mapping[str, str | None], environ: Mapping[str, str], *, place: str) -> dict[str, str]:
    """What the fields stand for. Raises ConfigurationError with every one that is missing."""
    found, faults = {}, []
    for name, text in fields.items():
        try:
            found[name] = read_secret(text, environ) if text and is_reference(text) else text or ""
        except (OSError, ValueError):
            faults.append(f"{place}: {text} is missing, empty or not readable")
    if faults:
        raise ConfigurationError(faults)
    return found
