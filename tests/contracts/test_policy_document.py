"""docs/reference/policy.md says what the code does."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.actions.clauses import LIST_LIMIT, OPERATORS
from bot.actions.facts import FACTS
from bot.actions.patterns import LENGTH_LIMIT
from bot.actions.policy import SEVERITY, because_in, judge
from bot.actions.policy_file import BUILT_IN_REASONS, FORMS, OWN_RULES, SIZE_LIMIT, Policy, read_policy
from bot.language.sentences import load_sentences
from bot.shops.actions import ActionKind
from bot.shops.port import Money
from tests.contracts.tree import read

pytestmark = pytest.mark.contract

DOCUMENT = read("docs/reference/policy.md")
ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


def rows(heading: str) -> dict[str, tuple[str, str]]:
    """The rows of a section's tables."""
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {name: (one, other) for name, one, other in ROW.findall(section)}


def test_the_table_of_facts_is_the_list_of_the_code() -> None:
    expected = {}
    for name, fact in FACTS.items():
        choices = f" Values: {', '.join(f'`{each}`' for each in fact.choices)}." if fact.choices else ""
        hidden = "" if fact.shown else " Rules only."
        expected[name] = (str(fact.type), f"{fact.about}{choices}{hidden}")
    assert rows("Facts") == expected
    assert [*rows("Facts")] == [*FACTS]


def test_the_table_of_operators_is_the_list_of_the_code() -> None:
    by_operator: dict[str, list[str]] = {}
    for type_, operators in OPERATORS.items():
        for operator in operators:
            by_operator.setdefault(operator, []).append(type_)
    told = {name: types for name, (types, _) in rows("Operators").items()}
    every = ", ".join(sorted(OPERATORS))
    assert {
        name: every if types == "every type" else ", ".join(sorted(types.split(", "))) for name, types in told.items()
    } == {operator: ", ".join(sorted(types)) for operator, types in by_operator.items()}


def test_every_key_every_kind_and_every_name_is_there() -> None:
    keys = {*rows("Keys"), *rows("Rules").keys() - SEVERITY}
    operators = {f"actions.rules.{operator}" for listed in OPERATORS.values() for operator in listed}
    assert keys == set(FORMS) - operators - {""}
    words = set(re.findall(r"`([a-z_]+)`", DOCUMENT))
    assert {*get_args(ActionKind), *BUILT_IN_REASONS, *OWN_RULES, *SEVERITY} <= words
    for limit in (f"{SIZE_LIMIT:,} bytes", f"{LENGTH_LIMIT} characters", f"{LIST_LIMIT} values"):
        assert limit in DOCUMENT


@pytest.fixture
def example(tmp_path: Path) -> Policy:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    file = tmp_path / "policy.yml"
    file.write_text(block, "utf-8")
    return read_policy(file)


JACKET, SOCKS = frozenset({"jackets"}), frozenset({"socks"})


def test_the_example_comes_to_what_the_table_says(example: Policy) -> None:
    def outcome(days: int | None, reason: Any, *tags: frozenset[str], money: int = -4000) -> tuple[Any, str, Any]:
        facts: dict[str, Any] = {
            "order.status": "delivered",
            "order.currency": "EUR",
            "line.days_since_delivery": (days,) * len(tags),
            "line.reason": (reason,) * len(tags),
            "line.product_tags": tags,
        }
        if reason:
            facts["reason"] = reason
        judgement = judge(example, "return_items", facts, money=money, currency="EUR")
        if judgement.because == "too_late":
            said = because_in(example, judgement.because, "en", facts, sentences=load_sentences())
            assert said.endswith("This one arrived 34 days ago.")
        return judgement.outcome, judgement.because, judgement.fee

    fee = Money(495, "EUR")
    told = [
        outcome(12, "changed_mind", JACKET),
        outcome(12, None, JACKET),
        outcome(34, "changed_mind", JACKET),
        outcome(34, "damaged", JACKET),
        outcome(12, "damaged", JACKET, SOCKS),
        outcome(12, "damaged", JACKET, money=-11900),
        outcome(None, "damaged", JACKET),
    ]
    assert told == [
        ("allow", "", fee),
        ("ask", "", None),
        ("refuse", "too_late", fee),
        ("allow", "", None),
        ("person", "", None),
        ("staff", "", None),
        ("person", "", None),
    ]
    table = DOCUMENT.partition("This is what comes of it")[2].partition("\n## ")[0]
    assert re.findall(r"\| `([a-z]+)` \|", table) == [outcome for outcome, _, _ in told]
