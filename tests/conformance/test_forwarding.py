"""Proxies and conductors pass on what they do not know: trace context, unknown values, payloads.

https://agentclientprotocol.com/rfds/proxy-chains
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.proxy.conducted_chain import ConductedChain, FakeComponent, component_command
from tests.unit.proxy.proxied_pair import PARAMS, RESULTS, notification, request, result

from parley.proxy import Conductor, Notification, Proxy, Request

from .raw_client import in_both_versions

requirement = pytest.mark.requirement
TRACE = {
    "traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01",
    "tracestate": "vendor=value",
    "baggage": "user=alice",
}
TOOL_CALL = {"toolCallId": "c", "title": "Deploy", "kind": "_deploy", "x": {"y": [1.5, None]}}
UNKNOWN_UPDATES: dict[int, list[dict[str, Any]]] = {
    1: [
        {"sessionUpdate": "_acme/progress", "percent": 7},
        {"sessionUpdate": "tool_call", "status": "_queued", **TOOL_CALL},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "_3d", "mesh": [1]}},
    ],
    2: [
        {"sessionUpdate": "_acme/progress", "percent": 7},
        {"sessionUpdate": "tool_call_update", "status": "_queued", **TOOL_CALL},
        {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "m",
            "content": {"type": "_3d", "mesh": [1]},
        },
        {"sessionUpdate": "state_update", "state": "_dreaming", "depth": 3},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "d",
            "content": [{"type": "diff", "changes": [{"operation": "_chmod", "path": "/a"}]}],
        },
    ],
}
OPTION = {"optionId": "y", "name": "Yes"}
PERMISSIONS: dict[int, dict[str, Any]] = {
    1: {"toolCall": TOOL_CALL, "options": [{**OPTION, "kind": "allow_once"}]},
    2: {
        "title": "May I?",
        "subject": {"type": "_acme", "why": {"n": 1}},
        "options": [{**OPTION, "kind": "_allow_today"}],
    },
}


def observing() -> Proxy:
    """Return a proxy whose handlers look at everything and change nothing."""
    proxy = Proxy("observer")

    @proxy.from_client("session/prompt")
    def prompt(call: Request) -> None:
        assert call.params.prompt

    @proxy.from_agent("session/update")
    def update(note: Notification) -> None:
        assert note.update

    @proxy.from_agent("session/request_permission")
    def permission(call: Request) -> None:
        assert call.params.options

    return proxy


async def chained(version: int, **more: object) -> tuple[ConductedChain, FakeComponent, Any]:
    """Connect a client and an agent, both spoken to in bytes, through a process and an object."""
    agent = FakeComponent()
    chain = ConductedChain(Conductor(component_command("plain"), observing(), agent=agent))
    chain.client.say(request("init", "initialize", PARAMS[version] | more))
    received = await agent.hear()
    agent.say(result(received["id"], RESULTS[version]))
    assert (await chain.client.hear())["id"] == "init"
    return chain, agent, received


@requirement("TR-META-03")
@in_both_versions
async def test_every_hop_passes_the_trace_context_on(version: int) -> None:
    chain, agent, received = await chained(version, _meta=TRACE)
    assert received["params"]["_meta"].items() >= TRACE.items()
    chain.client.say(request(1, "session/new", {"cwd": "/", "mcpServers": [], "_meta": TRACE}))
    new = await agent.hear()
    assert new["params"]["_meta"] == TRACE
    agent.say(result(new["id"], {"sessionId": "s"}))
    await chain.client.hear()
    prompt = [{"type": "text", "text": "Go"}]
    chain.client.say(
        request(2, "session/prompt", {"sessionId": "s", "prompt": prompt, "_meta": TRACE})
    )
    message = await agent.hear()
    assert (message["method"], message["params"]["_meta"]) == ("session/prompt", TRACE)
    agent.say(notification("session/cancel", {"sessionId": "s", "_meta": TRACE}))
    await chain.end()


@requirement("V1-EXT-16", "V2-ENUM-02", "V2-DIFF-05")
@in_both_versions
async def test_unknown_values_of_updates_are_forwarded_unchanged(version: int) -> None:
    chain, agent, _ = await chained(version)
    for update in UNKNOWN_UPDATES[version]:
        params = {"sessionId": "s", "update": update, "later": {"a": 1.0}}
        agent.say(notification("session/update", params))
        assert (await chain.client.hear())["params"] == params
    await chain.end()


@requirement("V1-EXT-16", "V2-ENUM-02", "V2-PERM-06")
@in_both_versions
async def test_an_unknown_permission_subject_is_forwarded_unchanged(version: int) -> None:
    chain, agent, _ = await chained(version)
    params = {"sessionId": "s", **PERMISSIONS[version]}
    agent.say(request(7, "session/request_permission", params))
    message = await chain.client.hear()
    assert message["params"] == params
    outcome = {"outcome": {"outcome": "_later", "until": "noon"}}
    chain.client.say(result(message["id"], outcome))
    assert await agent.hear() == {"jsonrpc": "2.0", "id": 7, "result": outcome}
    await chain.end()
