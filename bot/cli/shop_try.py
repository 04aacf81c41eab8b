"""`frontdesk shop try`: look up a customer, prepare an action, and send it if that is asked for.

open_shop  The shop that a connector's file or `SHOP_FILE` describes.
try_shop   One try. Nothing is sent without `--really` and the order's number, typed once more.
keeps_to_its_key  What two requests with one key say of the shop.
"""

import argparse
import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from bot.conversation import ShopCustomer
from bot.errors import ConfigurationError
from bot.settings import Settings
from bot.shops.actions import ActionKind, ActionRequest, Arguments, KindSpec, NotSupported, Outcome, Shop
from bot.shops.declared.shop import DeclaredShop, open_declared_shop
from bot.shops.port import Order
from bot.shops.router import RoutedShop
from bot.shops.shop_file import open_shop_file
from bot.store import audit
from bot.store.database import Database, open_kept

NO_FILE = "shop: name a connector's file, or set SHOP_FILE"
ACTOR = "cli"
"""Who sends it, in the audit trail."""
_EXAMPLE_KEY = "00000000-0000-4000-8000-000000000000"
"""Stands where an idempotency key will be."""


def open_shop(path: Path | None, settings: Settings) -> AbstractAsyncContextManager[DeclaredShop | RoutedShop]:
    """The shop. Raises ConfigurationError with the faults of its files, or if none is named."""
    if path is not None:
        return open_declared_shop(path, environ=os.environ)
    if settings.shop_file is None:
        raise ConfigurationError([NO_FILE])
    return open_shop_file(settings.shop_file, environ=os.environ)


async def try_shop(given: argparse.Namespace, settings: Settings) -> int:
    """Look up what is asked for. The exit status is 1 if it is not there, or the shop did not do it."""
    if given.twice and not given.really:
        raise ConfigurationError(["shop try: --twice sends twice, so it needs --really"])
    try:
        arguments = Arguments.read({**json.loads(given.arguments), "order": given.order})
    except (TypeError, ValueError):
        raise ConfigurationError(["shop try: --arguments is no JSON object with the arguments of an action"]) from None
    async with open_shop(given.file, settings) as shop:
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
        trial = _Trial(shop, customer, found, arguments)
        if not given.really:
            return 0 if await trial.prepare(given.action, key=_EXAMPLE_KEY) else 1
        async with open_kept(settings.database, read_only=False) as database:
            return await trial.send(given.action, database, is_twice=given.twice)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One action that is tried for one order."""

    shop: Shop
    customer: ShopCustomer
    order: Order
    arguments: Arguments

    async def prepare(self, name: str, *, key: str, is_sent: bool = False) -> ActionRequest | None:
        """Show what would be sent. Return it, or None if it is not possible."""
        kinds = await self.shop.kinds()
        if name not in kinds:
            print(f"The shop has no {name}. It has: {', '.join(kinds) or 'no actions'}.")
            return None
        kind = cast("ActionKind", name)
        try:
            quote = await self.shop.quote(self.customer, kind, self.order, self.arguments)
            request = self.shop.render(self.customer, kind, self.order, self.arguments, quote=quote, key=key)
        except NotSupported as error:
            print(f"It is not possible ({error.reason}): {error}.")
            return None
        print(f"quote: {quote.money or 'no money moves'}{' (computed)' if quote.computed else ''}")
        print(f"{request.method} {request.path}")
        for header, value in request.headers.items():
            print(f"{header}: {value}")
        print(request.body)
        if not is_sent:
            print("Nothing was sent. Credentials are added when it is.")
        return request

    async def send(self, name: str, database: Database, *, is_twice: bool) -> int:
        """Send it once the order's number is typed once more, with an entry in the audit trail before and after."""
        spec = (await self.shop.kinds()).get(cast("ActionKind", name))
        if is_twice and spec and spec.key_hours is None:
            print("The connector names no key for it, so it is never sent twice. Nothing was sent.")
            return 1
        key = str(uuid.uuid4())
        request = await self.prepare(name, key=key, is_sent=True)
        if spec is None or request is None:
            return 1
        print(f"This changes {self.order.id} in the shop. Type its number to send it: ", end="", flush=True)
        if (await asyncio.to_thread(sys.stdin.readline)).strip() != self.order.id:
            print("Nothing was sent.")
            return 1
        outcomes = []
        for _ in range(2 if is_twice else 1):
            await self._note(database, "shop.try.sent", name, {"key": key})
            outcomes.append(await self.shop.send(request))
            print(f"outcome: {_told(outcomes[-1])}")
            await self._note(database, "shop.try.outcome", name, {"key": key, "state": outcomes[-1].state})
        if is_twice:
            print(keeps_to_its_key(*outcomes, spec=spec))
        read = await self.shop.outcome(self.customer, cast("ActionKind", name), self.arguments, key=key)
        print(f"read back: {_told(read)}")
        return 0 if outcomes[0].state in ("done", "in_progress") else 1

    async def _note(self, database: Database, action: str, kind: str, detail: Mapping[str, str]) -> None:
        subject = f"order/{self.order.id}"
        async with database.transaction() as tx:
            await audit.note(
                tx, actor=ACTOR, action=action, subject=subject, detail={"kind": kind, **detail}, now=time.time()
            )


def keeps_to_its_key(first: Outcome, second: Outcome, *, spec: KindSpec) -> str:
    """Whether the shop took the second request for the first one."""
    if first.state != "done":
        return "The first request was not done, so the second says nothing of the key."
    if second.state == "in_progress" or (second.state == "done" and first.reference == second.reference != ""):
        return f"The shop keeps to the key. The file says for how long: {spec.key_hours:g} h."
    if second.state == "done" and first.reference != second.reference:
        return "The shop does NOT keep to the key: it did it twice. Write key: none, and undo one of the two."
    if second.state == "refused":
        return f"The shop refused the second request ({second.reason}) and may not know the key. Write key: none."
    return "The answers do not say whether the shop keeps to the key. Look at the order in the shop."


def _told(outcome: Outcome) -> str:
    parts = (outcome.state, outcome.reason, outcome.reference, str(outcome.money or ""))
    return ", ".join(part for part in parts if part)


def _order(order: Order) -> str:
    return f"order {order.id}: {order.status} ({order.state}), {order.total}, {order.placed_at:%Y-%m-%d}"
