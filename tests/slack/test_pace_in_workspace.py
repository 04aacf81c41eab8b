"""Very many answers at once in a workspace that keeps to Slack's limits; its time, and ours, runs faster."""

import asyncio
import logging
import time

import pytest

from bot.guard.guardrails import OutputGate
from bot.slack.client import SlackClient, open_slack_client
from bot.slack.rate_limiter import STREAM_SLOTS
from bot.slack.stream import StreamLimits, open_stream
from local_slack.server import open_workspace
from local_slack.workspace import Rules, Workspace
from tests.slack.test_stream_in_workspace import read, squeezed

FASTER = 10.0
ANSWERS = 60
PIECES = [f"Sentence {number} says something. " for number in range(12)]
WRITERS = {
    "C0SUPPORT": "U0CUSTOMERA",
    "D0CUSTOMERA": "U0CUSTOMERA",
    "D0CUSTOMERB": "U0CUSTOMERB",
    "D0CUSTOMERG": "U0CUSTOMERG",
    "D0STRANGER": "U0STRANGER",
}


class FastClock:
    """A clock for both sides."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._wall = time.time()

    def monotonic(self) -> float:
        return (time.monotonic() - self._began) * FASTER

    def now(self) -> float:
        return self._wall + self.monotonic()

    def time(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / FASTER)


async def test_sixty_answers_at_once_come_whole_and_slack_has_nothing_to_refuse(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FastClock()
    caplog.set_level(logging.WARNING, logger="bot.slack.api.transport")
    # A stream's life is not what this is about, and a busy machine may be slow.
    rules = Rules(rate_limits=True, stream_seconds=3_000.0)
    async with (
        open_workspace(rules=rules, clock=clock) as workspace,
        open_slack_client(token=workspace.bot_token, base_url=f"{workspace.url}/api/", clock=clock) as slack,
    ):
        channels = list(WRITERS)
        threads = await asyncio.gather(
            *(answer(workspace, slack, channels[number % len(channels)], clock) for number in range(ANSWERS))
        )
        whole = squeezed("".join(PIECES))
        assert [read(workspace, asked, channel) for channel, asked in threads] == [whole] * ANSWERS
        assert [record.getMessage() for record in caplog.records] == []
        assert len(workspace.streams) == STREAM_SLOTS


async def answer(workspace: Workspace, slack: SlackClient, channel: str, clock: FastClock) -> tuple[str, str]:
    """Ask, and answer there; where that was."""
    asked = await workspace.act.send(WRITERS[channel], channel, "A question?")
    async with open_stream(
        slack.streams,
        slack.chat,
        channel=channel,
        thread_ts=asked,
        user=WRITERS[channel],
        team="T0FRONTDESK",
        gate=OutputGate(frozenset()),
        limits=StreamLimits(flush_seconds=0.05),
        clock=clock,
    ) as writer:
        for piece in PIECES:
            writer.text(piece)
            await clock.sleep(1.0)
        await writer.finish()
    return channel, asked
