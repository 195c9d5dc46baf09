"""Replay of hand-written recordings: questions, errors, replays, forks, malformed frames."""

from __future__ import annotations

from typing import Any

import pytest
from tests.frame_recordings import ManualRecording, fold_recording

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session.frame_replay import transcript_from_frames, updates_from_frames


def test_a_client_that_cancels_is_ahead_of_the_agent() -> None:
    script = ManualRecording()
    script.open()
    script.prompt()
    script.update("tool_call", toolCallId="c", title="Work", status="in_progress")
    script.update("tool_call", toolCallId="d", title="Work", status="completed")
    script.client({"method": "session/cancel", "params": script.named()})
    statuses = {each.id: each.status for each in fold_recording(script).tool_calls.values()}
    assert statuses == {"c": "cancelled", "d": "completed"}


def test_a_mode_of_version_1_is_an_option() -> None:
    script = ManualRecording()
    modes = [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
    script.open(modes={"currentModeId": "ask", "availableModes": modes})
    script.call("session/set_mode", script.named(modeId="code"), {})
    [option] = fold_recording(script).config_options
    assert isinstance(option, v2.SessionConfigSelect)
    assert option.current_value == "code"


@pytest.mark.parametrize("replays", [True, False])
def test_what_an_agent_replays_over_a_record_comes_once(replays: bool) -> None:
    script = ManualRecording()
    script.open()
    end = script.prompt("hello")
    script.say("hi")
    script.update("tool_call", toolCallId="c", title="Look", status="completed")
    script.answer(end, {"stopReason": "end_turn"})
    script.begin()
    load = script.ask("session/load", script.named(cwd="/w", mcpServers=[]))
    if replays:
        script.say("hello", "user_message_chunk")
        script.say("hi")
        script.update("tool_call", toolCallId="c", title="Look", status="failed")
        script.say("by the way", messageId="m")
    script.answer(load, {})
    script.say("more")
    transcript = fold_recording(script)
    news = ["by the way"] * replays
    assert [each.text for each in transcript.messages] == ["hello", "hi", *news, "more"]
    assert transcript.tool_calls["c"].status == ("failed" if replays else "completed")


@pytest.mark.parametrize("wanted", [None, "fork", "s"])
def test_what_was_forked_continues_as_the_fork(wanted: str | None) -> None:
    script = ManualRecording(2)
    script.open()
    script.say("one", messageId="m")
    script.begin()
    fork = script.ask("session/fork", script.named())
    script.session = "fork"
    script.answer(fork, script.named())
    script.say("two", messageId="n")
    script.session = "s"
    script.say(" and one more", messageId="m")
    received = [each.text for each in transcript_from_frames(script.frames, wanted).messages]
    assert (
        received
        == {None: ["one", "two"], "fork": ["two"], "s": ["one and one more"]}[wanted or None]
    )


def test_a_replay_is_the_conversation_of_a_record_that_begins_with_it() -> None:
    script = ManualRecording()
    script.begin()
    load = script.ask("session/load", script.named(cwd="/w", mcpServers=[]))
    script.say("hello", "user_message_chunk")
    script.say("hi")
    script.agent({"id": load, "error": {"code": -32603, "message": "Broken"}})
    assert [each.text for each in fold_recording(script).messages] == ["hello", "hi"]


def test_each_update_has_the_time_of_its_frame() -> None:
    script = ManualRecording()
    script.open()
    end = script.prompt()
    script.say("one")
    script.answer(end, {"stopReason": "end_turn"})
    updates = [(each.at, type(each.update).__name__) for each in updates_from_frames(script.frames)]
    assert updates == [
        (4.0, "UserMessage"),
        (4.0, "StateUpdated"),
        (5.0, "AgentMessageChunk"),
        (6.0, "StateUpdated"),
    ]


@pytest.mark.parametrize(
    ("version", "body", "is_second"),
    [
        (1, {}, False),
        (2, {"agentCapabilities": {}}, False),
        (2, {}, True),
        (2, {"info": {"name": "a"}}, True),
    ],
    ids=["1", "echo", "no info", "info"],
)
def test_a_2_is_believed_unless_the_capabilities_are_those_of_version_1(
    version: int, body: dict[str, Any], is_second: bool
) -> None:
    script = ManualRecording()
    script.call("initialize", {}, {"protocolVersion": version, **body})
    script.call("session/new", {}, script.named())
    script.prompt("hello")
    assert bool(fold_recording(script).messages) is not is_second


def test_without_initialize_it_is_version_2() -> None:
    script = ManualRecording()
    script.say("one", messageId="m")
    script.say(" two", messageId="m")
    [message] = fold_recording(script).messages
    assert (message.id, message.text) == ("m", "one two")


def test_what_came_before_the_session_had_its_name_is_reported_after_it() -> None:
    script = ManualRecording(2)
    script.begin()
    new = script.ask("session/new", {})
    option = {"type": "boolean", "configId": "loud", "name": "Loud"}
    script.update("config_option_update", configOptions=[{**option, "currentValue": True}])
    script.session, ours = "other", script.session
    script.say("not ours", messageId="m")
    script.session = ours
    script.answer(new, script.named(configOptions=[{**option, "currentValue": False}]))
    transcript = fold_recording(script)
    assert [
        each.current_value for each in transcript.config_options if not isinstance(each, Unknown)
    ]
    assert transcript.messages == []


def test_only_one_session_is_reported() -> None:
    script = ManualRecording(2, "one")
    script.open()
    script.session = "two"
    script.call("session/new", {}, script.named())
    for session in ("one", "two"):
        script.session = session
        script.prompt()
        script.say(session, messageId=session)
        script.client({"method": "session/cancel", "params": script.named()})
        script.agent(
            {"id": session, "method": "session/request_permission", "params": asks(script)}
        )
    for wanted, found in ((None, "one"), ("one", "one"), ("two", "two")):
        transcript = transcript_from_frames(script.frames, wanted)
        assert [each.text for each in transcript.messages] == [found]
        assert list(transcript.tool_calls) == [f"call of {found}"]
    assert transcript_from_frames(script.frames, "three").entries == []


def asks(script: ManualRecording) -> dict[str, Any]:
    call = {"toolCallId": f"call of {script.session}", "title": "Do it", "status": "pending"}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    if script.version == 1:
        return script.named(toolCall=call, options=options)
    return script.named(title="?", subject={"type": "tool_call", "toolCall": call}, options=options)


@pytest.mark.parametrize("version", [1, 2])
def test_a_question_shows_its_tool_call_and_that_the_session_waits(version: int) -> None:
    script = ManualRecording(version)
    script.open()
    script.prompt()
    script.agent({"id": 1, "method": "session/request_permission", "params": asks(script)})
    transcript = fold_recording(script)
    assert transcript.tool_calls["call of s"].title == "Do it"
    assert transcript.state == ("requires_action" if version == 1 else "idle")
    script.client({"id": 1, "result": {"outcome": {"outcome": "cancelled"}}})
    assert fold_recording(script).state == ("running" if version == 1 else "idle")


@pytest.mark.parametrize("version", [1, 2])
def test_other_questions_of_an_agent(version: int) -> None:
    script = ManualRecording(version)
    script.open()
    end = script.prompt()
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object"}}
    script.agent({"id": 1, "method": "elicitation/create", "params": script.named(**form)})
    assert fold_recording(script).state == ("requires_action" if version == 1 else "idle")
    script.client({"id": 1, "result": {"action": "cancel"}})
    command = {"type": "command", "command": "ls", "cwd": "/"}
    script.agent({"id": 2, "method": "elicitation/create", "params": form})
    script.agent({"id": 3, "method": "fs/read_text_file", "params": script.named(path="/a")})
    script.client({"id": 3, "result": {"content": ""}})
    request = {**asks(script), "subject": command}
    if version == 2:
        script.agent({"id": 4, "method": "session/request_permission", "params": request})
    script.answer(end, {"stopReason": "end_turn", "messageId": "m"})
    assert fold_recording(script).state == "idle"
    assert fold_recording(script).tool_calls == {}


def test_a_turn_of_version_1_that_fails_is_reported_with_its_error() -> None:
    script = ManualRecording()
    script.open()
    errors: list[dict[str, Any]] = [
        {"code": -32050, "message": "Boom", "data": {"x": 1}},
        {"code": 1, "message": ""},
    ]
    for error in errors:
        script.agent({"id": script.prompt(), "error": error})
        transcript = fold_recording(script)
        assert (transcript.state, transcript.stop_reason) == ("idle", "error")
        assert transcript.error == v2.Error(**error)
    script.answer(script.prompt(), {"stopReason": 5})
    assert fold_recording(script).stop_reason == "error"


@pytest.mark.parametrize("version", [1, 2])
def test_what_the_agent_refused_changes_nothing(version: int) -> None:
    script = ManualRecording(version)
    script.begin()
    refused = {"error": {"code": -32603, "message": "No"}}
    script.agent({"id": script.ask("session/new", {}), **refused})
    script.call("session/new", {}, script.named())
    script.agent({"id": script.ask("session/set_config_option", script.named()), **refused})
    script.call("session/close", script.named(), {})
    assert list(updates_from_frames(script.frames)) == []


def test_an_initialize_that_failed_decides_nothing() -> None:
    script = ManualRecording()
    script.agent({"id": script.ask("initialize", {}), "error": {"code": 1, "message": "No"}})
    script.say("two", messageId="m")
    assert len(fold_recording(script).messages) == 1


def test_a_turn_that_a_lost_connection_left_is_interrupted_when_the_next_begins() -> None:
    script = ManualRecording()
    script.open()
    script.prompt()
    script.update("tool_call", toolCallId="c", title="Work", status="in_progress")
    assert fold_recording(script).state == "running"
    script.begin()
    transcript = fold_recording(script)
    assert (transcript.state, transcript.stop_reason) == ("idle", "interrupted")
    assert transcript.interruptions == [2]
    assert transcript.tool_calls["c"].status == "cancelled"


def test_an_interrupted_turn_keeps_its_place_when_the_session_continues() -> None:
    script = ManualRecording()
    script.open()
    script.prompt()
    script.begin()
    script.prompt()
    script.say("more")
    transcript = fold_recording(script)
    assert transcript.interruptions == [1]
    assert len(transcript.entries) == 3


def test_what_nobody_knows_is_kept_and_what_cannot_be_read_is_skipped() -> None:
    script = ManualRecording(2)
    script.open()
    script.update("_gauge", level=3)
    script.update("agent_message_chunk", content=5)
    script.update("terminal_output_chunk", terminalId="t", data="not base64!")
    script.agent({"method": "session/update", "params": {"sessionId": 7}})
    script.agent({"method": "session/update"})
    script.agent({"id": 99, "result": {}})
    script.client({"id": 99, "result": {}})
    script.client({"method": "session/other"})
    for data in (b"", b"warning: npm", b"5", b"[]", b"\xff", b'{"jsonrpc":"2.0"}'):
        script.raw("to_client", data)
        script.raw("to_agent", data)
    script.raw("note", b'{"note":"permission"}')
    [entry] = fold_recording(script).entries
    assert isinstance(entry, Unknown)
    assert entry.tag == "_gauge"


def test_batches_and_messages_after_noise_are_received() -> None:
    script = ManualRecording(2)
    script.open()
    chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}
    note = {"method": "session/update"}
    blocks = [{"type": "text", "text": text} for text in ("a", "b")]
    script.agent(
        *({**note, "params": script.named(update={**chunk, "content": each})} for each in blocks)
    )
    script.say("c", messageId="m")
    noisy = b"\x1b[2J" + script.frames.pop().data
    script.raw("to_client", noisy)
    assert fold_recording(script).text == "abc"
