"""Expressions of a connector's file: JMESPath over an answer, compiled when the file is read.

Expression  Where something is in an answer.
Unusable    An answer that a connector cannot use. It names the field, and never what stands there.
Stopwatch   How long the expressions over one answer may take.
"""

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions

from bot.shops.port import ShopUnavailable

LENGTH_LIMIT = 500
"""The most characters of an expression."""
SECONDS_LIMIT = 0.05
"""Processor time for all expressions over one answer, plain paths left out."""
_PLAIN_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}(\.[A-Za-z_][A-Za-z0-9_]{0,99})*")
_FUNCTIONS = frozenset(Functions.FUNCTION_TABLE)


class Unusable(ShopUnavailable):
    """The answer is not what the connector's file says."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"the shop's answer cannot be used: {field} {why}")
        self.field = field
        self.why = why


class Expression:
    """A compiled expression. Raises ValueError with a sentence if the text is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._keys = tuple(text.split(".")) if _PLAIN_PATH.fullmatch(text) else ()
        self.is_path = bool(self._keys)
        try:
            self._parsed: Any = jmespath.compile(text)
        except (JMESPathError, RecursionError) as error:
            raise ValueError(f"is no JMESPath expression: {_one_line(error)}") from None
        if unknown := sorted(set(_functions_of(self._parsed.parsed)) - _FUNCTIONS):
            raise ValueError(f"calls {unknown[0]}(), which JMESPath does not have")

    def search(self, record: object, field: str) -> Any:
        """What is at it; None if nothing is. Raises Unusable that names `field`."""
        if self._keys:
            return _walk(record, self._keys)
        try:
            return self._parsed.search(record)
        except (JMESPathError, RecursionError, TypeError, ValueError, ArithmeticError) as error:
            raise Unusable(field, f"cannot be computed ({type(error).__name__})") from None

    def holds(self, record: object) -> bool:
        """Whether the condition is true. Raises Unusable unless it is true or false."""
        found = self.search(record, self.text)
        if not isinstance(found, bool):
            raise Unusable(self.text, "is neither true nor false")
        return found


class Stopwatch:
    """Counts the processor time of the expressions over one answer. A plain path takes none that counts."""

    def __init__(self) -> None:
        self._left = SECONDS_LIMIT

    def search(self, expression: Expression, record: object, field: str) -> Any:
        """What is at the expression. Raises Unusable as `Expression.search`, and if all took too long."""
        if expression.is_path:
            return expression.search(record, field)
        began = time.thread_time()
        found = expression.search(record, field)
        self._left -= time.thread_time() - began
        if self._left < 0:
            raise Unusable(field, f"comes after {SECONDS_LIMIT * 1000:g} ms of expressions")
        return found


def _walk(record: object, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(record, Mapping):
            return None
        record = record.get(key)
    return record


def _functions_of(node: Any) -> Iterator[str]:
    """The names of all functions in a parsed expression."""
    if node.get("type") == "function_expression":
        yield node["value"]
    for child in node.get("children", ()):
        if isinstance(child, dict):
            yield from _functions_of(child)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
