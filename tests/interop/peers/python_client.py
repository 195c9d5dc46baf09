"""A client on the official Python SDK, 0.12.1 and 1.0.0rc3 alike, for the conversation.

`python_client.py [--no-withdrawal] COMMAND…` starts the agent and prints what it saw as JSON.
"""

import argparse
import asyncio
import json
import os
import sys
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
)


class Client:
    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: Any = None
        self.noted: list[str] = []
        self.has_started = asyncio.Event()
        self.is_waiting = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        plain = update.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        self.updates.append(plain)
        if self.said()[-1:] == ["started"]:
            self.has_started.set()

    def said(self) -> list[str]:
        return [
            update["content"]["text"]
            for update in self.updates
            if update["sessionUpdate"] == "agent_message_chunk" and "text" in update["content"]
        ]

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **rest: Any
    ) -> RequestPermissionResponse:
        names = [option.option_id for option in options]
        self.asked = {"toolCallId": tool_call.tool_call_id, "options": names}
        outcome = AllowedOutcome(outcome="selected", option_id=names[0])
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self, session_id: str, path: str, line: Any = None, limit: Any = None, **rest: Any
    ) -> ReadTextFileResponse:
        self.asked = {"path": path, "line": line, "limit": limit}
        return ReadTextFileResponse(content="zweite Zeile 🦜\n")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "demo/value":
            return {"value": 7}
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "demo/waiting":
            self.is_waiting.set()
        else:
            self.noted.append(params["text"])


class Conversation:
    def __init__(self, client: Client, conn: Any, session: str) -> None:
        self.client, self.conn, self.session = client, conn, session

    async def turn(self, text: str) -> Any:
        self.client.updates = []
        block = TextContentBlock(type="text", text=text)
        return (await self.conn.prompt(session_id=self.session, prompt=[block])).stop_reason

    async def ask(self, text: str) -> list[str]:
        await self.turn(text)
        return self.client.said()

    async def cancelled(self) -> Any:
        turn = asyncio.create_task(self.turn("slow"))
        await self.client.has_started.wait()
        await self.conn.cancel(session_id=self.session)
        return await turn

    async def withdrawn(self) -> Any:
        call = asyncio.create_task(self.conn.ext_method("demo/wait", {}))
        await self.client.is_waiting.wait()
        call.cancel()
        await asyncio.wait([call])
        return (await self.conn.ext_method("demo/withdrawn", {}))["count"]

    async def report(self, withdraws: bool) -> dict[str, Any]:
        client = self.client
        report: dict[str, Any] = {}
        report["end"] = await self.turn("updates")
        report["updates"] = client.updates
        report["order"] = await self.ask("flood 300")
        said = await self.ask("perm")
        report["permission"] = {"asked": client.asked, "said": said}
        said = await self.ask("fs /notes/today.md")
        report["file"] = {"asked": client.asked, "said": said}
        report["cancel"] = await self.cancelled()
        await self.conn.ext_notification("demo/note", {"text": "remember"})
        doubled = (await self.conn.ext_method("demo/double", {"value": 21}))["value"]
        said = await self.ask("ext")
        report["extension"] = {"doubled": doubled, "noted": client.noted, "said": said}
        if withdraws:
            report["withdrawn"] = await self.withdrawn()
        code = (await failure(self.conn.ext_method("demo/nothing", {})))["code"]
        report["unknown"] = {"code": code, "said": await self.ask("unknown")}
        report["error"] = await failure(self.turn("boom"))
        return report


async def failure(call: Any) -> dict[str, Any]:
    try:
        await call
    except RequestError as error:
        return {"code": error.code, "message": str(error), "data": error.data}
    raise AssertionError("that was not refused")


async def run(command: list[str], withdraws: bool) -> dict[str, Any]:
    client = Client()
    async with spawn_agent_process(
        client, *command, env=dict(os.environ), transport_kwargs={"stderr": None}
    ) as (conn, _):
        capabilities = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True))
        answer = await conn.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities
        )
        session = await conn.new_session(cwd="/", mcp_servers=[])
        report = await Conversation(client, conn, session.session_id).report(withdraws)
    agreed = {"version": answer.protocol_version, "name": answer.agent_info.name}
    return {**report, "initialize": agreed}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-withdrawal", dest="withdraws", action="store_false")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    json.dump(asyncio.run(run(options.command, options.withdraws)), sys.stdout)
