"""The `/frontdesk` command for staff. Every answer is mrkdwn that fits into one message.

cases         Lists the queue, or a part of it.
search        Finds the cases that contain the words.
pause         Makes the assistant silent in a channel.
resume        Lets the assistant answer there again.
metrics       Shows the metrics of the last days.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.clock import Clock
from bot.home.home import links_to
from bot.slack.api.transport import Identity
from bot.slack.blocks import moment, one_line
from bot.slack.mrkdwn import escape
from bot.store import audit, case_lists, pauses
from bot.store.case_lists import Desks
from bot.store.cases import Case
from bot.store.database import Database, Transaction

MAX_FOUND_CASES = 20
STATUS = {
    "waiting": "waiting",
    "out_of_hours": "waiting for the desk to open",
    "human": "claimed",
    "resolved": "solved",
    "closed": "closed",
    "merged": "merged into another case",
    "bot": "back with the assistant",
}
"""State of a case -> its words in a list."""
PARTS = ("all", "waiting", "mine")


@dataclass(frozen=True, slots=True)
class Overview:
    """Carries out the staff commands."""

    me: Identity
    database: Database
    clock: Clock
    figures: Callable[[int], Awaitable[str]]
    """Days -> the metrics of these days as mrkdwn."""

    async def cases(self, part: str, *, user: str, at: Desks) -> str:
        """The open cases of these desks: `all`, only those `waiting`, or only `mine`."""
        async with self.database.transaction() as tx:
            found = await case_lists.queue(tx, limit=1_000, at=at)
            wanted = [
                case for case in found if part == "all" or (case.waits if part == "waiting" else case.is_with(user))
            ]
            lines = await self._lines(tx, wanted[:MAX_FOUND_CASES])
        if not wanted:
            return "No open cases." if part == "all" else f"No cases ({part})."
        more = f"\nand {len(wanted) - MAX_FOUND_CASES} more" if len(wanted) > MAX_FOUND_CASES else ""
        return "\n".join(lines) + more

    async def search(self, words: str, *, at: Desks) -> str:
        """The newest cases of these desks, open or closed, that contain all of the words."""
        async with self.database.transaction() as tx:
            found = await case_lists.search(tx, words, limit=MAX_FOUND_CASES, at=at)
            lines = await self._lines(tx, found)
        return "\n".join(lines) if lines else f"No cases found for “{escape(words)}”."

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

    async def metrics(self, days: int) -> str:
        """The metrics of the given number of days."""
        return await self.figures(days)

    async def _lines(self, tx: Transaction, cases: Sequence[Case]) -> list[str]:
        links = links_to(await case_lists.cards(tx, cases), self.me)
        return [_line(case, links.get(case.id, "")) for case in cases]


def _line(case: Case, link: str) -> str:
    ref = f"<{link}|{case.ref}>" if link else case.ref
    who = f" by <@{case.owner}>" if case.owner and case.state == "human" else ""
    late = " :alarm_clock:" if case.is_late else ""
    status = f"{STATUS.get(case.state, case.state)}{who} {moment(case.since, 'since {date_short_pretty} {time}')}{late}"
    about = f"{one_line(case.title, 100)} · {one_line(case.customer_name, 60)}"
    return f"• *{ref}* {about}\n   {case.priority} · {status}"
