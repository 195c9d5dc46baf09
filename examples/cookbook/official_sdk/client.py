"""The client of `migrated_client.py`, as it was with the official Python SDK 0.12.1."""

import asyncio
import shlex
import sys
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)


class Client:
    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContentBlock):
            print(update.content.text)

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **rest: Any,
    ) -> RequestPermissionResponse:
        for option in options:
            if option.kind == "allow_once":
                allowed = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=allowed)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    def on_connect(self, conn: Any) -> None:
        pass


async def main(target: str) -> None:
    async with spawn_agent_process(Client(), *shlex.split(target)) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = await agent.new_session(cwd="/tmp", mcp_servers=[])
        result = await agent.prompt(session.session_id, [text_block("notes.txt")])
        print(result.stop_reason)


asyncio.run(main(sys.argv[1]))
