"""Transports, which carry frames to a peer and back.

- `memory_pair` connects two peers in one process.
- `StdioTransport` uses this process's stdin and stdout.
- `ProcessTransport` starts a child process and uses its stdin and stdout.
- `PipeTransport` uses any two file descriptors.

Implement the `Transport` protocol to add your own. HTTP and WebSocket are in
`parley.transport.http`.
"""

from __future__ import annotations

from ._base import MAX_MESSAGE_BYTES, Receiver, Transport
from ._child_process import child_environment
from ._memory import MemoryTransport, memory_pair
from ._pipe import PipeTransport
from ._process import ProcessTransport
from ._stdio import StdioTransport

__all__ = [
    "MAX_MESSAGE_BYTES",
    "MemoryTransport",
    "PipeTransport",
    "ProcessTransport",
    "Receiver",
    "StdioTransport",
    "Transport",
    "child_environment",
    "memory_pair",
]
