"""Texts that mean much the same."""

from pathlib import Path

import numpy as np
import pytest

from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import open_knowledge_base
from knowledge.search.alike import groups

ASKED = [
    "Do you ship to Iceland?",
    "Do you have a shop in Berlin?",
    "Can I get something delivered to Iceland?",
    "Can I pay with bitcoin?",
    "is shipping to Iceland possible",
    "Where is your store in Berlin?",
]


async def test_ways_to_ask_the_same_come_together_the_most_asked_first(tmp_path: Path, embedder: TableEmbedder) -> None:
    async with open_knowledge_base(tmp_path, embedder) as base:
        found = await base.alike(ASKED)
        assert await base.alike([]) == []
    assert [sorted(group) for group in found] == [[0, 2, 4], [1, 5], [3]]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_each_row_is_in_one_group(rows: int) -> None:
    vectors = np.random.default_rng(rows).normal(size=(rows, 8)).astype(np.float32)
    assert sorted(row for group in groups(vectors) for row in group) == list(range(rows))


def test_rows_that_are_the_same_are_one_group() -> None:
    assert groups(np.ones((50, 4), np.float32)) in ([list(range(50))], [[row] for row in range(50)])


def test_a_vector_without_length_is_alone() -> None:
    found = groups(np.array([[1, 0], [1, 0.01], [0, 0]], np.float32))
    assert [0, 1] in [sorted(group) for group in found]
