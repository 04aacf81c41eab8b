"""The app's client of Slack, in parts. Each part of the program takes those parts that it needs.

open_slack_client  a client with an HTTP session of its own
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.clock import Clock, SystemClock
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.files import SlackFiles
from bot.slack.api.sessions import SessionLedger, Sessions
from bot.slack.api.streams import Streams
from bot.slack.api.transport import SlackApi, open_web_client
from bot.slack.api.views import Views
from bot.slack.rate_limiter import MemoryBudget, RateLimiter


@dataclass(frozen=True, slots=True)
class SlackClient:
    """The calls to Slack, by what they are about."""

    api: SlackApi
    """The way of all calls, and who the app is."""
    chat: Chat
    directory: Directory
    streams: Streams
    sessions: Sessions
    files: SlackFiles
    views: Views


@asynccontextmanager
async def open_slack_client(
    *, token: str, base_url: str | None, clock: Clock | None = None, rate_limiter: RateLimiter | None = None
) -> AsyncIterator[SlackClient]:
    """A client with an HTTP session of its own. `base_url` ends in `/api/`; None is Slack itself.

    Without a rate limiter it keeps to Slack's limits as if it were the app's only process.
    """
    clock = clock or SystemClock()
    rate_limiter = rate_limiter or RateLimiter(MemoryBudget(clock), clock)
    ledger = SessionLedger()
    async with open_web_client(token=token, base_url=base_url) as web:
        api = SlackApi(web, clock=clock, rate_limiter=rate_limiter)
        yield SlackClient(
            api=api,
            chat=Chat(api, ledger, clock),
            directory=Directory(api, clock),
            streams=Streams(api, ledger, rate_limiter),
            sessions=Sessions(api, ledger),
            files=SlackFiles(api),
            views=Views(api),
        )
