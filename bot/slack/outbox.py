"""The outbox: every post that must reach Slack exactly once leaves through here.

A row is stored in the transaction of what caused it. It is marked `sending` before the call and `sent` after it. A
call that was interrupted in between may or may not have happened. So the channel is searched for the row's own mark
(message metadata) before anything is sent again. Updates, deletions, reactions and ephemeral messages are simply
repeated.

The rows of one thread leave in order. A thread that waits delays no other thread, unless Slack refuses the whole
channel. Order is the order of ids. Postgres hands ids out before the transaction ends, so a later id can become
visible first. But then neither transaction knew of the other, and their order was open anyway. A row that is queued
because of another one is stored after that one was committed, and so has the later id.

With several processes, only one sends to a channel, for as long as it has something to send there. A call can wait
for the rate limiter for longer than it takes to consider a process dead. So the claim is checked, and the row marked,
when it is the call's turn. A process that cannot renew its lease cancels its calls before other processes look for
what became of them.

A post with files is one message with the app's own copies of them (bot/slack/files.py). It has no mark and is
recognised by the copies. It appears some time after Slack has confirmed it.

What the assistant says leaves only in the ownership epoch in which it was decided: the transaction that marks the row
compares the epochs. A row of an earlier epoch is dropped, with an audit entry.

A row that Slack refuses for good is parked as `failed`, and a line in the agent channel says what the customer did
not get.

Two things bypass the outbox. bot/slack/stream.py writes answers: their posts have a key of their own, and the turn's
journal knows their messages. What can be lost without harm is sent directly: most ephemeral messages, answers to
interactions and commands, status lines and suggested prompts.

run       send what is there, wait for more
wake      say that there is more
deliver   queue one post and wait for its ts
"""

import asyncio
import json
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Protocol

from bot import tracing
from bot.alerts import Alerts
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.errors import FrontdeskError, Silenced, StoreUnavailable
from bot.failpoints import failpoint
from bot.slack.api.chat import EVENT_TYPE, Chat
from bot.slack.api.errors import CHANNEL_FAULTS, DEAD_TOKEN, PERSON_GONE, TRANSIENT, SlackRefused, SlackUnanswered
from bot.slack.api.sessions import Sessions
from bot.slack.api.transport import Ready
from bot.slack.blocks import LINK, plainer
from bot.slack.files import FileCopies
from bot.slack.place import BAD_BLOCKS, LOOK_BACK_SECONDS, MISMATCH
from bot.store import audit, cases, inbox, outbox
from bot.store.cases import card_key, ref_of
from bot.store.database import Database, Transaction
from bot.store.outbox import OutboxRow, Outgoing

logger = logging.getLogger(__name__)

BACKOFF_SECONDS = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)
"""The waits after an unanswered call. The last one repeats, for as long as it takes."""
ALERT_AFTER = 5
"""After this many unanswered calls of one row, operators are alerted."""
REPAIR_SECONDS = (3.0, 10.0, 30.0, 60.0)
"""The waits between two tries of a post that needs a repair by an operator. The last one repeats."""
TOKEN_FAULTS = DEAD_TOKEN | {"missing_scope"}
DELIVER_POLL_SECONDS = 0.1
"""How often `deliver` checks whether its post has left."""
FLUSH_POLL_SECONDS = 0.05
"""How often `flush` checks whether everything has left, while nothing says so."""
CLAIM = "outbox/"
"""The beginning of the name of a channel's claim. The rest is the channel."""
ACTOR = "frontdesk"
"""The actor of the audit entry about a dropped row."""
AUTHOR = "author"
"""The key of a post's payload that holds a person's `name` and `picture`. With them, the post is under that name and
leaves out the first line of its text, which says the same."""
BESIDES = (AUTHOR, "files", "if_missing")
"""The keys of a payload that are not arguments of a call."""
LANES = 200
"""The number of threads that are written to at the same time."""
SHOWN_SECONDS = (0.0, 0.3, 0.7, 2.0, 4.0, 8.0)
"""The waits before each look for a message with files."""
SESSION_SECONDS = 60.0
"""How long the status of a session waits for the rate limiter."""
QUOTE_LIMIT = 200
"""The number of characters that staff see of a post that was refused."""


class Claims(Protocol):
    """Decides which process sends to a channel. `bot.store.leases.Membership` implements it."""

    async def hold(self, name: str) -> bool:
        """Whether this process alone can do it from now on."""
        ...

    async def held_by_others(self, prefix: str) -> Collection[str]:
        """The names with this beginning that other processes hold."""
        ...

    async def let_go(self, name: str) -> None:
        """Release the name for other processes."""
        ...

    def when_lost(self, let_go: Callable[[], None]) -> None:
        """Call `let_go` when other processes can soon take what this one holds."""
        ...


class Outbox:
    """Sends the outbox's rows to Slack."""

    def __init__(
        self,
        database: Database,
        chat: Chat,
        sessions: Sessions,
        clock: Clock,
        *,
        essential: Sequence[str] = (),
        claims: Claims | None = None,
        poll_seconds: float | None = None,
        files: FileCopies | None = None,
    ) -> None:
        """`essential` are the channels that staff read. Their posts wait for a repair instead of being given up. The
        first of them gets what belongs to none of the others. Without `files`, posts leave without their files.

        With several processes on the database, `claims` decides which of them sends to a channel, and `poll_seconds`
        is how often this one looks for rows that other processes stored.
        """
        self._stuck: dict[str, str] = {}
        self._essential = essential
        self._claims = claims
        self._poll_seconds = poll_seconds
        self._files = files
        self._database = database
        self._chat = chat
        self._sessions = sessions
        self._clock = clock
        self._alerts = Alerts(now=clock.monotonic)
        self._more = asyncio.Event()
        self._more.set()
        self._busy: set[tuple[str, str]] = set()
        """The channel and lane of everything that is being sent."""
        self._tried: dict[str, asyncio.Event] = {}
        """By channel: set when the latest post outside of threads has been tried. Such posts begin one after the
        other."""

        self._held: set[str] = set()
        """The channels that only this process may send to."""
        self._sending: set[asyncio.Task[None]] = set()
        """The tasks that are sending."""
        if claims is not None:
            claims.when_lost(self._break_off)

    @property
    def stuck(self) -> str | None:
        """What Slack refuses until an operator repairs it. None if there is nothing."""
        return next((f"{channel}: {fault}" for channel, fault in self._stuck.items()), None)

    def wake(self) -> None:
        """Say that rows were added."""
        self._more.set()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as senders:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_seconds):
                        await self._more.wait()
                self._more.clear()
                for row in await self._heads():
                    self._busy.add((row.channel, row.lane))
                    before, tried = self._turn(row)
                    sending = senders.create_task(self._send_lane(row, before, tried), name=f"outbox {row.channel}")
                    self._sending.add(sending)
                    sending.add_done_callback(partial(self._end_lane, row, tried))

    async def deliver(self, outgoing: Outgoing) -> str:
        """Queue a post, wait until Slack has it, and return its ts. Using a key twice makes one post, with the same
        ts.

        Raises:
            SlackRefused: Slack refused it for good.
            Silenced: it was dropped, because a person has taken over the conversation.
        """
        async with self._database.transaction() as tx:
            await outbox.add(tx, outgoing, now=self._clock.now())
        while True:
            self.wake()
            async with self._database.reading() as tx:
                row = await outbox.by_key(tx, outgoing.key)
            if row is None:
                raise Silenced(outgoing.key)
            if row.ts is not None:
                return row.ts
            if row.state == "failed":
                raise SlackRefused("chat.postMessage", "refused_for_good")
            await self._clock.sleep(DELIVER_POLL_SECONDS)

    async def flush(self, seconds: float) -> bool:
        """Wait until nothing is left to send, at most `seconds`. Returns whether everything was sent."""
        deadline = self._clock.monotonic() + seconds
        while self._clock.monotonic() < deadline:
            async with self._database.reading() as tx:
                if not await outbox.open_rows(tx, limit=1):
                    return True
            if not await self._one_ends():
                await self._clock.sleep(FLUSH_POLL_SECONDS)
        return False

    async def _one_ends(self) -> bool:
        """Wait until one of the threads that are written to is finished, for a moment. Returns whether one is."""
        if not self._sending:
            return False
        ended, _ = await asyncio.wait(self._sending, timeout=FLUSH_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return bool(ended)

    async def _heads(self) -> list[OutboxRow]:
        """The first row of every thread that can be written to now."""
        try:
            limit = LANES - len(self._busy)
            rows: list[OutboxRow] = []
            if limit > 0:
                left = [*self._stuck, *await self._channels_of_others()]
                async with self._database.reading() as tx:
                    rows = await outbox.heads(tx, besides=self._busy, channels=left, limit=limit)
            channels = dict.fromkeys(row.channel for row in rows)
            await self._leave_channels(besides={*channels, *(channel for channel, _ in self._busy)})
            held = {channel: await self._may_send(channel) for channel in channels}
        except StoreUnavailable:
            logger.warning("the database is away; the outbox waits")
            await self._clock.sleep(BACKOFF_SECONDS[1])
            self.wake()
            return []
        except Exception:
            logger.exception("the outbox cannot see what is to be sent")
            await self._clock.sleep(BACKOFF_SECONDS[-1])
            self.wake()
            return []
        return [row for row in rows if held[row.channel]]

    async def _channels_of_others(self) -> list[str]:
        if self._claims is None:
            return []
        return [name.removeprefix(CLAIM) for name in await self._claims.held_by_others(CLAIM)]

    async def _leave_channels(self, *, besides: Collection[str]) -> None:
        """Release the channels that this process has nothing to send to. No other task here claims channels while it
        runs.
        """
        for channel in self._held.difference(besides):
            if self._claims is not None:
                await self._claims.let_go(f"{CLAIM}{channel}")
            self._held.discard(channel)

    async def _may_send(self, channel: str) -> bool:
        if self._claims is None:
            return True
        is_ours = await self._claims.hold(f"{CLAIM}{channel}")
        (self._held.add if is_ours else self._held.discard)(channel)
        return is_ours

    def _break_off(self) -> None:
        """Cancel everything. Another process will soon send what is left, and first looks for what has arrived."""
        for sending in self._sending:
            sending.cancel()

    def _turn(self, row: OutboxRow) -> tuple[asyncio.Event | None, asyncio.Event]:
        """The event that a row waits for, and the event that it sets when it has been tried."""
        tried = asyncio.Event()
        if row.method != "post" or row.thread_ts is not None or row.parent is not None:
            return None, tried
        before = self._tried.get(row.channel)
        self._tried[row.channel] = tried
        return before, tried

    async def _send_lane(self, first: OutboxRow, before: asyncio.Event | None, tried: asyncio.Event) -> None:
        """Send the rows of one thread, one by one."""
        row: OutboxRow | None = first
        try:
            if before is not None:
                await before.wait()
            while row is not None:
                row = await self._send(row, tried)
        except _NotOurs:
            logger.info("another process sends this", extra={"channel": first.channel})
        except StoreUnavailable:
            logger.warning("the database is away; the outbox waits", extra={"channel": first.channel})
            await self._clock.sleep(BACKOFF_SECONDS[1])
        except Exception:
            logger.exception("the outbox failed", extra={"channel": first.channel})
            await self._clock.sleep(BACKOFF_SECONDS[-1])

    def _end_lane(self, first: OutboxRow, tried: asyncio.Event, sending: asyncio.Task[None]) -> None:
        """Mark the thread as free: nothing is sent for it now. A task that was cancelled early has sent nothing."""
        self._sending.discard(sending)
        tried.set()
        if self._tried.get(first.channel) is tried:
            del self._tried[first.channel]
        self._busy.discard((first.channel, first.lane))
        self.wake()

    async def _send(self, row: OutboxRow, tried: asyncio.Event) -> OutboxRow | None:
        """Send one row, however long Slack is unavailable, until it is sent or refused for good. Returns the thread's
        next row.
        """
        sending = _Sending(row, row.payload, attempts=row.attempts, maybe_sent=row.state == "sending")
        try:
            for attempt in count(1):
                try:
                    return await self._try(sending)
                except Silenced:
                    logger.info("a person has the conversation by now; a post was dropped", extra={"key": row.key})
                    async with self._database.transaction() as tx:
                        return await outbox.head(tx, row.channel, row.lane)
                except SlackRefused as refusal:
                    sending.maybe_sent = False
                    if AUTHOR in sending.payload and refusal.error == "missing_scope":
                        await self._unname(sending)
                        continue
                    if self._simplify(sending, refusal):
                        continue
                    if not self._is_reparable(row, refusal.error):
                        return await self._fail(row, refusal.error)
                    self._report_stuck(sending, refusal)
                    tried.set()
                    await self._clock.sleep(REPAIR_SECONDS[min(attempt, len(REPAIR_SECONDS)) - 1])
                except SlackUnanswered as failure:
                    if sending.is_called:
                        sending.maybe_sent = failure.sent
                    if attempt >= self._tries(row, failure):
                        return await self._fail(row, failure.reason)
                    if attempt >= ALERT_AFTER:
                        self._report_unanswered(sending, failure)
                    if failure.reason != "ratelimited":
                        tried.set()
                    backoff = BACKOFF_SECONDS[min(attempt, len(BACKOFF_SECONDS)) - 1]
                    await self._clock.sleep(max(backoff, min(failure.retry_after, REPAIR_SECONDS[-1])))
        finally:
            if sending.is_stuck:
                self._stuck.pop(row.channel, None)
                self.wake()
        return None

    async def _try(self, sending: "_Sending") -> OutboxRow | None:
        """Send the row, unless an earlier call has arrived. Returns the thread's next row."""
        row = sending.row
        attributes = {
            "frontdesk.outbox.method": row.method,
            "frontdesk.outbox.attempt": sending.attempts + 1,
            "frontdesk.outbox.waited": max(0.0, self._clock.now() - row.created_at),
        }
        with tracing.span(f"outbox {row.method}", attributes, kind="consumer", parent=row.traceparent):
            return await self._try_once(sending)

    async def _try_once(self, sending: "_Sending") -> OutboxRow | None:
        row, sending.is_called = sending.row, False
        ts = await self._find(row) if sending.maybe_sent else None
        if ts is None:
            ts = await self._call(row, sending.payload, partial(self._mark, sending))
            failpoint("post_sent")
        async with self._database.transaction() as tx:
            await outbox.mark_sent(tx, row, ts, now=self._clock.now())
            following = await outbox.head(tx, row.channel, row.lane)
        failpoint("post_kept")
        return following

    async def _mark(self, sending: "_Sending") -> None:
        """Mark the row when it is its call's turn. Raises Silenced and _NotOurs instead of letting the call leave."""
        row = sending.row
        if not await self._may_send(row.channel):
            raise _NotOurs
        async with self._database.transaction() as tx:
            is_silenced = await self._silence(tx, row, attempts=sending.attempts)
            if not is_silenced and not await outbox.mark_sending(tx, row.id, attempts=sending.attempts):
                raise _NotOurs
        if is_silenced:
            raise Silenced(row.key)
        sending.attempts += 1
        sending.is_called = True
        failpoint("post_marked")

    def _simplify(self, sending: "_Sending", refusal: SlackRefused) -> bool:
        """Whether Slack refuses the blocks. Then plainer ones are sent next, and at last the text alone."""
        blocks = sending.payload.get("blocks")
        if not blocks or refusal.error not in {*BAD_BLOCKS, MISMATCH}:
            return False
        simple = plainer(blocks)
        if simple != blocks:
            sending.payload = {**sending.payload, "blocks": simple}
            return True
        message = "Slack refuses the blocks of a post; its text is sent"
        self._alerts.tell(logger, message, about=refusal.error, key=sending.row.key)
        sending.payload = _without_blocks(sending.payload)
        return True

    async def _unname(self, sending: "_Sending") -> None:
        """Send the post as the app's own, with the person's name in its first line, since Slack refuses the name."""
        self._chat.refuse_names()
        async with self._database.transaction() as tx:
            payload = await outbox.drop_from_payload(tx, sending.row.id, AUTHOR)
        if payload is None:
            raise _NotOurs
        sending.payload = payload

    def _report_stuck(self, sending: "_Sending", refusal: SlackRefused) -> None:
        """Tell operators that the row waits for a repair. No other row of its channel is taken until it is sent."""
        row, sending.is_stuck = sending.row, True
        self._stuck[row.channel] = f"{refusal.method}: {refusal.error}"
        # A token is one fault, however many channels show it.
        about = refusal.error if refusal.error in TOKEN_FAULTS else f"{row.channel} {refusal.error}"
        self._alerts.tell(logger, "a post waits for repair", about=about, key=row.key, slack=refusal.error)

    def _report_unanswered(self, sending: "_Sending", failure: SlackUnanswered) -> None:
        """Tell operators that Slack takes no call of the row. Its blocks may be why it fails, so they are left out."""
        if failure.reason in TRANSIENT:
            sending.payload = _without_blocks(sending.payload)
        row = sending.row
        about = f"{row.channel} {failure.reason}"
        self._alerts.tell(logger, "Slack does not take a post", about=about, key=row.key, reason=failure.reason)

    async def _silence(self, tx: Transaction, row: OutboxRow, *, attempts: int) -> bool:
        """Whether the row is the assistant's and from an earlier epoch, so that no one may see it. Such a row is
        deleted.
        """
        if row.epoch is None or not await outbox.silence(tx, row, attempts=attempts):
            return False
        thread, now = ThreadRef.of(row.epoch[0]), self._clock.now()
        case = await cases.find_open(tx, thread) or await cases.latest_of(tx, thread)
        subject = case.ref if case else thread.key
        await audit.note(tx, actor=ACTOR, action="post.dropped", subject=subject, detail={"row": row.key}, now=now)
        await inbox.note_silence(tx, row.key)
        return True

    def _is_reparable(self, row: OutboxRow, error: str) -> bool:
        """Whether an operator can repair it: always for the app's token, and for the agent channel, where cases are
        posted.
        """
        if row.method != "post":
            return False
        return error in TOKEN_FAULTS or (row.channel in self._essential and error.startswith(CHANNEL_FAULTS))

    def _tries(self, row: OutboxRow, failure: SlackUnanswered) -> float:
        """How often a row is sent if Slack does not take it: without a limit while Slack is unavailable, since that
        ends.

        A reaction or a session's status is not worth more tries. And if an answer such as `internal_error` repeats,
        the row itself is the cause.
        """
        if row.method in ("react", "unreact") or (row.method == "session" and failure.reason != "ratelimited"):
            return ALERT_AFTER
        return 2 * ALERT_AFTER if failure.reason in TRANSIENT else math.inf

    async def _fail(self, row: OutboxRow, error: str) -> OutboxRow | None:
        """Park the row, tell staff, and return the thread's next row."""
        about = f"{row.channel} {error}"
        self._alerts.tell(
            logger, "a post was refused for good", about=about, key=row.key, channel=row.channel, slack=error
        )
        async with self._database.transaction() as tx:
            failed = await outbox.mark_failed(tx, row, error, now=self._clock.now())
            await outbox.add(tx, *await self._told(tx, failed, error), now=self._clock.now())
            return await outbox.head(tx, row.channel, row.lane)

    async def _told(self, tx: Transaction, row: OutboxRow, error: str) -> list[Outgoing]:
        """The line that tells staff what a customer did not get, in the thread of the case's card if there is one.

        There is none for posts to staff, reactions and updates, or if the row has a line of its own. A conversation
        that is gone is reported once per case, at the first refusal.
        """
        follows = any(one.method == "post" and one.channel in self._essential for one in row.when_failed)
        if row.method != "post" or not self._essential or row.channel in self._essential or follows:
            return []
        case = None if row.case_id is None else await cases.find(tx, row.case_id)
        card = None if case is None else await outbox.by_key(tx, card_key(case))
        what = f"Case {ref_of(row.case_id)}" if row.case_id is not None else "A customer's thread"
        where = "their direct messages" if row.channel.startswith("D") else f"<#{row.channel}>"
        thread = f" (thread {row.thread_ts})" if row.thread_ts else ""
        words = f"{what}: not delivered in {where}{thread}, Slack refused it ({error}). The customer did not get:"
        text = f"{words}\n>{_quoted(str(row.payload.get('text', '')))}"
        is_gone = error.startswith(CHANNEL_FAULTS) or error in PERSON_GONE
        key = f"case/{case.id}/unreachable/{row.channel}/{error[:40]}" if case and is_gone else None
        channel = case.stands_in(self._essential[0]) if case else self._essential[0]
        return [
            Outgoing(
                key or f"{row.key[:140]}/undelivered",
                "post",
                channel,
                {"text": text},
                parent=card.key if card and card.ts and card.channel == channel else None,
                case_id=row.case_id,
            )
        ]

    async def _call(self, row: OutboxRow, payload: Mapping[str, Any], ready: Ready) -> str | None:
        """Make the row's call. Returns the ts of a post, and None otherwise."""
        if row.method == "unshare":
            await ready()
            if self._files is not None:
                await self._files.withdraw(row.parent or "", payload.get("files", ()))
            return None
        above, payload = await self._parent(row), await self._with_link(payload)
        parent = above.ts if above else None
        match row.method:
            case "post":
                thread_ts = parent or row.thread_ts
                if self._files is not None and payload.get("files"):
                    text = await self._share(self._files, row, thread_ts, ready)
                    if not text:
                        return await self._find_shared(row)
                    payload = {"text": text}
                metadata = {"event_type": EVENT_TYPE, "event_payload": {"o": row.key}}
                said = {name: value for name, value in payload.items() if name not in BESIDES}
                if author := payload.get(AUTHOR):
                    name, picture = author["name"], author["picture"] or None
                    said |= {"text": _below(said["text"]), "username": name, "icon_url": picture}
                return await self._chat.post(row.channel, thread_ts=thread_ts, metadata=metadata, ready=ready, **said)
            case "update":
                words = {name: value for name, value in payload.items() if name not in ("ts", *BESIDES)}
                if above and AUTHOR in above.payload:  # the post is under the person's name
                    words["text"] = _below(words["text"])
                await self._chat.update(row.channel, _the(parent or payload.get("ts")), ready=ready, **words)
            case "delete":
                await self._chat.delete(row.channel, _the(parent or payload.get("ts")), ready=ready)
            case "ephemeral":
                thread_ts = parent or row.thread_ts
                await self._chat.ephemeral(row.channel, thread_ts=thread_ts, ready=ready, **payload)
            case "react":
                await self._chat.react(row.channel, _the(payload.get("ts") or parent), payload["name"], ready=ready)
            case "unreact":
                await self._chat.unreact(row.channel, _the(payload.get("ts") or parent), payload["name"], ready=ready)
            case "session":
                await ready()
                await self._tell_session(row.channel, row.thread_ts or "", payload)
        return None

    async def _tell_session(self, channel: str, thread_ts: str, payload: Mapping[str, Any]) -> None:
        if "title" in payload:
            await self._sessions.rename(channel, thread_ts, payload["title"])
        elif "status" in payload:  # an erased row has no status
            await self._sessions.settle(channel, thread_ts, payload["status"], patience=SESSION_SECONDS)

    async def _with_link(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The payload with the URL of the message that it links to, if it has a link."""
        if "link_to" not in payload:
            return payload
        async with self._database.transaction() as tx:
            row = await outbox.by_key(tx, payload["link_to"])
        address = await self._chat.address(row.channel, row.ts) if row else ""
        words = {name: value for name, value in payload.items() if name != "link_to"}
        linked: dict[str, Any] = json.loads(json.dumps(words).replace(LINK, address))
        return linked

    async def _share(self, files: FileCopies, row: OutboxRow, thread_ts: str | None, ready: Ready) -> str:
        """Share the row's files. Returns an empty text if that is done, else the text to post without them."""
        try:
            return await files.share(row, thread_ts=thread_ts, ready=ready)
        except SlackRefused as error:
            # What is wrong with the channel or the token is wrong for the text, too.
            if error.error in DEAD_TOKEN or error.error.startswith(CHANNEL_FAULTS):
                raise
            return await files.give_up(row, error)

    async def _find_shared(self, row: OutboxRow) -> str | None:
        """The ts of a message with files that Slack has confirmed. None if it is not visible yet."""
        try:
            return await self._find(row)
        except SlackUnanswered as failure:
            raise SlackUnanswered(failure.method, failure.reason, retry_after=failure.retry_after) from None

    async def _parent(self, row: OutboxRow) -> OutboxRow | None:
        """The post that the row is about or under, which has been sent. None if there is none."""
        if row.parent is None:
            return None
        async with self._database.transaction() as tx:
            parent = await outbox.by_key(tx, row.parent)
        if parent is None or parent.ts is None:
            raise SlackRefused(row.method, "parent_not_sent")
        return parent

    async def _find(self, row: OutboxRow) -> str | None:
        """The ts of the post that an unanswered call made. None if it made none."""
        if row.method != "post":
            return None
        parent = await self._parent(row)
        thread_ts = parent.ts if parent else row.thread_ts
        oldest = row.created_at - LOOK_BACK_SECONDS
        copies = await self._files.known(row.key) if self._files is not None else frozenset[str]()
        for seconds in SHOWN_SECONDS if copies else (0.0,):
            await self._clock.sleep(seconds)
            try:
                if thread_ts:
                    messages = await self._chat.replies(row.channel, thread_ts, oldest=oldest)
                else:
                    messages = await self._chat.history(row.channel, oldest=oldest)
            except SlackRefused as error:
                logger.warning("a post cannot be looked for", extra={"key": row.key, "slack": error.error})
                return None
            for message in messages:
                if _key_in(message) == row.key or not copies.isdisjoint(_files_of(message)):
                    ts: str = message["ts"]
                    return ts
        return None


@dataclass(slots=True)
class _Sending:
    """A row on its way to Slack."""

    row: OutboxRow
    payload: Mapping[str, Any]
    """What is sent. It has plainer blocks or none after Slack refused the row's own."""
    attempts: int
    """How often the row was marked, by all processes."""
    maybe_sent: bool
    """Whether a call may have arrived, so that Slack is searched for it first."""
    is_called: bool = False
    """Whether the row was marked for the latest call."""
    is_stuck: bool = False


class _NotOurs(FrontdeskError):
    """Another process now sends to the channel, or has sent the row."""


def _without_blocks(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in payload.items() if name != "blocks"}


def _below(text: str) -> str:
    """A text without its first line."""
    return text.partition("\n")[2]


def _quoted(mrkdwn: str) -> str:
    """The beginning of a text in one line, without half a link at its end."""
    text = " ".join(mrkdwn.split())
    if len(text) <= QUOTE_LIMIT:
        return text
    cut = text[:QUOTE_LIMIT]
    return f"{cut[: cut.rindex('<')] if cut.rfind('<') > cut.rfind('>') else cut}…"


def _key_in(message: dict[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    key = metadata.get("event_payload", {}).get("o")
    return key if isinstance(key, str) else None


def _files_of(message: Mapping[str, Any]) -> list[str]:
    return [str(file.get("id")) for file in message.get("files") or () if isinstance(file, dict)]


def _the(ts: str | None) -> str:
    if ts is None:
        raise SlackRefused("chat.update", "parent_not_sent")
    return ts
