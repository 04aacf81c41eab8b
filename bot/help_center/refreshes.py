"""`/kb refresh` in Slack: one message that its reader can update, and that becomes the report.

A post to the response_url of a slash command cannot replace a message (slackapi/bolt-python#1268,
slackapi/bolt-js#2287), and the URL works five times. An interaction has a response_url of its own, and a post to that
one can replace the message with the button. So the first message has a button, an interaction shows the progress, and
the report goes to the response_url of the last interaction. People who never press the button get two messages: the
first one with the button, and the report.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.help_center import status_texts
from bot.help_center.library import Library, Refresh
from bot.slack.api.chat import Chat
from bot.slack.api.transport import Block
from bot.views import staff_cards

MAX_KNOWN_REFRESHES = 100
"""The number of refreshes whose end is remembered, for later interactions."""


class Tell(Protocol):
    """Posts a new message to the person who gave a command."""

    async def __call__(self, text: str, *, blocks: Sequence[Block] | None = None) -> None:
        """`text` is mrkdwn. It is shown if there are no blocks."""


@dataclass(slots=True)
class _Run:
    """One refresh that a person asked for."""

    watch: status_texts.Watch = field(default_factory=status_texts.Watch)
    pressed: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    """The response_url of the last interaction. Empty before the first."""
    report: str = ""
    """The report. Empty until the refresh ends."""


class Refreshes:
    """The running and the past refreshes of this process, each with its message."""

    def __init__(self, library: Library, chat: Chat) -> None:
        self._library = library
        self._chat = chat
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    async def run(self, interrupt: Refresh, *, tell: Tell, by: str) -> None:
        """Refresh, and tell the user who asked (`by`). Raises StoreUnavailable only before the refresh has begun."""
        key, run = secrets.token_hex(8), _Run()

        async def begins(text: str) -> None:
            self._remember(key, run)
            card = staff_cards.refreshing(text, run=key)
            await tell(card.text, blocks=card.blocks)

        telling = asyncio.create_task(self._keep_up_to_date(key, run))
        try:
            report = await self._library.refresh(interrupt, begins=begins, watch=run.watch, by=by)
        except BaseException:
            telling.cancel()
            raise
        run.report = report
        run.pressed.set()
        await telling
        if not (run.address and await self._chat.respond(run.address, text=report, replace=True)):
            await tell(report)

    async def show(self, key: str, *, address: str) -> None:
        """The button was pressed: update the message. `address` is the interaction's response_url."""
        run = self._runs.get(key)
        if run is None:
            status = status_texts.fitting(f"{status_texts.FORGOTTEN}\n\n{await self._library.status()}")
            await self._chat.respond(address, text=status, replace=True)
        elif run.report:
            await self._chat.respond(address, text=run.report, replace=True)
        else:
            run.address = address
            run.pressed.set()

    async def _keep_up_to_date(self, key: str, run: _Run) -> None:
        """Answer interactions until there is a report. Only this task writes, so an older text can't overtake a newer
        one."""
        while True:
            await run.pressed.wait()
            run.pressed.clear()
            if run.report:
                return
            card = staff_cards.refreshing(run.watch.text(), run=key)
            await self._chat.respond(run.address, text=card.text, blocks=card.blocks, replace=True)

    def _remember(self, key: str, run: _Run) -> None:
        self._runs[key] = run
        while len(self._runs) > MAX_KNOWN_REFRESHES:
            self._runs.popitem(last=False)
