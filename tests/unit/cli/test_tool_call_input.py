"""Tool calls are read as agents send them, in either version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.cli.tool_call_input import read_permission_request
from parley.policy import Subject, subject_of

CALL = {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}
OPTIONS = [{"optionId": "o", "name": "O", "kind": "allow_once"}]
V1 = {"sessionId": "s", "toolCall": CALL, "options": OPTIONS}
V2: dict[str, Any] = {
    "sessionId": "s",
    "title": "T",
    "subject": {"type": "tool_call", "toolCall": CALL},
    "options": OPTIONS,
}
UPDATE = {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "title": "T", **CALL}}
SHAPES: dict[str, Any] = {
    "a call": CALL,
    "a call without an id": {"kind": "execute", "rawInput": {"command": "ls"}},
    "a question of version 1": V1,
    "a question of version 2": V2,
    "a message": {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": V1},
    "an update": {"jsonrpc": "2.0", "method": "session/update", "params": UPDATE},
    "a line of a recording": {"at": 1.0, "kind": "to_client", "message": {"params": V2}},
    "a command": {"subject": {"type": "command", "command": "ls", "cwd": "/"}},
}


def subject(value: Any) -> Subject:
    return subject_of(read_permission_request(json.dumps(value).encode()), None, "/w")


@pytest.mark.parametrize("value", SHAPES.values(), ids=SHAPES.keys())
def test_a_call_is_read_in_whatever_it_comes(value: Any) -> None:
    read = subject(value)
    assert (read.kind, read.commands) == ("execute", ("ls",))


def test_diffs_of_both_versions_are_read() -> None:
    old = {"type": "diff", "path": "/w/a", "oldText": "a", "newText": "b"}
    new = {"type": "diff", "changes": [{"operation": "modify", "path": "/w/a"}]}
    assert subject({"kind": "edit", "content": [old]}).paths == ("/w/a",)
    assert subject({"kind": "edit", "content": [new]}).paths == ("/w/a",)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"5",
        b"[]",
        b"{",
        b"\xff",
        b"{}",
        b'{"toolCall": 5}',
        b'{"subject": {"type": "command"}}',
    ],
)
def test_what_is_no_call_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_permission_request(data)
