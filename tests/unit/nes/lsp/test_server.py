"""What the language server answers when something goes wrong, and what it tells its engine."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pygls.lsp.server import LanguageServer

from parley.nes._documents.document import Document
from parley.nes._lsp.server import make_server
from parley.nes.engine import Proposal, Question

from .scripted_engine import URI, Rules

EDIT = "textDocument/copilotInlineEdit"


class Written:
    """Takes what a server sends."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data))

    def close(self) -> None:
        """Nothing."""


def speak(server: LanguageServer, id: int | None, method: str, params: Any) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if id is not None:
        message["id"] = id
    protocol: Any = server.protocol
    protocol.handle_message(protocol.structure_message(message))


def serve(rules: Rules) -> tuple[LanguageServer, Written]:
    server, written = make_server(rules), Written()
    server.protocol.set_writer(written, include_headers=False)
    return server, written


def begin(server: LanguageServer, **params: Any) -> None:
    speak(server, 1, "initialize", {"processId": None, "capabilities": {}, **params})


class Broken(Rules):
    """An engine that fails, and says something that nobody else is to hear."""

    def opened(self, document: Document) -> None:
        raise RuntimeError("the secret")

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        raise RuntimeError("the secret")


QUESTION = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
ITEM = {"uri": URI, "languageId": "python", "version": 1, "text": "a"}


async def test_an_engine_that_fails_is_told_of_in_the_log_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, written = serve(Broken())
    begin(server)
    speak(server, None, "textDocument/didOpen", {"textDocument": ITEM})
    speak(server, 2, EDIT, QUESTION)
    asking: Any = server.protocol._request_futures[2]
    with pytest.raises(RuntimeError):
        await asking
    answer = written.messages[-1]
    assert answer["id"] == 2
    assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert "the secret" not in json.dumps(written.messages)
    assert "the secret" in caplog.text


async def test_params_that_make_no_sense_are_refused_in_plain_words() -> None:
    server, written = serve(Rules())
    begin(server)
    speak(server, 2, EDIT, {"textDocument": {"uri": URI}, "position": "the secret"})
    asking: Any = server.protocol._request_futures[2]
    logging.disable(logging.CRITICAL)
    try:
        with pytest.raises(Exception, match="Invalid Params"):
            await asking
    finally:
        logging.disable(logging.NOTSET)
    assert written.messages[-1]["error"] == {"code": -32602, "message": "Invalid params"}


def test_only_folders_of_this_machine_are_folders(tmp_path: Path) -> None:
    rules = Rules()
    server, _ = serve(rules)
    path = str(tmp_path)
    folders = (f"vscode-remote://host{path}", f"http://example.com{path}", f"file://host{path}")
    uris = [*folders, tmp_path.as_uri(), (tmp_path / "gone").as_uri()]
    begin(server, workspaceFolders=[{"uri": each, "name": "x"} for each in uris])
    assert rules.workspace is not None
    assert rules.workspace.folders == (path,)


def shown_of(written: Written) -> list[str]:
    notes = (each for each in written.messages if each.get("method") == "window/showMessage")
    return [each["params"]["message"] for each in notes]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"nes_on": "yes"}, "parley-nes: nes_on is one of true, false, and not 'yes'"),
        ({"nes_no": True}, "parley-nes: there is no option 'nes_no'; did you mean nes_on?"),
        (["nes_on"], "parley-nes: the options are not an object"),
    ],
)
def test_options_that_are_wrong_are_shown_to_the_user(options: Any, told: str) -> None:
    server, written = serve(Rules())
    begin(server, initializationOptions=options)
    assert shown_of(written) == [told]
    speak(server, None, "workspace/didChangeConfiguration", {"settings": {"parley": options}})
    assert shown_of(written) == [told, told]


@pytest.mark.parametrize("options", [None, {}, [], {"nes_on": False}, {"editorInfo": {"a": 1}}])
def test_nothing_is_shown_of_options_that_are_right_or_of_others(options: Any) -> None:
    server, written = serve(Rules())
    begin(server, initializationOptions=options)
    assert shown_of(written) == []
    assert written.messages[-1]["id"] == 1
