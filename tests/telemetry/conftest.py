"""A provider of the test's own, and what it recorded: nothing global is touched."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer


@dataclass
class Traces:
    tracer: Tracer
    exporter: InMemorySpanExporter

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def tree(self) -> dict[str, list[str]]:
        """From each span's name to the names of those around it, the nearest first."""
        by_id = {span.context.span_id: span for span in self.spans if span.context}

        def around(span: ReadableSpan) -> list[str]:
            parent = None if span.parent is None else by_id.get(span.parent.span_id)
            return [] if parent is None else [parent.name, *around(parent)]

        return {span.name: around(span) for span in self.spans}


@pytest.fixture
def traces() -> Iterator[Traces]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield Traces(provider.get_tracer("test"), exporter)
    provider.shutdown()
