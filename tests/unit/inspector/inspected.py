"""Recordings for the tests of the inspector: frames with known times, in a file, and their rows."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

from parley._user_dirs import private_dir
from parley.inspector._row import Row
from parley.inspector._sources import InspectedRecording
from parley.recording import Header, RecordedEvent, RecordingStore, Source
from parley.recording._format import encode_chunk, encode_event, encode_header

Frame: TypeAlias = tuple[str, Any]
"""Who wrote it and a message or bytes; or `event` and an event."""
KEY = "20261119-211530-demo-1a2b3c"
INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
INITIALIZED: dict[str, Any] = {"id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {}}}
HANDSHAKE: list[Frame] = [("client", INITIALIZE), ("agent", INITIALIZED)]
STEP_SECONDS = 0.25
"""The time between two frames."""


def line(message: Any) -> bytes:
    """Return a message as a line, an object with its `jsonrpc`; bytes stay as they are."""
    if isinstance(message, bytes):
        return message
    if isinstance(message, dict):
        message = {"jsonrpc": "2.0", **cast(dict[str, Any], message)}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def update(kind: str, /, session: str = "s", **members: Any) -> dict[str, Any]:
    """Return a session update."""
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **members}}
    return {"method": "session/update", "params": params}


def chunk(text: str, kind: str = "agent_message_chunk", /, **members: Any) -> dict[str, Any]:
    """Return a chunk of a message."""
    return update(kind, content={"type": "text", "text": text}, **members)


def prompt(id: int = 1, session: str = "s", text: str = "hi") -> dict[str, Any]:
    """Return a prompt."""
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    return {"id": id, "method": "session/prompt", "params": params}


def header(key: str = KEY) -> bytes:
    """Return the first line of a recording."""
    return encode_header(
        Header(key=key, name="demo", command=["demo", "acp"], cwd="/work", started_at=1e9, pid=7)
    )


def records(*frames: Frame) -> bytes:
    """Return the records of frames, one every `STEP_SECONDS`."""
    return b"".join(
        encode_event(RecordedEvent(at=at, **content))
        if source == "event"
        else encode_chunk(at, cast(Source, source), line(content))
        for at, (source, content) in (
            (number * STEP_SECONDS, each) for number, each in enumerate(frames)
        )
    )


def record(*frames: Frame, key: str = KEY) -> Path:
    """Write a recording to the directory of the recordings of the test."""
    path = RecordingStore().path(key)
    private_dir(path.parent)
    path.write_bytes(header(key) + records(*frames))
    return path


@contextmanager
def inspected(*frames: Frame) -> Generator[InspectedRecording]:
    """Record frames and read them."""
    recording = InspectedRecording(record(*frames))
    try:
        recording.read_all()
        yield recording
    finally:
        recording.close()


def rows_of(*frames: Frame) -> list[Row]:
    """Return the rows of frames."""
    with inspected(*frames) as recording:
        return recording.table.rows
