"""README and docs point at what exists: files, folders, make targets."""

import re

import pytest

from bench.figures import load, table
from bench.plot import picture
from tests.conftest import FIRST, ON_BOTH, OWN_SQL
from tests.contracts.tree import ROOT, TESTS, python_files, read

pytestmark = pytest.mark.contract

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("local_slack/*.md"), *ROOT.glob("docs/**/*.md"))
    if path.is_file()
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PICTURE = re.compile(r"<(?:img|source)\b[^>]*\b(?:src|srcset)=\"([^\"\s]+)\"")
MAX_PICTURE_BYTES = {".webp": 1_500_000}
"""What a picture may weigh: a moving one more than others."""
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_within_the_repository_lead_somewhere(document: str) -> None:
    folder = (ROOT / document).parent
    found = [*LINK.findall(read(document)), *PICTURE.findall(read(document))]
    targets = [link.partition("#")[0] for link in found if "://" not in link]
    assert [target for target in targets if target and not (folder / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_to_a_heading_find_it(document: str) -> None:
    links = [link.partition("#") for link in LINK.findall(read(document)) if "://" not in link and "#" in link]
    folder = (ROOT / document).parent
    places = [((folder / path) if path else ROOT / document, anchor) for path, _, anchor in links]
    assert [f"{path.name}#{anchor}" for path, anchor in places if anchor not in _anchors(path.read_text("utf-8"))] == []


def _anchors(text: str) -> set[str]:
    """The anchors of a document's headings, in GitHub's form."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading) for heading in HEADING.findall(FENCE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def test_every_picture_is_shown_in_a_document_and_soon_there() -> None:
    pictures = [*(ROOT / "docs" / "images").iterdir()]
    texts = [read(document) for document in DOCUMENTS]
    shown = {link.rpartition("/")[2] for text in texts for each in (LINK, PICTURE) for link in each.findall(text)}
    assert [path.name for path in pictures if path.name not in shown] == []
    weights = {path.name: (path.stat().st_size, MAX_PICTURE_BYTES.get(path.suffix, 300_000)) for path in pictures}
    assert [name for name, (size, limit) in weights.items() if size > limit] == []


def test_the_table_and_the_picture_of_the_loop_show_what_was_measured() -> None:
    clients = load(ROOT / "bench" / "figures.json")
    assert table(clients) in read("docs/benchmarks.md")
    assert read("docs/images/loop-bench.svg") == picture(clients)


def test_the_index_of_documents_names_each_page() -> None:
    listed = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in LINK.findall(read("docs/README.md"))}
    pages = [path for path in DOCUMENTS if path != "docs/README.md" and not path.startswith("docs/decisions/")]
    assert [page for page in pages if (ROOT / page).resolve() not in listed] == []


@pytest.mark.parametrize("document", [*DOCUMENTS, ".ci/run"])
def test_make_targets_that_are_spoken_of_exist(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^\s*)make ([a-z-]+)", read(document), re.MULTILINE)) <= targets


@pytest.mark.parametrize("mark", ["browser", "clients", "contract"])
def test_tests_of_a_mark_are_where_make_looks_for_them(mark: str) -> None:
    lines = re.findall(rf'PYTEST\) -m "?{mark}\b.*', read("Makefile"))
    folders = [
        ROOT / folder for line in lines for folder in re.findall(r" ((?:local_slack/)?tests/[\w/]+)(?!\S)", line)
    ]
    tests = (path for path in python_files(*TESTS) if path.name.startswith("test_"))
    marked = [path for path in tests if f"pytest.mark.{mark}" in path.read_text("utf-8")]
    assert marked
    assert [path for path in marked if not any(path.is_relative_to(folder) for folder in folders)] == []


@pytest.mark.parametrize("document", ["Makefile", ".ci/run"])
def test_files_of_tests_that_are_run_by_name_exist(document: str) -> None:
    named = re.findall(r"(?<![\w/])(?:local_slack/)?tests/[\w/]+\.py", read(document))
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("places", [ON_BOTH, OWN_SQL, FIRST], ids=["ON_BOTH", "OWN_SQL", "FIRST"])
def test_tests_with_a_place_in_the_run_are_where_that_place_says(places: tuple[str, ...]) -> None:
    tests = [path.relative_to(ROOT / "tests").as_posix() for path in python_files("tests")]
    assert [place for place in places if not any(test.startswith(place) for test in tests)] == []


def test_the_map_of_the_tree_is_true_and_names_every_folder() -> None:
    (block,) = [block for block in FENCE.findall(read("CONTRIBUTING.md")) if "handlers/" in block]
    named: list[str] = []
    folder = ""
    for line in block.splitlines():
        entries = re.split(r"\s{2,}", line.strip())[0].split(", ")
        is_nested = line.startswith(" ")
        named += [f"{folder}{entry}" if is_nested else entry for entry in entries]
        folder = folder if is_nested else entries[0]
    assert [name for name in named if not (ROOT / name).exists()] == []
    ignored = {line.strip("/") for line in read(".gitignore").splitlines()}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    packages = {f"bot/{path.parent.name}/" for path in (ROOT / "bot").glob("*/__init__.py")}
    assert {f"{name}/" for name in folders - ignored} | packages <= set(named)


def test_the_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
