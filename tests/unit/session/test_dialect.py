"""Messages between two other programs, as version 2 types."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from parley.errors import RemoteProtocolError, Unsupported
from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import Kind, Unknown
from parley.session._dialect import (
    RENAMED,
    Dialect,
    To,
    dialect_of,
    dialect_of_response,
)
from parley.session._v1_session_upgrader import SessionUpgrader

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
SETUP: dict[str, Any] = {
    "cwd": "/w",
    "mcpServers": [{"name": "m", "command": "/m", "args": [], "env": []}],
}
SERVER = v2.McpServerStdio(name="m", command="/m")
OPENED = {"session/new", "session/fork", "session/load", "session/resume"}


def json(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def written(value: object) -> Any:
    return msgspec.json.decode(encode(value))


def upgraded_params(dialect: Dialect, name: str, params: object, to: To = "agent") -> Any:
    """Return the params of a received request as version 2 types."""
    method = dialect.method_from_wire("request", to, name)
    return method.upgrade(decode(method.params, json(params)), dialect.upgrader("s"))


def upgraded_result(dialect: Dialect, name: str, result: object, session: str = "s") -> Any:
    """Return the result of a request to the agent as a version 2 type."""
    method = dialect.method_from_wire("request", "agent", name)
    return method.upgrade_result(
        decode(method.result, json(result), "result"), dialect.upgrader(session)
    )


def sent(dialect: Dialect, name: str, params: object, to: To = "agent") -> tuple[str, Any]:
    """Return the wire name and params of a request that a program sends."""
    method = dialect.method_to_wire("request", to, name, params)
    return method.wire_name, written(method.downgrade(params))


def update(
    dialect: Dialect, kind: str, session: str = "s", **fields: Any
) -> list[v2.SessionUpdate]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return dialect.updates(session, json(params))


# Which words


@pytest.mark.parametrize("version", [1, 2])
def test_a_dialect_knows_the_version_on_the_wire(version: int) -> None:
    assert dialect_of(version).version == version


def test_a_response_to_initialize_tells_which_dialect_follows() -> None:
    info = {"name": "a", "version": "1"}
    assert dialect_of_response(json({"protocolVersion": 1})).version == 1
    assert dialect_of_response(json({"protocolVersion": 2, "info": info})).version == 2
    assert dialect_of_response(json({"protocolVersion": 2, "agentCapabilities": {}})).version == 1


@pytest.mark.parametrize("version", [0, 3])
def test_there_is_no_dialect_for_a_version_that_nobody_knows(version: int) -> None:
    with pytest.raises(RemoteProtocolError, match=f"it is in version {version} of the protocol"):
        dialect_of_response(json({"protocolVersion": version}))


def test_there_is_no_dialect_for_a_malformed_response() -> None:
    with pytest.raises(RemoteProtocolError):
        dialect_of_response(json({"protocolVersion": "one"}))


# Names


def test_a_program_says_version_2s_names_whatever_is_on_the_wire(
    dialect1: Dialect, dialect2: Dialect
) -> None:
    assert dialect1.wire_names("auth/login") == ["authenticate"]
    assert dialect1.wire_names("auth/logout") == ["logout"]
    assert dialect1.wire_names("session/resume") == ["session/resume", "session/load"]
    for name in ("auth/login", "auth/logout", "session/resume"):
        assert dialect2.wire_names(name) == [name]
    for dialect in (dialect1, dialect2):
        assert dialect.wire_names("session/prompt") == ["session/prompt"]
        assert dialect.wire_names("_mine") == ["_mine"]


def test_what_version_1_alone_calls_so_is_on_its_wire_under_that_name(dialect1: Dialect) -> None:
    assert RENAMED
    for old, new in RENAMED.items():
        assert old in dialect1.wire_names(new)
        assert dialect1.method_from_wire("request", "agent", old).wire_name == old


def test_a_login_is_sent_and_received_under_version_1s_name(dialect1: Dialect) -> None:
    login = v2.LoginAuthRequest(method_id="key")
    assert sent(dialect1, "auth/login", login) == ("authenticate", {"methodId": "key"})
    assert upgraded_params(dialect1, "authenticate", {"methodId": "key"}) == login
    assert upgraded_result(dialect1, "authenticate", {}) == v2.LoginAuthResponse()


@pytest.mark.parametrize(("version", "types"), [(1, v1), (2, v2)])
def test_methods_have_the_types_of_their_version_and_their_kind(version: int, types: Any) -> None:
    dialect = dialect_of(version)
    initialize = dialect.method_from_wire("request", "agent", "initialize")
    assert (initialize.params, initialize.result) == (
        types.InitializeRequest,
        types.InitializeResponse,
    )
    assert dialect.method_from_wire("notification", "agent", "initialize").params is Any
    assert dialect.method_from_wire("request", "client", "initialize").params is Any


def test_version_1_keeps_its_types_for_what_it_alone_has(
    dialect1: Dialect, dialect2: Dialect
) -> None:
    read = v1.ReadTextFileRequest(session_id="s", path="/a")
    assert upgraded_params(dialect1, "fs/read_text_file", written(read), "client") == read
    assert sent(dialect1, "fs/read_text_file", read, "client") == (
        "fs/read_text_file",
        written(read),
    )
    assert dialect2.method_from_wire("request", "client", "fs/read_text_file").params is Any


@pytest.mark.parametrize("version", [1, 2])
def test_a_method_that_nobody_knows_is_read_as_plain_data(version: int) -> None:
    dialect = dialect_of(version)
    assert upgraded_params(dialect, "_mine/ask", {"a": [1]}) == {"a": [1]}
    assert upgraded_result(dialect, "_mine/ask", [2]) == [2]


def test_a_version_does_not_say_what_it_does_not_have(dialect1: Dialect, dialect2: Dialect) -> None:
    read = v1.ReadTextFileRequest(session_id="s", path="/a")
    with pytest.raises(Unsupported, match="fs/read_text_file does not exist in version 2"):
        dialect2.method_to_wire("request", "client", "fs/read_text_file", read)
    with pytest.raises(Unsupported, match="nobody/knows does not exist in version 1"):
        dialect1.method_to_wire("request", "agent", "nobody/knows", v2.ListSessionsRequest())
    with pytest.raises(Unsupported, match="session/list does not exist"):
        dialect1.method_to_wire("request", "client", "session/list", v2.ListSessionsRequest())


@pytest.mark.parametrize("version", [1, 2])
def test_plain_data_and_extensions_are_sent_under_any_name(version: int) -> None:
    dialect = dialect_of(version)
    assert (
        dialect.method_to_wire("request", "agent", "nobody/knows", {"a": 1}).wire_name
        == "nobody/knows"
    )
    extension = dialect.method_to_wire("request", "agent", "_mine", v2.ListSessionsRequest())
    assert extension.wire_name == "_mine"


@pytest.mark.parametrize(("version", "types"), [(1, v1), (2, v2)])
def test_both_forms_of_mcp_messages_are_read_as_they_are(version: int, types: Any) -> None:
    dialect = dialect_of(version)
    kinds: tuple[tuple[Kind, Any, Any], ...] = (
        ("request", types.MessageMcpConnectionRequest, types.MessageMcpRequest),
        ("notification", types.MessageMcpConnectionNotification, types.MessageMcpNotification),
    )
    for kind, older, newer in kinds:
        method = dialect.method_from_wire(kind, "client", "mcp/message")
        old = decode(method.params, json({"connectionId": "c", "method": "ping"}))
        assert type(method.upgrade(old, dialect.upgrader("s"))) is older
        new = decode(method.params, json({"serverId": "c", "requestId": "1", "method": "ping"}))
        assert type(method.upgrade(new, dialect.upgrader("s"))) is newer
    connect = dialect.method_from_wire("request", "client", "mcp/connect")
    assert connect.params is types.ConnectMcpRequest


# Requests without memory


def test_a_notification_of_both_versions_is_read_as_version_2s(dialect1: Dialect) -> None:
    method = dialect1.method_from_wire("notification", "agent", "session/cancel")
    cancel = decode(method.params, json({"sessionId": "s"}))
    assert method.upgrade(cancel, SessionUpgrader()) == v2.CancelSessionNotification(session_id="s")
    assert written(method.downgrade(cancel)) == {"sessionId": "s"}


def test_a_question_with_two_owners_belongs_to_the_session(dialect1: Dialect) -> None:
    params = {
        "mode": "url", "elicitationId": "e", "url": "https://example.com", "message": "Go",
        "sessionId": "s", "requestId": 1,
    }  # fmt: skip
    request = upgraded_params(dialect1, "elicitation/create", params, "client")
    assert written(request) == {key: params[key] for key in params if key != "requestId"}


def test_a_state_is_not_sent_in_a_response_of_version_1(
    dialect1: Dialect, dialect2: Dialect
) -> None:
    status = v2.SessionStatusResponse(status="active", state=v2.IdleStateUpdate())
    downgraded = dialect1.method_from_wire("request", "agent", "session/status").downgrade_result(
        status
    )
    assert written(downgraded) == {"status": "active"}
    assert (
        dialect2.method_from_wire("request", "agent", "session/status").downgrade_result(status)
        is status
    )


def test_version_2_passes_as_it_is(dialect2: Dialect) -> None:
    new = v2.NewSessionRequest(cwd="/w", mcp_servers=[SERVER])
    assert upgraded_params(dialect2, "session/new", written(new)) == new
    assert sent(dialect2, "session/new", new) == ("session/new", written(new))
    result = v2.NewSessionResponse(session_id="s")
    assert upgraded_result(dialect2, "session/new", written(result)) == result


# Opening sessions


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("session/new", v2.NewSessionRequest(cwd="/w", mcp_servers=[SERVER])),
        (
            "session/fork",
            v2.ForkSessionRequest(session_id="s", cwd="/w", mcp_servers=[SERVER]),
        ),
        (
            "session/resume",
            v2.ResumeSessionRequest(session_id="s", cwd="/w", mcp_servers=[SERVER]),
        ),
        (
            "session/load",
            v2.ResumeSessionRequest(
                session_id="s", cwd="/w", mcp_servers=[SERVER], replay_from=v2.ReplayFromStart()
            ),
        ),
    ],
)
def test_what_opens_a_session_is_read_as_version_2_and_written_as_version_1(
    dialect1: Dialect, method: str, expected: Any
) -> None:
    params = SETUP if method == "session/new" else {**SETUP, "sessionId": "s"}
    assert upgraded_params(dialect1, method, params) == expected
    assert sent(dialect1, RENAMED.get(method, method), expected) == (method, params)


def test_version_2_resumes_with_and_without_replay_under_one_name(dialect2: Dialect) -> None:
    request = v2.ResumeSessionRequest(session_id="s", cwd="/w", replay_from=v2.ReplayFromStart())
    wire_name, params = sent(dialect2, "session/resume", request)
    assert (wire_name, params["replayFrom"]) == ("session/resume", {"type": "start"})


def test_version_1_replays_whole_sessions_only(dialect1: Dialect) -> None:
    later = Unknown("_later", b'{"type":"_later"}')
    request = v2.ResumeSessionRequest(session_id="s", cwd="/w", replay_from=later)
    with pytest.raises(Unsupported):
        sent(dialect1, "session/resume", request)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("session/new", v2.NewSessionResponse),
        ("session/fork", v2.ForkSessionResponse),
        ("session/resume", v2.ResumeSessionResponse),
        ("session/load", v2.ResumeSessionResponse),
    ],
)
def test_the_modes_of_a_session_become_an_option_that_follows_them(
    dialect1: Dialect, method: str, expected: type[Any]
) -> None:
    opened = upgraded_result(dialect1, method, {"sessionId": "s", "modes": MODES})
    assert type(opened) is expected
    assert [option.config_id for option in opened.config_options] == ["mode"]
    (changed,) = update(dialect1, "current_mode_update", currentModeId="ask")
    assert isinstance(changed, v2.ConfigOptionUpdate)
    assert changed.config_options == opened.config_options
    assert update(dialect1, "current_mode_update", "another", currentModeId="ask") == []


def test_only_what_opens_sessions_or_prompts_cannot_be_lowered_again(dialect1: Dialect) -> None:
    methods = [*OPENED, "session/prompt", "session/list", "authenticate", "_mine"]
    lossy = {
        name
        for name in methods
        if not dialect1.method_from_wire("request", "agent", name).is_reversible
    }
    assert lossy == {*OPENED, "session/prompt"}


# Prompts and questions


def test_a_prompt_is_translated_to_version_1_and_its_response_stays(
    dialect1: Dialect,
) -> None:
    params = {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]}
    prompt = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="Hi")])
    assert upgraded_params(dialect1, "session/prompt", params) == prompt
    assert sent(dialect1, "session/prompt", prompt) == ("session/prompt", params)
    assert upgraded_result(
        dialect1, "session/prompt", {"stopReason": "end_turn"}
    ) == v1.PromptResponse(stop_reason="end_turn")


def test_half_a_prompt_is_not_sent(dialect1: Dialect, dialect2: Dialect) -> None:
    block = Unknown("_drawing", b'{"type":"_drawing"}')
    prompt = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="Hi"), block])
    with pytest.raises(Unsupported, match="no content block '_drawing'"):
        sent(dialect1, "session/prompt", prompt)
    assert sent(dialect2, "session/prompt", prompt)[1]["prompt"][1] == {"type": "_drawing"}


def test_a_prompt_that_was_cancelled_has_a_response_in_version_1_alone(
    dialect1: Dialect, dialect2: Dialect
) -> None:
    response = decode(v1.PromptResponse, dialect1.cancelled_prompt)
    assert response == v1.PromptResponse(stop_reason="cancelled")
    assert dialect2.cancelled_prompt == b""


def test_a_question_is_asked_with_the_title_that_its_call_has(dialect1: Dialect) -> None:
    update(dialect1, "tool_call", toolCallId="t", title="Edit a.py")
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
    question = upgraded_params(dialect1, "session/request_permission", params, "client")
    assert isinstance(question, v2.RequestPermissionRequest)
    assert question.title == "Edit a.py"
    assert written(question.options) == options


def test_version_1_is_asked_with_its_own_methods_alone(dialect1: Dialect) -> None:
    own = v1.RequestPermissionRequest(
        session_id="s",
        tool_call=v1.ToolCallUpdate(tool_call_id="t"),
        options=[v1.PermissionOption(option_id="y", name="Yes", kind="allow_once")],
    )
    name = "session/request_permission"
    assert sent(dialect1, name, own, "client") == (name, written(own))
    upgraded = dialect1.method_from_wire("request", "client", name).upgrade(
        own, dialect1.upgrader("s")
    )
    with pytest.raises(Unsupported, match="Send a version 1 request"):
        sent(dialect1, name, upgraded, "client")


def test_an_outcome_that_version_1_does_not_have_decides_nothing(dialect1: Dialect) -> None:
    method = dialect1.method_from_wire("request", "client", "session/request_permission")
    yes = {"outcome": {"outcome": "selected", "optionId": "y"}}
    later = {"outcome": {"outcome": "_later"}}
    assert written(method.downgrade_result(decode(method.result, json(yes)))) == yes
    downgraded = written(method.downgrade_result(decode(method.result, json(later))))
    assert downgraded == {"outcome": {"outcome": "cancelled"}}
