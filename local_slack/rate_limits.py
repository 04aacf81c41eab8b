"""Slack's rate limits: token buckets by method and tier, and one message a second to a channel."""

import math
from dataclasses import dataclass

from local_slack.clock import Clock

PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100, 5: 600}
"""Calls a minute by tier, which may all come at once; 5 stands for the "special" methods."""

CHANNEL_BURST = 30
CHANNEL_PER_SECOND = 1.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class RateLimits:
    """The buckets of one app. Their number is bounded by workspaces, methods and channels."""

    def __init__(self, clock: Clock, *, enabled: bool) -> None:
        self._clock = clock
        self._enabled = enabled
        self._buckets: dict[str, _Bucket] = {}

    def wait_for_call(self, method: str, tier: int, *, team: str = "") -> int:
        """0 when the call may be made now, else whole seconds until it may. `team` is the workspace of the caller's
        installation, empty for the home one."""
        return self._take(f"{team} {method}", size=PER_MINUTE[tier], per_second=PER_MINUTE[tier] / 60)

    def wait_for_channel(self, channel: str) -> int:
        """The same for one more message in a channel."""
        return self._take(f"channel {channel}", size=CHANNEL_BURST, per_second=CHANNEL_PER_SECOND)

    def _take(self, key: str, *, size: float, per_second: float) -> int:
        if not self._enabled:
            return 0
        now = self._clock.time()
        bucket = self._buckets.setdefault(key, _Bucket(size, now))
        bucket.tokens = min(size, bucket.tokens + max(0.0, now - bucket.filled) * per_second)
        bucket.filled = now
        if bucket.tokens < 1:
            return math.ceil((1 - bucket.tokens) / per_second)
        bucket.tokens -= 1
        return 0
