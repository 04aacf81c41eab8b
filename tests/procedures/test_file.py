"""The files of procedures: what is read of them, and what is a fault."""

from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.procedures.file import SIZE_LIMIT, parse_procedure, read_procedure, read_procedures

GOOD = """\
---
procedure: damaged-item
version: 2
when: An article arrived broken.
collect:
  order: {type: own_order}
  lines: {type: lines_of, of: order}
  photo: {type: image, optional: yes}
  wish: {type: one_of, values: [replacement, refund]}
steps:
  - {id: find, needs: [order, lines, photo]}
  - {id: entitled, check: [{fact: order.status, is: delivered}], otherwise: late}
  - {id: choose, needs: [wish], next: {wish: {replacement: resend, refund: money}}}
  - id: resend
    prepare: {send_again: {lines: lines, reason: damaged}}
    when: {done: end, refused: money, declined: choose, else: people}
  - {id: money, prepare: {refund: {lines: lines, reason: damaged}}, when: {done: end, else: people}}
  - {id: late, say: late, hand_over: {priority: low}}
sentences:
  late: {en: A colleague looks at it.}
---
## find
Ask for the order.

### Not a step
Nor this.
## choose
Replacement or money?
"""


def faults_of(text: str, folder: Path) -> list[str]:
    file = folder / "a.md"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read_procedure(file)
    return [fault.removeprefix(f"PROCEDURES_PATH: {file}: ") for fault in refused.value.faults]


def test_a_procedure_has_its_steps_and_the_text_of_each() -> None:
    procedure = parse_procedure(GOOD)
    assert procedure.name == "damaged-item"
    assert procedure.texts["find"] == "Ask for the order.\n\n### Not a step\nNor this."
    assert procedure.texts["choose"] == "Replacement or money?"
    assert [procedure.following(step.id) for step in procedure.file.steps][:2] == ["entitled", "choose"]
    assert procedure.following("late") == "end"
    assert parse_procedure(procedure.source) == procedure


def test_a_sentence_names_the_order_that_was_noted() -> None:
    procedure = parse_procedure(GOOD.replace("A colleague looks at it.", "'Order {order}.'"))
    step = procedure.step("late")
    assert step
    assert procedure.said(step, "de", {"order": "FW-7"}) == "Order FW-7."


def test_an_action_names_the_order_of_its_lines_or_the_only_one() -> None:
    procedure = parse_procedure(GOOD)
    step = procedure.step("money")
    assert step is not None
    kind, arguments = step.action
    assert (
        kind,
        procedure.order_name(arguments),
        procedure.order_name(arguments.model_copy(update={"lines": ""})),
    ) == (
        "refund",
        "order",
        "order",
    )


def test_a_line_of_a_windows_file_and_a_byte_order_mark_make_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_procedure(file).texts["choose"] == "Replacement or money?"


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("---\nprocedure", "procedure", "line 1, column 1: must begin with a line --- and have another one"),
        ("version: 2", "version: 2\nstart: x", "start is unknown"),
        ("{type: lines_of, of: order}", "{type: lines_of}", "needs `of` with the name of an order"),
        ("of: order}", "of: wish}", "names wish, which is no own_order of collect"),
        ("[order, lines, photo]", "[order, lines, photo, age]", "names age, which is not in collect"),
        ("otherwise: late", "otherwise: later", "names later, which is no step"),
        (", otherwise: late", "", "needs otherwise"),
        ("{replacement: resend, refund: money}", "{replacement: resend}", "must name every value: replacement, refund"),
        ("fact: order.status, is: delivered", "fact: order.statu, is: x", "is no fact: do you mean order.status?"),
        ("fact: order.status, is: delivered", "fact: order.status, is: here", "has here, which is unknown"),
        ("fact: order.status, is: delivered", "fact: amount, at_most: {EUR: 1}", "known only of an action"),
        (
            "{lines: lines, reason: damaged}}, when: {done: end, else",
            "{lines: lines}}, when: {done: end, else",
            "reason",
        ),
        ("refund: {lines: lines, reason: damaged}", "refund: {lines: wish, reason: damaged}", "is no lines_of"),
        ("refund: {lines: lines, reason: damaged}", "refund: {reason: bored}", "is bored, which is no reason"),
        ("refund: {lines", "paint_it: {lines", "paint_it is unknown"),
        ("say: late, ", "say: sorry, ", "names sorry, which is not in sentences"),
        ("hand_over: {priority: low}", "hand_over: {reason: bored}", "is unknown"),
        ("{id: late, say", "{id: people, hand_over: {}}\n  - {id: lost, hand_over: {}}\n  - {id: late, say", "reached"),
        ("- {id: late, ", "- {id: end, ", "is the name of another step"),
        ("## choose\nReplacement or money?", "", "choose asks, and has no text"),
        ("## choose", "## choos", "choos is no step: known here are find, entitled"),
        ("## choose", "## entitled\nCheck.\n## choose", "has a text that nobody reads"),
        ("## find", "Hello.\n## find", "is a text without a step"),
        ("A colleague looks at it.", "'Your {wish}.'", "has {wish} in its sentence"),
        ("## choose", "## find\nx\n## choose", "is there twice, first on line 22"),
        ("Replacement or money?", "x" * 4001, "has 4,001 characters"),
        ("order, lines, photo", "order, photo", "lines is needed by no step"),
        ("  photo:", "  age: {type: text}\n  photo:", "age is needed by no step"),
        ("[wish], next", "[wish, lines], next", "uses lines, which is not always collected before it"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, before: str, after: str, fault: str) -> None:
    assert before in GOOD
    text = GOOD.replace(before, after)
    if "not always" in fault:
        text = text.replace("[order, lines, photo]", "[order, photo]").replace(
            "- {id: entitled",
            "- {id: more, check: [{fact: line.bought, at_least: 1}], otherwise: money}\n  - {id: entitled",
        )
    found = faults_of(text, tmp_path)
    assert [each for each in found if fault in each], found
    assert all(each.startswith("line ") for each in found)


LOOP = """\
---
procedure: loop
version: 1
when: Something goes round.
collect: {order: {type: own_order}}
steps:
  - {id: find, needs: [order]}
  - {id: one, prepare: {refund: {reason: other}}, when: {done: WAY, else: find}}
---
## find
Ask.
"""


def test_a_procedure_that_never_ends_is_a_fault(tmp_path: Path) -> None:
    assert not [each for each in faults_of(LOOP.replace("WAY", "find"), tmp_path) if "no way out" not in each]
    assert "comes back to itself without asking" in " ".join(faults_of(LOOP.replace("WAY", "one"), tmp_path))
    (tmp_path / "a.md").write_text(LOOP.replace("WAY", "end"))
    assert read_procedure(tmp_path / "a.md").name == "loop"


def test_a_folder_is_refused_as_a_whole_with_every_fault_of_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("no procedure")
    assert [*read_procedures(tmp_path)] == ["damaged-item"]
    (tmp_path / "b.md").write_text(GOOD.replace("version: 2", "version: two"))
    (tmp_path / "c.md").write_text("nothing")
    with pytest.raises(ConfigurationError) as refused:
        read_procedures(tmp_path)
    assert len(refused.value.faults) == 2
    (tmp_path / "b.md").write_text(GOOD)
    (tmp_path / "c.md").unlink()
    with pytest.raises(ConfigurationError, match="is the name of another file's procedure"):
        read_procedures(tmp_path)


def test_a_folder_that_is_not_there_or_empty_and_a_file_that_is_too_long_are_faults(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_procedures(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="needs 1 to 50"):
        read_procedures(tmp_path)
    assert "65,536 bytes" in faults_of("x" * (SIZE_LIMIT + 1), tmp_path)[0]


def test_bytes_that_are_no_text_are_a_fault_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(GOOD.encode() + b"\n\xff")
    with pytest.raises(ConfigurationError, match="line 30, column 1: is not UTF-8"):
        read_procedure(file)
