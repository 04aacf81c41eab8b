"""`frontdesk desk`, as an operator runs it."""

import json
from pathlib import Path

import pytest

from bot.cli.main import main

GOOD = """\
shop: Harbour Bikes
assistant: {name: Pia}
refuse:
  - {topic: Doping, phrases: [doping], say: {en: "Not with me.", de: "Nicht mit mir."}}
helplines: {DE: {emergency: 112}}
"""


def test_a_good_file_is_summed_up_with_what_is_worth_knowing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "desk.yml"
    file.write_text(GOOD)
    assert main(["desk", "check", str(file)]) == 0
    told = capsys.readouterr().out
    assert "shop: Harbour Bikes, assistant: Pia" in told
    notes = [line for line in told.splitlines() if line.startswith("note: ")]
    assert [note.split(":")[1].strip() for note in notes] == ["refuse", "helplines", "duty_contact is not set"]
    assert "no text in id, es, fr" in notes[0]


def test_each_fault_is_a_line_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "desk.yml"
    file.write_text("shop: Harbour Bikes\nrules: [x]\nrule: [y]\nduty_contact: me\n")
    assert main(["desk", "check", str(file)]) == 2
    places = [line.partition(", column")[0] for line in capsys.readouterr().out.splitlines()]
    assert places == [f"wrong: {file}: line 3", f"wrong: {file}: line 4"]


def test_the_file_is_the_one_of_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "check"]) == 2
    assert "DESK_FILE" in capsys.readouterr().err
    file = tmp_path / "desk.yml"
    file.write_text("shop: Harbour Bikes\n")
    monkeypatch.setenv("DESK_FILE", str(file))
    assert main(["desk", "check"]) == 0
    assert "shop: Harbour Bikes" in capsys.readouterr().out


def test_the_schema_is_one_for_editors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["desk", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["shop"]["description"] == "What the assistant calls the shop."
    assert schema["additionalProperties"] is False
