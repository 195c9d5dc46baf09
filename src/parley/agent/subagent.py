"""A session below a session, in which an agent lets another one work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from parley.schema import v2
from parley.schema.v2 import unstable

from .part import Outcome, Part
from .store import new_id

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Subagent", "show_message"]

_CANCELLABLE = unstable.SubagentSessionCapabilities(cancel=unstable.SessionCancelCapabilities())
_REASONS: dict[Outcome, v2.StopReason] = {
    "completed": "end_turn",
    "failed": "error",
    "cancelled": "cancelled",
}


class Subagent(Part):
    """One subagent, as `async with session.subagent("Explore") as explorer`.

    What it does is said in `explorer.session`. A client that takes no subagents hears nothing.
    """

    def __init__(
        self,
        owner: Session,
        session: Session,
        *,
        title: str,
        description: str | None,
        is_cancellable: bool,
    ) -> None:
        super().__init__(owner, session.id, is_cancellable=is_cancellable)
        self.session = session
        """The subagent's own session; nobody can prompt it."""
        self._title = title
        self._description = description

    async def begin(self) -> None:
        """Announce the subagent."""
        update = unstable.SubagentUpdate(
            session_id=self.id,
            title=self._title,
            description=self._description or UNSET,
            capabilities=_CANCELLABLE if self.is_cancellable else UNSET,
            state=v2.RunningStateUpdate(),
        )
        await self._tell(update)
        await self.session.enter("running")

    async def end(self, outcome: Outcome) -> None:
        """Report how it ended."""
        reason = _REASONS[outcome]
        await self.session.enter("idle", reason)
        state = v2.IdleStateUpdate(stop_reason=reason)
        await self._tell(unstable.SubagentUpdate(session_id=self.id, state=state))

    def as_background(self) -> v2.BackgroundWork:
        """Return how it is called when it runs on behind the end of a turn."""
        return unstable.BackgroundSubagent(session_id=self.id)

    async def _tell(self, update: v2.SessionUpdate) -> None:
        if self.owner.client.subagents:
            await self.tell(update)


async def show_message(sender: Session, recipient: Session, block: v2.ContentBlock) -> None:
    """Show in both sessions that one has sent the other a message."""
    sent, received = new_id("message"), new_id("message")
    for session, id in ((sender, sent), (recipient, received)):
        if sender.client.subagents:
            await session.update(
                unstable.SessionMessage(
                    message_id=id,
                    sender_session_id=sender.id,
                    recipient_session_id=recipient.id,
                    sender_message_id=sent if session is recipient else UNSET,
                    recipient_message_id=received if session is sender else UNSET,
                    content=[block],
                )
            )
