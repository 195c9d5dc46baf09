"""MCP servers of the configuration, as a session of an agent is told of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parley.config import ServerEntry
from parley.config._servers import mcp_servers
from parley.schema import v2
from parley.schema.base import Unknown

HTTP = ServerEntry(
    name="search",
    kind="http",
    url="https://$HOST/mcp",
    headers={"Authorization": "Bearer $TOKEN"},
)
SSE = ServerEntry(name="old", kind="sse", url="http://127.0.0.1:9/sse", headers={"A": "b"})
ENVIRON = {"TOKEN": "planted-marker", "HOST": "search.example"}


@pytest.fixture
def stdio(tmp_path: Path) -> ServerEntry:
    program = tmp_path / "mcp-files"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return ServerEntry(
        name="files", kind="stdio", command=["mcp-files", "-v"], env={"KEY": "$TOKEN"}
    )


def test_a_program_is_told_by_its_absolute_path(stdio: ServerEntry, tmp_path: Path) -> None:
    usable, left_out = mcp_servers([stdio], "x", environ={**ENVIRON, "PATH": str(tmp_path)})
    assert left_out == []
    assert usable == [
        v2.McpServerStdio(
            name="files",
            command=str(tmp_path / "mcp-files"),
            args=["-v"],
            env=[v2.EnvVariable(name="KEY", value="planted-marker")],
        )
    ]


def test_an_address_is_told_with_its_headers() -> None:
    header = v2.HttpHeader(name="Authorization", value="Bearer planted-marker")
    server = v2.McpServerHttp(name="search", url="https://search.example/mcp", headers=[header])
    assert mcp_servers([HTTP], "x", environ=ENVIRON) == ([server], [])


def test_server_sent_events_are_told_in_version_1s_words() -> None:
    [server], _ = mcp_servers([SSE], "x", environ={})
    assert isinstance(server, Unknown)
    assert server.tag == "sse"
    assert json.loads(server.raw) == {
        "type": "sse",
        "name": "old",
        "url": "http://127.0.0.1:9/sse",
        "headers": [{"name": "A", "value": "b"}],
    }


@pytest.mark.requirement("V1-MCP-02")
def test_what_an_agent_cannot_reach_is_left_out_with_a_reason(stdio: ServerEntry) -> None:
    usable, left_out = mcp_servers([stdio, HTTP, SSE], "x", reach=["http"], environ=ENVIRON)
    assert [each.name for each in usable if isinstance(each, v2.McpServerHttp)] == ["search"]
    assert [(each.name, each.reason) for each in left_out] == [
        ("files", "the agent does not support MCP servers over stdin and stdout"),
        ("old", "the agent does not support MCP servers over server-sent events"),
    ]


def test_what_cannot_be_told_is_left_out_and_fails_nothing(stdio: ServerEntry) -> None:
    usable, left_out = mcp_servers([stdio, HTTP], "x", environ={"TOKEN": "t" * 9, "PATH": ""})
    assert usable == []
    assert "there is no program 'mcp-files'" in left_out[0].reason
    assert "mcp_servers.search.url refers to $HOST, which is not set" in left_out[1].reason
    assert "ttt" not in str(left_out)


def test_a_server_goes_only_to_the_agents_that_it_is_for() -> None:
    mine = ServerEntry(name="mine", kind="http", url="https://a", agents=["codex"])
    everyones = ServerEntry(name="all", kind="http", url="https://b")
    for agent, names in (("codex", ["mine", "all"]), ("other", ["all"]), ("", ["all"])):
        usable, left_out = mcp_servers([mine, everyones], agent, environ={})
        assert [getattr(each, "name", "") for each in usable] == names
        assert left_out == []


@pytest.mark.requirement("SAFE-REACH-06")
def test_each_session_gets_servers_of_its_own() -> None:
    first, _ = mcp_servers([HTTP], "x", environ=ENVIRON)
    again, _ = mcp_servers([HTTP], "x", environ={**ENVIRON, "TOKEN": "another-marker"})
    assert first[0] is not again[0]
    assert "planted-marker" not in str(again)
