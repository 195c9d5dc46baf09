"""A client on the official Python SDK, 0.12.1 and 1.0.0rc3 alike, that tries the demo agent.

`python_demo_client.py CWD COMMAND…` starts the agent, does what `demo/tour.py` tells, and prints
what it saw as JSON.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    ClientCapabilities,
    CreateTerminalResponse,
    DeclineElicitationResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    TextContentBlock,
    WaitForTerminalExitResponse,
)

PROMPTS: list[str] = json.loads(Path(__file__).with_name("demo.json").read_text())["prompts"]


def plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Client:
    def __init__(self) -> None:
        self.begin()
        self.choices = iter(["yes", "no", None])
        self.forms = iter(
            [
                AcceptElicitationResponse(action="accept", content={"name": "Ada"}),
                DeclineElicitationResponse(action="decline"),
                CancelElicitationResponse(action="cancel"),
            ]
        )
        self.terminals: dict[str, asyncio.subprocess.Process] = {}
        self.is_waiting = asyncio.Event()

    def begin(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        self.updates.append(plain(update))
        if self.said() == "waiting to be cancelled":
            self.is_waiting.set()

    def said(self) -> str:
        chunks = [each for each in self.updates if each["sessionUpdate"] == "agent_message_chunk"]
        return "".join(each["content"]["text"] for each in chunks)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **rest: Any
    ) -> RequestPermissionResponse:
        offered = [plain(option) for option in options]
        self.asked.append({"permission": plain(tool_call), "options": offered})
        choice = next(self.choices)
        if choice is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        outcome = AllowedOutcome(outcome="selected", option_id=choice)
        return RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, message: str, mode: Any, **rest: Any) -> Any:
        self.asked.append({"form": plain(mode.requested_schema), "message": message})
        return next(self.forms)

    async def read_text_file(self, session_id: str, path: str, **rest: Any) -> ReadTextFileResponse:
        self.asked.append({"read": path})
        return ReadTextFileResponse(content=await asyncio.to_thread(Path(path).read_text))

    async def write_text_file(self, session_id: str, path: str, content: str, **rest: Any) -> None:
        self.asked.append({"write": path})
        await asyncio.to_thread(Path(path).write_text, content)

    async def create_terminal(
        self, session_id: str, command: str, args: Any = None, **rest: Any
    ) -> CreateTerminalResponse:
        self.asked.append({"run": [command, *(args or [])]})
        name = f"terminal-{len(self.terminals)}"
        self.terminals[name] = await asyncio.create_subprocess_exec(
            command, *(args or []), stdout=asyncio.subprocess.PIPE
        )
        return CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **rest: Any
    ) -> WaitForTerminalExitResponse:
        return WaitForTerminalExitResponse(exit_code=await self.terminals[terminal_id].wait())

    async def terminal_output(
        self, session_id: str, terminal_id: str, **rest: Any
    ) -> TerminalOutputResponse:
        stdout: Any = self.terminals[terminal_id].stdout
        output = await stdout.read()
        return TerminalOutputResponse(output=output.decode(), truncated=False)

    async def release_terminal(self, session_id: str, terminal_id: str, **rest: Any) -> None:
        self.asked.append({"release": terminal_id})

    async def kill_terminal(self, session_id: str, terminal_id: str, **rest: Any) -> None:
        self.asked.append({"kill": terminal_id})

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append({"method": f"_{method}"})
        return {"value": 7}


class Tour:
    def __init__(self, client: Client, conn: Any, cwd: str) -> None:
        self.client, self.conn, self.cwd = client, conn, cwd

    async def turn(self, session: str, text: str) -> dict[str, Any]:
        self.client.begin()
        block = TextContentBlock(type="text", text=text)
        try:
            answer = await self.conn.prompt(session_id=session, prompt=[block])
            end: Any = answer.stop_reason
        except RequestError as error:
            end = {"code": error.code, "message": str(error), "data": error.data}
        return {"end": end, "updates": self.client.updates, "asked": self.client.asked}

    async def ask(self, session: str, text: str) -> str:
        await self.turn(session, text)
        return self.client.said()

    async def new(self) -> Any:
        return (await self.conn.new_session(cwd=self.cwd, mcp_servers=[])).session_id

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
        first = await self.new()
        await self.turn(first, "tool")
        report: dict[str, Any] = {"is_listed": first in await self.listed()}
        await conn.close_session(session_id=first)
        client.begin()
        await conn.load_session(cwd=cwd, session_id=first, mcp_servers=[])
        report["loaded"] = client.updates
        await conn.close_session(session_id=first)
        client.begin()
        await conn.resume_session(cwd=cwd, session_id=first, mcp_servers=[])
        report["resumed"] = client.updates
        report["after_resume"] = await self.ask(first, "still there")
        report["closed"] = (await self.stopped(await self.new(), conn.close_session))["end"]
        fork = (await conn.fork_session(cwd=cwd, session_id=first)).session_id
        report["forked"] = {
            "is_another": fork != first,
            "said": await self.ask(fork, "another way"),
        }
        await conn.close_session(session_id=fork)
        if hasattr(conn, "delete_session"):
            await conn.delete_session(session_id=first)
            report["is_listed_after_delete"] = first in await self.listed()
            try:
                await conn.load_session(cwd=cwd, session_id=first, mcp_servers=[])
            except RequestError as error:
                report["load_after_delete"] = error.code
        return report

    async def report(self) -> dict[str, Any]:
        session = await self.new()
        report: dict[str, Any] = {"turns": {}}
        for prompt in PROMPTS:
            report["turns"][prompt] = await self.turn(session, prompt)
        report["turns"]["slow"] = await self.stopped(session, self.conn.cancel)
        chunks = (await self.turn(session, "flood 300"))["updates"]
        report["flood"] = [each["content"]["text"] for each in chunks]
        report["sessions"] = await self.sessions()
        return report

    async def crash(self) -> None:
        try:
            await self.turn(await self.new(), "crash")
        except ConnectionError:
            return
        raise AssertionError("it went on")


async def run(cwd: str, command: list[str]) -> dict[str, Any]:
    client = Client()
    async with spawn_agent_process(
        client,
        *command,
        env=dict(os.environ),
        transport_kwargs={"stderr": None},
        use_unstable_protocol=True,
    ) as (conn, process):
        capabilities = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=True, write_text_file=True),
            terminal=True,
            elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()),
        )
        answer = await conn.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities
        )
        tour = Tour(client, conn, cwd)
        report = await tour.report()
        await tour.crash()
        report["exit"] = await process.wait()
    return {**report, "initialize": plain(answer)}


if __name__ == "__main__":
    json.dump(asyncio.run(run(sys.argv[1], sys.argv[2:])), sys.stdout)
