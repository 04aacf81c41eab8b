"""Sources: what is read, what is left out and why."""

import os
from pathlib import Path

import pytest

from knowledge.documents import Document
from knowledge.errors import SourceUnreadable
from knowledge.sources import files
from knowledge.sources.files import Quarantined, Unfit, list_files, read_bytes
from knowledge.sources.reader import read_documents


def read(name: str, content: bytes) -> list[Document | Quarantined]:
    return list(read_documents(name, Path(name).suffix.lower(), content))


def documents(found: list[Document | Quarantined]) -> list[Document]:
    return [one for one in found if isinstance(one, Document)]


def reasons(found: list[Document | Quarantined]) -> dict[str, str]:
    return {one.name: one.reason for one in found if isinstance(one, Quarantined)}


def test_a_folder_is_listed_with_paths_relative_to_it_and_without_hidden_or_foreign_files(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.txt", "a/logo.png", ".git/config.md", "a/.draft.md", "faq.CSV"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")

    listing = list_files(tmp_path)

    assert [file.path for file in listing.files] == ["a/c.txt", "b.md", "faq.CSV"]
    assert listing.quarantined == ()


def test_links_pipes_and_giants_are_left_out_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files.SUFFIXES, ".md", 1_000_000)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    (folder / "giant.md").write_bytes(b"x" * 1_000_001)
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("named in Latin-1")

    listing = list_files(folder)

    assert listing.files == ()
    assert {one.name: one.reason for one in listing.quarantined} == {
        "link.md": "a symbolic link",
        "linked": "a symbolic link",
        "pipe.md": "not a regular file",
        "giant.md": "larger than 1 MB",
        "caf?.md": "a name that is not UTF-8",
    }


def test_a_file_swapped_for_a_pipe_or_a_link_after_the_listing_is_not_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("harmless")
    (file,) = list_files(tmp_path).files
    page.unlink()
    os.mkfifo(page)

    with pytest.raises(Unfit, match="not a regular file"):
        read_bytes(file)

    page.unlink()
    page.symlink_to("/etc/hostname")
    with pytest.raises(Unfit, match="cannot be read"):
        read_bytes(file)


@pytest.mark.parametrize("name", ["missing", "page.odt"])
def test_a_source_that_is_missing_or_of_no_known_kind_is_an_error_of_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / "page.odt").write_text("x")

    with pytest.raises(SourceUnreadable, match=name):
        list_files(tmp_path / name)


NO_OTHER = ", and no other encoding fits it clearly: save it as UTF-8"


def test_a_page_that_is_no_text_says_why() -> None:
    rows = [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"caf\x8f\xd5\x90\xf7", f"not UTF-8 text (byte 3){NO_OTHER}"),
        (b"\xd0\xcf\x11\xe0\xa1", f"not UTF-8 text (byte 0){NO_OTHER}"),
        (b"PK\x03\x04\x00\x00", "binary, not text"),
        (b"\xff\xfea", "damaged UTF-16 text"),
    ]
    misses = [
        (content, got) for content, reason in rows if (got := reasons(read("page.md", content))) != {"page.md": reason}
    ]
    assert misses == []


def test_utf_16_with_its_mark_and_utf_8_with_its_own_are_read() -> None:
    assert documents(read("a.txt", "Größe".encode("utf-16")))[0].text == "Größe"
    assert documents(read("a.txt", "Größe".encode("utf-8-sig")))[0].text == "Größe"


def test_a_faq_gives_one_document_a_row() -> None:
    table = (
        b"id,Question,ANSWER,url,category,last_updated\n"
        b'r1,How long?,"Two days.\nOr three.",https://example.com/x,shipping,2026-01-02\n'
    )

    (entry,) = documents(read("faq.csv", table))

    assert (entry.id, entry.title, entry.text) == ("faq.csv#r1", "How long?", "Two days.\nOr three.")
    assert (entry.url, entry.category, entry.last_updated) == ("https://example.com/x", "shipping", "2026-01-02")


def test_a_row_without_an_id_is_known_by_its_question_wherever_it_stands() -> None:
    first = documents(read("faq.csv", b"question,answer\nA?,a\nB?,b\n"))
    second = documents(read("faq.csv", b"question,answer\nB?,b\nA?,a\n"))

    assert {entry.id for entry in first} == {entry.id for entry in second}


def test_semicolons_and_tabs_separate_columns_too() -> None:
    assert documents(read("faq.csv", b"question;answer\nWas, wann?;Heute, gleich.\n"))[0].text == "Heute, gleich."
    assert documents(read("faq.csv", b"question\tanswer\nA?\tb\n"))[0].text == "b"


def test_bad_rows_are_left_out_one_by_one() -> None:
    found = read("faq.csv", b"id,question,answer\n1,A?,a\n2,,b\n3,C?,\n1,D?,d\n4,E?\n5,F?,f,more\n")

    assert [entry.title for entry in documents(found)] == ["A?", "F?"]
    assert reasons(found) == {
        "faq.csv row 3": "no question",
        "faq.csv row 4": "no answer",
        "faq.csv row 5": "the same id or question as an earlier row",
        "faq.csv row 6": "no answer",
    }


def test_a_table_without_the_two_columns_or_with_a_giant_cell_is_left_out_whole() -> None:
    assert reasons(read("prices.csv", b"sku,price\n1,2\n")) == {"prices.csv": "no columns named question and answer"}
    giant = read("faq.csv", b"question,answer\nA?," + b"x" * 1_100_000 + b"\n")
    assert "not a readable table" in reasons(giant)["faq.csv"]
