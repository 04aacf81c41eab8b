"""A process that serves a base and searches without end, to be killed: `python -m tests.chaos.serving KB`.

It says `ready` when it can be asked and `generation N` whenever another one answers, a line each.
"""

import asyncio
import sys
from pathlib import Path

from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import open_knowledge_base


async def serve(kb: Path) -> None:
    """Search until the end comes from outside. A failed search ends it with a status."""
    async with open_knowledge_base(kb, TableEmbedder(), follow_seconds=0.002) as base:
        print("ready", flush=True)
        served = None
        while True:
            findings = await base.search("How long is the warranty on lamps?")
            if findings.degraded or not findings.hits:
                sys.exit(3)
            number = (await base.status()).generation
            if number != served:
                served = number
                print(f"generation {served}", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
