"""`python -m tests.interop.wire.agent_v1`: an agent for the conversation in version 1."""

from __future__ import annotations

import asyncio
import json

from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer._initialize import respond_to_initialize
from parley.schema import v1
from parley.schema._codec import decode
from parley.schema.v1 import methods

from .agent import SESSION, Agent, serve
from .conversation import updates


class AgentV1(Agent):
    def __init__(self, peer: Peer) -> None:
        super().__init__(peer)
        requests: dict[str, RequestHandler] = {
            "session/new": self.new_session,
            "session/prompt": self.prompt,
        }
        respond_to_initialize(
            peer, self.initialize, lambda agreement: self.agreed(agreement, requests), versions=(1,)
        )

    async def initialize(self, version: int, params: v1.InitializeRequest) -> v1.InitializeResponse:
        me = v1.Implementation(name="interop-agent", version="1.0")
        return v1.InitializeResponse(protocol_version=version, agent_info=me)

    async def new_session(
        self, params: v1.NewSessionRequest, request: RequestContext
    ) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id=SESSION)

    async def prompt(self, params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
        block = params.prompt[0]
        assert isinstance(block, v1.TextContent)
        self.refuse_boom(block.text)
        await self.act(block.text)
        return v1.PromptResponse(stop_reason="cancelled" if request.is_cancelled else "end_turn")

    async def say(self, text: str) -> None:
        await self.send(v1.AgentMessageChunk(content=v1.TextContent(text=text)))

    async def send_all(self) -> None:
        for update in updates(1):
            await self.send(decode(v1.SessionUpdate, json.dumps(update).encode()))

    async def send(self, update: v1.SessionUpdate) -> None:
        note = v1.SessionNotification(session_id=SESSION, update=update)
        await self.peer.notify(methods.UPDATE_SESSION, note)

    async def ask(self) -> str:
        await self.send(v1.ToolCall(tool_call_id="call-1", title="Write"))
        question = v1.RequestPermissionRequest(
            session_id=SESSION,
            tool_call=v1.ToolCallUpdate(tool_call_id="call-1"),
            options=[
                v1.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                v1.PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        answer = await self.peer.request(methods.REQUEST_PERMISSION, question)
        assert isinstance(answer.outcome, v1.SelectedPermissionOutcome)
        return answer.outcome.option_id

    async def read(self, path: str) -> str:
        what = v1.ReadTextFileRequest(session_id=SESSION, path=path, line=2, limit=1)
        return (await self.peer.request(methods.READ_TEXT_FILE, what)).content


if __name__ == "__main__":
    asyncio.run(serve(AgentV1))
