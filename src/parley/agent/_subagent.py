"""`Subagent`: a child session in which another agent works for a session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from parley.schema import v2

from ._activity import Activity, Outcome
from ._session_state import AgentSessionState, OpenActivity
from ._store import new_id

if TYPE_CHECKING:
    from ._session import AgentSession


_CANCELLABLE = v2.SubagentSessionCapabilities(cancel=v2.SessionCancelCapabilities())
_STOP_REASONS: dict[Outcome, v2.StopReason] = {
    "completed": "end_turn",
    "failed": "error",
    "cancelled": "cancelled",
}


class Subagent(Activity):
    """A subagent: `async with session.subagent("Explore") as explorer`.

    Its updates are sent with the methods of `explorer.session`. If the client does not support
    subagents, nothing about it is sent.
    """

    _noun = "subagent"

    def __init__(
        self,
        parent: AgentSessionState,
        child: AgentSessionState,
        session: AgentSession,
        *,
        title: str,
        description: str | None,
        is_cancellable: bool,
    ) -> None:
        super().__init__(parent, child.id, is_cancellable=is_cancellable)
        self.session = session
        """The subagent's own session; the client cannot prompt it."""
        self._child = child
        self._title = title
        self._description = description

    async def _begin(self) -> None:
        """Report the subagent, and that its session is running."""
        update = v2.SubagentUpdate(
            session_id=self.id,
            title=self._title,
            description=self._description or UNSET,
            capabilities=_CANCELLABLE if self.is_cancellable else UNSET,
            state=v2.RunningStateUpdate(),
        )
        await self._report_if_supported(update)
        await self._child.report_state("running")

    async def _end(self, outcome: Outcome) -> None:
        """Report the end of the subagent and its stop reason."""
        reason = _STOP_REASONS[outcome]
        await self._child.report_state("idle", reason)
        state = v2.IdleStateUpdate(stop_reason=reason)
        await self._report_if_supported(v2.SubagentUpdate(session_id=self.id, state=state))

    def _open(self, task: asyncio.Task[Any] | None) -> OpenActivity:
        background = v2.BackgroundSubagent(session_id=self.id)
        return OpenActivity(self, task, background, self._abandon, self._child)

    async def _report_if_supported(self, update: v2.SessionUpdate) -> None:
        if self._session.adapter.client.subagents:
            await self._report(update)


async def show_message(
    sender: AgentSession, recipient: AgentSession, block: v2.ContentBlock
) -> None:
    """Show in both sessions that one has sent a message to the other."""
    sent, received = new_id("message"), new_id("message")
    for session, id in ((sender, sent), (recipient, received)):
        if sender.client.subagents:
            await session.update(
                v2.SessionMessage(
                    message_id=id,
                    sender_session_id=sender.id,
                    recipient_session_id=recipient.id,
                    sender_message_id=sent if session is recipient else UNSET,
                    recipient_message_id=received if session is sender else UNSET,
                    content=[block],
                )
            )
