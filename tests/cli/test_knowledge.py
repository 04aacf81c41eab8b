"""`frontdesk kb`, as an operator runs it."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from aiohttp import web

from demo.ports import listening
from tests.patience import patience

ROOT = Path(__file__).parents[1]
SECONDS = patience(60.0)


class Ran(NamedTuple):
    """What a command came to."""

    status: int
    out: str
    err: str


async def frontdesk(*arguments: str | Path, cwd: Path, **environ: str) -> Ran:
    """Run a command with these variables and no others of Frontdesk's."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "bot", *map(str, arguments)),
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": str(ROOT), **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A few pages, a table of questions, and what is for staff alone; a file that lists them."""
    for name, text in {
        "help/returns.md": "# Returns\n\nYou can return boots within 30 days if they are unused.\n",
        "help/repairs.md": "# Repairs\n\nWe repair tents and stoves in our workshop in two weeks.\n",
        "faq.csv": "id,question,answer\nQ7,Do you ship to Iceland?,Yes. It takes nine days and costs 30 EUR.\n",
        "notes/goodwill.md": "# Goodwill\n\nUp to 25 EUR may be granted without asking the shift lead.\n",
        "kb.yml": (
            "sources:\n  - {name: help, folder: help}\n  - {name: faq, file: faq.csv}\n"
            "  - {name: notes, folder: notes, audience: internal}\n"
        ),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.long
async def test_an_index_is_built_searched_and_rolled_back_without_any_setting(pages: Path) -> None:
    built = await frontdesk("kb", "build", "kb.yml", "--index", "index", cwd=pages)
    assert built.status == 0, built.err
    assert "3 added" in built.out
    assert "Internal knowledge base" in built.out
    assert "embedding 3" in built.err
    assert "\r" not in built.err, "plain lines where nobody looks"

    status = await frontdesk("kb", "status", "--index", "index", cwd=pages)
    assert "generation 1" in status.out
    assert "3 documents" in status.out

    searched = await frontdesk(
        "kb", "search", "ship", "to", "Iceland?", "--source", "faq", "--index", "index", cwd=pages
    )
    assert "faq/faq.csv#Q7" in searched.out
    assert "returns.md" not in searched.out

    refused = await frontdesk("kb", "rollback", "--index", "index", cwd=pages)
    assert (refused.status, refused.out) == (1, "")
    assert "no older generation" in refused.err
    changed = pages / "help" / "returns.md"
    await asyncio.to_thread(
        changed.write_text, "# Returns\n\nYou can return boots within 60 days if they are unused.\n"
    )
    again = await frontdesk("kb", "build", "kb.yml", "--only", "help", "--index", "index", cwd=pages)
    assert "1 changed" in again.out
    assert "Internal" not in again.out
    assert "generation 1 serves again" in (await frontdesk("kb", "rollback", "--index", "index", cwd=pages)).out


@pytest.mark.long
async def test_a_damaged_index_is_told_by_who_only_looks_and_mended_by_a_build(pages: Path) -> None:
    await frontdesk("kb", "build", "help", "--index", "index", cwd=pages)
    (pages / "index" / "gen-000001" / "chroma" / "chroma.sqlite3").write_bytes(b"damaged")
    for _ in range(2):
        status = await frontdesk("kb", "status", "--index", "index", cwd=pages)
        assert "The vector index" in status.out
        assert "generation 1" in status.out
        searched = await frontdesk("kb", "search", "return boots", "--index", "index", cwd=pages)
        assert "Searched by words only" in searched.out
        assert "made anew" not in status.err + searched.err

    built = await frontdesk("kb", "build", "help", "--index", "index", cwd=pages)
    assert built.status == 0, built.err
    status = await frontdesk("kb", "status", "--index", "index", cwd=pages)
    assert "generation 2" in status.out
    assert "The vector index" not in status.out


async def test_many_questions_are_asked_in_one_go(pages: Path) -> None:
    await frontdesk("kb", "build", "faq.csv", "--index", "index", cwd=pages)
    asked = [{"qid": "a", "question": "Do you ship to Iceland?"}, {"qid": "b", "question": "zzz"}]
    lines = "".join(json.dumps(each) + "\n" for each in asked) + "\n"
    await asyncio.to_thread((pages / "questions.jsonl").write_text, lines)
    ran = await frontdesk(
        "kb", "search", "--index", "index", "--questions", "questions.jsonl", "--out", "results.jsonl", cwd=pages
    )
    assert (ran.status, ran.out) == (0, ""), ran.err
    first, second = map(json.loads, (await asyncio.to_thread((pages / "results.jsonl").read_text)).splitlines())
    assert (first["qid"], first["results"][0]["doc"], second["qid"]) == ("a", "Q7", "b")
    assert "nine days" in first["results"][0]["text"]
    assert first["confidence"] > second["confidence"]
    to_screen = await frontdesk("kb", "search", "--index", "index", "--questions", "questions.jsonl", cwd=pages)
    assert len(to_screen.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("search", "--index", "index"), 2, "either a text or --questions"),
        (("search", "boots", "--index", "nowhere"), 1, "No knowledge base has been built yet."),
        (("build", "nowhere", "--index", "index"), 2, "there is no nowhere"),
        (("build", "--index", "index"), 1, "nothing to read"),
        (("build", "kb.yml", "--only", "docs", "--index", "index"), 1, "There is no source docs. There are: help, faq"),
        (("build", "broken.yml", "--index", "index"), 2, "is not YAML"),
        (("search", "--questions", "broken.yml", "--index", "index"), 2, "line 1 has no qid and question"),
        (
            ("search", "--questions", "nowhere", "--index", "index"),
            2,
            "nowhere cannot be read (No such file or directory)",
        ),
        (
            ("search", "--questions", "none.jsonl", "--out", "nowhere/x", "--index", "index"),
            2,
            "--out: nowhere/x cannot be written (No such file or directory)",
        ),
        (("gaps",), 2, "no database"),
    ],
)
async def test_what_cannot_be_done_is_one_line_and_a_status(
    pages: Path, arguments: tuple[str, ...], status: int, told: str
) -> None:
    await asyncio.to_thread((pages / "broken.yml").write_text, "sources: [")
    await asyncio.to_thread((pages / "none.jsonl").write_text, "")
    if "--questions" in arguments:
        await frontdesk("kb", "build", "faq.csv", "--index", "index", cwd=pages)
    ran = await frontdesk("kb", *arguments, cwd=pages)
    assert ran.status == status
    assert told in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err


@pytest.mark.long
async def test_a_base_of_another_embedder_is_not_asked_by_vectors_until_it_is_built_again(pages: Path) -> None:
    await frontdesk("kb", "build", "help", "--index", "index", cwd=pages)
    other = {
        "EMBEDDING_MODEL": "text-embedding-3-small",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9",
    }
    status = await frontdesk("kb", "status", "--index", "index", cwd=pages, **other)
    assert "another embedder" in status.out
    assert "build it again" in status.out
    searched = await frontdesk("kb", "search", "return boots", "--index", "index", cwd=pages, **other)
    assert "by words only" in searched.out
    assert "returns.md" in searched.out


async def test_a_file_is_tried_before_anything_is_built(pages: Path) -> None:
    tried = await frontdesk("kb", "try", "help/returns.md", "--sources", "kb.yml", cwd=pages)
    assert tried.status == 0, tried.err
    for expected in ("help/returns.md: 1 document, 1 passage", "in the source help, for customers", "You can return"):
        assert expected in tried.out
    assert not (pages / "data").exists(), "nothing is written"

    escapes = "# Colours\n\nA line with \x1b[31mred\x1b[0m and the bidi \u202eoverride\u202c.\n"
    await asyncio.to_thread((pages / "colours.md").write_text, escapes)
    alone = await frontdesk("kb", "try", "colours.md", cwd=pages)
    assert "in no source" in alone.out
    assert "2 direction overrides" in alone.out
    assert "\x1b" not in alone.out

    refused = await frontdesk("kb", "try", "kb.yml", cwd=pages)
    assert (refused.status, refused.out) == (2, "")
    assert "neither a folder nor one of" in refused.err


async def test_broken_links_are_a_table_and_an_exit_status(pages: Path) -> None:
    async def fine(_: web.Request) -> web.Response:
        return web.Response(text="fine")

    app = web.Application()
    app.router.add_get("/help/repairs", fine)
    async with listening(app) as root:
        url = f"{root}/help/"
        listed = f'sources:\n  - {{name: help, folder: help, url: "{url}", private: true}}\n'
        await asyncio.to_thread((pages / "kb.yml").write_text, listed)
        await frontdesk("kb", "build", "kb.yml", "--index", "index", cwd=pages)
        checked = await frontdesk("kb", "check-links", "--index", "index", cwd=pages, KB_PATH="kb.yml")
    assert checked.status == 1, checked.err
    broken, total = checked.out.splitlines()
    assert broken.split() == ["broken", f"{url}returns", "404", "(help/returns.md)"]
    assert total == "2 addresses: 1 broken, 1 fine"
    none = await frontdesk("kb", "check-links", "--index", "nowhere", cwd=pages)
    assert (none.status, "No knowledge base has been built yet." in none.err) == (2, True)
