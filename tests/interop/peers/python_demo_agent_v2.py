"""A twin of the demo agent on the official Python SDK's experimental version 2."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.experimental.v2 import run_agent, schema

COMMANDS: list[str] = json.loads(Path(__file__).with_name("demo.json").read_text())["commands"]
STEPS = ("Look around", "Make a plan", "Follow it")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
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
        self.made = 0
        self.call = self.message = ""
        self.is_cancelled = asyncio.Event()

    def new_id(self, kind: str) -> str:
        self.made += 1
        return f"{self.id}-{kind}-{self.made}"


class Agent:
    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.made = 0
        self.turns: list[asyncio.Task[None]] = []

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> schema.InitializeResponse:
        sessions = schema.SessionCapabilities(
            delete=schema.SessionDeleteCapabilities(), fork=schema.SessionForkCapabilities()
        )
        return schema.InitializeResponse(
            protocol_version=2,
            info=schema.Implementation(name="demo-twin", version="1.0"),
            capabilities=schema.AgentCapabilities(session=sessions),
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

    async def resume_session(
        self, session_id: str, replay_from: Any = None, **rest: Any
    ) -> schema.ResumeSessionResponse:
        session = self.find(session_id)
        for update in session.told if replay_from else ():
            await self.tell(session, **update)
        await self.tell(session, sessionUpdate="state_update", state="idle")
        return schema.ResumeSessionResponse()

    async def fork_session(
        self, session_id: str, cwd: str, **rest: Any
    ) -> schema.ForkSessionResponse:
        fork = self.open(cwd, [*self.find(session_id).told])
        return schema.ForkSessionResponse(session_id=fork.id)

    async def close_session(self, session_id: str, **rest: Any) -> schema.CloseSessionResponse:
        self.find(session_id).is_cancelled.set()
        return schema.CloseSessionResponse()

    async def delete_session(self, session_id: str, **rest: Any) -> schema.DeleteSessionResponse:
        self.sessions.pop(session_id, None)
        return schema.DeleteSessionResponse()

    async def cancel_session(self, session_id: str, **rest: Any) -> None:
        self.find(session_id).is_cancelled.set()

    async def prompt(
        self, session_id: str, prompt: list[Any], **rest: Any
    ) -> schema.PromptResponse:
        session = self.find(session_id)
        session.is_cancelled.clear()
        words = prompt[0].text
        if words == "boom":  # an idle state has no place for an error in this SDK
            raise RequestError(-32050, "Boom", {"detail": 42})
        message = session.new_id("user")
        await self.send(
            session, sessionUpdate="user_message", messageId=message, content=[text(words)]
        )
        self.turns.append(asyncio.create_task(self.turn(session, words)))
        return schema.PromptResponse(message_id=message)

    async def turn(self, session: Session, words: str) -> None:
        await self.tell(session, sessionUpdate="state_update", state="running")
        session.message = session.new_id("agent")
        word, _, rest = words.partition(" ")
        doing = getattr(self, f"do_{word}", None)
        if doing is None:
            await self.say(session, f"echo: {words}")
        else:
            await doing(session, rest)
        reason = "cancelled" if session.is_cancelled.is_set() else "end_turn"
        await self.tell(session, sessionUpdate="state_update", state="idle", stopReason=reason)

    async def do_help(self, session: Session, rest: str) -> None:
        await self.say(session, " ".join(COMMANDS))

    async def do_fs(self, session: Session, name: str) -> None:
        await self.say(session, "fs: the client does not offer fs/read_text_file")

    async def do_term(self, session: Session, rest: str) -> None:
        await self.say(session, "term: the client does not offer terminal/create")

    async def do_perm(self, session: Session, rest: str) -> None:
        title, harm = "Do something that needs permission", {"harm": "none"}
        session.call = session.new_id("call")
        await self.change(session, title=title, kind="other", status="pending", rawInput=harm)
        await self.tell(session, sessionUpdate="state_update", state="requires_action")
        subject = schema.ToolCallPermissionSubjectVariant.model_validate(
            {"type": "tool_call", "toolCall": {"toolCallId": session.call, "title": title}}
        )
        answer = await self.conn.request_permission(
            session_id=session.id, title="May I?", subject=subject, options=OPTIONS
        )
        await self.tell(session, sessionUpdate="state_update", state="running")
        outcome = answer.outcome.model_dump(by_alias=True, exclude_unset=True)
        is_allowed = outcome.get("optionId") == "yes"
        await self.change(session, status="completed" if is_allowed else "failed")
        said = {"outcome": outcome["outcome"], **outcome}
        await self.say(session, f"perm:{compact(said)}")

    async def do_elicit(self, session: Session, rest: str) -> None:
        await self.tell(session, sessionUpdate="state_update", state="requires_action")
        answer = await self.conn.create_elicitation(
            message="What is your name?",
            mode="form",
            session_id=session.id,
            requested_schema=schema.ElicitationSchema.model_validate(FORM),
        )
        await self.tell(session, sessionUpdate="state_update", state="running")
        plain = answer.model_dump(mode="json", by_alias=True, exclude_unset=True)
        await self.say(session, f"elicit:{compact({'action': plain['action'], **plain})}")

    async def do_plan(self, session: Session, rest: str) -> None:
        for done in range(len(STEPS) + 1):
            status = ["completed"] * done + ["in_progress"] + ["pending"] * len(STEPS)
            entries = [
                {"content": step, "priority": "medium", "status": status[number]}
                for number, step in enumerate(STEPS)
            ]
            plan = {"type": "items", "planId": "main", "entries": entries}
            await self.send(session, sessionUpdate="plan_update", plan=plan)
        await self.say(session, "plan:done")

    async def do_tool(self, session: Session, rest: str) -> None:
        title, to = "Count to three", {"to": 3}
        session.call = session.new_id("call")
        await self.change(session, title=title, kind="think", status="in_progress", rawInput=to)
        for word in ("one", "two", "three"):
            await self.add(session, {"type": "content", "content": text(word)})
        await self.change(session, status="completed", rawOutput={"count": 3})
        await self.say(session, "tool:done")

    async def do_diff(self, session: Session, rest: str) -> None:
        path = f"{session.cwd}/demo.txt"
        where = [{"path": path}]
        session.call = session.new_id("call")
        await self.change(
            session, title="Edit demo.txt", kind="edit", status="in_progress", locations=where
        )
        change = {"operation": "modify", "path": path, "fileType": "text"}
        lines = "@@ -1,2 +1,2 @@\n Hello\n-old world\n+new world\n"
        header = f"diff --git {path} {path}\n--- {path}\n+++ {path}\n"
        patch = {"format": "git_patch", "text": header + lines}
        await self.add(session, {"type": "diff", "changes": [change], "patch": patch})
        await self.change(session, status="completed")
        await self.say(session, "diff:done")

    async def do_slow(self, session: Session, rest: str) -> None:
        await self.say(session, "waiting to be cancelled")
        await session.is_cancelled.wait()

    async def do_flood(self, session: Session, count: str) -> None:
        for number in range(int(count)):
            await self.say(session, f"chunk {number}")

    async def do_ext(self, session: Session, rest: str) -> None:
        value = await self.conn.send_extension_request("_demo/value", {})
        await self.say(session, f"ext:{compact(value)}")

    async def do_crash(self, session: Session, rest: str) -> None:
        os._exit(3)

    async def do_commands(self, session: Session, rest: str) -> None:
        known = [{"name": name, "description": f"does {name}"} for name in COMMANDS]
        await self.tell(session, sessionUpdate="available_commands_update", availableCommands=known)
        await self.say(session, f"commands:{','.join(COMMANDS)}")

    async def change(self, session: Session, **what: Any) -> None:
        await self.send(session, sessionUpdate="tool_call_update", toolCallId=session.call, **what)

    async def add(self, session: Session, content: dict[str, Any]) -> None:
        kind = "tool_call_content_chunk"
        await self.send(session, sessionUpdate=kind, toolCallId=session.call, content=content)

    async def say(self, session: Session, words: str) -> None:
        kind = "agent_message_chunk"
        message = session.message
        await self.send(session, sessionUpdate=kind, messageId=message, content=text(words))

    async def send(self, session: Session, **update: Any) -> None:
        session.told.append(update)
        await self.tell(session, **update)

    async def tell(self, session: Session, **update: Any) -> None:
        note = schema.UpdateSessionNotification.model_validate(
            {"sessionId": session.id, "update": update}
        )
        await self.conn.session_update(session.id, note.update)


if __name__ == "__main__":
    asyncio.run(run_agent(Agent()))
