"""The builder as a process of its own, and what a start finds after it was killed."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from knowledge.search.catalog import CatalogReader
from knowledge.search.index import Index, fingerprint_of
from tests.patience import patience

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T]], wanted: Callable[[T], bool]) -> T:
    """What is seen as soon as it is as wanted. Another process builds meanwhile, and needs the processor."""
    async with asyncio.timeout(patience(60)):
        while not wanted(seen := await look()):  # noqa: ASYNC110 - another process's work
            await asyncio.sleep(0.02)
    return seen


@contextmanager
def builder(kb: Path, library: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "knowledge.build.process", "--root", str(kb), "--source", str(library), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], phase: str) -> dict[str, object]:
    assert process.stdout is not None
    for line in process.stdout:
        said: dict[str, object] = json.loads(line)
        if said["phase"] == phase:
            return said
    raise AssertionError(f"the builder never came to {phase}")


def serves(kb: Path, embedder: TableEmbedder) -> int:
    """The generation that a start would serve, opened, asked and found whole."""
    generation = Generations(kb).current()
    assert generation is not None
    index = Index(generation, fingerprint=fingerprint_of(embedder))
    try:
        assert index.fault is None
        assert index.words("warranty").scores
        reader = CatalogReader(generation.database)
        reader.check()
        for chunk, _, _ in reader.sample(5):
            (vector,) = reader.vectors([chunk]).wholes.astype(np.float32)
            assert max(index.nearest(vector).values()) > 0.999
        reader.close()
        return generation.number
    finally:
        index.close()
