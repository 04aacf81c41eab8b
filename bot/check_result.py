"""What `frontdesk check` has found: what a person must mend, and what only does not answer.

A name that no one knows is probably misspelt. A server that is down, or a resolver that does not answer, is not a fault
of the settings.
"""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field

import aiohttp

from bot.shops.port import ShopRefuses, ShopUnavailable


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Everything that was found, in sentences."""

    wrong: list[str] = field(default_factory=list)
    """What a person must mend."""
    silent: list[str] = field(default_factory=list)
    """What does not answer now. The settings may be right."""

    @property
    def faults(self) -> list[str]:
        """All of it."""
        return [*self.wrong, *self.silent]

    @property
    def status(self) -> int:
        """The exit status: 2 if a person must mend something, 3 if something only does not answer, else 0."""
        return 2 if self.wrong else 3 if self.silent else 0

    def add(self, variable: str, sentence: str, error: BaseException) -> None:
        """Note that what a variable names could not be used, and why."""
        causes = [*_causes(error)]
        lookup = next((each for each in causes if isinstance(each, socket.gaierror)), None)
        if lookup is None:
            found = self.wrong if any(map(_must_be_mended, causes)) else self.silent
            found.append(f"{variable}: {sentence}")
            return
        host = next((each.host for each in causes if isinstance(each, aiohttp.ClientConnectorError)), "")
        name = f"the name {host}" if host else "the name of its host"
        if lookup.errno == socket.EAI_AGAIN:
            self.silent.append(f"{variable}: {name} cannot be looked up now, because no name server answers")
        else:
            self.wrong.append(f"{variable}: {name} does not resolve: no such host is known")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _must_be_mended(error: BaseException) -> bool:
    """Whether it would be the same tomorrow: an address that is none, a certificate, a refusal, an unknown page."""
    if isinstance(error, ShopUnavailable):
        return isinstance(error, ShopRefuses) or 0 < error.status < 500
    return isinstance(error, (aiohttp.InvalidURL, ssl.SSLError, ssl.CertificateError))
