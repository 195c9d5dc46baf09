"""`python -m tests.interop.wire.agent_v2`: an agent for the conversation in version 2."""

from __future__ import annotations

import asyncio
import json

from parley.errors import MethodNotFound
from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer._initialize import respond_to_initialize
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema.v2 import methods

from .agent import SESSION, Agent, serve
from .conversation import updates


class AgentV2(Agent):
    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        self.turns: list[asyncio.Task[None]] = []
        requests: dict[str, RequestHandler] = {
            "session/new": self.new_session,
            "session/prompt": self.prompt,
        }
        respond_to_initialize(
            peer, self.initialize, lambda agreement: self.agreed(agreement, requests), versions=(2,)
        )

    async def initialize(self, version: int, params: v2.InitializeRequest) -> v2.InitializeResponse:
        me = v2.Implementation(name="interop-agent", version="1.0")
        return v2.InitializeResponse(protocol_version=version, info=me)

    async def new_session(
        self, params: v2.NewSessionRequest, request: RequestContext
    ) -> v2.NewSessionResponse:
        return v2.NewSessionResponse(session_id=SESSION)

    async def prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        block = params.prompt[0]
        assert isinstance(block, v2.TextContent)
        text = block.text
        self.refuse_boom(text)
        message = f"user-{len(self.turns)}"
        request.after_response(
            lambda: self.turns.append(asyncio.create_task(self.turn(message, text)))
        )
        return v2.PromptResponse(message_id=message)

    async def turn(self, message: str, text: str) -> None:
        await self.send(v2.UserMessage(message_id=message, content=[v2.TextContent(text=text)]))
        await self.send(v2.StateUpdated(state="running"))
        await self.act(text)
        reason = "cancelled" if self.is_cancelled.is_set() else "end_turn"
        self.is_cancelled.clear()
        await self.send(v2.StateUpdated(state="idle", stop_reason=reason))

    async def say(self, text: str) -> None:
        content = v2.TextContent(text=text)
        await self.send(v2.AgentMessageChunk(message_id="agent-1", content=content))

    async def send_all(self) -> None:
        for update in updates(2):
            await self.send(decode(v2.SessionUpdate, json.dumps(update).encode()))

    async def send(self, update: v2.SessionUpdate) -> None:
        note = v2.UpdateSessionNotification(session_id=SESSION, update=update)
        await self.peer.notify(methods.UPDATE_SESSION, note)

    async def ask(self) -> str:
        call = v2.ToolCallUpdate(tool_call_id="call-1", title="Write")
        question = v2.RequestPermissionRequest(
            session_id=SESSION,
            title="May I write?",
            subject=v2.ToolCallPermissionSubject(tool_call=call),
            options=[
                v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        answer = await self.peer.request(methods.REQUEST_PERMISSION, question)
        assert isinstance(answer.outcome, v2.SelectedPermissionOutcome)
        return answer.outcome.option_id

    async def read(self, path: str) -> str:
        raise MethodNotFound(f"Version 2 has no files: {path}")


if __name__ == "__main__":
    asyncio.run(serve(AgentV2))
