"""Where a tool server is: at an address, or a program on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressTarget:
    """A server over HTTP."""

    name: str
    """The connector's name, for the log."""
    url: str
    token: str = field(default="", repr=False)
    """Sent as a bearer token. Empty for none."""
    seconds: float
    """For one request."""
    limit: int
    """The most bytes of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTarget:
    """A server that speaks over standard input and output."""

    name: str
    """The connector's name, for the log."""
    command: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    """All its variables."""
    cwd: str | None = None
    memory_bytes: int
    seconds: float
    """For one request."""
    limit: int
    """The most bytes of one line."""


Target = AddressTarget | ProgramTarget
