"""Failures on demand: of the next calls of a method, of the next deliveries to the app, and of its connections.

`call_rule` and `count_of` read them as `/_local/fault` is told them; `Disorder` is the order in which deliveries leave.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

CallFault = Literal["429", "500", "503", "html", "slow", "drop", "lost", "lost-500", "late"]
"""drop: the connection ends and nothing is done. lost: it is done, but the answer never arrives. lost-500: it is
done, but the answer is an error. late: it is done, and the answer comes much later."""

DELIVERY_FAULTS = ("drop", "duplicate", "forget", "hasty", "hold", "reorder")
"""drop: sent into the void. duplicate: sent twice. forget: sent, and its connection ends with the acknowledgement on
the way. hasty: given up as unacknowledged after a tenth of the time. hold: sent behind the next one. reorder: kept
until as many have come as were asked for, then the last goes first."""
DOWNLOAD_FAULTS = ("sign_in", "429", "500", "redirect", "cut")
"""Of files. sign_in: the sign-in page comes in place of the file. redirect: the file is at an address of another host,
which needs no token. cut: the connection ends after half of it."""
NEW_SOCKET_FAULTS = ("mute", "crowded", "refuse")
"""mute: no hello on the next connection. crowded: the next one is asked to go as soon as it is there. refuse: the next
one is not taken, and its address is used up."""
SOCKET_FAULTS = ("close", "cut", "silent", "huge")
"""What befalls those that are there. close: they end in good order. cut: they end without a word. silent: they stay,
and nothing comes or is read any more. huge: a frame of five megabytes."""
DISCONNECT_REASONS = ("warning", "refresh_requested", "link_disabled", "too_many_websockets")
"""Why Slack sends those away that are there."""

_ERROR_NAME = re.compile(r"ratelimited|[a-z0-9]+(?:_[a-z0-9]+)+")


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
        self.downloads: Counter[str] = Counter()
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

    def take_download(self) -> str:
        """What happens to this download of a file: one of DOWNLOAD_FAULTS, or nothing."""
        return _take(self.downloads, DOWNLOAD_FAULTS)

    def take_socket(self, *faults: str) -> str:
        """What happens to this new connection: one of `faults`, or nothing."""
        return _take(self.sockets, faults)

    def clear(self) -> None:
        """Everything works again."""
        self.calls.clear()
        self.deliveries.clear()
        self.downloads.clear()
        self.sockets.clear()


class Disorder:
    """Lets deliveries leave in the order in which they come, or in the one that their faults want."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._held: list[Callable[[], object]] = []
        self._reversed: list[Callable[[], object]] = []

    def leave(self, fault: str, send: Callable[[], object]) -> bool:
        """Send now, behind the next one, or in reversed order with the others that are asked to. The answer is whether
        its place among others matters."""
        leaving = [send]
        if fault == "hold":
            self._held.append(send)
            return True
        if fault == "reorder":
            self._reversed.insert(0, send)
            if self._faults.deliveries["reorder"] > 0:
                return True
            leaving, self._reversed = self._reversed, []
        leaving += self._held
        self._held = []
        for each in leaving:
            each()
        return len(leaving) > 1


def call_rule(given: dict[str, Any], methods: Iterable[str]) -> CallRule:
    """The failure of a method's next calls. Raises ValueError in words for what is not known."""
    known = [each.name for each in fields(CallRule)]
    if unknown := given.keys() - set(known):
        raise ValueError(f"unknown field {min(unknown)!r}; known are {', '.join(known)}")
    for name in ("method", "do"):
        if name not in given:
            raise ValueError(f"missing field {name!r}")
    method, do = str(given["method"]), str(given["do"])
    if method != "*" and method not in methods:
        raise ValueError(f"unknown method {method!r}")
    if do not in get_args(CallFault) and not _ERROR_NAME.fullmatch(do):
        raise ValueError(f"unknown failure {do!r}; known are {', '.join(get_args(CallFault))} and Slack's error names")
    retry_after = given.get("retry_after")
    return CallRule(
        method,
        do,
        count=count_of(given),
        seconds=_seconds(given.get("seconds", 1)),
        channel=str(given.get("channel", "")),
        retry_after=None if retry_after is None else str(retry_after),
    )


def count_of(given: dict[str, Any]) -> int:
    """How often it shall happen; once unless told. Raises ValueError."""
    count = given.get("count", 1)
    if isinstance(count, str) and count.isdecimal():
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"count must be a whole number from 1 on, not {count!r}")
    return count


def one_of(value: object, known: Iterable[str]) -> str:
    """`value` if it is one of the known words. Raises ValueError that lists them."""
    listed = list(known)
    if value not in listed:
        raise ValueError(f"unknown fault {value!r}; known are {', '.join(listed)}")
    return str(value)


def _seconds(given: Any) -> float:
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"seconds must be a number from 0 on, not {given!r}")
    return seconds


def _take(waiting: Counter[str], faults: Iterable[str]) -> str:
    for fault in faults:
        if waiting[fault] > 0:
            waiting[fault] -= 1
            return fault
    return ""
