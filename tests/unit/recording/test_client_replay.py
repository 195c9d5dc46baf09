"""A recording as a client, and what differs from it."""

from __future__ import annotations

from typing import Any

from parley.recording import RecordedEvent, RecordedLine
from parley.recording._replay.client import ClientReplay
from parley.recording._replay.comparison import compare

from .scripted_recording import ScriptedRecording, call, chunk, failure, success


def _conversation() -> ScriptedRecording:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, {"cwd": "/"}, sessionId="recorded")
    recording.turn(2, "recorded", "Hello, ", "world")
    return recording


def _send(replay: ClientReplay, *lines: bytes, now: float = 100.0) -> list[bytes]:
    for line in lines:
        replay.receive(line, now)
    return replay.lines(now)


def test_each_line_waits_for_the_responses_that_were_recorded_before_it() -> None:
    replay = ClientReplay(_conversation().items)
    assert _send(replay) == [call("initialize", 0)]
    assert _send(replay) == []
    assert replay.waits_for == ["initialize"]
    assert _send(replay, success(0)) == [call("session/new", 1, cwd="/")]
    prompt = call("session/prompt", 2, sessionId="live", prompt=[])
    assert _send(replay, success(1, sessionId="live")) == [prompt]
    assert not replay.is_done
    assert _send(replay, chunk("live", "Hi"), success(2)) == []
    assert replay.is_done


def test_requests_of_the_agent_get_their_recorded_responses() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="recorded")
    recording.client("session/prompt", 2, sessionId="recorded")
    recording.agent("_ask", 10, sessionId="recorded", n=1)
    recording.line("client", failure(10, 7, "refused"))
    recording.agent("_ask", 11, sessionId="recorded", n=2)
    recording.response("client", 11, session="recorded")
    recording.response("agent", 2)
    replay = ClientReplay(recording.items)
    _send(replay)
    _send(replay, success(0))
    _send(replay, success(1, sessionId="live"))
    asked = [call("_ask", id, sessionId="live") for id in (0, 1, 2)]
    assert _send(replay, asked[0]) == [failure(0, 7, "refused")]
    assert _send(replay, asked[1]) == [success(1, session="live")]
    assert _send(replay, asked[2]) == [failure(2, -32601, "The recording has no further _ask")]


def test_a_second_prompt_of_version_2_waits_for_the_end_of_the_first_turn() -> None:
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="s")
    recording.exchange("session/prompt", 2, {"sessionId": "s"})
    recording.agent("session/update", sessionId="s", update=idle)
    recording.exchange("session/prompt", 3, {"sessionId": "s"})
    replay = ClientReplay(recording.items)
    _send(replay)
    _send(replay, success(0))
    _send(replay, success(1, sessionId="s"))
    assert _send(replay, success(2)) == []
    ended = call("session/update", sessionId="s", update=idle)
    assert _send(replay, ended) == [call("session/prompt", 3, sessionId="s")]


def test_the_time_of_the_client_passes_with_a_speed() -> None:
    replay = ClientReplay(_conversation().items, speed=4)
    assert _send(replay) == [call("initialize", 0)]
    assert _send(replay, success(0)) == []
    assert replay.next_at() == 100.25
    assert _send(replay, now=100.25) == [call("session/new", 1, cwd="/")]


# What differs


def _differences(live: ScriptedRecording, recorded: ScriptedRecording | None = None) -> list[Any]:
    found = compare((recorded or _conversation()).items, live.items).differences
    return [(each.kind, each.where, each.what, each.recorded, each.live) for each in found]


def test_nothing_differs_where_only_ids_and_chunks_do() -> None:
    live = ScriptedRecording()
    live.begin()
    live.exchange("session/new", 1, {"cwd": "/"}, sessionId="another")
    live.turn(2, "another", "Hello", ", wor", "ld")
    assert _differences(live) == []


def test_the_members_of_results_and_the_codes_of_errors_are_compared() -> None:
    live = ScriptedRecording()
    live.exchange("initialize", 0, protocolVersion=2, new=[{"a": None}])
    live.client("session/new", 1, cwd="/")
    live.line("agent", failure(1, -32000, "log in"))
    assert _differences(live)[:3] == [
        ("response", "initialize 1", "result.protocolVersion", 1, 2),
        ("response", "initialize 1", "result.new[0].a", "(missing)", None),
        ("response", "session/new 1", "outcome", "result", "error -32000: log in"),
    ]


def test_the_updates_of_a_turn_their_order_and_their_text_are_compared() -> None:
    live = ScriptedRecording()
    live.begin()
    live.exchange("session/new", 1, {"cwd": "/"}, sessionId="s")
    live.client("session/prompt", 2, sessionId="s", prompt=[])
    live.line("agent", chunk("s", "hm", "agent_thought_chunk"))
    live.agent("session/request_permission", 5, sessionId="s")
    live.line("agent", chunk("s", "Goodbye"))
    live.response("agent", 2, stopReason="end_turn")
    where = "session 1, turn 1"
    steps = ["agent_thought_chunk", "request session/request_permission", "agent_message_chunk"]
    assert _differences(live) == [
        ("turn", where, "updates and requests", ["agent_message_chunk"], steps),
        ("text", where, "agent_message_chunk", "Hello, world", "Goodbye"),
        ("text", where, "agent_thought_chunk", "", "hm"),
    ]


def test_updates_about_the_state_may_come_at_any_time() -> None:
    commands: dict[str, Any] = {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [],
    }
    recorded, live = _conversation(), _conversation()
    recorded.agent("session/update", sessionId="recorded", update=commands)
    live.items.insert(4, RecordedLine(4.5, "agent", recorded.items[-1].data))  # type: ignore[union-attr]
    assert _differences(live, recorded) == []
    kinds = ["available_commands_update"]
    expected: Any = ("updates", "session 1", "updates about the state", [], kinds)
    assert _differences(recorded) == [expected]


def test_noise_and_the_exit_of_an_agent_that_ends_by_itself_are_compared() -> None:
    live = _conversation()
    live.line("agent", b"Segmentation fault")
    live.event("exited", signal="SIGSEGV")
    assert _differences(live) == [
        ("output", "stdout", "lines that are not JSON", 0, 1),
        ("exit", "the agent", "exit by itself", "no exit", "SIGSEGV"),
    ]


def test_the_exit_after_a_disconnect_says_nothing() -> None:
    live = _conversation()
    live.items.append(RecordedEvent(at=20.0, event="closed", source="client"))
    live.event("exited", code=143)
    assert _differences(live) == []


def test_the_times_of_responses_are_averaged_by_method() -> None:
    found = compare(_conversation().items, _conversation().items)
    assert {each.method: (each.count, each.recorded, each.live) for each in found.timing} == {
        "initialize": (1, 1.0, 1.0),
        "session/new": (1, 1.0, 1.0),
        "session/prompt": (1, 3.0, 3.0),
    }
