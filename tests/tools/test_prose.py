"""The report on stiff English finds what it says, where it is."""

from pathlib import Path

from tools import prose


def kinds(path: Path) -> list[tuple[int, str]]:
    return [(each.line, each.kind) for each in prose.find_all([path])]


def test_words_to_avoid_long_sentences_and_dates_are_found_in_a_document_but_not_in_its_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "The reader is told so.\n\n```sh\nwhoever shall\n```\n\n"
        f"It was {'very ' * 30}long.\n\nIt changed on 2026-11-23.\n\nPlain `whoever` and [a link](whoever.md).\n"
    )
    assert kinds(page) == [(1, "word"), (7, "long sentence"), (9, "ISO date")]


def test_a_docstring_under_a_field_that_begins_in_the_middle_of_a_sentence_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('A = 1\n"""Whole sentences are fine."""\nB = 2\n"""and this one goes on."""\n')
    assert kinds(module) == [(4, "half sentence")]


def test_the_sentences_of_a_locale_are_read(tmp_path: Path) -> None:
    locale = tmp_path / "en.yml"
    locale.write_text('name: English\nsentences:\n  one: "Whoever asks is answered."\n  two: "You get an answer."\n')
    assert kinds(locale) == [(1, "word")]
