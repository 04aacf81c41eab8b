"""Patterns of `matches`, in time that grows with the text alone.

The syntax is a part of that of regular expressions: letters, `.`, classes such as `[A-Z0-9]`, `\\d` `\\w` `\\s` and
their opposites, groups, `|`, and the repeats `?` `*` `+` `{2}` `{2,4}`. A pattern always matches a whole text.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

LENGTH_LIMIT = 200
"""The most characters of a pattern."""
STEP_LIMIT = 500
"""The most steps of a pattern, with its repeats written out."""
TEXT_LIMIT = 200
"""The most characters of a text. No pattern matches a longer one."""
DEPTH_LIMIT = 10
"""The most groups that can be within each other."""

_COUNT = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}")
_CLASSES = "dDwWsS"
_PUNCTUATION = ".^$*+?{}[]()|\\/-_ ,:;#&@!%=<>~\"'`"

_Fits = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a pattern."""

    kind: Literal["sign", "sequence", "choice", "repeat"]
    fits: _Fits | None = None
    parts: tuple["_Node", ...] = ()
    least: int = 1
    most: int | None = 1


@dataclass(slots=True)
class _Step:
    """A step of the written-out pattern: a character that has to fit, or where to go on without one."""

    fits: _Fits | None = None
    next: list[int] = field(default_factory=list)


class Pattern:
    """A pattern. Raises ValueError, with what is not possible, if it cannot be used."""

    def __init__(self, written: str) -> None:
        if not written or len(written) > LENGTH_LIMIT:
            raise ValueError(f"must have 1 to {LENGTH_LIMIT} characters")
        self.written = written
        self._steps: list[_Step] = []
        self._parts = 0
        self._write(_Parser(written).read())
        self._end = len(self._steps)

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        if len(text) > TEXT_LIMIT:
            return False
        places = self._reached([0])
        for sign in text:
            places = self._reached(
                place + 1 for place in places if place < self._end and (fits := self._steps[place].fits) and fits(sign)
            )
            if not places:
                return False
        return self._end in places

    def _reached(self, starts: Iterable[int]) -> set[int]:
        """The steps that wait for a character, or the end, from these on."""
        todo, seen, waiting = list(starts), set[int](), set[int]()
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            if place == self._end or self._steps[place].fits:
                waiting.add(place)
            else:
                todo.extend(self._steps[place].next)
        return waiting

    def _write(self, node: _Node) -> None:
        """Write a part out, so that the step behind it comes next."""
        self._parts += 1
        if self._parts > 10 * STEP_LIMIT:
            raise ValueError("repeats too much: write it shorter")
        match node.kind:
            case "sign":
                self._add(_Step(fits=node.fits))
            case "sequence":
                for part in node.parts:
                    self._write(part)
            case "choice":
                self._write_choice(node.parts)
            case "repeat":
                self._write_repeat(node)

    def _write_choice(self, parts: Sequence[_Node]) -> None:
        fork = self._add(_Step())
        ends = []
        for part in parts:
            fork.next.append(len(self._steps))
            self._write(part)
            ends.append(self._add(_Step()))
        for end in ends:
            end.next.append(len(self._steps))

    def _write_repeat(self, node: _Node) -> None:
        (part,) = node.parts
        for _ in range(node.least):
            self._write(part)
        if node.most is None:
            place = len(self._steps)
            fork = self._add(_Step())
            fork.next.append(len(self._steps))
            self._write(part)
            self._add(_Step(next=[place]))
            fork.next.append(len(self._steps))
            return
        forks = []
        for _ in range(node.most - node.least):
            fork = self._add(_Step())
            fork.next.append(len(self._steps))
            forks.append(fork)
            self._write(part)
        for fork in forks:
            fork.next.append(len(self._steps))

    def _add(self, step: _Step) -> _Step:
        if len(self._steps) >= STEP_LIMIT:
            raise ValueError("repeats too much: write it shorter")
        self._steps.append(step)
        return step


class _Parser:
    """Reads a pattern into its parts."""

    def __init__(self, written: str) -> None:
        self._text = written
        self._at = 0
        self._depth = 0

    def read(self) -> _Node:
        node = self._choice()
        if self._at < len(self._text):
            raise ValueError("has a ) without its (")
        return node

    def _choice(self) -> _Node:
        parts = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Node("choice", parts=tuple(parts))

    def _sequence(self) -> _Node:
        parts = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._one()))
        return _Node("sequence", parts=tuple(parts))

    def _repeated(self, node: _Node) -> _Node:
        sign = self._next()
        if sign in ("?", "*", "+"):
            self._at += 1
            least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}[sign]
        elif sign == "{":
            least, most = self._count()
        else:
            return node
        if self._next() in ("?", "*", "+", "{"):
            raise ValueError("has a repeat behind a repeat")
        return _Node("repeat", parts=(node,), least=least, most=most)

    def _count(self) -> tuple[int, int | None]:
        found = _COUNT.match(self._text, self._at)
        if not found:
            raise ValueError("has a { that begins no repeat such as {2} or {2,4}: write \\{ for the sign itself")
        self._at = found.end()
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else None
        if most is not None and most < least:
            raise ValueError(f"has a repeat that ends before it begins: {found[0]}")
        return least, most

    def _one(self) -> _Node:
        sign = self._text[self._at]
        self._at += 1
        match sign:
            case "(":
                return self._group()
            case "[":
                return _Node("sign", fits=self._class())
            case ".":
                return _Node("sign", fits=lambda _: True)
            case "\\":
                return _Node("sign", fits=_one_of(self._escape()))
            case "?" | "*" | "+" | "{":
                raise ValueError(f"has a {sign} with nothing to repeat: write \\{sign} for the sign itself")
            case "^" | "$":
                raise ValueError(f"has a {sign}, but always matches a whole text: write \\{sign} for the sign itself")
        return _Node("sign", fits=sign.__eq__)

    def _group(self) -> _Node:
        if self._text.startswith("?:", self._at):
            self._at += 2
        elif self._next() == "?":
            raise ValueError("has a (?, which is not possible here; groups are ( ) or (?: )")
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise ValueError(f"has more than {DEPTH_LIMIT} groups within each other")
        node = self._choice()
        if self._next() != ")":
            raise ValueError("has a ( without its )")
        self._at += 1
        self._depth -= 1
        return node

    def _class(self) -> _Fits:
        start = self._at - 1
        if self._next() == "^":
            self._at += 1
        while (sign := self._next()) != "]":
            self._at += 1
            if sign == "\\":
                self._escape()
            elif sign in ("[", ""):
                raise ValueError("has a [ without its ]: write \\[ for the sign itself")
        self._at += 1
        return _one_of(self._text[start : self._at])

    def _escape(self) -> str:
        """The sign behind a backslash, with the backslash."""
        sign = self._next()
        if not sign or sign not in _CLASSES + _PUNCTUATION:
            raise ValueError(f"has a \\{sign}, which is not possible here")
        self._at += 1
        return f"\\{sign}"

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]


def _one_of(written: str) -> _Fits:
    """Whether a single character fits a class or an escape."""
    # Python warns of these, since it may read them differently one day.
    if any(pair in written[1:] for pair in ("--", "&&", "~~", "||")):
        raise ValueError(f"has a class with a doubled sign: {written}")
    try:
        return re.compile(written, re.DOTALL).fullmatch
    except re.error as error:
        raise ValueError(f"has a class that cannot be used: {written} ({error.msg})") from None
