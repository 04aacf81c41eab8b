"""From the bytes of a response to its payloads: an event stream or, although one was requested, a JSON body."""

from bot.agent.model import ModelFailure
from bot.models.sse import SseReader

BODY_LIMIT = 4 << 20
"""The maximum of bytes in a reply that comes in one piece, as JSON."""

_BLANK = b"\xef\xbb\xbf \t\r\n"
"""A byte order mark and white space. Some servers send these while they have nothing to say."""


class Frames:
    """The payloads of one response. Raises ModelFailure if it is neither an event stream nor JSON."""

    def __init__(self) -> None:
        self._events: SseReader | None = None
        """None: it is no event stream, or this is not known yet."""
        self._is_body = False
        self._body = bytearray()

    def feed(self, block: bytes) -> list[bytes]:
        """The payloads that these bytes complete."""
        if self._events is None:
            self._body += block
            start = b"" if self._is_body else self._body.lstrip(_BLANK)
            if start.startswith(b"<"):
                raise ModelFailure("malformed", "a page in place of a reply", retryable=True)
            self._is_body = self._is_body or start.startswith((b"{", b"["))
            if self._is_body or not start:
                return self._within_limit()
            self._events, block = SseReader(), bytes(self._body)
            self._body.clear()
        try:
            return self._events.feed(block)
        except ValueError as error:
            raise ModelFailure("malformed", str(error), retryable=True) from None

    def close(self) -> list[bytes]:
        """What is left after the last bytes: a body, or an event that was not ended and may be cut."""
        body = bytes(self._body).strip(_BLANK)
        return self._events.close() if self._events else [body] if body else []

    def _within_limit(self) -> list[bytes]:
        if len(self._body) > BODY_LIMIT:
            raise ModelFailure("malformed", f"a reply of more than {BODY_LIMIT} bytes", retryable=True)
        return []
