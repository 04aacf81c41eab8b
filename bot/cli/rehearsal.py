"""`frontdesk procedures try`: play a procedure by a script, without a shop, a model or a database.

A script is a YAML list. Each entry is one thing that happens:

    - facts: {order.status: delivered, line.days_since_delivery: 3}   what the shop knows from now on
    - note: {order: ORD-1, lines: all, wish: refund}                  what the customer has said
    - action: declined                                                how the action ends that waits
    - at: choose                                                      where the procedure has to be by now
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from bot.actions.clauses import find_fact, read_operand
from bot.actions.facts import Value
from bot.errors import ConfigurationError
from bot.procedures.file import Procedure, Step
from bot.procedures.graph import END
from bot.procedures.walking import after_action, after_asking, after_check, is_waiting, kept_at
from bot.shops.port import Money

SIZE_LIMIT = 65_536
"""The most bytes of a script."""
ENDS = ("done", "refused", "failed", "declined", "expired", "rejected")
"""How an action can end in a script."""
HAPPENS = ("facts", "note", "action", "at")


class WrongScript(ConfigurationError):
    """The script cannot be played."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__([f"entry {number} of the script {problem}"])


@dataclass(slots=True)
class Rehearsal:
    """A procedure with its place."""

    procedure: Procedure
    at: str = ""
    collected: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Value | tuple[Value | None, ...]] = field(default_factory=dict)
    is_as_expected: bool = True

    def play(self, script: list[Mapping[str, Any]]) -> Iterator[str]:
        """What happens, a line each."""
        self.at = self.procedure.file.steps[0].id
        yield from self._walk()
        for number, entry in enumerate(script, start=1):
            if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in HAPPENS:
                raise WrongScript(number, f"needs one of: {', '.join(HAPPENS)}")
            ((what, value),) = entry.items()
            yield f"{number}. {what}: {value}"
            match what:
                case "at":
                    if value != self.at:
                        self.is_as_expected = False
                        yield f"   wrong: the procedure is at {self.at}"
                    continue
                case "facts":
                    self._learn(number, value)
                case "note":
                    self._note(number, value)
                case "action":
                    self._end(number, value)
            yield from self._walk()

    def _learn(self, number: int, given: Any) -> None:
        if not isinstance(given, dict):
            raise WrongScript(number, "needs facts with their values")
        for name, written in given.items():
            try:
                spec = find_fact(name)
                value = _fact(name, spec.type, written)
            except ValueError as error:
                raise WrongScript(number, f"has {name}, which {error}") from None
            self.facts[name] = (value,) if spec.per_line else value

    def _note(self, number: int, given: Any) -> None:
        collect = self.procedure.file.collect
        for name, value in (given if isinstance(given, dict) else {"": given}).items():
            if name not in collect:
                raise WrongScript(number, f"notes {name}, which is not in collect")
            if collect[name].values and value not in collect[name].values:
                raise WrongScript(number, f"notes {value}, which is none of: {', '.join(collect[name].values)}")
            if self.collected.get(name, value) != value:
                # As on the desk: another value has everything checked again.
                self.at = self.procedure.file.steps[0].id
            self.collected[name] = value

    def _end(self, number: int, end: Any) -> None:
        step = self.procedure.step(self.at)
        if step is None or not step.prepare:
            raise WrongScript(number, f"ends an action, and none waits at {self.at}")
        if end not in ENDS:
            raise WrongScript(number, f"needs one of: {', '.join(ENDS)}")
        self.at = after_action(step, end)
        self.collected = kept_at(self.procedure, self.at, self.collected)

    def _walk(self) -> Iterator[str]:
        """Walk until something has to happen. A check waits for facts, if the script has given none yet."""
        while True:
            step = self.procedure.step(self.at)
            if step is None or step.hand_over or step.prepare:
                yield f"   -> {self.at}: {self._told(step)}"
                return
            if step.needs and is_waiting(self.procedure, step, self.collected):
                missing = [name for name in step.needs if name not in self.collected]
                yield f"   -> {self.at}: asks for {', '.join(missing)}"
                yield from (f"      | {line}" for line in self.procedure.texts.get(self.at, "").splitlines())
                return
            if step.needs:
                self.at = after_asking(self.procedure, step, self.collected)
            else:
                before, self.at = self.at, after_check(self.procedure, step, self.facts)
                yield f"   -> {before}: checked, then {self.at}"

    def _told(self, step: Step | None) -> str:
        if self.at == END:
            return "done"
        if step is None or step.hand_over:
            return "calls a person" + (f" and says: {step.say}" if step and step.say else "")
        kind, _ = step.action
        return f"shows {kind} and waits for its end"


def play(procedure: Procedure, path: Path) -> int:
    """Play the script, and print what happens. The exit status is 1 if it is not where the script expects it."""
    rehearsal = Rehearsal(procedure)
    for line in rehearsal.play(_script(path)):
        print(line)
    print(f"The procedure is at {rehearsal.at}.")
    return 0 if rehearsal.is_as_expected else 1


def _script(path: Path) -> list[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            written = yaml.safe_load(file.read(SIZE_LIMIT))
    except OSError as error:
        raise ConfigurationError([f"{path} cannot be read ({error.strerror})"]) from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError):
        raise ConfigurationError([f"{path} is no YAML"]) from None
    if not isinstance(written, list):
        raise ConfigurationError([f"{path} must be a list"])
    return written


def _fact(name: str, type_: str, written: Any) -> Value:
    """A fact's value from the script. Raises ValueError."""
    match type_, written:
        case "money", dict() if len(written) == 1:
            ((currency, minor),) = written.items()
            if isinstance(currency, str) and type(minor) is int:
                return Money(minor, currency)
        case "texts", list():
            return frozenset(map(str, written))
        case (("text" | "number" | "yes or no" | "day"), str() | int() | date()):
            found = read_operand(name, "is", ("yes" if written else "no") if type(written) is bool else str(written))
            if isinstance(found, str | int | bool | date):
                return found
    raise ValueError(f"needs a value of the type {type_}")
