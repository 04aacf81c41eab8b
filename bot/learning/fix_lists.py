"""Each desk's list of things to fix: one message on Monday, and whenever staff ask for it.

run     Posts the lists on Monday at nine, or when the desk opens, and keeps the posted ones up to date.
card    The list as it is now.
close   Notes that staff have done a thing.

The message is a living message (bot/cases/living_messages.py): its words are derived when it is shown and stored
nowhere. When a customer's words are erased, a thing is done, or an article is written, it is derived anew. A new list
takes the place of the one before. Of all processes that share a database, one posts the list.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bot.alerts import Alerts
from bot.cases.hours import Hours
from bot.cases.living_messages import LivingMessages
from bot.cases.staff import Staff
from bot.clock import WEEK, Clock
from bot.desk_file.model import DeskFile
from bot.errors import StoreUnavailable
from bot.failpoints import failpoint
from bot.learning.things_to_fix import BAD_CASES, WINDOW, Found, Thing, ThingsToFix, article_case
from bot.slack.api.chat import Chat
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Identity
from bot.slack.blocks import Card
from bot.slack.mrkdwn import escape
from bot.slack.outbox import Outbox
from bot.store import audit, case_lists, desks, fixes, schedule
from bot.store.cases import ref_of
from bot.store.database import Database
from bot.store.desks import LivingMessage
from bot.views import fix_cards
from bot.views.cards import NOT_HELPFUL
from bot.views.fix_cards import FixLine, quoted, titled
from bot.views.score_cards import REASONS
from bot.views.staff_cards import causes_of

logger = logging.getLogger(__name__)

LOOK_INTERVAL = 30.0
"""Seconds between two looks whether a list is due, or what it was made from has changed."""
KEEP_SECONDS = 60.0
"""How long finding and showing one desk's list can take."""
CASES_NAMED = 5
"""The most cases of a thing that are named."""
RULE = "Monday 9:00"


@dataclass(frozen=True, slots=True)
class FixLists:
    """The lists of all desks."""

    me: Identity
    database: Database
    outbox: Outbox
    chat: Chat
    clock: Clock
    staff: Staff
    hours: Hours
    things: ThingsToFix
    desk_file: Callable[[], DeskFile] = DeskFile
    """The desk file in force."""
    alerts: Alerts = field(default_factory=Alerts)
    _made_from: dict[str, tuple[Found, str]] = field(default_factory=dict)
    """Channel -> what its list was made from when this process showed it last, and the digest of that."""

    async def run(self) -> None:
        """Post and keep the lists, until cancelled."""
        while True:
            await self.look()
            await self.clock.sleep(LOOK_INTERVAL)

    async def look(self) -> None:
        """Post the lists that are due, and bring the posted ones up to date, as far as Slack lets it."""
        for channel in sorted(self.staff.channels):
            try:
                async with asyncio.timeout(KEEP_SECONDS):
                    await self._post_if_due(channel)
                    await self.keep(channel)
            except (SlackRefused, SlackUnanswered, StoreUnavailable, TimeoutError) as error:
                reason = str(error) or type(error).__name__
                self.alerts.tell(logger, "a list of things to fix is not up to date", about=channel, reason=reason)
            except Exception:
                logger.exception("a list of things to fix could not be kept", extra={"channel": channel})

    async def card(self, channel: str) -> Card:
        """The list of the desk with this channel as it is now."""
        now = self.clock.now()
        return await self._card(channel, await self.things.find(channel, until=now), until=now)

    async def close(self, channel: str, subject: str, user: str) -> bool:
        """Note that a member of the desk's staff has done the thing. False if it is not there any more."""
        now = self.clock.now()
        found = await self.things.find(channel, until=now, most=BAD_CASES)
        thing = next((each for each in found.things if subject in each.subjects), None)
        if thing is None:
            return False
        async with self.database.transaction() as tx:
            await fixes.add(tx, channel, thing.subjects, person=user, now=now)
            detail = {"kind": thing.kind, "times": thing.times}
            await audit.note(tx, actor=user, action="fix.done", subject=channel, detail=detail, now=now)
        return True

    async def keep(self, channel: str) -> None:
        """Bring the desk's posted list up to date, if there is one."""
        async with self.database.reading() as tx:
            message = await desks.message(tx, channel, name="fix")
        if message is None:
            return
        if message.ts is None:
            await self._living().settle(message)
            return
        if channel in self._made_from and message.shown:
            found, before = self._made_from[channel]
            if await self._digest(channel, found) == before:
                return
        await self._show(message, message.ts)

    async def _show(self, message: LivingMessage, ts: str) -> None:
        found = await self.things.find(message.channel, until=message.begun_at)
        made_from = found, await self._digest(message.channel, found)
        await self._living().show(message, ts, await self._card(message.channel, found, until=message.begun_at))
        async with self.database.reading() as tx:
            now_shown = await desks.message(tx, message.channel, name="fix")
        if now_shown is not None and now_shown.shown:
            self._made_from[message.channel] = made_from

    async def _digest(self, channel: str, found: Found) -> str:
        async with self.database.reading() as tx:
            return await fixes.digest(tx, channel, turns=found.turns, cases=found.cases)

    async def _post_if_due(self, channel: str) -> None:
        name, now = f"fix/{channel}", self.clock.now()
        monday = self.hours.morning(now, weekday=0)
        async with self.database.transaction() as tx:
            await schedule.plan(tx, name, rule=f"{RULE} {self.hours.zone}", due=monday)
            due = await schedule.due(tx, name)
        if due is None or due > now:
            return
        is_empty = not (await self.things.find(channel, until=now)).things
        async with self.database.transaction() as tx:
            if not await schedule.take(tx, name, now=now, then=monday) or is_empty:
                return
            old = await desks.message(tx, channel, name="fix")
            await self._living().add(tx, channel, old)
        failpoint("fix_list_begun")
        self.outbox.wake()

    def _living(self) -> LivingMessages:
        placeholder = fix_cards.placeholder()
        return LivingMessages(self.database, self.outbox, self.chat, self.clock, self.alerts, "fix", placeholder)

    async def _card(self, channel: str, found: Found, *, until: float) -> Card:
        async with self.database.reading() as tx:
            numbers = {number for thing in found.things for number in thing.cases[:CASES_NAMED]}
            cards = await case_lists.cards(tx, await case_lists.numbered(tx, numbers))
        links = {number: self.me.link_to(*card) for number, card in cards.items()}
        lines = [
            FixLine(self._words(thing, links), thing.subjects[0], article_case(thing), thing.url)
            for thing in found.things
        ]
        return fix_cards.fix_list(lines, channel=channel, weeks=round(WINDOW / WEEK), until=until)

    def _words(self, thing: Thing, links: dict[int, str]) -> str:
        times = f"*{thing.times:,}×*"
        match thing.kind:
            case "question":
                said = [f"{times}  {quoted(thing.example)}", _why_asked(thing)]
                said += [f"Nearest page: {titled(thing.page)}"] if thing.page else []
                said += [f"A person answered in {_refs(thing.cases, links)}"] if thing.cases else []
                return "\n".join(said)
            case "low":
                why = ", ".join(
                    f"{REASONS.get(reason, escape(reason))} {count:,}" for reason, count in thing.counts.items()
                )
                head = f"{times}  A score of 1 or 2{self._about(thing)}"
                return "\n".join([head, _refs(thing.cases, links), *([f"Customers say: {why}"] if why else [])])
            case "could":
                head = f"{times}  The assistant could have answered{self._about(thing)}"
                return f"{head}\n{_refs(thing.cases, links)}"
            case "page":
                head = f"{times}  {titled(thing.page)} is in answers"
                return f"{head}\nIt was last changed on {escape(thing.changed)}. Is it still right?"

    def _about(self, thing: Thing) -> str:
        if not thing.cause:
            return ""
        return f", about {escape(causes_of(self.desk_file()).get(thing.cause, thing.cause))}"


def _why_asked(thing: Thing) -> str:
    why = [
        f"answered, but not helpful ({NOT_HELPFUL[rating]}) {count:,}" if rating else f"not answered {count:,}"
        for rating, count in thing.counts.items()
    ]
    people = "1 person" if thing.people == 1 else f"{thing.people:,} people"
    return f"{people} · {' · '.join(why)}"


def _refs(cases: Iterable[int], links: dict[int, str]) -> str:
    numbers = [*cases]
    named = [
        f"<{links[number]}|{ref_of(number)}>" if number in links else ref_of(number) for number in numbers[:CASES_NAMED]
    ]
    more = [f"{len(numbers) - CASES_NAMED} more"] if len(numbers) > CASES_NAMED else []
    return ", ".join([*named, *more])
