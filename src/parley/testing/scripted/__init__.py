"""A scripted peer: it expects and sends frames, waits, sends garbage, hangs up and dies on cue.

`steps.py` says what a script can do, `peer.py` plays it, in this process or as a child.
"""

from __future__ import annotations

from .peer import ScriptedPeer, ScriptFailed
from .steps import (
    Answer,
    Delay,
    Die,
    Exit,
    Expect,
    HangUp,
    Refuse,
    Send,
    SendBytes,
    Stderr,
    Step,
    read_script,
)

__all__ = [
    "Answer",
    "Delay",
    "Die",
    "Exit",
    "Expect",
    "HangUp",
    "Refuse",
    "ScriptFailed",
    "ScriptedPeer",
    "Send",
    "SendBytes",
    "Stderr",
    "Step",
    "read_script",
]
