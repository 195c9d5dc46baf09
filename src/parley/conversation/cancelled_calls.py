"""What a cancelled turn leaves behind: tool calls that never end, and commands that still run."""

from __future__ import annotations

from collections.abc import Collection

from parley.client import Session
from parley.schema import v2

from .view import View

__all__ = ["statuses", "stop_commands", "tell_cancelled"]


def statuses(session: Session, announced: Collection[str]) -> dict[str, str]:
    """Return how far each tool call is that the view was told of."""
    calls = session.transcript.tool_calls.values()
    return {call.id: call.status for call in calls if call.id in announced}


def tell_cancelled(session: Session, known: dict[str, str], view: View) -> None:
    """Tell the view of the tool calls that we have called cancelled."""
    for call in session.transcript.tool_calls.values():
        if call.id in known and call.status != known[call.id]:
            view.updated(v2.ToolCallUpdated(tool_call_id=call.id, status=call.status))


async def stop_commands(session: Session, known: Collection[str]) -> None:
    """End the commands that we run for a session, but those known; some agents forget theirs."""
    workspace = session.connection.workspace
    if workspace is not None:
        await workspace.stop_commands(session, known)
