"""A process that opens a base, asks it, refreshes it, and tells what came of it as one line of JSON."""

import asyncio
import json
import sys
from pathlib import Path

from knowledge.embedding.table import TableEmbedder
from knowledge.errors import KnowledgeError
from knowledge.knowledge_base import open_knowledge_base

QUESTION = "How long is the warranty?"


async def main(kb: Path, library: Path) -> None:
    """Three questions, a refresh, and a question."""
    told: dict[str, object] = {}
    async with open_knowledge_base(kb, TableEmbedder()) as base:
        found = [await base.search(QUESTION) for _ in range(3)]
        told["sources"] = [each.hits[0].source if each.hits else "" for each in found]
        told["error"] = (await base.status()).error
        try:
            told["refreshed"] = (await base.refresh(library)).generation
        except KnowledgeError as error:
            told["refreshed"] = str(error)
        again, status = await base.search(QUESTION), await base.status()
        told["afterwards"] = again.hits[0].source if again.hits else ""
        told["generation"], told["degraded"] = status.generation, again.degraded
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(*map(Path, sys.argv[1:])))
