"""`frontdesk procedures`, as an operator runs it."""

import json
from pathlib import Path

import pytest

from bot.cli.main import main
from tests.procedures.test_file import GOOD


def test_procedures_are_printed_in_plain_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text(GOOD)
    assert main(["procedures", "check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "damaged-item, version 2: An article arrived broken.",
        "  find: asks for order, lines, photo (optional); then entitled",
        "  entitled: checks that order.status is delivered; then choose, otherwise late; people if nobody knows",
        "  choose: asks for wish; replacement -> resend, refund -> money",
        "  resend: prepares send_again; done -> end, refused -> money, declined -> choose, else -> people",
        "  money: prepares refund; done -> end, else -> people",
        "  late: calls a person (procedure, low)",
        f"{tmp_path} has no fault.",
    ]


def test_every_fault_of_one_file_or_of_a_folder_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text(GOOD.replace("is: delivered", "is: here"))
    assert main(["procedures", "check", str(tmp_path / "a.md")]) == 2
    assert capsys.readouterr().out.startswith(f"wrong: {tmp_path}/a.md: line 12, ")
    (tmp_path / "b.md").write_text("")
    monkeypatch.setenv("PROCEDURES_PATH", str(tmp_path))
    assert main(["procedures", "check"]) == 2
    assert [line.partition(": line")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"wrong: {tmp_path}/a.md",
        f"wrong: {tmp_path}/b.md",
    ]


def test_the_schema_is_printed_and_without_a_path_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["procedures", "schema"]) == 0
    assert "steps" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["procedures", "check"]) == 2
    assert "PROCEDURES_PATH" in capsys.readouterr().err
