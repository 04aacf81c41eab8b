"""A policy as it is read."""

import hashlib
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.actions.clauses import OPERATORS
from bot.actions.facts import FACTS
from bot.actions.policy_file import (
    BUILT_IN_REASONS,
    FORMS,
    NO_POLICY,
    OWN_RULES,
    SIZE_LIMIT,
    PolicyFile,
    json_schema,
    read_policy,
)
from bot.checked_files import FileFaulty
from bot.errors import ConfigurationError
from bot.shops.actions import ActionKind
from tests.contracts.tree import ROOT

FAULTY = """\
version: 2
staf: always
currency_limits: {EUR: {staff_above: 5000, never_above: 10}, euro: {staff_above: 1}}
daily: {customer_money: {EUR: 1.5}}
actions:
  cancel_ordr: {rules: []}
  refund: {}
  cancel_order:
    staff: sometimes
    rules:
      - {id: a, fact: order.statu, is: x, else: person}
      - {id: b, fact: order.status, one_of: [pendin], else: person}
      - {id: c, fact: order.parcels, at_most: 3, else: persn}
      - {id: d, fact: order.total, else: person}
      - {id: e, any_of: [{fact: order.parcels, is: 1, is_not: 2}], else: person}
      - {id: f, matchs: 1, fact: order.state, matches: "(a", else: person}
      - {id: g, fact: order.parcels, at_least: 1, unless: {fact: reason, is: damaged, up_to: 3}, else: staff}
      - {id: h, any_of: [{any_of: [{any_of: []}]}], else: person}
      - {id: i, fact: order.parcels, is: 1, else: refuse}
      - {id: j, at_most: 3, else: person}
      - {id: k, else: person}
      - {id: l, fact: order.parcels, at_most: 1, unless: {fact: reason, is: damaged, up_to: many}, else: staff}
    fee: {fact: line.reason, when: [hungry], money: {EUR: -1}, label: x}
"""
FOUND = [
    (1, 1, "version must be at most 1"),
    (2, 1, "staf is unknown: do you mean staff?"),
    (3, 19, "currency_limits.EUR must rise from staff_above"),
    (3, 62, "currency_limits.euro has the wrong form; for example, currency_limits: {EUR"),
    (4, 26, "daily.customer_money.EUR must be a whole number; for example, customer_money: {EUR"),
    (6, 3, "actions.cancel_ordr is unknown: do you mean cancel_order?"),
    (7, 3, "actions.refund.rules is missing; for example, rules: ["),
    (9, 5, "actions.cancel_order.staff is unknown: known here are always, above_limit"),
    (11, 17, "actions.cancel_order.rules[0].fact order.statu is no fact: do you mean order.status?"),
    (12, 37, "actions.cancel_order.rules[1].one_of has pendin, which is unknown: do you mean pending?"),
    (13, 50, "actions.cancel_order.rules[2].else is unknown: do you mean person?"),
    (14, 9, "actions.cancel_order.rules[3] needs one comparison, and has 0"),
    (15, 26, "actions.cancel_order.rules[4].any_of[0] needs one comparison, and has 2"),
    (16, 17, "actions.cancel_order.rules[5].matchs is unknown: do you mean matches?"),
    (16, 47, "actions.cancel_order.rules[5].matches has a ( without its )"),
    (17, 9, "actions.cancel_order.rules[6] has an up_to, which needs"),
    (18, 37, "actions.cancel_order.rules[7].any_of[0].any_of[0].any_of is unknown: do you mean one_of?"),
    (19, 9, "actions.cancel_order.rules[8] needs because: a customer who is refused sees why"),
    (20, 17, "actions.cancel_order.rules[9].at_most needs a fact to compare"),
    (21, 9, "actions.cancel_order.rules[10] needs one of: fact, any_of, all_of"),
    (22, 9, "actions.cancel_order.rules[11] must be a whole number"),
    (23, 30, "actions.cancel_order.fee.when has hungry, which is unknown"),
    (23, 46, "actions.cancel_order.fee.money must not be negative"),
]

ASTRAY = """\
version: 1
actions:
  cancel_order:
    rules:
      - {id: a, fact: order.status, is: pending, else: refuse, because: no_such}
      - {id: a, fact: order.status, is: pending, else: person}
      - {id: fee, fact: order.status, is: pending, else: person}
      - {id: b, fact: order.status, is: pending, else: ask}
      - {id: c, any_of: [{fact: reason, exists: yes}, {fact: method.kind, exists: yes}], else: ask}
      - {id: d, fact: variant.is_other, is: yes, else: person}
      - {id: e, fact: reason, exists: yes, else: ask, because: return_window}
    fee: {fact: line.reason, when: [other], money: {EUR: 1}, label: postage}
  change_customer_address:
    rules: [{id: a, fact: order.parcels, is: {fact: order.lines}, else: person}]
sentences:
  late: {en: "{line.days} {case.count_30d} {order.parcels", de: "{order.days_since_delivery} {}"}
"""
ASTRAY_FOUND = [
    (5, "actions.cancel_order.rules[0].because names no_such"),
    (6, "actions.cancel_order.rules[1].id is the name of another rule"),
    (7, "actions.cancel_order.rules[2].id is the name of another rule"),
    (8, "actions.cancel_order.rules[3].else can ask for one argument only"),
    (9, "actions.cancel_order.rules[4].else can ask for one argument only"),
    (10, "actions.cancel_order.rules[5] would never be fulfilled: variant.is_other"),
    (12, "actions.cancel_order.fee.label names postage"),
    (14, "actions.change_customer_address.rules[0] would never be fulfilled: order.lines"),
    (14, "actions.change_customer_address.rules[0] would never be fulfilled: order.parcels"),
    (16, "sentences.late.en has a brace without its other half"),
    (16, "sentences.late.en has {case.count_30d}, which is for rules only"),
    (16, "sentences.late.en has {line.days}, which is no fact"),
    (16, "sentences.late.de has {}, which is no fact"),
]


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.yml"
    path.write_text(text, "utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(FileFaulty) as raised:
        read_policy(written(folder, text))
    assert all(fault.startswith(f"POLICY_PATH: {folder / 'policy.yml'}: line ") for fault in raised.value.faults)
    return [str(fault) for fault in raised.value.found]


def test_every_fault_has_its_line_its_column_and_the_right_form(tmp_path: Path) -> None:
    for told, (line, column, begins) in zip(faults(tmp_path, FAULTY), FOUND, strict=True):
        assert told.startswith(f"line {line}, column {column}: {begins}")


def test_what_does_not_fit_together_is_named_at_its_place(tmp_path: Path) -> None:
    for told, (line, begins) in zip(faults(tmp_path, ASTRAY), ASTRAY_FOUND, strict=True):
        place, _, fault = told.partition(": ")
        assert place.startswith(f"line {line}, ")
        assert fault.startswith(begins)


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\n",
        "actions: {}\n",
        "",
        "version: 1\nactions: &a {refund: {rules: []}}\ndaily: *a\n",
        "version: 1\nactions: {refund: {rules: []}, refund: {rules: []}}\n",
        "- version\n",
        "version: [1\n",
        "version: 1\nactions: {refund: {rules: [" + "x, " * 60 + "]}}\n",
        f"version: 1\nactions: {'[' * 5000}\n",
    ],
)
def test_what_is_no_policy_is_refused(tmp_path: Path, text: str) -> None:
    assert faults(tmp_path, text)


def test_a_file_that_is_too_long_or_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="262,144 bytes"):
        read_policy(written(tmp_path, "version: 1\nactions: {}\n" + "#" * SIZE_LIMIT))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_policy(tmp_path / "none.yml")


def test_a_policy_keeps_the_digest_of_its_file(tmp_path: Path) -> None:
    text = "version: 1\nactions: {refund: {rules: []}}\n"
    policy = read_policy(written(tmp_path, text))
    assert policy.digest == hashlib.sha256(text.encode()).hexdigest()
    assert policy.kinds == {"refund"}
    assert (NO_POLICY.kinds, NO_POLICY.digest) == (frozenset(), "")


def test_the_policy_of_the_invented_shop_lists_every_kind() -> None:
    assert read_policy(ROOT / "demo" / "policy.yml").kinds == frozenset(get_args(ActionKind))


def test_every_key_has_a_form_that_is_right(tmp_path: Path) -> None:
    for key, form in FORMS.items():
        *_, name = key.split(".")
        assert form.startswith(f"{name}:") or not key
    whole = [form for key, form in FORMS.items() if key and "." not in key]
    read_policy(written(tmp_path, "\n".join(whole)))
    rule = ["is", "is_not", "one_of", "none_of", "at_least", "at_most", "before", "after", "exists", "matches"]
    assert {f"actions.rules.{operator}" for operator in rule} <= set(FORMS)
    assert {operator for operators in OPERATORS.values() for operator in operators} == set(rule)
    assert {key for key in FORMS if key and "." not in key} == set(PolicyFile.model_fields)
    assert not OWN_RULES & set(BUILT_IN_REASONS)


def test_the_schema_knows_the_kinds_and_the_facts() -> None:
    schema: dict[str, Any] = json_schema()
    assert set(schema["properties"]["actions"]["propertyNames"]["enum"]) == set(get_args(ActionKind))
    assert schema["$defs"]["Rule"]["properties"]["fact"]["enum"] == [*FACTS]
    assert {"id", "else"} <= set(schema["$defs"]["Rule"]["required"])
