"""A desk file as it is read."""

import re
from pathlib import Path

import pytest

from bot.checked_files import FileFaulty
from bot.desk.topics import build_topics
from bot.desk_file.model import DeskFile, json_schema
from bot.desk_file.reading import FORMS, read_desk_file
from bot.errors import ConfigurationError
from tests.contracts.tree import ROOT, read

FAULTY = """\
shop: Harbour Bikes
asistant: {name: Pia}
assistant:
  nam: Pia
  tone: "<b>warm</b>"
rules: Never promise anything.
refuse:
  - topic: Doping
    phrases: [ab, "epo*x", "doping*"]
  - topic: Politics
    say: {en: No., xx: Nix.}
helplines:
  ZZ: {emergency: 1}
  AT: 144
duty_contact: the boss
cases:
  outcomes: {spam: Spam}
  tags: {vip: Important, Refund: {label: Refund}, press: {phrases: [press]}}
tools: {without: search}
glossary: {club: }
saved_replies:
  - {name: Bye, text: "Goodbye {name}"}
  - {name: "", text: "Hello <b>"}
"""
FOUND = [
    (2, 1, "asistant is unknown: do you mean assistant?"),
    (4, 3, "assistant.nam is unknown: do you mean name?"),
    (5, 3, "assistant.tone must not have < or >"),
    (6, 1, "rules must be a list; for example, rules: ["),
    (8, 5, "refuse[0].say is missing; for example, say: {en:"),
    (9, 15, "refuse[0].phrases[0] must have at least 3 letters"),
    (9, 19, "refuse[0].phrases[1] must be words"),
    (11, 20, "refuse[1].say.xx must be one of the languages"),
    (13, 3, "helplines.ZZ must be a country's two letters"),
    (14, 3, "helplines.AT must have keys of its own; for example, helplines: {DE:"),
    (15, 1, "duty_contact has the wrong form; for example, duty_contact: S"),
    (17, 14, "cases.outcomes.spam is a built-in outcome"),
    (18, 10, "cases.tags.vip must have keys of its own; for example, tags: {"),
    (18, 26, "cases.tags.Refund has the wrong form"),
    (18, 51, "cases.tags.press.label is missing"),
    (19, 9, "tools.without must be a list; for example, without: ["),
    (20, 12, "glossary.club must be a text; for example, glossary: {"),
    (22, 17, "saved_replies[0].text.en has the unknown placeholder {name}; there are {customer}, {order}, {person}"),
    (23, 6, "saved_replies[1].name must not be empty"),
    (23, 16, "saved_replies[1].text.en must not have < or >"),
]


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "desk.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(folder: Path, text: str | bytes) -> list[str]:
    with pytest.raises(FileFaulty) as raised:
        read_desk_file(written(folder, text))
    assert raised.value.faults == tuple(f"DESK_FILE: {folder / 'desk.yml'}: {fault}" for fault in raised.value.found)
    return [str(fault) for fault in raised.value.found]


def test_every_fault_has_its_line_its_column_and_the_right_form(tmp_path: Path) -> None:
    found = faults(tmp_path, FAULTY)
    for told, (line, column, begins) in zip(found, FOUND, strict=True):
        assert told.startswith(f"line {line}, column {column}: {begins}")


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("shop: [", "line 1, column 8: is not YAML"),
        (
            "saved_replies: [{name: Bye, text: Bye!}, {name: bYE , text: Goodbye}]",
            "line 1, column 43: saved_replies[1].name is the name of another reply",
        ),
        ("shop: a\nshop: b\n", "line 2, column 1: shop is there twice, first on line 1"),
        ("shop: &s a\nrules: [*s]\n", "line 2, column 9: must be written out"),
        ("- shop\n", "line 1, column 1: must have keys of its own"),
        ("{[a]: b}\n", "line 1, column 2: has a key that is no text"),
        (b"shop: a\nrules: [\xff]\n", "line 2, column 1: is not UTF-8"),
        (f"shop: {'x' * 81}\n", "line 1, column 1: shop has 81 characters, and at most 80 are possible"),
        (f"rules: [{'a rule, ' * 21}]\n", "line 1, column 1: rules has 21 entries, and at most 20 are possible"),
        ("[" * 5_000, "line 1, column"),
    ],
)
def test_what_is_no_desk_file_is_refused_at_its_place(tmp_path: Path, text: str | bytes, begins: str) -> None:
    assert faults(tmp_path, text)[0].startswith(begins)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_desk_file(tmp_path / "none.yml")


def test_values_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = "shop: 0800\nrules: [no, 1.10, 2026-01-02]\nhelplines: {NO: {emergency: 112}}\n"
    desk = read_desk_file(written(tmp_path, text))
    assert (desk.shop, desk.rules) == ("0800", ("no", "1.10", "2026-01-02"))
    assert desk.emergency_number("NO") == "112"


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_an_empty_file_changes_nothing(tmp_path: Path, text: str) -> None:
    assert read_desk_file(written(tmp_path, text)) == DeskFile()


@pytest.mark.parametrize(
    ("country", "language", "line", "number"),
    [
        ("DE", "de", "Telefon", "112"),
        ("DE", "en", "Phone", "112"),
        ("DE", "fr", "Phone", "112"),
        ("AT", "de", "Nummer gegen Kummer", ""),
        ("", "de", "Nummer gegen Kummer", ""),
        ("ID", "de", "", "119"),
    ],
)
def test_helplines_are_those_of_the_country_in_the_language(
    tmp_path: Path, country: str, language: str, line: str, number: str
) -> None:
    text = (
        "helplines:\n  DE: {emergency: 112, crisis: {de: Telefon, en: Phone}}\n"
        "  ID: {emergency: 119}\n  elsewhere: {crisis: Nummer gegen Kummer}\n"
    )
    desk = read_desk_file(written(tmp_path, text))
    assert (desk.crisis_line(country, language), desk.emergency_number(country)) == (line, number)


def keys(schema: object, definitions: dict[str, object], prefix: str = "") -> list[str]:
    """Every key of a schema, such as `refuse.say`."""
    match schema:
        case {"$ref": str(name)}:
            return keys(definitions[name.rpartition("/")[2]], definitions, prefix)
        case {"properties": dict(entries)}:
            below = [(f"{prefix}{key}", entry) for key, entry in entries.items()]
            return [each for key, entry in below for each in (key, *keys(entry, definitions, f"{key}."))]
        case {"items": inner} | {"additionalProperties": dict(inner)} | {"patternProperties": {**inner}}:
            inner = next(iter(inner.values())) if "patternProperties" in schema else inner  # type: ignore[operator]
            return keys(inner, definitions, prefix)
        case _:
            return []


def test_every_key_has_a_form_that_is_right(tmp_path: Path) -> None:
    schema = json_schema()
    assert sorted(keys(schema, schema["$defs"])) == sorted(key for key in FORMS if key)
    whole = [form for key, form in FORMS.items() if key and "." not in key]
    read_desk_file(written(tmp_path, "\n".join(whole)))


def test_the_file_of_the_invented_shop_has_no_fault() -> None:
    assert read_desk_file(ROOT / "demo" / "desk.yml").shop == "Fernwick"


def test_the_document_names_every_key() -> None:
    document = read("docs/reference/desk-file.md")
    assert [key for key in FORMS if key and f"| `{key}` |" not in document] == []


def test_the_guides_example_has_no_fault_and_nothing_to_note(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", read("docs/guides/make-it-yours.md"), re.MULTILINE | re.DOTALL)
    desk = read_desk_file(written(tmp_path, block))
    topics = build_topics(desk)
    found = {text: topics.find(text) for text in ("Is this cheaper online?", "good job!", "Do you lease job bikes?")}
    assert [found[text].is_refused for text in found] == [True, False, False]
    assert [found[text].person is not None for text in found] == [False, False, True]
