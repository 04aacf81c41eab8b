"""Spans for OpenTelemetry, sent to a collector with OTLP over HTTP. The only module that imports OpenTelemetry.

A thread of the SDK's sends the spans. What waits for it is bounded (`OTEL_BSP_MAX_QUEUE_SIZE`, 2,048 spans), and the
oldest ones are dropped. So a collector that is slow or away costs no turn anything: one line in the log says that it
does not answer, and one that it does again.

The SDK reads the standard variables itself: headers, timeout, compression and certificates of the exporter,
`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` and those of the queue.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from importlib.metadata import version
from uuid import uuid4

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.service_attributes import SERVICE_NAME, SERVICE_VERSION
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bot import tracing
from bot.tracing import NO_SPAN, Attributes, Kind, Span

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT = 2.0
"""Seconds that the process waits at its end until the last spans are sent."""
WORDS_LIMIT = 64_000
"""Characters of one attribute that holds words."""
CHATTY = ("opentelemetry.exporter.otlp", "opentelemetry.sdk._shared_internal")
"""Loggers that write a line for each attempt, or for spans that are dropped. `_Exporter` says it once."""

_KINDS = {
    "internal": trace.SpanKind.INTERNAL,
    "client": trace.SpanKind.CLIENT,
    "consumer": trace.SpanKind.CONSUMER,
}
_PROPAGATOR = TraceContextTextMapPropagator()


@asynccontextmanager
async def open_tracing(endpoint: str, *, role: str, keeps_words: bool) -> AsyncIterator[None]:
    """Send spans to the collector at `endpoint`, the address without `/v1/traces`, until the context ends."""
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    exporter = _Exporter(OTLPSpanExporter(f"{endpoint}/v1/traces"))
    # Its end is ours to bound, and must not wait for the interpreter's.
    provider = TracerProvider(resource=_resource(role), shutdown_on_exit=False)
    processor = BatchSpanProcessor(exporter)
    provider.add_span_processor(processor)
    try:
        with tracing.install(_Tracer(provider.get_tracer("frontdesk", version("frontdesk")), keeps_words=keeps_words)):
            yield
    finally:
        await asyncio.to_thread(_close, processor, exporter)


def _close(processor: BatchSpanProcessor, exporter: SpanExporter) -> None:
    """Send the last spans, or give them up when the time is over: the SDK's own limit is 30 seconds."""
    closing = threading.Thread(target=processor.shutdown, name="otel-close", daemon=True)
    closing.start()
    closing.join(CLOSE_TIMEOUT)
    if closing.is_alive():
        exporter.shutdown()


def _resource(role: str) -> Resource:
    """Who sends the spans. What the operator's variables say goes before our own names."""
    ours = Resource(
        {
            SERVICE_NAME: "frontdesk",
            SERVICE_VERSION: version("frontdesk"),
            "service.instance.id": str(uuid4()),
            "frontdesk.role": role,
        }
    )
    return ours.merge(OTELResourceDetector().detect())


class _Exporter(SpanExporter):
    """Sends batches, and logs a collector's failure once."""

    def __init__(self, to: SpanExporter) -> None:
        self._to = to
        self._lost = 0
        """Spans that were lost since the collector failed."""
        self._is_closed = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch. Its spans are lost if the collector does not take it within the exporter's timeout."""
        result = self._to.export(spans)
        if result is SpanExportResult.SUCCESS:
            if self._lost:
                logger.info("the collector takes spans again", extra={"lost": self._lost})
            self._lost = 0
        else:
            if not self._lost:
                logger.warning("the collector takes no spans: they are dropped until it does")
            self._lost += len(spans)
        return result

    def shutdown(self) -> None:
        """Give up what is being sent. Only the first call does anything."""
        if not self._is_closed:
            self._is_closed = True
            self._to.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here."""
        return True


class _Tracer:
    """Makes spans of the SDK's."""

    def __init__(self, tracer: trace.Tracer, *, keeps_words: bool) -> None:
        self._tracer = tracer
        self._keeps_words = keeps_words

    def span(
        self, name: str, attributes: Attributes, *, kind: Kind, parent: str | None, inside: bool
    ) -> AbstractContextManager[Span]:
        if inside and not trace.get_current_span().get_span_context().is_valid:
            return NO_SPAN
        within = _PROPAGATOR.extract({"traceparent": parent}) if parent else None
        begun = self._tracer.start_span(name, within, _KINDS[kind], attributes)
        return _measuring(begun, _Span(begun, keeps_words=self._keeps_words))

    def start(self, name: str, attributes: Attributes, *, kind: Kind) -> Span:
        return _Span(self._tracer.start_span(name, None, _KINDS[kind], attributes), keeps_words=self._keeps_words)

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier.get("traceparent")


@contextmanager
def _measuring(begun: trace.Span, span: "_Span") -> Iterator[Span]:
    """Make the span the current one. The SDK's own way records the text of exceptions."""
    token = contexts.attach(trace.set_span_in_context(begun))
    try:
        yield span
    except BaseException as error:
        span.fail(getattr(error, "error_type", type(error).__name__))
        raise
    finally:
        contexts.detach(token)
        span.end()


class _Span:
    """A span of the SDK's."""

    def __init__(self, span: trace.Span, *, keeps_words: bool) -> None:
        self._span = span
        self._keeps_words = keeps_words
        self._has_ended = False

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def add_words(self, name: str, words: Callable[[], str]) -> None:
        if self._keeps_words and self._span.is_recording():
            self._span.set_attribute(name, words()[:WORDS_LIMIT])

    def fail(self, error_type: str) -> None:
        self._span.set_attribute(ERROR_TYPE, error_type)
        self._span.set_status(trace.StatusCode.ERROR)

    def end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._span.end()
