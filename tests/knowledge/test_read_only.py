"""A base on a disk that takes no writes: Chroma needs to write even to open its index, so words alone are left."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import open_knowledge_base
from tests.doubles.without_rights import make_read_only, make_writable
from tests.knowledge.reading import QUESTION
from tests.patience import patience

SECONDS = patience(60.0)
RIGHT = "products/warranty.md"


@pytest.fixture
def frozen(kb: Path) -> Iterator[Path]:
    make_read_only(kb)
    yield kb
    make_writable(kb)


async def read(kb: Path, library: Path) -> dict[str, Any]:
    """What a process without root's rights over files comes to."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.doubles.without_rights", "tests.knowledge.reading", str(kb), str(library)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    told: dict[str, Any] = json.loads(out)
    return told


async def test_a_base_that_cannot_be_written_answers_by_words_says_so_and_refuses_to_refresh(
    frozen: Path, library: Path
) -> None:
    (library / "hours.txt").write_text("We never sleep.\n")
    told = await read(frozen, library)
    assert told["sources"] == [RIGHT] * 3
    assert "readonly" in told["error"]
    assert "Permission denied" in told["refreshed"]
    assert (told["afterwards"], told["generation"], told["degraded"]) == (RIGHT, 1, True)


async def test_once_it_can_be_written_again_it_is_whole(frozen: Path, library: Path, embedder: TableEmbedder) -> None:
    await read(frozen, library)
    await asyncio.to_thread(make_writable, frozen)
    async with open_knowledge_base(frozen, embedder) as base:
        assert not (await base.search(QUESTION)).degraded
        (library / "hours.txt").write_text("We never sleep.\n")
        assert (await base.refresh(library)).generation == 2
