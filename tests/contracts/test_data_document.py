"""Every table has its place in docs/reference/data.md: its retention, and what an erasure, a backup and a move do."""

import re

import pytest

from bot.privacy.retention import Retention
from bot.store import schema
from bot.store.copying import LEFT_BEHIND
from tests.contracts.tree import read
from tests.turns.test_erasure import IMPERSONAL
from tests.turns.test_retention import LASTING

pytestmark = pytest.mark.contract

ROW = re.compile(r"^\| `([a-z_]+)` \| (.+?) \| ([a-z, ]+) \| ([a-z]+) \| ([a-z]+) \| ([a-z]+) \|$", re.MULTILINE)
KEPT = {"words", "records", "delivery", "short", "lasting"}
ERASURES = {"emptied", "deleted", "unnamed", "nothing"}
PERSONAL = {"author", "customer", "person", "actor"}
"""The columns that name somebody."""
STAFF_ONLY = {"case_helper.person", "action_vote.person", "fixed.person"}

TABLES = {row[0]: row[1:] for row in ROW.findall(read("docs/reference/data.md"))}


def kept_as(table: str) -> set[str]:
    return set(TABLES[table][1].split(", "))


def test_every_table_is_classified_and_no_other() -> None:
    assert list(TABLES) == list(schema.metadata.tables)


@pytest.mark.parametrize("table", schema.metadata.tables)
def test_the_class_of_a_table_is_one_of_those_that_exist(table: str) -> None:
    _, _, erasure, backup, move = TABLES[table]
    assert kept_as(table) <= KEPT
    assert (erasure in ERASURES, backup, move in ("yes", "no")) == (True, "yes", True)


@pytest.mark.parametrize("table", schema.metadata.tables)
def test_what_is_kept_for_good_is_what_a_sweep_leaves(table: str) -> None:
    """tests/turns/test_retention.py sweeps a whole desk and finds rows in no other table."""
    assert (table in LASTING) == bool({"lasting", "short"} & kept_as(table))


@pytest.mark.parametrize("table", schema.metadata.tables)
def test_what_names_or_quotes_a_customer_is_erased(table: str) -> None:
    """tests/turns/test_erasure.py erases a customer and finds them in no column but those."""
    personal = [
        name
        for column in schema.metadata.tables[table].columns
        if (name := f"{table}.{column.name}") not in IMPERSONAL | STAFF_ONLY
        and (column.name in PERSONAL or isinstance(column.type, schema.Words))
    ]
    assert not personal or TABLES[table][2] != "nothing", personal


def test_what_a_move_leaves_behind_is_what_the_document_says() -> None:
    """tests/store/test_moving.py moves the other tables."""
    assert {table for table in TABLES if TABLES[table][4] == "no"} == LEFT_BEHIND


def test_the_defaults_are_those_of_the_code() -> None:
    told = read("docs/reference/data.md")
    for kind in ("words", "records", "delivery"):
        assert f"| {kind} | {getattr(Retention(), kind)} days" in told
