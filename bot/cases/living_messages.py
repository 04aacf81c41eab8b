"""A desk's messages that change by themselves: the queue, and the list of things to fix.

Such a message is derived and never the truth. It is stored as a post without its words. Its words are filled in by an
edit, when they have changed and at most once in EDIT_SECONDS, so that they stand nowhere but in Slack. Of several
processes one edits. When the message is posted anew, the old one is deleted.
"""

import hashlib
import json
import logging
from dataclasses import dataclass

from bot.alerts import Alerts
from bot.cases.messages import payload
from bot.clock import Clock
from bot.failpoints import failpoint
from bot.slack.api.chat import Chat
from bot.slack.api.errors import SlackRefused
from bot.slack.blocks import Card
from bot.slack.outbox import Outbox
from bot.store import desks, outbox
from bot.store.database import Database, Transaction
from bot.store.desks import LivingMessage, Name
from bot.store.outbox import Outgoing

logger = logging.getLogger(__name__)

EDIT_SECONDS = 3.0
"""The least time between two edits of a message."""
REPOST_SECONDS = 60.0
"""The time after which a message that Slack refused is posted once more."""
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
"""Slack's refusals of an edit after which the message is posted anew."""


@dataclass(frozen=True, slots=True)
class LivingMessages:
    """Posts and edits the messages of one kind."""

    database: Database
    outbox: Outbox
    chat: Chat
    clock: Clock
    alerts: Alerts
    name: Name
    placeholder: Card
    """What the message is posted as. It holds nothing about customers, so it can be stored."""
    pins: bool = False

    async def post(self, channel: str, old: LivingMessage | None) -> None:
        """Queue a post for the message. The old one goes when Slack has taken the new one."""
        async with self.database.transaction() as tx:
            is_ours = await self.add(tx, channel, old)
        if is_ours:
            failpoint("queue_begun")
            self.outbox.wake()

    async def add(self, tx: Transaction, channel: str, old: LivingMessage | None) -> bool:
        """Do the same in a transaction. False if another process has done it."""
        now = self.clock.now()
        message = await desks.begin_message(tx, channel, after=old.number if old else 0, now=now, name=self.name)
        if message is None:
            return False
        goes = (Outgoing(f"{message.key}/old", "delete", channel, {"ts": old.ts}),) if old and old.ts else ()
        post = Outgoing(message.key, "post", channel, payload(self.placeholder), when_sent=goes)
        await outbox.add(tx, post, now=now)
        return True

    async def settle(self, message: LivingMessage) -> None:
        """Note where the message is, once Slack has taken it, and pin it if it is to be pinned."""
        async with self.database.transaction() as tx:
            row = await outbox.by_key(tx, message.key)
            if row is None or row.state == "failed":
                if self.clock.now() >= message.begun_at + REPOST_SECONDS:
                    await self.add(tx, message.channel, message)
                    self.outbox.wake()
                return
            if row.ts is None:
                return
            await desks.end_message(tx, message, row.ts)
        if not self.pins:
            return
        try:
            await self.chat.pin(message.channel, row.ts)
        except SlackRefused as refusal:
            # Without the scope, or with too many pins, it is not pinned, and everything else works.
            self.alerts.tell_once(logger, "a message is not pinned", about=message.channel, reason=str(refusal))

    async def show(self, message: LivingMessage, ts: str, card: Card) -> None:
        """Edit the message if it shows something else."""
        shown = hashlib.sha256(json.dumps(payload(card), sort_keys=True).encode()).hexdigest()
        if shown == message.shown:
            return
        async with self.database.transaction() as tx:
            if not await desks.may_edit(tx, message, now=self.clock.now(), pause=EDIT_SECONDS):
                return
        try:
            await self.chat.update(message.channel, ts, text=card.text, blocks=card.blocks)
        except SlackRefused as refusal:
            if refusal.error not in GONE:
                raise
            await self.post(message.channel, message)
            return
        failpoint("queue_shown")
        async with self.database.transaction() as tx:
            await desks.note_shown(tx, message, shown)
