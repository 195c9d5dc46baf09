"""What is told of a gateway: figures, the log, spans."""

from __future__ import annotations

import json
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from parley.errors import InternalError, ResourceNotFound
from parley.gateway import AgentHost, Gateway
from parley.gateway.events import Event
from parley.gateway.log import EventLog, JsonFormatter
from parley.gateway.metrics import Metrics
from parley.gateway.owners import MemoryOwners
from parley.gateway.telemetry import span_maker
from parley.testing.demo import demo_agent

from .agent_hosts import DEMO, client, open_host, wait_until

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_labels_are_ours_whatever_clients_and_agents_make_up() -> None:
    metrics = Metrics(Gateway([AgentHost('a"\\\n', demo_agent())]), lambda name: 7)
    metrics.record(Event(event="request", agent="a", method="evil\n{}", seconds=0.002, code=99))
    metrics.record(
        Event(event="request", agent="a", method="session/new", seconds=400, code=-32005)
    )
    metrics.record(Event(event="agent_exited", agent="a", code=-9))
    metrics.record(Event(event="refused", reason="unauthorized", status=401))
    text = metrics.text()
    assert "evil" not in text
    assert 'parley_request_seconds_count{agent="a",method="other"} 1' in text
    assert 'parley_request_seconds_bucket{agent="a",method="other",le="0.005"} 1' in text
    assert 'parley_request_seconds_bucket{agent="a",method="session/new",le="300"} 0' in text
    assert 'parley_errors_total{agent="a",code="other"} 1' in text
    assert 'parley_errors_total{agent="a",code="-32005"} 1' in text
    assert 'parley_agent_exits_total{agent="a",how="signal"} 1' in text
    assert 'parley_buffered_bytes{agent="a\\"\\\\\\n"} 7' in text


async def test_what_happens_to_an_agent_is_told_in_order() -> None:
    told: list[Event] = []
    async with open_host(DEMO) as host:
        host.events.subscribe(told.append)
        async with client(host, "ann") as ann:
            session = await ann.new_session()
            with pytest.raises(InternalError):
                await session.ask("crash")
        await wait_until(lambda: any(each.event == "connection_closed" for each in told))
    names = [each.event for each in told if each.event != "request"]
    assert names[:3] == ["connection_opened", "agent_started", "session_opened"]
    assert sorted(names[3:]) == ["agent_exited", "connection_closed", "session_closed"]
    exited = next(each for each in told if each.event == "agent_exited")
    assert (exited.code, exited.reason) == (3, "the agent exited with code 3")
    asked = [each.method for each in told if each.event == "request"]
    assert asked[:2] == ["initialize", "session/new"]
    assert all(each.agent == "the agent" for each in told)


async def test_a_failed_start_is_trouble_until_one_succeeds() -> None:
    async with open_host(["/nonexistent/agent"]) as host:
        assert host.start_error == "/nonexistent/agent was not found"
        with pytest.raises(InternalError):
            async with client(host):
                pass
    async with open_host() as fine:
        assert fine.start_error == ""


async def test_of_a_session_that_is_nobodys_nobody_learns() -> None:
    owners = MemoryOwners()
    async with open_host(owners=owners) as host:
        async with client(host, "ann") as ann:
            session = await ann.new_session()
            await session.ask("hers")
        owners.forget("the agent", session.id)
        async with client(host, "bob") as bob:
            assert [each async for each in bob.list_sessions()] == []
            with pytest.raises(ResourceNotFound):
                await bob.resume_session(session.id)
        async with client(host, "bob", has_one_principal=True) as bob:
            await bob.resume_session(session.id)
        assert owners.find("the agent", session.id) == "bob"
        async with client(host, "bob") as bob:
            await bob.delete_session(session.id)
        assert owners.find("the agent", session.id) is None


def test_a_line_of_the_log_is_one_line_whatever_is_in_it() -> None:
    lines: list[str] = []
    event = Event(event="agent_failed", agent="a", code=0, seconds=1.23456, reason="no\n\x1b[2Jway")
    EventLog(lines.append, "json").record(event)
    EventLog(lines.append, "text").record(event)
    EventLog(lines.append, "text").record(Event(event="request", method="session/new"))
    assert len(lines) == 2
    told = json.loads(lines[0])
    assert (told["event"], told["code"], told["seconds"]) == ("agent_failed", 0, 1.235)
    assert lines[1].partition(" ")[2] == "agent failed agent=a code=0 seconds=1.235 " + (
        "reason='no\\n\\x1b[2Jway'"
    )
    assert not any("\n" in line or "\x1b" in line for line in lines)


def test_records_of_the_program_are_json_beside_them() -> None:
    record = logging.LogRecord("parley.x", logging.WARNING, "", 0, "look: %s", ("here",), None)
    told = json.loads(JsonFormatter().format(record))
    assert (told["level"], told["message"]) == ("warning", "look: here")


def test_a_request_is_a_span_below_its_callers() -> None:
    provider, exported = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    see = span_maker(provider)
    see(Event(event="listening"))
    see(Event(event="request", agent="a", method="session/new", seconds=2.0, trace=TRACE))
    see(Event(event="request", agent="a", method="session/load", seconds=1.0, code=-32002))
    one, other = exported.get_finished_spans()
    assert one.name == "session/new"
    assert one.parent is not None
    assert f"{one.parent.trace_id:032x}" in TRACE
    assert one.start_time is not None
    assert one.end_time is not None
    assert one.end_time - one.start_time == 2_000_000_000
    assert one.attributes is not None
    assert one.attributes["parley.agent"] == "a"
    assert other.parent is None
    assert other.attributes is not None
    assert other.attributes["rpc.jsonrpc.error_code"] == -32002


async def test_the_trace_of_a_request_is_seen() -> None:
    from .agent_hosts import INITIALIZE_PARAMS, INITIALIZE_RESULT, open_raw_host, raw_client

    told: list[Event] = []
    async with open_raw_host() as (host, agent):
        host.events.subscribe(told.append)
        end, serving = raw_client(host)
        end.send(
            id=1, method="initialize", params={**INITIALIZE_PARAMS, "_meta": {"traceparent": TRACE}}
        )
        asked = await agent.take("initialize")
        assert asked["params"]["_meta"] == {"traceparent": TRACE}
        agent.answer(asked, INITIALIZE_RESULT)
        await end.take()
        end.send(id=2, method="session/list", params={"_meta": {"traceparent": 5}})
        agent.answer(await agent.take("session/list"), {"sessions": []})
        await end.take()
        await end.transport.aclose()
        await serving
    assert [each.trace for each in told if each.event == "request"] == [TRACE, ""]
