"""`/kb refresh` in Slack: one message that its reader keeps up to date, and that becomes the report.

What is said at the address of a slash command replaces nothing (slackapi/bolt-python#1268, slackapi/bolt-js#2287),
and the address serves five times. The address that comes with the press of a button is another one: what is said
there can take the place of the message with the button. So the first line has a button, a press shows how far it
is, and the report goes to the address of the last press. Who never presses reads two messages: the beginning, with
the button, and the report.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.help_center import texts as words
from bot.help_center.library import Library, Refresh
from bot.slack.client import Block, SlackClient
from bot.views import staff_cards

MAX_KNOWN_REFRESHES = 100
"""Refreshes whose end is remembered, for presses that come later."""


class Tell(Protocol):
    """Says something to who gave a command, as a message of its own."""

    async def __call__(self, text: str, *, blocks: Sequence[Block] | None = None) -> None:
        """`text` is mrkdwn, and what is shown without blocks."""


@dataclass(slots=True)
class _Run:
    """One refresh as somebody asked for it."""

    watch: words.Watch = field(default_factory=words.Watch)
    pressed: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    """Where the last press is answered; empty before the first."""
    report: str = ""
    """What it came to; empty until then."""


class Refreshes:
    """The refreshes that this process carries out, or has, each with the message that tells of it."""

    def __init__(self, library: Library, slack: SlackClient) -> None:
        self._library = library
        self._slack = slack
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    async def run(self, interrupt: Refresh, *, tell: Tell, by: str) -> None:
        """Refresh, and say so to who asked, `by`. Raises StoreUnavailable before it has begun, and then has not."""
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
        if not (run.address and await self._slack.respond(run.address, text=report, replace=True)):
            await tell(report)

    async def show(self, key: str, *, address: str) -> None:
        """The button was pressed: bring the message up to date. `address` is the press's response_url."""
        run = self._runs.get(key)
        if run is None:
            status = words.fitting(f"{words.FORGOTTEN}\n\n{await self._library.status()}")
            await self._slack.respond(address, text=status, replace=True)
        elif run.report:
            await self._slack.respond(address, text=run.report, replace=True)
        else:
            run.address = address
            run.pressed.set()

    async def _keep_up_to_date(self, key: str, run: _Run) -> None:
        """Answer presses until there is a report. Nobody else writes then, so that nothing older overtakes."""
        while True:
            await run.pressed.wait()
            run.pressed.clear()
            if run.report:
                return
            card = staff_cards.refreshing(run.watch.text(), run=key)
            await self._slack.respond(run.address, text=card.text, blocks=card.blocks, replace=True)

    def _remember(self, key: str, run: _Run) -> None:
        self._runs[key] = run
        while len(self._runs) > MAX_KNOWN_REFRESHES:
            self._runs.popitem(last=False)
