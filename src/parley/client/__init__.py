"""The client side of the protocol: connect to an agent, open sessions and send prompts.

`connect` yields a `Connection`, `Connection.new_session` returns a `Session`, and `Session.prompt`
returns a `PromptTurn`, which you await or loop over:

    async with connect("opencode acp") as connection:
        session = await connection.new_session()
        async for update in session.prompt("Why do the tests fail?"):
            print(update)

`think` does all of this in one call, for a single prompt.
"""

from __future__ import annotations

from ._connect import connect
from ._connect_options import ConnectOptions
from ._connection import Connection
from ._login import TerminalLogin, run_login
from ._permission_handler import Decide, PermissionDecision, subject_in
from ._session import Session
from ._session_options import SessionOptions
from ._target_settings import Process, Remote
from ._think import think
from ._turn import PromptTurn, TurnResult
from .workspace._files import Buffers
from .workspace._workspace import Guard, Workspace, WorkspaceOptions

__all__ = [
    "Buffers",
    "ConnectOptions",
    "Connection",
    "Decide",
    "Guard",
    "PermissionDecision",
    "Process",
    "PromptTurn",
    "Remote",
    "Session",
    "SessionOptions",
    "TerminalLogin",
    "TurnResult",
    "Workspace",
    "WorkspaceOptions",
    "connect",
    "run_login",
    "subject_in",
    "think",
]
