"""What moves frames: two ends in one process, this process's stdio, a child process."""

from __future__ import annotations

from .base import MAX_MESSAGE_BYTES, Receiver, Transport
from .child import child_environment
from .memory import MemoryTransport, memory_pair
from .pipe import PipeTransport
from .process import ProcessTransport
from .stdio import StdioTransport

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
