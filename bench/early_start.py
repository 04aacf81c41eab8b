"""What it would gain to start a tool while the reply that asks for it is still being streamed.

    python -m bench.early_start        a row for each case, then one JSON object as the last line

A hand-written client plays the paced support turn of bench.loop in two ways, ten turns at once each: a tool starts
when the reply is finished, or as soon as its own arguments are whole. The server paces every event, the usage and
the end of the stream included, so what is seen is the most that an early start can gain.

early_start_ms      from a call's arguments being whole to the end of its reply, the first call of a round of two
saved_ms, share     what the turn took less: milliseconds, and as a part of the turn's wall time
"""

import asyncio
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from bench.chat_server import CHAT
from bench.children import serving
from bench.desk import QUESTION, SCHEMAS, SYSTEM

TURNS = 10
PACE = {"piece_seconds": "0.02", "first_seconds": "0.3"}


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of turn."""

    name: str
    seconds: Mapping[str, float]
    """What each tool takes."""
    model: str = "b-300"


CASES = (
    Case("equal", {"lookup_order": 0.1, "check_shipping": 0.1}),
    Case("unequal", {"lookup_order": 0.3, "check_shipping": 0.05}),
    Case("unequal_short_answer", {"lookup_order": 0.3, "check_shipping": 0.05}, model="b-60"),
)


@dataclass(slots=True)
class Reply:
    """One reply, as far as it came."""

    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    running: dict[int, asyncio.Task[dict[str, Any]]] = field(default_factory=dict)
    whole: dict[int, float] = field(default_factory=dict)
    """When the arguments of each call were whole."""
    ended: float = 0.0


def main() -> None:
    """Play the cases and print what an early start gained."""
    print("case                    lead, ms   turn, ms   saved, ms   share")
    with serving(CHAT) as url:
        summary = asyncio.run(_compare(url))
    print(json.dumps(summary))


async def _compare(url: str) -> dict[str, dict[str, float]]:
    summary: dict[str, dict[str, float]] = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=100)) as session:
        await session.post(f"{url}/play", params=PACE)
        for case in CASES:
            late = await asyncio.gather(*(_turn(session, url, case, early=False) for _ in range(TURNS)))
            early = await asyncio.gather(*(_turn(session, url, case, early=True) for _ in range(TURNS)))
            lead = _median([leads[0] for _, leads in late])
            wall = _median([seconds for seconds, _ in late])
            saved = wall - _median([seconds for seconds, _ in early])
            print(f"{case.name:<22}  {lead:>9.0f}  {wall:>9.0f}  {saved:>10.0f}  {saved / wall:>6.1%}", flush=True)
            summary[case.name] = {
                "early_start_ms": round(lead),
                "saved_ms": round(saved),
                "share": round(saved / wall, 4),
            }
    return summary


def _median(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1e3


async def _turn(session: aiohttp.ClientSession, url: str, case: Case, *, early: bool) -> tuple[float, list[float]]:
    """How long the turn took, and of each call how long it could have been running before its reply ended."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    started, leads = time.monotonic(), list[float]()
    while True:
        reply = await _reply(session, url, case, messages, early=early)
        if not reply.calls:
            return reply.ended - started, leads
        leads += [reply.ended - reply.whole[index] for index in reply.calls]
        for index, call in reply.calls.items():
            reply.running.setdefault(index, asyncio.create_task(_call(call, case.seconds)))
        messages.append({"role": "assistant", "content": None, "tool_calls": [*reply.calls.values()]})
        messages += [await reply.running[index] for index in reply.calls]


async def _reply(
    session: aiohttp.ClientSession, url: str, case: Case, messages: list[dict[str, Any]], *, early: bool
) -> Reply:
    reply, rest = Reply(), b""
    body = orjson.dumps({"model": case.model, "messages": messages, "tools": SCHEMAS, "stream": True})
    headers = {"Content-Type": "application/json"}
    async with session.post(f"{url}/v1/chat/completions", data=body, headers=headers) as response:
        async for block in response.content.iter_any():
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    _read(reply, orjson.loads(line[6:])["choices"])
                elif line == b"data: [DONE]":
                    reply.ended = time.monotonic()
            if early:
                for index in reply.whole.keys() - reply.running.keys():
                    reply.running[index] = asyncio.create_task(_call(reply.calls[index], case.seconds))
    return reply


def _read(reply: Reply, choices: list[Any]) -> None:
    for piece in choices[0]["delta"].get("tool_calls", ()) if choices else ():
        index = piece["index"]
        call = reply.calls.setdefault(index, piece)
        if call is not piece:
            call["function"]["arguments"] += piece["function"]["arguments"]
        if call["function"]["arguments"].endswith("}"):  # enough for the flat objects of this bench
            reply.whole.setdefault(index, time.monotonic())


async def _call(call: dict[str, Any], seconds: Mapping[str, float]) -> dict[str, Any]:
    await asyncio.sleep(seconds[call["function"]["name"]])
    return {"role": "tool", "tool_call_id": call["id"], "content": "{}"}


if __name__ == "__main__":
    main()
