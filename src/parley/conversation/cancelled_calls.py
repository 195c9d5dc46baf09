"""Tool calls that never end after their turn was cancelled, and commands that still run."""

from __future__ import annotations

from collections.abc import Collection

from parley.client import Session
from parley.schema import v2

from .view import View

__all__ = ["call_statuses", "show_cancelled_calls", "stop_commands"]


def call_statuses(session: Session, announced: Collection[str]) -> dict[str, str]:
    """Return the status of each tool call that the view knows, by id."""
    calls = session.transcript.tool_calls.values()
    return {call.id: call.status for call in calls if call.id in announced}


def show_cancelled_calls(session: Session, before: dict[str, str], view: View) -> None:
    """Show the tool calls that were marked as cancelled here."""
    for call in session.transcript.tool_calls.values():
        if call.id in before and call.status != before[call.id]:
            view.updated(v2.ToolCallUpdated(tool_call_id=call.id, status=call.status))


async def stop_commands(session: Session, earlier: Collection[str]) -> None:
    """End the commands that we run for a session, except earlier ones; some agents forget them."""
    workspace = session.connection.workspace
    if workspace is not None:
        await workspace.stop_commands(session, earlier)
