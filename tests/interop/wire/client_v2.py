"""A client on Parley's wire that goes through the conversation in version 2."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from parley.peer import Peer, RequestContext
from parley.peer._initialize import initialize
from parley.schema import v2
from parley.schema.v2 import methods
from parley.transport import ProcessTransport

from .client import Client

__all__ = ["converse"]


class ClientV2(Client):
    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self.states: list[str] = []
        self.user_messages: list[str] = []
        self.idle: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def requests(self) -> dict[str, Any]:
        return {"session/request_permission": self.permit}

    def update(self, note: v2.UpdateSessionNotification) -> None:
        match note.update:
            case v2.StateUpdated(state=state, stop_reason=reason):
                self.states.append(f"{state} {reason}" if reason else str(state))
                if state == "idle":
                    self.idle.set_result(reason)
            case v2.UserMessage(message_id=message):
                self.user_messages.append(message)
            case _:
                super().update(note)

    async def permit(
        self, params: v2.RequestPermissionRequest, request: RequestContext
    ) -> v2.RequestPermissionResponse:
        assert isinstance(params.subject, v2.ToolCallPermissionSubject)
        options = [option.option_id for option in params.options]
        self.asked = {"toolCallId": params.subject.tool_call.tool_call_id, "options": options}
        chosen = v2.SelectedPermissionOutcome(option_id=options[0])
        return v2.RequestPermissionResponse(outcome=chosen)

    async def turn(self, text: str) -> str | None:
        self.states, self.user_messages = [], []
        self.idle = asyncio.get_running_loop().create_future()
        blocks: list[v2.ContentBlock] = [v2.TextContent(text=text)]
        question = v2.PromptRequest(session_id=self.session, prompt=blocks)
        accepted = await self.peer.request(methods.PROMPT, question)
        reason = await self.idle
        self.has_message = self.user_messages == [accepted.message_id]
        return reason

    async def cancel(self) -> None:
        await self.peer.notify(
            methods.CANCEL_SESSION, v2.CancelSessionNotification(session_id=self.session)
        )

    def text_of(self, update: Any) -> str | None:
        match update:
            case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                return text
            case _:
                return None


async def converse(command: Sequence[str], *, withdraws: bool = True) -> dict[str, Any]:
    """Start an agent, go through the conversation and return the report."""
    transport = await ProcessTransport.spawn(command)
    async with Peer(transport, "client") as peer:
        client = ClientV2(peer)
        me = v2.Implementation(name="interop-client", version="1.0")
        offer = v2.InitializeRequest(protocol_version=2, info=me)
        agreement = await initialize(peer, {2: offer}, client.agreed)
        session = await peer.request(methods.NEW_SESSION, v2.NewSessionRequest(cwd="/"))
        client.session = session.session_id
        report = await client.report(withdraws=withdraws)
        await client.turn("flood 1")
        return {
            **report,
            "initialize": {"version": agreement.version, "name": agreement.result.info.name},
            "states": client.states,
            "has_message": client.has_message,
        }
