"""The vocabulary of docs/glossary.md: retired identifiers stay away, and what the glossary names exists."""

import re
import tokenize
from pathlib import Path

import pytest

from tests.contracts.tree import PRODUCT, ROOT, python_files, read

pytestmark = pytest.mark.contract

RETIRED = {
    "Alignment": "IndexReplication",
    "Blotter": "Quotations",
    "CallingOver": "HandoverRequests",
    "Calm": "AdmissionControl",
    "Deed": "ClaimedAction or AuditEntry",
    "Figures": "PeriodMetrics",
    "Floor": "OwnershipGuard",
    "Floors": "Thresholds",
    "Governor": "RateLimiter",
    "Hands": "EpochReader",
    "Heard": "IncomingMessage",
    "Interruption": "Interrupt",
    "Ladder": "SlaTimers",
    "PLACES": "FAILPOINTS",
    "Places": "FairSemaphore",
    "Presses": "Interactions",
    "SecondThoughts": "MessageEdits",
    "Redactor": "Quotations",
    "Seat": "StreamSlot",
    "Speech": "StreamState",
    "Spent": "RunUsage or DailySpending",
    "Standing": "MemberType",
    "Talk": "Worker",
    "Taking": "RetryingRunner",
    "Wish": "InterruptKind",
    "deed": "action",
    "deeds": "actions",
    "governor": "rate_limiter",
    "hands": "epoch",
    "how_it_stands": "status_text",
    "ladder": "sla",
    "may_stand": "is_grounded",
    "rung": "step",
    "second_thoughts": "edits",
    "way_of": "choose_pattern",
    "whisper": "ephemeral",
    "whispers": "ephemerals",
    "wish": "interrupt",
    "wishes": "interrupts",
}
"""Identifiers that are no longer used, each with the word that took its place."""
RETIRED_MODULES = {
    *("alignment", "calling_over", "calm", "deeds", "figures", "governor", "hands", "interruptions", "ladder"),
    *("outside", "places", "presses", "second_thoughts", "shelf", "wishes"),
}


def named_files() -> list[Path]:
    """Every Python file of the product and its tests.

    Migrations know the names of before, and the demo has a vocabulary of its own.
    """
    apart = ("migrations", "tests/demo")
    return [path for path in python_files(*PRODUCT, "tests") if not any(each in path.as_posix() for each in apart)]


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
    assert [str(path) for path in python_files(*PRODUCT) if path.stem in RETIRED_MODULES] == []


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
