"""A view that records its calls and returns prepared answers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from parley.client import PermissionDecision, Session, TerminalLogin, TurnResult
from parley.conversation.conversation import Conversation
from parley.conversation.permission_answer import PermissionAnswer
from parley.conversation.setup import ConversationOptions, ConversationSetup
from parley.conversation.view import ALL_QUESTIONS, View
from parley.errors import AcpError
from parley.journal import Journal, Record
from parley.policy import Scope
from parley.schema import v2
from parley.testing.scripted import Expect, Respond, ScriptedPeer, Send, Step

DEMO = [sys.executable, "-m", "parley", "demo"]


class RecordingView(View):
    """Records everything; `until` waits for something to be so."""

    questions = ALL_QUESTIONS
    shows_history = True

    def __init__(self) -> None:
        self.opened_as: list[bool] = []
        """Each opening: whether it was one again."""
        self.updates: list[v2.SessionUpdate] = []
        self.notes: list[str] = []
        self.decisions: list[PermissionDecision] = []
        self.results: list[TurnResult] = []
        self.failures: list[AcpError] = []
        self.deaths: list[AcpError] = []
        self.asked: list[v2.RequestPermissionRequest] = []
        self.withdrawn = 0
        """How many questions were cancelled."""
        self.states: list[str] = []
        self.permission: str | None = "yes"
        self.remembered: tuple[Literal["allow", "deny"], Scope | None] = ("deny", None)
        self.is_silent = False
        """Whether the user answers nothing."""
        self.login: str | None = None
        self.offered: list[v2.AuthMethod] = []
        self.logins: list[TerminalLogin] = []
        self.login_status = 0
        self.conversation: Conversation | None = None
        self._news = asyncio.Event()

    def opened(self, conversation: Conversation, *, is_again: bool) -> None:
        self.opened_as.append(is_again)
        self._news.set()

    def updated(self, update: v2.SessionUpdate) -> None:
        self.updates.append(update)
        self._news.set()

    def changed(self) -> None:
        if self.conversation is not None and self.states[-1:] != [self.conversation.state]:
            self.states.append(self.conversation.state)
        self._news.set()

    def noted(self, text: str) -> None:
        self.notes.append(text)
        self._news.set()

    def decided(self, decided: PermissionDecision) -> None:
        self.decisions.append(decided)

    def ended(self, result: TurnResult) -> None:
        self.results.append(result)

    def failed(self, error: AcpError) -> None:
        self.failures.append(error)
        self._news.set()

    def died(self, error: AcpError) -> None:
        self.deaths.append(error)

    async def ask_permission(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> PermissionAnswer:
        self.asked.append(request)
        chosen: str | None = await self._answer(self.permission)
        return PermissionAnswer(chosen, *self.remembered)

    async def ask_form(self, form: v2.ElicitationFormMode, session: Session | None) -> Any:
        return await self._answer({"name": "Ada"})

    async def ask_url(self, request: v2.ElicitationUrlMode, session: Session | None) -> Any:
        return await self._answer("accept")

    def completed(self, elicitation_id: str) -> None:
        self.noted(f"{elicitation_id} is done")

    async def choose_login(self, methods: list[v2.AuthMethod]) -> str | None:
        self.offered = methods
        chosen: str | None = await self._answer(self.login)
        return chosen

    async def run_login(self, login: TerminalLogin) -> int:
        self.logins.append(login)
        return self.login_status

    async def _answer(self, answer: Any) -> Any:
        if not self.is_silent:
            return answer
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise

    @property
    def said(self) -> str:
        """What the agent has said, as the view got it."""
        chunks = (each for each in self.updates if isinstance(each, v2.AgentMessageChunk))
        return "".join(getattr(each.content, "text", "") for each in chunks)

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so."""
        while not is_so():
            self._news.clear()
            await self._news.wait()

    async def until_state(self, *states: str) -> None:
        """Wait for one of some states, with nothing left in the queue unless it is dead."""
        conversation = self.conversation
        assert conversation is not None
        await self.until(
            lambda: (
                conversation.state in states
                and (conversation.state != "idle" or not conversation.queue)
            )
        )


@asynccontextmanager
async def conversing(
    target: Any = None,
    *,
    journal: Journal | None = None,
    record: Record | None = None,
    **choices: Any,
) -> AsyncGenerator[tuple[Conversation, RecordingView]]:
    """Run a conversation for as long as the block, and see that no process is left."""
    choices = {"give_up_after": 15.0, "grace_after": 1.0, **choices}
    setup = ConversationSetup(ConversationOptions(target=target, **choices), journal=journal)
    view = RecordingView()
    conversation = view.conversation = Conversation(setup, view, record=record)
    running = asyncio.create_task(conversation.run())
    pids: set[int] = set()
    try:
        yield conversation, view
        if conversation.connection is not None and conversation.connection.pid is not None:
            pids.add(conversation.connection.pid)
    finally:
        await conversation.close()
        await running
    assert conversation.state == "closed"
    assert not any(map(is_alive, pids))


def is_alive(pid: int | None) -> bool:
    """Tell whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


def opening(
    version: int = 1, *, load: bool = False, session: str = "s", more: dict[str, Any] | None = None
) -> list[Step]:
    """How a scripted agent begins: it answers initialize and opens a new session."""
    return [*initialized(version, load=load, more=more), *begun(session)]


def initialized(
    version: int = 1, *, load: bool = False, more: dict[str, Any] | None = None
) -> list[Step]:
    info = {"name": "scripted", "version": "0"}
    answer: dict[str, Any] = {"protocolVersion": version, **(more or {})}
    if version == 1:
        answer |= {"agentInfo": info, "agentCapabilities": {"loadSession": load}}
    else:
        answer |= {"info": info, "capabilities": {"session": {}}}
    return [Expect({"method": "initialize"}, skips=True), Respond(answer)]


def begun(session: str = "s") -> list[Step]:
    return [Expect({"method": "session/new"}), Respond({"sessionId": session})]


def chunk(text: str, session: str = "s") -> Send:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    return Send({"method": "session/update", "params": {"sessionId": session, "update": update}})


PROMPT = Expect({"method": "session/prompt"}, name="prompt")
END = Respond({"stopReason": "end_turn"}, to="prompt")


def scripted(tmp_path: Path, *steps: Step, name: str = "script") -> list[str]:
    """A scripted agent as a command."""
    return ScriptedPeer(*steps).command(tmp_path / f"{name}.json")
