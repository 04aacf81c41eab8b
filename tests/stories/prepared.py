"""The knowledge base of the demo's shop, built once for all tests; a world begins with a copy of it.

The pages themselves are those that the product reads: it finds them unchanged and serves what is there.
"""

import asyncio
import fcntl
import os
import shutil
from pathlib import Path
from typing import get_args

from demo.world import PAGES
from knowledge.audience import Audience
from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import open_knowledge_base

VARIABLE = "FRONTDESK_TEST_FOLDER"
"""A folder that all processes of one run of the tests share: see tests/conftest.py."""
OWN = shutil.ignore_patterns("LOCK", "BASE")
"""What belongs to one place of a base."""


def lay_out(data: Path) -> None:
    """Copy the bases into a product's DATA_DIR, unless it has some."""
    data.mkdir(parents=True, exist_ok=True)
    for name in _names().values():
        if not (data / name).exists():
            shutil.copytree(_built() / name, data / name, ignore=OWN)


def _names() -> dict[Audience, str]:
    return {audience: "kb" if audience == "public" else f"kb-{audience}" for audience in get_args(Audience)}


def _built() -> Path:
    """The folder of the bases; whichever process asks first builds them."""
    shared = Path(os.environ[VARIABLE])
    built = shared / "prepared"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            partial = shared / "prepared.tmp"
            asyncio.run(_build(partial))
            partial.rename(built)
    return built


async def _build(folder: Path) -> None:
    for audience, name in _names().items():
        async with open_knowledge_base(folder / name, TableEmbedder(), audience=audience) as base:
            await base.refresh(PAGES)
