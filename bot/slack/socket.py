"""The Socket Mode connection: Slack's own client, changed to reconnect with increasing waits and to report it.

Without these changes, the client asks for a new address each time Slack disconnects it. If connecting fails, it tries
the same address for ever, although an address works only once. It waits ten seconds for a peer that is gone to say
goodbye, and logs every attempt with a traceback.
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
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import CALL_SECONDS, SlackApi

logger = logging.getLogger(__name__)

PING_SECONDS = 5.0
"""The time between two pings. A broken connection is noticed after this time, and a silent one after about twice as
long."""
STABLE_CONNECTION_PERIOD = 60.0
"""A connection that lasted this long can be replaced at once."""
WAITS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""The waits before the first, second … new address after that. The last one repeats."""
ALERT_AFTER = 4
"""After this many short connections in a row, operators are alerted."""
HELLO_SECONDS = 30.0
"""How long Slack may take to say hello on a connection. After that, another one is opened."""
GOODBYE_TIMEOUT = 1.0
"""The timeout for closing the old connection."""


class SocketConnection(SocketModeClient):
    """The connection of one app. `connect` returns once it is open. From then on it is renewed."""

    def __init__(self, api: SlackApi, app_token: str, clock: Clock) -> None:
        chatter = logging.getLogger("slack_sdk.socket_mode.connection")
        chatter.addFilter(_in_one_line)
        super().__init__(app_token=app_token, logger=chatter, web_client=api.web, ping_interval=PING_SECONDS)
        self.proxy = api.proxy
        self._api = api
        self._clock = clock
        self._alerts = Alerts(now=clock.monotonic)
        self._in_a_row = 0
        self._asked_at = -STABLE_CONNECTION_PERIOD
        self._opened_at = 0.0
        self._greeted = asyncio.Event()
        """Set while Slack has said hello on the present connection. From then on Slack sends events."""

    async def is_ready(self) -> bool:
        """Whether events arrive: the connection is open, and Slack has said hello on it."""
        return self._greeted.is_set() and await self.is_connected()

    async def greeted(self) -> None:
        """Return once Slack has said hello."""
        await self._greeted.wait()

    async def is_connected(self) -> bool:
        """Whether the connection is open. A connection on which Slack says no hello in time counts as broken."""
        is_mute = not self._greeted.is_set() and self._clock.monotonic() - self._opened_at >= HELLO_SECONDS
        return not is_mute and await super().is_connected()

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Note a hello. An envelope is handed on to be acknowledged even if the client can read nothing in it."""
        if message.get("type") == "hello":
            self._greeted.set()
        if isinstance(message.get("envelope_id"), str):
            held = message.get("payload")
            message = {**message, "type": str(message.get("type")), "payload": held if isinstance(held, dict) else {}}
        await super().run_message_listeners(message, raw_message)

    async def issue_new_wss_url(self) -> str:
        """Get an address for the next connection. The more were asked for lately, the longer it waits.

        Raises SlackRefused and SlackUnanswered, after an alert to operators.
        """
        now = self._clock.monotonic()
        self._in_a_row = 0 if now - self._asked_at >= STABLE_CONNECTION_PERIOD else self._in_a_row + 1
        wait = WAITS[min(self._in_a_row, len(WAITS) - 1)]
        self._asked_at = now + wait
        if self._in_a_row >= ALERT_AFTER:
            self._alerts.tell(logger, "the Socket Mode connection does not hold", about="", in_a_row=self._in_a_row)
        await self._clock.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - not a secret
        try:
            return await self._api.open_socket(self.app_token)
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
        """Replace the connection, and the tasks that read and monitor it."""
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
        """Close the old connection first, because Slack counts connections. If it does not answer, it is dropped."""
        if self.current_session is None:
            return
        try:
            async with asyncio.timeout(GOODBYE_TIMEOUT):
                await self.current_session.close()
        except (aiohttp.ClientError, OSError, TimeoutError):
            logger.debug("the old connection was dropped")


def _reason(error: Exception) -> str:
    """Why there is no connection. The HTTP client's own text about a handshake or a wrong address contains the
    ticket.
    """
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return f"the handshake was answered with {error.status}"
    if isinstance(error, aiohttp.ClientConnectorError | FrontdeskError):
        return str(error)
    return type(error).__name__


def _in_one_line(record: logging.LogRecord) -> bool:
    """Reduce the client's own log lines to at most a one-line warning. The code above logs what matters."""
    record.exc_info = None
    if record.levelno > logging.WARNING:
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True
