"""What the language server does with messages that are broken, or come at the wrong time."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from parley.nes._lsp.protocol import MAX_MESSAGE_BYTES
from parley.nes._lsp.server import run

from .scripted_engine import URI, Rules
from .test_server import EDIT, ITEM, QUESTION, begin, serve, speak

INITIALIZE: dict[str, Any] = {
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "capabilities": {}},
}
SHUTDOWN: dict[str, Any] = {"id": 9, "method": "shutdown"}
EXIT: dict[str, Any] = {"method": "exit"}


def framed(message: bytes | dict[str, Any]) -> bytes:
    if isinstance(message, dict):
        message = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


class Kept(io.BytesIO):
    """Can be read when it is closed."""

    def close(self) -> None:
        """Nothing."""


def served(*messages: bytes | dict[str, Any], engine: Rules | None = None) -> tuple[int, list[Any]]:
    """Let a server read messages to the end; returns its exit code and its answers."""
    told = b"".join(map(framed, messages))
    return served_bytes(told, engine or Rules())


def served_bytes(told: bytes, engine: Rules) -> tuple[int, list[Any]]:
    answers = Kept()
    code = run(engine, io.BytesIO(told), answers)
    parts = answers.getvalue().decode().split("Content-Length: ")[1:]
    return code, [json.loads(part.partition("\r\n\r\n")[2]) for part in parts]


def errors(answers: list[Any]) -> list[tuple[Any, int]]:
    return [(each["id"], each["error"]["code"]) for each in answers if "error" in each]


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([INITIALIZE, SHUTDOWN, EXIT], 0),
        ([INITIALIZE, EXIT], 1),
        ([EXIT], 1),
        ([SHUTDOWN, EXIT], 1),
        ([INITIALIZE], 0),
        ([], 0),
    ],
)
def test_the_exit_code_says_whether_the_editor_took_its_leave(
    messages: list[dict[str, Any]], code: int
) -> None:
    assert served(*messages)[0] == code


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{nope", -32700),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "\xff"}', -32700),
        (b"[" * 100_000, -32700),
        (b"[1, 2]", -32600),
        (b"null", -32600),
        (b'"x"', -32600),
        (b'{"id": 5, "method": "shutdown"}', -32600),
        (b'{"jsonrpc": "1.0", "id": 5, "method": "shutdown"}', -32600),
        (b'[{"jsonrpc": "2.0", "id": 5, "method": "shutdown"}]', -32600),
    ],
)
def test_what_is_no_message_is_answered_without_an_id_and_the_server_lives(
    message: bytes, code: int
) -> None:
    question: dict[str, Any] = {"id": 2, "method": EDIT, "params": QUESTION}
    exit_code, answers = served(INITIALIZE, message, question, SHUTDOWN, EXIT)
    assert errors(answers) == [(None, code)]
    assert [each["id"] for each in answers if "result" in each] == [1, 2, 9]
    assert exit_code == 0


def test_before_the_beginning_requests_are_refused_and_nothing_else_is_heard() -> None:
    engine = Rules()
    opening: dict[str, Any] = {"method": "textDocument/didOpen", "params": {"textDocument": ITEM}}
    messages: list[dict[str, Any]] = [{**SHUTDOWN, "id": 3}, opening, INITIALIZE, SHUTDOWN, EXIT]
    code, answers = served(*messages, engine=engine)
    assert errors(answers) == [(3, -32002)]
    assert [each["id"] for each in answers] == [3, 1, 9]
    assert (code, engine.heard) == (0, ["close"])


def test_it_begins_once_and_after_the_end_requests_are_refused() -> None:
    engine = Rules()
    opening: dict[str, Any] = {"method": "textDocument/didOpen", "params": {"textDocument": ITEM}}
    question: dict[str, Any] = {"id": 5, "method": EDIT, "params": QUESTION}
    again: dict[str, Any] = {**INITIALIZE, "id": 7}
    code, answers = served(INITIALIZE, again, SHUTDOWN, question, opening, EXIT, engine=engine)
    assert errors(answers) == [(7, -32600), (5, -32600)]
    assert (code, engine.heard) == (0, ["close"])


def test_an_unknown_request_without_params_is_not_found() -> None:
    _, answers = served(INITIALIZE, {"id": 2, "method": "$/unknown"}, {"method": "$/unknown"})
    assert errors(answers) == [(2, -32601)]


@pytest.mark.parametrize(
    "inner",
    [
        {"jsonrpc": "2.0", "id": 7, "method": EDIT, "params": "none"},
        {"jsonrpc": "2.0", "id": 7, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": 7, "error": "none"},
        {"jsonrpc": "2.0", "method": []},
        {"jsonrpc": "1.0"},
    ],
)
def test_what_looks_like_a_message_within_one_is_none(inner: dict[str, Any]) -> None:
    params = {"command": "nope", "arguments": [inner, {"deeper": inner}]}
    asked: dict[str, Any] = {"id": 2, "method": "workspace/executeCommand", "params": params}
    code, answers = served(INITIALIZE, asked, {**SHUTDOWN, "extra": inner}, EXIT)
    assert code == 0
    assert [each["id"] for each in answers] == [1, 2, 9]


@pytest.mark.parametrize("length", [MAX_MESSAGE_BYTES + 1, 10**15])
def test_a_message_that_is_too_long_is_the_last_one(
    length: int, caplog: pytest.LogCaptureFixture
) -> None:
    code, answers = served_bytes(b"Content-Length: %d\r\n\r\n{}" % length, Rules())
    assert (code, answers) == (0, [])
    assert "too long" in caplog.text


def test_lines_that_are_no_header_are_skipped() -> None:
    told = b"hello\nContent-Length: -5\r\n\r\n" + b"x" * 10_000 + b"\n" + framed(INITIALIZE)
    assert [each["id"] for each in served_bytes(told, Rules())[1]] == [1]


# Documents


def changed(version: int, *changes: tuple[int, int, int, int, str]) -> dict[str, Any]:
    events = [
        {
            "range": {
                "start": {"line": a, "character": b},
                "end": {"line": c, "character": d},
            },
            "text": text,
        }
        for a, b, c, d, text in changes
    ]
    return {"textDocument": {"uri": URI, "version": version}, "contentChanges": events}


def last_text(engine: Rules) -> str:
    return str(engine.heard[-1][-1])


@pytest.mark.parametrize(("encoding", "face"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_changes_are_counted_as_it_was_agreed(encoding: str, face: int) -> None:
    engine = Rules()
    server, written = serve(engine)
    begin(server, capabilities={"general": {"positionEncodings": [encoding]}})
    assert written.messages[0]["result"]["capabilities"]["positionEncoding"] == encoding
    text = "a\U0001f600b\n\U0001f600\U0001f600c\n"
    speak(server, None, "textDocument/didOpen", {"textDocument": {**ITEM, "text": text}})
    # Each change is in the text that the one before has made.
    changes = (
        (0, 1 + face, 0, 2 + face, "B\U0001f600"),
        (1, face, 1, 2 * face, ""),
        (0, 2 + 2 * face, 1, face, "-"),
    )
    speak(server, None, "textDocument/didChange", changed(2, *changes))
    assert last_text(engine) == "a\U0001f600B\U0001f600-c\n"


def test_versions_may_jump_and_what_is_older_is_left_out() -> None:
    engine = Rules()
    server, _ = serve(engine)
    begin(server)
    speak(server, None, "textDocument/didOpen", {"textDocument": ITEM})
    speak(server, None, "textDocument/didChange", changed(50, (0, 1, 0, 1, "b")))
    assert last_text(engine) == "ab"
    speak(server, None, "textDocument/didChange", changed(3, (0, 0, 0, 2, "old")))
    assert last_text(engine) == "ab"


def test_places_outside_of_a_document_are_moved_into_it() -> None:
    engine = Rules()
    server, _ = serve(engine)
    begin(server)
    speak(server, None, "textDocument/didOpen", {"textDocument": ITEM})
    speak(server, None, "textDocument/didChange", changed(2, (7, 0, 9, 9, "b")))
    speak(server, None, "textDocument/didChange", changed(3, (0, 0, 0, 2**31 - 1, "c")))
    assert last_text(engine) == "c"


async def test_what_is_said_of_documents_that_are_not_open_comes_to_nothing() -> None:
    engine = Rules()
    server, written = serve(engine)
    begin(server)
    named = {"textDocument": {"uri": URI}}
    speak(server, None, "textDocument/didChange", changed(2, (0, 0, 0, 0, "b")))
    for method in ("didSave", "didClose", "didFocus"):
        speak(server, None, f"textDocument/{method}", named)
    speak(server, 2, EDIT, QUESTION)
    asking: Any = server.protocol._request_futures[2]
    await asking
    assert written.messages[-1]["result"] == {"edits": []}
    assert (engine.heard, engine.questions) == ([], [])


def test_all_folders_of_the_workspace_are_the_engines(tmp_path: Path) -> None:
    engine = Rules()
    server, _ = serve(engine)
    folders = [tmp_path / "one", tmp_path / "two"]
    for each in folders:
        each.mkdir()
    begin(server, workspaceFolders=[{"uri": each.as_uri(), "name": "x"} for each in folders])
    assert engine.workspace is not None
    assert engine.workspace.folders == tuple(map(str, folders))
