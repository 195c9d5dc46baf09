"""Tool calls as JSON, for commands that are given one: of either version, bare or in a question."""

from __future__ import annotations

from typing import Any

import msgspec

from parley.errors import MalformedValue
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.session._v1_session_upgrader import upgrade_tool_update

__all__ = ["permission_request_for", "read_permission_request"]

_OPTIONS = [v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]


def permission_request_for(
    call: v2.ToolCallUpdate, session: str = ""
) -> v2.RequestPermissionRequest:
    """Return the question for permission to do a tool call."""
    return v2.RequestPermissionRequest(
        session_id=session,
        title="May I?",
        subject=v2.ToolCallPermissionSubject(tool_call=call),
        options=_OPTIONS,
    )


def read_permission_request(data: bytes) -> v2.RequestPermissionRequest:
    """Read a tool call, a question for permission, or a whole message with one of these.

    Raises:
        ValueError: It is none of these; the text says what is wrong.
    """
    try:
        value: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
        # A line of a recording, a message, a notification.
        for name in ("message", "params", "update"):
            inner = value.get(name)
            if isinstance(inner, dict) and "toolCallId" not in value:
                value = msgspec.convert(inner, dict[str, Any])
        if "subject" in value:
            whole = {"title": "", "sessionId": "", "options": [_option()], **value}
            return decode(v2.RequestPermissionRequest, msgspec.json.encode(whole), "the question")
        call = value.get("toolCall", value)
        session = value.get("sessionId", "")
        update = _update(msgspec.convert(call, dict[str, Any]))
        return permission_request_for(update, session if isinstance(session, str) else "")
    except (msgspec.DecodeError, MalformedValue, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error


def _option() -> dict[str, str]:
    return {"optionId": "yes", "name": "Yes", "kind": "allow_once"}


def _update(call: dict[str, Any]) -> v2.ToolCallUpdate:
    """Read a tool call of either version; they differ in how a diff is written."""
    if not {"kind", "rawInput", "locations", "content", "name"}.intersection(call):
        raise MalformedValue("the tool call", "expected kind, rawInput or locations")
    raw = msgspec.json.encode({"toolCallId": "call", **call})
    if b'"newText"' in msgspec.json.encode(call.get("content")):
        update = decode(v1.ToolCallUpdate, raw, "the tool call")
        return upgrade_tool_update(v2.ToolCallUpdate, update)
    return decode(v2.ToolCallUpdate, raw, "the tool call")
