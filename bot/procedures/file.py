"""The files of procedures: what they can say, how they are read, and what is built from them.

read_procedures  Every procedure of a folder, or every fault of its files.
parse_procedure  One procedure from its text, such as the one that a running procedure began with.
ProcedureFile    Every key of the front matter, with its meaning and its bounds. docs/reference/procedures.md is held to
                 this.
Procedure        A file with its steps ready to be walked.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from bot.actions.clauses import Check
from bot.actions.facts import FACTS
from bot.actions.policy_file import Group, build_group
from bot.cases.case import Priority
from bot.checked_files import Fault, FileFaulty, FileFormat, KeyPath, Part
from bot.desk_file.model import Id, Sentences, in_language
from bot.errors import ConfigurationError
from bot.language.languages import Language
from bot.procedures import graph
from bot.procedures.graph import END, PEOPLE, Node
from bot.shops.actions import Reason

SETTING = "PROCEDURES_PATH"
SIZE_LIMIT = 65_536
"""The most bytes of a file."""
MOST_FILES = 50
"""The most procedures of a folder."""
TEXT_LIMIT = 4_000
"""The most characters of the text of one step."""

ValueType = Literal["own_order", "lines_of", "swaps_of", "payment_method", "image", "one_of", "address", "text"]
_OF_ORDER: tuple[ValueType, ...] = ("lines_of", "swaps_of")
"""The types of values that are about an order."""
Kind = Literal[
    "cancel_order",
    "cancel_lines",
    "change_order_address",
    "return_items",
    "refund",
    "send_again",
    "change_customer_address",
    "change_order_items",
    "change_order_payment",
    "exchange_items",
]
"""The kinds of actions that a procedure can prepare."""
HandOverReason = Literal["procedure", "no_answer", "billing", "security", "legal", "change", "topic", "other"]

REASONS = frozenset(get_args(Reason))

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "cancel_order": ("reason",),
    "cancel_lines": ("lines", "reason"),
    "change_order_address": ("address",),
    "return_items": ("lines", "reason"),
    "refund": ("reason",),
    "send_again": ("lines", "reason"),
    "change_customer_address": ("address",),
    "change_order_items": ("swaps",),
    "change_order_payment": ("method",),
    "exchange_items": ("swaps", "reason"),
}
"""Kind -> the arguments without which it cannot be prepared, beside the order."""
_NAMED: Mapping[str, ValueType] = {
    "order": "own_order",
    "lines": "lines_of",
    "swaps": "swaps_of",
    "method": "payment_method",
    "address": "address",
}
"""Argument of an action -> the type of the value that it names."""
_UNKNOWN_FACTS = frozenset(
    name for name, spec in FACTS.items() if spec.argument in ("reason", "variant", "method", "amount")
) | {"difference", "variant.available", "variant.price"}
"""The facts that are known only of an action."""
_HEADING = re.compile(r"##[ \t]+(\S[^\n]*)")
_FILLED_IN = re.compile(r"\{([^{}]*)\}")
"""Where a sentence names an order."""


class ValueSpec(Part):
    """One thing to find out from the customer."""

    type: ValueType
    """What it is. The model notes it, and code checks it."""
    of: Id | Literal[""] = ""
    """For `lines_of` and `swaps_of`: the order whose lines they are."""
    values: Annotated[tuple[Id, ...], Field(max_length=20)] = ()
    """For `one_of`: what the customer can choose from."""
    optional: bool = False
    """`yes`: the step that needs it goes on without it, once everything else is there."""

    @model_validator(mode="after")
    def _check(self) -> "ValueSpec":
        if (self.type in _OF_ORDER) != bool(self.of):
            surplus = f"has `of`, but is none of: {', '.join(_OF_ORDER)}"
            raise ValueError(surplus if self.of else "needs `of` with the name of an order")
        if (self.type == "one_of") != bool(self.values):
            raise ValueError("needs `values`" if not self.values else "has `values`, but is not one_of")
        return self


class Prepare(Part):
    """What an action is prepared with: names of what was collected, and why."""

    order: Id | Literal[""] = ""
    """The order. Not needed if the procedure collects only one."""
    lines: Id | Literal[""] = ""
    """The articles. Without them a refund is one of the whole order."""
    swaps: Id | Literal[""] = ""
    """The articles, each with the variant that it becomes."""
    method: Id | Literal[""] = ""
    """The payment method to pay with, or to which money goes back."""
    address: Id | Literal[""] = ""
    """The new address."""
    reason: Id | Literal[""] = ""
    """Why, in one of the shop's words; or the name of a `one_of` whose values are such words."""


class When(Part):
    """The step that follows the end of an action."""

    done: Id
    """It took effect."""
    refused: Id | Literal[""] = ""
    """The policy or the shop said no."""
    declined: Id | Literal[""] = ""
    """The customer said no."""
    expired: Id | Literal[""] = ""
    """The customer did not say anything in time."""
    else_: Id = Field(alias="else")
    """Everything else, such as an action that only a person can decide about."""

    def after(self, end: str) -> str:
        """The step that follows."""
        named = {"done": self.done, "refused": self.refused, "declined": self.declined, "expired": self.expired}
        return named.get(end) or self.else_


class HandOver(Part):
    """How a person is called."""

    reason: HandOverReason = "procedure"
    """Why, as staff see it on the case's card."""
    priority: Priority = "medium"
    """How urgent it is."""


class Step(Part):
    """One step. It asks, checks, prepares an action, or calls a person."""

    id: Id
    """Its name: the heading of its text."""
    needs: Annotated[tuple[Id, ...], Field(max_length=10)] = ()
    """The step asks until these are there."""
    next: Mapping[Id, Mapping[Id, Id]] = Field(default={})
    """A choice -> its value -> the step that follows. Without it, the next step of the list follows."""
    check: Annotated[tuple[Group, ...], Field(max_length=20)] = ()
    """The step checks these facts. If all are fulfilled, the next step of the list follows."""
    otherwise: Id | Literal[""] = ""
    """The step that follows if one of them is not."""
    prepare: Annotated[Mapping[Kind, Prepare], Field(max_length=1)] = Field(default={})
    """The step shows the customer an action, and waits for its end."""
    when: When | None = None
    """What follows then."""
    hand_over: HandOver | None = None
    """The step calls a person, and the procedure ends."""
    say: Id | Literal[""] = ""
    """With `hand_over`: the sentence that the customer reads first, a key of `sentences`."""

    @model_validator(mode="after")
    def _check(self) -> "Step":
        given = [name for name in ("needs", "check", "prepare", "hand_over") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"needs one of: needs, check, prepare, hand_over; it has {', '.join(given) or 'none'}")
        for name, partner in (("next", "needs"), ("otherwise", "check"), ("when", "prepare"), ("say", "hand_over")):
            if getattr(self, name) and not getattr(self, partner):
                raise ValueError(f"has {name}, which is possible only with {partner}")
        if len(self.next) > 1:
            raise ValueError("has a next with two choices: only one can decide")
        if self.check and not self.otherwise:
            raise ValueError("needs otherwise")
        if self.prepare and self.when is None:
            raise ValueError("needs when")
        return self

    @property
    def action(self) -> tuple[Kind, Prepare]:
        """What the step prepares. Only of one that does."""
        ((kind, arguments),) = self.prepare.items()
        return kind, arguments


class ProcedureFile(Part):
    """The front matter of a procedure."""

    procedure: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
    """Its name."""
    version: Annotated[int, Field(ge=1, le=1_000_000)]
    """Your number for this version, which staff see on a case's card."""
    when: Annotated[str, Field(min_length=10, max_length=200)]
    """One sentence by which the assistant sees that the procedure fits."""
    collect: Annotated[Mapping[Id, ValueSpec], Field(max_length=20)] = Field(default={})
    """Name -> what to find out from the customer."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=40)]
    """The steps. The first one is on when the procedure begins."""
    sentences: Annotated[Mapping[Id, Sentences], Field(max_length=20)] = Field(default={})
    """Key -> sentence for customers."""


FORMS = {
    "": "procedure: damaged-item",
    "procedure": "procedure: damaged-item",
    "version": "version: 1",
    "when": "when: An article arrived broken or incomplete.",
    "collect": "collect: {order: {type: own_order}}",
    "collect.type": "type: own_order",
    "collect.of": "of: order",
    "collect.values": "values: [replacement, refund]",
    "collect.optional": "optional: yes",
    "steps": "steps: [{id: find, needs: [order]}]",
    "steps.id": "id: find",
    "steps.needs": "needs: [order, lines]",
    "steps.next": "next: {wish: {replacement: resend, refund: money}}",
    "steps.check": "check: [{fact: order.status, is: delivered}]",
    "steps.otherwise": "otherwise: people",
    "steps.prepare": "prepare: {refund: {lines: lines, reason: damaged}}",
    "steps.prepare.order": "order: order",
    "steps.prepare.lines": "lines: lines",
    "steps.prepare.swaps": "swaps: swaps",
    "steps.prepare.method": "method: card",
    "steps.prepare.address": "address: address",
    "steps.prepare.reason": "reason: damaged",
    "steps.when": "when: {done: end, else: people}",
    "steps.when.done": "done: end",
    "steps.when.refused": "refused: people",
    "steps.when.declined": "declined: choose",
    "steps.when.expired": "expired: end",
    "steps.when.else": "else: people",
    "steps.hand_over": "hand_over: {reason: procedure, priority: high}",
    "steps.hand_over.reason": "reason: procedure",
    "steps.hand_over.priority": "priority: medium",
    "steps.say": "say: too_late",
    "sentences": "sentences: {too_late: {en: A colleague looks at this.}}",
}
"""Key -> the right form. A list's entries and a mapping's names are left out of the key."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure, ready to be walked."""

    file: ProcedureFile
    texts: Mapping[str, str]
    """Step -> what the model reads while it is on."""
    source: str
    """The file as it was written, so that a running procedure can keep it."""
    digest: str
    """The SHA-256 of the source."""
    checks: Mapping[str, Sequence[tuple[Check, bool]]] = field(default_factory=dict, compare=False)
    """Step -> what it checks, and whether each is about every line."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.file.procedure

    def step(self, id_: str) -> Step | None:
        """The step with this id. None for `end`, and for a `people` that the file does not have."""
        return next((step for step in self.file.steps if step.id == id_), None)

    def following(self, id_: str) -> str:
        """The next step of the list."""
        ids = [step.id for step in self.file.steps]
        at = ids.index(id_) + 1
        return ids[at] if at < len(ids) else END

    def order_name(self, arguments: Prepare) -> str:
        """The name of the order that an action is about. Empty if it has none."""
        if arguments.order:
            return arguments.order
        if arguments.lines:
            return self.file.collect[arguments.lines].of
        return next(iter(_of_type(self.file, "own_order")), "")

    def said(self, step: Step, language: Language, collected: Mapping[str, Any]) -> str:
        """What a step says to the customer, with the orders that its sentence names."""
        sentence = in_language(self.file.sentences[step.say], language)
        return _FILLED_IN.sub(lambda named: str(collected.get(named[1], "")), sentence)


Procedures = Mapping[str, Procedure]
"""Name -> procedure."""


def read_procedures(folder: Path) -> Procedures:
    """Every procedure of a folder: the files that end in `.md`, by name.

    Raises:
        ConfigurationError: with every fault of every file. No file is used if one has a fault.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except OSError as error:
        raise ConfigurationError([f"{SETTING}: {folder} cannot be read ({error.strerror})"]) from None
    if not 1 <= len(paths) <= MOST_FILES:
        raise ConfigurationError([f"{SETTING}: {folder} has {len(paths)} files *.md, and needs 1 to {MOST_FILES}"])
    found: dict[str, Procedure] = {}
    faults: list[str] = []
    for path in paths:
        try:
            procedure = read_procedure(path)
        except ConfigurationError as error:
            faults += error.faults
            continue
        if procedure.name in found:
            faults.append(f"{SETTING}: {path}: {procedure.name} is the name of another file's procedure")
        found[procedure.name] = procedure
    if faults:
        raise ConfigurationError(faults)
    return found


def read_procedure(path: Path) -> Procedure:
    """One procedure. Raises ConfigurationError; a FileFaulty has the place of every fault."""
    return _parse(_FORMAT.load(path), path)


def parse_procedure(source: str) -> Procedure:
    """A procedure from the text that `read_procedure` has accepted. Raises ConfigurationError for any other."""
    return _parse(source.encode(), Path("stored"))


def json_schema() -> dict[str, Any]:
    """The JSON schema of the front matter, with which an editor completes and checks it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ProcedureFile.model_json_schema()}


def _parse(written: bytes, path: Path) -> Procedure:
    front, text, first = _split(written, path)
    file = _FORMAT.parse(front, path)
    texts, faults = _sections(text, first, {step.id: step for step in file.steps})
    if faults:
        raise FileFaulty(path, faults, setting=SETTING)
    source = written.decode("utf-8-sig")
    checks = {step.id: [_check(each) for each in step.check] for step in file.steps}
    return Procedure(file, texts, source, hashlib.sha256(source.encode()).hexdigest(), checks)


def _split(written: bytes, path: Path) -> tuple[bytes, str, int]:
    """The front matter with its lines where they are in the file, the text after it, and the line where that begins."""
    lines = written.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() == b"---"), 0)
    if lines[0].rstrip() != b"---" or not end:
        raise FileFaulty(path, [Fault(1, 1, "", "must begin with a line --- and have another one")], setting=SETTING)
    # The format finds what is not UTF-8 in the front matter; the text is looked at here.
    front = b"\n".join((b"", *lines[1:end]))
    try:
        return front, b"\n".join(lines[end + 1 :]).decode(), end + 2
    except UnicodeDecodeError as error:
        line = end + 2 + b"\n".join(lines[end + 1 :]).count(b"\n", 0, error.start)
        raise FileFaulty(path, [Fault(line, 1, "", "is not UTF-8")], setting=SETTING) from None


def _sections(text: str, first: int, steps: Mapping[str, Step]) -> tuple[dict[str, str], list[Fault]]:
    """Step -> text, and what is wrong with them. A step that asks needs one."""
    written: dict[str, list[str]] = {}
    places: dict[str, int] = {}
    faults: list[Fault] = []
    current: list[str] | None = None
    for number, line in enumerate(text.split("\n"), start=first):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            name = heading[1].strip()
            faults += _heading_faults(name, number, steps, places)
            places.setdefault(name, number)
            current = written.setdefault(name, [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            faults.append(Fault(number, 1, "", "is a text without a step", "## find"))
            current = []
    texts = {name: "\n".join(lines).strip() for name, lines in written.items()}
    for name, words in texts.items():
        if len(words) > TEXT_LIMIT:
            problem = f"has {len(words):,} characters, and at most {TEXT_LIMIT:,} are possible"
            faults.append(Fault(places[name], 1, name, problem))
    for step in steps.values():
        if step.needs and not texts.get(step.id):
            faults.append(Fault(places.get(step.id, 1), 1, step.id, "asks, and has no text", f"## {step.id}"))
    return texts, faults


def _heading_faults(name: str, line: int, steps: Mapping[str, Step], places: Mapping[str, int]) -> Iterator[Fault]:
    if name in places:
        yield Fault(line, 1, name, f"is there twice, first on line {places[name]}")
    elif name not in steps:
        yield Fault(line, 1, name, f"is no step: known here are {', '.join(steps)}")
    elif steps[name].check or steps[name].hand_over:
        yield Fault(line, 1, name, "has a text that nobody reads: only a step that asks or prepares has one")


def _check(group: Group) -> tuple[Check, bool]:
    return build_group(group), any(FACTS[name].per_line for name in group.facts())


def _of_type(file: ProcedureFile, type_: ValueType) -> list[str]:
    return [name for name, spec in file.collect.items() if spec.type == type_]


def _faults(file: ProcedureFile) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the front matter, though every key has the right form."""
    for name, spec in file.collect.items():
        if spec.of and (spec.of not in file.collect or file.collect[spec.of].type != "own_order"):
            yield ("collect", name, "of"), f"names {spec.of}, which is no own_order of collect"
    seen: set[str] = set()
    for at, step in enumerate(file.steps):
        here: KeyPath = ("steps", at)
        if step.id in seen or step.id == END:
            yield (*here, "id"), "is the name of another step"
        seen.add(step.id)
        if step.id == PEOPLE and not step.hand_over:
            yield (*here, "id"), "must have hand_over: it is where a procedure goes that gets stuck"
        yield from (((*here, *path), problem) for path, problem in _step_faults(file, step))
    for at, step in enumerate(file.steps):
        for path, target in _targets(step):
            if target not in seen | {END, PEOPLE}:
                yield ("steps", at, *path), f"names {target}, which is no step"
                return
    yield from ((("steps", at), problem) for at, problem in graph.faults(_nodes(file)))
    needed = {name for step in file.steps for name in step.needs}
    for name in file.collect:
        if name not in needed:
            yield ("collect", name), "is needed by no step, so nobody asks for it"


def _step_faults(file: ProcedureFile, step: Step) -> Iterator[tuple[KeyPath, str]]:
    for name in step.needs:
        if name not in file.collect:
            yield ("needs",), f"names {name}, which is not in collect"
    if step.needs and all(name in file.collect and file.collect[name].optional for name in step.needs):
        yield ("needs",), "needs only what is optional, so it would ask nothing"
    for name, steps in step.next.items():
        if name not in step.needs or name not in file.collect or file.collect[name].type != "one_of":
            yield ("next", name), "is no one_of that this step needs"
        elif set(steps) != set(file.collect[name].values):
            yield ("next", name), f"must name every value: {', '.join(file.collect[name].values)}"
        elif file.collect[name].optional:
            yield ("next", name), "decides what follows, so it cannot be optional"
    for name in sorted({name for group in step.check for name in group.facts()} & _UNKNOWN_FACTS):
        yield ("check",), f"looks at {name}, which is known only of an action"
    if step.say and step.say not in file.sentences:
        yield ("say",), f"names {step.say}, which is not in sentences"
    for name in sorted(_orders_said(file, step) - {*_of_type(file, "own_order")}):
        yield ("say",), f"has {{{name}}} in its sentence, which is no own_order of collect"
    if step.prepare:
        yield from _prepare_faults(file, *step.action)


def _prepare_faults(file: ProcedureFile, kind: Kind, arguments: Prepare) -> Iterator[tuple[KeyPath, str]]:
    here: KeyPath = ("prepare", kind)
    for name in _NEEDS[kind]:
        if not getattr(arguments, name):
            yield here, f"needs {name}"
    for argument, type_ in _NAMED.items():
        name = getattr(arguments, argument)
        if name and (name not in file.collect or file.collect[name].type != type_):
            yield (*here, argument), f"names {name}, which is no {type_} of collect"
            return
    reason = arguments.reason
    if reason and not set(file.collect[reason].values if reason in file.collect else (reason,)) <= REASONS:
        yield (*here, "reason"), f"is {reason}, which is no reason: known here are {', '.join(get_args(Reason))}"
    if kind != "change_customer_address" and not (arguments.order or arguments.lines or arguments.swaps):
        orders = _of_type(file, "own_order")
        if len(orders) != 1:
            yield here, "needs order" if orders else "needs an own_order in collect"


def _targets(step: Step) -> Iterator[tuple[KeyPath, str]]:
    for name, steps in step.next.items():
        yield from ((("next", name, value), target) for value, target in steps.items())
    if step.otherwise:
        yield ("otherwise",), step.otherwise
    if step.when:
        for key in ("done", "refused", "declined", "expired", "else_"):
            if target := getattr(step.when, key):
                yield ("when", key.rstrip("_")), target


def _nodes(file: ProcedureFile) -> list[Node]:
    """The steps as a graph."""
    nodes: list[Node] = []
    for at, step in enumerate(file.steps):
        targets = [target for _, target in _targets(step)]
        if not (step.next or step.prepare or step.hand_over):
            targets.append(file.steps[at + 1].id if at + 1 < len(file.steps) else END)
        if step.check:
            # A fact that nobody knows leads to people.
            targets.append(PEOPLE)
        gives = {name for name in step.needs if not file.collect[name].optional} if _is_known(file, step) else set()
        nodes.append(Node(step.id, tuple(targets), bool(step.needs), frozenset(gives), _uses(file, step)))
    return nodes


def _is_known(file: ProcedureFile, step: Step) -> bool:
    return all(name in file.collect for name in step.needs)


def _uses(file: ProcedureFile, step: Step) -> frozenset[str]:
    """The values without which a step cannot do its work."""
    if step.prepare:
        _, arguments = step.action
        named = {arguments.order, arguments.lines, arguments.address, arguments.reason} & set(file.collect)
        return frozenset(named | ({file.collect[arguments.lines].of} if arguments.lines in file.collect else set()))
    if step.say:
        return _orders_said(file, step)
    facts = {name for group in step.check for name in group.facts()}
    orders = _of_type(file, "own_order")
    needs_order = any(name.startswith(("order.", "line.")) for name in facts)
    return frozenset(orders[:1]) if needs_order and orders else frozenset()


def _orders_said(file: ProcedureFile, step: Step) -> frozenset[str]:
    """The names in braces in what a step says."""
    texts = file.sentences.get(step.say, {}).values()
    return frozenset(name for text in texts for name in _FILLED_IN.findall(text))


_FORMAT = FileFormat(ProcedureFile, setting=SETTING, size_limit=SIZE_LIMIT, forms=FORMS, check=_faults)
