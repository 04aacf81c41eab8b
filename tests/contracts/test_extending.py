"""The pages of docs/extending: what they name exists, and the how-tos name what the code has."""

import re
from pathlib import Path

import pytest

from tests.contracts.tree import ROOT, python_files, read

pytestmark = pytest.mark.contract

QUESTION = re.compile(r"^\| (.+\?) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
HOW_TOS = sorted(path.name for path in (ROOT / "docs" / "extending").glob("add-*.md"))
ROW = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
NEW_LANGUAGE = re.compile(r"/nl(?:\.yml|/)")
QUESTIONS = 20


def test_twenty_questions_of_newcomers_have_answers_in_the_code() -> None:
    questions = QUESTION.findall(read("docs/extending/README.md"))
    assert len(questions) == QUESTIONS
    misses = [
        (question, file, name)
        for question, file, answer in questions
        for name in re.findall(r"`([^`/]+)`", answer)
        if not _is_named(name, file)
    ]
    assert misses == []


def _is_named(name: str, file: str) -> bool:
    """Whether the file, or for a prompt the code that reads it, has the name."""
    text = read(file) if file.endswith((".py", ".yml")) else read("bot/desk/prompts.py")
    return re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", text) is not None


def test_the_index_names_every_how_to() -> None:
    index = read("docs/extending/README.md")
    assert [name for name in HOW_TOS if f"]({name})" not in index] == []


@pytest.mark.parametrize("page", HOW_TOS)
def test_a_how_to_names_files_that_exist(page: str) -> None:
    """Files in the first column of a table; a new file is marked as new, or is one of the new language."""
    cells = [cell for cell in ROW.findall(read(f"docs/extending/{page}")) if "(new)" not in cell]
    files = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell) if "/" in name or name == ".env.example"]
    assert files
    missing = [name for name in files if not any(ROOT.glob(name)) and not NEW_LANGUAGE.search(name)]
    assert missing == []


@pytest.mark.parametrize("page", HOW_TOS)
def test_a_how_to_runs_tests_that_exist(page: str) -> None:
    paths = re.findall(
        r"(?<!\S)tests/[\w/]+(?:\.py)?", "\n".join(re.findall(r"pytest .*", read(f"docs/extending/{page}")))
    )
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", HOW_TOS)
def test_a_how_to_names_what_the_code_has(page: str) -> None:
    """Constants and tests, in the text and in the code: a page must not outlive their names."""
    text = read(f"docs/extending/{page}")
    names = {*CONSTANT.findall(text), *re.findall(r"`(test_\w+)`", text)} - EXAMPLES
    code = "\n".join(
        path.read_text("utf-8") for path in python_files("bot", "knowledge", "tests") if path != Path(__file__)
    )
    known = code + read(".env.example")
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", known)] == []


CONSTANT = re.compile(r"(?<![\w.-])_?[A-Z]{3,}(?:_[A-Z]+)*(?![\w-])")
EXAMPLES = {"CONCURRENT_DRAFTS", "CONTRIBUTING", "FOLDER", "README", "_TIMES"}
"""What a how-to adds, documents, and what the reader fills in."""
