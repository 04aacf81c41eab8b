"""The awkward streams in streams/, each with what it shall come to.

Beside a file of bytes stands a sheet of the same name (.yml): what the adapter gives (`reply`), and what the loop makes
of it (`turn`) when the next request is answered with `then`. The name up to the first dot is the kind.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

import yaml

from tests.doubles.chat_server import Reply

FOLDER = Path(__file__).parent / "streams"
BODIES = (".sse", ".json", ".ndjson", ".html")


@dataclass(frozen=True)
class Stream:
    """One file with its expectation."""

    name: str
    body: bytes
    says: str
    reply: Mapping[str, Any]
    """text, calls (id, name, arguments, extra), extra, usage (read, written, cached), finish; or text, failure (its
    kind), retryable, retry_after."""
    turn: Mapping[str, Any]
    """ended, reason, shown, ran (what was looked up), requests; results (a word in each), next (fields of the
    assistant's message in the second request), waited (seconds), estimated."""
    blocks: str = "events"
    """How the server writes it: events, bytes."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    ending: str = "close"
    then: str = "Done."

    @property
    def kind(self) -> str:
        """What it is an example of."""
        return self.name.partition(".")[0]

    @property
    def never_ends(self) -> bool:
        """Whether the reply has to be given up."""
        return self.ending in ("stall", "drip") and "failure" in self.reply

    def as_reply(self) -> Reply:
        """For the server's script."""
        if self.blocks == "bytes":
            blocks = [self.body[place : place + 1] for place in range(len(self.body))]
        else:
            blocks = [part + b"\n\n" for part in self.body.removesuffix(b"\n\n").split(b"\n\n")] if self.body else []
            blocks[-1:] = [self.body[sum(map(len, blocks[:-1])) :]]
        headers = {
            name: formatdate(time.time() + 2, usegmt=True) if value == "date" else value
            for name, value in self.headers.items()
        }
        return Reply(tuple(blocks), self.status, headers, self.ending)


def _load(sheet: Path) -> Stream:
    (body,) = (path for path in map(sheet.with_suffix, BODIES) if path.exists())
    return Stream(sheet.stem, body.read_bytes(), **yaml.load(sheet.read_text(), Loader=yaml.CSafeLoader))


STREAMS = [_load(sheet) for sheet in sorted(FOLDER.glob("*.yml"))]
