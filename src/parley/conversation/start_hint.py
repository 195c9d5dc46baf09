"""Hints about an agent that does not start: is it slow, or is it not an agent?

A configured agent has the right command, or had it once; a command of the command line is often
that of a program that needs an argument to speak the protocol.
"""

from __future__ import annotations

from parley._display_text import sanitize_text
from parley.client._resolve import Resolved
from parley.transport._target import is_remote

__all__ = ["WRONG_COMMAND", "start_hint"]

WRONG_COMMAND = (
    "it has not responded; is this the command that starts an agent? "
    'Many need an argument for it, as in -a "opencode acp"'
)


def start_hint(agent: Resolved, seconds: float) -> str:
    """Return what to show the user if an agent has not responded to `initialize` for a while.

    Args:
        agent: The agent.
        seconds: How long it has had.
    """
    is_elsewhere = isinstance(agent.target, str) and is_remote(agent.target)
    if not (agent.name or agent.is_demo or is_elsewhere):
        return WRONG_COMMAND
    label = sanitize_text(agent.label, is_line=True)
    verb = "to respond" if is_elsewhere else "to start"
    return f"{label} is slow {verb}: nothing for {seconds:g} seconds"
