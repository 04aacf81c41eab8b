"""How requests of a connector prove who sends them. Secrets are added as a request leaves, and are never stored.

read_secrets       All secrets that a file names, or every one that is missing.
open_credentials   What signs requests, for the kind of auth of the file.
"""

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, quote_plus, urlencode

from pydantic import SecretStr
from yarl import URL

from bot.errors import ConfigurationError
from bot.shops.declared.answers import read_json
from bot.shops.declared.file import (
    Auth,
    BasicAuth,
    BearerAuth,
    ConnectorFile,
    HmacAuth,
    NamedAuth,
    NoAuth,
    OAuthAuth,
)
from bot.shops.port import ShopRefuses, ShopUnavailable
from bot.shops.transport import Transport

SECRET_LIMIT = 16_384
"""The most bytes of a file with a secret."""
EARLY_SECONDS = 60.0
"""How long before its end a token is renewed."""
TOKEN_SECONDS = 300.0
"""How long a token is used whose server does not say when it ends."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it leaves."""

    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes

    def with_header(self, name: str, value: str) -> "Outgoing":
        """The same with one header more."""
        return replace(self, headers={**self.headers, name: value})


class Credentials(Protocol):
    """Signs requests."""

    async def sign(self, request: Outgoing) -> Outgoing:
        """The request with its credentials. Raises ShopUnavailable if there are none now."""
        ...

    def forget(self) -> bool:
        """The shop refused them. Returns whether it is worth trying once more with new ones."""
        ...


def read_secrets(file: ConnectorFile, environ: Mapping[str, str], *, setting: str) -> Mapping[str, SecretStr]:
    """Every secret that the file names, and the addresses that are in variables. Raises ConfigurationError."""
    secrets: dict[str, SecretStr] = {}
    faults = []
    for reference in _references(file):
        try:
            secrets[reference] = SecretStr(read_secret(reference, environ))
        except (OSError, ValueError):
            faults.append(f"{setting}: {reference} is missing, empty or not readable")
    if faults:
        raise ConfigurationError(faults)
    return secrets


def open_credentials(auth: Auth, secrets: Mapping[str, SecretStr], transport: Transport) -> Credentials:
    """What signs the requests."""

    def secret(reference: str) -> str:
        return secrets[reference].get_secret_value()

    match auth:
        case NoAuth():
            return FixedHeaders({})
        case BearerAuth():
            return FixedHeaders({"Authorization": f"Bearer {secret(auth.token)}"})
        case BasicAuth():
            return FixedHeaders(
                {"Authorization": _basic(secret(auth.user), secret(auth.password) if auth.password else "")}
            )
        case NamedAuth(kind="query"):
            return _Query(auth.name, secret(auth.value))
        case NamedAuth():
            return FixedHeaders({auth.name: secret(auth.value)})
        case OAuthAuth():
            url = secret(auth.token_url) if auth.token_url in secrets else auth.token_url
            client, password = secret(auth.client_id), secret(auth.client_secret)
            form, headers = {"scope": auth.scope, "audience": auth.audience}, {}
            if auth.send == "header":
                headers["Authorization"] = _basic(quote_plus(client), quote_plus(password))
            else:
                form |= {"client_id": client, "client_secret": password}
            return ClientCredentials(URL(url), form, transport, headers=headers)
        case HmacAuth():
            return _Signed(auth, secret(auth.secret))


def _references(file: ConnectorFile) -> list[str]:
    texts = [file.base_url, *(value for value in file.auth.model_dump().values() if isinstance(value, str))]
    return [text for text in texts if text.startswith(("env:", "file:/"))]


def read_secret(reference: str, environ: Mapping[str, str]) -> str:
    """The secret at `env:NAME` or `file:/path`. Raises OSError or ValueError if there is none."""
    source, _, name = reference.partition(":")
    if source == "env":
        found = environ.get(name, "")
    else:
        with Path(name).open("rb") as file:
            found = file.read(SECRET_LIMIT).decode()
    found = found.strip()
    if not found or not found.isprintable():
        raise ValueError
    return found


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class FixedHeaders:
    """The same headers in every request."""

    headers: Mapping[str, str]

    async def sign(self, request: Outgoing) -> Outgoing:
        """See Credentials."""
        return replace(request, headers={**request.headers, **self.headers})

    def forget(self) -> bool:
        """See Credentials. There are no others."""
        return False


@dataclass(frozen=True, slots=True)
class _Query:
    name: str
    value: str

    async def sign(self, request: Outgoing) -> Outgoing:
        mark = "&" if request.url.raw_query_string else "?"
        address = f"{request.url}{mark}{self.name}={quote(self.value, safe='')}"
        return replace(request, url=URL(address, encoded=True))

    def forget(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _Signed:
    """An HMAC over parts of the request."""

    auth: HmacAuth
    secret: str

    async def sign(self, request: Outgoing) -> Outgoing:
        at = str(int(time.time()))
        parts = {
            "method": request.method.encode(),
            "path": request.url.raw_path_qs.encode(),
            "timestamp": at.encode(),
            "body": request.body,
        }
        signed = b".".join(parts[name] for name in self.auth.over.split("."))
        made = hmac.new(self.secret.encode(), signed, hashlib.sha256).digest()
        text = made.hex() if self.auth.encoding == "hex" else base64.b64encode(made).decode()
        return request.with_header(self.auth.timestamp_header, at).with_header(self.auth.header, text)

    def forget(self) -> bool:
        return False


class ClientCredentials:
    """A token of the client itself, renewed before it ends. All requests wait for one renewal."""

    def __init__(
        self,
        url: URL,
        form: Mapping[str, str],
        transport: Transport,
        *,
        headers: Mapping[str, str] | None = None,
        token_header: str = "",
    ) -> None:
        """`form` and `headers` prove to the token server at `url` who asks.

        The token goes into `token_header`. Without one it is a bearer token.
        """
        self._url = url
        self._form = {"grant_type": "client_credentials", **form}
        self._headers = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        self._token_header = token_header
        self._transport = transport
        self._token = ""
        self._until = 0.0
        self._renewing = asyncio.Lock()

    async def sign(self, request: Outgoing) -> Outgoing:
        """See Credentials."""
        async with self._renewing:
            if time.monotonic() >= self._until:
                await self._renew()
            if self._token_header:
                return request.with_header(self._token_header, self._token)
            return request.with_header("Authorization", f"Bearer {self._token}")

    def forget(self) -> bool:
        """See Credentials."""
        self._until = 0.0
        return True

    async def _renew(self) -> None:
        body = urlencode({name: value for name, value in self._form.items() if value}).encode()
        reply = await self._transport.ask("POST", self._url, headers=self._headers, body=body)
        if reply.status in (400, 401, 403):
            raise ShopRefuses(f"the token server refuses the client with status {reply.status}")
        answer = read_json(reply.body) if reply.status == 200 else None
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise ShopUnavailable(f"the token server gave no token, with status {reply.status}", status=reply.status)
        seconds = answer.get("expires_in")
        lasts = float(seconds) if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) else TOKEN_SECONDS
        self._token = token
        self._until = time.monotonic() + max(lasts - EARLY_SECONDS, min(lasts, 1.0))
