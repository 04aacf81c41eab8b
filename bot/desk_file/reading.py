"""A desk file as it is read: YAML, checked against the model, with the place of every fault.

read_desk_file  The file, or every fault in it.
Fault           What is wrong at one place, and what the right form is.

Every value is read as it is written: a text without quotes may be `no`, and a number keeps its zeros.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from bot.desk_file.model import Assistant, Cases, DeskFile, Helplines, Part, PeopleTopic, RefusedTopic, Tools
from bot.desk_file.own_part import own_part
from bot.errors import ConfigurationError

OWN_PART_LIMIT = 6_000
"""The most characters that a file can add to the agents' instructions, which every request to a model holds."""
SIZE_LIMIT = 200_000
"""The most bytes of a file."""
FORMS = {
    "": "shop: Harbour Bikes",
    "shop": "shop: Harbour Bikes",
    "assistant": "assistant: {name: Pia, tone: Warm and short., address: By first name.}",
    "assistant.name": "name: Pia",
    "assistant.tone": "tone: Warm and short.",
    "assistant.address": 'address: By first name, with "du" in German.',
    "rules": "rules: [Never promise a delivery date.]",
    "refuse": "refuse: [{topic: Medical advice, phrases: [knee pain], say: Please ask a doctor about this.}]",
    "refuse.topic": "topic: Medical advice",
    "refuse.phrases": 'phrases: [knee pain, "Knieschmerz*"]',
    "refuse.say": "say: {en: Please ask a doctor about this., de: Bitte frag dazu eine Ärztin.}",
    "people": "people: [{topic: Leasing, phrases: [job bike, leasing]}]",
    "people.topic": "topic: Leasing",
    "people.phrases": "phrases: [job bike, leasing]",
    "people.say": "say: {en: Our leasing team knows this best., de: Das weiß unser Leasing-Team am besten.}",
    "glossary": "glossary: {Harbour Club: our members' programme with free inspections}",
    "helplines": 'helplines: {DE: {emergency: "112", crisis: "Telefonseelsorge 0800 111 0 111"}}',
    "helplines.emergency": 'emergency: "112"',
    "helplines.crisis": 'crisis: {de: "Telefonseelsorge 0800 111 0 111, rund um die Uhr"}',
    "duty_contact": "duty_contact: S0123ABCD",
    "cases": "cases: {causes: {brakes: Brakes}, outcomes: {workshop: Sent to the workshop}}",
    "cases.causes": "causes: {brakes: Brakes, delivery: Delivery}",
    "cases.outcomes": "outcomes: {workshop: Sent to the workshop}",
    "tools": "tools: {without: [check_shipping]}",
    "tools.without": "without: [check_shipping]",
}
"""Key -> the right form. A list's entries and a mapping's names are left out of the key."""

_PARTS: dict[str, type[Part]] = {
    "assistant": Assistant,
    "refuse": RefusedTopic,
    "people": PeopleTopic,
    "helplines": Helplines,
    "cases": Cases,
    "tools": Tools,
}
"""Key -> what its entries are."""

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What is wrong at one place of the file."""

    line: int
    """Counted from 1."""
    column: int
    """Counted from 1."""
    where: str
    """The key, such as `refuse[0].say`. Empty for the whole file."""
    problem: str
    form: str = ""
    """The right form. Empty if the problem says it."""

    def __str__(self) -> str:
        named = f"{self.where} " if self.where else ""
        form = f"; for example, {self.form}" if self.form else ""
        return f"line {self.line}, column {self.column}: {named}{self.problem}{form}"


class DeskFileFaulty(ConfigurationError):
    """The file cannot be used. It has one sentence for each fault."""

    def __init__(self, path: Path, found: Sequence[Fault]) -> None:
        self.found = tuple(sorted(found))
        super().__init__([f"DESK_FILE: {path}: {fault}" for fault in self.found])


def read_desk_file(path: Path) -> DeskFile:
    """The file.

    Raises:
        ConfigurationError: it cannot be read. A `DeskFileFaulty` has the place of every fault.
    """
    try:
        written = path.read_bytes()
    except OSError as error:
        raise ConfigurationError([f"DESK_FILE: {path} cannot be read ({error.strerror})"]) from None
    if len(written) > SIZE_LIMIT:
        raise ConfigurationError([f"DESK_FILE: {path} has more than {SIZE_LIMIT:,} bytes"])
    try:
        return parse(written.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = written.count(b"\n", 0, error.start) + 1
        raise DeskFileFaulty(path, [Fault(line, 1, "", "is not UTF-8")]) from None
    except _Faulty as error:
        raise DeskFileFaulty(path, error.found) from None


def parse(text: str) -> DeskFile:
    """The file from its text. Raises an error with all faults, which `read_desk_file` names the file in."""
    reader = _Reader()
    entries = reader.read(text)
    if reader.faults:
        raise _Faulty(reader.faults)
    try:
        desk = DeskFile.model_validate(entries)
    except ValidationError as error:
        raise _Faulty(list(_faults(error, reader.places))) from None
    if (length := len(own_part(desk))) > OWN_PART_LIMIT:
        told = f"adds {length:,} characters to the instructions, and at most {OWN_PART_LIMIT:,} are possible"
        raise _Faulty([Fault(1, 1, "", f"{told}: shorten rules, topics and glossary")])
    return desk


class _Faulty(Exception):
    def __init__(self, found: Sequence[Fault]) -> None:
        self.found = found
        super().__init__()


class _Reader:
    """Reads YAML into texts, lists and mappings, and notes where each one is."""

    def __init__(self) -> None:
        self.places: dict[Path_, yaml.Mark] = {}
        """Path -> where it begins: a mapping's entry at its key."""
        self.faults: list[Fault] = []

    def read(self, text: str) -> Any:
        try:
            for event in yaml.parse(text, Loader=yaml.SafeLoader):
                if isinstance(event, yaml.AliasEvent):
                    self._tell(event.start_mark, "", "must be written out: & and * are not possible here")
                    return {}
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            self._tell(error.problem_mark, "", f"is not YAML: {error.problem}")
            return {}
        except (yaml.YAMLError, RecursionError) as error:
            self.faults.append(Fault(1, 1, "", f"is not YAML: {' '.join(str(error).split())[:200]}"))
            return {}
        return {} if node is None else self._value(node, ())

    def _value(self, node: yaml.Node, path: Path_) -> Any:
        self.places.setdefault(path, node.start_mark)
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self._value(each, (*path, at)) for at, each in enumerate(node.value)]
            case _:
                return None if node.tag.endswith(":null") else node.value

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            here = (*path, name)
            if not name:
                self._tell(key.start_mark, _named(path), "has a key that is no text", form_of(path))
            elif name in entries:
                first = self.places[here].line + 1
                self._tell(key.start_mark, _named(here), f"is there twice, first on line {first}")
            else:
                self.places[here] = key.start_mark
                entries[name] = self._value(value, here)
        return entries

    def _tell(self, mark: Any, where: str, problem: str, form: str = "") -> None:
        """Note a fault at a mark of the parser, if it gives one."""
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        self.faults.append(Fault(line, column, where, problem, form))


def _faults(error: ValidationError, places: dict[Path_, yaml.Mark]) -> Iterator[Fault]:
    for each in error.errors():
        path = tuple(part for part in each["loc"] if part != "[key]")
        place = next(places[path[:end]] for end in range(len(path), -1, -1) if path[:end] in places)
        problem, form = _problem(each, path)
        yield Fault(place.line + 1, place.column + 1, _named(path), problem, form)


def _problem(error: Any, path: Path_) -> tuple[str, str]:
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            known = _keys_beside(path)
            near = get_close_matches(str(path[-1]), known, n=1)
            return f"is unknown: {f'do you mean {near[0]}?' if near else 'known here are ' + ', '.join(known)}", ""
        case "missing":
            return "is missing", form_of(path)
        case "string_type":
            return "must be a text", form_of(path)
        case "tuple_type":
            return "must be a list", form_of(path)
        case "model_type" | "dict_type" | "mapping_type":
            return "must have keys of its own", form_of(path)
        case "string_too_long" | "too_long":
            entries = "characters" if isinstance(error["input"], str) else "entries"
            return f"has {len(error['input']):,} {entries}, and at most {context['max_length']:,} are possible", ""
        case "string_pattern_mismatch":
            return "has the wrong form", form_of(path)
        case _:
            return str(error["msg"]).removeprefix("Value error, "), form_of(path)


def _keys_beside(path: Path_) -> list[str]:
    """The keys that are possible at the place of the path's last key."""
    model = _PARTS.get(str(path[0]), DeskFile) if len(path) > 1 else DeskFile
    return list(model.model_fields)


def form_of(path: Path_) -> str:
    """The right form of what is at a path."""
    key = ""
    for part in path:
        longer = f"{key}.{part}" if key else str(part)
        if longer in FORMS:
            key = longer
    return FORMS[key]


def _named(path: Path_) -> str:
    """The path as people write it, such as `refuse[0].say`."""
    named = ""
    for part in path:
        named += f"[{part}]" if isinstance(part, int) else f".{part}" if named else str(part)
    return named
