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


def played(tmp_path: Path, *entries: str) -> int:
    """The exit status of a script."""
    (tmp_path / "a.md").write_text(GOOD)
    script = tmp_path / "turns.yml"
    script.write_text("\n".join(f"- {entry}" for entry in entries))
    return main(["procedures", "try", str(tmp_path / "a.md"), "--script", str(script)])


FOUND = ("facts: {order.status: delivered}", "note: {order: ORD-1, lines: all}")


def test_a_script_is_played_over_declined_and_refused_actions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = ("note: {wish: replacement}", "at: resend", "action: declined", "at: choose", "note: {wish: refund}")
    assert played(tmp_path, *FOUND, *steps, "at: money", "action: done", "at: end") == 0
    told = capsys.readouterr().out.splitlines()
    assert "      | Replacement or money?" in told
    assert told[-1] == "The procedure is at end."


@pytest.mark.parametrize(
    ("entries", "ends_at"),
    [
        (("facts: {order.status: shipped}", "note: {order: ORD-1, lines: all}"), "late"),
        (("note: {order: ORD-1, lines: all}",), "people"),
        ((*FOUND, "note: {wish: replacement}", "action: refused"), "money"),
        ((*FOUND, "note: {wish: replacement}", "action: failed"), "people"),
    ],
)
def test_what_is_not_so_or_not_known_leads_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entries: tuple[str, ...], ends_at: str
) -> None:
    assert played(tmp_path, *entries, f"at: {ends_at}") == 0
    assert played(tmp_path, *entries, "at: find") == 1
    assert f"wrong: the procedure is at {ends_at}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("wait: 1", "needs one of: facts, note, action, at"),
        ("facts: {order.statu: delivered}", "order.statu is no fact"),
        ("facts: {order.parcels: many}", "must be a whole number"),
        ("note: {age: 3}", "notes age, which is not in collect"),
        ("note: {wish: both}", "notes both, which is none of: replacement, refund"),
        ("action: done", "ends an action, and none waits at find"),
    ],
)
def test_a_script_that_cannot_be_played_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str, problem: str
) -> None:
    assert played(tmp_path, entry) == 2
    assert problem in capsys.readouterr().err
