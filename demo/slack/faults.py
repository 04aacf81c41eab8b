"""Failures on demand: of the next calls of a method, and of the next deliveries to the app."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

CallFault = Literal["429", "500", "503", "html", "slow", "drop", "lost"]
"""drop: the connection ends and nothing is done. lost: it is done, but the answer never arrives."""

DeliveryFault = Literal["drop", "duplicate"]


@dataclass(slots=True)
class CallRule:
    """What happens to the next `count` calls of `method` ("*" for any)."""

    method: str
    do: str
    """A CallFault, or the name of an error that the method answers."""
    count: int = 1
    seconds: float = 1
    """Retry-After of a 429, or how slow."""


class Faults:
    """The failures that are still to come."""

    def __init__(self) -> None:
        self.calls: list[CallRule] = []
        self.deliveries: Counter[str] = Counter()

    def take_call(self, method: str) -> CallRule | None:
        """The rule for this call, counted down."""
        for rule in self.calls:
            if rule.method in (method, "*") and rule.count > 0:
                rule.count -= 1
                self.calls = [each for each in self.calls if each.count > 0]
                return rule
        return None

    def take_delivery(self) -> str:
        """What happens to this delivery: "", "drop" or "duplicate"."""
        for fault in ("drop", "duplicate"):
            if self.deliveries[fault] > 0:
                self.deliveries[fault] -= 1
                return fault
        return ""

    def clear(self) -> None:
        """Everything works again."""
        self.calls.clear()
        self.deliveries.clear()
