"""Files: look them up, fetch their content, upload, share and delete them.

URLs come from outside. The app's token, and what people shared, go only to Slack's own hosts, through any number of
redirects.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import aiohttp
from yarl import URL

from bot.errors import FrontdeskError
from bot.slack.api.errors import SlackUnanswered
from bot.slack.api.transport import Ready, SlackApi, read_text

logger = logging.getLogger(__name__)

REDIRECTS = 5
TRANSFER_SECONDS = 60.0
"""The timeout for the download of one file, and for its upload."""
HOSTS = ("slack.com", "slack-edge.com", "slack-files.com")
"""Slack's own hosts. Their subdomains count, too."""

Refusal = Literal["too_large", "empty", "gone", "outside", "no_read", "no_write", "sign_in", "refused", "unanswered"]
"""Why a file is not passed on: too many bytes · no bytes · deleted · stored outside Slack · the scope to read or to
write files is missing · a sign-in page came instead, which is how Slack refuses · any other refusal · no answer for
too long."""


@dataclass(frozen=True, slots=True)
class SlackFile:
    """What Slack says about a file."""

    id: str
    name: str
    mimetype: str
    size: int
    mode: str
    """Such as `hosted`, or `tombstone` for a deleted file."""
    is_external: bool
    """Whether the file is stored outside Slack, which only has a link."""
    url: str
    """Where the file can be fetched with the app's token. Empty if it can't be fetched."""


class NotPassedOn(FrontdeskError):
    """A file's content can't be fetched or uploaded, and trying again changes nothing."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal)


class SlackFiles:
    """Calls about files, and the transfer of their content."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api

    async def find(self, file_id: str) -> SlackFile:
        """Look up a file. For a file of another organisation, an event only has its id."""
        found = (await self._api.call("files.info", partial(self._api.web.files_info, file=file_id))).get("file") or {}
        size = found.get("size")
        return SlackFile(
            id=file_id,
            name=read_text(found, "name") or read_text(found, "title"),
            mimetype=read_text(found, "mimetype"),
            size=size if isinstance(size, int) else 0,
            mode=read_text(found, "mode"),
            is_external=bool(found.get("is_external")),
            url=read_text(found, "url_private_download") or read_text(found, "url_private"),
        )

    async def fetch(self, file: SlackFile, *, limit: int) -> bytes:
        """The content of a file. Raises NotPassedOn if it has more than `limit` bytes or can't be had."""
        headers = {"Authorization": f"Bearer {self._api.token}", "Accept-Encoding": "identity"}
        url = self._checked(file.url)
        for _ in range(REDIRECTS + 1):
            async with self._request("GET", url, headers=headers) as answer:
                if answer.status not in (301, 302, 303, 307, 308):
                    return await _read(answer, file, limit)
                url = self._checked(answer.headers.get("Location", ""), base=url)
        raise NotPassedOn("refused")

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file and return its id. No one sees it until it is shared. Raises NotPassedOn."""
        request = partial(self._api.web.files_getUploadURLExternal, filename=name, length=len(content))
        answer = await self._api.call("files.getUploadURLExternal", request)
        # The URL authorizes the upload, so it takes no token.
        url, headers = self._checked(read_text(answer, "upload_url")), {"Content-Type": "application/octet-stream"}
        async with self._request("POST", url, headers=headers, data=content) as taken:
            if taken.status != 200:
                raise NotPassedOn("too_large" if taken.status == 413 else "refused")
        return read_text(answer, "file_id")

    async def share(
        self,
        channel: str,
        files: Sequence[Mapping[str, str]],
        *,
        text: str,
        thread_ts: str | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Share uploaded files, each `{"id", "title"}`, in one message with this text in mrkdwn.

        The message has no mark, and it appears a little later than the answer.
        """
        # The SDK's own method puts the text into the URL, which has room for a few thousand characters.
        arguments = {
            "files": [dict(file) for file in files],
            "channel_id": channel,
            "initial_comment": text,
            **({"thread_ts": thread_ts} if thread_ts else {}),
        }
        await self._api.call(
            "files.completeUploadExternal",
            partial(self._api.web.api_call, "files.completeUploadExternal", json=arguments),
            channel=channel,
            ready=ready,
        )

    async def delete(self, file_id: str) -> None:
        """Delete one of the app's files everywhere it is shared. It is no error if the file is already gone."""
        await self._api.call(
            "files.delete",
            partial(self._api.web.files_delete, file=file_id),
            done={"file_not_found", "file_deleted"},
        )

    @asynccontextmanager
    async def _request(
        self, method: str, url: URL, *, headers: Mapping[str, str], data: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One HTTP exchange, which does not follow redirects."""
        try:
            async with (
                asyncio.timeout(TRANSFER_SECONDS),
                self._api.http.request(
                    method, url, headers=headers, data=data, allow_redirects=False, proxy=self._api.proxy
                ) as answer,
            ):
                if answer.status == 429 or answer.status >= 500:
                    raise SlackUnanswered("files", f"http_{answer.status}", sent=False)
                yield answer
        except TimeoutError:
            raise SlackUnanswered("files", "timeout", sent=False) from None
        except (aiohttp.ClientError, OSError) as error:
            logger.warning("a file was not carried", extra={"fault": type(error).__name__})
            raise SlackUnanswered("files", "connection_lost", sent=False) from None

    def _checked(self, address: str, *, base: URL | None = None) -> URL:
        """The URL, if it is Slack's. The parsed URL that is checked here is also the one that is requested."""
        try:
            url = URL(address) if base is None else base.join(URL(address))
            if is_slacks(url, api=URL(self._api.base_url)):
                return url
        except ValueError:
            pass
        raise NotPassedOn("outside")


def is_slacks(url: URL, *, api: URL) -> bool:
    """Whether a URL is Slack's, or belongs to the configured host of the Web API.

    Unencrypted HTTP is only allowed to loopback, and only if the Web API is there.
    """
    host = url.host or ""
    if url.user is not None or url.password is not None:
        return False
    if (url.scheme, host, url.port) == (api.scheme, api.host, api.port):
        return url.scheme == "https" or (url.scheme == "http" and host in ("127.0.0.1", "localhost", "::1"))
    of_slack = any(host == known or host.endswith(f".{known}") for known in HOSTS)
    return url.scheme == "https" and url.port == 443 and of_slack


async def _read(answer: aiohttp.ClientResponse, file: SlackFile, limit: int) -> bytes:
    """The content. Reading stops when it exceeds the size limit."""
    if answer.status != 200 or answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise NotPassedOn("gone" if answer.status in (404, 410) else "refused")
    if answer.content_type == "text/html" and file.mimetype != "text/html":
        raise NotPassedOn("sign_in")
    if (answer.content_length or 0) > limit:
        raise NotPassedOn("too_large")
    content = bytearray()
    async for piece in answer.content.iter_any():
        content += piece
        if len(content) > limit:
            raise NotPassedOn("too_large")
    return bytes(content)
