"""The Home tab. Customers see their cases, staff see the queue of their desks. Each opening renders it again.

show              Publishes the person's tab.
choose_language   Saves a customer's language, and shows the tab in it.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.cases.staff import Staff
from bot.clock import Clock
from bot.desk.identity import Identities
from bot.help_center.library import Library
from bot.language.sentences import LANGUAGES, Sentences
from bot.slack.client import Identity, SlackClient
from bot.store import case_lists, pauses, preferences
from bot.store.case_lists import Desks
from bot.store.cases import OPEN_STATES, Case
from bot.store.database import Database
from bot.views import home
from bot.views.home import AS_IN_SLACK, Entry

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
    slack: SlackClient
    database: Database
    clock: Clock
    sentences: Sentences
    identities: Identities
    staff: Staff
    library: Library
    figures: Callable[[int], Awaitable[str]]
    """Days -> the metrics of these days as mrkdwn."""

    async def show(self, user: str) -> None:
        """Publish the tab, unless the user is not a person. Raises what Slack and the database raise."""
        if desks := await self.staff.desks(user):
            await self._show_staff(user, desks)
        else:
            await self._show_customer(user)

    async def choose_language(self, user: str, chosen: str) -> None:
        """Save the choice, a supported language or none, and show the tab in it."""
        if chosen not in (*LANGUAGES, AS_IN_SLACK):
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
        entries = [(case, _for_customer(case)) for case in found]
        view = home.for_customer(
            self.sentences,
            self.sentences.language_for(customer.locale),
            open_cases=[entry for case, entry in entries if case.state in OPEN_STATES],
            past=[entry for case, entry in entries if case.state not in OPEN_STATES][:PAST_LIMIT],
            chosen=chosen,
        )
        await self.slack.publish_home(user, view)

    async def _show_staff(self, user: str, desks: Desks) -> None:
        async with self.database.transaction() as tx:
            cases = await case_lists.queue(tx, limit=QUEUE_LIMIT, at=desks)
            cards = await case_lists.cards(tx, cases)
            paused = await pauses.latest(tx)
        entries = [(case, entry_of(case, self.me, cards.get(case.id))) for case in cases]
        view = home.for_staff(
            waiting=[entry for case, entry in entries if case.waits],
            mine=[entry for case, entry in entries if case.is_with(user)],
            others=[entry for case, entry in entries if case.state == "human" and not case.is_with(user)],
            figures=await self.figures(METRICS_DAYS),
            knowledge=await self.library.status(),
            paused=[pause.channel for pause in paused],
            at=self.clock.now(),
        )
        await self.slack.publish_home(user, view)


def entry_of(case: Case, me: Identity, card: tuple[str, str] | None) -> Entry:
    """The case as an entry in a list for staff. `card` is the channel and the timestamp of its card."""
    return Entry(
        ref=case.ref,
        title=case.title,
        state=case.state,
        since=_since(case),
        staff=case.owner or "",
        customer=case.customer_name,
        priority=case.priority,
        link=_message_link(me, *card) if card else "",
        late=case.waits and case.step > 0,
    )


def _for_customer(case: Case) -> Entry:
    return Entry(case.ref, case.title, case.state, _since(case), staff=case.owner_name or "", link=case.link)


def _since(case: Case) -> float:
    if case.waits:
        return case.waiting_since or case.opened_at
    return (case.claimed_at if case.state == "human" else case.ended_at) or case.opened_at


def _message_link(me: Identity, channel: str, ts: str) -> str:
    return f"{me.url}archives/{channel}/p{ts.replace('.', '')}"
