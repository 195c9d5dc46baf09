"""Frames of a session without secrets: each in its place, also where a secret came in pieces."""

from __future__ import annotations

import base64
import json

import pytest
from tests.frame_recordings import ManualRecording

from parley.export import from_jsonl, to_jsonl
from parley.export._redacted import redacted
from parley.journal import Entry
from parley.session.frame_replay import transcript_from_frames

MARKER = "planted-marker-4711-xyz"
TOKEN = "ghp_" + 9 * "a1B2"


def entries(script: ManualRecording) -> list[Entry]:
    numbered = enumerate(script.frames, 1)
    return [Entry(number, each.at, each.kind, each.data) for number, each in numbered]  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("size", [1, 3, 10, 200])
@pytest.mark.requirement("SAFE-REACH-05")
def test_secrets_in_pieces_are_in_no_export_of_frames(
    version: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", MARKER)
    script = ManualRecording(version)
    script.open()
    end = script.prompt(f"use {MARKER}")
    secret = f"The key is {TOKEN} or {MARKER}, no other."
    pieces = [secret[at : at + size] for at in range(0, len(secret), size)]

    def id(name: str) -> dict[str, str]:
        return {"messageId": name} if version == 2 else {}

    for piece in pieces:
        script.say(piece, **id("m"))
        script.update("usage_update", used=1, size=2)
        output = base64.b64encode(piece.encode()).decode()
        script.update("terminal_output_chunk", terminalId="t", data=output)
        shown = {"type": "content", "content": {"type": "text", "text": piece}}
        script.update("tool_call_content_chunk", toolCallId="c", content=shown)
    script.say("Done", kind="agent_thought_chunk", **id("h"))
    for piece in pieces:
        script.say(piece, kind="agent_thought_chunk", **id("k"))
    script.update("tool_call_update", toolCallId="d", rawInput={"key": TOKEN, "deep": [MARKER]})
    script.answer(end, {"stopReason": "end_turn", "messageId": "u"})
    script.raw("to_client", f"warning: {MARKER}".encode())
    script.raw("note", json.dumps({"note": "permission", "command": MARKER}).encode())
    exported = to_jsonl(entries(script))
    again = from_jsonl(exported)
    assert [(each.at, each.kind) for each in again] == [
        (each.at, each.kind) for each in script.frames
    ]
    transcript = transcript_from_frames(again)
    seen = exported.decode() + "".join(each.text for each in transcript.messages)
    seen += "".join(each.text for each in transcript.terminals.values())
    for call in transcript.tool_calls.values():
        seen += "".join(each.content.text for each in call.content)  # type: ignore[union-attr]
    assert TOKEN not in seen
    assert MARKER not in seen
    assert transcript.text == "The key is [redacted] or [redacted], no other."
    assert MARKER.encode() in to_jsonl(entries(script), redact=False)


def test_frames_without_secrets_stay_as_they_are() -> None:
    script = ManualRecording(2)
    script.open()
    for number in range(5):
        script.say(f"words {number}, ", messageId="m")
    script.update("terminal_output_chunk", terminalId="t", data="not base64!")
    script.update("terminal_output_chunk", terminalId="u", data=base64.b64encode(b"\xff").decode())
    for update in ({}, {"sessionUpdate": "x_chunk"}, {"sessionUpdate": "y_chunk", "content": 5}):
        script.agent({"method": "session/update", "params": script.named(update=update)})
    script.raw("to_client", b'["_chunk"]')
    script.raw("to_client", b"_chunk")
    script.update("agent_message_chunk", messageId="m", content={"type": "image", "data": ""})
    before = entries(script)
    assert redacted(before) == before
    assert from_jsonl(to_jsonl(before)) == before


def test_what_is_around_a_secret_stays_in_its_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", MARKER)
    script = ManualRecording(2)
    pieces = ["one ", "two planted-", "marker-", "4711", "-xyz three ", "four"]
    for piece in pieces:
        script.say(piece, messageId="m")
    texts = [
        json.loads(each.data)["params"]["update"]["content"]["text"]
        for each in redacted(entries(script))
    ]
    assert texts == ["one ", "two [redacted]", "", "", " three ", "four"]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_what_was_said_between_two_secrets_stays_in_its_turn(size: int) -> None:
    script = ManualRecording(1)
    script.open()
    answers = [f"First: {TOKEN}, that is it.", "Nothing here.", f"{TOKEN} {TOKEN}", f"a {TOKEN} b"]
    for answer in answers:
        end = script.prompt("Go on")
        for at in range(0, len(answer), size):
            script.say(answer[at : at + size])
        script.answer(end, {"stopReason": "end_turn"})
    said = [
        each.text
        for each in transcript_from_frames(redacted(entries(script))).messages
        if each.role == "agent"
    ]
    assert said == [answer.replace(TOKEN, "[redacted]") for answer in answers]
