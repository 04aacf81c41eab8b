"""The builder's process killed without warning: what is served stays whole, and the next build succeeds."""

import signal
from pathlib import Path

import pytest

from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from tests.knowledge.processes import builder, serves, wait_for


def change(library: Path) -> None:
    """Enough for the vector index to be made anew, so that every phase has something to do."""
    for page in library.rglob("*.md"):
        page.write_text(page.read_text() + "\n## Anything else\n\nAsk our people, they are glad to help you with it.\n")


@pytest.mark.long
def test_a_builder_killed_in_any_phase_leaves_the_served_generation_whole(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    change(library)
    for phase in ("read", "cut", "embed", "index", "calibrate", "verify"):
        with builder(kb, library) as process:
            wait_for(process, phase)
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        assert serves(kb, embedder) == 1

    with builder(kb, library) as process:
        wait_for(process, "done")
        assert process.wait(10) == 0
    assert serves(kb, embedder) == 2
    assert not list(kb.glob("*.tmp"))


@pytest.mark.parametrize("end", ["terminated", "orphaned"])
def test_a_builder_that_is_stopped_or_loses_its_parent_clears_up(kb: Path, library: Path, end: str) -> None:
    change(library)
    with builder(kb, library, "--stop-on-eof") as process:
        wait_for(process, "embed")
        if end == "terminated":
            process.terminate()
        elif process.stdin:
            process.stdin.close()
        assert process.wait(10) == 143

    assert [path.name for path in kb.glob("gen-*")] == ["gen-000001"]


def test_two_builders_at_once_are_one_too_many(kb: Path, library: Path) -> None:
    with Generations(kb).building(), builder(kb, library) as process:
        refused = wait_for(process, "refused")
        assert process.wait(10) == 2

    assert refused["reason"] == "busy"


def test_an_unreadable_source_is_told_in_one_line(kb: Path, tmp_path: Path) -> None:
    with builder(kb, tmp_path / "nowhere") as process:
        failed = wait_for(process, "failed")
        assert process.wait(10) == 1

    assert "nowhere cannot be read" in str(failed["message"])
