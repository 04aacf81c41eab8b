"""The vocabulary of docs/glossary.md: retired identifiers stay away, and what the glossary names exists."""

import re
import tokenize
from pathlib import Path

import pytest

from tests.contracts.tree import PRODUCT, ROOT, python_files, read

pytestmark = pytest.mark.contract

RETIRED = {
    "Alignment": "IndexReplication",
    "Blotter": "Redactor",
    "Calm": "AdmissionControl",
    "Floor": "OwnershipGuard",
    "Governor": "RateLimiter",
    "Hands": "EpochReader",
    "Ladder": "SlaTimers",
    "Places": "FairSemaphore",
    "SecondThoughts": "MessageEdits",
    "Seat": "StreamSlot",
    "Standing": "MemberType",
    "Taking": "RetryingRunner",
    "governor": "rate_limiter",
    "how_it_stands": "status_text",
    "ladder": "sla",
    "may_stand": "is_grounded",
    "rung": "step",
    "second_thoughts": "edits",
    "way_of": "choose_pattern",
    "whisper": "ephemeral",
    "whispers": "ephemerals",
}
"""Identifiers that are no longer used, each with the word that took its place."""
RETIRED_MODULES = {"alignment", "calm", "governor", "hands", "ladder", "places", "second_thoughts"}
FOLDERS = (*PRODUCT, "bench", "demo", "evals", "local_slack", "tests", "tools")


def named_files() -> list[Path]:
    """Every Python file but this one and the migrations, which are as they were when they were written."""
    return [path for path in python_files(*FOLDERS) if path != Path(__file__) and "migrations" not in path.parts]


def test_no_retired_identifier_is_used() -> None:
    used = []
    for path in named_files():
        with path.open("rb") as file:
            names = {token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.NAME}
        used += [
            f"{path.relative_to(ROOT)}: {name} is {RETIRED[name.strip('_')]} now"
            for name in sorted(names)
            if name.strip("_") in RETIRED
        ]
    assert used == []


def test_no_module_has_a_retired_name() -> None:
    assert [str(path) for path in named_files() if path.stem.removeprefix("test_") in RETIRED_MODULES] == []


def test_the_glossary_is_sorted_and_names_what_exists() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", read("docs/glossary.md"), re.MULTILINE)[1:]
    rows = [row for row in rows if not row[0].startswith("---")]
    terms = [term for term, _ in rows]
    assert terms == sorted(terms, key=str.casefold)
    source = "\n".join(path.read_text("utf-8") for path in python_files(*PRODUCT))
    for term, where in rows:
        for name in re.findall(r"`([^`]+)`", where):
            if "/" in name:
                assert (ROOT / name).is_file(), f"{term}: there is no {name}"
            else:
                assert re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", source), (
                    f"{term}: nothing is named {name}"
                )
