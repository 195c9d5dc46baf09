"""The types and the method table of version 2 beyond single messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from msgspec import UNSET, Struct
from msgspec.structs import FieldInfo
from tests.schema_types import declared_methods, exported_types, type_stabilities

from parley.schema import v2
from parley.schema._codec import decode, encode, strict_decoder
from parley.schema.base import UNSTABLE, Method, Unknown
from parley.schema.v2 import methods
from parley.schema.v2.methods import TABLE

TYPES = exported_types(2)
ROWS = declared_methods(2)

# The schema says only in prose where null and absence differ, so this list is kept by hand.
PATCHES = {
    "AgentMessage": {"meta", "content"},
    "AgentThought": {"meta", "content"},
    "CompactionUpdate": {"meta", "summary", "error"},
    "McpError": {"data"},
    "SessionInfoUpdate": {"meta", "title", "updated_at"},
    "SessionMessage": {
        "meta",
        "sender_session_id",
        "recipient_session_id",
        "sender_message_id",
        "recipient_message_id",
        "content",
    },
    "SubagentUpdate": {
        "meta",
        "title",
        "description",
        "capabilities",
        "state",
        "cwd",
        "additional_directories",
    },
    "TerminalUpdate": {
        "meta",
        "command",
        "cwd",
        "output",
        "exit_status",
        "size",
        "capabilities",
    },
    "ToolCallUpdate": {
        "meta",
        "name",
        "title",
        "kind",
        "status",
        "content",
        "locations",
        "raw_input",
        "raw_output",
        "capabilities",
    },
    "ProxySuccessorNotification": {"params"},
    "ProxySuccessorRequest": {"params"},
    "UsageUpdate": {"cost"},
    "UserMessage": {"meta", "content"},
}
PATCHES["ToolCallUpdated"] = PATCHES["ToolCallUpdate"]

UNSTABLE_FIELDS = {
    "AgentAuthCapabilities": {"status"},
    "AgentCapabilities": {"providers", "nes", "position_encoding"},
    "ClientCapabilities": {"nes", "position_encodings", "workspace"},
    "IdleStateUpdate": {"usage"},
    "ListSessionsRequest": {"archived"},
    "McpCapabilities": {"acp"},
    "NewSessionRequest": {"system_prompt"},
    "ResumeSessionRequest": {"system_prompt"},
    "SessionCapabilities": {"system_prompt", "fork", "archive", "status", "title"},
    "SessionInfo": {"archived"},
    "StateUpdated": {"usage"},
}


def _structs() -> Iterator[tuple[str, type[Struct]]]:
    for name, tp in TYPES.items():
        if isinstance(tp, type) and issubclass(tp, Struct):
            yield name, tp


def _where(holds: Callable[[FieldInfo], bool]) -> dict[str, set[str]]:
    found = {
        name: {field.name for field in msgspec.structs.fields(tp) if holds(field)}
        for name, tp in _structs()
    }
    return {name: fields for name, fields in found.items() if fields}


def test_a_decoder_can_be_built_for_every_type() -> None:
    for tp in TYPES.values():
        strict_decoder(tp)


def test_null_and_absence_differ_in_exactly_these_fields() -> None:
    assert _where(lambda field: field.default is UNSET) == PATCHES


def test_exactly_these_fields_of_stable_types_are_marked_unstable() -> None:
    def is_marked(field: FieldInfo) -> bool:
        return get_origin(field.type) is Annotated and UNSTABLE in get_args(field.type)

    assert _where(is_marked) == UNSTABLE_FIELDS
    assert {type_stabilities(2)[name] for name in UNSTABLE_FIELDS} == {"stable"}


STABLE_METHODS = {
    ("agent", "request"): {
        "initialize",
        "auth/login",
        "auth/logout",
        "session/new",
        "session/list",
        "session/resume",
        "session/close",
        "session/delete",
        "session/set_config_option",
        "session/prompt",
        "tool_call/cancel",
        "terminal/cancel",
    },
    ("agent", "notification"): {"session/cancel"},
    ("client", "request"): {"session/request_permission", "elicitation/create"},
    ("client", "notification"): {"session/update", "elicitation/complete"},
    ("either", "notification"): {"$/cancel_request"},
}
UNSTABLE_METHODS = {
    ("agent", "request"): {
        "auth/status",
        "session/fork",
        "session/archive",
        "session/unarchive",
        "session/status",
        "session/set_title",
        "providers/list",
        "providers/set",
        "providers/disable",
        "proxy/initialize",
    },
    ("agent", "notification"): {"mcp/message"},
    ("client", "request"): {"mcp/message"},
    ("client", "notification"): {"auth/status_update"},
    ("either", "request"): {"proxy/successor"},
    ("either", "notification"): {"proxy/successor"},
}


@pytest.mark.parametrize(
    ("stability", "expected"), [("stable", STABLE_METHODS), ("unstable", UNSTABLE_METHODS)]
)
def test_the_table_has_exactly_the_methods_of_the_schema(
    stability: str, expected: dict[tuple[str, str], set[str]]
) -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for row in TABLE.methods:
        if row.stability == stability:
            found.setdefault((row.to, row.kind), set()).add(row.name)
    assert found == expected


def test_the_table_is_that_of_version_2_whose_request_ids_are_never_null() -> None:
    assert TABLE.version == 2
    assert not TABLE.allows_null_ids
    assert {row.name for row in TABLE.methods if row.is_urgent} == {
        "session/cancel",
        "$/cancel_request",
    }


def test_a_row_is_named_after_its_params() -> None:
    for name, row in ROWS.items():
        words = name.removeprefix("UNDERSCORE_").removesuffix("_NOTIFICATION").lower().split("_")
        params = "".join(word.capitalize() for word in words) + row.kind.capitalize()
        assert TYPES[params] is row.params, name


def test_a_row_fits_its_types() -> None:
    for name, row in ROWS.items():
        assert (row.result is None) == (row.kind == "notification"), name
        if row.session is not None:
            fields = [params.__struct_fields__ for params in _members(row.params)]
            assert all(row.session in each for each in fields), name
        if row.opens_session:
            assert "session_id" in row.result.__struct_fields__, name
        if row.closes_session:
            assert row.session is not None, name


def test_the_capability_of_a_row_exists() -> None:
    for name, row in ROWS.items():
        owner: Any = v2.AgentCapabilities if row.to == "agent" else v2.ClientCapabilities
        for key in (row.capability or "").split(".") if row.capability else ():
            fields = {each.encode_name: each for each in msgspec.structs.fields(owner)}
            assert key in fields, name
            tp = fields[key].type
            owner = get_args(get_args(tp)[0] if get_origin(tp) is Annotated else tp)[0]
        assert row.to != "either" or row.capability is None, name


def _members(tp: Any) -> list[Any]:
    union = get_args(tp)[0] if get_origin(tp) is Annotated else tp
    return [one for one in get_args(union) or (union,) if one.__module__.startswith("parley.")]


def test_with_the_older_rows_a_table_reads_mcp_messages_in_both_forms() -> None:
    table = TABLE.extended(methods.MCP_CONNECTION_METHODS)
    assert table.version == 2
    request = table.requests("client")["mcp/message"]
    new = decode(request.params, b'{"serverId":"s","requestId":"r","method":"m"}')
    old = decode(request.params, b'{"connectionId":"c","method":"m","params":{"a":1}}')
    assert new == v2.MessageMcpRequest(server_id="s", request_id="r", method="m")
    assert old == v2.MessageMcpConnectionRequest(connection_id="c", method="m", params={"a": 1})
    notification = table.notifications("agent")["mcp/message"]
    assert decode(
        notification.params, b'{"connectionId":"c","method":"m"}'
    ) == v2.MessageMcpConnectionNotification(connection_id="c", method="m")
    assert "mcp/connect" in table.requests("client")
    assert "mcp/connect" not in TABLE.requests("client")


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        (methods.NES_METHODS, "nes/suggest"),
        (methods.DOCUMENT_METHODS, "document/didChange"),
        (methods.UNDERSCORE_PROXY_METHODS, "_proxy/initialize"),
    ],
)
def test_a_group_of_former_methods_can_be_added(
    rows: tuple[Method[Any, Any], ...], name: str
) -> None:
    known = TABLE.extended(rows)
    assert name in {**known.requests("agent"), **known.notifications("agent")}


def test_the_workspace_proposal_can_be_added() -> None:
    table = TABLE.extended(methods.WORKSPACE_METHODS)
    assert "workspace/active_document" in table.requests("client")


def test_an_elicitation_knows_what_it_belongs_to() -> None:
    request = v2.ElicitationUrlMode(
        message="?", session_id="s", tool_call_id="c", elicitation_id="e", url="https://x.org"
    )
    assert request.scope == v2.ElicitationSessionScope(session_id="s", tool_call_id="c")
    request = v2.ElicitationUrlMode(
        message="?", request_id=0, elicitation_id="e", url="https://x.org"
    )
    assert request.scope == v2.ElicitationRequestScope(request_id=0)
    with pytest.raises(ValueError, match="either sessionId or requestId"):
        v2.ElicitationUrlMode(message="?", elicitation_id="e", url="https://x.org")


def test_an_mcp_failure_is_built_only_with_an_mcp_error() -> None:
    assert encode(v2.MessageMcpFailure(error={"code": 1, "message": "x"}))
    with pytest.raises(ValueError, match="code and message"):
        v2.MessageMcpFailure(error={"code": 1})


def test_an_update_with_an_unknown_state_is_unknown_and_names_the_state() -> None:
    raw = b'{"sessionUpdate":"state_update","state":"_acme/dreaming"}'
    match decode(v2.SessionUpdate, raw):
        case Unknown(tag) as update:
            assert tag == "_acme/dreaming"
            assert update.is_extension
        case known:
            pytest.fail(f"read as {known!r}")


def test_a_row_leads_to_its_typed_params() -> None:
    raw = b'{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle"}}'
    params = decode(TABLE.notifications("client")["session/update"].params, raw)
    match params:
        case v2.UpdateSessionNotification(update=v2.StateUpdated(state="idle", stop_reason=None)):
            pass
        case _:
            pytest.fail(f"read as {params!r}")


def test_empty_capabilities_are_written_and_empty_lists_are_not() -> None:
    info = v2.Implementation(name="a", version="1")
    assert encode(v2.InitializeResponse(protocol_version=2, info=info)) == (
        b'{"protocolVersion":2,"info":{"name":"a","version":"1"},"capabilities":{}}'
    )
    assert encode(v2.NewSessionRequest(cwd="/w", mcp_servers=[])) == b'{"cwd":"/w"}'


def test_two_messages_never_share_a_default_list() -> None:
    first, second = v2.NewSessionRequest(cwd="/w"), v2.NewSessionRequest(cwd="/w")
    first.mcp_servers.append(v2.McpServerHttp(name="w", url="https://x.org"))
    assert second.mcp_servers == []
