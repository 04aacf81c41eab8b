"""How soon each side reads what the other does, from the request for a person to the hand-back.

    python -m bench.handover           a row for each step, then one JSON object as the last line

The whole demo runs: the local Slack, and Frontdesk as a process of its own that hears of everything by Socket Mode.
Customer and staff act through the local Slack, whose log says when Frontdesk's call about it came in. The floor is a
message that is sent and answered by two calls of this process, right before each round.

escalated       from the request for a person to the sentence that one was called
card            from the same moment to the card in the agent channel
claimed         from the press of Claim to the sentence that somebody has joined
to_customer     from a message of the owner's to its copy in the customer's thread
to_staff        from a message of the customer's to its copy in the card's thread
back            from the submitted dialog to the sentence that the assistant is back
Each as p50 and p95 in ms, with the median's multiple of the floor.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp

from bench.page import running
from bench.timing import quantile

ROUNDS = 30
CUSTOMER, DIRECT = "U0CUSTOMERA", "D0CUSTOMERA"
AGENT, AGENTS = "U0AGENTA", "C0AGENTS"
PATIENCE = 30.0
"""Seconds for any step; past them the bench ends."""
LOOK_SECONDS = 0.02
"""Between two looks at the log, which has the times."""
STEPS = ("escalated", "card", "claimed", "to_customer", "to_staff", "back")

Call = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="(default: %(default)s)")
    print(json.dumps(asyncio.run(_measured(parser.parse_args(arguments).rounds))))
    return 0


async def _measured(rounds: int) -> dict[str, float]:
    took: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        options = ("--json", "--empty", "--no-browser", "--no-rate-limits", "--port", "0", "--data", folder)
        async with running("-m", "demo", *options, "--env", "SLACK_RATE=1000") as told, aiohttp.ClientSession() as http:
            desk = Desk(http, json.loads(told)["slack"])
            for number in range(rounds):
                took["floor"].append(await desk.floor())
                for name, seconds in (await desk.hand_over(number)).items():
                    took[name].append(seconds)
    floor = statistics.median(took.pop("floor"))
    figures = {"floor_ms": round(floor * 1e3, 1)}
    for name in STEPS:
        p50, p95 = statistics.median(took[name]), quantile(took[name], 0.95)
        print(f"{name:12} p50 {p50 * 1e3:6.0f} ms   p95 {p95 * 1e3:6.0f} ms   {p50 / floor:5.1f} x the floor")
        figures |= {
            f"{name}_p50_ms": round(p50 * 1e3, 1),
            f"{name}_p95_ms": round(p95 * 1e3, 1),
            f"{name}_ratio": round(p50 / floor, 1),
        }
    return figures


class Desk:
    """Both sides of a case in the local Slack."""

    def __init__(self, http: aiohttp.ClientSession, slack: dict[str, str]) -> None:
        self._http = http
        self._slack = slack
        self._seen = 0

    async def floor(self) -> float:
        """A message that is sent, and one that is posted."""
        began = time.time()
        await self._act("send", user=AGENT, channel=AGENTS, text="// note")
        headers = {"Authorization": f"Bearer {self._slack['bot_token']}"}
        body = {"channel": AGENTS, "text": "floor"}
        async with self._http.post(f"{self._slack['api_url']}chat.postMessage", json=body, headers=headers) as answer:
            answer.raise_for_status()
        return time.time() - began

    async def hand_over(self, number: int) -> dict[str, float]:
        """Seconds of each step."""
        began = time.time()
        root = await self._act("send", user=CUSTOMER, channel=DIRECT, text="I want to talk to a real person")
        escalated, card = await self._calls(_posts(DIRECT, root, "FD-"), _posts(AGENTS, None, "FD-"))
        card_ts, ref = card["detail"]["answer"]["ts"], card["detail"]["args"]["text"].partition(":")[0]
        took = {"escalated": escalated["time"] - began, "card": card["time"] - began}

        pressed = time.time()
        await self._act("click", user=AGENT, channel=AGENTS, ts=card_ts, action_id="case.claim", value=ref)
        (claimed,) = await self._calls(_posts(DIRECT, root, "Agent A"))
        took["claimed"] = claimed["time"] - pressed

        for name, who, channel, thread, into, under in (
            ("to_customer", AGENT, AGENTS, card_ts, DIRECT, root),
            ("to_staff", CUSTOMER, DIRECT, root, AGENTS, card_ts),
        ):
            words, wrote = f"{name} {number}", time.time()
            await self._act("send", user=who, channel=channel, text=words, thread_ts=thread)
            (copied,) = await self._calls(_posts(into, under, words))
            took[name] = copied["time"] - wrote

        await self._act("click", user=AGENT, channel=AGENTS, ts=card_ts, action_id="case.handback", value=ref)
        view = await self._dialog()
        submitted = time.time()
        await self._act("submit_view", user=AGENT, view_id=view, state={})
        (back,) = await self._calls(_posts(DIRECT, root, "back with you"))
        return took | {"back": back["time"] - submitted}

    async def _calls(self, *wanted: Callable[[Call], bool]) -> list[Call]:
        """The first call of each kind since this was asked last."""
        found: dict[int, Call] = {}
        async with asyncio.timeout(PATIENCE):
            while len(found) < len(wanted):
                entries = (await self._get("log", after=self._seen, kind="call"))["entries"]
                for index, matches in enumerate(wanted):
                    if index not in found and (call := next(filter(matches, entries), None)):
                        found[index] = call
                await asyncio.sleep(LOOK_SECONDS)
        calls = [found[index] for index in range(len(wanted))]
        self._seen = max(call["id"] for call in calls)
        return calls

    async def _dialog(self) -> str:
        async with asyncio.timeout(PATIENCE):
            while True:
                state = await self._get("state", channel=AGENTS)
                if views := state["modals"].get(AGENT):
                    return str(views[-1]["id"])
                await self._get("changes", after=state["n"], timeout=1)

    async def _act(self, what: str, **given: Any) -> str:
        """Do something as a person; the ts of what was written."""
        url, query = f"{self._slack['url']}/_local/act/{what}", {"secret": self._slack["secret"]}
        async with self._http.post(url, json=given, params=query) as answer:
            did = await answer.json()
        if not did.get("ok"):
            raise RuntimeError(f"{what}: {did}")
        return str(did.get("ts", ""))

    async def _get(self, what: str, **query: Any) -> dict[str, Any]:
        url = f"{self._slack['url']}/_local/{what}"
        async with self._http.get(url, params={"secret": self._slack["secret"], **query}) as answer:
            found: dict[str, Any] = await answer.json()
        return found


def _posts(channel: str, thread_ts: str | None, words: str) -> Callable[[Call], bool]:
    """Whether a call posts this there."""

    def matches(call: Call) -> bool:
        given = call["detail"].get("args", {})
        return (
            call["name"] == "chat.postMessage"
            and given.get("channel") == channel
            and given.get("thread_ts") == thread_ts
            and words in str(given.get("text"))
        )

    return matches


if __name__ == "__main__":
    sys.exit(main())
