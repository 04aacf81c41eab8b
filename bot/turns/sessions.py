"""The status of a turn in its Slack thread: that the app is working, and afterwards the state of the conversation.

show_work   set the thread's agent session to `processing`, or show a status line
show_place  show which place in the line a message has that waits long (answers/waiting_line.py)
settle      nothing runs any more: set the session to `suspended` while people have the conversation, else to `active`

A stream begins and ends `processing` by itself, so most answers need one call here. The status that a crashed process
left is corrected when its turn is resumed and ends, with any result.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.conversation import ThreadRef
from bot.errors import Unreachable
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.api.errors import SlackUnanswered
from bot.slack.api.sessions import Sessions, SessionStatus
from bot.store import cases
from bot.store.bodies import without_files
from bot.store.database import Database, Transaction
from bot.store.inbox import InboxItem
from bot.store.outbox import Outgoing

logger = logging.getLogger(__name__)

STATUS_DELAY = 2.0
"""How long a call that changes the session may take, in seconds."""
TITLE_LIMIT = 80
"""The number of characters of a session's title. Slack accepts 200."""
KINDS = ("message", "edit", "stop")
"""The inbox's kinds whose turns are shown in the customer's thread."""


@dataclass(frozen=True, slots=True)
class TurnSessions:
    """Sets the status in Slack. `bot.app` puts the parts together."""

    database: Database
    sessions: Sessions
    sentences: Sentences

    async def show_work(self, item: InboxItem, language: Language) -> None:
        """Show in the thread that the app is working. It takes at most STATUS_DELAY.

        Raises:
            Unreachable: the conversation is gone. Nothing else is raised.
        """
        thread = item.thread
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STATUS_DELAY):
                await self.sessions.show_work(
                    thread.channel,
                    thread.ts,
                    text=self.sentences.say(language, "status_looking"),
                    title=title_of(without_files(item.words) or item.words),
                    initiator=item.author,
                )

    async def show_place(self, item: InboxItem, language: Language, place: int) -> None:
        """Show in the thread which place in the line its message has. It takes at most STATUS_DELAY.

        Raises:
            Unreachable: the conversation is gone. Nothing else is raised.
        """
        key = "status_next_in_line" if place == 1 else "status_in_line"
        text = self.sentences.say(language, key, place=str(place))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STATUS_DELAY):
                await self.sessions.show_line(item.thread.channel, item.thread.ts, text)

    @asynccontextmanager
    async def working(self, item: InboxItem, language: Language) -> AsyncIterator[None]:
        """Show in the thread that the app is working, during the block. The block does not wait for Slack.

        Raises:
            Unreachable: the conversation is gone. The work in the block was cancelled.
        """
        gone: list[Unreachable] = []

        async def show() -> None:
            try:
                await self.show_work(item, language)
            except Unreachable as error:
                gone.append(error)
                scope.reschedule(asyncio.get_running_loop().time())

        try:
            async with asyncio.timeout(None) as scope:
                showing = asyncio.create_task(show())
                try:
                    yield
                finally:
                    # After a cancelled call the state of the session is unknown, so `settle` sets it in any case.
                    showing.cancel()
                    await asyncio.wait({showing})
                    if not showing.cancelled() and (fault := showing.exception()) is not None:
                        logger.error("a session was not shown", exc_info=fault, extra={"turn": item.id})
        except TimeoutError:
            if not (gone and scope.expired()):
                raise
            raise gone[0] from None

    async def is_settled(self, tx: Transaction, item: InboxItem) -> bool:
        """Whether `settle` has nothing to do."""
        if self._is_in_doubt(item):
            return False
        is_shown = self.sessions.ledger.is_shown(item.thread.channel, item.thread.ts, "active")
        return not is_shown or await _status(tx, item.thread) == "active"

    async def settle(self, item: InboxItem) -> Outgoing | None:
        """Show that the turn has ended. If Slack does not answer, return a row for the outbox that shows it later."""
        if item.kind not in KINDS:
            return None
        async with self.database.reading() as tx:
            if await self.is_settled(tx, item):
                return None
            status = await _status(tx, item.thread)
        thread, is_unknown = item.thread, _is_unknown(item)
        try:
            async with asyncio.timeout(STATUS_DELAY):
                await self.sessions.settle(thread.channel, thread.ts, status, clears_line=is_unknown)
        except (SlackUnanswered, TimeoutError):
            logger.info("a session is settled later", extra={"turn": item.id})
            key = f"turn/{item.id}/session/{item.fence}"
            return Outgoing(key, "session", thread.channel, {"status": status}, thread_ts=thread.ts)
        return None

    def _is_in_doubt(self, item: InboxItem) -> bool:
        return _is_unknown(item) or self.sessions.ledger.is_busy(item.thread.channel, item.thread.ts)


def _is_unknown(item: InboxItem) -> bool:
    """Whether the session has to be set in any case.

    Pressing Stop does not change it by itself, and what a crashed process showed is unknown.
    """
    return item.fence > 1 or item.kind == "stop"


async def _status(tx: Transaction, thread: ThreadRef) -> SessionStatus:
    return "active" if await cases.find_open(tx, thread) is None else "suspended"


def title_of(words: str) -> str:
    """Return a question as the title of its session: one line, cut between words."""
    line = " ".join(words.split())
    if len(line) <= TITLE_LIMIT:
        return line
    head, _, _ = line[: TITLE_LIMIT - 1].rpartition(" ")
    return f"{head or line[: TITLE_LIMIT - 2]} …"
