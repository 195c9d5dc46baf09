"""The language server: LSP's messages to and from a `Session`. Needs the extra `lsp`.

It offers `textDocument/inlineCompletion` of LSP 3.18, and what Copilot's language server has for
next edits: `textDocument/copilotInlineEdit`, and the notifications `textDocument/didFocus` and
`textDocument/didShowInlineEdit`. An accepted edit is reported by the command that comes with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, TypeVar, cast

import msgspec
from lsprotocol import types as lsp
from msgspec import Struct
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcServerNotInitialized

import parley
from parley.nes._documents.encoding import Encoding
from parley.nes._documents.files import folders_of
from parley.nes.engine import Engine, Outcome, Trigger
from parley.schema.v2 import Position, Range, TextDocumentContentChangeEvent

from .protocol import Input, Protocol, Server
from .session import Offer, Session

logger = logging.getLogger(__name__)

ACCEPT = "parley.nes.accept"
"""The command that says that an edit was taken."""
REJECT = "parley.nes.reject"
"""The command that says that an edit is not wanted."""
_NAME = "parley-nes"
_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}
_T = TypeVar("_T")


class _Identifier(Struct):
    uri: str
    version: int | None = None


class _Place(Struct):
    line: int
    character: int


class _Context(Struct, rename="camel", frozen=True):
    trigger_kind: int = 2


class _InlineEditParams(Struct, rename="camel"):
    text_document: _Identifier
    position: _Place
    context: _Context = _Context()


class _Focus(Struct, rename="camel"):
    text_document: _Identifier


class _Command(Struct):
    arguments: list[Any] = []


class _Item(Struct):
    command: _Command | None = None


class _Shown(Struct):
    item: _Item


def run(engine: Engine, from_editor: BinaryIO, to_editor: BinaryIO) -> int:
    """Serve one editor until it leaves; returns the exit code that LSP wants."""
    server = make_server(engine)
    server.start_io(stdin=cast(BinaryIO, Input(from_editor)), stdout=to_editor)
    return server.exit_code


def make_server(engine: Engine) -> Server:
    """Return a language server for one editor; `start_io` runs it."""
    server = Server(_NAME, parley.__version__, protocol_cls=Protocol)
    handlers = _Handlers(server, engine)
    for method, handler in handlers.by_method().items():
        server.feature(method)(_free(handler))
    options = lsp.InlineCompletionOptions()
    server.feature(lsp.TEXT_DOCUMENT_INLINE_COMPLETION, options)(_free(handlers.complete))
    server.feature("textDocument/copilotInlineEdit")(_free(handlers.edit))
    server.command(ACCEPT)(_free(handlers.accept))
    server.command(REJECT)(_free(handlers.reject))
    return server


def _free(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return what pygls can put its marks on, which a method is not."""
    return partial(method)


class _Handlers:
    """The handlers; the session begins when the editor has said who it is."""

    def __init__(self, server: Server, engine: Engine) -> None:
        self._server = server
        self._has_ended = False
        self._engine = engine
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        if self._session is None:
            raise JsonRpcServerNotInitialized("The first message is initialize")
        return self._session

    def by_method(self) -> dict[str, Any]:
        """Return what is done with notifications and the like, by their methods."""
        return {
            lsp.INITIALIZE: self.begin,
            lsp.SHUTDOWN: self.end,
            lsp.EXIT: self.leave,
            lsp.TEXT_DOCUMENT_DID_OPEN: self.opened,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self.changed,
            lsp.TEXT_DOCUMENT_DID_SAVE: self.saved,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self.closed,
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self.configured,
            "textDocument/didShowInlineEdit": self.shown,
            "textDocument/didFocus": self.focused,
        }

    def begin(self, params: lsp.InitializeParams) -> None:
        encoding = self._server.workspace.position_encoding or "utf-16"
        folders = [each.uri for each in params.workspace_folders or ()]
        folders = folders or ([params.root_uri] if params.root_uri else [])
        self._session = Session(self._engine, folders_of(folders), _ENCODINGS[encoding])
        self._set_options(params.initialization_options)

    def end(self, params: None) -> None:
        self._has_ended = True
        if self._session is not None:
            self._session.close()

    def leave(self, params: None) -> None:
        self._server.exit_code = 0 if self._has_ended else 1

    def configured(self, params: lsp.DidChangeConfigurationParams) -> None:
        """Take the settings of the editor's section `parley`."""
        self._set_options(_fields(params.settings).get("parley"))

    def _set_options(self, values: object) -> None:
        """Set options, and show the user what is wrong with them; some say `[]` for none."""
        is_none = not values or isinstance(_plain(values), dict)
        wrong = [] if is_none else ["the options are not an object"]
        for text in [*wrong, *self.session.set_options(_fields(values))]:
            logger.warning("%s", text)
            warning = lsp.MessageType.Warning
            message = lsp.ShowMessageParams(type=warning, message=f"{_NAME}: {text}")
            self._server.window_show_message(message)

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        self.session.opened(item.uri, str(item.language_id), item.version, item.text)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        changes = [_change(each) for each in params.content_changes]
        self.session.changed(params.text_document.uri, params.text_document.version, changes)

    def saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        self.session.saved(params.text_document.uri)

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self.session.closed(params.text_document.uri)

    def focused(self, params: object) -> None:
        self.session.focused(_read(params, _Focus).text_document.uri)

    def shown(self, params: object) -> None:
        command = _read(params, _Shown).item.command
        if command is not None and command.arguments:
            self.session.shown(str(command.arguments[0]))

    def accept(self, *arguments: Any) -> None:
        self._settle(arguments, "accepted")

    def reject(self, *arguments: Any) -> None:
        self._settle(arguments, "rejected")

    def _settle(self, arguments: tuple[Any, ...], outcome: Outcome) -> None:
        match arguments:
            case (str(offer_id),):
                self.session.settle(offer_id, outcome)
            case _:
                raise JsonRpcInvalidParams()

    async def complete(self, params: lsp.InlineCompletionParams) -> lsp.InlineCompletionList:
        is_manual = params.context.trigger_kind == lsp.InlineCompletionTriggerKind.Invoked
        offers = await self.session.completions(
            params.text_document.uri,
            Position(line=params.position.line, character=params.position.character),
            trigger="manual" if is_manual else "automatic",
        )
        items = [
            lsp.InlineCompletionItem(
                insert_text=offer.text, range=_range(offer.range), command=_command(offer)
            )
            for offer in offers
        ]
        return lsp.InlineCompletionList(items=items)

    async def edit(self, params: object) -> dict[str, Any]:
        request = _read(params, _InlineEditParams)
        trigger: Trigger = "manual" if request.context.trigger_kind == 1 else "automatic"
        offers = await self.session.edits(
            request.text_document.uri,
            Position(line=request.position.line, character=request.position.character),
            version=request.text_document.version,
            trigger=trigger,
        )
        return {"edits": [_inline_edit(offer) for offer in offers]}


def _inline_edit(offer: Offer) -> dict[str, Any]:
    return {
        "text": offer.text,
        "textDocument": {"uri": offer.uri, "version": offer.version},
        "range": _range(offer.range),
        "command": _command(offer),
    }


def _command(offer: Offer) -> lsp.Command:
    return lsp.Command(title="Accept the edit", command=ACCEPT, arguments=[offer.id])


def _range(range: Range) -> lsp.Range:
    return lsp.Range(
        start=lsp.Position(line=range.start.line, character=range.start.character),
        end=lsp.Position(line=range.end.line, character=range.end.character),
    )


def _change(event: lsp.TextDocumentContentChangeEvent) -> TextDocumentContentChangeEvent:
    if isinstance(event, lsp.TextDocumentContentChangeWholeDocument):
        return TextDocumentContentChangeEvent(text=event.text)
    start, end = event.range.start, event.range.end
    place = Range(
        start=Position(line=start.line, character=start.character),
        end=Position(line=end.line, character=end.character),
    )
    return TextDocumentContentChangeEvent(range=place, text=event.text)


def _fields(value: object) -> dict[str, Any]:
    """Return what an object of a message has, if it is one."""
    plain = _plain(value)
    return cast(dict[str, Any], plain) if isinstance(plain, dict) else {}


def _plain(value: Any) -> Any:
    """Turn what pygls makes of messages that it does not know into dicts and lists."""
    as_dict = getattr(value, "_asdict", None)
    if as_dict is not None or isinstance(value, dict):
        fields = cast(dict[str, Any], value if as_dict is None else as_dict())
        return {name: _plain(each) for name, each in fields.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast(list[Any], value)]
    return value


def _read(params: object, type: type[_T]) -> _T:
    try:
        return msgspec.convert(_plain(params), type)
    except msgspec.ValidationError as error:
        raise JsonRpcInvalidParams() from error
