"""Failures on demand: of the next calls of a method, and of the next deliveries to the app."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

CallFault = Literal["429", "500", "503", "html", "slow", "drop", "lost", "lost-500", "late"]
"""drop: the connection ends and nothing is done. lost: it is done, but the answer never arrives. lost-500: it is
done, but the answer is an error. late: it is done, and the answer comes much later."""

DELIVERY_FAULTS = ("drop", "duplicate", "forget", "hold")
"""drop: sent into the void. duplicate: sent twice. forget: sent, and its connection ends with the acknowledgement on
the way. hold: sent behind the next one."""
NEW_SOCKET_FAULTS = ("mute", "crowded", "refuse")
"""mute: no hello on the next connection. crowded: the next one is asked to go as soon as it is there. refuse: the next
one is not taken, and its address is used up.

What befalls those that are there is one word too. cut: they end without a word. silent: they stay, and nothing comes or
is read any more. huge: a frame of five megabytes. Any other is the reason for which Slack sends them away: warning,
refresh_requested, link_disabled, too_many_websockets."""


@dataclass(slots=True)
class CallRule:
    """What happens to the next `count` calls of `method` ("*" for any)."""

    method: str
    do: str
    """A CallFault, or the name of an error that the method answers."""
    count: int = 1
    seconds: float = 1
    """Retry-After of a 429, or how slow."""
    channel: str = ""
    """Only calls that name this channel; empty for all."""
    retry_after: str | None = None
    """The header of a 429 as it is sent, be it no number; empty for none. None: the seconds."""


class Faults:
    """The failures that are still to come."""

    def __init__(self) -> None:
        self.calls: list[CallRule] = []
        self.deliveries: Counter[str] = Counter()
        self.sockets: Counter[str] = Counter()

    def take_call(self, method: str, channel: str = "") -> CallRule | None:
        """The rule for this call, counted down."""
        for rule in self.calls:
            if rule.method in (method, "*") and rule.channel in ("", channel) and rule.count > 0:
                rule.count -= 1
                self.calls = [each for each in self.calls if each.count > 0]
                return rule
        return None

    def take_delivery(self) -> str:
        """What happens to this delivery: one of DELIVERY_FAULTS, or nothing."""
        return _take(self.deliveries, DELIVERY_FAULTS)

    def take_socket(self, *faults: str) -> str:
        """What happens to this new connection: one of `faults`, or nothing."""
        return _take(self.sockets, faults)

    def clear(self) -> None:
        """Everything works again."""
        self.calls.clear()
        self.deliveries.clear()
        self.sockets.clear()


def _take(waiting: Counter[str], faults: Iterable[str]) -> str:
    for fault in faults:
        if waiting[fault] > 0:
            waiting[fault] -= 1
            return fault
    return ""
