"""The Socket Mode connection: Slack's own client, made to come back at its ease and to say so.

Left alone it asks for a new address as often as Slack sends it away, tries an address that serves once for ever when
connecting fails, waits ten seconds for a farewell from a peer that is gone, and tells every attempt with a traceback.
"""

import asyncio
import logging
import random
import time
from typing import Any

import aiohttp
from slack_sdk.socket_mode.aiohttp import SocketModeClient

from bot.alerts import Alerts
from bot.clock import Clock
from bot.errors import FrontdeskError
from bot.slack.client import CALL_SECONDS, SlackClient, SlackRefused, SlackUnanswered

logger = logging.getLogger(__name__)

PING_SECONDS = 5.0
"""Between two signs of life; so long a connection that broke goes unnoticed, and about twice as long a silent one."""
STABLE_CONNECTION_PERIOD = 60.0
"""A connection that held for so long may be replaced at once."""
WAITS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Before the first, second … new address after that; the last repeats."""
ALERT_AFTER = 4
"""Connections in such a row after which operators are told."""
HELLO_SECONDS = 30.0
"""How long Slack may take to say hello on a connection; past it, another one is opened."""
GOODBYE_TIMEOUT = 1.0
"""How long the old connection's end may take."""


class SocketConnection(SocketModeClient):
    """One app's connection; `connect` returns once it stands, and it is renewed from then on."""

    def __init__(self, slack: SlackClient, app_token: str, clock: Clock) -> None:
        chatter = logging.getLogger("slack_sdk.socket_mode.connection")
        chatter.addFilter(_in_one_line)
        super().__init__(app_token=app_token, logger=chatter, web_client=slack.web, ping_interval=PING_SECONDS)
        self.proxy = slack.proxy
        self._slack = slack
        self._clock = clock
        self._alerts = Alerts(now=clock.monotonic)
        self._in_a_row = 0
        self._asked_at = -STABLE_CONNECTION_PERIOD
        self._opened_at = 0.0
        self._greeted = asyncio.Event()
        """Set while Slack has said hello on the present connection: from then on it sends events."""

    async def is_ready(self) -> bool:
        """Whether events come: the connection stands, and Slack has said hello on it."""
        return self._greeted.is_set() and await self.is_connected()

    async def greeted(self) -> None:
        """Return once Slack has said hello."""
        await self._greeted.wait()

    async def is_connected(self) -> bool:
        """Whether the connection stands. One on which nobody says hello in time counts as broken."""
        is_mute = not self._greeted.is_set() and self._clock.monotonic() - self._opened_at >= HELLO_SECONDS
        return not is_mute and await super().is_connected()

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Note a hello. What is to be acknowledged is handed on also when it holds nothing that the client reads."""
        if message.get("type") == "hello":
            self._greeted.set()
        if isinstance(message.get("envelope_id"), str):
            held = message.get("payload")
            message = {**message, "type": str(message.get("type")), "payload": held if isinstance(held, dict) else {}}
        await super().run_message_listeners(message, raw_message)

    async def issue_new_wss_url(self) -> str:
        """An address for the next connection, the later the more were asked for lately.

        Raises SlackRefused and SlackUnanswered, told to operators.
        """
        now = self._clock.monotonic()
        self._in_a_row = 0 if now - self._asked_at >= STABLE_CONNECTION_PERIOD else self._in_a_row + 1
        wait = WAITS[min(self._in_a_row, len(WAITS) - 1)]
        self._asked_at = now + wait
        if self._in_a_row >= ALERT_AFTER:
            self._alerts.tell(logger, "the Socket Mode connection does not hold", about="", in_a_row=self._in_a_row)
        await self._clock.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - not a secret
        try:
            return await self._slack.open_socket(self.app_token)
        except SlackRefused as error:
            self._alerts.tell(logger, "Slack refuses a connection", about=error.error, slack=error.error)
            raise
        except SlackUnanswered as error:
            self._alerts.tell(logger, "Slack gives no address to connect to", about="", reason=error.reason)
            raise

    async def connect(self) -> None:
        """Connect, with a new address for every try, until it succeeds or `close` is called."""
        while not self.closed:
            try:
                address, self.wss_uri = self.wss_uri, None
                await self._open(address or await self.issue_new_wss_url())
            except (FrontdeskError, aiohttp.ClientError, OSError, TimeoutError) as error:
                logger.warning("not connected", extra={"reason": _reason(error)})
            else:
                return

    async def _open(self, address: str) -> None:
        """Replace the connection and the tasks that read it and watch over it."""
        self.auto_reconnect_enabled = False
        await self._end_old()
        self._greeted.clear()
        self._opened_at = self._clock.monotonic()
        async with asyncio.timeout(CALL_SECONDS):
            self.current_session = await self.aiohttp_client_session.ws_connect(
                address, autoping=False, heartbeat=self.ping_interval, proxy=self.proxy
            )
        self.auto_reconnect_enabled, self.stale, self.last_ping_pong_time = True, False, None
        await self.current_session.ping(f"sdk-ping-pong:{time.time()}".encode())
        for task in (self.current_session_monitor, self.message_receiver):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        self.current_session_monitor = asyncio.ensure_future(self.monitor_current_session())
        self.message_receiver = asyncio.ensure_future(self.receive_messages())

    async def _end_old(self) -> None:
        """Slack counts connections, so the old one goes first; one that does not answer is dropped."""
        if self.current_session is None:
            return
        try:
            async with asyncio.timeout(GOODBYE_TIMEOUT):
                await self.current_session.close()
        except (aiohttp.ClientError, OSError, TimeoutError):
            logger.debug("the old connection was dropped")


def _reason(error: Exception) -> str:
    """Why there is no connection. What the HTTP client says of a handshake, or of a wrong address, holds the ticket."""
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return f"the handshake was answered with {error.status}"
    if isinstance(error, aiohttp.ClientConnectorError | FrontdeskError):
        return str(error)
    return type(error).__name__


def _in_one_line(record: logging.LogRecord) -> bool:
    """What the client itself tells is for the curious; what matters is told above."""
    record.exc_info = None
    if record.levelno > logging.WARNING:
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True
