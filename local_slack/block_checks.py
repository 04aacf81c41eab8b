"""What an object of Block Kit may be, in small checks that are put together to a table.

A check yields the faults of a value at a pointer, in the words that Slack has for them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """One thing Slack would refuse."""

    problem: str
    pointer: str
    """A JSON pointer, as `/blocks/0/text/text`."""

    def __str__(self) -> str:
        return f"{self.problem} [json-pointer:{self.pointer}]"


Check = Callable[[Any, str], Iterator[Fault]]
"""Yields the faults of a value at a pointer."""


def string(most: int, *, least: int = 1, pattern: str = "", problem: str = "must be a valid value") -> Check:
    """`problem` is said of a string that does not match the pattern."""

    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield Fault("must be a string", at)
        elif len(value) < least:
            yield Fault(f"must be more than {least - 1} characters", at)
        elif len(value) > most:
            yield Fault(f"must be less than {most + 1} characters", at)
        elif pattern and not re.fullmatch(pattern, value):
            yield Fault(problem, at)

    return check


def text(most: int, *kinds: str) -> Check:
    """A text object; without `kinds` it may be mrkdwn or plain_text."""

    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("must provide an object", at)
        elif value.get("type") not in (kinds or ("mrkdwn", "plain_text")):
            yield Fault(f"unsupported type: {value.get('type')}", f"{at}/type")
        else:
            extra = {"verbatim" if value["type"] == "mrkdwn" else "emoji": boolean}
            yield from object_of(Shape({"type": anything, "text": string(most)}, extra))(value, at)

    return check


def boolean(value: Any, at: str) -> Iterator[Fault]:
    if not isinstance(value, bool):
        yield Fault("must be a boolean", at)


def integer(least: int, most: int) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield Fault("must be an integer", at)
        elif value < least:
            yield Fault(f"must be greater than {least - 1}", at)
        elif value > most:
            yield Fault(f"must be less than {most + 1}", at)

    return check


def number(value: Any, at: str) -> Iterator[Fault]:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        yield Fault("must be a number", at)


def positive(value: Any, at: str) -> Iterator[Fault]:
    yield from number(value, at)
    if isinstance(value, (int, float)) and value <= 0:
        yield Fault("must be greater than 0", at)


def anything(value: Any, at: str) -> Iterator[Fault]:
    return iter(())


def one_of(*allowed: str) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if value not in allowed:
            yield Fault("must be a valid enum value", at)

    return check


def items(each: Check, *, most: int, least: int = 1) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield Fault("must be an array", at)
            return
        if len(value) < least:
            yield Fault(f"no fewer than {least} items allowed", at)
        if len(value) > most:
            yield Fault(f"no more than {most} items allowed", at)
        for index, item in enumerate(value):
            yield from each(item, f"{at}/{index}")

    return check


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of an object. Fields that are not named are refused."""

    needed: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    any_of: tuple[str, ...] = ()
    """At least one of these optional fields has to be there."""
    not_both: tuple[str, ...] = ()
    """At most one of these may be there."""
    also: Check | None = None
    """What the fields have to be together; asked when all that are needed are there and each is right by itself."""


def object_of(shape: Shape) -> Check:
    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("must provide an object", at)
            return
        faults = [Fault(f"missing required field: {name}", at) for name in shape.needed if name not in value]
        if shape.any_of and not any(name in value for name in shape.any_of):
            faults.append(Fault(f"missing required field: {' or '.join(shape.any_of)}", at))
        if sum(name in value for name in shape.not_both) > 1:
            faults.append(Fault(f"must provide only one of: {', '.join(shape.not_both)}", at))
        faults += [fault for name, item in value.items() for fault in _field_faults(shape, name, item, at)]
        yield from faults
        if shape.also is not None and not faults:
            yield from shape.also(value, at)

    return check


def _field_faults(shape: Shape, name: str, value: Any, at: str) -> Iterator[Fault]:
    check = shape.needed.get(name) or shape.optional.get(name)
    if check is None:
        yield Fault(f"invalid additional property: {name}", at)
    else:
        yield from check(value, f"{at}/{name}")


def typed(kinds: Mapping[str, Shape], *allowed: str, common: Mapping[str, Check]) -> Check:
    """An object whose `type` picks its shape from `kinds`; `allowed` narrows them."""

    def check(value: Any, at: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault("must provide an object", at)
            return
        kind = str(value.get("type"))
        if kind not in kinds or (allowed and kind not in allowed):
            yield Fault(f"unsupported type: {kind}", f"{at}/type")
            return
        shape = kinds[kind]
        yield from object_of(replace(shape, optional={**shape.optional, **common, "type": anything}))(value, at)

    return check
