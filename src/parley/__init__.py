"""Parley: the Agent Client Protocol (ACP) in Python.

The front door. The wire layers are reached by their module: `parley.peer` for a live connection,
`parley.transport` for what carries it, `parley.schema` for the protocol's types in both versions.
"""

from __future__ import annotations

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

__all__ = [
    "AcpError",
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
]

__version__ = "0.1.0"
