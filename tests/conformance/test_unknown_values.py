"""Unknown and broken values: what is kept, what is an error, what is `_meta`.

https://agentclientprotocol.com/protocol/v1/extensibility
https://agentclientprotocol.com/protocol/v2/extensibility
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.errors import MalformedValue
from parley.schema import v1, v2
from parley.schema.base import Unknown, is_extension
from parley.schema.codec import decode, encode
from parley.schema.v2 import unstable

from .shapes import is_refused, read, text, update, write

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
    *("V2-ENUM-01", "V2-ENUM-02", "V2-ENUM-04", "V2-AUTH-05", "V2-AUTH-06", "V2-SESS-13"),
    *("V2-PERM-06", "V1-EXT-15", "V1-EXT-16"),
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


@requirement("V2-SESS-12")
def test_every_mcp_server_has_a_type_in_version_2_and_sse_is_none_of_them() -> None:
    server: Any = {"name": "s", "command": "/bin/s", "args": [], "env": []}
    assert is_refused(v2.McpServer, server)
    assert read(v2.McpServer, {"type": "stdio", **server}).command == "/bin/s"
    event_stream: Any = {"type": "sse", "name": "s", "url": "https://x", "headers": []}
    assert isinstance(read(v2.McpServer, event_stream), Unknown)


@requirement("V2-ENUM-05")
def test_leniency_is_as_the_schema_hints() -> None:
    call = update("tool_call_update", toolCallId="t", title=5, content=[5, {"type": "terminal"}])
    known = read(v2.SessionUpdate, {**call, "locations": [{"path": "/a", "line": "x"}]})
    assert write(known) == update(
        "tool_call_update", toolCallId="t", content=[], locations=[{"path": "/a"}]
    )
    assert is_refused(v2.SessionUpdate, {**call, "toolCallId": 5})


@requirement("V1-EXT-01", "V1-EXT-02", "V1-EXT-03", "V2-EXT-02", "TR-META-01")
@BOTH
@pytest.mark.parametrize("value", [1, None, "x", [1, {"a": None}], {"b": 2.5}, True])
def test_meta_holds_anything_at_every_level(schema: Any, value: Any) -> None:
    meta = {"example.com/x": value, "traceparent": "00-0-0-00"}
    block = text("hi", _meta=meta)
    request = {"sessionId": "s", "prompt": [block], "_meta": meta}
    known = read(schema.PromptRequest, request)
    assert (known.meta, known.prompt[0].meta) == (meta, meta)
    assert write(known) == request


@requirement("V1-RPC-27", "V2-EXT-02", "V2-EXT-03")
@BOTH
@pytest.mark.parametrize("meta", [5, "x", [], True, None])
def test_meta_that_is_no_object_counts_as_absent(schema: Any, meta: Any) -> None:
    block = text("hi", _meta=meta)
    known = read(schema.PromptRequest, {"sessionId": "s", "prompt": [block], "_meta": meta})
    assert (known.meta, known.prompt[0].meta) == (None, None)


@requirement("V1-EXT-04", "V2-EXT-01")
@BOTH
def test_unknown_keys_of_known_objects_are_not_sent_on(schema: Any) -> None:
    value = {"sessionId": "s", "prompt": [text("hi", zzz=1)], "zzz": 1}
    assert write(read(schema.PromptRequest, value)) == {"sessionId": "s", "prompt": [text("hi")]}


@requirement("V1-PROV-16", "TR-PRV-12", "V1-EXT-14")
@pytest.mark.parametrize("word", ["_corp", "new-protocol"])
def test_unknown_protocols_of_providers_are_coped_with(word: str) -> None:
    value = {"providerId": "p", "supported": [word, "anthropic"], "required": True}
    assert list(read(unstable.ProviderInfo, value).supported) == [word, "anthropic"]


@requirement("V1-EXT-17", "V1-PROMPT-31")
def test_closed_unions_of_version_1_refuse_what_they_do_not_know() -> None:
    kind = {"optionId": "o", "name": "O", "kind": "allow_maybe"}
    assert is_refused(v1.PermissionOption, kind)
    with pytest.raises(MalformedValue):
        read(v1.ContentBlock, {"type": "video"})
