"""What many customers at once cost the running product, and how long each waits for the first words.

    python -m bench.load               rows to read, then one JSON object as the last line

200 answers are under way all the time: each takes 20 seconds, by the pace of the model, and a new question comes ten
times a second. The product runs as in production over signed HTTP; Slack and the model are servers of the bench that
keep nobody waiting (bench.outside), and Slack's rates are lifted, so that every answer is streamed.

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
from bench.serving import Question, answered, post, questions, served, stage
from bench.timing import paced, quantile

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
    figures = asyncio.run(_measured(parser.parse_args(arguments)))
    print(json.dumps(figures))
    return 0 if figures["answered"] == figures["asked"] else 1


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
    beyond = [(each["started"] - sent[mark]) - (each["spoken"] - each["asked"]) for mark, each in whole.items()]
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
