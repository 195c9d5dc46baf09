"""How a client names MCP servers to an agent.

https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v1

from .shapes import is_refused, read, write

requirement = pytest.mark.requirement
STDIO: dict[str, Any] = {
    "name": "s",
    "command": "/bin/s",
    "args": ["-v"],
    "env": [{"name": "A", "value": "1"}],
}
HTTP: dict[str, Any] = {
    "name": "h",
    "url": "https://h",
    "headers": [{"name": "X", "value": "1"}],
}


def servers(*each: Any) -> list[Any]:
    request = {"cwd": "/", "mcpServers": list(each)}
    named: list[Any] = write(read(v1.NewSessionRequest, request)).get("mcpServers", [])
    return named


@requirement("V2-DUAL-14")
@requirement("V1-MCP-06")
def test_a_stdio_server_has_four_fields_and_no_type() -> None:
    assert servers(STDIO) == [STDIO]
    for name in STDIO:
        assert is_refused(v1.McpServer, {key: STDIO[key] for key in STDIO if key != name})
    assert servers({**STDIO, "args": [], "env": []})[0]["args"] == []


@requirement("V1-MCP-07")
@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_remote_server_has_type_name_url_and_headers(kind: str) -> None:
    whole = {"type": kind, **HTTP}
    assert servers(whole) == [whole]
    for name in HTTP:
        assert is_refused(v1.McpServer, {key: whole[key] for key in whole if key != name})


@requirement("V1-MCP-08")
@pytest.mark.parametrize("broken", [{"name": "x"}, 5, {**STDIO, "args": [5]}])
def test_a_broken_server_is_refused_and_not_left_out(broken: Any) -> None:
    assert is_refused(v1.NewSessionRequest, {"cwd": "/", "mcpServers": [broken, STDIO]})


@requirement("V1-MCP-22")
@pytest.mark.parametrize("kind", ["stdio", "other"])
def test_a_server_of_an_unknown_type_with_the_fields_of_stdio_is_one(kind: str) -> None:
    assert servers({"type": kind, **STDIO}) == [STDIO]


@requirement("V1-TERM-21")
@pytest.mark.parametrize("wrong", [{"args": ["a", 5]}, {"env": [{"name": "A"}]}, {"env": [5]}])
def test_broken_arguments_and_variables_of_a_terminal_are_refused(wrong: dict[str, Any]) -> None:
    assert is_refused(v1.CreateTerminalRequest, {"sessionId": "s", "command": "ls", **wrong})


@requirement("V1-FS-13")
@pytest.mark.parametrize("wrong", ["x", -1, 1.5, [], {}])
def test_a_broken_line_or_limit_is_refused(wrong: Any) -> None:
    for name in ("line", "limit"):
        assert is_refused(v1.ReadTextFileRequest, {"sessionId": "s", "path": "/a", name: wrong})
