"""The agent of `migrated_agent.py`, as it was with the official Python SDK 0.12.1."""

import asyncio
from typing import Any
from uuid import uuid4

from acp import (
    PROTOCOL_VERSION,
    run_agent,
    start_tool_call,
    update_agent_message_text,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    TextContentBlock,
    ToolCallUpdate,
)

OPTIONS = [
    PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]


class Janitor:
    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> InitializeResponse:
        info = Implementation(name="janitor", version="1.0")
        return InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_info=info)

    async def new_session(self, cwd: str, **rest: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=uuid4().hex)

    async def prompt(self, session_id: str, prompt: list[Any], **rest: Any) -> PromptResponse:
        name = "".join(each.text for each in prompt if isinstance(each, TextContentBlock))
        id = uuid4().hex
        call = start_tool_call(id, f"Delete {name}", kind="delete", status="pending")
        await self.client.session_update(session_id, call)
        asked = await self.client.request_permission(
            session_id, ToolCallUpdate(tool_call_id=id), OPTIONS
        )
        outcome = asked.outcome
        is_allowed = isinstance(outcome, AllowedOutcome) and outcome.option_id == "allow"
        status = "completed" if is_allowed else "failed"
        await self.client.session_update(session_id, update_tool_call(id, status=status))
        text = f"{name} is {'deleted' if is_allowed else 'still there'}."
        await self.client.session_update(session_id, update_agent_message_text(text))
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **rest: Any) -> None:
        pass  # a real agent has to find the turn and stop it


asyncio.run(run_agent(Janitor()))
