"""A twin of the demo agent on the official Python SDK, 0.12.1 and 1.0.0rc3 alike."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, interfaces, run_agent, schema

COMMANDS: list[str] = json.loads(Path(__file__).with_name("demo.json").read_text())["commands"]
STEPS = ("Look around", "Make a plan", "Follow it")
CAN_DELETE = hasattr(interfaces.Agent, "delete_session")
OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class Session:
    def __init__(self, id: str, cwd: str, told: list[dict[str, Any]]) -> None:
        self.id, self.cwd, self.told = id, cwd, told
        self.call = ""
        self.is_cancelled = asyncio.Event()


class Agent:
    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.made = 0

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> schema.InitializeResponse:
        sessions = schema.SessionCapabilities(
            list=schema.SessionListCapabilities(),
            resume=schema.SessionResumeCapabilities(),
            close=schema.SessionCloseCapabilities(),
            fork=schema.SessionForkCapabilities(),
            delete=schema.SessionDeleteCapabilities() if CAN_DELETE else None,
        )
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="demo-twin", version="1.0"),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True, session_capabilities=sessions
            ),
        )

    def open(self, cwd: str, told: list[dict[str, Any]]) -> Session:
        self.made += 1
        session = Session(f"session-{self.made}", cwd, told)
        self.sessions[session.id] = session
        return session

    def find(self, session_id: str) -> Session:
        if session_id not in self.sessions:
            raise RequestError.resource_not_found(session_id)
        return self.sessions[session_id]

    async def new_session(self, cwd: str, **rest: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id=self.open(cwd, []).id)

    async def list_sessions(self, cwd: Any = None, **rest: Any) -> schema.ListSessionsResponse:
        known = [
            schema.SessionInfo(session_id=each.id, cwd=each.cwd)
            for each in self.sessions.values()
            if cwd in (None, each.cwd)
        ]
        return schema.ListSessionsResponse(sessions=known)

    async def load_session(self, session_id: str, **rest: Any) -> schema.LoadSessionResponse:
        for update in self.find(session_id).told:
            await self.tell(session_id, update)
        return schema.LoadSessionResponse()

    async def resume_session(self, session_id: str, **rest: Any) -> schema.ResumeSessionResponse:
        self.find(session_id)
        return schema.ResumeSessionResponse()

    async def fork_session(
        self, session_id: str, cwd: str, **rest: Any
    ) -> schema.ForkSessionResponse:
        fork = self.open(cwd, [*self.find(session_id).told])
        return schema.ForkSessionResponse(session_id=fork.id)

    async def close_session(self, session_id: str, **rest: Any) -> schema.CloseSessionResponse:
        self.find(session_id).is_cancelled.set()
        return schema.CloseSessionResponse()

    async def delete_session(self, session_id: str, **rest: Any) -> Any:
        self.sessions.pop(session_id, None)
        return schema.DeleteSessionResponse()

    async def cancel(self, session_id: str, **rest: Any) -> None:
        self.find(session_id).is_cancelled.set()

    async def prompt(
        self, session_id: str, prompt: list[Any], **rest: Any
    ) -> schema.PromptResponse:
        session = self.find(session_id)
        session.is_cancelled.clear()
        words = prompt[0].text
        session.told.append({"sessionUpdate": "user_message_chunk", "content": text(words)})
        await self.act(session, words)
        is_cancelled = session.is_cancelled.is_set()
        return schema.PromptResponse(stop_reason="cancelled" if is_cancelled else "end_turn")

    async def act(self, session: Session, words: str) -> None:
        word, _, rest = words.partition(" ")
        doing = getattr(self, f"do_{word}", None)
        if doing is None:
            await self.say(session, f"echo: {words}")
        else:
            await doing(session, rest)

    async def do_help(self, session: Session, rest: str) -> None:
        await self.say(session, " ".join(COMMANDS))

    async def do_fs(self, session: Session, name: str) -> None:
        path = f"{session.cwd}/{name}"
        file = await self.conn.read_text_file(session_id=session.id, path=path)
        await self.conn.write_text_file(
            session_id=session.id, path=f"{path}.out", content=file.content.upper()
        )
        await self.say(session, f"read:{file.content}")

    async def do_term(self, session: Session, rest: str) -> None:
        made = await self.conn.create_terminal(session_id=session.id, command="echo", args=["hi"])
        ids = {"session_id": session.id, "terminal_id": made.terminal_id}
        exit = await self.conn.wait_for_terminal_exit(**ids)
        output = await self.conn.terminal_output(**ids)
        await self.conn.release_terminal(**ids)
        await self.say(session, f"term:{exit.exit_code}:{output.output}")

    async def do_perm(self, session: Session, rest: str) -> None:
        title, harm = "Do something that needs permission", {"harm": "none"}
        await self.call(session, title=title, kind="other", status="pending", rawInput=harm)
        answer = await self.conn.request_permission(
            session_id=session.id,
            tool_call=schema.ToolCallUpdate(tool_call_id=session.call, title=title),
            options=OPTIONS,
        )
        outcome = answer.outcome.model_dump(by_alias=True, exclude_none=True)
        is_allowed = outcome.get("optionId") == "yes"
        await self.change(session, status="completed" if is_allowed else "failed")
        said = {"outcome": outcome["outcome"], **outcome}
        await self.say(session, f"perm:{compact(said)}")

    async def do_elicit(self, session: Session, rest: str) -> None:
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        mode = schema.ElicitationFormSessionMode(
            session_id=session.id, requested_schema=schema.ElicitationSchema.model_validate(form)
        )
        answer = await self.conn.create_elicitation(message="What is your name?", mode=mode)
        plain = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self.say(session, f"elicit:{compact({'action': plain['action'], **plain})}")

    async def do_plan(self, session: Session, rest: str) -> None:
        for done in range(len(STEPS) + 1):
            status = ["completed"] * done + ["in_progress"] + ["pending"] * len(STEPS)
            entries = [
                {"content": step, "priority": "medium", "status": status[number]}
                for number, step in enumerate(STEPS)
            ]
            await self.send(session, {"sessionUpdate": "plan", "entries": entries})
        await self.say(session, "plan:done")

    async def do_tool(self, session: Session, rest: str) -> None:
        title, to = "Count to three", {"to": 3}
        await self.call(session, title=title, kind="think", status="in_progress", rawInput=to)
        words = [{"type": "content", "content": text(each)} for each in ("one", "two", "three")]
        for number in range(len(words)):
            await self.change(session, content=words[: number + 1])
        await self.change(session, status="completed", rawOutput={"count": 3})
        await self.say(session, "tool:done")

    async def do_diff(self, session: Session, rest: str) -> None:
        path = f"{session.cwd}/demo.txt"
        where = [{"path": path}]
        await self.call(
            session, title="Edit demo.txt", kind="edit", status="in_progress", locations=where
        )
        old, new = "Hello\nold world\n", "Hello\nnew world\n"
        change = {"type": "diff", "path": path, "oldText": old, "newText": new}
        await self.change(session, status="completed", content=[change])
        await self.say(session, "diff:done")

    async def do_slow(self, session: Session, rest: str) -> None:
        await self.say(session, "waiting to be cancelled")
        await session.is_cancelled.wait()

    async def do_flood(self, session: Session, count: str) -> None:
        for number in range(int(count)):
            await self.say(session, f"chunk {number}")

    async def do_ext(self, session: Session, rest: str) -> None:
        await self.say(session, f"ext:{compact(await self.conn.ext_method('demo/value', {}))}")

    async def do_boom(self, session: Session, rest: str) -> None:
        raise RequestError(-32050, "Boom", {"detail": 42})

    async def do_crash(self, session: Session, rest: str) -> None:
        os._exit(3)

    async def do_commands(self, session: Session, rest: str) -> None:
        known = [{"name": name, "description": f"does {name}"} for name in COMMANDS]
        await self.tell(
            session.id, {"sessionUpdate": "available_commands_update", "availableCommands": known}
        )
        await self.say(session, f"commands:{','.join(COMMANDS)}")

    async def call(self, session: Session, **what: Any) -> None:
        session.call = f"call-{len(session.told)}"
        await self.send(session, {"sessionUpdate": "tool_call", "toolCallId": session.call, **what})

    async def change(self, session: Session, **what: Any) -> None:
        await self.send(
            session, {"sessionUpdate": "tool_call_update", "toolCallId": session.call, **what}
        )

    async def say(self, session: Session, words: str) -> None:
        await self.send(session, {"sessionUpdate": "agent_message_chunk", "content": text(words)})

    async def send(self, session: Session, update: dict[str, Any]) -> None:
        session.told.append(update)
        await self.tell(session.id, update)

    async def tell(self, session_id: str, update: dict[str, Any]) -> None:
        note = schema.SessionNotification.model_validate(
            {"sessionId": session_id, "update": update}
        )
        await self.conn.session_update(session_id, note.update)


if __name__ == "__main__":
    asyncio.run(run_agent(Agent(), use_unstable_protocol=True))
