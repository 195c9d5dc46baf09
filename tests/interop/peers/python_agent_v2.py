"""An agent on the official Python SDK's experimental version 2, for the conversation."""

import asyncio
import json
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.experimental.v2 import run_agent, schema

UPDATES = Path(__file__).with_name("updates_v2.json")
SESSION = "session-1"
OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Agent:
    def __init__(self) -> None:
        self.note, self.withdrawn = "", 0
        self.is_cancelled = asyncio.Event()
        self.turns: list[asyncio.Task[None]] = []

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> schema.InitializeResponse:
        me = schema.Implementation(name="interop-agent", version="1.0")
        return schema.InitializeResponse(protocol_version=2, info=me)

    async def new_session(self, cwd: str, **rest: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id=SESSION)

    async def cancel_session(self, session_id: str, **rest: Any) -> None:
        self.is_cancelled.set()

    async def prompt(
        self, session_id: str, prompt: list[Any], **rest: Any
    ) -> schema.PromptResponse:
        text = prompt[0].text
        if text == "boom":
            raise RequestError(-32050, "It went off", {"detail": 42})
        message = f"user-{len(self.turns)}"
        content = [{"type": "text", "text": text}]
        await self.send(sessionUpdate="user_message", messageId=message, content=content)
        self.turns.append(asyncio.create_task(self.turn(text)))
        return schema.PromptResponse(message_id=message)

    async def turn(self, text: str) -> None:
        await self.send(sessionUpdate="state_update", state="running")
        await self.act(*text.partition(" ")[::2])
        reason = "cancelled" if self.is_cancelled.is_set() else "end_turn"
        self.is_cancelled.clear()
        await self.send(sessionUpdate="state_update", state="idle", stopReason=reason)

    async def act(self, word: str, argument: str) -> None:
        if word == "updates":
            for update in json.loads(UPDATES.read_text()):
                await self.send(**update)
        elif word == "flood":
            for number in range(int(argument)):
                await self.say(f"chunk {number}")
        elif word == "perm":
            await self.say(f"perm:{await self.ask()}")
        elif word == "slow":
            await self.say("started")
            await self.is_cancelled.wait()
        elif word == "ext":
            await self.conn.send_extension_notification("_demo/noted", {"text": self.note})
            value = (await self.conn.send_extension_request("_demo/value", {}))["value"]
            await self.say(f"ext:{value}")
        elif word == "unknown":
            try:
                await self.conn.send_extension_request("_demo/nothing", {})
            except RequestError as error:
                await self.say(f"unknown:{error.code}")

    async def ask(self) -> Any:
        call = {"toolCallId": "call-1", "title": "Write"}
        subject = schema.ToolCallPermissionSubjectVariant.model_validate(
            {"type": "tool_call", "toolCall": call}
        )
        answer = await self.conn.request_permission(
            session_id=SESSION, title="May I write?", subject=subject, options=OPTIONS
        )
        return answer.outcome.option_id

    async def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        await self.send(sessionUpdate="agent_message_chunk", messageId="agent-1", content=content)

    async def send(self, **update: Any) -> None:
        note = schema.UpdateSessionNotification.model_validate(
            {"sessionId": SESSION, "update": update}
        )
        await self.conn.session_update(note.session_id, note.update)

    async def handle_extension_request(self, method: str, params: Any) -> Any:
        if method == "_demo/double":
            return {"value": 2 * params["value"]}
        if method == "_demo/withdrawn":
            return {"count": self.withdrawn}
        if method == "_demo/wait":
            await self.conn.send_extension_notification("_demo/waiting", {})
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        raise RequestError.method_not_found(method)

    async def handle_extension_notification(self, method: str, params: Any) -> None:
        self.note = params["text"]


if __name__ == "__main__":
    asyncio.run(run_agent(Agent()))
