"""The outbox: everything that Slack must be told exactly once leaves through here.

A row is stored in the transaction of what caused it, marked `sending` before the call and `sent` after.
What lies between may have happened or not; then the channel is searched for the row's own mark (message
metadata) before anything is sent again. Rows of one channel leave in order; a channel that waits holds up
no other.

run       send what is there, wait for more
wake      say that there is more
deliver   queue one post and wait for its place
"""

import asyncio
import logging
import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import Any

from bot.clock import Clock
from bot.errors import StoreUnavailable
from bot.slack.client import EVENT_TYPE, TRANSIENT, SlackClient, SlackRefused, SlackUnanswered
from bot.slack.place import BAD_BLOCKS
from bot.store import outbox
from bot.store.database import Database
from bot.store.outbox import OutboxRow, Outgoing

logger = logging.getLogger(__name__)

BACKOFF_SECONDS = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)
"""Waits after an unanswered call; the last repeats, for as long as it takes."""
ALERT_AFTER = 5
"""Unanswered calls of one row after which every further one is an error in the log."""
REPAIR_SECONDS = 60.0
"""Between two tries of a post that waits for somebody to repair something."""
TOKEN_FAULTS = frozenset(
    {"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope"}
)
CHANNEL_FAULTS = (
    "not_in_channel",
    "channel_not_found",
    "is_archived",
    "restricted_action",
    "access_denied",
    "org_login_required",
)
"""How refusals begin that say something of the channel and nothing of the post."""
DELIVER_POLL_SECONDS = 0.1
"""How often `deliver` looks whether its post has left."""
LOOK_BACK_SECONDS = 600.0
"""Slack's clock may be behind ours by this much when a post is looked for."""


class Outbox:
    """Sends the outbox's rows through one Slack client."""

    def __init__(
        self, database: Database, slack: SlackClient, clock: Clock, *, essential: frozenset[str] = frozenset()
    ) -> None:
        """`essential` are channels whose posts wait for repair instead of being given up."""
        self._stuck: dict[str, str] = {}
        self._essential = essential
        self._database = database
        self._slack = slack
        self._clock = clock
        self._more = asyncio.Event()
        self._more.set()
        self._busy: set[str] = set()

    @property
    def stuck(self) -> str | None:
        """What Slack refuses until somebody repairs it; None when nothing is."""
        return next((f"{channel}: {fault}" for channel, fault in self._stuck.items()), None)

    def wake(self) -> None:
        """Say that rows were added."""
        self._more.set()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as senders:
            while True:
                await self._more.wait()
                self._more.clear()
                for channel, rows in (await self._by_channel()).items():
                    self._busy.add(channel)
                    senders.create_task(self._send_all(channel, rows), name=f"outbox {channel}")

    async def deliver(self, outgoing: Outgoing) -> str:
        """Queue a post and wait until Slack has it; its ts. The same key twice is one post and the same ts.

        Raises:
            SlackRefused: Slack refused it for good.
        """
        async with self._database.transaction() as tx:
            await outbox.add(tx, outgoing, now=self._clock.now())
        while True:
            self.wake()
            async with self._database.transaction() as tx:
                row = await outbox.by_key(tx, outgoing.key)
            if row is not None and row.ts is not None:
                return row.ts
            if row is not None and row.state == "failed":
                raise SlackRefused("chat.postMessage", "refused_for_good")
            await self._clock.sleep(DELIVER_POLL_SECONDS)

    async def flush(self, seconds: float) -> bool:
        """Wait until nothing is left to send, at most `seconds`; whether that was reached."""
        deadline = self._clock.monotonic() + seconds
        while self._clock.monotonic() < deadline:
            async with self._database.transaction() as tx:
                if not await outbox.open_rows(tx, limit=1):
                    return True
            await self._clock.sleep(0.05)
        return False

    async def _by_channel(self) -> dict[str, list[OutboxRow]]:
        try:
            async with self._database.transaction() as tx:
                rows = await outbox.open_rows(tx, besides=self._busy)
        except StoreUnavailable:
            logger.warning("the database is away; the outbox waits")
            await self._clock.sleep(BACKOFF_SECONDS[1])
            self.wake()
            return {}
        waiting: dict[str, list[OutboxRow]] = defaultdict(list)
        for row in rows:
            waiting[row.channel].append(row)
        return waiting

    async def _send_all(self, channel: str, rows: list[OutboxRow]) -> None:
        try:
            for row in rows:
                await self._send(row)
        except StoreUnavailable:
            logger.warning("the database is away; the outbox waits", extra={"channel": channel})
            await self._clock.sleep(BACKOFF_SECONDS[1])
        except Exception:
            logger.exception("the outbox failed", extra={"channel": channel})
            await self._clock.sleep(BACKOFF_SECONDS[-1])
        finally:
            self._busy.discard(channel)
            self.wake()

    async def _send(self, row: OutboxRow) -> None:
        """Send one row, however long Slack is away; it ends sent, or refused for good."""
        maybe_sent, payload = row.state == "sending", row.payload
        for attempt in count(1):
            called = False
            try:
                ts = await self._find(row) if maybe_sent else None
                if ts is None:
                    async with self._database.transaction() as tx:
                        await outbox.mark_sending(tx, row.id)
                    called = True
                    ts = await self._call(row, payload)
            except SlackRefused as error:
                maybe_sent = False
                if error.error in BAD_BLOCKS and "blocks" in payload:
                    logger.error("Slack refuses the blocks of a post; its text is sent", extra={"key": row.key})
                    payload = _without_blocks(payload)
                elif self._is_reparable(row, error.error):
                    self._stuck[row.channel] = f"{error.method}: {error.error}"
                    logger.error("a post waits for repair", extra={"key": row.key, "slack": error.error})
                    await self._clock.sleep(REPAIR_SECONDS)
                else:
                    await self._fail(row, error.error)
                    return
            except SlackUnanswered as failure:
                if called:
                    maybe_sent = failure.sent
                if attempt >= self._tries(row, failure):
                    await self._fail(row, failure.reason)
                    return
                if failure.reason in TRANSIENT and attempt >= ALERT_AFTER:
                    payload = _without_blocks(payload)
                if attempt >= ALERT_AFTER:
                    logger.error("Slack does not take a post", extra={"key": row.key, "reason": failure.reason})
                backoff = BACKOFF_SECONDS[min(attempt, len(BACKOFF_SECONDS)) - 1]
                await self._clock.sleep(max(backoff, min(failure.retry_after, REPAIR_SECONDS)))
            else:
                self._stuck.pop(row.channel, None)
                async with self._database.transaction() as tx:
                    await outbox.mark_sent(tx, row, ts, now=self._clock.now())
                return

    def _is_reparable(self, row: OutboxRow, error: str) -> bool:
        """Whether an operator can mend it: the app's token always, the agent channel because cases are told there."""
        if row.method != "post":
            return False
        return error in TOKEN_FAULTS or (row.channel in self._essential and error.startswith(CHANNEL_FAULTS))

    def _tries(self, row: OutboxRow, failure: SlackUnanswered) -> float:
        """How often a row is sent that Slack does not take: for ever while Slack is away, since that ends.

        A mark holds nobody up, and an answer like `internal_error` again and again is about the row itself.
        """
        if row.method == "react":
            return ALERT_AFTER
        return 2 * ALERT_AFTER if failure.reason in TRANSIENT else math.inf

    async def _fail(self, row: OutboxRow, error: str) -> None:
        logger.error("a post was refused for good", extra={"key": row.key, "channel": row.channel, "slack": error})
        async with self._database.transaction() as tx:
            await outbox.mark_failed(tx, row, error, now=self._clock.now())

    async def _call(self, row: OutboxRow, payload: Mapping[str, Any]) -> str | None:
        """Make the row's call; the ts of a post, None for the rest."""
        parent = await self._parent_ts(row)
        match row.method:
            case "post":
                metadata = {"event_type": EVENT_TYPE, "event_payload": {"o": row.key}}
                thread_ts = parent or row.thread_ts
                return await self._slack.post(row.channel, thread_ts=thread_ts, metadata=metadata, **payload)
            case "update":
                await self._slack.update(row.channel, _the(parent), **payload)
            case "react":
                await self._slack.react(row.channel, payload["ts"], payload["name"])
        return None

    async def _parent_ts(self, row: OutboxRow) -> str | None:
        if row.parent is None:
            return None
        async with self._database.transaction() as tx:
            parent = await outbox.by_key(tx, row.parent)
        if parent is None or parent.ts is None:
            raise SlackRefused(row.method, "parent_not_sent")
        return parent.ts

    async def _find(self, row: OutboxRow) -> str | None:
        """The ts of the post that an unanswered call left behind, if it did."""
        if row.method != "post":
            return None
        thread_ts = await self._parent_ts(row) or row.thread_ts
        oldest = row.created_at - LOOK_BACK_SECONDS
        try:
            if thread_ts:
                messages = await self._slack.replies(row.channel, thread_ts, oldest=oldest)
            else:
                messages = await self._slack.history(row.channel, oldest=oldest)
        except SlackRefused as error:
            logger.warning("a post cannot be looked for", extra={"key": row.key, "slack": error.error})
            return None
        return next((message["ts"] for message in messages if _mark(message) == row.key), None)


def _without_blocks(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in payload.items() if name != "blocks"}


def _mark(message: dict[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    key = metadata.get("event_payload", {}).get("o")
    return key if isinstance(key, str) else None


def _the(ts: str | None) -> str:
    if ts is None:
        raise SlackRefused("chat.update", "parent_not_sent")
    return ts
