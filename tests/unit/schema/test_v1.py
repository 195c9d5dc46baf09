"""Version 1 beyond the golden files: exports, markers, encoding and the method table."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import UNSET, Struct, UnsetType, structs
from tests.schema_types import exported_types, type_stabilities

from parley.errors import MalformedValue
from parley.schema import v1
from parley.schema._codec import decode, encode, strict_decoder
from parley.schema.base import UNSTABLE, Method, Unknown, is_extension
from parley.schema.v1 import methods

NAMES = exported_types(1)
CLASSES: dict[str, type[Struct]] = {
    name: tp for name, tp in NAMES.items() if isinstance(tp, type) and issubclass(tp, Struct)
}
GROUPS: dict[str, tuple[Method[Any, Any], ...]] = {
    "NES_METHODS": methods.NES_METHODS,
    "DOCUMENT_METHODS": methods.DOCUMENT_METHODS,
    "MCP_CONNECTION_METHODS": methods.MCP_CONNECTION_METHODS,
    "UNDERSCORE_PROXY_METHODS": methods.UNDERSCORE_PROXY_METHODS,
    "WORKSPACE_METHODS": methods.WORKSPACE_METHODS,
}
ALL_ROWS = [*methods.TABLE.methods, *(row for group in GROUPS.values() for row in group)]


def hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def members(tp: Any) -> set[Any]:
    if get_origin(tp) is Annotated:
        tp = get_args(tp)[0]
    found: set[Any] = set(get_args(tp)) or {tp}
    return found


def test_every_type_can_be_decoded() -> None:
    for tp in NAMES.values():
        strict_decoder(tp)
    for row in ALL_ROWS:
        strict_decoder(row.params)
        strict_decoder(row.result)


# Fields of stable classes that are no part of the stable schema

UNSTABLE_FIELDS = {
    ("AgentAuthCapabilities", "status"),
    ("AgentCapabilities", "nes"),
    ("AgentCapabilities", "position_encoding"),
    ("AgentCapabilities", "providers"),
    ("ClientCapabilities", "general"),
    ("ClientCapabilities", "nes"),
    ("ClientCapabilities", "plan"),
    ("ClientCapabilities", "position_encodings"),
    ("ClientCapabilities", "subagents"),
    ("ClientCapabilities", "workspace"),
    ("InitializeRequest", "general"),
    ("InitializeResponse", "position_encoding"),
    ("ListSessionsRequest", "archived"),
    ("LoadSessionRequest", "system_prompt"),
    ("McpCapabilities", "acp"),
    ("NewSessionRequest", "system_prompt"),
    ("PromptResponse", "usage"),
    ("ResumeSessionRequest", "system_prompt"),
    ("SessionCapabilities", "archive"),
    ("SessionCapabilities", "fork"),
    ("SessionCapabilities", "status"),
    ("SessionCapabilities", "system_prompt"),
    ("SessionCapabilities", "title"),
    ("SessionInfo", "archived"),
}


def test_unstable_fields_of_stable_classes_are_marked() -> None:
    marked = {
        (name, field)
        for name in CLASSES
        if type_stabilities(1)[name] == "stable"
        for field, tp in hints(CLASSES[name]).items()
        if UNSTABLE in getattr(tp, "__metadata__", ())
    }

    assert marked == UNSTABLE_FIELDS


# Absent, null and value. The schema says only in prose which nulls mean something, so this list is
# kept by hand.

CLEARED_BY_NULL = {
    "CompactionUpdate": {"_meta", "summary", "error"},
    "SessionInfoUpdate": {"_meta", "title", "updatedAt"},
    "SessionMessage": {
        "_meta",
        "senderSessionId",
        "recipientSessionId",
        "senderMessageId",
        "recipientMessageId",
        "content",
    },
    "SubagentUpdate": {
        "_meta",
        "title",
        "description",
        "capabilities",
        "state",
        "cwd",
        "additionalDirectories",
    },
}
NULL_IS_A_VALUE = {
    "ElicitationFormMode": {"requestId"},
    "ElicitationUrlMode": {"requestId"},
    "Error": {"data"},
    "McpError": {"data"},
    "ProxySuccessorNotification": {"params"},
    "ProxySuccessorRequest": {"params"},
}


def test_exactly_the_fields_whose_null_means_something_tell_it_from_absence() -> None:
    found: dict[str, set[str]] = {}
    for name, cls in CLASSES.items():
        types = hints(cls)
        for field in structs.fields(cls):
            if UnsetType in members(types[field.name]):
                found.setdefault(name, set()).add(field.encode_name)

    assert found == CLEARED_BY_NULL | NULL_IS_A_VALUE


REQUIRED = {
    "CompactionUpdate": b'"compactionId":"c","status":"failed"',
    "SessionInfoUpdate": b'"sessionUpdate":"session_info_update"',
    "SessionMessage": b'"messageId":"m"',
    "SubagentUpdate": b'"sessionId":"s"',
}


PATCHES = [(name, field) for name, fields in CLEARED_BY_NULL.items() for field in sorted(fields)]
STRICT_PATCHES = [("SubagentUpdate", "cwd"), ("SubagentUpdate", "additionalDirectories")]


@pytest.mark.parametrize(("name", "field"), PATCHES)
def test_a_null_that_clears_is_written_and_absence_is_not(name: str, field: str) -> None:
    cls, start = CLASSES[name], b"{" + REQUIRED[name]
    key = f'"{field}"'.encode()

    assert key + b":null" in encode(decode(cls, start + b"," + key + b":null}"))
    assert key not in encode(decode(cls, start + b"}"))


@pytest.mark.parametrize(("name", "field"), sorted(set(PATCHES) - set(STRICT_PATCHES)))
def test_a_wrong_value_keeps_and_does_not_clear(name: str, field: str) -> None:
    raw = b"{" + REQUIRED[name] + f',"{field}":-1.5}}'.encode()

    assert field.encode() not in encode(decode(CLASSES[name], raw))


@pytest.mark.parametrize(("name", "field"), STRICT_PATCHES)
def test_a_wrong_value_of_a_strict_patch_is_refused(name: str, field: str) -> None:
    raw = b"{" + REQUIRED[name] + f',"{field}":-1.5}}'.encode()

    with pytest.raises(MalformedValue, match=field):
        decode(CLASSES[name], raw)


def test_a_change_of_a_tool_call_has_no_nulls_in_this_version() -> None:
    update = decode(v1.ToolCallUpdate, b'{"toolCallId":"t","title":null,"content":null}')

    assert update == v1.ToolCallUpdate(tool_call_id="t")
    assert encode(update) == b'{"toolCallId":"t"}'


def test_the_keys_that_readers_want_are_written_with_their_defaults() -> None:
    call = v1.ToolCall(tool_call_id="t", title="Look")
    request = v1.InitializeRequest(protocol_version=1)
    response = v1.InitializeResponse(protocol_version=1)

    assert encode(call) == (
        b'{"sessionUpdate":"tool_call","toolCallId":"t","title":"Look",'
        b'"kind":"other","status":"pending"}'
    )
    assert encode(v1.ElicitationSchema()) == b'{"type":"object","properties":{}}'
    assert encode(request) == b'{"protocolVersion":1,"clientCapabilities":{}}'
    assert encode(response) == b'{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}'


def test_a_required_null_is_written() -> None:
    nothing = v1.WorkspaceActiveDocumentResponse(document=None)

    assert encode(nothing) == b'{"document":null}'
    assert encode(v1.CancelRequestNotification(request_id=None)) == b'{"requestId":null}'
    assert encode(v1.MessageMcpSuccess(result=None)) == b'{"result":null}'


def test_an_elicitation_that_belongs_to_nobody_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="sessionId or requestId"):
        v1.ElicitationFormMode(message="Who?", requested_schema=v1.ElicitationSchema())


def test_an_elicitation_belongs_to_its_session_before_its_request() -> None:
    in_session = v1.ElicitationUrlMode(
        message="Go", elicitation_id="e", url="u", session_id="s", tool_call_id="t", request_id=1
    )
    in_request = v1.ElicitationUrlMode(message="Go", elicitation_id="e", url="u", request_id=None)

    assert in_session.scope == v1.ElicitationSessionScope(session_id="s", tool_call_id="t")
    assert in_request.scope == v1.ElicitationRequestScope(request_id=None)
    assert in_request.session_id is None
    assert in_session.request_id is not UNSET


def test_an_mcp_error_without_code_or_message_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="code and message"):
        v1.MessageMcpFailure(error={"code": 1})


def test_unknown_values_of_open_enumerations_are_kept_and_told_apart() -> None:
    own = decode(v1.Notice, b'{"severity":"_loud","title":"x"}')
    future = decode(v1.Notice, b'{"severity":"loud","title":"x"}')

    assert is_extension(own.severity)
    assert not is_extension(future.severity)


def test_an_unknown_variant_of_an_open_union_can_be_matched() -> None:
    match decode(v1.CreateElicitationResponse, b'{"action":"_snooze"}'):
        case Unknown(tag) as unknown:
            assert tag == "_snooze"
            assert unknown.is_extension
        case other:
            pytest.fail(f"read as {other}")


def test_a_row_of_the_table_is_sound() -> None:
    for row in ALL_ROWS:
        fields: tuple[str, ...] = getattr(row.params, "__struct_fields__", ())

        assert (row.result is None) == (row.kind == "notification"), row
        if fields:
            assert (row.session == "session_id") == ("session_id" in fields), row
        if row.opens_session:
            assert "session_id" in row.result.__struct_fields__, row
        if row.closes_session:
            assert row.session is not None, row


def test_a_capability_in_the_table_is_one_that_its_receiver_can_offer() -> None:
    for row in ALL_ROWS:
        if row.capability is None:
            continue
        offered: Any = {"agent": v1.AgentCapabilities, "client": v1.ClientCapabilities}[row.to]
        for key in row.capability.split("."):
            field = next(field for field in structs.fields(offered) if field.encode_name == key)
            (offered,) = members(hints(offered)[field.name]) - {type(None)}

        assert offered is bool or issubclass(offered, Struct), row


def test_only_cancelling_is_urgent() -> None:
    assert {row.name for row in ALL_ROWS if row.is_urgent} == {"session/cancel", "$/cancel_request"}


def test_what_left_the_schema_can_be_added_to_the_table() -> None:
    table = methods.TABLE.extended(methods.NES_METHODS + methods.WORKSPACE_METHODS)

    assert table.requests("agent")["nes/suggest"] is methods.SUGGEST_NES
    assert table.requests("agent")["session/new"] is methods.NEW_SESSION
    assert "workspace/active_document" in table.requests("client")
    assert "nes/suggest" not in methods.TABLE.requests("agent")


def test_with_connections_mcp_messages_are_read_in_both_forms() -> None:
    table = methods.TABLE.extended(methods.MCP_CONNECTION_METHODS)
    params = table.requests("client")["mcp/message"].params

    present = decode(params, b'{"serverId":"s","requestId":"r","method":"tools/list"}')
    older = decode(params, b'{"connectionId":"c","method":"tools/list"}')

    assert isinstance(present, v1.MessageMcpRequest)
    assert isinstance(older, v1.MessageMcpConnectionRequest)
