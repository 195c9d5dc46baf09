"""All exceptions of Parley, and the table of error codes.

```
AcpError
├─ ProtocolError ─── MalformedValue (a value does not match its type)
│                    LocalProtocolError (our own program broke a rule)
│                    RemoteProtocolError (the peer broke a rule)
├─ TransportError ── ConnectFailed · Unauthorized · ConnectionClosed · ProcessExited
├─ RequestError ──── an error response, sent or received; one subclass per known code
│                    ParseError · InvalidRequest · MethodNotFound · InvalidParams · InternalError
│                    AuthRequired · ResourceNotFound · Overloaded · UnsupportedProtocolVersion
│                    RequestCancelled · McpLimitReached · McpServerUnknown · McpServerFailed
│                    BudgetSpent
├─ McpCallFailed ─── a call to an MCP server of a session failed
├─ VersionMismatch
├─ Unsupported ───── the capability was not negotiated
├─ OptionRefused ─── an agent does not have a config option, or the option not the value
├─ ConfigError ───── a file of the user is not usable as it is
├─ JournalError ──── the journal cannot be read or written
├─ RecordingError ── a recording cannot be found, read or written
├─ NoResult ──────── an agent did not return the requested value
├─ ModelFailed ───── a model server returned no usable response
└─ ToolError ─────── a tool of ours failed, and the agent may see the reason
```

A handler raises `InvalidParams`; the other side catches `InvalidParams`. `Unsupported` concerns
only the peer's capabilities, and is sent as `InvalidRequest`. Any other exception in a handler is
sent as `InternalError` with a fixed text; the details stay in our log.
Codes: https://agentclientprotocol.com/protocol/v1/schema#errorcode
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from msgspec import UNSET, UnsetType

from parley._display_text import sanitize_text
from parley._stderr_excerpt import stderr_excerpt

__all__ = [
    "AcpError",
    "AuthRequired",
    "BudgetSpent",
    "ConfigError",
    "ConnectFailed",
    "ConnectionClosed",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "JournalError",
    "LocalProtocolError",
    "MalformedValue",
    "McpCallFailed",
    "McpLimitReached",
    "McpServerFailed",
    "McpServerUnknown",
    "MethodNotFound",
    "ModelFailed",
    "NoResult",
    "OptionRefused",
    "Overloaded",
    "ParseError",
    "ProcessExited",
    "ProtocolError",
    "RecordingError",
    "RemoteProtocolError",
    "RequestCancelled",
    "RequestError",
    "ResourceNotFound",
    "ToolError",
    "TransportError",
    "Unauthorized",
    "Unsupported",
    "UnsupportedProtocolVersion",
    "VersionMismatch",
    "as_request_error",
    "request_error",
]


_DETAIL_KEYS = ("details", "detail", "message", "problem", "reason", "error", "hint")
"""The members of an error's data that are texts for people, as agents name them."""
_DETAIL_LENGTH = 500
_DETAIL_DEPTH = 3
"""The part of an error's data that its text shows: characters, and levels of nesting."""


class AcpError(Exception):
    """The base class of all exceptions that Parley raises on purpose."""


class ProtocolError(AcpError):
    """A message or a call violates the protocol."""


class MalformedValue(ProtocolError):
    """A value does not match its type.

    The text says where and what was expected, and never quotes the input.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        """The location, such as `params.prompt[2].text`."""
        self.problem = problem
        """The problem there, such as `expected string`."""


class LocalProtocolError(ProtocolError):
    """Our own program tried to do something that the protocol does not allow."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that the protocol does not allow."""


class TransportError(AcpError):
    """The connection to the peer could not be established, or it ended."""


class ConnectFailed(TransportError):
    """The connection could not be established."""


class Unauthorized(ConnectFailed):
    """The server requires a token, or rejected the one it got."""


class ConnectionClosed(TransportError):
    """The connection is closed; its pending requests will get no response."""

    diagnosis: str = ""
    """The likely reason why requests got no response; empty if unknown."""

    def with_prefix(self, name: str) -> ConnectionClosed:
        """Return a copy whose text starts with the name of the connection."""
        return ConnectionClosed(f"{name}: {self}")

    def with_diagnosis(self, diagnosis: str) -> ConnectionClosed:
        """Return a copy with the likely reason why requests got no response."""
        closed = ConnectionClosed(f"{self}; {diagnosis}")
        closed.diagnosis = diagnosis
        return closed


class ProcessExited(ConnectionClosed):
    """The process of the peer has exited."""

    def __init__(
        self, command: str, code: int, stderr: str = "", *, name: str = "", diagnosis: str = ""
    ) -> None:
        outcome = f"exited with code {code}" if code >= 0 else f"was killed by signal {-code}"
        outcome = f"{outcome}; {diagnosis}" if diagnosis else outcome
        excerpt = stderr_excerpt(stderr)
        tail = f"; stderr:\n{excerpt}" if excerpt else ""
        program = f"{name}: {command}" if name not in ("", command) else command
        super().__init__(f"{program} {outcome}{tail}")
        self.summary = f"{program} {outcome}"
        """The text without the stderr output."""
        self.name = name
        """The name of the connection, if there are several; else empty."""
        self.command = command
        """The command that was started."""
        self.code = code
        """The exit code; if negative, the number of the signal that ended the process."""
        self.stderr = stderr
        """The last part of its stderr output; the text of the error has the lines that look like
        errors."""
        self.diagnosis = diagnosis

    def with_prefix(self, name: str) -> ProcessExited:
        """Return a copy whose text starts with the name of the connection."""
        return ProcessExited(
            self.command, self.code, self.stderr, name=name, diagnosis=self.diagnosis
        )

    def with_diagnosis(self, diagnosis: str) -> ProcessExited:
        """Return a copy with the likely reason why requests got no response."""
        return ProcessExited(
            self.command, self.code, self.stderr, name=self.name, diagnosis=diagnosis
        )


class RequestError(AcpError):
    """A request failed; a JSON-RPC error with a code, a message and data.

    Raise one in a handler to send it as the response. An error response from the peer is raised as
    the subclass for its code, or as this class if the code is unknown.
    """

    code: int = -32603
    """The JSON-RPC error code."""
    text: ClassVar[str] = "Internal error"

    def __init__(
        self, message: str | None = None, data: Any | UnsetType = UNSET, *, code: int | None = None
    ) -> None:
        self.message = self.text if message is None else message
        """One short sentence."""
        self.data = data
        """Any further information for the caller; `UNSET` if there is none."""
        self.method = ""
        """The method of the failed request, if the peer returned the error; else empty."""
        self.peer = ""
        """The name of the connection that the error came from, if it has one; else empty."""
        if code is not None:
            self.code = code
        super().__init__(f"{self.message} ({self.code})")

    @property
    def description(self) -> str:
        """The message with the details from the data, but without the code and the method."""
        detail = _detail(self.data)
        return f"{self.message}: {detail}" if self._is_new_detail(detail) else self.message

    def __str__(self) -> str:
        text = f"{self.message} ({self.code})"
        detail = _detail(self.data)
        if self._is_new_detail(detail):
            text = f"{text}: {detail}"
        return ": ".join(filter(None, (self.peer, self.method, text)))

    def _is_new_detail(self, detail: str) -> bool:
        return bool(detail) and detail not in self.message


def _detail(data: Any) -> str:
    """Return the texts for people in the data of an error, on one line and bounded."""
    texts = [data] if isinstance(data, str) else list(_detail_texts(data))
    # Cut first: the peer may have sent megabytes.
    lines = (sanitize_text(text[: 2 * _DETAIL_LENGTH], is_line=True) for text in texts)
    detail = "; ".join(dict.fromkeys(filter(None, lines)))
    return detail if len(detail) <= _DETAIL_LENGTH else f"{detail[: _DETAIL_LENGTH - 1]}…"


def _detail_texts(data: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in an object, also those of objects and lists in it."""
    if not hasattr(data, "get") or depth == _DETAIL_DEPTH:
        return
    for key in _DETAIL_KEYS:
        value: Any = data.get(key)
        is_list = isinstance(value, list)
        values = cast("list[Any]", value)[:_DETAIL_LENGTH] if is_list else [value]
        for each in values:
            if isinstance(each, str):
                yield each
            else:
                yield from _detail_texts(each, depth + 1)


class ParseError(RequestError):
    """A message is not valid JSON."""

    code = -32700
    text = "Parse error"


class InvalidRequest(RequestError):
    """The JSON is not a valid message, or the message is not allowed now."""

    code = -32600
    text = "Invalid request"


class MethodNotFound(RequestError):
    """The method does not exist or is not available."""

    code = -32601
    text = "Method not found"


class InvalidParams(RequestError):
    """The params do not match the method's type."""

    code = -32602
    text = "Invalid params"


class InternalError(RequestError):
    """The other side failed with an internal error."""

    code = -32603
    text = "Internal error"


class AuthRequired(RequestError):
    """The agent requires the user to authenticate first."""

    code = -32000
    text = "Authentication required"


class ResourceNotFound(RequestError):
    """A file, session or other resource does not exist."""

    code = -32002
    text = "Resource not found"


class Overloaded(RequestError):
    """A limit was reached: too many bytes are unhandled, or too many requests are pending."""

    code = -32005
    text = "Overloaded"


class BudgetSpent(RequestError):
    """The cost budget of a session is used up; it accepts no more prompts."""

    code = -32006
    text = "Budget spent"


class UnsupportedProtocolVersion(RequestError):
    """The peer does not support this protocol version."""

    code = -32022
    text = "Unsupported protocol version"


class RequestCancelled(RequestError):
    """The request was cancelled before it finished."""

    code = -32800
    text = "Request cancelled"


class McpLimitReached(RequestError):
    """An MCP server over ACP has too many calls at once, or its response is too large to send."""

    code = -33000
    text = "MCP limit reached"


class McpServerUnknown(RequestError):
    """No MCP server is offered over ACP under this id, or no longer."""

    code = -33001
    text = "MCP server unknown"


class McpServerFailed(RequestError):
    """An MCP server that is offered over ACP failed without sending a response."""

    code = -33002
    text = "MCP server failed"


class McpCallFailed(AcpError):
    """An MCP server of a session is unreachable, has exited, timed out, or returned an error."""

    def __init__(self, server: str, problem: str, *, code: int | None = None) -> None:
        super().__init__(f"the MCP server {server} {problem}")
        self.server = server
        """The name of the server."""
        self.code = code
        """The MCP error code, if the server itself returned one."""


class VersionMismatch(AcpError):
    """The two sides have no protocol version in common."""


class Unsupported(AcpError):
    """The peer does not support the capability that this operation needs."""


class JournalError(AcpError):
    """The journal cannot be read or written; the text says why and what to do."""


class RecordingError(AcpError):
    """A recording cannot be found, read or written."""


class NoResult(AcpError):
    """An agent did not return a value of the requested type.

    The text says what was wrong with the last value.
    """

    def __init__(self, message: str, *, text: str = "", stop_reason: str = "") -> None:
        super().__init__(message)
        self.text = text
        """The text of the agent's last turn."""
        self.stop_reason = stop_reason
        """The stop reason of that turn."""


class ModelFailed(AcpError):
    """A model server returned no usable response."""

    def __init__(self, text: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        """The HTTP status; 0 if the failure has none."""
        self.retry_after = retry_after
        """Seconds to wait before a retry, if the server says so."""


class ToolError(AcpError):
    """A tool failed for a reason that the agent may see; raise it in a tool function.

    The model reads the text. Of any other exception, it sees only that the tool failed.
    """


class ConfigError(AcpError):
    """A file of the user is not usable as it is.

    The text names the file, the location and the fix. It quotes no values, since they may be
    secrets.
    """


class OptionRefused(AcpError):
    """An agent does not have a config option, or the option does not have the value."""


_BY_CODE: dict[int, type[RequestError]] = {
    known.code: known for known in RequestError.__subclasses__()
}


def request_error(code: int, message: str, data: Any | UnsetType = UNSET) -> RequestError:
    """Return the exception for a received error object."""
    known = _BY_CODE.get(code)
    return RequestError(message, data, code=code) if known is None else known(message, data)


def as_request_error(error: RequestError | Unsupported) -> RequestError:
    """Return the error to send to the peer for an exception of a handler."""
    return InvalidRequest(str(error)) if isinstance(error, Unsupported) else error
