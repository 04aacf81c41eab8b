"""Building: what changes, what is taken over, what is refused. Real Chroma, real SQLite, in this process."""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from knowledge.build import process as builder
from knowledge.build.process import build, repair
from knowledge.build.report import BuildReport, Progress
from knowledge.chunking import LIMIT
from knowledge.config import BuildOptions
from knowledge.embedding.embedder import Vectors
from knowledge.embedding.recipe import Recipe
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import BuildRefused, EmbedderFailed
from knowledge.generations import Generations
from knowledge.search.catalog import CatalogReader
from knowledge.search.vectors import VectorIndex
from tests.knowledge.conftest import ignore, sources_of
from tests.knowledge.pages import PAGES


class CountingEmbedder:
    """The table, counting the texts, failing when told, and able to pass for another embedder."""

    name = "table/counted"
    recipe = Recipe("", ())

    def __init__(self, table: TableEmbedder, *, window_words: int = 40) -> None:
        self._table = table
        self.dim = table.dim
        self.fingerprint = table.fingerprint
        self.window_words = window_words
        self.texts: list[str] = []
        self.fail_after: int | None = None

    def count_tokens(self, text: str) -> int:
        return self._table.count_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        if self.fail_after is not None and len(self.texts) > self.fail_after:
            raise EmbedderFailed("The service is gone.")
        return await self._table.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self._table.embed_query(text)


async def rebuild(kb: Path, library: Path, embedder: TableEmbedder, *, force: bool = False) -> BuildReport:
    return await build(Generations(kb), sources_of(library), embedder, options=BuildOptions(force), tell=ignore)


def rows(kb: Path, query: str) -> list[tuple[object, ...]]:
    current = Generations(kb).current()
    assert current is not None
    with sqlite3.connect(current.database) as database:
        found = database.execute(query).fetchall()
    database.close()
    return found


def names(kb: Path) -> set[str]:
    return {path.name for path in kb.glob("gen-*")}


def chroma_count(kb: Path) -> int:
    current = Generations(kb).current()
    assert current is not None
    vectors = VectorIndex(current.chroma)
    count = vectors.count()
    vectors.close()
    return count


async def test_the_first_build_holds_every_page_and_row_with_its_metadata(kb: Path) -> None:
    ((documents, chunks),) = rows(kb, "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM chunk)")
    ((title, url, category, updated),) = rows(
        kb, "SELECT title, url, category, last_updated FROM document WHERE name = 'orders/returns.md'"
    )

    assert documents == len(PAGES) + 3
    assert chroma_count(kb) == chunks
    assert (title, url, category, updated) == (
        "Returning an item",
        "https://help.example.com/returns",
        "returns",
        "2026-03-01",
    )


async def test_without_a_change_there_is_no_new_generation(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    report = await rebuild(kb, library, embedder)

    assert (report.generation, report.is_new, report.unchanged) == (1, False, len(PAGES) + 3)


async def test_a_changed_page_keeps_the_chunks_that_did_not_change(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    before = set(rows(kb, "SELECT key, id FROM chunk"))
    page = library / "orders" / "returns.md"
    page.write_text(page.read_text().replace("4.90 EUR", "5.90 EUR"))
    counting = CountingEmbedder(embedder)
    counting.name = embedder.name

    report = await build(Generations(kb), sources_of(library), counting, tell=ignore)

    after = set(rows(kb, "SELECT key, id FROM chunk"))
    assert (report.changed, report.added, report.removed, report.embedded) == (1, 0, 0, len(after - before))
    assert 0 < report.embedded < 3
    assert chroma_count(kb) == report.chunks
    assert any("5.90 EUR" in text for text in counting.texts)


async def test_new_pages_are_added_and_missing_ones_removed(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    (library / "account" / "delete.md").unlink()
    (library / "new.md").write_text("# Assembly\n\nPut the shade on the foot and turn it until it clicks.\n")

    report = await rebuild(kb, library, embedder)

    names = {name for (name,) in rows(kb, "SELECT name FROM document")}
    assert (report.added, report.removed, report.generation) == (1, 1, 2)
    assert "new.md" in names
    assert "account/delete.md" not in names
    assert rows(kb, "SELECT count(*) FROM words WHERE words MATCH 'privacy'") == [(0,)]
    assert chroma_count(kb) == report.chunks


async def test_a_change_of_metadata_alone_embeds_nothing(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    page = library / "orders" / "returns.md"
    page.write_text(page.read_text().replace("2026-03-01", "2026-04-01"))

    report = await rebuild(kb, library, embedder)

    assert (report.changed, report.embedded) == (1, 0)
    assert rows(kb, "SELECT last_updated FROM document WHERE name = 'orders/returns.md'") == [("2026-04-01",)]


async def test_a_changed_component_of_antora_changes_its_pages(tmp_path: Path, embedder: TableEmbedder) -> None:
    page = tmp_path / "docs" / "modules" / "ROOT" / "pages" / "fees.adoc"
    page.parent.mkdir(parents=True)
    page.write_text("= Fees\n\nThe {product} costs nothing.\n")
    component = tmp_path / "docs" / "antora.yml"
    for name in ("Parcel", "Letter"):
        component.write_text(f"asciidoc: {{attributes: {{product: {name}}}}}\n")
        await rebuild(tmp_path / "kb", tmp_path / "docs", embedder)
        assert rows(tmp_path / "kb", "SELECT text FROM chunk") == [(f"The {name} costs nothing.",)]


async def test_a_touched_file_with_the_same_bytes_is_no_change(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    os.utime(library / "hours.txt", (1, 1))

    assert not (await rebuild(kb, library, embedder)).is_new


async def test_a_change_within_the_same_time_stamp_is_seen(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    page = library / "hours.txt"
    # However long the machine takes to read it, it was written at that moment or after.
    stamp = page.stat().st_mtime_ns + 3_600 * 1_000_000_000
    os.utime(page, ns=(stamp, stamp))
    await rebuild(kb, library, embedder)
    page.write_text(page.read_text().replace("weekdays", "workdays"))
    os.utime(page, ns=(stamp, stamp))

    assert (await rebuild(kb, library, embedder)).changed == 1


async def test_bad_files_are_reported_and_the_rest_is_built(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    (library / "broken.md").write_bytes(b"caf\x8f\xd5 \x90\xf7")
    (library / "empty.md").write_text("---\ntitle: Nothing\n---\n\n")
    (library / "table.csv").write_text("sku,price\n1,2\n")
    os.mkfifo(library / "pipe.md")

    report = await rebuild(kb, library, embedder)

    assert {one.name: one.reason for one in report.quarantined} == {
        "broken.md": "not UTF-8 text (byte 3), and no other encoding fits it clearly: save it as UTF-8",
        "empty.md": "no text",
        "table.csv": "no columns named question and answer",
        "pipe.md": "not a regular file",
    }
    assert report.documents == len(PAGES) + 3


async def test_a_page_that_was_broken_and_is_mended_comes_back(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    page = library / "hours.txt"
    good, stamp = page.read_bytes(), (1_000_000_000, 1_000_000_000)
    os.utime(page, ns=stamp)
    page.write_bytes(b"\xff" * len(good))
    os.utime(page, ns=stamp)
    assert (await rebuild(kb, library, embedder)).removed == 1

    page.write_bytes(good)
    os.utime(page, ns=stamp)
    assert (await rebuild(kb, library, embedder)).added == 1


async def test_bad_rows_are_reported_each_time(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    table = library / "faq.csv"
    table.write_text(table.read_text() + "faq-9,Only a question?,\n")

    first = await rebuild(kb, library, embedder)
    second = await rebuild(kb, library, embedder)

    assert [one.reason for one in first.quarantined] == ["no answer"]
    assert second.quarantined == first.quarantined
    assert not second.is_new


async def test_a_source_that_has_mostly_vanished_is_refused_unless_forced(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    for folder in ("orders", "account", "payment"):
        shutil.rmtree(library / folder)

    with pytest.raises(BuildRefused) as refused:
        await rebuild(kb, library, embedder)
    assert refused.value.reason == "vanishing"
    assert "6 of 14 documents" in str(refused.value)
    assert Generations(kb).named() == 1

    assert (await rebuild(kb, library, embedder, force=True)).removed == 6


async def test_an_empty_source_is_refused_even_if_forced(kb: Path, tmp_path: Path, embedder: TableEmbedder) -> None:
    (tmp_path / "void").mkdir()

    with pytest.raises(BuildRefused) as refused:
        await rebuild(kb, tmp_path / "void", embedder, force=True)
    assert refused.value.reason == "empty"


async def test_another_source_replaces_the_old_one(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    report = await rebuild(kb, library / "faq.csv", embedder)

    assert (report.unchanged, report.removed, report.documents) == (3, len(PAGES), 3)


async def test_another_embedder_builds_everything_anew(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    other = CountingEmbedder(embedder, window_words=0)

    report = await build(Generations(kb), sources_of(library), other, tell=ignore)

    assert (report.generation, report.embedded, report.unchanged) == (2, report.chunks, len(PAGES) + 3)
    assert rows(kb, "SELECT DISTINCT length(windows) FROM vector") == [(0,)]


async def test_an_embedder_that_fails_halfway_leaves_the_old_generation_and_no_rubbish(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    failing = CountingEmbedder(embedder)
    failing.fail_after = 0

    with pytest.raises(EmbedderFailed):
        await build(Generations(kb), sources_of(library), failing, tell=ignore)

    assert Generations(kb).named() == 1
    assert names(kb) == {"gen-000001"}


async def test_a_damaged_generation_is_built_again_from_the_source(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    database = kb / "gen-000001" / "kb.sqlite"
    with database.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xee" * 30_000)

    report = await rebuild(kb, library, embedder)

    assert (report.generation, report.embedded) == (2, report.chunks)


async def test_a_lost_vector_index_is_made_from_the_stored_vectors(
    kb: Path, library: Path, embedder: TableEmbedder
) -> None:
    shutil.rmtree(kb / "gen-000001" / "chroma")
    counting = CountingEmbedder(embedder)
    counting.name = embedder.name

    report = await repair(Generations(kb), counting, tell=ignore)

    assert (report.generation, report.embedded, chroma_count(kb)) == (2, 0, report.chunks)
    assert not [text for text in counting.texts if "30 days of delivery, as long" in text and "\n" in text]


async def test_only_two_generations_are_kept(kb: Path, library: Path, embedder: TableEmbedder) -> None:
    for number in range(3):
        (library / "hours.txt").write_text(f"Open until {number + 5} in the evening.\n")
        await rebuild(kb, library, embedder)

    assert names(kb) == {"gen-000003", "gen-000004"}


async def test_no_chunk_is_too_large_in_a_language_that_the_estimate_underrates(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    page = tmp_path / "library" / "id.md"
    page.parent.mkdir()
    page.write_text("# Pengiriman\n\n" + "Pengiriman dilakukan setiap hari kerja dan nomor resi dikirim. " * 200)

    await rebuild(tmp_path / "kb", page.parent, embedder)

    texts = rows(tmp_path / "kb", "SELECT heading || char(10) || text FROM chunk")
    assert max(embedder.count_tokens(str(text)) for (text,) in texts) <= LIMIT


async def test_progress_names_every_phase(tmp_path: Path, library: Path, embedder: TableEmbedder) -> None:
    heard: list[Progress] = []

    await build(Generations(tmp_path / "kb"), sources_of(library), embedder, tell=heard.append)

    assert list(dict.fromkeys(progress.phase for progress in heard)) == [
        "scan",
        "read",
        "cut",
        "embed",
        "index",
        "calibrate",
        "verify",
    ]


def test_the_floor_lies_where_foreign_questions_do_not_reach(kb: Path) -> None:
    current = Generations(kb).current()
    assert current is not None

    thresholds, by_words = current.manifest.thresholds, current.manifest.words_thresholds
    assert 0.3 < thresholds.perhaps <= thresholds.clearly < 1
    assert 0.1 < by_words.perhaps < thresholds.perhaps
    assert by_words.clearly < thresholds.clearly


def test_a_base_reads_back_what_it_holds(kb: Path) -> None:
    current = Generations(kb).current()
    assert current is not None
    reader = CatalogReader(current.database)

    (passage,) = reader.passages([reader.sample(1)[0][0]])
    assert passage.title
    assert reader.passages([10**9]) == []
    reader.check()
    reader.close()


def test_the_command_line_wants_a_source_or_a_repair(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        builder.main(["--root", "kb"])

    assert "--source" in capsys.readouterr().err
