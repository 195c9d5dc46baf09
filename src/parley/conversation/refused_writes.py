"""Tool calls that failed because this client did not write a file for the agent.

An agent that is offered the file methods of a client writes through them, and often has no other
way. If the client refuses, the agent reports a failed edit, and the reason is in no update. A write
that the user or a rule denied was meant to fail: the hint is not given for it.
"""

from __future__ import annotations

import asyncio
import os

from parley._display_text import sanitize_text
from parley.client import PermissionDecision, Session
from parley.errors import RequestError
from parley.policy import subject_of
from parley.policy._off_loop import run_off_loop
from parley.policy._request import is_small
from parley.schema import v2
from parley.session._transcript_entries import ToolCallEntry

__all__ = ["RefusedWrites"]

_MAX_CALLS = 1_000
_MAX_PATHS = 1_000
_LONGEST_REASON = 200


class RefusedWrites:
    """Finds the failed tool calls of a turn whose file the client refused to write."""

    def __init__(self) -> None:
        self._refusals: dict[str, str] = {}
        """The reasons by path."""
        self._denied: set[str] = set()
        self._failed: dict[str, None] = {}
        self._was_given = False

    def add_refusal(self, session: Session, path: str, error: RequestError) -> None:
        """Note that a file was not written."""
        del session
        if len(self._refusals) < _MAX_PATHS:
            self._refusals[os.path.normpath(path)] = error.message

    def add_decision(self, decision: PermissionDecision) -> None:
        """Note what the user or a rule denied."""
        is_deliberate = decision.by == "user" or decision.verdict.decision == "deny"
        if not decision.is_allowed and is_deliberate and len(self._denied) < _MAX_PATHS:
            self._denied.update(decision.subject.paths)

    def add_update(self, update: v2.SessionUpdate) -> None:
        """Note the tool calls that fail."""
        if (
            isinstance(update, v2.ToolCallUpdate)
            and update.status == "failed"
            and len(self._failed) < _MAX_CALLS
        ):
            self._failed[update.tool_call_id] = None

    async def hint(self, session: Session, agent: str) -> str:
        """Return a hint about the first such call since the last turn, once; else nothing.

        Args:
            session: The session whose turn has ended.
            agent: The name of the agent for people.
        """
        refusals, denied, failed = self._refusals, self._denied, list(self._failed)
        self._refusals, self._denied, self._failed = {}, set(), {}
        if self._was_given or not refusals:
            return ""
        cwd = session.cwd or str(session.connection.cwd)
        for tool_call_id in failed:
            call = session.transcript.tool_calls.get(tool_call_id)
            if call is None:
                continue
            paths = await run_off_loop(is_small(call), _paths_of, call, session.id, cwd)
            for path, reason in refusals.items():
                # A request for permission names the real path.
                if path in paths and await asyncio.to_thread(os.path.realpath, path) not in denied:
                    self._was_given = True
                    return _hint(agent, path, reason)
        return ""


def _paths_of(call: ToolCallEntry, session_id: str, cwd: str) -> set[str]:
    """Return the files that a tool call is about."""
    request = v2.RequestPermissionRequest(
        session_id=session_id,
        subject=v2.ToolCallPermissionSubject(tool_call=v2.ToolCallUpdate(tool_call_id=call.id)),
        title="",
        options=[],
    )
    return set(subject_of(request, call, cwd).paths)


def _hint(agent: str, path: str, reason: str) -> str:
    what = sanitize_text(path, is_line=True)
    why = sanitize_text(reason[:_LONGEST_REASON], is_line=True)
    return (
        f"{agent} could not write {what} through Parley ({why}). With --no-workspace, it is "
        "offered no files and terminals of Parley and uses its own. Rules then only hold if it asks"
    )
