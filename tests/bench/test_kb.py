"""The knowledge base's bench in its smallest form."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.kb_tree import change_tree, make_tree
from tests.knowledge.pages import write_library
from tests.patience import patience

FIGURES = {
    "ingest_cpu_s",
    "chunks",
    "chunks_per_cpu_s",
    "nochange_cpu_s",
    "onepct_cpu_s",
    "rss_mb",
    "search_p50_ms_1k",
    "search_p95_ms_1k",
    "refresh_loop_lag_max_ms",
    "refresh_idle_lag_max_ms",
    "refresh_search_p95_ms",
    "refresh_searches",
    "refresh_failed_searches",
}


def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "docs"
    folder.mkdir(parents=True)
    for page in write_library(tmp_path / "library").rglob("*.md"):
        (folder / page.name).write_text(page.read_text())
    (folder.parent / "questions.jsonl").write_text(json.dumps({"question": "How do I return a lamp?"}) + "\n")
    return folder


@pytest.mark.long
def test_the_bench_ends_with_its_figures_as_json(tmp_path: Path) -> None:
    options = ("--files", "6", "--characters", "20000", "--sizes", "1000", "--searches", "5", "--refresh", "100")
    command = [sys.executable, "-m", "bench.kb", "--data", str(pages(tmp_path).parent), *options]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=patience(110)).stdout
    figures = json.loads(printed.splitlines()[-1])
    assert set(figures) == FIGURES
    assert figures["refresh_failed_searches"] == 0


def test_a_tree_is_the_same_each_time_and_no_section_of_it_comes_twice(tmp_path: Path) -> None:
    source = pages(tmp_path)
    one, other = (make_tree(source, tmp_path / name, files=4, characters=20_000) for name in ("a", "b"))
    texts = [page.read_text() for page in sorted(one.rglob("*.md"))]
    assert texts == [page.read_text() for page in sorted(other.rglob("*.md"))]
    assert 18_000 < sum(map(len, texts)) < 22_000
    headings = [line for text in texts for line in text.splitlines() if line.startswith("#")]
    assert len(set(headings)) == len(headings)


def test_as_many_files_are_changed_as_were_asked_for(tmp_path: Path) -> None:
    tree = make_tree(pages(tmp_path), tmp_path / "tree", files=10, characters=20_000)
    before = {page: page.read_text() for page in tree.rglob("*.md")}
    change_tree(tree, files=3)
    assert sum(page.read_text() != text for page, text in before.items()) == 3


def test_without_data_nothing_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.kb", "--data", str(tmp_path)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ), timeout=patience(60)
    )
    assert json.loads(done.stdout) == {"skipped": str(tmp_path)}
