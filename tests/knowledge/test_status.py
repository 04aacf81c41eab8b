"""What the files of a base say about it, without opening it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge.build.process import build
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import CHROMA, DATABASE, Generations
from knowledge.knowledge_base import open_knowledge_base
from knowledge.status import read_status
from tests.knowledge.conftest import ignore, sources_of

GENERATION = "gen-000001"


@pytest.fixture
async def built(kb: Path, library: Path, embedder: TableEmbedder) -> Path:
    (library / "empty.md").write_text("")
    await build(Generations(kb), sources_of(library), embedder, tell=ignore)
    return kb


async def test_it_is_what_the_open_base_says(built: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(built, embedder) as base:
        opened = await base.status()
    assert read_status(built, embedder=embedder.name) == opened
    assert opened.left_out.quarantined
    assert opened.error is None


async def test_it_knows_the_generation_before(built: Path, library: Path, embedder: TableEmbedder) -> None:
    (library / "hours.txt").write_text("We never sleep.\n")
    await build(Generations(built), sources_of(library), embedder, tell=ignore)
    found = read_status(built, embedder=embedder.name)
    assert (found.generation, found.previous) == (2, 1)


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (f"{CHROMA}/chroma.sqlite3", "The vector index cannot be read."),
        (DATABASE, "The texts of generation 1 cannot be read."),
    ],
)
async def test_damaged_files_are_told(built: Path, embedder: TableEmbedder, damaged: str, told: str) -> None:
    (built / GENERATION / damaged).write_bytes(b"damaged" * 1_000)
    found = read_status(built, embedder=embedder.name)
    assert (found.generation, found.degraded, found.error) == (1, True, told)


async def test_another_embedder_is_told(built: Path, embedder: TableEmbedder) -> None:
    told = read_status(built, embedder="openai/other").error
    assert told == "The index was made with another embedder or chunker; build it again."


def test_a_base_that_was_never_built_says_so(tmp_path: Path) -> None:
    found = read_status(tmp_path, embedder="table")
    assert (found.generation, found.error) == (None, "No knowledge base has been built yet.")
    assert replace(found, error=None).documents == 0


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("bot.cli.status", ("numpy", "chromadb", "aiohttp", "sqlalchemy", "openai", "tokenizers")),
        ("bot.cli.build", ("numpy", "chromadb", "aiohttp", "sqlalchemy", "openai", "tokenizers")),
        ("knowledge.build.process", ("chromadb", "aiohttp", "openai", "sqlalchemy")),
        ("knowledge.sources.reading", ("numpy", "chromadb", "aiohttp", "pypdfium2", "docutils")),
    ],
)
def test_what_a_command_does_not_need_is_not_imported(module: str, heavy: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(heavy) & set(ran.stdout.split()) == set()
