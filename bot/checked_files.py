"""YAML files of an operator that are checked against a model, with the place of every fault.

FileFormat  What a file is checked against, and how it is read.
Fault       What is wrong at one place, and what the right form is.

Every value is read as it is written: a text without quotes may be `no`, and a number keeps its zeros. Anchors and
aliases are refused, so that a short file stays short.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_origin

import orjson
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.errors import ConfigurationError

KeyPath = tuple[str | int, ...]

DEPTH_LIMIT = 24
"""How deep a file may be nested. The parser's time grows with the square of the depth."""


class Plain(str):
    """A text without quotes that YAML reads as something else, such as `no`, `5` or `1.50`.

    It is what is written. Only a part of a file that holds another format, such as JSON, asks for `value`.
    """

    __slots__ = ()

    def value(self) -> bool | int | float | str:
        """What JSON makes of it: a truth value, a number, or else the text."""
        try:
            found = orjson.loads(str(self))
        except orjson.JSONDecodeError:
            return str(self)
        return found if isinstance(found, (bool, int, float)) else str(self)


class Part(BaseModel):
    """A part of a file. Unknown keys are faults."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


Model = TypeVar("Model", bound=Part)


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


class FileFaulty(ConfigurationError):
    """The file cannot be used. It has one sentence for each fault."""

    def __init__(self, path: Path, found: Sequence[Fault], *, setting: str) -> None:
        self.found = tuple(sorted(found))
        super().__init__([f"{setting}: {path}: {fault}" for fault in self.found])


@dataclass(frozen=True, slots=True)
class FileFormat(Generic[Model]):
    """What a file is checked against."""

    model: type[Model]
    setting: str
    """The setting that names the file. Every fault begins with it."""
    size_limit: int
    """The most bytes of a file."""
    forms: Mapping[str, str]
    """Key -> the right form. A list's entries and a mapping's names are left out of the key."""
    check: Callable[[Model], Iterator[tuple[KeyPath, str]]] | None = None
    """Finds what is wrong with a file whose parts are right: where, and what."""

    def read(self, path: Path) -> Model:
        """The file.

        Raises:
            ConfigurationError: it cannot be read. A `FileFaulty` has the place of every fault.
        """
        return self.parse(self.load(path), path)

    def load(self, path: Path) -> bytes:
        """The bytes of the file, unchecked. Raises ConfigurationError if it cannot be read or is too long."""
        try:
            with path.open("rb") as file:
                written = file.read(self.size_limit + 1)
        except OSError as error:
            raise ConfigurationError([f"{self.setting}: {path} cannot be read ({error.strerror})"]) from None
        if len(written) > self.size_limit:
            raise ConfigurationError([f"{self.setting}: {path} has more than {self.size_limit:,} bytes"])
        return written

    def parse(self, written: bytes, path: Path) -> Model:
        """The file from its bytes. Raises FileFaulty, which names the path."""
        try:
            text = written.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = written.count(b"\n", 0, error.start) + 1
            raise self._faulty(path, [Fault(line, 1, "", "is not UTF-8")]) from None
        reader = _Reader(self.forms)
        entries = reader.read(text)
        if reader.faults:
            raise self._faulty(path, reader.faults)
        try:
            file = self.model.model_validate(entries)
        except ValidationError as error:
            raise self._faulty(path, [*self._faults(error, reader.places)]) from None
        if self.check and (found := [_fault(reader.places, *each) for each in self.check(file)]):
            raise self._faulty(path, found)
        return file

    def _faulty(self, path: Path, found: Sequence[Fault]) -> FileFaulty:
        return FileFaulty(path, found, setting=self.setting)

    def _faults(self, error: ValidationError, places: Mapping[KeyPath, yaml.Mark]) -> Iterator[Fault]:
        for each in error.errors():
            path = _without_branches(tuple(part for part in each["loc"] if part != "[key]"), places)
            yield _fault(places, path, *self._problem(each, path))

    def _problem(self, error: Any, path: KeyPath) -> tuple[str, str]:
        context = error.get("ctx", {})
        form = form_of(path, self.forms)
        match error["type"]:
            case "extra_forbidden":
                return f"is unknown: {_nearest(str(path[-1]), _keys_beside(path, self.model))}", ""
            case "literal_error":
                known = [str(each) for each in _quoted(context["expected"])]
                return f"is unknown: {_nearest(str(error['input']), known)}", ""
            case "missing":
                return "is missing", form
            case "string_type":
                return "must be a text", form
            case "int_type" | "int_parsing":
                return "must be a whole number", form
            case "less_than_equal":
                return f"must be at most {context['le']:,}", form
            case "greater_than_equal":
                return f"must be at least {context['ge']:,}", form
            case "tuple_type":
                return "must be a list", form
            case "model_type" | "dict_type" | "mapping_type":
                return "must have keys of its own", form
            case "string_too_long" | "too_long":
                entries = "characters" if isinstance(error["input"], str) else "entries"
                return f"has {len(error['input']):,} {entries}, and at most {context['max_length']:,} are possible", ""
            case "too_short":
                return "must not be empty", form
            case "string_pattern_mismatch":
                return "has the wrong form", form
            case _:
                return str(error["msg"]).removeprefix("Value error, "), form


def _without_branches(path: KeyPath, places: Mapping[KeyPath, yaml.Mark]) -> KeyPath:
    """The path without the parts that name a branch of a union, and no key of the file."""
    kept: KeyPath = ()
    for part in path[:-1]:
        if (*kept, part) in places:
            kept = (*kept, part)
    return (*kept, *path[-1:])


def _fault(places: Mapping[KeyPath, yaml.Mark], path: KeyPath, problem: str, form: str = "") -> Fault:
    """A fault at the place of the path, or of what holds it."""
    holders = (path[:end] for end in range(len(path), -1, -1))
    place = next((places[holder] for holder in holders if holder in places), None)
    line, column = (place.line + 1, place.column + 1) if place else (1, 1)
    return Fault(line, column, _named(path), problem, form)


def form_of(path: KeyPath, forms: Mapping[str, str]) -> str:
    """The right form of what is at a path."""
    key = ""
    for part in path:
        longer = f"{key}.{part}" if key else str(part)
        if longer in forms:
            key = longer
    return forms[key]


def _nearest(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"do you mean {near[0]}?" if near else "known here are " + ", ".join(known)


def _quoted(expected: str) -> Iterator[str]:
    """The words of pydantic's `'a', 'b' or 'c'`."""
    yield from expected.split("'")[1::2]


def _keys_beside(path: KeyPath, model: type[BaseModel]) -> list[str]:
    """The keys that are possible at the place of the path's last key."""
    at_name = False
    for part in path[:-1]:
        if isinstance(part, int):
            continue
        if at_name:
            at_name = False
            continue
        field = next((each for name, each in model.model_fields.items() if part in (name, each.alias)), None)
        inner = next(_models_in(field.annotation), None) if field else None
        if field is None or inner is None:
            break
        model, at_name = inner, _is_mapping(field.annotation)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models_in(each)


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) is Mapping or any(_is_mapping(each) for each in get_args(annotation))


def _named(path: KeyPath) -> str:
    """The path as people write it, such as `refuse[0].say`."""
    named = ""
    for part in path:
        named += f"[{part}]" if isinstance(part, int) else f".{part}" if named else str(part)
    return named


class _NotPossible(yaml.MarkedYAMLError):
    """What is YAML, but not for these files."""


class _Loader(yaml.SafeLoader):
    """Stops at the first alias, and where collections are nested too deep to be composed."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        is_collection = self.check_event(yaml.CollectionStartEvent)
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise _NotPossible(problem="must be written out: & and * are not possible here", problem_mark=mark)
        self._depth += is_collection
        if self._depth > DEPTH_LIMIT:
            raise _NotPossible(problem="is nested too deep", problem_mark=mark)
        node = super().compose_node(parent, index)
        self._depth -= is_collection
        return node


class _Reader:
    """Reads YAML into texts, lists and mappings, and notes where each one is."""

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._forms = forms
        self.places: dict[KeyPath, yaml.Mark] = {}
        """Path -> where it begins: a mapping's entry at its key."""
        self.faults: list[Fault] = []

    def read(self, text: str) -> Any:
        try:
            node = yaml.compose(text, Loader=_Loader)
        except _NotPossible as error:
            self._add(error.problem_mark, "", error.problem or "")
            return {}
        except yaml.MarkedYAMLError as error:
            self._add(error.problem_mark, "", f"is not YAML: {error.problem}")
            return {}
        except yaml.YAMLError as error:
            self.faults.append(Fault(1, 1, "", f"is not YAML: {' '.join(str(error).split())[:200]}"))
            return {}
        return {} if node is None else self._value(node, ())

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self.places.setdefault(path, node.start_mark)
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self._value(each, (*path, at)) for at, each in enumerate(node.value)]
            case yaml.ScalarNode(style=None) if not node.tag.endswith((":null", ":str")):
                return Plain(node.value)
            case _:
                return None if node.tag.endswith(":null") else node.value

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            here = (*path, name)
            if not name:
                self._add(key.start_mark, _named(path), "has a key that is no text", form_of(path, self._forms))
            elif name in entries:
                first = self.places[here].line + 1
                self._add(key.start_mark, _named(here), f"is there twice, first on line {first}")
            else:
                self.places[here] = key.start_mark
                entries[name] = self._value(value, here)
        return entries

    def _add(self, mark: Any, where: str, problem: str, form: str = "") -> None:
        """Note a fault at a mark of the parser, if it gives one."""
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        self.faults.append(Fault(line, column, where, problem, form))
