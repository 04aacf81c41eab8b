"""Who the customer of a case is, for the staff at its desk: shop account, last orders, past cases, scores, local time.

It is looked up when a person asks, and shown to that person alone. Nothing of it is stored: a look-up delays no card,
and there is nothing to erase with the customer.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.clock import Clock
from bot.conversation import Customer
from bot.desk.identity import Identities
from bot.language.languages import read_section
from bot.language.sentences import language_for
from bot.shops.port import Order, OrderBackend, ShopUnavailable
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.blocks import Card, fields, moment, one_line, section
from bot.slack.mrkdwn import escape
from bot.store import audit, case_lists
from bot.store.case_lists import Desks
from bot.store.cases import ERASED, Case
from bot.store.database import Database
from bot.views.staff_cards import OUTCOMES

logger = logging.getLogger(__name__)

ORDERS, PAST = 3, 5
"""The most orders and past cases that are shown."""
LOOKED_THROUGH = 50
"""The customer's newest cases that are looked through, at all desks."""
SHOP_SECONDS = 5.0
"""How long the shop can take to list the orders."""
SHOP_SILENT = "The shop doesn't answer right now."
ERASED_CUSTOMER = "The customer's data was erased."


@dataclass(frozen=True, slots=True)
class CustomerCards:
    """Builds what staff see about a case's customer."""

    database: Database
    clock: Clock
    identities: Identities
    shop: OrderBackend | None

    async def card(self, case: Case, *, at: Desks) -> Card:
        """What there is to say of the customer. Of past cases, only those of the reader's desks `at` are shown."""
        title = f"The customer of {case.ref}"
        if case.outcome == ERASED:
            return Card(title, (section(ERASED_CUSTOMER),))
        customer = await self._identify(case)
        past, scores = await self._past(case, at)
        account, orders = await self._in_shop(customer)
        local = _local_time(customer.zone, self.clock.now()) if customer else ""
        language = read_section("name").get(language_for(case.language), case.language)
        about = fields(
            ("Customer", f"<@{case.customer}>"),
            ("Shop account", account),
            ("Language", escape(str(language))),
            ("Local time", escape(local)),
            ("Last scores", " · ".join(f"{each.ref}: {scores[each.ref]} of 5" for each in past if each.ref in scores)),
        )
        listed = [("Last orders", orders), ("Past cases", [_past_case(each) for each in past[:PAST]])]
        sections = [section("\n".join([f"*{name}*", *lines])) for name, lines in listed if lines]
        return Card(title, (section(f"*{title}*"), about, *sections))

    async def _identify(self, case: Case) -> Customer | None:
        try:
            return await self.identities.identify(case.customer)
        except (SlackRefused, SlackUnanswered):
            logger.warning("Slack does not say who a customer is", extra={"case": case.ref})
            return None

    async def _past(self, case: Case, at: Desks) -> tuple[list[Case], Mapping[str, str]]:
        """The customer's other cases at these desks, newest first, and the customer's scores by the case."""
        async with self.database.reading() as tx:
            found = await case_lists.of_customer(tx, case.thread.team, case.customer, limit=LOOKED_THROUGH)
            past = [each for each in found if each.id != case.id and at.have(each)]
            subjects = [f"case/{each.ref}" for each in past]
            scores = await audit.ratings(tx, subjects, person=case.customer)
        return past, {subject.removeprefix("case/"): score for subject, score in scores.items()}

    async def _in_shop(self, customer: Customer | None) -> tuple[str, list[str]]:
        """What to say of the shop account, which Slack's confirmed address verifies, and of the last orders."""
        if self.shop is None or customer is None:
            return "", []
        if customer.shop_silent:
            return SHOP_SILENT, []
        if customer.shop is None:
            return "not verified", []
        try:
            async with asyncio.timeout(SHOP_SECONDS):
                orders = await self.shop.list_orders(customer.shop)
        except (ShopUnavailable, TimeoutError):
            return f"verified. {SHOP_SILENT}", []
        return f"verified: {one_line(customer.shop.name, 80)}", _orders(orders)


def _orders(orders: Sequence[Order]) -> list[str]:
    return [
        f"• {one_line(order.id, 60)} · {order.status.replace('_', ' ')} · {order.payment.replace('_', ' ')}"
        f" · {escape(str(order.total))} · {moment(order.placed_at.timestamp(), '{date_short_pretty}')}"
        for order in orders[:ORDERS]
    ]


def _past_case(case: Case) -> str:
    ended = OUTCOMES.get(case.outcome, case.outcome.replace("_", " ")) if case.outcome else case.state.replace("_", " ")
    return f"• {case.ref} · {one_line(case.title, 100)} · {escape(ended)}"


def _local_time(zone: str, now: float) -> str:
    """The time on the customer's clock. Empty if their zone is not known."""
    try:
        return f"{datetime.fromtimestamp(now, ZoneInfo(zone)):%H:%M} ({zone})" if zone else ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""
