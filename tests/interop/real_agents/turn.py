"""One turn with a real agent, on Parley's wire, that allows everything and reports what it saw."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer.initialize import Agreement, initialize
from parley.schema import v1, v2
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods
from parley.transport import ProcessTransport

from .launch import Launch

__all__ = ["Turn", "take_turn"]

BOUND_SECONDS = 60.0


class Turn(Struct):
    """What happened."""

    version: int = 0
    end: str | None = None
    said: str = ""
    tools: dict[str, str] = field(default_factory=dict[str, str])
    """The last status of each tool call."""
    asked: list[str] = field(default_factory=list[str])
    """What the agent asked the client for, in order."""


def take_turn(launch: Launch, cwd: Path, prompt: str, *, version: int = 1) -> Turn:
    """Start an agent, offer it this version as the newest, prompt it once and end it."""

    async def bounded() -> Turn:
        async with asyncio.timeout(BOUND_SECONDS):
            transport = await ProcessTransport.spawn(launch.command, env=launch.env, cwd=cwd)
            async with Peer(transport, "client", skips_noise=True) as peer:
                return await _converse(peer, cwd, prompt, version)

    return asyncio.run(bounded())


async def _converse(peer: Peer, cwd: Path, prompt: str, version: int) -> Turn:
    turn = Turn()
    clients: dict[int, _ClientV1 | _ClientV2] = {
        1: _ClientV1(peer, turn),
        2: _ClientV2(peer, turn),
    }
    files = v1.FileSystemCapabilities(read_text_file=True, write_text_file=True)
    abilities = v1.ClientCapabilities(fs=files, terminal=True)
    me = v2.Implementation(name="interop-client", version="1.0")
    offers: dict[int, Any] = {
        1: v1.InitializeRequest(protocol_version=1, client_capabilities=abilities),
        2: v2.InitializeRequest(protocol_version=2, info=me),
    }
    if version == 1:
        del offers[2]

    def agreed(agreement: Agreement) -> None:
        clients[agreement.version].use(agreement)

    agreement = await initialize(peer, offers, agreed)
    turn.version = agreement.version
    turn.end = await clients[agreement.version].prompt(cwd, prompt)
    return turn


class _ClientV1:
    def __init__(self, peer: Peer, turn: Turn) -> None:
        self.peer = peer
        self.turn = turn
        self.terminals: dict[str, asyncio.subprocess.Process] = {}

    def use(self, agreement: Agreement) -> None:
        handlers: dict[str, RequestHandler] = {
            "session/request_permission": self.permit,
            "fs/read_text_file": self.read,
            "fs/write_text_file": self.write,
            "terminal/create": self.start,
            "terminal/wait_for_exit": self.wait,
            "terminal/output": self.output,
            "terminal/release": self.release,
        }
        self.peer.use(
            agreement.table, requests=handlers, notifications={"session/update": self.update}
        )

    async def prompt(self, cwd: Path, text: str) -> str:
        here = v1.NewSessionRequest(cwd=str(cwd), mcp_servers=[])
        session = await self.peer.request(v1_methods.NEW_SESSION, here)
        blocks: list[v1.ContentBlock] = [v1.TextContent(text=text)]
        question = v1.PromptRequest(session_id=session.session_id, prompt=blocks)
        return (await self.peer.request(v1_methods.PROMPT, question)).stop_reason

    def update(self, note: v1.SessionNotification) -> None:
        match note.update:
            case v1.AgentMessageChunk(content=v1.TextContent(text=text)):
                self.turn.said += text
            case v1.ToolCall(tool_call_id=call, status=str(status)):
                self.turn.tools[call] = status
            case v1.ToolCallUpdated(tool_call_id=call, status=str(status)):
                self.turn.tools[call] = status
            case _:
                pass

    async def permit(
        self, params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        self.turn.asked.append("permission")
        allowed = next(each for each in params.options if each.kind == "allow_once")
        outcome = v1.SelectedPermissionOutcome(option_id=allowed.option_id)
        return v1.RequestPermissionResponse(outcome=outcome)

    async def read(
        self, params: v1.ReadTextFileRequest, request: RequestContext
    ) -> v1.ReadTextFileResponse:
        self.turn.asked.append("read")
        content = await asyncio.to_thread(Path(params.path).read_text)
        return v1.ReadTextFileResponse(content=content)

    async def write(self, params: v1.WriteTextFileRequest, request: RequestContext) -> None:
        self.turn.asked.append("write")
        await asyncio.to_thread(Path(params.path).write_text, params.content)

    async def start(
        self, params: v1.CreateTerminalRequest, request: RequestContext
    ) -> v1.CreateTerminalResponse:
        self.turn.asked.append("terminal")
        name = f"terminal-{len(self.terminals)}"
        self.terminals[name] = await asyncio.create_subprocess_exec(
            params.command, *params.args, stdout=asyncio.subprocess.PIPE
        )
        return v1.CreateTerminalResponse(terminal_id=name)

    async def wait(
        self, params: v1.WaitForTerminalExitRequest, request: RequestContext
    ) -> v1.WaitForTerminalExitResponse:
        code = await self.terminals[params.terminal_id].wait()
        return v1.WaitForTerminalExitResponse(exit_code=code)

    async def output(
        self, params: v1.TerminalOutputRequest, request: RequestContext
    ) -> v1.TerminalOutputResponse:
        stdout = self.terminals[params.terminal_id].stdout
        assert stdout is not None
        return v1.TerminalOutputResponse(output=(await stdout.read()).decode(), truncated=False)

    async def release(self, params: v1.ReleaseTerminalRequest, request: RequestContext) -> None:
        await self.terminals.pop(params.terminal_id).wait()


class _ClientV2:
    def __init__(self, peer: Peer, turn: Turn) -> None:
        self.peer = peer
        self.turn = turn
        self.idle: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def use(self, agreement: Agreement) -> None:
        self.peer.use(
            agreement.table,
            requests={"session/request_permission": self.permit},
            notifications={"session/update": self.update},
        )

    async def prompt(self, cwd: Path, text: str) -> str | None:
        here = v2.NewSessionRequest(cwd=str(cwd))
        session = await self.peer.request(v2_methods.NEW_SESSION, here)
        blocks: list[v2.ContentBlock] = [v2.TextContent(text=text)]
        question = v2.PromptRequest(session_id=session.session_id, prompt=blocks)
        await self.peer.request(v2_methods.PROMPT, question)
        return await self.idle

    def update(self, note: v2.UpdateSessionNotification) -> None:
        match note.update:
            case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                self.turn.said += text
            case v2.ToolCallUpdated(tool_call_id=call, status=str(status)):
                self.turn.tools[call] = status
            case v2.StateUpdated(state="idle", stop_reason=reason) if reason is not None:
                self.idle.set_result(reason)
            case _:
                pass

    async def permit(
        self, params: v2.RequestPermissionRequest, request: RequestContext
    ) -> v2.RequestPermissionResponse:
        self.turn.asked.append("permission")
        allowed = next(each for each in params.options if each.kind == "allow_once")
        outcome = v2.SelectedPermissionOutcome(option_id=allowed.option_id)
        return v2.RequestPermissionResponse(outcome=outcome)
