"""Unknown and broken values: what is kept, what is an error, what is `_meta`.

https://agentclientprotocol.com/protocol/v1/extensibility
https://agentclientprotocol.com/protocol/v2/extensibility
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.agent import Agent, AgentSession, Turn
from parley.errors import MalformedValue
from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import Unknown, is_extension

from .raw_client import in_both_versions, talking_to
from .transcripts import transcript_after
from .wire_values import is_refused, read, text, update, write

requirement = pytest.mark.requirement
BOTH = pytest.mark.parametrize("schema", [v1, v2], ids=["v1", "v2"])

OPEN: list[tuple[Any, dict[str, Any]]] = [
    (v2.SessionUpdate, {"sessionUpdate": "@", "x": [1, {"y": None}]}),
    (v2.ContentBlock, {"type": "@", "data": "é"}),
    (v2.ToolCallContent, {"type": "@", "rows": 2**60}),
    (v2.AuthMethod, {"type": "@", "methodId": "m", "name": "M"}),
    (v2.McpServer, {"type": "@", "name": "s", "socket": "/s"}),
    (v2.DiffChange, {"operation": "@", "path": "/a"}),
    (v2.PlanUpdateContent, {"type": "@", "planId": "p"}),
    (v2.RequestPermissionSubject, {"type": "@", "what": 1.5}),
    (v2.RequestPermissionOutcome, {"outcome": "@", "why": ""}),
    (v2.SessionConfigOption, {"type": "@", "configId": "c", "name": "C"}),
    (v2.BackgroundWork, {"type": "@", "id": "w"}),
]


@requirement(
    *("V2-ENUM-01", "V2-ENUM-02", "V2-ENUM-04", "V2-AUTH-06", "V2-PERM-06"),
    *("V1-EXT-15", "V1-EXT-16"),
)
@pytest.mark.parametrize(("tp", "value"), OPEN)
@pytest.mark.parametrize(("word", "is_own"), [("_own", True), ("future", False)])
def test_an_unknown_variant_is_kept_with_all_it_has(
    tp: Any, value: dict[str, Any], word: str, is_own: bool
) -> None:
    raw = json.dumps(value, ensure_ascii=False).replace("@", word).encode()
    known = decode(tp, raw)
    assert isinstance(known, Unknown)
    assert (known.tag, is_extension(known.tag)) == (word, is_own)
    assert encode(known) == raw


@requirement("V2-ENUM-03")
@pytest.mark.parametrize(
    ("tp", "value"),
    [
        (v2.SessionUpdate, {"sessionUpdate": "tool_call_update"}),
        (v2.SessionUpdate, {"sessionUpdate": "agent_message_chunk", "messageId": "m"}),
        (v2.ContentBlock, {"type": "text"}),
        (v2.ContentBlock, {"type": "image", "data": 5, "mimeType": "x"}),
        (v2.McpServer, {"type": "stdio", "name": "s"}),
        (v2.McpServer, {"type": "http", "name": "s"}),
        (v2.RequestPermissionOutcome, {"outcome": "selected"}),
        (v2.ContentBlock, {"text": "no type"}),
        (v2.ContentBlock, {"type": 5, "text": "x"}),
    ],
)
def test_a_known_variant_that_is_broken_is_an_error(tp: Any, value: Any) -> None:
    assert is_refused(tp, value)


@requirement("V2-SESS-12", "V2-SESS-13", "V2-ENUM-03", "V2-ENUM-04")
async def test_an_agent_gets_every_mcp_server_that_has_a_type() -> None:
    stdio: Any = {"name": "s", "command": "/bin/s", "args": [], "env": []}
    event_stream: Any = {"type": "sse", "name": "e", "url": "https://x", "headers": []}
    own: Any = {"type": "_socket", "name": "o", "path": "/run/o"}
    given: list[v2.McpServer] = []
    agent = Agent("server")
    agent.prompt(_nothing)

    @agent.open_session
    async def keep(session: AgentSession) -> None:
        given.extend(session.mcp_servers)

    async with talking_to(agent) as client:
        await client.initialize(2)
        for broken in (stdio, {"type": "stdio", "name": "s"}, {"type": "http", "name": "s"}):
            params = {"cwd": "/", "mcpServers": [broken]}
            assert await client.refusal("session/new", params) == -32602
        await client.new_session(mcpServers=[{"type": "stdio", **stdio}, event_stream, own])
    assert isinstance(given[0], v2.McpServerStdio)
    assert all(isinstance(each, Unknown) for each in given[1:])
    assert [write(each) for each in given[1:]] == [event_stream, own]


async def _nothing(turn: Turn) -> None: ...


@requirement("V2-ENUM-05")
def test_leniency_is_as_the_schema_hints() -> None:
    call = update("tool_call_update", toolCallId="t", title=5, content=[5, {"type": "terminal"}])
    lax = {**call, "locations": [{"path": "/a", "line": "x"}]}
    assert write(read(v2.SessionUpdate, lax)) == update(
        "tool_call_update", toolCallId="t", content=[], locations=[{"path": "/a"}]
    )
    assert is_refused(v2.SessionUpdate, {**call, "toolCallId": 5})
    (known,) = transcript_after(2, {**call, "toolCallId": 5}, lax).tool_calls.values()
    assert (known.title, known.content, write(known.locations)) == (None, [], [{"path": "/a"}])


async def prompted(version: int, meta: Any) -> list[Any]:
    """Return the `_meta` of a prompt and of its only block as an agent gets them."""
    received: list[Any] = []
    agent = Agent("reader")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        (block,) = turn.prompt
        assert isinstance(block, v2.TextContent)
        received.extend([turn.meta, block.meta])

    async with talking_to(agent) as client:
        await client.initialize(version)
        session = await client.new_session()
        params = {"sessionId": session, "prompt": [text("hi", _meta=meta)], "_meta": meta}
        await client.ended(session, client.request("session/prompt", params), len(client.log))
    return received


@requirement("V1-EXT-01", "V1-EXT-02", "V1-EXT-03", "V2-EXT-02", "TR-META-01")
@in_both_versions
@pytest.mark.parametrize("value", [1, None, "x", [1, {"a": None}], {"b": 2.5}, True])
async def test_meta_holds_anything_at_every_level(version: int, value: Any) -> None:
    meta = {"example.com/x": value, "traceparent": "00-0-0-00"}
    assert await prompted(version, meta) == [meta, meta]


@requirement("V1-RPC-27", "V2-EXT-02", "V2-EXT-03")
@in_both_versions
@pytest.mark.parametrize("meta", [5, "x", [], True, None])
async def test_meta_that_is_no_object_counts_as_absent(version: int, meta: Any) -> None:
    assert await prompted(version, meta) == [None, None]


@requirement("V1-EXT-04", "V2-EXT-01")
@BOTH
def test_unknown_keys_of_known_objects_are_not_sent_on(schema: Any) -> None:
    value = {"sessionId": "s", "prompt": [text("hi", zzz=1)], "zzz": 1}
    assert write(read(schema.PromptRequest, value)) == {"sessionId": "s", "prompt": [text("hi")]}


@requirement("V1-PROV-16", "TR-PRV-12", "V1-EXT-14")
@pytest.mark.parametrize("word", ["_corp", "new-protocol"])
def test_unknown_protocols_of_providers_are_coped_with(word: str) -> None:
    value = {"providerId": "p", "supported": [word, "anthropic"], "required": True}
    assert list(read(v2.ProviderInfo, value).supported) == [word, "anthropic"]


@requirement("V1-EXT-17", "V1-PROMPT-31")
def test_closed_unions_of_version_1_refuse_what_they_do_not_know() -> None:
    kind = {"optionId": "o", "name": "O", "kind": "allow_maybe"}
    assert is_refused(v1.PermissionOption, kind)
    with pytest.raises(MalformedValue):
        read(v1.ContentBlock, {"type": "video"})
