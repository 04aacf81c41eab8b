"""The events of a running turn. `emit` is a plain synchronous callback, so the loop never waits for it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of text for the customer.

    The joined pieces of a turn are its whole text, with a paragraph break between the rounds.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call began."""

    call_id: str
    name: str
    title: str
    """The text of the progress card. It comes from us, never from the model."""
    subject: str = ""
    """What the call is about: the checked argument that the tool names. Empty if it names none."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result."""

    call_id: str
    name: str
    title: str
    ok: bool
    private: bool
    """True if the text after this can hold one customer's data."""
    broke: bool = False
    """True if the tool could not do its work: it failed, was too slow, or said so. Nothing was found out."""
    code: str = ""
    """The code of the tool's ToolProblem. Empty if it raised none."""
    ends: bool = False
    """True if a person continues because of this call."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Another agent continues the conversation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ModelRetried:
    """A request failed before anything was shown and is made again."""

    reason: str
    """The failure's kind, one stable word."""
    attempt: int
    """The number of the next attempt. The first retry is 2."""
    wait: float
    """Seconds until that attempt."""


@dataclass(frozen=True, slots=True)
class Held:
    """The turn waits, and goes on waiting, for a server that is away."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request to a model gave no complete reply. The turn may still succeed."""

    model: str
    words: str
    """The failure's kind and the provider's message, masked. It is for staff, never for customers."""


Event = TextDelta | ToolStarted | ToolFinished | HandedOver | Held | ModelRetried | RequestFailed
Emit = Callable[[Event], None]
