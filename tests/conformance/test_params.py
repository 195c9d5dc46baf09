"""Strict and lenient decoding of params and results, and encoding of our own.

https://agentclientprotocol.com/protocol/v1/schema
"""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.schema_types import exported_types

from parley.errors import RemoteProtocolError
from parley.peer import RequestContext, Role
from parley.peer._initialize import initialize, table_of
from parley.schema import v1, v2
from parley.schema.base import BaseStruct, Kind, Method
from parley.schema.v1 import methods as v1_methods

from .raw_peer import ECHO, VERSIONS, connected

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", VERSIONS)

TEXT = {"type": "text", "text": "hi"}
GOLDEN = Path(__file__).parents[1] / "golden"


class Seen:
    """A handler that keeps the params it gets."""

    def __init__(self) -> None:
        self.params: list[Any] = []

    async def request(self, params: Any, request: RequestContext) -> Any:
        self.params.append(params)
        return {}

    def notification(self, params: Any) -> None:
        self.params.append(params)


async def seen_by_agent(version: int, method: str, *variants: Any) -> list[Any]:
    """Send one request with several params and return what the handler got of those accepted."""
    seen = Seen()
    async with connected(version, requests={method: seen.request}) as (_, raw):
        for params in variants:
            reply = await raw.ask(method, params)
            assert reply.get("error", {"code": -32602})["code"] == -32602
    return seen.params


async def seen_by_client(version: int, *updates: Any) -> list[Any]:
    """Send updates and return what the handler got of those accepted."""
    seen = Seen()
    handlers = {"session/update": seen.notification}
    async with connected(version, "client", notifications=handlers) as (_, raw):
        for update in updates:
            raw.message(method="session/update", params={"sessionId": "s", "update": update})
        await raw.is_alive()
    return [note.update for note in seen.params]


def samples(version: int) -> list[tuple[Method[Any, Any], Any]]:
    """Return each method whose params have a golden file, with the JSON of that."""
    types = exported_types(version)
    cases = [json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob(f"v{version}/*.json"))]
    usable = [case for case in cases if case["expect"] == "same" and "value" in case]
    found: dict[tuple[str, str], tuple[Method[Any, Any], Any]] = {}
    for method in table_of(version).methods:
        for case in usable:
            if types.get(case["type"]) == method.params and isinstance(case["value"], dict):
                found.setdefault((method.name, method.kind), (method, case["value"]))
    return list(found.values())


@requirement("V1-RPC-15")
@in_both_versions
@pytest.mark.parametrize(
    "params",
    [
        {"prompt": [TEXT]},
        {"sessionId": "s", "prompt": "secret"},
        {"sessionId": 7, "prompt": [TEXT]},
        {"sessionId": "s", "prompt": [{"type": "text", "text": "secret"}, {"type": "text"}]},
        {"sessionId": "s", "prompt": ["secret"]},
        ["secret"],
        "secret",
        None,
    ],
)
async def test_params_of_another_shape_are_refused_without_being_repeated(
    version: int, params: Any
) -> None:
    seen = Seen()
    async with connected(version, requests={"session/prompt": seen.request}) as (_, raw):
        error = (await raw.ask("session/prompt", params))["error"]
        assert error["code"] == -32602
        assert error["data"]["problem"].startswith("params")
        assert "secret" not in json.dumps(error)
        await raw.is_alive()
    assert seen.params == []


@requirement("V1-RPC-16", "V2-INIT-19")
@in_both_versions
async def test_an_unknown_key_in_the_params_of_any_method_changes_nothing(version: int) -> None:
    tried = samples(version)
    assert len(tried) > 20
    for method, value in tried:
        role: Role = "client" if method.to == "client" else "agent"
        seen = Seen()
        kinds: dict[Kind, dict[str, Any]] = {"request": {}, "notification": {}}
        is_request = method.kind == "request"
        kinds[method.kind][method.name] = seen.request if is_request else seen.notification
        async with connected(version, role, kinds["request"], kinds["notification"]) as (_, raw):
            for params in (value, {**value, "zzz": {"a": [1]}}):
                if is_request:
                    assert "result" in await raw.ask(method.name, params)
                else:
                    raw.message(method=method.name, params=params)
            await raw.is_alive()
        if method.name != "$/cancel_request":
            plain, extended = seen.params
            assert plain == extended, method.name


@requirement("V1-RPC-17")
@in_both_versions
async def test_absent_null_and_empty_params_are_alike(version: int) -> None:
    for method in ("session/list", "logout" if version == 1 else "auth/logout"):
        seen = Seen()
        async with connected(version, requests={method: seen.request}) as (_, raw):
            raw.message(id=1, method=method)
            assert (await raw.next())["result"] == {}
            assert (await raw.ask(method, None))["result"] == {}
            assert (await raw.ask(method, {}))["result"] == {}
        absent, null, empty = seen.params
        assert absent == null == empty


@requirement("V1-RPC-18")
@in_both_versions
def test_keys_are_camel_case_and_tags_are_snake_case(version: int) -> None:
    package = v1 if version == 1 else v2
    exceptions = {"searchAndReplace"}
    structs = [
        each
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        for each in vars(importlib.import_module(info.name)).values()
        if isinstance(each, type) and issubclass(each, BaseStruct)
    ]
    keys = {key for struct in structs for key in struct.__struct_encode_fields__}
    tags = {struct.__struct_config__.tag for struct in structs} - {None}
    assert len(keys) > 100
    assert len(tags) > 30
    assert {key for key in keys if not re.fullmatch(r"[a-z][a-zA-Z0-9]*", key)} == {"_meta"}
    assert {
        tag for tag in tags if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", str(tag))
    } <= exceptions


@requirement("V1-RPC-22")
async def test_a_wrong_value_of_a_forgiving_field_reads_as_its_default() -> None:
    [one, two, three, plain] = await seen_by_agent(
        1,
        "initialize",
        {"protocolVersion": 1, "clientCapabilities": False},
        {"protocolVersion": 1, "clientCapabilities": {"terminal": {}, "fs": 5}},
        {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": "yes"}}},
        {"protocolVersion": 1},
    )
    assert one == two == three == plain
    assert not plain.client_capabilities.fs.read_text_file
    [wrong, absent] = await seen_by_agent(
        2,
        "initialize",
        {"protocolVersion": 2, "info": {"name": "n", "version": "1"}, "capabilities": [5]},
        {"protocolVersion": 2, "info": {"name": "n", "version": "1"}},
    )
    assert wrong == absent


@requirement("V1-RPC-23", "V1-RPC-24")
async def test_bad_items_of_a_forgiving_list_are_dropped_and_a_bad_list_is_empty() -> None:
    good = {"content": "c", "priority": "high", "status": "pending"}
    other = {**good, "content": "d"}
    plans = await seen_by_client(
        1,
        {"sessionUpdate": "plan", "entries": [good, {"content": 5}, None, other]},
        {"sessionUpdate": "plan", "entries": None},
        {"sessionUpdate": "plan", "entries": "oops"},
        {"sessionUpdate": "plan", "entries": {}},
    )
    assert [[entry.content for entry in plan.entries] for plan in plans] == [["c", "d"], [], [], []]
    plans = await seen_by_client(
        2,
        {
            "sessionUpdate": "plan_update",
            "plan": {"type": "items", "planId": "p", "entries": [good, 5, other]},
        },
        {
            "sessionUpdate": "plan_update",
            "plan": {"type": "items", "planId": "p", "entries": "oops"},
        },
    )
    assert [[entry.content for entry in note.plan.entries] for note in plans] == [["c", "d"]]


@requirement("V1-RPC-23")
@in_both_versions
async def test_a_bad_auth_method_does_not_hide_the_good_one(version: int) -> None:
    key = "id" if version == 1 else "methodId"
    tag: dict[str, Any] = {} if version == 1 else {"type": "agent"}
    me = v1.Implementation(name="n", version="1")
    offers: dict[int, Any] = {1: v1.InitializeRequest(protocol_version=1)}
    if version == 2:
        info = v2.Implementation(name="n", version="1")
        offers = {2: v2.InitializeRequest(protocol_version=2, info=info)}
    async with connected(version, "client") as (peer, raw):
        call = asyncio.create_task(initialize(peer, offers))
        request = await raw.next()
        result: dict[str, Any] = {
            "protocolVersion": version,
            "info": msgspec.to_builtins(me),
            "authMethods": [{**tag, "name": "x"}, {**tag, key: "ok", "name": "y"}, 5],
        }
        raw.message(id=request["id"], result=result)
        agreement = await call
    [method] = agreement.result.auth_methods
    assert method.name == "y"


@requirement("V1-RPC-25", "V1-RPC-24")
async def test_a_required_key_must_be_there_though_its_null_is_forgiven() -> None:
    null, empty = await seen_by_agent(
        1,
        "session/new",
        {"cwd": "/"},
        {"cwd": "/", "mcpServers": None},
        {"cwd": "/", "mcpServers": []},
    )
    assert null == empty


def new(server: Any) -> Any:
    return {"cwd": "/", "mcpServers": [{"name": "n", "command": "/c", **server}]}


def prompt(*blocks: Any) -> Any:
    return {"sessionId": "s", "prompt": blocks}


PROVIDER: dict[str, Any] = {
    "providerId": "p",
    "apiType": "openai",
    "baseUrl": "https://a",
    "headers": {},
}
STRICT: list[tuple[int, str, Any, Any]] = [
    (1, "session/prompt", prompt(TEXT), prompt(TEXT, {**TEXT, "text": 5})),
    (1, "session/list", {"cwd": "/"}, {"cwd": 5}),
    (1, "session/list", {"cursor": "c"}, {"cursor": {}}),
    (1, "session/new", new({"args": [], "env": []}), new({"args": "x", "env": []})),
    (1, "session/new", new({"args": [], "env": []}), new({"args": [], "env": [5]})),
    (1, "providers/set", PROVIDER, {**PROVIDER, "headers": 5}),
    (2, "session/prompt", prompt(TEXT), prompt(TEXT, {**TEXT, "text": 5})),
    (2, "session/prompt", prompt(TEXT), prompt()),
    (2, "session/list", {"cwd": "/"}, {"cwd": 5}),
    (2, "session/list", {"cursor": "c"}, {"cursor": {}}),
    (2, "session/new", new({"type": "stdio"}), new({"type": "stdio", "args": 5})),
    (2, "providers/set", PROVIDER, {**PROVIDER, "headers": 5}),
]


@requirement("V1-RPC-26")
@pytest.mark.parametrize(("version", "method", "good", "bad"), STRICT)
async def test_a_field_without_a_hint_stays_strict(
    version: int, method: str, good: Any, bad: Any
) -> None:
    accepted = await seen_by_agent(version, method, good, bad)
    assert accepted == await seen_by_agent(version, method, good)
    assert len(accepted) == 1


@requirement("V1-RPC-26")
@in_both_versions
async def test_permission_options_stay_strict(version: int) -> None:
    seen = Seen()
    params = {"sessionId": "s", "title": "t", "toolCall": {"toolCallId": "c"}, "options": [5]}
    method = "session/request_permission"
    async with connected(version, "client", {method: seen.request}) as (_, raw):
        assert (await raw.ask(method, params))["error"]["code"] == -32602
    assert seen.params == []


@requirement("V1-RPC-27", "V1-RPC-28")
async def test_a_bad_optional_leaf_reads_as_absent() -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": TEXT}
    plain, *odd = await seen_by_client(
        1,
        chunk,
        {**chunk, "messageId": 5},
        {**chunk, "_meta": 5},
        {**chunk, "_meta": "x", "content": {**TEXT, "annotations": 7, "_meta": []}},
    )
    assert odd == [plain] * 3
    message = {**chunk, "messageId": "m"}
    plain, *odd = await seen_by_client(2, message, {**message, "_meta": 5})
    assert odd == [plain]
    first, second = await seen_by_agent(1, "session/list", {}, {"_meta": 5})
    assert first == second


@requirement("V1-RPC-33")
async def test_optional_fields_without_a_value_are_left_out() -> None:
    async def read(params: Any, request: RequestContext) -> Any:
        return v1.ReadTextFileResponse(content="")

    async with connected(1, "client", {"fs/read_text_file": read}) as (peer, raw):
        ours: list[tuple[Method[Any, Any], Any]] = [
            (v1_methods.INITIALIZE, v1.InitializeRequest(protocol_version=1)),
            (v1_methods.NEW_SESSION, v1.NewSessionRequest(cwd="/", mcp_servers=[])),
            (v1_methods.LIST_SESSIONS, v1.ListSessionsRequest()),
        ]
        for method, params in ours:
            call = asyncio.create_task(peer.request(method, params))
            request = await raw.next()
            assert None not in request["params"].values()
            raw.message(id=request["id"], error={"code": 1, "message": "no"})
            await asyncio.wait([call])
            assert call.exception() is not None
        reply = await raw.ask("fs/read_text_file", {"sessionId": "s", "path": "/a"})
        assert reply["result"] == {"content": ""}


@requirement("V1-RPC-31")
async def test_a_result_of_another_shape_fails_the_call_and_nothing_else() -> None:
    async with connected(1, "client") as (peer, raw):
        params = v1.NewSessionRequest(cwd="/", mcp_servers=[])
        call = asyncio.create_task(peer.request(v1_methods.NEW_SESSION, params))
        request = await raw.next()
        raw.message(id=request["id"], result={"sessionId": {"secret": 1}})
        with pytest.raises(RemoteProtocolError, match=r"result\.sessionId: expected string"):
            await call
        assert (await raw.ask(ECHO))["result"] is None
