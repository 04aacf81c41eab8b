"""`frontdesk policy`, as an operator runs it."""

import json
from pathlib import Path

import pytest

from bot.cli.main import main
from tests.contracts.tree import ROOT

GOOD = """\
version: 1
staff: always
currency_limits: {EUR: {staff_above: 5000}}
daily: {customer_actions: 5, desk_money_per_hour: {EUR: 500000}}
actions:
  cancel_order:
    staff: above_limit
    rules:
      - id: early
        any_of:
          - {fact: order.parcels, is: 0}
          - {all_of: [{fact: order.state, matches: "x+"}, {fact: reason, exists: yes}]}
        else: person
  refund:
    rules:
      - {id: rest, fact: amount, at_most: {fact: order.refundable}, else: refuse, because: more_than_paid}
      - id: cheap
        fact: order.total
        at_most: {EUR: 4000}
        unless: {fact: reason, is: damaged, up_to: {EUR: 9000}}
        else: staff
    fee: {fact: reason, when: [mistake], money: {EUR: 495}, label: return_postage}
  send_again: {rules: []}
sentences:
  unused: {de: Hallo.}
"""


def test_a_policy_is_printed_in_plain_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "policy.yml"
    file.write_text(GOOD)
    assert main(["policy", "check", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "staff approve every action, unless its kind says otherwise",
        "one action, EUR: staff approve above 50.00 EUR",
        "one customer, 24 hours: staff approve above 5 actions",
        "the whole desk, one hour: staff approve everything above 5,000.00 EUR",
        "cancel_order:",
        "  early: order.parcels is 0 or (order.state matches x+ and reason is known); otherwise a person takes over",
        "  staff approve it above a limit only",
        "refund:",
        "  rest: amount is at most order.refundable; otherwise it is refused (more_than_paid)",
        "  cheap: order.total is at most 40.00 EUR, unless reason is damaged and order.total is at most 90.00 EUR;"
        " otherwise staff approve",
        "  it costs 4.95 EUR (return_postage) if reason is one of mistake",
        "send_again:",
        "  no rules: it may always be done, within the limits",
        "note: sentences: unused: no text in en, id, es, fr; these customers read another language",
        "note: sentences: no rule names unused",
        "note: currency_limits: EUR has no never_above, so staff can approve any sum",
        f"{file} has no fault.",
    ]


def test_each_fault_is_a_line_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "policy.yml"
    file.write_text("version: 1\nactions: {refunds: {rules: []}}\nstaff: never\n")
    assert main(["policy", "check", str(file)]) == 2
    places = [line.partition(", column")[0] for line in capsys.readouterr().out.splitlines()]
    assert places == [f"wrong: {file}: line 2", f"wrong: {file}: line 3"]


def test_the_file_is_the_one_of_the_setting_and_the_demos_has_nothing_to_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", "check"]) == 2
    assert "POLICY_PATH" in capsys.readouterr().err
    monkeypatch.setenv("POLICY_PATH", str(ROOT / "demo" / "policy.yml"))
    assert main(["policy", "check"]) == 0
    told = capsys.readouterr().out
    assert "has no fault" in told
    assert "note:" not in told


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "schema"]) == 0
    assert "actions" in json.loads(capsys.readouterr().out)["properties"]
