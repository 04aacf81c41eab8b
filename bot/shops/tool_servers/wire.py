"""The only door to the SDK of the Model Context Protocol. It takes a second to import, so it is loaded by name.

open_session  A connection to a server, at an address or as a program. It offers no callback: what a server wants to
              ask a person or a model is refused.
"""

import asyncio
import logging
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolResult,
    PaginatedRequestParams,
    TextContent,
    ToolListChangedNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from bot.shops.port import ShopUnavailable
from bot.shops.tool_servers.connection import Lost, ToolAnswer
from bot.shops.tool_servers.pins import Definition
from bot.shops.tool_servers.target import AddressTarget, ProgramTarget, Target

logger = logging.getLogger(__name__)

PAGES_LIMIT = 20
"""Pages of a list of tools that are read."""
TEXT_LIMIT = 20_000
"""Characters of an answer's text that are kept. The model reads fewer."""
END_TIMEOUT = 2.0
"""Seconds between two steps of ending a program: asked, told, killed."""
ERROR_LINES = 50
"""Lines of a program's standard error that are logged for one connection."""
ERROR_CHARACTERS = 500
"""Characters of one such line."""

_Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def open_session(target: Target) -> AsyncIterator["SdkSession"]:
    """The connection. What goes wrong reaches the caller as any exception, in groups or as a cancellation."""
    session = SdkSession()
    transport: AbstractAsyncContextManager[Any] = (
        _program(target, session.ended) if isinstance(target, ProgramTarget) else _address(target)
    )
    async with Client(
        transport, read_timeout_seconds=target.seconds, message_handler=session.hear, cache=None
    ) as client:
        session.client = client
        listening = asyncio.create_task(_listen(client))
        try:
            yield session
        finally:
            listening.cancel()
            await asyncio.wait({listening})


class SdkSession:
    """Implements Session."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()

    async def hear(self, message: object) -> None:
        """Note what the server says by itself. Older servers tell so of a change."""
        if isinstance(message, ToolListChangedNotification):
            self.changed.set()

    async def list_tools(self) -> Mapping[str, Definition]:
        """See Session."""
        found: dict[str, Definition] = {}
        cursor: str | None = None
        with _translated():
            for _ in range(PAGES_LIMIT):
                page = await self._open().session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                for tool in page.tools:
                    found[tool.name] = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
                cursor = page.next_cursor
                if cursor is None:
                    return found
        raise ShopUnavailable("the server's list of tools does not end")

    async def call(self, name: str, arguments: Mapping[str, Any], *, seconds: float) -> ToolAnswer:
        """See Session."""
        with _translated():
            # `Client.call_tool` would answer a server's questions and send the call again; the session does neither.
            result = await self._open().session.call_tool(
                name, dict(arguments), read_timeout_seconds=seconds, allow_input_required=True
            )
        if not isinstance(result, CallToolResult):
            raise ShopUnavailable("the server asks for more input, which it does not get")
        texts = (part.text for part in result.content if isinstance(part, TextContent))
        return ToolAnswer(bool(result.is_error), result.structured_content, "\n".join(texts)[:TEXT_LIMIT])

    def _open(self) -> Client:
        if self.client is None:
            raise Lost("the session is not open")
        return self.client


@contextmanager
def _translated() -> Iterator[None]:
    """The SDK's exceptions in ours. A cancellation passes: whose it is, the connection knows."""
    try:
        yield
    except MCPError as error:
        if error.code == REQUEST_TIMEOUT:
            raise ShopUnavailable("the server did not answer in time") from error
        if error.code == CONNECTION_CLOSED:
            raise Lost("the server closed the connection") from error
        raise ShopUnavailable(f"the server refuses the call with code {error.code}") from error
    except (ValidationError, RuntimeError, ValueError) as error:
        raise ShopUnavailable(f"the server's answer cannot be used ({type(error).__name__})") from error
    except (OSError, httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
        raise Lost(f"the connection ended ({type(error).__name__})") from error


async def _listen(client: Client) -> None:
    """Ask a server to tell of changes, which `hear` notes. Without it, the tools are read now and then."""
    try:
        async with client.listen(tools_list_changed=True) as subscription:
            async for _ in subscription:
                pass
    except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError, RuntimeError) as error:
        logger.debug("a tool server does not tell of changes", extra={"error": type(error).__name__})


@asynccontextmanager
async def _address(target: AddressTarget) -> AsyncIterator[Any]:
    headers = {"Accept-Encoding": "identity"}
    if target.token:
        headers["Authorization"] = f"Bearer {target.token}"
    timeout = httpx2.Timeout(target.seconds, read=None)
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, trust_env=False, transport=_Limited(target.limit)
        ) as client,
        streamable_http_client(target.url, http_client=client, max_sse_event_size=target.limit) as streams,
    ):
        yield streams


class _Limited(httpx2.AsyncBaseTransport):
    """Ends an answer that is too long, or packed. Streams of events have their limit in the SDK."""

    def __init__(self, limit: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See AsyncBaseTransport."""
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is packed though it was asked not to be", request=request)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return response
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Counted(response, self._limit),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """See AsyncBaseTransport."""
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, limit: int) -> None:
        self._response = response
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._response.aiter_raw():
            read += len(chunk)
            if read > self._limit:
                raise httpx2.ReadError(f"the answer is longer than {self._limit} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()


@asynccontextmanager
async def _program(target: ProgramTarget, ended: asyncio.Event) -> AsyncIterator[_Streams]:
    """A program's standard input and output, a line a message. Its group ends with the connection."""
    process = await asyncio.create_subprocess_exec(
        *target.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(target.env),
        cwd=target.cwd,
        start_new_session=True,
        limit=target.limit,
    )
    _limit_memory(process.pid, target.memory_bytes)
    to_session, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(work)
        for work in (
            _read_lines(process, to_session, ended),
            _write_lines(process, from_session),
            _log_errors(process, target.name),
        )
    ]
    try:
        yield received, sent
    finally:
        await _end(process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (to_session, received, sent, from_session):
            stream.close()


def _limit_memory(pid: int, bytes_: int) -> None:
    """Bound what the program can allocate. Address space is not bounded: some runtimes reserve much and use little."""
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (bytes_, bytes_))


async def _read_lines(
    process: asyncio.subprocess.Process,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
) -> None:
    try:
        async with to_session:
            # A line beyond the reader's limit is a ValueError: the connection ends, as it does with the program.
            while process.stdout and (line := await process.stdout.readline()):
                await to_session.send(_message(line))
    except (ValueError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        logger.warning("a tool server's output cannot be read", extra={"error": type(error).__name__})
    finally:
        ended.set()
    # A full pipe would keep the program from ending, and its end of the pipe from being closed.
    while process.stdout and await process.stdout.read(65_536):
        pass


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write_lines(
    process: asyncio.subprocess.Process, messages: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    async with messages:
        async for message in messages:
            if process.stdin is None:
                return
            process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            with suppress(ConnectionError):
                await process.stdin.drain()


async def _log_errors(process: asyncio.subprocess.Process, name: str) -> None:
    """Log what the program writes on standard error, cut, and read on without logging when it is too much."""
    left = ERROR_LINES
    while process.stderr and (chunk := await process.stderr.read(4_096)):
        for line in chunk.decode("utf-8", "replace").splitlines()[:left]:
            left -= 1
            logger.info("a tool server wrote", extra={"connector": name, "line": line[:ERROR_CHARACTERS]})


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the program with its whole group."""
    if process.stdin:
        process.stdin.close()
    if not await _has_ended(process):
        _signal(process, signal.SIGTERM)
        await _has_ended(process)
    _signal(process, signal.SIGKILL)
    await _has_ended(process)


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(END_TIMEOUT):
            await process.wait()
    except TimeoutError:
        return False
    return True


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
