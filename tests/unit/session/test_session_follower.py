"""The state of another client's session, and requests in its agent's version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw
from tests.frame_recordings import ManualRecording, fold_recording, transcript_contents

from parley.errors import InternalError, InvalidParams, InvalidRequest, MalformedValue, Unsupported
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods
from parley.session._adapter import HandlerTable
from parley.session._session_follower import SessionFollower, failed_turn, prompt_response_ends_turn

from .raw_peer import agent

MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}
LOUD = {"type": "boolean", "id": "loud", "name": "Loud", "currentValue": False}
HELLO = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="hello")])
HOLOGRAM = Unknown("x_hologram", b'{"type":"x_hologram"}')
LATER = v2.RequestPermissionResponse(outcome=Unknown("x_later", b'{"outcome":"x_later"}'))
OPTIONS = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def follow(script: ManualRecording, after: int = 0) -> SessionFollower:
    """Hear a record, from a frame on, as it passes."""
    following = SessionFollower(script.session)
    apply_frames(following, script, after)
    return following


def apply_frames(
    following: SessionFollower, script: ManualRecording, after: int = 0
) -> list[v2.SessionUpdate]:
    return [
        update
        for frame in script.frames[after:]
        for update in following.feed(from_agent=frame.kind == "to_client", frame=frame.data)
    ]


def opened(version: int, **result: Any) -> SessionFollower:
    script = ManualRecording(version)
    script.open(**result)
    return follow(script)


def busy(version: int = 1) -> ManualRecording:
    """Return a record that has a message, and a tool call that is not done."""
    script = ManualRecording(version)
    script.open()
    script.prompt("hello")
    if version == 2:
        script.update("user_message", messageId="m", content=[{"type": "text", "text": "hello"}])
        script.update("state_update", state="running")
        script.update("tool_call_update", toolCallId="c", title="Dig", status="in_progress")
    else:
        script.update("tool_call", toolCallId="c", title="Dig", status="in_progress")
    return script


def update_in(frame: bytes) -> Any:
    """Return the update that a frame tells."""
    message = json.loads(frame)
    params = message.pop("params")
    assert message == {"jsonrpc": "2.0", "method": "session/update"}
    assert params["sessionId"] == "s"
    return params["update"]


# What is heard


@VERSIONS
def test_what_both_sides_send_is_folded_and_reported(version: int) -> None:
    script = busy(version)
    following = SessionFollower("s")
    updates = apply_frames(following, script)
    assert transcript_contents(following.transcript) == transcript_contents(fold_recording(script))
    assert [each.text for each in following.transcript.messages] == ["hello"]
    assert v2.StateUpdated(state="running") in updates


@VERSIONS
def test_what_is_said_in_another_session_is_not_received(version: int) -> None:
    script = busy(version)
    following = follow(script)
    script.session = "another"
    script.say("psst", messageId="x")
    assert apply_frames(following, script, len(script.frames) - 1) == []
    assert [each.text for each in following.transcript.messages] == ["hello"]


@VERSIONS
def test_only_version_1_responds_to_a_prompt_at_the_end_of_its_turn(version: int) -> None:
    assert opened(version).prompt_response_ends_turn == (version == 1)


async def test_the_version_of_a_connection_says_it_as_well() -> None:
    async with agent(HandlerTable()) as (adapter, _):
        assert prompt_response_ends_turn(adapter)


# What somebody is told who begins to follow


@VERSIONS
def test_who_begins_to_follow_gets_everything_and_then_the_state(version: int) -> None:
    following = follow(busy(version))
    updates = following.history(replays=True)
    assert [type(each) for each in updates].count(v2.StateUpdated) == 1
    assert updates[-1] == v2.StateUpdated(state="running")
    assert any(isinstance(each, v2.ToolCallUpdated) for each in updates)
    assert any(isinstance(each, v2.UserMessage | v2.UserMessageChunk) for each in updates)
    assert following.history(replays=False) == [v2.StateUpdated(state="running")]


def test_a_session_that_waits_for_the_user_does_so_for_everybody() -> None:
    script = busy(2)
    script.update("state_update", state="requires_action")
    assert follow(script).history(replays=False) == [v2.StateUpdated(state="requires_action")]


def test_a_state_that_nobody_knows_is_reported_as_idle() -> None:
    script = busy(2)
    script.update("state_update", state="x_dreaming")
    following = follow(script)
    assert following.transcript.state not in ("idle", "running", "requires_action")
    assert following.history(replays=False) == [v2.StateUpdated(state="idle")]


def test_work_in_the_background_is_part_of_the_state() -> None:
    script = busy(2)
    work = [{"type": "tool_call", "toolCallId": "c"}]
    script.update("state_update", state="idle", stopReason="end_turn", background=work)
    background: list[v2.BackgroundWork] = [v2.BackgroundToolCall(tool_call_id="c")]
    updates = follow(script).history(replays=False)
    assert updates == [v2.StateUpdated(state="idle", background=background)]


def test_a_fork_begins_with_what_was_said_and_with_nothing_under_way() -> None:
    source, fork = follow(busy()), SessionFollower("t")
    fork.inherit(source)
    assert [each.text for each in fork.transcript.messages] == ["hello"]
    assert fork.transcript.state == "idle"
    assert fork.transcript.tool_calls["c"].status == "cancelled"
    assert source.transcript.state == "running"
    assert source.transcript.tool_calls["c"].status == "in_progress"


def test_what_is_cut_leaves_what_the_session_is_like() -> None:
    script = ManualRecording()
    script.open(modes=MODES)
    script.prompt("hello")
    script.update(
        "available_commands_update", availableCommands=[{"name": "greet", "description": "Greets."}]
    )
    entry = {"content": "Look", "priority": "low", "status": "pending"}
    script.update("plan", entries=[entry])
    script.update("session_info_update", title="Digging")
    following = follow(script)
    before = following.transcript
    following.forget_history()
    kept = following.transcript
    assert kept is not before
    assert (kept.messages, kept.tool_calls) == ([], {})
    for name in ("config_options", "commands", "plans", "title", "state"):
        assert getattr(kept, name) == getattr(before, name)
        assert getattr(kept, name)
    script.say("more")
    assert apply_frames(following, script, len(script.frames) - 1)
    assert kept.text == "more"


# What another client says


@VERSIONS
def test_a_prompt_is_sent_in_the_agents_version(version: int) -> None:
    method, body = opened(version).prompt(HELLO)
    assert method == "session/prompt"
    assert json.loads(body) == {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]}


def test_a_block_of_an_unknown_kind_is_prompted_in_version_2_alone() -> None:
    prompt = v2.PromptRequest(session_id="s", prompt=[HOLOGRAM])
    _, body = opened(2).prompt(prompt)
    assert json.loads(body)["prompt"] == [HOLOGRAM.payload]
    with pytest.raises(Unsupported, match="no content block 'x_hologram'"):
        opened(1).prompt(prompt)


def test_a_prompt_of_version_1_is_known_by_its_message_until_it_has_a_response() -> None:
    script = ManualRecording()
    script.open()
    id = script.prompt("hello")
    following = follow(script)
    [message] = following.transcript.messages
    assert following.message_of(id) == message.id
    script.answer(id, {"stopReason": "end_turn"})
    apply_frames(following, script, len(script.frames) - 1)
    assert following.message_of(id) is None


def test_in_version_2_the_agent_itself_says_which_message_a_prompt_is() -> None:
    script = ManualRecording(2)
    script.open()
    id = script.prompt("hello")
    assert follow(script).message_of(id) is None


def test_an_owner_of_version_1_receives_anothers_prompt_block_by_block() -> None:
    picture = v2.ImageContent(data="AA==", mime_type="image/png")
    prompt = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="hello"), picture])
    update = [update_in(frame) for frame in opened(1).prompt_echo(prompt)]
    assert [each["sessionUpdate"] for each in update] == ["user_message_chunk"] * 2
    assert [each["content"] for each in update] == [
        {"type": "text", "text": "hello"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
    ]


def test_an_owner_of_version_2_learns_of_anothers_prompt_from_the_agent() -> None:
    assert opened(2).prompt_echo(HELLO) == []


def test_a_mode_of_version_1_is_set_as_a_mode_and_reported_as_one() -> None:
    following = opened(1, modes=MODES)
    code = v2.SetSessionConfigValueRequest(session_id="s", config_id="mode", value="code")
    method, body = following.set_option(code)
    assert method == "session/set_mode"
    assert json.loads(body) == {"sessionId": "s", "modeId": "code"}
    update = update_in(following.option_echo(method, body, b"{}"))
    assert update == {"sessionUpdate": "current_mode_update", "currentModeId": "code"}


def test_an_option_of_version_1_is_set_as_one_and_all_are_reported() -> None:
    following = opened(1, configOptions=[LOUD])
    on = v2.SetSessionConfigBooleanRequest(session_id="s", config_id="loud", value=True)
    method, body = following.set_option(on)
    assert method == "session/set_config_option"
    sent = {"sessionId": "s", "configId": "loud", "type": "boolean", "value": True}
    assert json.loads(body) == sent
    options = [{**LOUD, "currentValue": True, "x_odd": 1}]
    result = json.dumps({"configOptions": options}).encode()
    update = update_in(following.option_echo(method, body, result))
    assert update == {"sessionUpdate": "config_option_update", "configOptions": options}


def test_an_option_of_version_2_is_set_as_it_is() -> None:
    raw = b'{"sessionId":"s","configId":"hue","type":"x_color","value":"#fff"}'
    color = Unknown("x_color", raw)
    assert opened(2).set_option(color) == ("session/set_config_option", raw)


def test_what_version_1_cannot_set_is_refused() -> None:
    following = opened(1, modes=MODES)
    with pytest.raises(Unsupported, match="no option value 'x_color'"):
        following.set_option(Unknown("x_color", b'{"type":"x_color"}'))
    switch = v2.SetSessionConfigBooleanRequest(session_id="s", config_id="mode", value=True)
    with pytest.raises(InvalidParams):
        following.set_option(switch)


def test_a_request_that_only_version_2_has_is_for_its_agents() -> None:
    request = v2.CancelToolCallRequest(session_id="s", tool_call_id="c")
    method, body = opened(2).v2_request(methods.CANCEL_TOOL_CALL, request)
    assert method == "tool_call/cancel"
    assert json.loads(body) == {"sessionId": "s", "toolCallId": "c"}
    with pytest.raises(InvalidRequest, match="does not support tool_call/cancel"):
        opened(1).v2_request(methods.CANCEL_TOOL_CALL, request)


def test_the_owner_learns_from_an_update_that_the_agent_has_failed() -> None:
    frame = opened(2).failure_echo(InternalError("It is gone"))
    assert frame is not None
    update = update_in(frame)
    assert (update["sessionUpdate"], update["state"]) == ("state_update", "idle")
    assert update["stopReason"] == "error"
    assert update["error"] == {"code": -32603, "message": "It is gone"}


def test_in_version_1_the_prompt_itself_fails() -> None:
    assert opened(1).failure_echo(InternalError("It is gone")) is None


def test_what_an_error_says_besides_is_kept() -> None:
    ended = failed_turn(InternalError("It is gone", {"code": 9}))
    assert ended.error == v2.Error(code=-32603, message="It is gone", data={"code": 9})


# What the agent asks


def test_a_question_of_version_1_is_asked_in_the_version_2_vocabulary() -> None:
    following = follow(busy())
    message = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": OPTIONS}
    raw = Raw(json.dumps(message).encode())
    method, request = following.question("session/request_permission", raw)
    assert method is methods.REQUEST_PERMISSION
    assert isinstance(request, v2.RequestPermissionRequest)
    assert request.title == "Dig"
    assert [each.option_id for each in request.options] == ["y"]
    chosen = v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id="y"))
    response = json.loads(following.encode_response(method, chosen))
    assert response == {"outcome": {"outcome": "selected", "optionId": "y"}}
    assert json.loads(following.encode_response(method, LATER)) == {
        "outcome": {"outcome": "cancelled"}
    }


def test_a_question_of_version_2_is_asked_as_it_is() -> None:
    following = opened(2)
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "c"}}
    message = {"sessionId": "s", "title": "Dig?", "subject": subject, "options": OPTIONS}
    raw = Raw(json.dumps(message).encode())
    method, request = following.question("session/request_permission", raw)
    assert method is methods.REQUEST_PERMISSION
    assert isinstance(request, v2.RequestPermissionRequest)
    assert request.title == "Dig?"
    assert json.loads(following.encode_response(method, LATER)) == {
        "outcome": {"outcome": "x_later"}
    }


@VERSIONS
def test_a_form_is_asked_and_answered_in_either_version(version: int) -> None:
    following = opened(version)
    form = {
        "sessionId": "s",
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    raw = Raw(json.dumps(form).encode())
    method, request = following.question("elicitation/create", raw)
    assert method is methods.CREATE_ELICITATION
    assert isinstance(request, v2.ElicitationFormMode)
    assert (request.session_id, request.message) == ("s", "Who?")
    accepted = v2.ElicitationAcceptAction(content={"name": "Ada"})
    response = json.loads(following.encode_response(method, accepted))
    assert response == {"action": "accept", "content": {"name": "Ada"}}


@VERSIONS
def test_a_question_that_cannot_be_read_is_malformed(version: int) -> None:
    following = opened(version)
    for method in ("session/request_permission", "elicitation/create"):
        with pytest.raises(MalformedValue):
            following.question(method, Raw(b'{"sessionId":5}'))
