"""The rule of KB_REFRESH, which says when a refresh is due again.

It is an interval (30m, 6h, 1d) or a cron expression of five fields.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from cronsim import CronSim, CronSimError

JITTER_SHARE = 0.1
"""The most that a refresh is delayed at random, as a share of the time between two refreshes. It keeps many desks that
read one site from doing so in the same second."""
JITTER_SECONDS = 300.0
"""The most that a refresh is delayed at random, in seconds."""
LEAST_SECONDS, MOST_SECONDS = 60, 30 * 86_400
_INTERVAL = re.compile(r"([1-9]\d{0,5})([mhd])")
_UNITS = {"m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Rule:
    """When to refresh, according to the setting."""

    text: str
    seconds: int = 0
    """The interval. If it is 0, the text is a cron expression, in UTC."""

    def after(self, moment: float, *, chance: float) -> float:
        """The next due time after `moment`. `chance`, from 0 to 1, chooses within the jitter."""
        first, gap = (moment + self.seconds, float(self.seconds)) if self.seconds else self._by_cron(moment)
        return first + chance * min(JITTER_SHARE * gap, JITTER_SECONDS)

    def _by_cron(self, moment: float) -> tuple[float, float]:
        times = [found.timestamp() for found in islice(CronSim(self.text, datetime.fromtimestamp(moment, UTC)), 2)]
        return times[0], times[-1] - times[0]


def read_rule(text: str) -> Rule:
    """Parse the rule. Raises ValueError with a message that says what is wrong."""
    text = " ".join(text.split())
    if match := _INTERVAL.fullmatch(text):
        seconds = int(match[1]) * _UNITS[match[2]]
        if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            raise ValueError("must be an interval from 1m to 30d")
        return Rule(text, seconds)
    if len(text.split()) != 5:
        raise ValueError("must be an interval such as 30m, 6h or 1d, or a cron expression of five fields")
    try:
        next(CronSim(text, datetime.now(UTC)))
    except CronSimError as error:
        raise ValueError(f"is no cron expression ({str(error).lower()})") from None
    except StopIteration:
        raise ValueError("is a cron expression that no moment fits") from None
    return Rule(text)
