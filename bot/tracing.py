"""Spans: what a turn does, and how long each part takes. They cost nothing unless a tracer is installed.

span          a part of the work, such as a turn, a round of the model or a call to Slack, around a `with`
start         the same for work that is not one block of code, such as a stream. Its owner ends it
traceparent   the place in the trace as text, so that another task or process can continue the trace
install       the tracer that gets the spans. `bot.otel` has the one for OpenTelemetry

Names and attributes follow OpenTelemetry's semantic conventions (https://github.com/open-telemetry/
semantic-conventions-genai). What they have no name for begins with `frontdesk.`. Attributes hold ids and numbers.
What people or models wrote goes through `Span.add_words` alone, which drops it unless a setting says otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol, Self

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]
Kind = Literal["internal", "client", "consumer"]
"""The part that we have in it: work of our own, a request to another system, or something taken from a queue."""

NO_ATTRIBUTES: Attributes = {}


class Span(Protocol):
    """A part of the work that is being measured."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes. They hold no words that people or models wrote."""
        ...

    def add_words(self, name: str, words: Callable[[], str]) -> None:
        """Add an attribute that holds what people or models wrote. Without the setting, `words` is not called."""
        ...

    def fail(self, error_type: str) -> None:
        """Mark the work as failed, with one stable word for the reason."""
        ...

    def end(self) -> None:
        """Note that the work is over. A second call does nothing."""
        ...


class Tracer(Protocol):
    """Where spans go. Its methods never wait and never raise."""

    def span(
        self, name: str, attributes: Attributes, *, kind: Kind, parent: str | None, inside: bool
    ) -> AbstractContextManager[Span]:
        """See `span`."""
        ...

    def start(self, name: str, attributes: Attributes, *, kind: Kind) -> Span:
        """See `start`."""
        ...

    def traceparent(self) -> str | None:
        """See `traceparent`."""
        ...


class _NoSpan:
    """The span of work that no one measures."""

    def set(self, attributes: Attributes) -> None:
        pass

    def add_words(self, name: str, words: Callable[[], str]) -> None:
        pass

    def fail(self, error_type: str) -> None:
        pass

    def end(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


NO_SPAN = _NoSpan()

_installed: list[Tracer] = []


def span(
    name: str,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    kind: Kind = "internal",
    parent: str | None = None,
    inside: bool = False,
) -> AbstractContextManager[Span]:
    """Measure a block. Spans that begin in it, also in tasks that it starts, are its children.

    `parent` is a `traceparent`, for work that another task or process asked for. With `inside`, work that belongs to
    no trace is not measured. An exception that leaves the block marks the span as failed: its class or, if it has one,
    its `error_type` is the reason. Its text is not recorded.
    """
    return _installed[-1].span(name, attributes, kind=kind, parent=parent, inside=inside) if _installed else NO_SPAN


def start(name: str, attributes: Attributes = NO_ATTRIBUTES, *, kind: Kind = "internal") -> Span:
    """Begin a span that `Span.end` ends. Spans that begin in the meantime are not its children."""
    return _installed[-1].start(name, attributes, kind=kind) if _installed else NO_SPAN


def traceparent() -> str | None:
    """The current span as the W3C's `traceparent`. None outside of a trace."""
    return _installed[-1].traceparent() if _installed else None


def is_on() -> bool:
    """Whether spans are measured."""
    return bool(_installed)


@contextmanager
def install(tracer: Tracer) -> Iterator[None]:
    """Give all spans to this tracer until the block ends."""
    _installed.append(tracer)
    try:
        yield
    finally:
        _installed.remove(tracer)
