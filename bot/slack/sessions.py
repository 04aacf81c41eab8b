"""What this process knows of the agent sessions that Slack shows on threads, so that no call is made for nothing.

Slack ends `processing` by itself only with the stop of a stream, and after an hour. So whoever ends a turn asks here
whether the thread still looks busy. What other processes do to a session is not known here: a turn that was taken up
from one of them says how the session stands in any case.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

SessionStatus = Literal["active", "processing", "suspended", "closed"]
"""Slack's lifecycle: ready for the next message, at work, waiting for a person, done."""
SESSIONS_KEPT = 4_096
"""How many threads are remembered; of one that was forgotten nothing is known."""

_Shown = Literal["", "active", "processing", "suspended", "closed", "line", "unsure"]
"""Beside Slack's own: nothing, or nothing any more; the legacy status line, where there are no sessions; two calls that
overlapped, or one whose answer was lost."""
_BUSY = ("processing", "line", "unsure")


@dataclass(slots=True)
class _Session:
    shown: _Shown = ""
    pending: list[_Shown] = field(default_factory=list)
    """What the calls tell it that are under way."""
    has_overlapped: bool = False
    """Whether such calls told it different things, so that nobody knows which came last."""


class SessionLedger:
    """What each thread's session was told last."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()
        self._streams: OrderedDict[tuple[str, str], str] = OrderedDict()

    @contextmanager
    def change(self, channel: str, thread_ts: str, shown: SessionStatus | Literal["line"]) -> Iterator["Change"]:
        """Note what a call tells the session, once the call has returned; when it fails, the state is unsure.

        A call that certainly did nothing says so by `Change.undo`.
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
        """A message of the app came into the thread, which ends a legacy status line."""
        session = self._sessions.get((channel, thread_ts or ""))
        if session is not None and session.shown == "line":
            session.shown = ""

    def begin_stream(self, channel: str, ts: str, thread_ts: str) -> None:
        """Remember in which thread a streamed message stands."""
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
        """Whether the thread looks, or may look, as if the assistant were at work."""
        return self._shown(channel, thread_ts) in _BUSY

    def is_shown(self, channel: str, thread_ts: str, status: SessionStatus) -> bool:
        """Whether this is certainly what the session was told last."""
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
        """The call did nothing."""
        self.is_undone = True
