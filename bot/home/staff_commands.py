"""The `/frontdesk` command for staff. Every answer is mrkdwn that fits into one message.

cases         Lists cases: all that are open, or some of them.
pause         Makes the assistant silent in a channel.
resume        Lets the assistant answer there again.
metrics       Shows the metrics of the last days.
leave         Notes that a person is away.
come_back     Notes that they are back.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.cases.availability import Availability
from bot.cases.hours import Hours
from bot.clock import Clock
from bot.desk_file.model import DeskFile, Tag
from bot.home.home import links_to
from bot.slack.api.transport import Identity
from bot.slack.blocks import Card, moment
from bot.slack.mrkdwn import escape
from bot.store import audit, case_lists, pauses
from bot.store.case_lists import Desks
from bot.store.cases import Case
from bot.store.database import Database, Transaction
from bot.views.queue_cards import VIEWS, line, listed

MAX_FOUND_CASES = 20
MAX_LISTED = 1_000
"""The most cases of a list that are counted."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Carries out the staff commands."""

    me: Identity
    database: Database
    clock: Clock
    hours: Hours
    availability: Availability
    read_metrics: Callable[[int, Desks], Awaitable[Card]]
    """Days and desks -> the metrics of these days."""
    desk_file: Callable[[], DeskFile] = DeskFile
    """The desk file in force."""

    async def cases(self, view: str, *, user: str, at: Desks, tag: str = "", chooses: bool = False) -> Card:
        """A list of the cases of these desks. `view` is a key of VIEWS. `tag` narrows it to the cases that have it.

        With `chooses`, it has the button to change several of them.
        """
        tags = self.desk_file().cases.tags
        if tag and tag not in tags:
            return Card(_unknown_tag(tag, tags), ())
        async with self.database.reading() as tx:
            found = await case_lists.of_view(
                tx, view, user=user, at=at, today=self.hours.midnight(self.clock.now()), tag=tag, limit=MAX_LISTED
            )
            lines = await self._lines(tx, found[:MAX_FOUND_CASES])
        if not found:
            return Card(f"No cases ({VIEWS[view].lower()}{f', {escape(tags[tag].label)}' if tag else ''}).", ())
        more = [f"and {len(found) - MAX_FOUND_CASES} more"] if len(found) > MAX_FOUND_CASES else []
        heading = f"*{VIEWS[view]}*" + (f" · {escape(tags[tag].label)}" if tag else "")
        return listed(heading, lines, more=more, cases=found[:MAX_FOUND_CASES] if chooses else ())

    async def pause(self, channel: str, *, user: str) -> str:
        """Make the assistant silent in a channel. A customer who asks for a person there still gets one."""
        async with self.database.transaction() as tx:
            is_new = await pauses.begin(tx, channel, by=user, now=self.clock.now())
            if is_new:
                await audit.note(tx, actor=user, action="pause", subject=channel, now=self.clock.now())
        if not is_new:
            return f"The assistant is already paused in <#{channel}>."
        return f"The assistant is now paused in <#{channel}>. `/frontdesk resume` there lets it answer again."

    async def resume(self, channel: str, *, user: str) -> str:
        """Let the assistant answer in a channel again."""
        async with self.database.transaction() as tx:
            was_paused = await pauses.end(tx, channel)
            if was_paused:
                await audit.note(tx, actor=user, action="resume", subject=channel, now=self.clock.now())
        how = " again" if was_paused else ": it wasn't paused there"
        return f"The assistant answers in <#{channel}>{how}."

    async def metrics(self, days: int, *, at: Desks) -> Card:
        """The metrics of the given number of days. Groups of cases are those of these desks."""
        return await self.read_metrics(days, at)

    async def leave(self, user: str, *, seconds: float | None) -> str:
        """Note that the user is away, for that long or until they are back."""
        await self.availability.leave(user, seconds=seconds)
        if seconds is None:
            return "You're away: no case is assigned to you. `/frontdesk back` ends it."
        until = moment(self.clock.now() + seconds, "{date_short_pretty} {time}")
        return f"You're away until {until}: no case is assigned to you. `/frontdesk back` ends it sooner."

    async def come_back(self, user: str) -> str:
        """Note that the user is back."""
        return "Welcome back." if await self.availability.come_back(user) else "You weren't away."

    async def _lines(self, tx: Transaction, cases: Sequence[Case]) -> list[str]:
        links = links_to(await case_lists.cards(tx, cases), self.me)
        return [f"• {line(case, links.get(case.id, ''))}" for case in cases]


def _unknown_tag(tag: str, tags: Mapping[str, Tag]) -> str:
    known = ", ".join(f"`{name}`" for name in tags)
    return f"This desk has no tag `{escape(tag)}`. Its tags: {known or 'none, as the desk file lists none'}."
