"""What passes between two others, in version 2's words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from parley.errors import RemoteProtocolError, Unsupported
from parley.schema import v1, v2
from parley.schema.base import Kind, Unknown
from parley.schema.codec import decode, encode
from parley.schema.v1 import mcp_connections as connections1
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import mcp_connections as connections2
from parley.schema.v2 import unstable as draft2
from parley.session.lift import Lifting
from parley.session.words import RENAMED, To, Words, words_of, words_of_answer

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


def heard(words: Words, method: str, params: object, to: To = "agent") -> Any:
    """Return the params of a request that was heard, in version 2's words."""
    word = words.heard("request", to, method)
    return word.lift(decode(word.params, json(params)), words.lifting("s"))


def answered(words: Words, method: str, result: object, session: str = "s") -> Any:
    """Return the result of a request to the agent, in version 2's words."""
    word = words.heard("request", "agent", method)
    return word.lift_result(decode(word.result, json(result), "result"), words.lifting(session))


def said(words: Words, method: str, params: object, to: To = "agent") -> tuple[str, Any]:
    """Return the name and the params of a request that a program says, as on the wire."""
    word = words.said("request", to, method, params)
    return word.wire, written(word.lower(params))


def update(words: Words, kind: str, session: str = "s", **fields: Any) -> list[v2.SessionUpdate]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return words.updates(session, json(params))


# Which words


@pytest.mark.parametrize("version", [1, 2])
def test_words_know_the_version_on_the_wire(version: int) -> None:
    assert words_of(version).version == version


def test_an_answer_to_initialize_tells_which_words_follow() -> None:
    info = {"name": "a", "version": "1"}
    assert words_of_answer(json({"protocolVersion": 1})).version == 1
    assert words_of_answer(json({"protocolVersion": 2, "info": info})).version == 2
    assert words_of_answer(json({"protocolVersion": 2})).version == 1


@pytest.mark.parametrize("version", [0, 3])
def test_there_are_no_words_for_a_version_that_nobody_knows(version: int) -> None:
    with pytest.raises(RemoteProtocolError, match=f"it is in version {version} of the protocol"):
        words_of_answer(json({"protocolVersion": version}))


def test_there_are_no_words_for_a_malformed_answer() -> None:
    with pytest.raises(RemoteProtocolError):
        words_of_answer(json({"protocolVersion": "one"}))


# Names


def test_a_program_says_version_2s_names_whatever_is_on_the_wire(
    words1: Words, words2: Words
) -> None:
    assert words1.wires("auth/login") == ["authenticate"]
    assert words1.wires("auth/logout") == ["logout"]
    assert words1.wires("session/resume") == ["session/resume", "session/load"]
    for name in ("auth/login", "auth/logout", "session/resume"):
        assert words2.wires(name) == [name]
    for words in (words1, words2):
        assert words.wires("session/prompt") == ["session/prompt"]
        assert words.wires("_mine") == ["_mine"]


def test_what_version_1_alone_calls_so_is_on_its_wire_under_that_name(words1: Words) -> None:
    assert RENAMED
    for old, new in RENAMED.items():
        assert old in words1.wires(new)
        assert words1.heard("request", "agent", old).wire == old


def test_a_login_is_said_and_heard_under_version_1s_name(words1: Words) -> None:
    login = v2.LoginAuthRequest(method_id="key")
    assert said(words1, "auth/login", login) == ("authenticate", {"methodId": "key"})
    assert heard(words1, "authenticate", {"methodId": "key"}) == login
    assert answered(words1, "authenticate", {}) == v2.LoginAuthResponse()


@pytest.mark.parametrize(("version", "types"), [(1, v1), (2, v2)])
def test_methods_have_the_types_of_their_version_and_their_kind(version: int, types: Any) -> None:
    words = words_of(version)
    initialize = words.heard("request", "agent", "initialize")
    assert (initialize.params, initialize.result) == (
        types.InitializeRequest,
        types.InitializeResponse,
    )
    assert words.heard("notification", "agent", "initialize").params is Any
    assert words.heard("request", "client", "initialize").params is Any


def test_version_1_keeps_its_types_for_what_it_alone_has(words1: Words, words2: Words) -> None:
    read = v1.ReadTextFileRequest(session_id="s", path="/a")
    assert heard(words1, "fs/read_text_file", written(read), "client") == read
    assert said(words1, "fs/read_text_file", read, "client") == ("fs/read_text_file", written(read))
    assert words2.heard("request", "client", "fs/read_text_file").params is Any


@pytest.mark.parametrize("version", [1, 2])
def test_a_method_that_nobody_knows_is_read_as_plain_data(version: int) -> None:
    words = words_of(version)
    assert heard(words, "_mine/ask", {"a": [1]}) == {"a": [1]}
    assert answered(words, "_mine/ask", [2]) == [2]


def test_a_version_does_not_say_what_it_does_not_have(words1: Words, words2: Words) -> None:
    read = v1.ReadTextFileRequest(session_id="s", path="/a")
    with pytest.raises(Unsupported, match="fs/read_text_file does not exist in version 2"):
        words2.said("request", "client", "fs/read_text_file", read)
    with pytest.raises(Unsupported, match="nobody/knows does not exist in version 1"):
        words1.said("request", "agent", "nobody/knows", v2.ListSessionsRequest())
    with pytest.raises(Unsupported, match="session/list does not exist"):
        words1.said("request", "client", "session/list", v2.ListSessionsRequest())


@pytest.mark.parametrize("version", [1, 2])
def test_plain_data_and_extensions_are_said_under_any_name(version: int) -> None:
    words = words_of(version)
    assert words.said("request", "agent", "nobody/knows", {"a": 1}).wire == "nobody/knows"
    extension = words.said("request", "agent", "_mine", v2.ListSessionsRequest())
    assert extension.wire == "_mine"


@pytest.mark.parametrize(
    ("version", "present", "types"), [(1, draft1, connections1), (2, draft2, connections2)]
)
def test_both_forms_of_mcp_messages_are_read_as_they_are(
    version: int, present: Any, types: Any
) -> None:
    words = words_of(version)
    kinds: tuple[tuple[Kind, Any, Any], ...] = (
        ("request", types.MessageMcpConnectionRequest, present.MessageMcpRequest),
        ("notification", types.MessageMcpConnectionNotification, present.MessageMcpNotification),
    )
    for kind, former, newer in kinds:
        word = words.heard(kind, "client", "mcp/message")
        old = decode(word.params, json({"connectionId": "c", "method": "ping"}))
        assert type(word.lift(old, words.lifting("s"))) is former
        new = decode(word.params, json({"serverId": "c", "requestId": "1", "method": "ping"}))
        assert type(word.lift(new, words.lifting("s"))) is newer
    connect = words.heard("request", "client", "mcp/connect")
    assert connect.params is types.ConnectMcpRequest


# Requests without memory


def test_a_notification_of_both_versions_is_read_as_version_2s(words1: Words) -> None:
    word = words1.heard("notification", "agent", "session/cancel")
    cancel = decode(word.params, json({"sessionId": "s"}))
    assert word.lift(cancel, Lifting()) == v2.CancelSessionNotification(session_id="s")
    assert written(word.lower(cancel)) == {"sessionId": "s"}


def test_a_question_with_two_owners_belongs_to_the_session(words1: Words) -> None:
    params = {
        "mode": "url", "elicitationId": "e", "url": "https://example.com", "message": "Go",
        "sessionId": "s", "requestId": 1,
    }  # fmt: skip
    asked = heard(words1, "elicitation/create", params, "client")
    assert written(asked) == {key: params[key] for key in params if key != "requestId"}


def test_a_state_is_not_told_in_an_answer_of_version_1(words1: Words, words2: Words) -> None:
    status = draft2.SessionStatusResponse(status="active", state=v2.IdleStateUpdate())
    lowered = words1.heard("request", "agent", "session/status").lower_result(status)
    assert written(lowered) == {"status": "active"}
    assert words2.heard("request", "agent", "session/status").lower_result(status) is status


def test_version_2_passes_as_it_is(words2: Words) -> None:
    new = v2.NewSessionRequest(cwd="/w", mcp_servers=[SERVER])
    assert heard(words2, "session/new", written(new)) == new
    assert said(words2, "session/new", new) == ("session/new", written(new))
    result = v2.NewSessionResponse(session_id="s")
    assert answered(words2, "session/new", written(result)) == result


# Opening sessions


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("session/new", v2.NewSessionRequest(cwd="/w", mcp_servers=[SERVER])),
        (
            "session/fork",
            draft2.ForkSessionRequest(session_id="s", cwd="/w", mcp_servers=[SERVER]),
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
def test_what_opens_a_session_is_read_as_version_2s_and_said_as_version_1s(
    words1: Words, method: str, expected: Any
) -> None:
    params = SETUP if method == "session/new" else {**SETUP, "sessionId": "s"}
    assert heard(words1, method, params) == expected
    assert said(words1, RENAMED.get(method, method), expected) == (method, params)


def test_version_2_resumes_with_and_without_replay_under_one_name(words2: Words) -> None:
    request = v2.ResumeSessionRequest(session_id="s", cwd="/w", replay_from=v2.ReplayFromStart())
    wire, params = said(words2, "session/resume", request)
    assert (wire, params["replayFrom"]) == ("session/resume", {"type": "start"})


def test_version_1_replays_whole_sessions_only(words1: Words) -> None:
    later = Unknown("_later", b'{"type":"_later"}')
    request = v2.ResumeSessionRequest(session_id="s", cwd="/w", replay_from=later)
    with pytest.raises(Unsupported):
        said(words1, "session/resume", request)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("session/new", v2.NewSessionResponse),
        ("session/fork", draft2.ForkSessionResponse),
        ("session/resume", v2.ResumeSessionResponse),
        ("session/load", v2.ResumeSessionResponse),
    ],
)
def test_the_modes_of_a_session_become_an_option_that_follows_them(
    words1: Words, method: str, expected: type[Any]
) -> None:
    opened = answered(words1, method, {"sessionId": "s", "modes": MODES})
    assert type(opened) is expected
    assert [option.config_id for option in opened.config_options] == ["mode"]
    (changed,) = update(words1, "current_mode_update", currentModeId="ask")
    assert isinstance(changed, v2.ConfigOptionUpdate)
    assert changed.config_options == opened.config_options
    assert update(words1, "current_mode_update", "another", currentModeId="ask") == []


def test_only_what_opens_sessions_or_prompts_cannot_be_lowered_again(words1: Words) -> None:
    methods = [*OPENED, "session/prompt", "session/list", "authenticate", "_mine"]
    lossy = {name for name in methods if not words1.heard("request", "agent", name).keeps}
    assert lossy == {*OPENED, "session/prompt"}


# Prompts and questions


def test_a_prompt_is_read_and_said_in_version_1_and_its_answer_stays(words1: Words) -> None:
    params = {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]}
    prompt = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="Hi")])
    assert heard(words1, "session/prompt", params) == prompt
    assert said(words1, "session/prompt", prompt) == ("session/prompt", params)
    assert answered(words1, "session/prompt", {"stopReason": "end_turn"}) == v1.PromptResponse(
        stop_reason="end_turn"
    )


def test_half_a_prompt_is_not_said(words1: Words, words2: Words) -> None:
    block = Unknown("_drawing", b'{"type":"_drawing"}')
    prompt = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="Hi"), block])
    with pytest.raises(Unsupported, match="no content block '_drawing'"):
        said(words1, "session/prompt", prompt)
    assert said(words2, "session/prompt", prompt)[1]["prompt"][1] == {"type": "_drawing"}


def test_a_prompt_that_was_cancelled_has_an_answer_in_version_1_alone(
    words1: Words, words2: Words
) -> None:
    answer = decode(v1.PromptResponse, words1.cancelled_prompt)
    assert answer == v1.PromptResponse(stop_reason="cancelled")
    assert words2.cancelled_prompt == b""


def test_a_question_is_asked_with_the_title_that_its_call_has(words1: Words) -> None:
    update(words1, "tool_call", toolCallId="t", title="Edit a.py")
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
    question = heard(words1, "session/request_permission", params, "client")
    assert isinstance(question, v2.RequestPermissionRequest)
    assert question.title == "Edit a.py"
    assert written(question.options) == options


def test_version_1_is_asked_in_its_own_words_alone(words1: Words) -> None:
    own = v1.RequestPermissionRequest(
        session_id="s",
        tool_call=v1.ToolCallUpdate(tool_call_id="t"),
        options=[v1.PermissionOption(option_id="y", name="Yes", kind="allow_once")],
    )
    name = "session/request_permission"
    assert said(words1, name, own, "client") == (name, written(own))
    lifted = words1.heard("request", "client", name).lift(own, words1.lifting("s"))
    with pytest.raises(Unsupported, match="give version 1's request"):
        said(words1, name, lifted, "client")


def test_an_outcome_that_version_1_does_not_have_decides_nothing(words1: Words) -> None:
    word = words1.heard("request", "client", "session/request_permission")
    yes = {"outcome": {"outcome": "selected", "optionId": "y"}}
    later = {"outcome": {"outcome": "_later"}}
    assert written(word.lower_result(decode(word.result, json(yes)))) == yes
    lowered = written(word.lower_result(decode(word.result, json(later))))
    assert lowered == {"outcome": {"outcome": "cancelled"}}
