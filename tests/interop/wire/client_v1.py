"""A client on Parley's wire that goes through the conversation in version 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.peer import Peer, RequestContext
from parley.peer._initialize import initialize
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import ProcessTransport

from .client import Client
from .conversation import LINE, PATH

__all__ = ["converse"]


class ClientV1(Client):
    def requests(self) -> dict[str, Any]:
        return {"session/request_permission": self.permit, "fs/read_text_file": self.read}

    async def permit(
        self, params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        options = [option.option_id for option in params.options]
        self.asked = {"toolCallId": params.tool_call.tool_call_id, "options": options}
        chosen = v1.SelectedPermissionOutcome(option_id=options[0])
        return v1.RequestPermissionResponse(outcome=chosen)

    async def read(
        self, params: v1.ReadTextFileRequest, request: RequestContext
    ) -> v1.ReadTextFileResponse:
        self.asked = {"path": params.path, "line": params.line, "limit": params.limit}
        return v1.ReadTextFileResponse(content=LINE)

    async def turn(self, text: str) -> str | None:
        blocks: list[v1.ContentBlock] = [v1.TextContent(text=text)]
        question = v1.PromptRequest(session_id=self.session, prompt=blocks)
        return (await self.peer.request(methods.PROMPT, question)).stop_reason

    async def cancel(self) -> None:
        await self.peer.notify(
            methods.CANCEL_SESSION, v1.CancelNotification(session_id=self.session)
        )

    def text_of(self, update: Any) -> str | None:
        match update:
            case v1.AgentMessageChunk(content=v1.TextContent(text=text)):
                return text
            case _:
                return None


async def converse(command: Sequence[str], *, withdraws: bool = True) -> dict[str, Any]:
    """Start an agent, go through the conversation and return the report."""
    transport = await ProcessTransport.spawn(command)
    async with Peer(transport, "client") as peer:
        client = ClientV1(peer)
        capabilities = v1.ClientCapabilities(fs=v1.FileSystemCapabilities(read_text_file=True))
        offer = v1.InitializeRequest(protocol_version=1, client_capabilities=capabilities)
        agreement = await initialize(peer, {1: offer}, client.agreed)
        name = agreement.result.agent_info.name
        here = v1.NewSessionRequest(cwd="/", mcp_servers=[])
        client.session = (await peer.request(methods.NEW_SESSION, here)).session_id
        report = await client.report(withdraws=withdraws)
        said = await client.ask(f"fs {PATH}")
        return {
            **report,
            "initialize": {"version": agreement.version, "name": name},
            "file": {"asked": client.asked, "said": said},
            "end": await client.turn("flood 1"),
        }
