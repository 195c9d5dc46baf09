"""Parley: the Agent Client Protocol (ACP) in Python.

The front door: `Agent` is an agent that a program defines, `connect` reaches one, `think` asks it
one thing, and whatever goes wrong is an `AcpError`. `Proxy` is what stands between the two, and
`Conductor` makes a chain of some. The rest is reached by its module: `parley.agent`,
`parley.client` and `parley.proxy` for what these work with, `parley.mcp` for tools,
`parley.testing` for tests without a model, `parley.peer` for a live connection, `parley.transport`
for what carries it, `parley.schema` for the protocol's types in both versions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from parley.errors import (
    AcpError,
    AuthRequired,
    ConnectFailed,
    ConnectionClosed,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NoResult,
    Overloaded,
    ProcessExited,
    ProtocolError,
    RemoteProtocolError,
    RequestCancelled,
    RequestError,
    ResourceNotFound,
    ToolError,
    TransportError,
    Unsupported,
    VersionMismatch,
)

if TYPE_CHECKING:
    from parley.agent import Agent
    from parley.client import connect, think
    from parley.proxy import Conductor, Proxy

__all__ = [
    "AcpError",
    "Agent",
    "AuthRequired",
    "Conductor",
    "ConnectFailed",
    "ConnectionClosed",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "MethodNotFound",
    "NoResult",
    "Overloaded",
    "ProcessExited",
    "ProtocolError",
    "Proxy",
    "RemoteProtocolError",
    "RequestCancelled",
    "RequestError",
    "ResourceNotFound",
    "ToolError",
    "TransportError",
    "Unsupported",
    "VersionMismatch",
    "connect",
    "think",
]

__version__ = "0.1.0"

_LAZY = {
    "Agent": "parley.agent",
    "Conductor": "parley.proxy",
    "Proxy": "parley.proxy",
    "connect": "parley.client",
    "think": "parley.client",
}
"""What is loaded, with the protocol's types, when it is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
