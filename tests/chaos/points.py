"""The points at which a restart hurts most, and what is said so that they are passed.

POINTS   what lies behind and what is still to come -> where that is
Point    a place, and what people do meanwhile
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Point:
    """A passing of a place of bot/failpoints.py, counted while one customer does one thing."""

    place: str
    passing: int
    what: Literal["work", "solved"]
    """They ask for something · they call a person, who takes the case up and solves it."""


POINTS: Mapping[str, Point] = {
    "after the event is stored": Point("after_insert", 1, "work"),
    "after the model's answer, before its post": Point("round_kept", 4, "work"),
    "in the middle of a streamed answer": Point("stream_grown", 1, "work"),
    "between what the customer is told of a case and its card": Point("post_sent", 1, "solved"),
    "after a claim, before the customer is told": Point("case_stepped", 1, "solved"),
    "after a write, before its result is noted": Point("call_done", 3, "work"),
}
