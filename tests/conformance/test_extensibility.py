"""Extensions on a live connection: own methods, `_meta`, and what is not known.

https://agentclientprotocol.com/protocol/v1/extensibility
https://agentclientprotocol.com/protocol/v2/extensibility
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest

from parley.agent import Agent
from parley.errors import LocalProtocolError
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods
from parley.transport import ProcessTransport

from .raw_client import (
    PROGRAM,
    RawClient,
    everywhere,
    in_both_versions,
    in_process,
    initialized,
    talking,
)

requirement = pytest.mark.requirement


@requirement("V1-EXT-09", "V1-EXT-10", "V1-EXT-18", "V2-EXT-05", "V2-SDK-06", "V2-SDK-04")
@everywhere
async def test_an_own_request_is_answered_and_an_unknown_one_refused(
    version: int, over: str
) -> None:
    async with initialized(version, over) as client:
        for params in ({"a": 1}, {"a": 1, "_meta": {"x.y/z": [1]}}):
            assert await client.call("_example/echo", params) == {"echo": params}
        assert await client.refusal("_zzz/nope", {"_meta": {}}) == -32601
        assert await client.refusal("zzz/nope") == -32601
        assert await client.call("_example/echo", {}) == {"echo": {}}


@requirement("V1-EXT-11", "V2-EXT-06", "V2-SDK-06", "V2-ENUM-06", "V2-RQC-01", "V1-CANCEL-01")
@in_process
async def test_unknown_and_broken_notifications_are_ignored(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        since = len(client.log)
        for method in ("_zzz/nope", "zzz/nope", "$/foo", "session/cancel", "$/cancel_request"):
            client.send(method=method, params={"unknown": [1]})
        turn = await client.turn(session, "say on")
        assert (turn.text, turn.stop_reason) == ("on", "end_turn")
        known = {"session/update"}
        assert {each["method"] for each in client.log[since:] if "method" in each} <= known


@requirement("V2-ENUM-06", "V1-CONTENT-10", "V1-CONTENT-11")
@in_both_versions
@pytest.mark.parametrize(
    "prompt", [[{"type": "text"}], [{"type": "text", "text": "a"}, {"type": "image"}], "x", [5]]
)
async def test_a_broken_request_is_refused_as_a_whole(version: int, prompt: Any) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        params = {"sessionId": session, "prompt": prompt}
        assert await client.refusal("session/prompt", params) == -32602
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-EXT-01", "V1-EXT-03", "V1-EXT-06", "V2-EXT-03", "TR-META-05", "TR-META-06")
@in_process
async def test_meta_reaches_the_handler_and_disturbs_nothing(version: int, over: str) -> None:
    meta = {"x.y/z": {"a": [None]}, "requestId": "r-1"}
    async with initialized(version, over) as client:
        session = await client.new_session(_meta=meta)
        turn = await client.turn(session, "where", _meta=meta)
        assert json.loads(turn.text)["meta"] == meta
        broken = await client.turn(session, "where", _meta="x")
        assert json.loads(broken.text)["meta"] is None


@requirement("V1-EXT-12", "V2-INIT-17")
@in_both_versions
async def test_extensions_are_offered_in_the_meta_of_capabilities(version: int) -> None:
    async with talking() as client:
        result = await client.initialize(version)
        offered = result["agentCapabilities" if version == 1 else "capabilities"]
        assert offered["_meta"] == {"example.com/x": {"level": 3}}


@requirement("V1-EXT-07", "V1-EXT-08")
@pytest.mark.parametrize("method", ["example/echo", "session/new", ""])
def test_an_own_method_begins_with_an_underscore(method: str) -> None:
    agent = Agent("x")
    with pytest.raises(LocalProtocolError, match="underscore"):
        agent.request(method)
    with pytest.raises(LocalProtocolError, match="underscore"):
        agent.notification(method)


@requirement("V1-EXT-09", "V2-EXT-05")
@in_process
async def test_an_agent_may_have_own_requests_and_notifications_too(
    version: int, over: str
) -> None:
    async with initialized(version, over) as client:
        client.answers["_example/value"] = lambda params: {"got": params}
        turn = await client.turn(await client.new_session(), "own_request")
        assert json.loads(turn.text) == {"got": {"b": 2}}
        (update,) = [each for each in client.log if each.get("method") == "_example/told"]
        assert (update["params"], "id" in update) == ({"a": 1}, False)


@requirement("V1-RPC-18", "V2-EXT-08", "V1-EXT-04", "V2-EXT-01", "V1-EXT-15")
@in_process
async def test_what_an_agent_sends_is_spelled_as_the_protocol_does(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        client.answers["session/request_permission"] = lambda params: {
            "outcome": {"outcome": "cancelled"}
        }
        for text in ("say a", "tool", "plan", "report", "ask"):
            await client.turn(session, text)
        table = v1_methods.TABLE if version == 1 else v2_methods.TABLE
        names = {method.name for method in table.methods if method.to == "client"}
        assert {each["method"] for each in client.log if "method" in each} <= names
        for message in client.log:
            for key, value in members(message):
                assert re.fullmatch(r"[a-z][a-zA-Z]*|_meta|\$/[a-z_]+|example\.com/x", key), key
                if key in ("sessionUpdate", "kind", "status", "type", "priority", "state"):
                    assert re.fullmatch(r"_?[a-z][a-z_]*", value), (key, value)


def members(message: Any) -> list[tuple[str, Any]]:
    """Return all keys of a message, at every level, with their values where these are simple."""
    found: list[tuple[str, Any]] = []
    json.loads(json.dumps(message), object_pairs_hook=found.extend)
    return found


@requirement("TR-META-07")
async def test_telemetry_does_not_go_to_stdout() -> None:
    command = [sys.executable, PROGRAM, "full"]
    exporter = {"OTEL_TRACES_EXPORTER": "console", "OTEL_LOG_LEVEL": "debug"}
    client = RawClient(await ProcessTransport.spawn(command, env=exporter))
    await client.initialize(2)
    meta = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    turn = await client.turn(await client.new_session(_meta=meta), "say hi", _meta=meta)
    await client.transport.aclose()
    assert turn.text == "hi"
    assert {message["jsonrpc"] for message in client.log} == {"2.0"}
