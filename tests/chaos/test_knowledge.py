"""Fifty kills without warning: of the builder at random and while it writes its index, and of whoever serves."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from knowledge.embedding.table import TableEmbedder
from knowledge.generations import CHROMA, CURRENT, Generations
from tests.knowledge.pages import write_library
from tests.knowledge.processes import builder, serves, wait_for
from tests.patience import patience

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(patience(1_200))]

PAGES = 500
"""Of several chunks each: Chroma writes its index to disk with every thousandth."""
RANDOM_KILLS, FLUSH_KILLS, SWAP_KILLS = 15, 20, 15


@pytest.fixture(scope="module")
def embedder() -> TableEmbedder:
    return TableEmbedder()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = write_library(tmp_path / "library")
    for number in range(PAGES):
        sections = "\n".join(
            f"## Part {part} of lamp {number}\n\nLamp {number * 7 + part} {'glows, burns and shines ' * 20}.\n"
            for part in range(6)
        )
        (folder / f"lamp-{number:03}.md").write_text(f"# Lamp {number}\n\n{sections}")
    return folder


@pytest.fixture
def kb(library: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    assert build(folder, library) > 0
    return folder


def build(kb: Path, library: Path) -> float:
    """Build to the end; returns the seconds it took."""
    begun = time.monotonic()
    with builder(kb, library) as process:
        wait_for(process, "done")
        assert process.wait(60) == 0
    return time.monotonic() - begun


def change(library: Path, *, number: int, share: float) -> None:
    """Other words in a share of the pages: much of it makes the vector index anew, little changes a copy."""
    pages = sorted(library.glob("lamp-*.md"))
    for page in pages[: max(1, int(share * len(pages)))]:
        page.write_text(f"{page.read_text().partition('## Round')[0]}## Round {number}\n\nA word on round {number}.\n")


def test_a_builder_killed_at_any_moment_leaves_a_whole_base(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    chance = random.Random(11)  # noqa: S311 - moments to kill at
    change(library, number=0, share=1.0)
    whole = build(kb, library)
    ends: Counter[str] = Counter()
    while ends["killed"] < RANDOM_KILLS:
        before = serves(kb, embedder)
        change(library, number=ends.total() + 1, share=chance.choice([0.02, 1.0]))
        with builder(kb, library) as process:
            try:
                process.wait(chance.uniform(0.1, whole))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait(10)
            ends["killed" if process.returncode == -signal.SIGKILL else "finished"] += 1
        assert serves(kb, embedder) in (before, before + 1)
    print(f"\nrandom moments: {dict(ends)}, generation {serves(kb, embedder)}")
    build(kb, library)
    assert not list(kb.glob("*.tmp"))


def test_a_builder_killed_while_its_index_is_written_leaves_a_whole_base(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    chance = random.Random(12)  # noqa: S311 - moments to kill at
    killed = 0
    for number in range(FLUSH_KILLS):
        before = serves(kb, embedder)
        change(library, number=100 + number, share=1.0)
        with builder(kb, library) as process:
            wait_for(process, "index")
            if wait_for_flush(process, kb, flush=chance.choice([1, 1, 2, 3])):
                process.send_signal(signal.SIGKILL)
                killed += 1
            process.wait(30)
        assert serves(kb, embedder) in (before, before + 1)
    print(f"\nflushes: {killed} of {FLUSH_KILLS} killed, generation {serves(kb, embedder)}")
    assert killed >= FLUSH_KILLS // 2
    build(kb, library)
    assert not list(kb.glob("*.tmp"))


def wait_for_flush(process: subprocess.Popen[str], kb: Path, *, flush: int) -> bool:
    """Until the files of the index in the making change for the n-th time; False when the builder ends before."""
    seen, changes = written(kb), 0
    while process.poll() is None:
        now = written(kb)
        if now != seen:
            seen, changes = now, changes + 1
            # Creating them is one change, and each flush writes them one after the other.
            if changes > 3 * flush:
                return True
    return False


def written(kb: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of the files that a flush rewrites."""
    found: list[tuple[str, int, int]] = []
    for path in kb.glob(f"gen-*.tmp/{CHROMA}/*/*"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found.append((path.name, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


def test_a_serving_process_killed_during_a_swap_starts_again_on_a_whole_base(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    chance = random.Random(13)  # noqa: S311 - moments to kill at
    swapped = 0
    for number in range(SWAP_KILLS):
        before = serves(kb, embedder)
        change(library, number=200 + number, share=0.02)
        with serving(kb) as server, builder(kb, library) as process:
            wait_until_published(process, kb)
            said = chance.uniform(0.0, 0.3)
            try:
                server.wait(said)
            except subprocess.TimeoutExpired:
                server.send_signal(signal.SIGKILL)
            assert server.wait(10) == -signal.SIGKILL
            assert server.stdout is not None
            swapped += f"generation {before + 1}" in server.stdout.read()
            wait_for(process, "done")
            process.wait(30)
        assert serves(kb, embedder) == before + 1
        with serving(kb):
            # It has said that it can be asked.
            pass
    print(f"\nswaps: {SWAP_KILLS} killed, {swapped} of them after the swap, generation {serves(kb, embedder)}")
    assert Generations(kb).whole()


def wait_until_published(process: subprocess.Popen[str], kb: Path) -> None:
    before = (kb / CURRENT).read_text()
    while (kb / CURRENT).read_text() == before:
        assert process.poll() is None


@contextmanager
def serving(kb: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.chaos.serving", str(kb)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
