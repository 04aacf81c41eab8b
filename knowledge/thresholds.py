"""How sure a search is that the base has an answer: clearly, perhaps, or not."""

from dataclasses import dataclass
from typing import Literal

Certainty = Literal["clearly", "perhaps", "not"]
"""Whether the base has an answer. "Perhaps" means that the passages have to be read to know."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The scores from which a base has an answer, measured on it when it is built."""

    clearly: float
    """The answer threshold."""
    perhaps: float
    """At most `clearly`. Below it, a question is foreign to the base."""

    def certainty(self, score: float) -> Certainty:
        """What the score of the best passage says."""
        return "clearly" if score >= self.clearly else "perhaps" if score >= self.perhaps else "not"

    def is_close(self, score: float) -> bool:
        """Whether the score is in the upper half of "perhaps", or above."""
        return score >= (self.clearly + self.perhaps) / 2
