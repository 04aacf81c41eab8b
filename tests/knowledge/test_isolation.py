"""Files that are made to do harm: each is left out with its reason, within bounds, and the rest is read."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge.build.process import build
from knowledge.documents import Document
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from knowledge.sources import isolation as module
from knowledge.sources.files import SUFFIXES, Quarantined, SourceFile, Unfit
from knowledge.sources.isolation import Isolation, ReadingLimits, open_isolation
from knowledge.sources.reader import read_documents
from tests.knowledge.bombs import BOMBS, comments_md, operators_pdf, quotes_md, wide_docx, wide_html, zip_docx
from tests.knowledge.conftest import ignore, sources_of
from tests.patience import patience

SLOW = {"wide.docx", "operators.pdf", "crowded.docx"}
"""Bombs that only the limits stop, after seconds; the others are told apart before."""
LONG = {
    "wide.html": wide_html(2_000),
    "comments.md": comments_md(50_000),
    "quotes.md": quotes_md(5_000),
}
"""Those that are documents in the end, in a size that is quickly embedded."""
TIGHT = ReadingLimits(cpu_seconds=2, wall_seconds=60.0)


@pytest.fixture
def isolation() -> Iterator[Isolation]:
    with open_isolation(TIGHT) as opened:
        yield opened


def read(isolation: Isolation, name: str, content: bytes) -> list[Document | Quarantined]:
    return isolation.read(SourceFile(name, Path(name), len(content), 0), content)


def reason(isolation: Isolation, name: str, content: bytes) -> str:
    (found,) = read(isolation, name, content)
    assert isinstance(found, Quarantined), found
    return found.reason


def is_usable(isolation: Isolation) -> bool:
    return [type(each) for each in read(isolation, "good.md", b"# Good\n\nWords.\n")] == [Document]


async def test_a_folder_of_bombs_is_built_but_for_them(tmp_path: Path, embedder: TableEmbedder) -> None:
    folder = tmp_path / "help"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nWords that can be read.\n")
    for name, make in BOMBS.items():
        if name not in SLOW | LONG.keys():
            (folder / name).write_bytes(make())
    for name, content in LONG.items():
        (folder / name).write_bytes(content)
    report = await build(Generations(tmp_path / "kb"), sources_of(folder), embedder, tell=ignore)
    assert {each.name: each.reason for each in report.quarantined} == {
        "attributes.html": "a tag with more than 500 attributes",
        "columns.csv": "more than 1,000 columns",
        "entities.docx": "declares entities of its own",
        "misnested.html": "elements nested deeper than 150",
        "nested.docx": "elements nested deeper than 200",
        "nested.ipynb": "not a readable notebook (RecursionError)",
        "nested.jsonl line 2": "not a JSON object",
        "unclosed.html": "elements nested deeper than 150",
        "zip.docx": "unpacks to more than 50 MB",
    }
    assert report.documents == 6


def test_processor_time_is_limited_for_each_file_and_the_next_one_is_read(isolation: Isolation) -> None:
    assert is_usable(isolation)
    assert reason(isolation, "wide.docx", wide_docx()) == "took longer than 2 s to read"
    assert is_usable(isolation)


def test_memory_is_limited_for_each_file_and_the_next_one_is_read() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux keeps to a limit of address space")
    with open_isolation(ReadingLimits(memory_bytes=96 << 20, pdf_memory_bytes=128 << 20)) as small:
        assert is_usable(small)
        assert reason(small, "a.docx", zip_docx()) == "takes more than 96 MB of memory to read"
        assert reason(small, "a.pdf", operators_pdf(60_000_000)) == "ended the process that read it (SIGABRT)"
        assert is_usable(small)


def test_the_deadline_alone_is_enough_where_the_system_limits_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_reading(monkeypatch, tmp_path, "resource.setrlimit = refuse", "import time; time.sleep(600)")
    with open_isolation(ReadingLimits(wall_seconds=3.0)) as limited:
        assert reason(limited, "a.md", b"words") == "took longer than 3 s to read"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("import os; os.kill(os.getpid(), 9)", "ended the process that read it (SIGKILL)"),
        ("import ctypes; ctypes.string_at(0)", "ended the process that read it (SIGSEGV)"),
        ("import os; os._exit(7)", "ended the process that read it (status 7)"),
        ("raise ArithmeticError", "cannot be read (ArithmeticError)"),
        ("return (_ for _ in ()).throw(RecursionError())", "cannot be read (RecursionError)"),
    ],
)
def test_whatever_ends_a_parser_is_the_files_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, expected: str
) -> None:
    replace_reading(monkeypatch, tmp_path, "", body)
    with open_isolation(TIGHT) as crashing:
        assert reason(crashing, "a.md", b"words") == expected


def test_a_file_is_not_blamed_for_what_earlier_ones_left_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dies_on_its_second = "import os; done.append(1); os._exit(3) if len(done) > 1 else None; return iter(())"
    replace_reading(monkeypatch, tmp_path, "done = []", dies_on_its_second)
    with open_isolation(TIGHT) as forgetful:
        assert [read(forgetful, "a.md", b"x") for _ in range(3)] == [[], [], []]


def replace_reading(monkeypatch: pytest.MonkeyPatch, folder: Path, before: str, body: str) -> None:
    """Have the child do something else than read documents."""
    program = folder / "program.py"
    program.write_text(
        "import resource, sys\n"
        "from knowledge.sources import reading\n"
        "def refuse(*_given): raise ValueError\n"
        f"{before}\n"
        f"def read_documents(path, suffix, content, **web):\n    {body}\n"
        "reading.read_documents = read_documents\n"
        "reading.main()\n"
    )
    monkeypatch.setattr(module, "PROGRAM", (str(program),))


def test_everything_that_is_read_comes_as_it_is_read_without_a_child(isolation: Isolation) -> None:
    table = "id,question,answer\n1,Wie lange?,Zwei Tage – „höchstens“. 😀\n2,,x\n".encode()
    page = "---\ntitle: Größe\nurl: https://example.com/a\nlast_updated: 2026-01-02\n---\nText.\u2028\n".encode()
    for name, content in {"faq.csv": table, "a.md": page, "b.txt": b"\xff", "c.html": b"<p>x"}.items():
        assert read(isolation, name, content) == list(read_documents(name, Path(name).suffix, content))
    assert set(SUFFIXES) > {".csv", ".md"}


def test_sitemaps_are_read_in_the_child_too(isolation: Isolation) -> None:
    listed = b"<urlset><url><loc> https://example.com/a </loc></url></urlset>"
    assert isolation.read_sitemap(listed) == (False, ["https://example.com/a"])
    assert isolation.read_sitemap(listed.replace(b"urlset", b"sitemapindex"))[0]
    nested = b"<urlset>" + b"<url>" * 100_000
    for hostile, expected in {nested: "nested deeper", b"<!DOCTYPE x []><urlset/>": "entities", b"no": "no"}.items():
        with pytest.raises(Unfit, match=expected):
            isolation.read_sitemap(hostile)


def test_no_child_is_started_before_there_is_something_to_read_and_none_is_left(tmp_path: Path) -> None:
    before = children()
    with open_isolation(TIGHT) as opened:
        assert children() == before
        assert is_usable(opened)
        (child,) = children() - before
    assert children() == before
    with pytest.raises(ProcessLookupError):
        os.kill(child, signal.SIG_DFL)


def children() -> set[int]:
    found = subprocess.run(["pgrep", "-P", str(os.getpid())], stdout=subprocess.PIPE, text=True, check=False)
    mine = {int(line) for line in found.stdout.split()}
    return {pid for pid in mine if Path(f"/proc/{pid}").exists()}


def test_the_child_ends_with_its_builder(tmp_path: Path) -> None:
    program = (
        "import os, signal\nfrom pathlib import Path\n"
        "from knowledge.sources.isolation import Isolation, ReadingLimits\n"
        "from knowledge.sources.files import SourceFile\n"
        "isolation = Isolation(ReadingLimits())\nisolation.read(SourceFile('a.md', Path('a.md'), 1, 0), b'words')\n"
        "print(isolation._child._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False, timeout=patience(60))
    child = int(ended.stdout)
    for _ in range(600):
        try:
            os.kill(child, 0)
            subprocess.run(["sleep", "0.1"], check=True)
        except ProcessLookupError:
            return
    raise AssertionError(f"{child} is still there")


def test_no_key_reaches_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    replace_reading(
        monkeypatch, tmp_path, "import os", "raise (KeyError if 'OPENAI_API_KEY' in os.environ else ValueError)"
    )
    with open_isolation(TIGHT) as opened:
        assert reason(opened, "a.md", b"words") == "cannot be read (ValueError)"
