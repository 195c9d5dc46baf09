"""MCP capabilities in the bytes of an `initialize` response."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw, structs

from parley.schema._codec import decode, encode
from parley.schema.v2 import McpServer, McpServerStdio
from parley.session._capabilities import AgentFeatures
from parley.session._mcp_capabilities import (
    MCP_ACP,
    mcp_capabilities,
    mcp_stdio_tag,
    with_mcp_acp,
)

INFO = {"name": "agent", "version": "1"}


def response1(**mcp: Any) -> bytes:
    capabilities = {"mcpCapabilities": mcp}
    return msgspec.json.encode({"protocolVersion": 1, "agentCapabilities": capabilities})


def response2(**mcp: Any) -> bytes:
    capabilities = {"session": {"mcp": mcp}}
    return msgspec.json.encode({"protocolVersion": 2, "info": INFO, "capabilities": capabilities})


def test_an_agent_of_version_1_takes_servers_over_stdio_without_saying_so() -> None:
    assert mcp_capabilities(response1()) == (AgentFeatures(mcp_stdio=True), 1)
    for version in (b"1", b'"2"', b"-1", b"null"):
        response = b'{"protocolVersion":%b}' % version
        assert mcp_capabilities(response) == (AgentFeatures(mcp_stdio=True), 1)


@pytest.mark.parametrize("kind", ["http", "sse", "acp"])
def test_an_agent_of_version_1_takes_the_other_kinds_where_it_says_true(kind: str) -> None:
    taken = structs.replace(AgentFeatures(mcp_stdio=True), **{f"mcp_{kind}": True})
    assert mcp_capabilities(response1(**{kind: True})) == (taken, 1)
    words: list[Any] = [False, None, 1, "true", {}]
    for word in words:
        assert mcp_capabilities(response1(**{kind: word})) == (AgentFeatures(mcp_stdio=True), 1)


@pytest.mark.parametrize("kind", ["stdio", "http", "acp"])
def test_an_agent_of_version_2_takes_just_the_kinds_that_it_names(kind: str) -> None:
    taken = structs.replace(AgentFeatures(), **{f"mcp_{kind}": True})
    assert mcp_capabilities(response2(**{kind: {}})) == (taken, 2)
    assert mcp_capabilities(response2(**{kind: None})) == (AgentFeatures(), 2)


def test_version_2_has_no_servers_over_sse() -> None:
    assert mcp_capabilities(response2(sse={})) == (AgentFeatures(), 2)


@pytest.mark.parametrize("info", [{}, {"info": None}])
def test_an_agent_that_echoes_a_2_takes_servers_as_version_1_does(info: dict[str, Any]) -> None:
    capabilities: dict[str, Any] = {
        "agentCapabilities": {"mcpCapabilities": {"http": True}},
        "capabilities": {"session": {"mcp": {"acp": {}}}},
    }
    response = msgspec.json.encode({"protocolVersion": 2, **info, **capabilities})
    assert mcp_capabilities(response) == (AgentFeatures(mcp_stdio=True, mcp_http=True), 1)


@pytest.mark.parametrize("info", [{}, {"agentInfo": INFO}])
def test_an_agent_of_an_earlier_draft_takes_servers_as_version_2_does(info: dict[str, Any]) -> None:
    capabilities: dict[str, Any] = {"session": {"mcp": {"acp": {}}}}
    response = msgspec.json.encode({"protocolVersion": 2, **info, "capabilities": capabilities})
    assert mcp_capabilities(response) == (AgentFeatures(mcp_acp=True), 2)


@pytest.mark.parametrize("response", [b"", b"{", b'{"\xff":1}', b"[" * 100_000])
def test_a_response_that_is_not_json_offers_nothing(response: bytes) -> None:
    assert mcp_capabilities(response) == (AgentFeatures(), 1)


@pytest.mark.parametrize("odd", [None, [], 5, "acp", ["acp"]])
def test_what_is_malformed_on_the_way_to_an_offer_is_not_offered(odd: object) -> None:
    one = msgspec.json.encode({"protocolVersion": 1, "agentCapabilities": odd})
    assert mcp_capabilities(one) == (AgentFeatures(mcp_stdio=True), 1)
    capabilities = {"session": {"mcp": odd}}
    two = msgspec.json.encode({"protocolVersion": 2, "info": INFO, "capabilities": capabilities})
    assert mcp_capabilities(two) == (AgentFeatures(), 2)


@pytest.mark.parametrize("response", [response1(http=True), response2(http={}, stdio={})])
def test_an_offer_is_added_to_the_others(response: bytes) -> None:
    before, version = mcp_capabilities(response)
    after, same = mcp_capabilities(with_mcp_acp(response))
    assert not before.mcp_acp
    assert after == structs.replace(before, mcp_acp=True)
    assert same == version


def test_an_offer_is_made_where_its_version_has_it_and_as_it_says_it() -> None:
    assert with_mcp_acp(b'{"protocolVersion":1}') == (
        b'{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
    )
    assert with_mcp_acp(b'{"protocolVersion":2,"info":{}}') == (
        b'{"protocolVersion":2,"info":{},"capabilities":{"session":{"mcp":{"acp":{}}}}}'
    )


def test_whatever_else_is_in_the_response_stays_as_it_came() -> None:
    response = (
        b'{"_meta":{"n":1.50e1},"protocolVersion":1,"agentCapabilities":{"loadSession":true,'
        b'"mcpCapabilities":{"http":"\\u0041","acp":false,"_x":[ 1 ]}},"next":12345678901234567890}'
    )
    assert with_mcp_acp(response) == response.replace(b'"acp":false', b'"acp":true')


@pytest.mark.parametrize("odd", ["null", "[]", "7"])
def test_an_offer_takes_the_place_of_what_is_no_object(odd: str) -> None:
    response = f'{{"protocolVersion":1,"agentCapabilities":{odd}}}'.encode()
    assert with_mcp_acp(response) == with_mcp_acp(b'{"protocolVersion":1}')


@pytest.mark.parametrize("version", [1, 2])
def test_the_place_of_an_offer_is_where_it_is_read(version: int) -> None:
    path, value = MCP_ACP[version]
    found: Any = msgspec.json.decode(with_mcp_acp(response1() if version == 1 else response2()))
    for name in path:
        found = found[name]
    assert found == msgspec.json.decode(value)


def test_a_server_to_be_started_has_a_type_in_version_2_alone() -> None:
    way = {"name": Raw(b'"s"'), "command": Raw(b'"/bin/s"'), "args": Raw(b"[]")}
    server: McpServer = decode(McpServer, encode({**mcp_stdio_tag(2), **way}))
    assert isinstance(server, McpServerStdio)
    assert mcp_stdio_tag(1) == {}
