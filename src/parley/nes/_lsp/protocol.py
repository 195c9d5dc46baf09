"""The protocol of the language server: refusals, error texts, and bounds that pygls lacks."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from typing import Any, BinaryIO, TypeAlias, cast

from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

logger = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_MAX_HEADER_BYTES = 4096
_Steps: TypeAlias = Generator[Any, Any, None]
_TEXTS = {
    JsonRpcInternalError.CODE: "Internal error",
    JsonRpcInvalidParams.CODE: "Invalid params",
}
"""The error text for an editor; the log has the reason."""
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


class Protocol(LanguageServerProtocol):
    """Answers every request, and never with the text of an exception.

    Documents are handed on as they come: pygls would keep copies of its own, look through all of
    one at every key, and move places that are outside of it before we see them.
    """

    _has_begun = False

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> _Steps:
        """Hand a document on."""
        yield self._handler(lsp.TEXT_DOCUMENT_DID_OPEN), (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> _Steps:
        """Hand changes on."""
        yield self._handler(lsp.TEXT_DOCUMENT_DID_CHANGE), (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> _Steps:
        """Hand on that a document was closed."""
        yield self._handler(lsp.TEXT_DOCUMENT_DID_CLOSE), (params,), None

    def _handler(self, method: str) -> Any:
        manager: Any = self.fm  # its tables carry no types
        return manager.features[method]

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Leave an object as it is: all in a message come here, also those that look like one."""
        return data

    def _read(self, data: dict[str, Any]) -> Any:
        """Read a message; a request that cannot be read has an answer too."""
        if "method" in data:
            data.setdefault("params", None)
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def handle_message(self, message: Any) -> None:
        """Do what a message says, if this is the time for it.

        What comes before `initialize` or after `shutdown` is refused, or left out if nobody waits
        for an answer; `exit` is for any time.
        """
        data = cast(dict[str, Any], message) if isinstance(message, dict) else {}
        if data.get("jsonrpc") != self.VERSION:
            self.refuse(None, JsonRpcInvalidRequest())
            return
        message = self._read(data)
        method: str | None = getattr(message, "method", None)
        if method is None or method == lsp.EXIT:
            super().handle_message(message)
            return
        error = self._refusal(method)
        if error is None:
            self._has_begun = self._has_begun or method == lsp.INITIALIZE
            super().handle_message(message)
        elif hasattr(message, "id"):
            self.refuse(message.id, error)

    def _refusal(self, method: str) -> JsonRpcException | None:
        """Return why this is not the time for a message."""
        is_first = method == lsp.INITIALIZE
        if self._shutdown:
            return JsonRpcInvalidRequest("The server is shut down")
        if self._has_begun and is_first:
            return JsonRpcInvalidRequest("initialize comes once")
        if not self._has_begun and not is_first:
            return JsonRpcServerNotInitialized("The first message is initialize")
        return None

    def refuse(self, id: Any, error: JsonRpcException) -> None:
        """Answer with an error; without an id the message had none that can be read."""
        if id is not None:
            self._send_response(id, error=error.to_response_error())
            return
        problem = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": None, "error": problem})

    def _send_response(
        self, msg_id: int | str, result: Any = None, error: lsp.ResponseError | None = None
    ) -> None:
        if error is not None:
            text = _TEXTS.get(error.code, error.message)
            error = lsp.ResponseError(code=error.code, message=text)
        super()._send_response(msg_id, result, error)


class Server(LanguageServer):
    """A server that bothers nobody with failures: they are in the log, and not on the screen."""

    exit_code = 0
    """1 if the editor has said `exit` without `shutdown`."""

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what could not be answered, such as a notification that makes no sense."""
        logger.warning("a message of the editor came to nothing: %r", error)
        if source is JsonRpcException and isinstance(error, _UNREADABLE):
            cast(Protocol, self.protocol).refuse(None, JsonRpcParseError())


class Input:
    """The input from the editor, with a bound for the length of a message."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readline(self) -> bytes:
        """Return a line of a header, or a part of a long one."""
        return self._file.readline(_MAX_HEADER_BYTES)

    def read(self, count: int) -> bytes:
        """Return this many bytes; none, as at the end, if that is too many."""
        if count > MAX_MESSAGE_BYTES:
            logger.error("a message of %d bytes is too long: the connection ends", count)
            return b""
        return self._file.read(count)
