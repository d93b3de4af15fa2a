"""Calls as spans of OpenTelemetry: a provider, one registry, what an exporter gets."""

from contextlib import suppress

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callboard import ToolError, ToolRegistry, tool

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)


@tool(mode="read")
def divide(a: int, b: int) -> float:
    """Divide a by b."""
    return a / b


tools = ToolRegistry(tracer=trace.get_tracer("my-app"), trace_content=True).register(divide)
tools.invoke("divide", {"a": 1, "b": 4})
with suppress(ToolError):
    tools.invoke("divide", {"a": 1, "b": 0})

for span in exporter.get_finished_spans():
    told = span.attributes or {}
    print(
        span.name, span.status.status_code.name, told.get("error.type"), told.get("gen_ai.tool.call.result")
    )
