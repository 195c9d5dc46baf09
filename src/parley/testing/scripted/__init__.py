"""A scripted peer: it expects and sends frames, waits, sends garbage, hangs up and dies on cue.

A script is a list of steps, such as `Expect` and `Respond`. `ScriptedPeer` plays it, in this
process or as a child process; `read_script` reads one from JSON.
"""

from __future__ import annotations

from ._peer import ScriptedPeer, ScriptFailed
from ._steps import (
    Delay,
    Die,
    Exit,
    Expect,
    HangUp,
    Respond,
    RespondWithError,
    Send,
    SendBytes,
    Stderr,
    Step,
    read_script,
)

__all__ = [
    "Delay",
    "Die",
    "Exit",
    "Expect",
    "HangUp",
    "Respond",
    "RespondWithError",
    "ScriptFailed",
    "ScriptedPeer",
    "Send",
    "SendBytes",
    "Stderr",
    "Step",
    "read_script",
]
