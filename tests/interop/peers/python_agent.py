"""An agent on the official Python SDK, 0.12.1 and 1.0.0rc3 alike, for the conversation."""

import asyncio
import json
from pathlib import Path
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    run_agent,
)
from acp.schema import (
    Implementation,
    PermissionOption,
    SessionNotification,
    ToolCallStart,
    ToolCallUpdate,
)

UPDATES = Path(__file__).with_name("updates_v1.json")
OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Agent:
    def __init__(self) -> None:
        self.note, self.withdrawn = "", 0
        self.is_cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> InitializeResponse:
        me = Implementation(name="interop-agent", version="1.0")
        return InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_info=me)

    async def new_session(self, cwd: str, **rest: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="session-1")

    async def cancel(self, session_id: str, **rest: Any) -> None:
        self.is_cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **rest: Any) -> PromptResponse:
        text = prompt[0].text
        if text == "boom":
            raise RequestError(-32050, "It went off", {"detail": 42})
        await self.act(session_id, *text.partition(" ")[::2])
        is_cancelled = self.is_cancelled.is_set()
        self.is_cancelled.clear()
        return PromptResponse(stop_reason="cancelled" if is_cancelled else "end_turn")

    async def act(self, session_id: str, word: str, argument: str) -> None:
        if word == "updates":
            for update in json.loads(UPDATES.read_text()):
                await self.send(update)
        elif word == "flood":
            for number in range(int(argument)):
                await self.say(f"chunk {number}")
        elif word == "perm":
            await self.say(f"perm:{await self.ask(session_id)}")
        elif word == "fs":
            file = await self.conn.read_text_file(
                session_id=session_id, path=argument, line=2, limit=1
            )
            await self.say(f"read:{file.content}")
        elif word == "slow":
            await self.say("started")
            await self.is_cancelled.wait()
        elif word == "ext":
            await self.conn.ext_notification("demo/noted", {"text": self.note})
            await self.say(f"ext:{(await self.conn.ext_method('demo/value', {}))['value']}")
        else:
            await self.say(f"unknown:{await self.failure('demo/nothing')}")

    async def failure(self, method: str) -> Any:
        try:
            await self.conn.ext_method(method, {})
        except RequestError as error:
            return error.code
        return None

    async def ask(self, session_id: str) -> Any:
        call = ToolCallStart(session_update="tool_call", tool_call_id="call-1", title="Write")
        await self.conn.session_update(session_id, call)
        answer = await self.conn.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate(tool_call_id="call-1"),
            options=OPTIONS,
        )
        return answer.outcome.option_id

    async def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        await self.send({"sessionUpdate": "agent_message_chunk", "content": content})

    async def send(self, update: dict[str, Any]) -> None:
        note = SessionNotification.model_validate({"sessionId": "session-1", "update": update})
        await self.conn.session_update(note.session_id, note.update)

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "demo/double":
            return {"value": 2 * params["value"]}
        if method == "demo/withdrawn":
            return {"count": self.withdrawn}
        if method == "demo/wait":
            await self.conn.ext_notification("demo/waiting", {})
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.note = params["text"]


if __name__ == "__main__":
    asyncio.run(run_agent(Agent()))
