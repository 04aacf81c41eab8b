"""Answers of a shop: JSON without surprises, and what its errors mean.

read_json  The value of a body.
Verdicts   What a status with a code means, as the connector's file says.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from bot.shops.declared.expressions import Expression, Unusable
from bot.shops.declared.file import Errors, Verdict
from bot.shops.transport import Reply

DEPTH_LIMIT = 64
"""How deep objects and lists of an answer can be in each other."""
_BY_STATUS = {
    401: Verdict(state="unauthorized"),
    403: Verdict(state="unauthorized"),
    409: Verdict(state="refused", refused="changed"),
    412: Verdict(state="refused", refused="changed"),
    429: Verdict(state="busy"),
}
"""What is not listed in the file. A 404 without a listed code is a wrong address, and not "no such order"."""
_UNAVAILABLE = Verdict(state="unavailable")


def read_json(body: bytes) -> Any:
    """The value. Raises Unusable for NaN, infinities, a key that is there twice, and what is too deep."""
    try:
        value = json.loads(body, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Unusable("the body", "is no JSON that can be used") from None
    if _is_deeper(value, DEPTH_LIMIT):
        raise Unusable("the body", f"is deeper than {DEPTH_LIMIT}")
    return value


class Verdicts:
    """What errors mean."""

    def __init__(self, errors: Errors) -> None:
        self._code = Expression(errors.code)
        self._listed = errors.statuses

    def of(self, reply: Reply) -> Verdict | None:
        """What the answer means. None: it is no error."""
        code = "" if 200 <= reply.status < 300 else self._code_of(reply)
        exact = (f"{reply.status} {code}",) if code else ()
        for key in (*exact, f"{reply.status} *", f"{reply.status // 100}xx *"):
            if key in self._listed:
                return self._listed[key]
        if 200 <= reply.status < 300:
            return None
        return _BY_STATUS.get(reply.status, _UNAVAILABLE)

    def _code_of(self, reply: Reply) -> str:
        try:
            found = self._code.search(read_json(reply.body), "errors.code")
        except Unusable:
            return ""
        return str(found) if isinstance(found, (str, int)) and not isinstance(found, bool) else ""


def _object(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(word: str) -> None:
    raise ValueError(word)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects are in each other more than `depth` times."""
    level = [value]
    for _ in range(depth + 1):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
