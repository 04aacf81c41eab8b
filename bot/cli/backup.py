"""`frontdesk backup`: a copy of the database, made while the desk serves."""

import argparse
import asyncio
import time
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from bot.cli.status import recipe_of, roots_of
from bot.settings import Settings
from bot.store import backups
from knowledge.status import read_status

MEGABYTE = 1_000_000
KNOWN = ("embedder", "fingerprint", "content", "documents", "chunks", "built_at")
"""What a backup notes of a knowledge base, by which one sees whether it is the same again."""


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write a backup, and say what is in it."""
    began = time.monotonic()
    knowledge = await asyncio.to_thread(knowledge_of, settings)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = await backups.write_backup(
        settings.database, given.path, made_at=made_at, release=version("frontdesk"), knowledge=knowledge
    )
    print(
        f"{given.path}: {sum(manifest.rows.values())} rows, {manifest.bytes / MEGABYTE:.1f} MB, "
        f"{time.monotonic() - began:.1f} s. It holds what customers wrote: keep it safe."
    )
    return 0


def knowledge_of(settings: Settings) -> dict[str, dict[str, Any]]:
    """Audience -> what its knowledge base was built of, for those that are built."""
    described: dict[str, dict[str, Any]] = {}
    for audience, root in roots_of(settings.data_dir / "kb").items():
        status = read_status(root, embedder=recipe_of(settings).name, chroma_url=settings.chroma_url or "")
        if status.generation is not None:
            described[audience] = {name: asdict(status)[name] for name in KNOWN}
    return described
