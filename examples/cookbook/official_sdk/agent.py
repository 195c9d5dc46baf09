"""The agent of `migrated_agent.py`, as it was with the official Python SDK 0.12.1."""

import asyncio
from typing import Any
from uuid import uuid4

from acp import PROTOCOL_VERSION, helpers, run_agent, schema
from acp.interfaces import Client

OPTIONS = [
    schema.PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]


class Janitor:
    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> schema.InitializeResponse:
        info = schema.Implementation(name="janitor", version="1.0")
        return schema.InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_info=info)

    async def new_session(self, cwd: str, **rest: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id=uuid4().hex)

    async def prompt(
        self, session_id: str, prompt: list[Any], **rest: Any
    ) -> schema.PromptResponse:
        name = "".join(each.text for each in prompt if each.type == "text")
        id = uuid4().hex
        call = helpers.start_tool_call(id, f"Delete {name}", kind="delete", status="pending")
        await self.client.session_update(session_id, call)
        asked = await self.client.request_permission(
            session_id, schema.ToolCallUpdate(tool_call_id=id), OPTIONS
        )
        match asked.outcome:
            case schema.AllowedOutcome(option_id="allow"):
                status, result = "completed", "deleted"
            case _:
                status, result = "failed", "still there"
        ended = helpers.update_tool_call(id, status=status)
        await self.client.session_update(session_id, ended)
        text = helpers.update_agent_message_text(f"{name} is {result}.")
        await self.client.session_update(session_id, text)
        return schema.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **rest: Any) -> None:
        pass  # a real agent has to find the turn and stop it


asyncio.run(run_agent(Janitor()))
