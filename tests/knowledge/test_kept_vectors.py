"""A text is paid for once: across builds that fail, pages that are renamed, and indexes that are made anew."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from knowledge.build.process import build
from knowledge.config import BuildOptions
from knowledge.embedding.kept import FILE, KEEP_SECONDS, KeptVectors
from knowledge.embedding.openai import OpenAIEmbedder
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import IndexBroken
from knowledge.generations import Generations
from tests.doubles.embedding_server import EmbeddingServer, open_embedding_server
from tests.knowledge.conftest import ignore, sources_of
from tests.knowledge.test_faults import counted_words, longer


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with open_embedding_server(counted_words) as opened:
        yield opened


@pytest.fixture
async def paid(server: EmbeddingServer) -> AsyncIterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
    yield embedder
    await embedder.close()


async def test_a_folder_that_is_renamed_is_not_paid_for_again(kb: Path, library: Path, paid: OpenAIEmbedder) -> None:
    first = await build(Generations(kb), sources_of(library), paid, tell=ignore)
    assert (first.embedded, first.reused) == (first.chunks, 0)
    (library / "orders").rename(library / "purchases")
    again = await build(Generations(kb), sources_of(library), paid, options=BuildOptions(force=True), tell=ignore)
    assert again.added == again.removed > 0
    assert (again.embedded, again.reused > 0) == (0, True)
    assert again.is_new


async def test_a_build_that_fails_at_its_end_loses_no_vector(
    kb: Path, library: Path, paid: OpenAIEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as failing:
        failing.setattr("knowledge.build.process._verify", lambda *_: (_ for _ in ()).throw(IndexBroken("planted")))
        with pytest.raises(IndexBroken, match="planted"):
            await build(Generations(kb), sources_of(library), paid, tell=ignore)
    report = await build(Generations(kb), sources_of(library), paid, tell=ignore)
    assert (report.embedded, report.reused) == (0, report.chunks)


async def test_an_index_that_is_made_anew_is_not_paid_for_again_and_answers_the_same(
    kb: Path, library: Path, paid: OpenAIEmbedder
) -> None:
    first = await build(Generations(kb), sources_of(library), paid, tell=ignore)
    anew = await build(Generations(kb), sources_of(library), paid, options=BuildOptions(anew=True), tell=ignore)
    assert (anew.embedded, anew.reused, anew.threshold) == (0, first.chunks, first.threshold)


async def test_vectors_of_another_length_are_paid_for_again(
    kb: Path, library: Path, server: EmbeddingServer, paid: OpenAIEmbedder
) -> None:
    await build(Generations(kb), sources_of(library), paid, tell=ignore)
    server.vector = longer
    changed = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
    report = await build(Generations(kb), sources_of(library), changed, options=BuildOptions(anew=True), tell=ignore)
    await changed.close()
    assert (report.embedded, report.reused) == (report.chunks, 0)


async def test_vectors_that_cost_nothing_are_not_kept(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    await build(Generations(kb), sources_of(library), embedder, tell=ignore)
    assert not (kb / FILE).exists()


async def test_a_damaged_file_of_vectors_only_costs_money(kb: Path, library: Path, paid: OpenAIEmbedder) -> None:
    await build(Generations(kb), sources_of(library), paid, tell=ignore)
    (kb / FILE).write_bytes(b"damaged" * 500)
    report = await build(Generations(kb), sources_of(library), paid, options=BuildOptions(anew=True), tell=ignore)
    assert report.embedded == report.chunks
    healed = await build(Generations(kb), sources_of(library), paid, options=BuildOptions(anew=True), tell=ignore)
    assert healed.embedded == 0


@pytest.mark.parametrize("use", ["find", "put"])
def test_a_file_that_is_damaged_inside_is_begun_again(tmp_path: Path, embedder: TableEmbedder, use: str) -> None:
    vectors = {f"text {number}": np.ones(64, np.float32) for number in range(500)}
    kept = KeptVectors(tmp_path, embedder)
    kept.put(vectors)
    kept.close()
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:4096] + b"damaged!" * ((len(whole) - 4096) // 8))
    damaged = KeptVectors(tmp_path, embedder)
    if use == "find":
        assert damaged.find(list(vectors)) == {}
    else:
        damaged.put(vectors)
    damaged.close()
    assert not list(tmp_path.iterdir())
    again = KeptVectors(tmp_path, embedder)
    again.put(vectors)
    assert again.find(list(vectors)).keys() == vectors.keys()
    again.close()


def test_a_file_that_cannot_be_opened_now_is_not_deleted(
    tmp_path: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = {"text": np.ones(64, np.float32)}
    kept = KeptVectors(tmp_path, embedder)
    kept.put(vectors)
    kept.close()

    def locked(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", locked)
        closed = KeptVectors(tmp_path, embedder)
        assert closed.find(["text"]) == {}
        closed.put(vectors)

    again = KeptVectors(tmp_path, embedder)
    assert again.find(["text"]).keys() == {"text"}
    again.close()


def test_a_file_that_is_locked_keeps_its_vectors(
    tmp_path: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.01))
    vector = {"a text": np.ones(64, np.float32)}
    kept = KeptVectors(tmp_path, embedder)
    kept.put(vector)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        kept.put({"another text": np.ones(64, np.float32)})
    kept.close()
    after = KeptVectors(tmp_path, embedder)
    assert after.find(["a text", "another text"]).keys() == vector.keys()
    after.close()


def test_what_is_not_needed_for_a_week_is_dropped(tmp_path: Path, embedder: TableEmbedder) -> None:
    now = 1_000_000.0
    kept = KeptVectors(tmp_path, embedder, clock=lambda: now)
    vector = np.array([1.0, 0.0], np.float32)
    kept.put({"needed": vector, "not needed": vector})
    now += KEEP_SECONDS - 1
    kept.keep_only(["needed"])
    assert set(kept.find(["needed", "not needed"])) == {"needed", "not needed"}
    now += 2
    kept.keep_only(["needed"])
    assert set(kept.find(["needed", "not needed"])) == {"needed"}
    kept.close()


def test_the_file_holds_no_text(tmp_path: Path, embedder: TableEmbedder) -> None:
    kept = KeptVectors(tmp_path, embedder)
    kept.put({"a secret phrase": np.array([1.0, 0.0], np.float32)})
    kept.close()
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
