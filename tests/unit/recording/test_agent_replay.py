"""A recording as an agent: what is released when, for clients that differ from the recorded one."""

from __future__ import annotations

from parley.recording._replay.agent import AgentReplay, CloseOutput, Exit, Output

from .scripted_recording import ScriptedRecording, call, chunk, failure, success


class Client:
    """Sends lines to a replay, and takes what it does."""

    def __init__(self, recording: ScriptedRecording, speed: float | None = None) -> None:
        self.replay = AgentReplay(recording.items, speed=speed)
        self.now = 100.0

    def send(self, *lines: bytes) -> list[bytes]:
        """Send lines; returns the lines that the agent writes to stdout then."""
        for line in lines:
            self.replay.receive(line, self.now)
        return self.read()

    def read(self) -> list[bytes]:
        actions = self.replay.actions(self.now)
        written = [each for each in actions if isinstance(each, Output)]
        assert len(written) == len(actions)
        return [each.data.rstrip(b"\n") for each in written if each.source == "agent"]


def _conversation() -> ScriptedRecording:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, {"cwd": "/"}, sessionId="s")
    recording.turn(2, "s", "one", "two")
    recording.turn(3, "s", "three")
    return recording


def test_each_line_of_the_agent_is_released_by_the_requests_before_it() -> None:
    client = Client(_conversation())
    assert client.read() == []
    assert client.send(call("initialize", 0)) == [success(0, protocolVersion=1)]
    assert client.send(call("session/new", 1, cwd="/elsewhere")) == [success(1, sessionId="s")]
    prompt = call("session/prompt", 2, sessionId="s", prompt=[])
    end = success(2, stopReason="end_turn")
    assert client.send(prompt) == [chunk("s", "one"), chunk("s", "two"), end]


def test_responses_have_the_ids_of_the_live_requests() -> None:
    client = Client(_conversation())
    assert client.send(call("initialize", "a")) == [success("a", protocolVersion=1)]
    assert client.send(call("session/new", 77)) == [success(77, sessionId="s")]


def test_a_request_of_the_agent_holds_up_what_follows_until_its_response() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="s")
    recording.client("session/prompt", 2, sessionId="s")
    recording.agent("session/request_permission", 0, sessionId="s")
    recording.response("client", 0, outcome={"outcome": "cancelled"})
    recording.line("agent", chunk("s", "after"))
    client = Client(recording)
    client.send(call("initialize", 0), call("session/new", 1))
    question = call("session/request_permission", 0, sessionId="s")
    assert client.send(call("session/prompt", 9, sessionId="s")) == [question]
    assert client.send(success(5)) == []
    assert client.send(failure(0, -32603, "no")) == [chunk("s", "after")]


def test_notifications_of_the_client_hold_nothing_up() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="s")
    recording.client("session/prompt", 2, sessionId="s")
    recording.client("session/cancel", sessionId="s")
    recording.response("agent", 2, stopReason="cancelled")
    client = Client(recording)
    client.send(call("initialize", 0), call("session/new", 1))
    ended = client.send(call("session/prompt", 2, sessionId="s"))
    assert ended == [success(2, stopReason="cancelled")]


def test_sessions_of_one_connection_do_not_wait_for_each_other() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="a")
    recording.exchange("session/new", 2, sessionId="b")
    recording.turn(3, "a", "in a")
    recording.turn(4, "b", "in b")
    client = Client(recording)
    client.send(call("initialize", 0), call("session/new", 1), call("session/new", 2))
    end = success(5, stopReason="end_turn")
    assert client.send(call("session/prompt", 5, sessionId="b")) == [chunk("b", "in b"), end]
    end = success(6, stopReason="end_turn")
    assert client.send(call("session/prompt", 6, sessionId="a")) == [chunk("a", "in a"), end]


def test_a_prompt_does_not_wait_for_requests_that_the_client_leaves_out() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="s")
    recording.exchange("session/set_mode", 2, {"sessionId": "s"}, mode="recorded")
    recording.turn(3, "s", "text")
    client = Client(recording)
    client.send(call("initialize", 0), call("session/new", 1))
    end = success(3, stopReason="end_turn")
    assert client.send(call("session/prompt", 3, sessionId="s")) == [chunk("s", "text"), end]
    late = call("session/set_mode", 4, sessionId="s")
    assert client.send(late) == [success(4, mode="recorded")]


def test_a_request_before_its_turn_gets_its_recorded_response_at_once() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.exchange("session/new", 1, sessionId="s")
    recording.turn(2, "s", "text")
    recording.exchange("session/set_mode", 3, {"sessionId": "s"}, mode="recorded")
    client = Client(recording)
    client.send(call("initialize", 0), call("session/new", 1))
    early = call("session/set_mode", 8, sessionId="s")
    assert client.send(early) == [success(8, mode="recorded")]
    end = success(9, stopReason="end_turn")
    assert client.send(call("session/prompt", 9, sessionId="s")) == [chunk("s", "text"), end]


def test_a_request_that_was_not_recorded_gets_a_response_of_its_method_or_an_error() -> None:
    recording = _conversation()
    client = Client(recording)
    client.send(call("initialize", 0), call("session/new", 1))
    for id in (2, 3):
        client.send(call("session/prompt", id, sessionId="s"))
    assert client.send(call("session/prompt", 4, sessionId="s")) == [
        success(4, stopReason="end_turn")
    ]
    text = "The recording has no response to session/list"
    assert client.send(call("session/list", 5)) == [failure(5, -32601, text)]


def test_a_session_that_is_loaded_by_another_id_keeps_that_id() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.client("session/load", 1, sessionId="recorded")
    recording.line("agent", chunk("recorded", "earlier"))
    recording.response("agent", 1)
    recording.turn(2, "recorded", "now")
    client = Client(recording)
    client.send(call("initialize", 0))
    loaded = client.send(call("session/load", 1, sessionId="live"))
    assert loaded == [chunk("live", "earlier"), success(1)]
    end = success(2, stopReason="end_turn")
    assert client.send(call("session/prompt", 2, sessionId="live")) == [chunk("live", "now"), end]


def test_output_that_is_not_json_and_stderr_and_the_exit_are_replayed() -> None:
    recording = ScriptedRecording()
    recording.line("stderr", b"starting")
    recording.line("agent", b"Welcome \xff\r")
    recording.client("initialize", 0)
    recording.line("agent", failure(0, -32603, "no key"))
    recording.line("stderr", b"fatal")
    recording.event("closed", source="agent")
    recording.event("exited", code=3)
    client = Client(recording)
    started = client.replay.actions(client.now)
    assert started == [Output("stderr", b"starting\n"), Output("agent", b"Welcome \xff\r\n")]
    client.replay.receive(call("initialize", 0), client.now)
    assert client.replay.actions(client.now) == [
        Output("agent", failure(0, -32603, "no key") + b"\n"),
        Output("stderr", b"fatal\n"),
        CloseOutput(),
        Exit(3),
    ]


def test_the_agent_stays_until_the_client_disconnects_if_it_did() -> None:
    for event, fields in (("closed", {"source": "client"}), ("signal", {"signal": "SIGTERM"})):
        recording = ScriptedRecording()
        recording.begin()
        recording.event(event, **fields)
        recording.line("stderr", b"bye")
        recording.event("exited", signal="SIGTERM")
        client = Client(recording)
        client.send(call("initialize", 0))
        client.replay.receive_end(client.now)
        last = client.replay.actions(client.now)
        assert last == [Output("stderr", b"bye\n"), Exit(0, "SIGTERM")]


def test_a_client_that_leaves_early_gets_nothing_more() -> None:
    recording = _conversation()
    recording.event("closed", source="client")
    recording.event("exited", code=4)
    client = Client(recording)
    client.send(call("initialize", 0))
    client.replay.receive_end(client.now)
    assert client.replay.actions(client.now) == [Exit(4)]


def test_a_recording_that_is_cut_off_ends_with_the_client() -> None:
    client = Client(_conversation())
    client.replay.receive_end(client.now)
    assert client.replay.actions(client.now) == [Exit(0)]


def test_the_recorded_time_passes_with_a_speed() -> None:
    recording = ScriptedRecording()
    recording.begin()  # a second for each line
    client = Client(recording, speed=2)
    assert client.replay.next_at() is None
    assert client.send(call("initialize", 0)) == []
    assert client.replay.next_at() == 100.5
    client.now = 100.5
    assert client.read() == [success(0, protocolVersion=1)]


def test_lines_of_the_client_that_are_not_messages_are_refused() -> None:
    client = Client(_conversation())
    assert client.send(b"{oops") == [
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    ]


def test_an_array_of_responses_stays_an_array() -> None:
    recording = ScriptedRecording()
    recording.begin()
    recording.line("client", b"[%b,%b]" % (call("_a", 1), call("_b", 2)))
    recording.line("agent", b"[%b,%b]" % (success(1, x=1), success(2, x=2)))
    client = Client(recording)
    client.send(call("initialize", 0))
    batch = b"[%b,%b]" % (call("_a", 8), call("_b", 9))
    assert client.send(batch) == [b"[%b,%b]" % (success(8, x=1), success(9, x=2))]
