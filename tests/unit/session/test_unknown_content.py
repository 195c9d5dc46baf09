"""Content of types that version 1 does not have is found in the frame."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.schema.base import Unknown
from parley.session._v1_client_adapter import unknown_content

HOLOGRAM = {"type": "x_hologram", "depth": 3}
TEXT = {"type": "text", "text": "seen"}


def found(update: Any, method: str = "session/update") -> list[tuple[str, Any]]:
    message = {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "s", "update": update}}
    each: list[Unknown] = unknown_content(json.dumps(message).encode())
    return [(one.tag, one.payload) for one in each]


def test_a_message_of_an_unknown_kind() -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": HOLOGRAM}
    assert found(update) == [("x_hologram", HOLOGRAM)]


def test_items_of_a_tool_call_and_what_is_in_them() -> None:
    lava = {"type": "x_lava", "degrees": 900}
    items = [
        {"type": "content", "content": TEXT},
        lava,
        {"type": "diff", "path": "/a", "newText": ""},
        {"type": "content", "content": HOLOGRAM},
    ]
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": items}
    assert found(update) == [("x_lava", lava), ("x_hologram", HOLOGRAM)]


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "agent_message_chunk", "content": TEXT},
        {"sessionUpdate": "tool_call", "rawInput": {"type": "odd"}, "content": None},
        {"sessionUpdate": "tool_call", "rawInput": {"type": "odd"}},
        {"sessionUpdate": "tool_call", "content": [{"type": "odd"}, 7]},
        {"sessionUpdate": "tool_call", "content": {"type": ["odd"], "x": {"type": "odd"}}},
    ],
)
def test_what_is_known_or_cannot_be_read_is_not_found(update: Any) -> None:
    assert found(update) == []


def test_only_updates_are_looked_at() -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": HOLOGRAM}
    assert found(update, "session/other") == []
