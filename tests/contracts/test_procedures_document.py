"""docs/reference/procedures.md says what the code does."""

import re
from typing import get_args

import pytest

from bot.procedures.file import (
    FORMS,
    MOST_FILES,
    SIZE_LIMIT,
    TEXT_LIMIT,
    HandOverReason,
    Kind,
    ValueType,
    parse_procedure,
    read_procedures,
)
from tests.contracts.tree import ROOT, read

pytestmark = pytest.mark.contract

DOCUMENT = read("docs/reference/procedures.md")
ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


def rows(heading: str) -> set[str]:
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {name for name, _, _ in ROW.findall(section)}


def test_every_key_every_type_every_kind_and_every_limit_is_there() -> None:
    assert rows("Keys") == set(FORMS) - {""}
    assert rows("Types") == set(get_args(ValueType))
    words = set(re.findall(r"`([a-z_]+)`", DOCUMENT))
    assert {*get_args(Kind), *get_args(HandOverReason)} <= words
    for limit in (f"{SIZE_LIMIT:,} bytes", f"{MOST_FILES} files", f"{TEXT_LIMIT:,} characters"):
        assert limit in DOCUMENT


def test_the_example_is_a_procedure() -> None:
    (block,) = re.findall(r"^```markdown\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert parse_procedure(block).name == "damaged-item"


def test_the_procedures_that_ship_have_no_fault() -> None:
    assert [*read_procedures(ROOT / "demo" / "procedures")] == [
        "cancel-order",
        "damaged-item",
        "late-parcel",
        "wrong-address",
    ]
