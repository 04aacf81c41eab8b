"""Trigger ids: a person's one-time permission for the app to open a view right now."""

import secrets
from collections import OrderedDict
from typing import Literal

from local_slack.clock import Clock

KEPT = 1_000

Verdict = Literal["ok", "expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id"]


class Triggers:
    """Issues trigger ids and takes each of them once."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._issued: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._used: OrderedDict[str, None] = OrderedDict()

    def issue(self, user: str) -> str:
        """A trigger id that lets the app open a view for `user`."""
        # Slack's have three parts: two numbers, and what nobody can guess.
        number = secrets.randbelow(9 * 10**11) + 10**11
        trigger = f"{int(self._clock.time() * 1_000)}.{number}.{secrets.token_hex(16)}"
        self._issued[trigger] = (user, self._clock.time() + self._seconds)
        while len(self._issued) > KEPT:
            self._issued.popitem(last=False)
        return trigger

    def take(self, trigger: str) -> tuple[Verdict, str]:
        """Use up a trigger id: the verdict and, when it is "ok", the user."""
        if trigger in self._used:
            return "exchanged_trigger_id", ""
        if trigger not in self._issued:
            return "invalid_trigger_id", ""
        user, until = self._issued.pop(trigger)
        if self._clock.time() > until:
            return "expired_trigger_id", ""
        self._used[trigger] = None
        while len(self._used) > KEPT:
            self._used.popitem(last=False)
        return "ok", user
