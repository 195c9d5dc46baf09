"""Trace requests with OpenTelemetry."""

import asyncio

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import parley
from parley.peer.telemetry import OpenTelemetryTracer

AGENT = "parley demo"
exporter = InMemorySpanExporter()  # in production OTLPSpanExporter, with a BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))


async def main() -> None:
    tracer = OpenTelemetryTracer(provider)
    async with parley.connect(AGENT, cwd=".", tracer=tracer) as agent:
        session = await agent.new_session()
        with provider.get_tracer("my program").start_as_current_span("review"):
            await session.prompt("Hello")


asyncio.run(main())
for span in exporter.get_finished_spans():
    parent = "" if span.parent is None else " (has a parent)"
    print(f"{span.name}: {span.status.status_code.name}{parent}")
