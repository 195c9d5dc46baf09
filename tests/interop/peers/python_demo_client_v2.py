"""A client on the official Python SDK's experimental version 2 that tries the demo agent.

`python_demo_client_v2.py CWD COMMAND…` starts the agent, does what `demo/tour.py` tells, and prints
what it saw as JSON.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.experimental.v2 import connect_to_agent, schema
from acp.transports import spawn_stdio_transport

PROMPTS: list[str] = json.loads(Path(__file__).with_name("demo.json").read_text())["prompts"]


def plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Client:
    def __init__(self) -> None:
        self.begin()
        self.choices = iter(["yes", "no", None])
        self.forms = iter(
            [
                {"action": "accept", "content": {"name": "Ada"}},
                {"action": "decline"},
                {"action": "cancel"},
            ]
        )
        self.is_waiting = asyncio.Event()

    def begin(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.idle: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        plain_update = plain(update)
        self.updates.append(plain_update)
        if plain_update.get("state") == "idle" and not self.idle.done():
            self.idle.set_result(plain_update.get("stopReason"))
        if self.said() == "waiting to be cancelled":
            self.is_waiting.set()

    def said(self) -> str:
        chunks = [each for each in self.updates if each["sessionUpdate"] == "agent_message_chunk"]
        return "".join(each["content"]["text"] for each in chunks)

    async def request_permission(
        self, session_id: str, title: str, options: list[Any], subject: Any = None, **rest: Any
    ) -> schema.RequestPermissionResponse:
        offered = [plain(option) for option in options]
        self.asked.append({"permission": plain(subject), "title": title, "options": offered})
        choice = next(self.choices)
        outcome = {"outcome": "selected", "optionId": choice}
        if choice is None:
            outcome = {"outcome": "cancelled"}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def create_elicitation(
        self, message: str, mode: str, *, requested_schema: Any = None, **rest: Any
    ) -> Any:
        self.asked.append({"form": plain(requested_schema), "message": message})
        return next(self.forms)

    async def handle_extension_request(self, method: str, params: Any) -> Any:
        self.asked.append({"method": method})
        return {"value": 7}


class Tour:
    def __init__(self, client: Client, conn: Any, cwd: str) -> None:
        self.client, self.conn, self.cwd = client, conn, cwd

    async def turn(self, session: str, text: str) -> dict[str, Any]:
        self.client.begin()
        block = schema.TextContentBlock(type="text", text=text)
        accepted = await self.conn.prompt(session_id=session, prompt=[block])
        end = await self.client.idle
        return {
            "end": end,
            "accepted": accepted.message_id,
            "updates": self.client.updates,
            "asked": self.client.asked,
        }

    async def ask(self, session: str, text: str) -> str:
        await self.turn(session, text)
        return self.client.said()

    async def new(self) -> Any:
        return (await self.conn.new_session(cwd=self.cwd)).session_id

    async def stopped(self, session: str, stop: Any) -> dict[str, Any]:
        self.client.is_waiting.clear()
        turn = asyncio.create_task(self.turn(session, "slow"))
        await self.client.is_waiting.wait()
        await stop(session_id=session)
        return await turn

    async def listed(self) -> list[str]:
        answer = await self.conn.list_sessions(cwd=self.cwd)
        return [each.session_id for each in answer.sessions if each.cwd == self.cwd]

    async def sessions(self) -> dict[str, Any]:
        conn, client, cwd = self.conn, self.client, self.cwd
        start = schema.ReplayFromStartVariant(type="start")
        first = await self.new()
        await self.turn(first, "tool")
        report: dict[str, Any] = {"is_listed": first in await self.listed()}
        await conn.close_session(session_id=first)
        client.begin()
        await conn.resume_session(cwd=cwd, session_id=first, replay_from=start)
        report["loaded"] = client.updates
        await conn.close_session(session_id=first)
        client.begin()
        await conn.resume_session(cwd=cwd, session_id=first)
        report["resumed"] = client.updates
        report["after_resume"] = await self.ask(first, "still there")
        report["closed"] = (await self.stopped(await self.new(), conn.close_session))["end"]
        fork = (await conn.fork_session(cwd=cwd, session_id=first)).session_id
        report["forked"] = {
            "is_another": fork != first,
            "said": await self.ask(fork, "another way"),
        }
        await conn.close_session(session_id=fork)
        await conn.delete_session(session_id=first)
        report["is_listed_after_delete"] = first in await self.listed()
        try:
            await conn.resume_session(cwd=cwd, session_id=first)
        except RequestError as error:
            report["load_after_delete"] = error.code
        return report

    async def report(self) -> dict[str, Any]:
        session = await self.new()
        report: dict[str, Any] = {"turns": {}}
        for prompt in PROMPTS:
            report["turns"][prompt] = await self.turn(session, prompt)
        report["turns"]["slow"] = await self.stopped(session, self.conn.cancel_session)
        updates = (await self.turn(session, "flood 300"))["updates"]
        chunks = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
        report["flood"] = [each["content"]["text"] for each in chunks]
        report["sessions"] = await self.sessions()
        return report

    async def crash(self) -> None:
        block = schema.TextContentBlock(type="text", text="crash")
        try:  # it may or may not be accepted before
            await self.conn.prompt(session_id=await self.new(), prompt=[block])
        except ConnectionError:
            return


async def run(cwd: str, command: list[str]) -> dict[str, Any]:
    client = Client()
    async with (
        spawn_stdio_transport(*command, env=dict(os.environ), stderr=None) as (
            reader,
            writer,
            process,
        ),
        connect_to_agent(client, writer, reader) as conn,
    ):
        me = schema.Implementation(name="demo-client", version="1.0")
        forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
        capabilities = schema.ClientCapabilities(elicitation=forms)
        answer = await conn.initialize(protocol_version=2, info=me, capabilities=capabilities)
        tour = Tour(client, conn, cwd)
        report = await tour.report()
        await tour.crash()
        report["exit"] = await process.wait()
    return {**report, "initialize": plain(answer)}


if __name__ == "__main__":
    json.dump(asyncio.run(run(sys.argv[1], sys.argv[2:])), sys.stdout)
