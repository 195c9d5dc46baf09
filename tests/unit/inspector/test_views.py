"""The conversation, the capabilities, the process, and the page to share."""

from __future__ import annotations

import re
from typing import Any

from tests.unit.cli.command_line import TRAP

from parley.inspector._capabilities import capabilities_of
from parley.inspector._conversation import MAX_TEXT_CHARS, conversation_of
from parley.inspector._filter import Filter
from parley.inspector._process import MAX_STDERR_BYTES, process_of
from parley.inspector._share import MAX_FRAME_CHARS, page_of

from .inspected import HANDSHAKE, Frame, chunk, inspected, prompt, update

NEW: dict[str, Any] = {
    "id": 9,
    "method": "session/new",
    "params": {"cwd": "/work", "mcpServers": []},
}
OPENED = {"id": 9, "result": {"sessionId": "s"}}
END = {"id": 1, "result": {"stopReason": "end_turn"}}
TURN: list[Frame] = [
    *HANDSHAKE,
    ("client", NEW),
    ("agent", OPENED),
    ("client", prompt(text="Hello")),
    ("agent", chunk("Good ")),
    ("agent", update("tool_call", toolCallId="t", title="Read", kind="read", rawInput={"p": 1})),
    ("agent", chunk("elsewhere", session="other")),
    ("agent", update("tool_call_update", toolCallId="t", status="completed")),
    ("agent", chunk("day")),
    ("agent", END),
]


def test_a_conversation_is_linked_with_its_frames() -> None:
    with inspected(*TURN) as recording:
        found = conversation_of(recording)
    assert [each.id for each in found.sessions] == ["s", "other"]
    assert (found.session, found.state) == ("s", "idle")
    assert [(each.kind, each.title, each.status, each.rows) for each in found.entries] == [
        ("user", "User", "", [5]),
        ("agent", "Agent", "", [6]),
        ("tool", "read: Read", "completed", [7, 9]),
        ("agent", "Agent", "", [10]),
    ]
    assert found.entries[0].text == "Hello"
    assert '"p": 1' in found.entries[2].text


def test_another_session_has_a_conversation_of_its_own() -> None:
    with inspected(*TURN) as recording:
        found = conversation_of(recording, "other")
        nothing = conversation_of(recording, "missing")
    assert [(each.text, each.rows) for each in found.entries] == [("elsewhere", [8])]
    assert nothing.entries == []


def test_the_text_of_an_entry_is_bounded() -> None:
    with inspected(*TURN[:5], ("agent", chunk("x" * 100_000))) as recording:
        (_, entry) = conversation_of(recording).entries
    assert len(entry.text) == MAX_TEXT_CHARS


def test_frames_that_are_no_messages_have_no_conversation() -> None:
    with inspected(("agent", b"Welcome!\n"), ("stderr", b"x\n")) as recording:
        found = conversation_of(recording)
    assert (found.sessions, found.session, found.entries) == ([], "", [])


def read_file(id: int) -> dict[str, Any]:
    return {"id": id, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/a"}}


def test_capabilities_show_what_is_used_without_being_offered() -> None:
    client: dict[str, Any] = {
        "fs": {"readTextFile": False, "writeTextFile": True}, "terminal": True, "_meta": {"x": 1}
    }  # fmt: skip
    params = {
        "protocolVersion": 1, "clientCapabilities": client,
        "clientInfo": {"name": "editor", "version": "9"},
    }  # fmt: skip
    result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    with inspected(
        ("client", {"id": 0, "method": "initialize", "params": params}),
        ("agent", {"id": 0, "result": result}),
        ("agent", read_file(1)),
        ("agent", read_file(2)),
    ) as recording:
        found = capabilities_of(recording)
    assert (found.version, found.requested_version, found.rows) == (1, 1, [1, 2])
    assert found.client is not None
    assert (found.client.name, found.client.version) == ("editor", "9")
    assert found.client.capabilities == client
    listed = {(each.side, each.path): each for each in found.capabilities}
    assert {place: each.is_offered for place, each in listed.items()} == {
        ("agent", "loadSession"): True,
        ("client", "fs.readTextFile"): False,
        ("client", "fs.writeTextFile"): True,
        ("client", "terminal"): True,
    }
    used = listed["client", "fs.readTextFile"]
    assert (used.used, used.uses, used.methods) == ([3, 4], 2, ["fs/read_text_file"])


def test_capabilities_without_a_handshake_are_empty() -> None:
    with inspected(("agent", read_file(1))) as recording:
        found = capabilities_of(recording)
    assert (found.version, found.client, found.agent, found.capabilities) == (None, None, None, [])


def test_the_process_has_its_stderr_and_how_it_ended() -> None:
    masked = {"event": "masked", "source": "client", "what": "env KEY", "times": 2}
    with inspected(
        ("event", {"event": "started", "pid": 42}),
        ("stderr", b"one\ntwo\n"),
        ("event", masked),
        ("event", masked),
        ("event", {"event": "lost", "source": "agent", "size": 10, "reason": "full"}),
        ("event", {"event": "exited", "signal": "SIGKILL"}),
    ) as recording:
        found = process_of(recording)
    assert (found.agent_pid, found.exit, found.lost_bytes) == (42, "SIGKILL", 10)
    assert found.stderr == "one\ntwo"
    assert [(each.what, each.times) for each in found.masked] == [("env KEY", 4)]
    assert found.bytes == {"client": 0, "agent": 0, "stderr": 8}


def test_only_the_end_of_a_long_stderr_is_shown() -> None:
    with inspected(*[("stderr", b"x" * 1000 + b"\n")] * 100, ("stderr", b"end\n")) as recording:
        found = process_of(recording)
    assert found.stderr.endswith("x\nend")
    assert len(found.stderr) <= MAX_STDERR_BYTES


HOSTILE = f"</pre><script>alert(1)</script>{TRAP}"


def test_the_page_to_share_is_inert_and_loads_nothing() -> None:
    frames: list[Frame] = [
        ("client", prompt(text=HOSTILE, session=HOSTILE)),
        ("agent", {"method": HOSTILE, "params": {}}),
        ("stderr", HOSTILE.encode() + b"\n"),
        ("agent", HOSTILE.encode() + b"\n"),
    ]
    with inspected(*frames) as recording:
        page = b"".join(page_of(recording)).decode()
    assert "<script" not in page
    assert not any(mark in page for mark in ("\x1b", "\x07", "\x9b", "\u202e"))
    assert not re.search(r"\s(src|href|on\w+)=", page)
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert page.count("<details") == len(frames)
    assert page.count("</details>") == len(frames)


def test_the_page_to_share_has_each_frame_and_bounds_it() -> None:
    with inspected(*TURN, ("agent", chunk("y" * 100_000))) as recording:
        page = b"".join(page_of(recording)).decode()
        few = b"".join(page_of(recording, Filter("kind:response"))).decode()
    assert "&quot;text&quot;: &quot;Hello&quot;" in page
    assert "more bytes" in page
    assert len(page) < 3 * MAX_FRAME_CHARS
    assert few.count("<details") == 3
    assert "<dd>3 of 12</dd>" in few
