"""Recorded frames for the tests: taken from a live connection, or written by hand."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from parley.peer._tracing import Direction
from parley.rpc._framing import Frame
from parley.session._transcript import Transcript
from parley.session.frame_replay import RecordedFrame, updates_from_frames

KINDS = {"inbound": "to_client", "outbound": "to_agent"}


class PlainFrame(Struct, frozen=True):
    """A frame, as a journal has it."""

    at: float
    kind: str
    data: bytes


class FrameRecorder:
    """An observer of a client's connection that remembers the frames; they are a second apart."""

    def __init__(self) -> None:
        self.frames: list[RecordedFrame] = []

    def __call__(self, direction: Direction, frame: Frame) -> None:
        self.frames.append(PlainFrame(float(len(self.frames)), KINDS[direction], bytes(frame)))


class ManualRecording:
    """A record written by hand, message by message."""

    def __init__(self, version: int = 1, session: str = "s") -> None:
        self.frames: list[RecordedFrame] = []
        self.session = session
        self.version = version
        self._id = 0

    def client(self, message: dict[str, Any]) -> None:
        """The client sends."""
        self._add("to_agent", message)

    def agent(self, *messages: dict[str, Any]) -> None:
        """The agent sends; several messages are a batch."""
        self._add("to_client", *messages)

    def raw(self, kind: str, data: bytes) -> None:
        """Anything passes."""
        self.frames.append(PlainFrame(float(len(self.frames)), kind, data))

    def _add(self, kind: str, *messages: dict[str, Any]) -> None:
        whole = [{"jsonrpc": "2.0", **each} for each in messages]
        message = whole[0] if len(whole) == 1 else whole
        self.raw(kind, json.dumps(message, ensure_ascii=False).encode())

    def ask(self, method: str, params: Any) -> int:
        """The client asks; returns the id."""
        self._id += 1
        self.client({"id": self._id, "method": method, "params": params})
        return self._id

    def answer(self, id: int, result: Any) -> None:
        """The agent responds."""
        self.agent({"id": id, "result": result})

    def call(self, method: str, params: Any, result: Any) -> None:
        """The client sends a request and receives the response at once."""
        self.answer(self.ask(method, params), result)

    def begin(self) -> None:
        """Initialize."""
        self._id = 0
        response: dict[str, Any] = {"protocolVersion": self.version}
        if self.version == 2:
            response |= {"info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}
        self.call("initialize", {"protocolVersion": 2}, response)

    def open(self, **result: Any) -> None:
        """Initialize, and open the session."""
        self.begin()
        self.call("session/new", {"cwd": "/w", "mcpServers": []}, self.named(**result))

    def named(self, **fields: Any) -> dict[str, Any]:
        """Return an object that names the session."""
        return {"sessionId": self.session, **fields}

    def update(self, update: str, /, **fields: Any) -> None:
        """The agent sends an update."""
        params = self.named(update={"sessionUpdate": update, **fields})
        self.agent({"method": "session/update", "params": params})

    def say(self, text: str, kind: str = "agent_message_chunk", **fields: Any) -> None:
        """The agent says something."""
        self.update(kind, content={"type": "text", "text": text}, **fields)

    def prompt(self, text: str = "go") -> int:
        """The client prompts; returns the id."""
        return self.ask("session/prompt", self.named(prompt=[{"type": "text", "text": text}]))


def transcript_contents(transcript: Transcript) -> dict[str, Any]:
    """Return all that a transcript has, as values to compare; made-up ids do not count."""
    names: dict[str, str] = {}
    for message in transcript.messages:
        names[message.id] = f"message {len(names)}"
    updates = [_plain(update, names) for update in transcript.replay()]
    fields = (
        "commands",
        "config_options",
        "title",
        "state",
        "stop_reason",
        "error",
        "tokens",
        "background",
        "usage",
        "cost",
    )
    return {"updates": updates, **{name: getattr(transcript, name) for name in fields}}


def _plain(update: Any, names: dict[str, str]) -> Any:
    given = getattr(update, "message_id", None)
    kind = type(update).__name__
    if given is None:
        return update
    return kind, names.get(given), update.content, update.meta


def fold_recording(tape: FrameRecorder | ManualRecording) -> Transcript:
    """Fold the updates of a recording, as a program that shows them would."""
    transcript = Transcript()
    for update in updates_from_frames(tape.frames):
        transcript.fold(update.update)
    return transcript
