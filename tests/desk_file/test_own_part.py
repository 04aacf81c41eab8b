"""The shop's part of the instructions."""

from pathlib import Path

import pytest

from bot.checked_files import FileFaulty
from bot.desk_file.model import DeskFile
from bot.desk_file.own_part import drafts_part, own_part
from bot.desk_file.reading import OWN_PART_LIMIT, read_desk_file


def test_the_parts_are_in_a_fixed_order_whatever_that_of_the_file() -> None:
    entries = {
        "glossary": {"Club": "our members"},
        "people": [{"topic": "Leasing"}],
        "refuse": [{"topic": "Doping", "say": "No."}],
        "rules": ["Never promise a date."],
        "assistant": {"tone": "Dry.", "address": "By first name.", "name": "Pia"},
        "shop": "Harbour Bikes",
    }
    whole = own_part(DeskFile.model_validate(entries))
    assert whole == own_part(DeskFile.model_validate(dict(reversed(entries.items()))))
    marks = ("Tone: Dry.", "By first name.", "Never promise", "TOPIC_1: Doping", "- Leasing", "- Club: our members")
    places = [whole.index(mark) for mark in marks]
    assert places == sorted(places)


def test_drafts_have_the_voice_and_the_sentences_and_neither_marks_nor_calls() -> None:
    desk = DeskFile.model_validate(
        {
            "glossary": {"Club": "our members"},
            "people": [{"topic": "Leasing"}],
            "refuse": [{"topic": "Doping", "say": {"de": "Nur Beine.", "en": "Legs only."}}],
            "rules": ["Never promise a date."],
            "assistant": {"tone": "Dry.", "address": "By first name."},
        }
    )
    part = drafts_part(desk)
    for words in ("Tone: Dry.", "By first name.", "Never promise a date.", "Doping: Legs only.", "Club: our members"):
        assert words in part
    for words in ("TOPIC_", "escalate_to_human", "Leasing"):
        assert words not in part


def test_a_file_without_words_of_its_own_adds_nothing() -> None:
    assert own_part(DeskFile(shop="Harbour Bikes")) == drafts_part(DeskFile(shop="Harbour Bikes")) == ""


def test_what_adds_too_much_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "desk.yml"
    words = "word " * 39
    file.write_text("glossary:\n" + "".join(f"  term {number}: {words}\n" for number in range(40)))
    with pytest.raises(FileFaulty, match=f"at most {OWN_PART_LIMIT:,} are possible"):
        read_desk_file(file)
