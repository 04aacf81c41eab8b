"""What this process knows of the agent sessions that Slack shows on threads. It avoids needless calls.

Slack ends `processing` by itself only when a stream stops, and after an hour. So at the end of a turn, its process
asks here whether the thread still looks busy. What other processes do to a session is not known here: a turn that was
taken over from one of them always sets the session's status.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

SessionStatus = Literal["active", "processing", "suspended", "closed"]
"""Slack's lifecycle: ready for the next message, at work, waiting for a person, done."""
SESSIONS_KEPT = 4_096
"""The number of threads that are remembered. Nothing is known of a thread that was forgotten."""

_Shown = Literal["", "active", "processing", "suspended", "closed", "line", "unsure"]
"""Besides Slack's own statuses: "" for nothing, or nothing any more; "line" for the legacy status line, where there
are no sessions; "unsure" after two calls that overlapped, or a call whose answer was lost."""
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
    def change(self, channel: str, thread_ts: str, shown: SessionStatus | Literal["line"]) -> Iterator["Change"]:
        """Note what a call sets on the session, once the call has returned. If it fails, the state is unsure.

        If a call certainly did nothing, the caller says so with `Change.undo`.
        """
        session = self._sessions.setdefault((channel, thread_ts), _Session())
        self._sessions.move_to_end((channel, thread_ts))
        differs = any(other != shown for other in session.pending)
        session.has_overlapped = differs or (bool(session.pending) and session.has_overlapped)
        session.pending.append(shown)
        change = Change()
        try:
            yield change
        except BaseException:
            session.shown = session.shown if change.is_undone else "unsure"
            raise
        else:
            if not change.is_undone:
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


@dataclass(slots=True)
class Change:
    """One call under way."""

    is_undone: bool = False

    def undo(self) -> None:
        """Say that the call did nothing."""
        self.is_undone = True
