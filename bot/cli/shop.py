"""`frontdesk shop`: draft and check the files that say how to reach the shop, and try them without a change."""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

from bot.actions.policy_file import read_policy
from bot.checked_files import FileFaulty
from bot.conversation import ShopCustomer
from bot.errors import ConfigurationError
from bot.settings import Settings
from bot.shops.actions import ActionKind, Arguments, NotSupported, Shop
from bot.shops.connectors import HttpConnector, Role, missing_look_ups
from bot.shops.declared.draft import draft
from bot.shops.declared.file import ConnectorFile, Key
from bot.shops.declared.openapi import read_document
from bot.shops.declared.reading import read_connector
from bot.shops.declared.schema import json_schema
from bot.shops.declared.shop import open_declared_shop
from bot.shops.port import Order, ShopUnavailable
from bot.shops.shop_file import open_shop_file, read_shop_file

_EXAMPLE_KEY = "00000000-0000-4000-8000-000000000000"
"""Stands where an idempotency key will be."""
NO_FILE = "shop: name a connector's file, or set SHOP_FILE"


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Carry out one verb. The exit status is 2 if a file has a fault, and 1 if the shop has no answer."""
    match given.verb:
        case "schema":
            print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
            return 0
        case "draft":
            print(draft(read_document(given.document)), end="")
            return 0
        case "check":
            return _check(given.file, settings)
        case _:
            try:
                return await _try(given, settings)
            except ShopUnavailable as error:
                print(f"The shop gave no usable answer: {error}.")
                return 1


def _check(path: Path | None, settings: Settings) -> int:
    if path is not None:
        return 0 if _check_connector(path, settings) else 2
    if settings.shop_file is None:
        raise ConfigurationError([NO_FILE])
    try:
        file = read_shop_file(settings.shop_file)
    except FileFaulty as error:
        _print_faults(settings.shop_file, error)
        return 2
    is_right = True
    for name, connector in file.connectors.items():
        roles = file.serves.roles_of(name)
        print(f"{name}: {connector.kind}, serves {', '.join(roles)}")
        if isinstance(connector, HttpConnector):
            is_right &= _check_connector(settings.shop_file.parent / connector.file, settings, roles)
    return 0 if is_right else 2


def _check_connector(path: Path, settings: Settings, roles: Sequence[Role] = ()) -> bool:
    """Print what is to say of the connector's file. Returns whether it has no fault."""
    try:
        connector = read_connector(path)
    except FileFaulty as error:
        _print_faults(path, error)
        return False
    if missing := missing_look_ups(connector.look_ups, roles):
        for fault in missing:
            print(f"wrong: {path}: {fault}")
        return False
    for line in (*_told(connector), *(f"note: {note}" for note in notes(connector, settings))):
        print(line)
    print(f"{path} has no fault.")
    return True


def _print_faults(path: Path, error: FileFaulty) -> None:
    for fault in error.found:
        print(f"wrong: {path}: {fault}")


def notes(connector: ConnectorFile, settings: Settings) -> Iterator[str]:
    """What is worth knowing about a connector, and is no fault."""
    used = {look_up.record for look_up in (getattr(connector.look_ups, name) for name in _look_ups(connector))}
    used |= {spec.record for fields in connector.records.values() for spec in fields.values() if spec.record}
    for name in sorted(set(connector.records) - used):
        yield f"records.{name} is not used"
    if connector.insecure:
        yield "insecure is true: orders and secrets may cross the network unprotected"
    if connector.actions and settings.policy_path is None:
        yield "POLICY_PATH is not set, so no action is offered"
    elif connector.actions and settings.policy_path:
        allowed = read_policy(settings.policy_path).kinds
        for kind in connector.actions:
            if kind not in allowed:
                yield f"the policy has no {kind}, so it is not offered"


def _told(connector: ConnectorFile) -> Iterator[str]:
    yield f"look-ups: {', '.join(_look_ups(connector))}"
    for kind, action in connector.actions.items():
        kept = f"the shop keeps a key for {action.key.hours:g} h" if isinstance(action.key, Key) else "never sent twice"
        quoted = "the shop quotes it" if action.quote else "the quote is computed from the order"
        yield f"{kind}: {kept}; {quoted}"


def _look_ups(connector: ConnectorFile) -> list[str]:
    return [name for name in type(connector.look_ups).model_fields if getattr(connector.look_ups, name) is not None]


def _open(path: Path | None, settings: Settings) -> AbstractAsyncContextManager[Shop]:
    if path is not None:
        return open_declared_shop(path, environ=os.environ)
    if settings.shop_file is None:
        raise ConfigurationError([NO_FILE])
    return open_shop_file(settings.shop_file, environ=os.environ)


async def _try(given: argparse.Namespace, settings: Settings) -> int:
    try:
        arguments = Arguments.read({**json.loads(given.arguments), "order": given.order})
    except (TypeError, ValueError):
        raise ConfigurationError(["shop try: --arguments is no JSON object with the arguments of an action"]) from None
    async with _open(given.file, settings) as shop:
        customer = await shop.find_customer(given.email)
        if customer is None:
            print("The shop has no customer with this address, or several.")
            return 1
        print(f"customer {customer.id}: {customer.name}")
        if not given.order:
            for order in await shop.list_orders(customer):
                print(_order(order))
            return 0
        found = await shop.get_order(customer, given.order)
        if found is None:
            print(f"The customer has no order {given.order}.")
            return 1
        print(_order(found))
        for line in found.lines:
            print(f"  line {line.id}: {line.quantity} x {line.title}, {line.unit_price}")
        if given.action is None:
            return 0
        return await _prepare(shop, customer, given.action, found, arguments)


async def _prepare(shop: Shop, customer: ShopCustomer, name: str, order: Order, arguments: Arguments) -> int:
    """Show what would be sent. Nothing is."""
    kinds = await shop.kinds()
    if name not in kinds:
        print(f"The shop has no {name}. It has: {', '.join(kinds) or 'no actions'}.")
        return 1
    kind = cast("ActionKind", name)
    try:
        quote = await shop.quote(customer, kind, order, arguments)
        request = shop.render(customer, kind, order, arguments, quote=quote, key=_EXAMPLE_KEY)
    except NotSupported as error:
        print(f"It is not possible ({error.reason}): {error}.")
        return 1
    print(f"quote: {quote.money or 'no money moves'}{' (computed)' if quote.computed else ''}")
    print(f"{request.method} {request.path}")
    for header, value in request.headers.items():
        print(f"{header}: {value}")
    print(request.body)
    print("Nothing was sent. Credentials are added when it is.")
    return 0


def _order(order: Order) -> str:
    return f"order {order.id}: {order.status} ({order.state}), {order.total}, {order.placed_at:%Y-%m-%d}"
