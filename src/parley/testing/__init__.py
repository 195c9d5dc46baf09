"""Test helpers, for Parley's own tests and for yours.

- `pair` connects a client to your agent inside the test process.
- `ScriptedPeer` plays a script of frames; the steps are in `parley.testing.scripted`.
- `Recorder` captures the frames of a connection.
- `Replay` plays back a recorded session as an agent.

The demo agent is in `parley.testing.demo`.
"""

from __future__ import annotations

from parley.proxy._recording.replay import Replay

from ._pair import pair
from ._recorder import CapturedFrame, Recorder
from .scripted import ScriptedPeer, ScriptFailed

__all__ = ["CapturedFrame", "Recorder", "Replay", "ScriptFailed", "ScriptedPeer", "pair"]
