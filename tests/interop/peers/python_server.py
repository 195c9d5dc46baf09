"""An agent on the official Python SDK behind HTTP and WebSocket: `python_server.py VERSION`.

It prints its port. What a prompt says is what it does; `typescript_server.mjs` is the same agent.
"""

import asyncio
import socket
import sys
from abc import ABC, abstractmethod
from importlib.metadata import version
from typing import Any, ClassVar

import acp
import uvicorn
from acp.http.asgi import create_asgi_app

OLD = ["one", "two", "three"]
"""What was said in the session `old`."""


class Words(ABC):
    """Does what a prompt says."""

    version: ClassVar[int]

    def __init__(self, conn: Any) -> None:
        self.conn = conn
        self.sessions = self.messages = 0
        self.waits: dict[str, asyncio.Event] = {}

    def next_session(self) -> str:
        self.sessions += 1
        return f"s-{self.sessions}"

    def cancelled(self, session_id: str) -> None:
        self.waits[session_id].set()

    @abstractmethod
    async def send(self, session_id: str, **update: Any) -> None:
        """Send an update."""

    @abstractmethod
    async def ask(self, session_id: str) -> Any:
        """Ask for permission and return what was chosen."""

    async def say(self, session_id: str, text: str) -> None:
        message = {"messageId": f"m-{self.messages}"} if self.version == 2 else {}
        content = {"type": "text", "text": text}
        chunk = {"sessionUpdate": "agent_message_chunk", **message, "content": content}
        await self.send(session_id, **chunk)

    async def act(self, session_id: str, text: str) -> str:
        word, _, rest = text.partition(" ")
        self.messages += 1
        if word == "flood":
            for number in range(int(rest)):
                await self.say(session_id, f"{number} ")
        elif word == "big":
            await self.say(session_id, "x" * int(rest))
        elif word == "measure":
            await self.say(session_id, str(len(text)))
        elif word == "ask":
            await self.say(session_id, await self.ask(session_id))
        elif word == "wait":
            event = self.waits[session_id] = asyncio.Event()
            await self.say(session_id, "waiting")
            await event.wait()
            return "cancelled"
        return "end_turn"


class AgentV1(Words):
    version = 1

    async def initialize(self, **rest: Any) -> Any:
        capabilities: dict[str, Any] = {"loadSession": True}
        if not version("agent-client-protocol").startswith("0."):  # it was a draft then
            capabilities["sessionCapabilities"] = {"close": {}}
        answer = {"protocolVersion": 1, "agentCapabilities": capabilities}
        return acp.InitializeResponse.model_validate(answer)

    async def new_session(self, **rest: Any) -> Any:
        return acp.NewSessionResponse(session_id=self.next_session())

    async def load_session(self, session_id: str, **rest: Any) -> Any:
        for text in OLD:
            await self.say(session_id, text)
        return acp.LoadSessionResponse()

    async def close_session(self, session_id: str, **rest: Any) -> Any:
        return acp.schema.CloseSessionResponse()

    async def cancel(self, session_id: str, **rest: Any) -> None:
        self.cancelled(session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **rest: Any) -> Any:
        reason = await self.act(session_id, prompt[0].text)
        return acp.PromptResponse.model_validate({"stopReason": reason})

    async def send(self, session_id: str, **update: Any) -> None:
        whole = {"sessionId": session_id, "update": update}
        note = acp.schema.SessionNotification.model_validate(whole)
        await self.conn.session_update(session_id, note.update)

    async def ask(self, session_id: str) -> Any:
        call = {"toolCallId": "call-1", "title": "Write"}
        await self.send(session_id, sessionUpdate="tool_call", **call)
        answer = await self.conn.request_permission(
            session_id=session_id,
            tool_call=acp.schema.ToolCallUpdate.model_validate(call),
            options=[acp.schema.PermissionOption(option_id="yes", name="Y", kind="allow_once")],
        )
        return answer.outcome.option_id


class AgentV2(Words):
    version = 2

    def __init__(self, conn: Any) -> None:
        from acp.experimental.v2 import schema  # only the newer SDK has it

        super().__init__(conn)
        self.schema = schema
        self.turns: list[asyncio.Task[None]] = []

    async def initialize(self, **rest: Any) -> Any:
        info = {"name": "remote", "version": "1.0"}
        answer = {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
        return self.schema.InitializeResponse.model_validate(answer)

    async def new_session(self, **rest: Any) -> Any:
        return self.schema.NewSessionResponse(session_id=self.next_session())

    async def resume_session(self, session_id: str, **rest: Any) -> Any:
        for text in OLD:
            self.messages += 1
            await self.say(session_id, text)
        return self.schema.ResumeSessionResponse()

    async def close_session(self, session_id: str, **rest: Any) -> Any:
        return self.schema.CloseSessionResponse()

    async def cancel_session(self, session_id: str, **rest: Any) -> None:
        self.cancelled(session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **rest: Any) -> Any:
        self.messages += 1
        message, text = f"user-{self.messages}", prompt[0].text
        content = [{"type": "text", "text": text}]
        await self.send(
            session_id, sessionUpdate="user_message", messageId=message, content=content
        )
        self.turns.append(asyncio.create_task(self.turn(session_id, text)))
        return self.schema.PromptResponse(message_id=message)

    async def turn(self, session_id: str, text: str) -> None:
        await self.send(session_id, sessionUpdate="state_update", state="running")
        reason = await self.act(session_id, text)
        state = {"sessionUpdate": "state_update", "state": "idle", "stopReason": reason}
        await self.send(session_id, **state)

    async def send(self, session_id: str, **update: Any) -> None:
        note = self.schema.UpdateSessionNotification.model_validate(
            {"sessionId": session_id, "update": update}
        )
        await self.conn.session_update(session_id, note.update)

    async def ask(self, session_id: str) -> Any:
        call = {"toolCallId": "call-1", "title": "Write"}
        answer = await self.conn.request_permission(
            session_id=session_id,
            title="May I?",
            subject=self.schema.ToolCallPermissionSubjectVariant.model_validate(
                {"type": "tool_call", "toolCall": call}
            ),
            options=[self.schema.PermissionOption(option_id="yes", name="Y", kind="allow_once")],
        )
        return answer.outcome.option_id


def factory(wanted: int) -> Any:
    if wanted == 1:
        return AgentV1
    from acp.experimental.negotiation import AgentProtocolRouter

    return AgentProtocolRouter(v2=AgentV2)


async def serve(wanted: int) -> None:
    config = uvicorn.Config(create_asgi_app(factory(wanted)), log_level="warning")
    server = uvicorn.Server(config)
    # Said to be TCP, so that asyncio switches off Nagle's algorithm on its connections.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(100)
        serving = asyncio.create_task(server.serve([listening]))
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        server.force_exit = server.should_exit = True
        await serving


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
