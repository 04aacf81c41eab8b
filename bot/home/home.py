"""The Home tab. Customers see their cases, staff see the queue of their desks. Each opening renders it again.

show              Publishes the person's tab.
choose_language   Saves a customer's language, and shows the tab in it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.cases.hours import Hours
from bot.cases.staff import Staff
from bot.clock import Clock
from bot.desk.identity import Identities
from bot.desk_file.model import DeskFile
from bot.help_center.library import Library
from bot.language.languages import languages
from bot.language.sentences import Sentences
from bot.slack.api.transport import Identity
from bot.slack.api.views import Views
from bot.slack.blocks import Card
from bot.store import case_lists, pauses, preferences
from bot.store.case_lists import Desks
from bot.store.database import Database
from bot.views import home
from bot.views.home import AS_IN_SLACK
from bot.views.queue_cards import VIEWS

logger = logging.getLogger(__name__)

QUEUE_LIMIT = 200
METRICS_DAYS = 7
"""The number of days whose metrics staff see. `/frontdesk metrics` shows other periods."""
PAST_LIMIT = 10
"""The most ended cases that a customer sees."""


@dataclass(frozen=True, slots=True)
class Home:
    """Publishes Home tabs."""

    me: Identity
    views: Views
    database: Database
    clock: Clock
    sentences: Sentences
    identities: Identities
    staff: Staff
    library: Library
    hours: Hours
    metrics: Callable[[int, Desks], Awaitable[Card]]
    """Days and desks -> the metrics of these days."""
    desk_file: Callable[[], DeskFile] = DeskFile
    """The desk file in force."""

    async def show(self, user: str, *, view: str = "", tag: str = "") -> None:
        """Publish the tab, unless the user is not a person. Raises what Slack and the database raise.

        Staff see the list of cases that `view` names, a key of VIEWS, or everything that is open. With a `tag` of the
        desk file, they see only the cases that have it.
        """
        if desks := await self.staff.desks(user):
            tag = tag if tag in self.desk_file().cases.tags else ""
            await self._show_staff(user, desks, view=view if view in VIEWS else "all", tag=tag)
        else:
            await self._show_customer(user)

    async def choose_language(self, user: str, chosen: str) -> None:
        """Save the choice, a supported language or none, and show the tab in it."""
        if chosen not in (*languages(), AS_IN_SLACK):
            return
        async with self.database.transaction() as tx:
            language = "" if chosen == AS_IN_SLACK else chosen
            await preferences.choose_language(tx, user, language)
        await self._show_customer(user)

    async def _show_customer(self, user: str) -> None:
        customer = await self.identities.identify(user, with_shop=False)
        if customer is None:
            return
        async with self.database.transaction() as tx:
            found = await case_lists.of_customer(tx, self.me.team, user, limit=QUEUE_LIMIT)
            chosen = await preferences.language(tx, user)
        view = home.for_customer(
            self.sentences,
            self.sentences.language_for(customer.locale),
            open_cases=[case for case in found if case.is_open],
            past=[case for case in found if not case.is_open][:PAST_LIMIT],
            chosen=chosen,
            desk=self.desk_file(),
        )
        await self.views.publish_home(user, view)

    async def _show_staff(self, user: str, desks: Desks, *, view: str, tag: str) -> None:
        today = self.hours.midnight(self.clock.now())
        async with self.database.reading() as tx:
            counts = await case_lists.count_open(tx, user=user, at=desks)
            cases = await case_lists.of_view(tx, view, user=user, at=desks, today=today, tag=tag, limit=QUEUE_LIMIT)
            cards = await case_lists.cards(tx, cases)
            paused = await pauses.latest(tx)
        shown = home.for_staff(
            cases,
            view=view,
            tag=tag,
            tags=self.desk_file().cases.tags,
            counts=counts,
            links=links_to(cards, self.me),
            metrics=(await self.metrics(METRICS_DAYS, desks)).blocks,
            knowledge=await self.library.status(),
            paused=[pause.channel for pause in paused],
            at=self.clock.now(),
        )
        await self.views.publish_home(user, shown)


def links_to(cards: Mapping[int, tuple[str, str]], me: Identity) -> dict[int, str]:
    """The addresses of cases' cards, by the case's id. `cards` are the channel and the timestamp of each."""
    return {case_id: me.link_to(*card) for case_id, card in cards.items()}
