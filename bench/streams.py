"""Many answers at once in one workspace, with Slack's rate limits on: what Slack refused, and how long people waited.

    python -m bench.streams            a table, then one JSON object as the last line

`--answers` people ask at the same moment, each in a thread of their own, spread over five conversations of the local
workspace. A model's words come after two seconds, 20 characters every 200 ms, for ten seconds. Every answer is read
back from the workspace and compared whole.

refused             calls that Slack answered with 429
refused_streams     those of them that belong to streams
calls_per_answer    calls to Slack divided by answers
streamed            answers that were shown while they were written
first_p50_s, first_p99_s   from the question to the first words that are seen
late_p50_s, late_p99_s     from the model's last word to the whole answer
complete            answers that stand in the workspace exactly once, whole
"""

import argparse
import asyncio
import json
import logging
import re
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.timing import quantile
from bot.guard.guardrails import OutputGate
from bot.slack.api.transport import Block, Chunk, Ready
from bot.slack.client import SlackClient, open_slack_client
from bot.slack.place import Features
from bot.slack.stream import open_stream
from local_slack.server import open_workspace
from local_slack.workspace import Workspace

PEOPLE = {
    "C0SUPPORT": "U0CUSTOMERA",
    "D0CUSTOMERA": "U0CUSTOMERA",
    "D0CUSTOMERB": "U0CUSTOMERB",
    "D0CUSTOMERG": "U0CUSTOMERG",
    "D0STRANGER": "U0STRANGER",
}
"""The conversations that are written in, and who writes there."""
FIRST_SECONDS, PIECE_SECONDS, PIECES = 2.0, 0.2, 50
STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")


@dataclass
class Watched:
    """A thread's way to Slack, which notes what is seen in it and when."""

    slack: SlackClient
    calls: Counter[str]
    first: float | None = None
    streamed: bool = False

    @property
    def unsupported(self) -> Features:
        return self.slack.streams.unsupported

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
        ts = await self.slack.streams.start(channel, thread_ts, user=user, team=team, chunks=chunks, ready=ready)
        self.calls["start"] += 1
        self.streamed = True
        self._seen()
        return ts

    async def append(self, channel: str, ts: str, chunks: Sequence[Chunk], *, ready: Ready | None = None) -> None:
        await self.slack.streams.append(channel, ts, chunks, ready=ready)
        self.calls["append"] += 1

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
        await self.slack.streams.stop(channel, ts, chunks=chunks, blocks=blocks, metadata=metadata, ready=ready)
        self.calls["stop"] += 1

    async def post(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ready: Ready | None = None,
    ) -> str:
        ts = await self.slack.chat.post(
            channel, text=text, blocks=blocks, thread_ts=thread_ts, metadata=metadata, ready=ready
        )
        self.calls["post"] += 1
        self._seen()
        return ts

    def append_interval(self) -> float:
        return self.slack.streams.append_interval()

    async def update(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        at_once: bool = False,
        ready: Ready | None = None,
    ) -> None:
        await self.slack.chat.update(channel, ts, text=text, blocks=blocks, at_once=at_once, ready=ready)
        self.calls["update"] += 1

    async def delete(self, channel: str, ts: str) -> None:
        await self.slack.chat.delete(channel, ts)
        self.calls["delete"] += 1

    async def own_replies(self, channel: str, thread_ts: str, *, oldest: float | None = None) -> list[dict[str, Any]]:
        self.calls["replies"] += 1
        return await self.slack.chat.own_replies(channel, thread_ts, oldest=oldest)

    def _seen(self) -> None:
        self.first = self.first or time.monotonic()


class Refused(logging.Handler):
    """Counts the client's lines about rate limits."""

    def __init__(self) -> None:
        super().__init__()
        self.methods: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "rate limited":
            self.methods[str(record.__dict__.get("method", ""))] += 1


@dataclass
class Answered:
    """How one answer went."""

    channel: str
    thread_ts: str
    text: str
    streamed: bool = False
    first: float = 0.0
    late: float = 0.0
    failure: str = ""


def main() -> None:
    """Read the command line, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--over", type=float, default=0.0, help="seconds over which the questions come")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    figures = asyncio.run(measure(options.answers, over=options.over))
    for name, value in figures.items():
        print(f"{name:18} {value}")
    print(json.dumps(figures))


async def measure(answers: int, *, over: float) -> dict[str, Any]:
    """Write the answers; the figures."""
    refused, calls = Refused(), Counter[str]()
    logger = logging.getLogger("bot.slack.api.transport")
    logger.setLevel(logging.WARNING)
    logger.addHandler(refused)
    logger.propagate = False
    async with (
        open_workspace(rate_limits=True) as workspace,
        open_slack_client(token=workspace.bot_token, base_url=f"{workspace.url}/api/") as slack,
    ):
        channels = list(PEOPLE)
        done = await asyncio.gather(
            *(
                answer(workspace, slack, channels[number % len(channels)], number, over * number / answers, calls)
                for number in range(answers)
            )
        )
        whole = sum(read(workspace, each) == squeezed(each.text) for each in done)
    firsts, lates = [each.first for each in done], [each.late for each in done]
    return {
        "refused": sum(refused.methods.values()),
        "refused_streams": sum(refused.methods[method] for method in STREAMS),
        "calls_per_answer": round(sum(calls.values()) / answers, 2),
        "calls": dict(calls),
        "streamed": sum(each.streamed for each in done),
        "first_p50_s": round(statistics.median(firsts), 2),
        "first_p99_s": round(quantile(firsts, 0.99), 2),
        "late_p50_s": round(statistics.median(lates), 2),
        "late_p99_s": round(quantile(lates, 0.99), 2),
        "complete": whole,
        "failures": dict(Counter(each.failure for each in done if each.failure)),
    }


async def answer(
    workspace: Workspace, slack: SlackClient, channel: str, number: int, after: float, calls: Counter[str]
) -> Answered:
    """Ask in a new thread after so many seconds, and answer there."""
    await asyncio.sleep(after)
    pieces = [f"{f'word {number}.{piece}':.19} " for piece in range(PIECES)]
    thread_ts = await workspace.act.send(PEOPLE[channel], channel, f"question {number}?")
    watched, answered, asked = Watched(slack, calls), Answered(channel, thread_ts, "".join(pieces)), time.monotonic()
    ended = asked
    try:
        async with open_stream(
            watched,
            watched,
            channel=channel,
            thread_ts=thread_ts,
            user=PEOPLE[channel],
            team="T0FRONTDESK",
            gate=OutputGate(frozenset()),
            key=f"answer/{number}",
        ) as writer:
            await asyncio.sleep(FIRST_SECONDS)
            for piece in pieces:
                writer.text(piece)
                await asyncio.sleep(PIECE_SECONDS)
            ended = time.monotonic()
            await writer.finish()
    except Exception as failure:  # noqa: BLE001  # what failed is what is measured
        answered.failure = str(failure)
    answered.late = time.monotonic() - ended
    answered.first = (watched.first or time.monotonic()) - asked
    answered.streamed = watched.streamed
    return answered


def read(workspace: Workspace, answered: Answered) -> str:
    """What stands in the answer's thread."""
    messages = workspace.messages[answered.channel]
    replies = [messages[ts] for ts in sorted(messages) if messages[ts].get("thread_ts") == answered.thread_ts]
    return squeezed("".join(words(reply.get("blocks") or []) for reply in replies if reply["ts"] != answered.thread_ts))


def words(value: Any) -> str:
    """Everything that blocks say."""
    if isinstance(value, list):
        return "".join(words(each) for each in value)
    return str(value.get("text", "")) if value.get("type") in ("text", "markdown") else words(value.get("elements", []))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


if __name__ == "__main__":
    main()
