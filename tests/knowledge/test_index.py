"""One opened generation: what is noticed when it is opened, and who closes it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from knowledge.embedding.table import TableEmbedder
from knowledge.errors import IndexBroken
from knowledge.generations import Generation, Generations
from knowledge.search.index import Index, LookUp, fingerprint_of
from knowledge.search.keywords import NOTHING
from knowledge.search.vectors import VectorIndex


def current(kb: Path) -> Generation:
    generation = Generations(kb).current()
    assert generation is not None
    return generation


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "overwritten", "one short"])
def test_a_broken_vector_index_is_noticed_on_opening(kb: Path, embedder: TableEmbedder, damage: str) -> None:
    chroma = current(kb).chroma
    database = chroma / "chroma.sqlite3"
    match damage:
        case "missing":
            shutil.rmtree(chroma)
        case "empty":
            database.write_bytes(b"")
        case "truncated":
            database.write_bytes(database.read_bytes()[:5_000])
        case "overwritten":
            database.write_bytes(b"nonsense" * 10_000)
        case _:
            vectors = VectorIndex(chroma)
            vectors.remove([1])
            vectors.close()

    index = Index(current(kb), fingerprint=fingerprint_of(embedder))

    assert index.fault
    assert index.repairable
    assert index.words("How long is the warranty?").scores
    index.close()


def test_a_generation_that_does_not_hold_what_it_says_is_not_opened(kb: Path, embedder: TableEmbedder) -> None:
    manifest = current(kb).folder / "MANIFEST.json"
    manifest.write_text(manifest.read_text().replace('"documents": 14', '"documents": 15', 1))

    with pytest.raises(IndexBroken, match="does not hold what its manifest says"):
        Index(current(kb), fingerprint=fingerprint_of(embedder))


async def test_without_chroma_the_stored_vectors_still_put_the_words_finds_in_order(
    kb: Path, embedder: TableEmbedder
) -> None:
    index = Index(current(kb), fingerprint=fingerprint_of(embedder))
    question = "When do I get my money back?"
    vector = await embedder.embed_query(question)
    found = index.words(question)

    _, by_both = index.evidence([LookUp(found, vector, None)], limit=3, words=400)
    _, by_words = index.evidence([LookUp(found, None, None)], limit=3, words=400)
    nothing, zero = index.evidence([LookUp(NOTHING, None, None)], limit=3, words=400)

    assert by_both > by_words > 0
    assert (nothing, zero) == ((), 0.0)
    index.close()


def test_the_last_one_out_closes_a_retired_index(kb: Path, embedder: TableEmbedder) -> None:
    index = Index(current(kb), fingerprint=fingerprint_of(embedder))
    index.enter()

    assert not index.retire()
    assert index.words("warranty").scores
    assert index.leave()
    index.close()
    with pytest.raises(IndexBroken, match="replaced"):
        index.words("warranty")


def test_settings_meant_for_others_do_not_reach_chroma(kb: Path, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MIGRATIONS=run\nCHROMA_SERVER_HTTP_PORT=\nALLOW_RESET=maybe\n")
    program = (
        "import sys; from pathlib import Path; from knowledge.search.vectors import VectorIndex;"
        "print(VectorIndex(Path(sys.argv[1])).count() > 0)"
    )

    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(current(kb).chroma)],
        cwd=tmp_path,
        env=os.environ | {"CHROMA_SERVER_HTTP_PORT": "", "MIGRATIONS": "run", "IS_PERSISTENT": "perhaps"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout == "True\n"
