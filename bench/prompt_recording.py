"""A conversation of twelve messages, played through the product, and the requests that its model's server got.

    python -m bench.prompt_recording FILE      writes the requests as gzipped JSON: a list for each message

The product, the local Slack, the shop and the stand-in model run as in `make demo`. The model's name is that of a
provider that caches, so that the product sends what it would send there.
"""

import asyncio
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.stories import prepared
from tests.stories.world import open_world

MODEL = "gpt-6-luna"
MESSAGES = (
    "How many days do I have to return an item?",
    "And who pays for sending it back?",
    "Where is my order ORD-12345?",
    "What is in it?",
    "Which payment methods do you take?",
    "How long does standard delivery take?",
    "Do you ship to Norway?",
    "Where is my order ORD-67890?",
    "Can I cancel an order that was not sent yet?",
    "How do I get an invoice?",
    "What if an item arrives damaged?",
    "How do I reset my password?",
)


async def record() -> list[list[dict[str, Any]]]:
    """Play the conversation. Return the bodies of the requests for each of its messages."""
    turns: list[list[dict[str, Any]]] = []
    with tempfile.TemporaryDirectory(prefix="prompt-") as folder:
        os.environ.setdefault(prepared.VARIABLE, folder)
        async with open_world(Path(folder) / "world", env={"OPENAI_MODEL": MODEL}, pace=0) as world:
            thread = None
            for text in MESSAGES:
                before = len(await world.model_requests())
                said = await world.customer.says(text, to=thread)
                thread = thread or said
                seen = await world.customer.reads(thread, after=said.ts)
                print(f"{text}\n    {' '.join(seen.text.split())[:160]}", file=sys.stderr)
                turns.append([request["body"] for request in (await world.model_requests())[before:]])
    return turns


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(gzip.compress(json.dumps(asyncio.run(record())).encode(), mtime=0))
