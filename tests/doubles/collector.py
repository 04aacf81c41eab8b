"""A collector of traces on loopback that takes OTLP over HTTP, as OpenTelemetry's own does.

async with open_collector() as collector:
    ...  # a product with OTEL_EXPORTER_OTLP_ENDPOINT=collector.url
    trace = await collector.trace(lambda span: span.name == "turn message")
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from tests.patience import patience

PATIENCE = patience(15.0)
"""Seconds within which spans arrive."""

Value = str | bool | int | float | list["Value"] | None


@dataclass(frozen=True, slots=True)
class TakenSpan:
    """A span as it arrived."""

    name: str
    kind: str
    """Such as `SPAN_KIND_CLIENT`."""
    trace: bytes
    id: bytes
    parent: bytes
    """Empty for a trace's first span."""
    attributes: Mapping[str, Value]
    is_error: bool
    status_text: str
    events: int
    seconds: float
    resource: Mapping[str, Value]


@dataclass(slots=True)
class Collector:
    """What has arrived so far."""

    url: str = ""
    spans: list[TakenSpan] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    async def trace(self, *needed: Callable[[TakenSpan], bool]) -> list[TakenSpan]:
        """The spans of the first trace that has one for each of the conditions, and every span that another one names.

        It waits until they are there. A span is sent when it ends, so its children come first.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                self._came.clear()
                for trace in dict.fromkeys(span.trace for span in self.spans):
                    found = [span for span in self.spans if span.trace == trace]
                    is_whole = {span.parent for span in found} - {span.id for span in found} <= {b""}
                    if is_whole and all(any(map(each, found)) for each in needed):
                        return found
                await self._came.wait()

    async def take(self, request: web.Request) -> web.Response:
        """Take a batch."""
        body = await request.read()
        if request.headers.get("Content-Encoding") == "gzip" and body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        self.paths.add(request.path)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _values(group.resource.attributes)
            self.spans += [_taken(span, resource) for scope in group.scope_spans for span in scope.spans]
        self._came.set()
        content = ExportTraceServiceResponse().SerializeToString()
        return web.Response(body=content, content_type="application/x-protobuf")


@asynccontextmanager
async def open_collector() -> AsyncIterator[Collector]:
    """Listen on a free port."""
    collector = Collector()
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/{path:.*}", collector.take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        collector.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield collector
    finally:
        await runner.cleanup()


def _taken(span: trace_pb2.Span, resource: Mapping[str, Value]) -> TakenSpan:
    return TakenSpan(
        span.name,
        trace_pb2.Span.SpanKind.Name(span.kind),
        span.trace_id,
        span.span_id,
        span.parent_span_id,
        _values(span.attributes),
        span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        span.status.message,
        len(span.events),
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        resource,
    )


def _values(attributes: Iterable[KeyValue]) -> dict[str, Value]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: AnyValue) -> Value:
    match value.WhichOneof("value"):
        case "array_value":
            return [_value(each) for each in value.array_value.values]
        case None:
            return None
        case kind:
            found: Value = getattr(value, kind)
            return found
