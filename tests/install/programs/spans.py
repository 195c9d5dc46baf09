"""Print the spans of a prompt to the demo agent."""

import asyncio

import parley
from parley.peer.telemetry import OpenTelemetryTracer  # without the extra, the error is from here

from opentelemetry.sdk.trace import TracerProvider  # isort: skip
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # isort: skip
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # isort: skip


async def main() -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    async with parley.connect("parley demo", tracer=OpenTelemetryTracer(provider)) as agent:
        session = await agent.new_session()
        await session.ask("Hello")
    for span in spans.get_finished_spans():
        print(span.name)


if __name__ == "__main__":
    asyncio.run(main())
