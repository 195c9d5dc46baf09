"""Parley: the Agent Client Protocol (ACP) in Python.

The main entry points: define an agent with `Agent`, connect to one with `connect`, or ask one a
single question with `think`. All errors are an `AcpError`. A `Proxy` sits between a client and an
agent, and a `Conductor` runs a chain of proxies.

Everything else is in modules: `parley.agent`, `parley.client` and `parley.proxy` for the types
that these work with, `parley.mcp` for tools, `parley.testing` for tests without a model,
`parley.peer` for a live connection, `parley.transport` for transports, and `parley.schema` for the
protocol types of both versions.
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
"""Names that are imported on first access, because they load the protocol types."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
