"""JSON-RPC 2.0 as values and a state machine, without I/O, asyncio or ACP.

`_message.py` defines the message types, `_codec.py` decodes and encodes frames, `_peek.py` examines
frames without parsing them, `_framing.py` splits a stream into frames, and `_engine.py` keeps the
state of a connection.
"""

from __future__ import annotations

from ._framing import Frame

__all__ = ["Frame"]
