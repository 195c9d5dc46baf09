"""Parley: the Agent Client Protocol (ACP) in Python.

The front door. The wire layers are reached by their module: `parley.peer` for a live connection,
`parley.transport` for what carries it, `parley.schema` for the protocol's types in both versions.
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
    Overloaded,
    ProcessExited,
    ProtocolError,
    RemoteProtocolError,
    RequestCancelled,
    RequestError,
    ResourceNotFound,
    TransportError,
    Unsupported,
    VersionMismatch,
)

if TYPE_CHECKING:
    from parley.agent import Agent
    from parley.client import connect

__all__ = [
    "AcpError",
    "Agent",
    "AuthRequired",
    "ConnectFailed",
    "ConnectionClosed",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "MethodNotFound",
    "Overloaded",
    "ProcessExited",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestCancelled",
    "RequestError",
    "ResourceNotFound",
    "TransportError",
    "Unsupported",
    "VersionMismatch",
    "connect",
]

__version__ = "0.1.0"

_LAZY = {"Agent": "parley.agent", "connect": "parley.client"}
"""What is loaded, with the protocol's types, when it is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
