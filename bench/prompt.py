"""What the input of a conversation costs under the published rules of three providers' caches, before and after.

    python -m bench.prompt             a table, then one JSON object as the last line

A conversation of twelve messages is played through the product (prompt_recording.py), and its requests are counted as
caching.py says, from an empty cache. They are compared with the recorded requests of the same conversation at commit
6301328, where triage sorted, four agents had four prompts, and only the newest message had its passages. To record
these again, run `python -m bench.prompt_recording` there.

input_tokens            estimated tokens of all requests
cached_share            the share of them that is read from a cache, mean of the providers
input_cost_ratio        what they cost, divided by what the recorded ones cost, mean of the providers
first_word_round_trips  requests until the first words of the answer to the first message, a plain question
"""

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench.caching import PROVIDERS, Body, read_prompt
from bench.prompt_recording import record

BEFORE = Path(__file__).parent / "prompt_before.json.gz"
Turns = Sequence[Sequence[Body]]


def main() -> None:
    """Measure and print."""
    before, after = json.loads(gzip.decompress(BEFORE.read_bytes())), asyncio.run(record())
    old, new = ([read_prompt(body) for turn in turns for body in turn] for turns in (before, after))
    shares, ratios = [], []
    print(f"{'provider':9} {'model':18} {'read before':>12} {'read after':>11} {'cost ratio':>11}")
    for provider in PROVIDERS:
        was, now = provider.count(old), provider.count(new)
        shares.append(now.read / now.tokens)
        ratios.append(provider.cost(now) / provider.cost(was))
        row = f"{was.read / was.tokens:12.2f} {shares[-1]:11.2f} {ratios[-1]:11.2f}"
        print(f"{provider.name:9} {provider.model:18} {row}")
    print(f"requests: {len(old)} before, {len(new)} after; first word after {len(before[0])} before")
    told = {
        "input_tokens": sum(len(prompt.tokens) for prompt in new),
        "cached_share": round(fmean(shares), 3),
        "input_cost_ratio": round(fmean(ratios), 3),
        "first_word_round_trips": len(after[0]),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
