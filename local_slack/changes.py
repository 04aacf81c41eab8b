"""What the workspace tells who watches it."""

from dataclasses import dataclass
from typing import Literal

ChangeKind = Literal[
    "message",
    "removed",
    "ephemeral",
    "status",
    "home",
    "modal",
    "log",
    "presence",
    "session",
    "prompts",
    "channel",
]


@dataclass(frozen=True, slots=True)
class Change:
    """Something visible is new; which fields are filled depends on `kind`."""

    kind: ChangeKind
    channel: str = ""
    ts: str = ""
    """The message's ts; for status, session and prompts the thread's."""
    user: str = ""
