"""An agent on the bare wire: one peer, one version, a prompt that streams its answer."""

import asyncio
from typing import Any

from parley.peer import Negotiated, Peer, RequestContext, respond_to_initialize
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import StdioTransport


async def describe(version: int, request: Any) -> v1.InitializeResponse:
    return v1.InitializeResponse(
        protocol_version=version, agent_info=v1.Implementation(name="wire-agent", version="0.1.0")
    )


async def new_session(
    params: v1.NewSessionRequest, request: RequestContext
) -> v1.NewSessionResponse:
    return v1.NewSessionResponse(session_id="session-1")


async def prompt(params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
    async def say(update: v1.SessionUpdate) -> None:
        note = v1.SessionNotification(session_id=params.session_id, update=update)
        await request.peer.notify(methods.UPDATE_SESSION, note)

    text = "".join(block.text for block in params.prompt if isinstance(block, v1.TextContent))
    await say(v1.AgentThoughtChunk(content=v1.TextContent(text="They want it word by word.")))
    await say(v1.ToolCall(tool_call_id="call-1", title="Count the words", kind="think"))
    count = len(text.split())
    await say(v1.ToolCallUpdated(tool_call_id="call-1", status="completed", raw_output=count))
    for word in f"You said {count} words: {text}".split():
        await say(v1.AgentMessageChunk(content=v1.TextContent(text=word + " ")))
    return v1.PromptResponse(stop_reason="end_turn")


async def main() -> None:
    peer = Peer(StdioTransport(), "agent")

    def agreed(agreement: Negotiated) -> None:
        peer.set_handlers(
            agreement.table, requests={"session/new": new_session, "session/prompt": prompt}
        )

    respond_to_initialize(peer, describe, agreed, versions=(1,))
    print("This goes to stderr: stdout belongs to the protocol.")
    async with peer:
        await peer.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
