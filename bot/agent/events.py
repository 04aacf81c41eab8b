"""What a turn tells while it runs. `emit` is a plain synchronous callback, so the loop never waits for it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of text for the customer. The pieces of a turn, joined, are what it said; a paragraph break
    stands between the rounds."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call began."""

    call_id: str
    name: str
    title: str
    """What the progress card says; written by us, never by the model."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result."""

    call_id: str
    name: str
    title: str
    ok: bool
    private: bool
    """True: the text that follows may hold one customer's data."""
    broke: bool = False
    """True: the tool could not do its work (it failed, was too slow, or said so); there is no finding either way."""
    code: str = ""
    """What a tool that said so calls the kind of problem; see ToolProblem."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Another agent goes on with the conversation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ModelRetried:
    """A request failed before anything was shown and is made again."""

    reason: str
    """The failure's kind, one stable word."""
    attempt: int
    """The number of the attempt that comes now; the first retry is 2."""
    wait: float
    """Seconds until then."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request to a model gave no complete reply, whatever becomes of the turn."""

    model: str
    words: str
    """The failure's kind, and what the provider said of it, masked; for people, never for customers."""


Event = TextDelta | ToolStarted | ToolFinished | HandedOver | ModelRetried | RequestFailed
Emit = Callable[[Event], None]
