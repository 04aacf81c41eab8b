"""A tolerant reader of server-sent events: bytes in, the payloads of their data fields out.

It follows the event stream format of the HTML standard, with two exceptions: a field's name can follow a byte order
mark anywhere, and fields other than `data` are skipped. It works on bytes, so a character that is split between two
reads does not matter.
"""

import re

EVENT_LIMIT = 1 << 20
"""The maximum of bytes in one event. A stream with longer ones is no event stream."""


_PING_BYTES = 32
_PING = re.compile(
    rb"\"?(?:ping|pong|(?:keep|stay)[-_ ]?alive|heart[-_ ]?beat|processing|waiting|null)\"?", re.IGNORECASE
)


def is_ping(payload: bytes) -> bool:
    """Whether a payload is one of the words that servers send, instead of a comment, to say that they are working."""
    return len(payload) <= _PING_BYTES and _PING.fullmatch(payload.strip()) is not None


class SseReader:
    """Collects the blocks of one response."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._held = 0

    def feed(self, block: bytes) -> list[bytes]:
        """The payloads that this block completes. Raises ValueError for an event longer than EVENT_LIMIT."""
        text = self._rest + block
        ending = b""
        if b"\r" in text:
            if text.endswith(b"\r"):
                text, ending = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._rest = rest + ending
        payloads: list[bytes] = []
        for line in lines:
            if not line:
                self._dispatch(payloads)
            elif line.startswith(b"data:"):
                self._keep(line[5:])
            else:
                self._keep_unusual(line)
        if self._held + len(rest) > EVENT_LIMIT:
            raise ValueError(f"an event is longer than {EVENT_LIMIT} bytes")
        return payloads

    def close(self) -> list[bytes]:
        """The rest of a stream that ended without its last blank line."""
        return self.feed(b"\n\n")

    def _keep(self, value: bytes) -> None:
        self._data.append(value[1:] if value.startswith(b" ") else value)
        self._held += len(value)

    def _keep_unusual(self, line: bytes) -> None:
        name, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        if name == b"data":
            self._keep(value)

    def _dispatch(self, payloads: list[bytes]) -> None:
        if self._data:
            payloads.append(b"\n".join(self._data))
            self._data.clear()
            self._held = 0
