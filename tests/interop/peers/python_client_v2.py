"""A client on the official Python SDK's experimental version 2, for the conversation.

`python_client_v2.py COMMAND…` starts the agent and prints what it saw as JSON.
"""

import asyncio
import json
import os
import sys
from typing import Any

from acp import RequestError
from acp.experimental.v2 import connect_to_agent, schema
from acp.transports import spawn_stdio_transport


class Client:
    def __init__(self) -> None:
        self.begin()
        self.asked: Any = None
        self.noted: list[str] = []
        self.has_started = asyncio.Event()
        self.is_waiting = asyncio.Event()

    def begin(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.states: list[str] = []
        self.messages: list[str] = []
        self.idle: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        plain = update.model_dump(mode="json", by_alias=True, exclude_unset=True)
        kind = plain["sessionUpdate"]
        if kind == "user_message":
            self.messages.append(plain["messageId"])
        elif kind == "state_update":
            reason = plain.get("stopReason")
            self.states.append(" ".join(filter(None, (plain["state"], reason))))
            if plain["state"] == "idle":
                self.idle.set_result(reason)
        else:
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
        self, session_id: str, title: str, options: list[Any], subject: Any = None, **rest: Any
    ) -> schema.RequestPermissionResponse:
        names = [option.option_id for option in options]
        self.asked = {"toolCallId": subject.tool_call.tool_call_id, "options": names}
        outcome = {"outcome": "selected", "optionId": names[0]}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def handle_extension_request(self, method: str, params: Any) -> Any:
        if method == "_demo/value":
            return {"value": 7}
        raise RequestError.method_not_found(method)

    async def handle_extension_notification(self, method: str, params: Any) -> None:
        if method == "_demo/waiting":
            self.is_waiting.set()
        else:
            self.noted.append(params["text"])


class Conversation:
    def __init__(self, client: Client, conn: Any, session: str) -> None:
        self.client, self.conn, self.session = client, conn, session

    async def turn(self, text: str) -> str | None:
        self.client.begin()
        block = schema.TextContentBlock(type="text", text=text)
        accepted = await self.conn.prompt(session_id=self.session, prompt=[block])
        reason = await self.client.idle
        self.has_message = self.client.messages == [accepted.message_id]
        return reason

    async def ask(self, text: str) -> list[str]:
        await self.turn(text)
        return self.client.said()

    async def cancelled(self) -> str | None:
        turn = asyncio.create_task(self.turn("slow"))
        await self.client.has_started.wait()
        await self.conn.cancel_session(session_id=self.session)
        return await turn

    async def withdrawn(self) -> Any:
        call = asyncio.create_task(self.conn.send_extension_request("_demo/wait", {}))
        await self.client.is_waiting.wait()
        call.cancel()
        await asyncio.wait([call])
        return (await self.conn.send_extension_request("_demo/withdrawn", {}))["count"]

    async def report(self) -> dict[str, Any]:
        client = self.client
        report: dict[str, Any] = {}
        await self.turn("updates")
        report["updates"], report["states"] = client.updates, client.states
        report["has_message"] = self.has_message
        report["order"] = await self.ask("flood 300")
        said = await self.ask("perm")
        report["permission"] = {"asked": client.asked, "said": said}
        report["cancel"] = await self.cancelled()
        await self.conn.send_extension_notification("_demo/note", {"text": "remember"})
        double = await self.conn.send_extension_request("_demo/double", {"value": 21})
        said = await self.ask("ext")
        report["extension"] = {"doubled": double["value"], "noted": client.noted, "said": said}
        report["withdrawn"] = await self.withdrawn()
        code = (await failure(self.conn.send_extension_request("_demo/nothing", {})))["code"]
        report["unknown"] = {"code": code, "said": await self.ask("unknown")}
        report["error"] = await failure(self.turn("boom"))
        return report


async def failure(call: Any) -> dict[str, Any]:
    try:
        await call
    except RequestError as error:
        return {"code": error.code, "message": str(error), "data": error.data}
    raise AssertionError("that was not refused")


async def run(command: list[str]) -> dict[str, Any]:
    client = Client()
    async with (
        spawn_stdio_transport(*command, env=dict(os.environ), stderr=None) as (reader, writer, _),
        connect_to_agent(client, writer, reader) as conn,
    ):
        me = schema.Implementation(name="interop-client", version="1.0")
        answer = await conn.initialize(protocol_version=2, info=me)
        session = await conn.new_session(cwd="/")
        report = await Conversation(client, conn, session.session_id).report()
    agreed = {"version": answer.protocol_version, "name": answer.info.name}
    return {**report, "initialize": agreed}


if __name__ == "__main__":
    json.dump(asyncio.run(run(sys.argv[1:])), sys.stdout)
