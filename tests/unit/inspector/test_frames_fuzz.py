"""Whatever a client or an agent writes, there are rows, and each view of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.inspector._capabilities import capabilities_of
from parley.inspector._conversation import conversation_of
from parley.inspector._detail import detail_of
from parley.inspector._filter import Filter
from parley.inspector._process import process_of
from parley.inspector._share import page_of
from parley.inspector._sources import InspectedRecording
from parley.inspector._text import as_json, lines

from .inspected import HANDSHAKE, Frame, inspected

METHODS = [
    *("initialize", "session/new", "session/prompt", "session/update", "session/cancel"),
    *(
        "session/request_permission",
        "terminal/create",
        "$/cancel_request",
        "_mine",
        "fs/read_text_file",
    ),
]
KEYS = [
    *("sessionId", "update", "sessionUpdate", "content", "type", "text", "messageId", "prompt"),
    *("toolCall", "toolCallId", "title", "status", "entries", "outcome", "stopReason", "requestId"),
    *("protocolVersion", "clientInfo", "agentCapabilities", "_meta", "command", "args", "code"),
]
WORDS = ["s", "agent_message_chunk", "tool_call", "text", "failed", "cancelled", "\x1b", "", "ä"]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(WORDS) | st.just(10**30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
MESSAGES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "id": VALUES,
        "method": st.sampled_from(METHODS) | VALUES,
        "params": VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)
LINES = (
    st.binary(max_size=40)
    | MESSAGES.map(lambda each: json.dumps(each).encode())
    | st.lists(MESSAGES, max_size=3).map(lambda each: json.dumps(each).encode())
).map(lambda line: line.replace(b"\n", b" ") + b"\n")


def look_at(recording: InspectedRecording) -> None:
    """Make every view of a recording."""
    rows = recording.table.rows
    msgspec.json.encode(rows)
    for row in rows:
        msgspec.json.encode(detail_of(recording, row.number))
        msgspec.json.encode(as_json(row, recording.data(row.number)))
        assert 0 <= row.match <= len(rows)
        assert 0 <= row.message <= row.number
        assert len(row.summary) <= 200
    assert all(len(line.text.splitlines()) == 1 for line in lines(rows, folds=True))
    msgspec.json.encode([conversation_of(recording), capabilities_of(recording)])
    msgspec.json.encode(process_of(recording))
    assert b"".join(page_of(recording, Filter("-nothing"))).endswith(b"</html>\n")


@given(st.lists(st.tuples(st.sampled_from(["client", "agent", "stderr"]), LINES), max_size=8))
def test_every_line_has_a_row_and_every_view_can_be_made(frames: list[Frame]) -> None:
    with inspected(*HANDSHAKE, *frames) as recording:
        assert recording.problem is None
        look_at(recording)


@pytest.mark.parametrize("depth", [100, 500, 990, 1000, 1010, 2000, 100_000])
@pytest.mark.parametrize("opening", [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_does_no_harm(depth: int, opening: tuple[str, str]) -> None:
    deep = opening[0] * depth + "1" + opening[1] * depth
    frames: list[Frame] = [
        ("agent", f'{{"id":1,"method":"x","params":{{"p":{deep}}}}}\n'.encode()),
        ("client", f'{{"id":1,"result":{{"p":{deep}}}}}\n'.encode()),
        ("agent", f'{{"method":"session/update","params":{{"sessionId":"s","update":'
         f'{{"sessionUpdate":"x","p":{deep}}}}}}}\n'.encode()),
        ("agent", f'{{"method":"session/update","params":{{"sessionId":"s","update":'
         f'{{"sessionUpdate":"tool_call","toolCallId":"t","title":"t","rawInput":{deep}}}}}}}\n'.encode()),
        ("agent", f'{{"method":"x","params":{{"_meta":{{"p":{deep}}}}}}}\n'.encode()),
        ("agent", f"{deep}\n".encode()),
    ]  # fmt: skip
    with inspected(*HANDSHAKE, *frames) as recording:
        look_at(recording)
