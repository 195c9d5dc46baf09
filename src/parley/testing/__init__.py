"""What tests import, Parley's own and its users': a joined pair, scripted and recorded peers.

The demo agent is in `parley.testing.demo`, the steps of a script in `parley.testing.scripted`.
"""

from __future__ import annotations

from parley.proxy.recording.replay import Replay

from .pair import pair
from .recorder import Recorded, Recorder
from .scripted import ScriptedPeer, ScriptFailed

__all__ = ["Recorded", "Recorder", "Replay", "ScriptFailed", "ScriptedPeer", "pair"]
