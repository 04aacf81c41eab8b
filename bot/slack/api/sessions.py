"""The agent sessions that Slack shows on threads: the calls that set them, and what this process knows of them.

SessionLedger  what each thread's session was last set to, which avoids needless calls
Sessions       the calls

Slack ends `processing` by itself only when a stream stops, and after an hour. So at the end of a turn, its process
asks here whether the thread still looks busy. What other processes do to a session is not known here: a turn that was
taken over from one of them always sets the session's status.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from bot.errors import FrontdeskError, Unreachable
from bot.slack.api.errors import GONE, NO_SESSIONS, NOT_OURS, SlackRefused, SlackUnanswered
from bot.slack.api.transport import SlackApi

logger = logging.getLogger(__name__)

SessionStatus = Literal["active", "processing", "suspended", "closed"]
"""Slack's lifecycle: ready for the next message, at work, waiting for a person, done."""
SESSIONS_KEPT = 4_096
"""The number of threads that are remembered. Nothing is known of a thread that was forgotten."""

_Shown = Literal["", "active", "processing", "suspended", "closed", "line", "unsure"]
"""Besides Slack's own statuses: "" for nothing, or nothing any more; "line" for the legacy status line, where
there are no sessions, or which shows a place in the line for answers; "unsure" after two calls that overlapped, or a
call whose answer was lost."""
_BUSY = ("processing", "line", "unsure")


@dataclass(slots=True)
class _Session:
    shown: _Shown = ""
    pending: list[_Shown] = field(default_factory=list)
    """What the calls under way set."""
    has_overlapped: bool = False
    """Whether calls under way set different things, so that the order in which they arrive is unknown."""


class SessionLedger:
    """What each thread's session was last set to."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()
        self._streams: OrderedDict[tuple[str, str], str] = OrderedDict()

    @contextmanager
    def change(self, channel: str, thread_ts: str, shown: SessionStatus | Literal["line"]) -> Iterator[None]:
        """Note what the call in the block sets on the session. If the call may have done it, the state is unsure."""
        session = self._sessions.setdefault((channel, thread_ts), _Session())
        self._sessions.move_to_end((channel, thread_ts))
        differs = any(other != shown for other in session.pending)
        session.has_overlapped = differs or (bool(session.pending) and session.has_overlapped)
        session.pending.append(shown)
        try:
            yield
        except BaseException as error:
            # A refused call did nothing, and if `ready` raised, there was none.
            is_lost = error.sent if isinstance(error, SlackUnanswered) else not isinstance(error, FrontdeskError)
            session.shown = "unsure" if is_lost else session.shown
            raise
        else:
            session.shown = "unsure" if session.has_overlapped else shown
        finally:
            session.pending.remove(shown)
            while len(self._sessions) > SESSIONS_KEPT:
                self._sessions.popitem(last=False)

    def clear_line(self, channel: str, thread_ts: str | None) -> None:
        """Note that a message of the app came into the thread. That ends a legacy status line."""
        session = self._sessions.get((channel, thread_ts or ""))
        if session is not None and session.shown == "line":
            session.shown = ""

    def begin_stream(self, channel: str, ts: str, thread_ts: str) -> None:
        """Remember in which thread a streamed message is."""
        self._streams[channel, ts] = thread_ts
        if len(self._streams) > SESSIONS_KEPT:
            self._streams.popitem(last=False)

    def thread_of(self, channel: str, ts: str) -> str | None:
        """The thread of a streamed message that was begun here and has not been stopped."""
        return self._streams.get((channel, ts))

    def end_stream(self, channel: str, ts: str) -> None:
        """Forget a streamed message."""
        self._streams.pop((channel, ts), None)

    def is_busy(self, channel: str, thread_ts: str) -> bool:
        """Whether the thread looks, or might look, as if the assistant were at work."""
        return self._shown(channel, thread_ts) in _BUSY

    def is_shown(self, channel: str, thread_ts: str, status: SessionStatus) -> bool:
        """Whether the session was certainly last set to this status."""
        return self._shown(channel, thread_ts) == status

    def _shown(self, channel: str, thread_ts: str) -> _Shown:
        session = self._sessions.get((channel, thread_ts))
        if session is None:
            return ""
        return "unsure" if session.pending else session.shown


class Sessions:
    """Calls that set the session or the status line of a thread."""

    def __init__(self, api: SlackApi, ledger: SessionLedger) -> None:
        self.ledger = ledger
        """The last known state of the threads' sessions."""
        self._api = api

    async def show_work(self, channel: str, thread_ts: str, *, text: str, title: str, initiator: str) -> None:
        """Show that the assistant works on the thread: its session is `processing`, and Slack offers to stop it.

        If Slack has no sessions, or takes no call for one now, the legacy status line shows `text`. `title` counts
        when the session begins. `initiator` is the customer in whose list of sessions it appears. Nothing happens if
        the thread already looks busy. All this is optional, so it only raises Unreachable, when the conversation is
        gone.
        """
        if self.ledger.is_shown(channel, thread_ts, "processing"):
            return
        try:
            if await self._set_session(channel, thread_ts, "processing", title=title, initiator=initiator):
                return
        except SlackUnanswered as failure:
            if failure.sent:
                logger.debug("no session status", extra={"reason": str(failure)})
                return
        await self.show_line(channel, thread_ts, text)

    async def show_line(self, channel: str, thread_ts: str, text: str) -> None:
        """Show `text` in the status line, where Slack puts it behind the app's name.

        Slack drops it after two minutes, and with the app's next message. All this is optional, so it only raises
        Unreachable, when the conversation is gone.
        """
        try:
            with self.ledger.change(channel, thread_ts, "line"):
                await self._set_line(channel, thread_ts, text)
        except (SlackRefused, SlackUnanswered) as error:
            if isinstance(error, SlackRefused) and error.error in GONE:
                raise Unreachable(error.error) from None
            logger.debug("no status line", extra={"reason": str(error)})

    async def settle(
        self, channel: str, thread_ts: str, status: SessionStatus, *, patience: float = 0.0, clears_line: bool = False
    ) -> None:
        """Show that no one works in the thread any more, and set the status of its session.

        If Slack has no sessions, the status line of this process is cleared; with `clears_line`, also that of a dead
        process. It only raises SlackUnanswered. What Slack refuses here it will refuse again, and no one needs to
        know.
        """
        try:
            if await self._set_session(channel, thread_ts, status, patience=patience):
                return
            if not clears_line and not self.ledger.is_busy(channel, thread_ts):
                return
            with self.ledger.change(channel, thread_ts, status):
                await self._set_line(channel, thread_ts, "")
        except (SlackRefused, Unreachable) as refusal:
            logger.debug("no session to settle", extra={"reason": str(refusal)})

    async def rename(self, channel: str, thread_ts: str, title: str) -> None:
        """Give a thread's session another title. It is no error if there is no session. Raises SlackUnanswered."""
        if self._has_no_sessions(channel):
            return
        try:
            await self._api.call(
                "agents.sessions.rename",
                partial(self._api.web.agents_sessions_rename, channel_id=channel, thread_ts=thread_ts, title=title),
            )
        except SlackRefused as refusal:
            self._note_sessions(channel, refusal)

    async def _set_line(self, channel: str, thread_ts: str, text: str) -> None:
        request = partial(
            self._api.web.assistant_threads_setStatus, channel_id=channel, thread_ts=thread_ts, status=text
        )
        await self._api.call("assistant.threads.setStatus", request, patience=0.0)

    async def _set_session(
        self,
        channel: str,
        thread_ts: str,
        status: SessionStatus,
        *,
        title: str = "",
        initiator: str = "",
        patience: float = 0.0,
    ) -> bool:
        """Set a session's status. False if Slack refuses. Raises SlackUnanswered and Unreachable."""
        if self._has_no_sessions(channel):
            return False
        if status == "processing":
            await self._api.enter("agents.sessions.setStatus/processing")
        request = partial(
            self._api.web.agents_sessions_setStatus,
            channel_id=channel,
            thread_ts=thread_ts,
            status=status,
            title=title or None,
            # The initiator has to be in the channel. That is certain only in a direct message.
            initiator_user_id=initiator if initiator and channel.startswith("D") else None,
        )
        try:
            with self.ledger.change(channel, thread_ts, status):
                await self._api.call("agents.sessions.setStatus", request, patience=patience)
        except SlackRefused as refusal:
            if refusal.error in GONE:
                raise Unreachable(refusal.error) from None
            self._note_sessions(channel, refusal)
            return False
        return True

    def _has_no_sessions(self, channel: str) -> bool:
        return _SESSIONS in self._api.unsupported or _sessions_in(channel) in self._api.unsupported

    def _note_sessions(self, channel: str, refusal: SlackRefused) -> None:
        """Remember how far a refusal reaches (everywhere or one channel), so that the next turn doesn't ask again."""
        if refusal.error in NO_SESSIONS or (refusal.error in NOT_OURS and channel.startswith("D")):
            # The app is in all of its direct messages, so this refusal there means that the app is no agent.
            self._api.unsupported.add(_SESSIONS)
        elif refusal.error in NOT_OURS:
            self._api.unsupported.add(_sessions_in(channel))
        else:
            logger.info("no session status", extra={"channel": channel, "reason": str(refusal)})


_SESSIONS = "agent sessions"


def _sessions_in(channel: str) -> str:
    return f"{_SESSIONS} in {channel}"
