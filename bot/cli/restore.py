"""`frontdesk restore`: a backup becomes the database, in an empty place."""

import argparse
import asyncio
import time
from collections.abc import Mapping
from typing import Any

from bot.cli.backup import knowledge_of
from bot.integrations import only_one
from bot.settings import Settings
from bot.store import backups
from bot.store.backups import Manifest


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Restore a backup, and say what is left to do."""
    with only_one(settings):
        manifest = await backups.restore(given.path, settings.database, scratch=settings.data_dir, now=time.time())
    print(f"The database is as it was at {manifest.made_at}: {sum(manifest.rows.values())} rows.")
    for line in _differences(manifest, await asyncio.to_thread(knowledge_of, settings)):
        print(line)
    print("Erase again whom you have erased since. Then start Frontdesk.")
    return 0


def _differences(manifest: Manifest, present: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each knowledge base that is not the one of then."""
    told = []
    for audience, then in manifest.knowledge.items():
        now = present.get(audience)
        if now is None:
            told.append(
                f"The {audience} knowledge base of then ({then['documents']} documents) is not here: "
                "it is built after the start, and `frontdesk kb build` builds it before"
            )
        elif now["content"] != then["content"]:
            told.append(f"The {audience} knowledge base has been built again since.")
    return told
