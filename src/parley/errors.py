"""Every exception of Parley, and the table of error codes.

```
AcpError
├─ ProtocolError ─── MalformedValue (a value does not have the shape its type asks for)
│                    LocalProtocolError (our caller broke a rule)
│                    RemoteProtocolError (the peer did)
├─ TransportError ── ConnectFailed · Unauthorized · ConnectionClosed · ProcessExited
├─ RequestError ──── crosses the wire both ways: code, message, data; one subclass per known code
│                    ParseError · InvalidRequest · MethodNotFound · InvalidParams · InternalError
│                    AuthRequired · ResourceNotFound · Overloaded · UnsupportedProtocolVersion
│                    RequestCancelled · McpLimitReached · McpServerUnknown · McpServerFailed
│                    BudgetSpent
├─ McpCallFailed ─── an MCP server of a session did not do what an agent asked
├─ VersionMismatch
├─ Unsupported ───── the capability was not negotiated
├─ ConfigError ───── a file of the user's cannot be used as it is
│                    OptionRefused (an agent does not take an option that the user wants set)
├─ JournalError ──── the journal cannot be read or written
├─ NoResult ──────── an agent was asked for a value and gave none
├─ ModelFailed ───── a model's server gave no answer that can be used
└─ ToolError ─────── a tool of ours failed, and the agent may know why
```

A handler raises `InvalidParams`; the other side catches `InvalidParams`. `Unsupported` speaks of
nothing but the peer's capabilities, and reaches it as `InvalidRequest`. Any other exception in a
handler reaches the peer as `InternalError` with a fixed text; its details stay in our log.
Codes: https://agentclientprotocol.com/protocol/v1/schema#errorcode
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

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
    "request_error",
    "told",
]


class AcpError(Exception):
    """The root of everything that Parley raises on purpose."""


class ProtocolError(AcpError):
    """A rule of the protocol was broken."""


class MalformedValue(ProtocolError):
    """A value does not have the shape that its type asks for.

    The text names the place and what was expected there, and never quotes the input.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        """Where, as in `params.prompt[2].text`."""
        self.problem = problem
        """What is wrong there, as in `expected string`."""


class LocalProtocolError(ProtocolError):
    """Our own program asked for something that the protocol does not allow."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that the protocol does not allow."""


class TransportError(AcpError):
    """The connection to the peer could not be made or did not last."""


class ConnectFailed(TransportError):
    """The connection could not be made."""


class Unauthorized(ConnectFailed):
    """A server wants a token, or another one."""


class ConnectionClosed(TransportError):
    """The connection is closed; what was under way on it will not be answered."""

    def named(self, name: str) -> ConnectionClosed:
        """Return the same with the name of the connection in front of the text."""
        return ConnectionClosed(f"{name}: {self}")


class ProcessExited(ConnectionClosed):
    """The peer's process has ended."""

    def __init__(self, command: str, code: int, stderr: str = "", *, name: str = "") -> None:
        how = f"exited with code {code}" if code >= 0 else f"was ended by signal {-code}"
        tail = f"; its last words:\n{stderr.rstrip()}" if stderr.strip() else ""
        who = f"{name}: {command}" if name not in ("", command) else command
        super().__init__(f"{who} {how}{tail}")
        self.summary = f"{who} {how}"
        """What happened, without its last words."""
        self.name = name
        """What it is called, where it is one of several; else empty."""
        self.command = command
        """The program, as it was started."""
        self.code = code
        """The exit code; negative is the number of the signal that ended it."""
        self.stderr = stderr
        """The tail of what it wrote to stderr."""

    def named(self, name: str) -> ProcessExited:
        """Return the same with the name of the connection in front of the text."""
        return ProcessExited(self.command, self.code, self.stderr, name=name)


class RequestError(AcpError):
    """A request was refused; it crosses the wire as code, message and data.

    Raise one in a handler to answer with it. What a peer answers arrives as the subclass of its
    code, or as this class when the code has no name here.
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
        """Whatever else the caller may want to know; `UNSET` when there is nothing."""
        if code is not None:
            self.code = code
        super().__init__(f"{self.message} ({self.code})")


class ParseError(RequestError):
    """What arrived is not JSON."""

    code = -32700
    text = "Parse error"


class InvalidRequest(RequestError):
    """What arrived is JSON, but not a message, or not one that is allowed now."""

    code = -32600
    text = "Invalid request"


class MethodNotFound(RequestError):
    """The method does not exist or is not offered."""

    code = -32601
    text = "Method not found"


class InvalidParams(RequestError):
    """The params do not have the shape that the method asks for."""

    code = -32602
    text = "Invalid params"


class InternalError(RequestError):
    """The other side failed for a reason of its own."""

    code = -32603
    text = "Internal error"


class AuthRequired(RequestError):
    """The agent wants the user to authenticate first."""

    code = -32000
    text = "Authentication required"


class ResourceNotFound(RequestError):
    """A file, a session or another thing does not exist."""

    code = -32002
    text = "Resource not found"


class Overloaded(RequestError):
    """A bound was reached: too much is read and not yet handled, or too much is in flight."""

    code = -32005
    text = "Overloaded"


class BudgetSpent(RequestError):
    """What a session may cost is used up; it takes no more prompts."""

    code = -32006
    text = "Budget spent"


class UnsupportedProtocolVersion(RequestError):
    """The peer does not speak this version of the protocol."""

    code = -32022
    text = "Unsupported protocol version"


class RequestCancelled(RequestError):
    """The request was cancelled before it was done."""

    code = -32800
    text = "Request cancelled"


class McpLimitReached(RequestError):
    """Too much is asked of an MCP server over ACP at once, or it answers more than can be sent."""

    code = -33000
    text = "MCP limit reached"


class McpServerUnknown(RequestError):
    """No MCP server is offered over ACP under this id, or not any more."""

    code = -33001
    text = "MCP server unknown"


class McpServerFailed(RequestError):
    """An MCP server that is offered over ACP failed without an answer of its own."""

    code = -33002
    text = "MCP server failed"


class McpCallFailed(AcpError):
    """An MCP server of a session cannot be reached, has ended, takes too long, or has refused."""

    def __init__(self, server: str, problem: str, *, code: int | None = None) -> None:
        super().__init__(f"the MCP server {server} {problem}")
        self.server = server
        """What the server is called."""
        self.code = code
        """The error code of MCP, where the server itself has answered with one."""


class VersionMismatch(AcpError):
    """The two sides have no version of the protocol in common."""


class Unsupported(AcpError):
    """The capability that this needs was not negotiated."""


class JournalError(AcpError):
    """The journal cannot be read or written; the text says why and what to do."""


class NoResult(AcpError):
    """An agent was asked for a value of a certain type and gave none that fits.

    The text says what was wrong with the last one.
    """

    def __init__(self, message: str, *, text: str = "", stop_reason: str = "") -> None:
        super().__init__(message)
        self.text = text
        """What the agent said in its last turn."""
        self.stop_reason = stop_reason
        """Why that turn ended."""


class ModelFailed(AcpError):
    """A model's server gave no answer that can be used."""

    def __init__(self, text: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        """The status of HTTP; 0 if it is not that."""
        self.retry_after = retry_after
        """After how many seconds to try again, if the server says so."""


class ToolError(AcpError):
    """A tool of ours failed, and the agent may know why: raise it in a function that is a tool.

    The text is what the model reads. Of any other exception it learns only that there was one.
    """


class ConfigError(AcpError):
    """A file of the user's cannot be used as it is.

    The text names the file, the place and the way out. It quotes no value, which may be a secret.
    """


class OptionRefused(ConfigError):
    """An agent has no such option, or the option no such value."""


_BY_CODE: dict[int, type[RequestError]] = {
    known.code: known for known in RequestError.__subclasses__()
}


def request_error(code: int, message: str, data: Any | UnsetType = UNSET) -> RequestError:
    """Return the exception for an error object that came over the wire."""
    known = _BY_CODE.get(code)
    return RequestError(message, data, code=code) if known is None else known(message, data)


def told(error: RequestError | Unsupported) -> RequestError:
    """Return what the peer is told about an exception of a handler."""
    return InvalidRequest(str(error)) if isinstance(error, Unsupported) else error
