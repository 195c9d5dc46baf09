"""`parley nes lsp` as an editor starts it: a process, and a client of LSP that is not ours."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.client import LanguageClient
from pygls.protocol.json_rpc import JsonRPCRequestMessage
from tests.e2e.command import parley
from tests.unit.nes.model.model_server import Exchange, Scripted, saying, scripted

URI = "file:///project/shop.py"
FACE = "\U0001f600"
TEXT = f"face = '{FACE}'\n\n\ndef total(items):\n    return su\n"
DONE = TEXT.replace("return su", "return sum(items)")
EDIT = "textDocument/copilotInlineEdit"


class Editor:
    """A client with one open document."""

    def __init__(self, client: LanguageClient, capabilities: lsp.ServerCapabilities) -> None:
        self.client = client
        self.capabilities = capabilities
        self.version = 1

    def open(self, text: str) -> None:
        item = lsp.TextDocumentItem(uri=URI, language_id="python", version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def change(self, line: int, start: int, end: int, text: str) -> None:
        self.version += 1
        place = lsp.Range(lsp.Position(line, start), lsp.Position(line, end))
        change = lsp.TextDocumentContentChangePartial(range=place, text=text)
        named = lsp.VersionedTextDocumentIdentifier(uri=URI, version=self.version)
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=named, content_changes=[change])
        )

    async def edits(self, line: int, character: int) -> list[Any]:
        answer = await self.client.protocol.send_request_async(
            EDIT,
            {
                "textDocument": {"uri": URI, "version": self.version},
                "position": {"line": line, "character": character},
                "context": {"triggerKind": 2},
            },
        )
        return list(answer.edits)

    async def next_edit(self, line: int, character: int) -> Any:
        """Ask until there is an edit: on a busy machine the engine may be short of time."""
        for _ in range(10):
            if edits := await self.edits(line, character):
                return edits[0]
        pytest.fail("there is no edit, however often it is asked for")

    async def completions(self, line: int, character: int) -> list[lsp.InlineCompletionItem]:
        found = await self.client.text_document_inline_completion_async(
            lsp.InlineCompletionParams(
                context=lsp.InlineCompletionContext(
                    trigger_kind=lsp.InlineCompletionTriggerKind.Automatic
                ),
                text_document=lsp.TextDocumentIdentifier(uri=URI),
                position=lsp.Position(line=line, character=character),
            )
        )
        assert isinstance(found, lsp.InlineCompletionList)
        return list(found.items)

    async def run(self, command: Any) -> None:
        await self.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(command=command.command, arguments=list(command.arguments))
        )


@asynccontextmanager
async def editing(
    *flags: str, encodings: list[lsp.PositionEncodingKind] | None = None, options: Any = None
) -> AsyncGenerator[Editor]:
    client: Any = LanguageClient("editor", "1")  # its methods for the process carry no types
    await client.start_io(sys.executable, "-m", "parley", "nes", "lsp", *flags)
    general = lsp.GeneralClientCapabilities(position_encodings=encodings)
    answer = await client.initialize_async(
        lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(general=general),
            root_uri="file:///project",
            initialization_options=options,
        )
    )
    client.initialized(lsp.InitializedParams())
    try:
        yield Editor(client, answer.capabilities)
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def model(server: Scripted, *, predictor: str = "model") -> list[str]:
    patience = ["--model-timeout", "30"]
    return ["--model-url", server.url, "--model", "m", "--predictor", predictor, *patience]


async def test_it_offers_both_ways_to_ask_and_incremental_changes() -> None:
    async with editing("--stdio") as editor:
        assert editor.capabilities.inline_completion_provider is not None
        sync = editor.capabilities.text_document_sync
        assert isinstance(sync, lsp.TextDocumentSyncOptions)
        assert sync.change == lsp.TextDocumentSyncKind.Incremental
        commands = editor.capabilities.execute_command_provider
        assert commands is not None
        assert set(commands.commands) == {"parley.nes.accept", "parley.nes.reject"}
        assert editor.capabilities.position_encoding == "utf-16"


async def test_the_same_change_is_offered_at_the_next_place_and_taken() -> None:
    names = ("fetch", "parse", "check", "store", "close")
    text = "".join(f"log.debug('{name}')\n{name}(files)\n\n" for name in names)
    async with editing() as editor:
        editor.open(text)
        for line in (0, 3):
            editor.change(line, 4, 9, "info")
        places: set[int] = set()
        for _ in range(3):
            edit = await editor.next_edit(3, 8)
            start, end = edit.range.start, edit.range.end
            assert (start.character, end.character, edit.text) == (4, 9, "info")
            assert edit.textDocument.version == editor.version
            places.add(start.line)
            editor.client.protocol.notify("textDocument/didShowInlineEdit", {"item": edit})
            editor.change(start.line, start.character, end.character, edit.text)
            await editor.run(edit.command)
        assert places == {6, 9, 12}


@pytest.mark.parametrize(
    ("encoding", "column"),
    [
        (lsp.PositionEncodingKind.Utf8, 12),
        (lsp.PositionEncodingKind.Utf16, 10),
        (lsp.PositionEncodingKind.Utf32, 9),
    ],
)
async def test_places_are_counted_as_it_was_agreed(
    encoding: lsp.PositionEncodingKind, column: int
) -> None:
    answer = DONE.replace(f"'{FACE}'", f"'{FACE}!'")
    async with (
        scripted(saying(f"```\n{answer}```")) as server,
        editing(*model(server), encodings=[encoding]) as editor,
    ):
        assert editor.capabilities.position_encoding == encoding
        editor.open(TEXT)
        [edit] = await editor.edits(0, 0)
        start = edit.range.start
        assert (start.line, start.character) == (0, column)
        assert edit.text.startswith("!'\n")


async def test_a_completion_is_offered_at_the_cursor() -> None:
    async with (
        scripted(saying(f"```\n{DONE}```")) as server,
        editing(*model(server)) as editor,
    ):
        editor.open(TEXT)
        [item] = await editor.completions(4, 13)
        assert item.insert_text == "m(items)"
        assert item.range == lsp.Range(lsp.Position(4, 13), lsp.Position(4, 13))
        assert item.command is not None
        await editor.run(item.command)


async def test_what_was_rejected_is_not_offered_again() -> None:
    async with (
        scripted(saying(f"```\n{DONE}```")) as server,
        editing(*model(server)) as editor,
    ):
        editor.open(TEXT)
        [edit] = await editor.edits(4, 13)
        await editor.run(edit.command._replace(command="parley.nes.reject"))
        assert await editor.edits(4, 13) == []


async def test_a_cancelled_question_is_cancelled_at_the_model_too() -> None:
    async def never(exchange: Exchange) -> None:
        await exchange.gone.wait()

    async with scripted(never) as server, editing(*model(server)) as editor:
        editor.open(TEXT)
        asking = asyncio.create_task(editor.edits(4, 13))
        exchange = await server.arrived()
        [request] = editor.client.protocol._request_futures
        editor.client.cancel_request(lsp.CancelParams(id=request))
        with pytest.raises(JsonRpcException):
            await asking
        await exchange.gone.wait()


async def test_options_come_with_the_start_and_later() -> None:
    async with (
        scripted(saying(f"```\n{DONE}```")) as server,
        editing(*model(server), options={"nes_predictor": "embedded"}) as editor,
    ):
        editor.open(TEXT)
        assert await editor.edits(4, 13) == []
        assert server.requests == []
        settings = {"parley": {"nes_predictor": "model"}}
        editor.client.workspace_did_change_configuration(
            lsp.DidChangeConfigurationParams(settings=settings)
        )
        assert len(await editor.edits(4, 13)) == 1


async def test_a_question_that_makes_no_sense_is_refused_and_the_server_lives() -> None:
    async with editing() as editor:
        editor.client.protocol.notify("textDocument/didFocus", {"textDocument": {"uri": URI}})
        with pytest.raises(JsonRpcInvalidParams):
            await editor.client.protocol.send_request_async(EDIT, {"position": 3})
        editor.open(TEXT)
        editor.client.protocol.notify("textDocument/didFocus", {"textDocument": {"uri": URI}})
        assert await editor.edits(400, 9) == []


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        (lsp.TEXT_DOCUMENT_INLINE_COMPLETION, {"position": 3}, -32602),
        (lsp.WORKSPACE_EXECUTE_COMMAND, {"command": "parley.nes.accept"}, -32602),
        (
            lsp.WORKSPACE_EXECUTE_COMMAND,
            {"command": "parley.nes.reject", "arguments": [{"a": 1}]},
            -32602,
        ),
        (lsp.WORKSPACE_EXECUTE_COMMAND, {"command": "unknown", "arguments": []}, -32602),
        ("textDocument/unknown", {}, -32601),
    ],
)
async def test_every_request_has_an_answer_that_tells_nothing_of_the_inside(
    method: str, params: Any, code: int
) -> None:
    async with editing() as editor:
        raw = JsonRPCRequestMessage(id=77, method=method, jsonrpc="2.0", params=params)
        future: Future[Any] = Future()
        editor.client.protocol._request_futures[77] = future
        editor.client.protocol._send_data(raw)
        with pytest.raises(JsonRpcException) as refused:
            await asyncio.wrap_future(future)
        assert refused.value.code == code
        assert refused.value.data is None
        assert refused.value.message in ("Invalid params", f"Method Not Found: {method}")


async def test_a_notification_that_makes_no_sense_is_not_shown_to_the_user() -> None:
    async with editing() as editor:
        shown: list[str] = []

        def show(params: lsp.ShowMessageParams) -> None:
            shown.append(params.message)

        client: Any = editor.client
        client.feature(lsp.WINDOW_SHOW_MESSAGE)(show)
        editor.change(0, 0, 0, "of a document that is not open")
        editor.open(TEXT)
        assert await editor.edits(400, 9) == []
        assert shown == []


def framed(*messages: dict[str, Any]) -> str:
    """Return messages as they are on the wire."""
    texts = [json.dumps({"jsonrpc": "2.0", **each}) for each in messages]
    return "".join(f"Content-Length: {len(each)}\r\n\r\n{each}" for each in texts)


@pytest.mark.parametrize("says_exit", [True, False])
def test_it_ends_without_a_word_when_the_editor_leaves(says_exit: bool) -> None:
    params: dict[str, Any] = {"processId": None, "capabilities": {}}
    opening = {"id": 1, "method": "initialize", "params": params}
    leaving = [{"method": "exit"}] if says_exit else []
    said = framed(opening, {"method": "initialized", "params": {}}, {"id": 2, "method": "shutdown"})
    done = parley("nes", "lsp", given=said + framed(*leaving))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout[done.stdout.rindex("{") :]) == {
        "id": 2,
        "jsonrpc": "2.0",
        "result": None,
    }


def test_what_is_wrong_with_the_flags_is_said_in_a_sentence() -> None:
    missing = parley("nes", "lsp", "--model", "m")
    assert missing.returncode == 2
    assert "a model needs an address: add --model-url URL" in missing.stderr
    unknown = parley("nes", "lsp", "--model-url", "http://localhost", "--prompt-format", "zeta9")
    assert unknown.returncode == 2
    assert "there is no prompt format 'zeta9'" in unknown.stderr
