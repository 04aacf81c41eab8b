"""Streamed messages: begin, add to and finish them, and pay for their start and stop."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from bot.slack.api.chat import to_json
from bot.slack.api.errors import OVER, SlackRefused, SlackUnanswered
from bot.slack.api.sessions import SessionLedger, SessionStatus
from bot.slack.api.transport import Block, Chunk, Ready, SlackApi, read_text
from bot.slack.rate_limiter import RateLimiter, TooLong

START_RATE_LIMIT_TIMEOUT = 3.0
"""The rate limit timeout for the start of a stream. After that, posting the text whole is better than waiting."""
STOP_PATIENCE_SECONDS = 5.0
"""The rate limit timeout for the end of a stream. Only a 429 from Slack ever delays an end."""


class Streams:
    """Calls on streamed messages. A stream is only begun if its end can be paid for, too."""

    def __init__(self, api: SlackApi, ledger: SessionLedger, rate_limiter: RateLimiter) -> None:
        self.unsupported = api.unsupported
        """What this workspace recently refused as unsupported."""
        self._api = api
        self._ledger = ledger
        self._rate_limiter = rate_limiter

    async def start(
        self,
        channel: str,
        thread_ts: str,
        *,
        user: str,
        team: str,
        chunks: Sequence[Chunk] = (),
        ready: Ready | None = None,
    ) -> str:
        """Open a streamed message for a person and return its ts. `team` is the person's own workspace.

        It is not opened if there is no slot to pay for its end.
        """
        try:
            slot = await self._rate_limiter.open_slot(self._api.team, patience=START_RATE_LIMIT_TIMEOUT)
        except TooLong as late:
            raise SlackUnanswered("chat.startStream", "ratelimited", sent=False, retry_after=late.seconds) from None
        try:
            with self._ledger.change(channel, thread_ts, "processing"):
                answer = await self._api.call(
                    "chat.startStream",
                    partial(
                        self._api.web.chat_startStream,
                        channel=channel,
                        thread_ts=thread_ts,
                        recipient_user_id=user,
                        recipient_team_id=team,
                        chunks=_chunks(chunks),
                    ),
                    patience=START_RATE_LIMIT_TIMEOUT,
                    ready=ready,
                )
        except BaseException:
            await self._rate_limiter.close_slot(slot)
            raise
        ts = read_text(answer, "ts")
        self._ledger.begin_stream(channel, ts, thread_ts)
        self._rate_limiter.assign_slot(slot, (channel, ts))
        return ts

    async def append(self, channel: str, ts: str, chunks: Sequence[Chunk], *, ready: Ready | None = None) -> None:
        """Add to a streamed message. It does not wait for a rate limit, because the words can go with later ones."""
        try:
            await self._api.call(
                "chat.appendStream",
                partial(self._api.web.chat_appendStream, channel=channel, ts=ts, chunks=_chunks(chunks)),
                patience=0.0,
                ready=ready,
            )
        except SlackRefused as refusal:
            if refusal.error in OVER:
                self._ledger.end_stream(channel, ts)
                if (slot := self._rate_limiter.pop_slot((channel, ts))) is not None:
                    await self._rate_limiter.close_slot(slot)
            raise

    def append_interval(self) -> float:
        """Seconds between two appends of one stream that leave all other streams their share."""
        return self._rate_limiter.append_interval(self._api.team)

    async def stop(
        self,
        channel: str,
        ts: str,
        *,
        chunks: Sequence[Chunk] = (),
        blocks: Sequence[Block] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Finish a streamed message, with the blocks below its text. The thread's session is then `active`, or stays
        `suspended` if a person was called while the message was streamed.

        A stream that another process began has no slot here. It takes one if one is free. Otherwise it needs none,
        because the slot that its start took is still reserved for it.
        """
        slot = self._rate_limiter.pop_slot((channel, ts))
        if slot is None:
            with suppress(TooLong):
                slot = await self._rate_limiter.open_slot(self._api.team, patience=0.0)
        thread_ts = self._ledger.thread_of(channel, ts) or ""
        status: SessionStatus = "suspended" if self._ledger.is_shown(channel, thread_ts, "suspended") else "active"
        try:
            with self._ledger.change(channel, thread_ts, status):
                await self._api.call(
                    "chat.stopStream",
                    partial(
                        self._api.web.chat_stopStream,
                        channel=channel,
                        ts=ts,
                        chunks=_chunks(chunks),
                        blocks=to_json(blocks),
                        metadata=None if metadata is None else dict(metadata),
                        session_status=None if status == "active" else status,  # Slack's default
                    ),
                    patience=STOP_PATIENCE_SECONDS,
                    ready=ready,
                )
        except SlackUnanswered as failure:
            if slot is not None and not failure.sent:
                self._rate_limiter.assign_slot(slot, (channel, ts))  # the stream is still open
                slot = None
            raise
        else:
            self._ledger.end_stream(channel, ts)
        finally:
            if slot is not None:
                await self._rate_limiter.close_slot(slot)


def _chunks(chunks: Sequence[Chunk]) -> list[dict[str, Any]] | None:
    return [dict(chunk) for chunk in chunks] or None
