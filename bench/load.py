"""What many customers at once cost the running product, and how long each waits for the first words.

    python -m bench.load               rows to read, then one JSON object as the last line

200 answers are under way all the time: each takes 20 seconds, by the pace of the model, and a new question comes ten
times a second. The product runs as in production over signed HTTP; Slack and the model are servers of the bench that
keep nobody waiting (bench.outside), and Slack's rates are lifted, so that every answer is streamed.

A desk must not stand near the edge. So first the bench measures what one answer costs, and how soon the first words
come at SHARE of the rate that would fill a core. The floor is Bolt, openai and aiohttp without durability, at the same
rate in the same run (bench.plain).

answer_cpu_ms, full_core_per_second        CPU of an answer when one comes at a time, and 1,000 by that
share_per_second                           the rate of the next two
first_words_p50_ms, floor_first_words_p50_ms
                                           as first_stream_p50_ms below, of the product and of the floor
goal_met                                   whether the product's is at most GOAL_MS
first_stream_p50_ms, first_stream_p99_ms   from the event's sending to chat.startStream, less what the model took from
                                           the request to the end of its first sentence
loop_lag_p999_ms                           how late a timer of 5 ms came in the product's own loop
cpu_ms_per_turn, rss_mb                    of the product's process
answered                                   questions whose answer was complete; all of them, or the bench ends with 1
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from bench.children import serving
from bench.outside import OUTSIDE
from bench.plain import PLAIN
from bench.serving import SERVING, Question, answered, post, questions, served, stage
from bench.timing import paced, quantile

SHARE = 0.6
GOAL_MS = 50.0
ALONE, ALONE_PAUSE = 20, 0.5
"""The answers whose cost is measured first, and the seconds between two."""
ANSWER_SECONDS = 3.0
"""Of an answer at SHARE."""
SHARE_SECONDS = 20.0
"""In which questions come at SHARE."""
FIRST_SECONDS = 1.0
SENTENCES = 12
SETTLE_SECONDS = 60.0
"""How long the last answers may take beyond their pace."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--together", type=int, default=200, help="answers at once (default: %(default)s)")
    parser.add_argument("--answer-seconds", type=float, default=20.0, help="of one answer (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="in which questions come (default: %(default)s)")
    parser.add_argument(
        "--share-seconds", type=float, default=SHARE_SECONDS, help="the same at a share (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    figures = asyncio.run(_at_share(options.share_seconds)) | asyncio.run(_measured(options))
    print(json.dumps(figures))
    return 0 if figures["answered"] == figures["asked"] else 1


async def _at_share(seconds: float) -> dict[str, Any]:
    """First words at a share of the rate that fills a core, and the floor's at the same rate."""
    cost, _ = await _played(SERVING, ALONE, pause=ALONE_PAUSE)
    cpu_ms = max(1.0, cost["cpu_s"] / ALONE * 1e3)
    pause = cpu_ms / 1e3 / SHARE
    number = max(1, int(seconds / pause))
    _, ours = await _played(SERVING, number, pause=pause)
    _, plain = await _played(PLAIN, number, pause=pause)
    first_words = round(quantile(ours, 0.5) * 1e3, 1)
    return {
        "answer_cpu_ms": round(cpu_ms, 1),
        "full_core_per_second": round(1e3 / cpu_ms, 1),
        "share_per_second": round(1 / pause, 1),
        "first_words_p50_ms": first_words,
        "floor_first_words_p50_ms": round(quantile(plain, 0.5) * 1e3, 1),
        "goal_met": first_words <= GOAL_MS,
    }


async def _played(program: str, number: int, *, pause: float) -> tuple[dict[str, Any], list[float]]:
    """Ask questions of a program. Return its figures, and the seconds to the first words beyond the model's time."""
    asked = questions(number)
    with serving(OUTSIDE) as outside, tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        extra = {
            "SLACK_RATE": "100",
            "SHOP_URL": f"{outside}/shop",
            "SHOP_TOKEN": "bench",
            "SHOP_PLAIN_HTTP": "on",
            "LOG_LEVEL": "WARNING",
        }
        async with aiohttp.ClientSession() as http, served(outside, Path(folder), extra, program=program) as process:
            writing = ANSWER_SECONDS - FIRST_SECONDS
            await stage(outside, asked, first_seconds=FIRST_SECONDS, seconds=writing, sentences=SENTENCES)
            process.mark()
            sent = await _asked(http, process.url, asked, pause=pause)
            seen = await answered(http, outside, asked, seconds=ANSWER_SECONDS + SETTLE_SECONDS)
            process.mark()
            await process.end()
    return process.figures, _beyond_model(sent, seen["seen"])


def _beyond_model(sent: Mapping[str, float], seen: Mapping[str, Any]) -> list[float]:
    """Seconds from each question to the first words, less what the model took."""
    whole = {mark: each for mark, each in seen.items() if each["ended"]}
    return [(each["started"] - sent[mark]) - (each["spoken"] - each["asked"]) for mark, each in whole.items()]


async def _measured(options: argparse.Namespace) -> dict[str, Any]:
    pause = options.answer_seconds / options.together
    asked = questions(int(options.seconds / pause))
    extra = {"CONCURRENT_ANSWERS": str(2 * options.together), "SLACK_RATE": "100"}
    with serving(OUTSIDE) as outside, tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        async with aiohttp.ClientSession() as http, served(outside, Path(folder), extra) as product:
            writing = options.answer_seconds - FIRST_SECONDS
            await stage(outside, asked, first_seconds=FIRST_SECONDS, seconds=writing, sentences=SENTENCES)
            product.mark()
            sent = await _asked(http, product.url, asked, pause=pause)
            seen = await answered(http, outside, asked, seconds=options.answer_seconds + SETTLE_SECONDS)
            product.mark()
            await product.end()
    return _figures(sent, seen, product.figures)


async def _asked(http: aiohttp.ClientSession, url: str, asked: Sequence[Question], *, pause: float) -> dict[str, float]:
    """When each question was sent, by its mark."""
    now = asyncio.get_running_loop().time
    sent, posting = dict[str, float](), []
    async for question in paced(asked, pause):
        sent[question.mark] = now()
        posting.append(asyncio.create_task(post(http, url, question)))
    await asyncio.gather(*posting)
    return sent


def _figures(sent: Mapping[str, float], seen: Mapping[str, Any], of_product: Mapping[str, float]) -> dict[str, Any]:
    whole = {mark: each for mark, each in seen["seen"].items() if each["ended"]}
    beyond = _beyond_model(sent, whole)
    before_model = [each["asked"] - sent[mark] for mark, each in whole.items()]
    after_model = [each["started"] - each["spoken"] for each in whole.values()]
    for name, values in (("to the model", before_model), ("to Slack", after_model), ("both", beyond)):
        print(f"{name:14} p50 {quantile(values, 0.5) * 1e3:7.1f} ms   p99 {quantile(values, 0.99) * 1e3:7.1f} ms")
    print("calls:", ", ".join(f"{name} {times}" for name, times in sorted(seen["calls"].items())))
    return {
        "first_stream_p50_ms": round(quantile(beyond, 0.5) * 1e3, 1),
        "first_stream_p99_ms": round(quantile(beyond, 0.99) * 1e3, 1),
        "loop_lag_p999_ms": of_product["loop_lag_p999_ms"],
        "loop_lag_max_ms": of_product["loop_lag_max_ms"],
        "rss_mb": of_product["rss_mb"],
        "cpu_ms_per_turn": round(of_product["cpu_s"] / max(1, len(whole)) * 1e3, 1),
        "streamed": sum(each["streamed"] for each in whole.values()),
        "answered": len(whole),
        "asked": len(sent),
    }


if __name__ == "__main__":
    sys.exit(main())
