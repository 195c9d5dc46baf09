"""`_meta` can be set wherever the protocol has it: on requests, notifications and responses.

Every method of the two tables that one side sends is sent here with a verb of the library, and
looked at on the wire. A method without a verb that sets its `_meta` fails the test that compares.

Spec: https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import parley
from parley.agent import Agent, AgentConnection, AgentFeatures, AgentSession, Login, Turn
from parley.agent._client_methods import ClientTerminal
from parley.agent._editor import Editor
from parley.agent._elicitation import UrlElicitation
from parley.client import Connection as ClientConnection
from parley.client import Session as ClientSession
from parley.client import Workspace
from parley.nes import Proposal, Question, Span, Spot, Suggestions
from parley.nes._documents.document import Document
from parley.nes.client import NesSession
from parley.nes.serving import ServedSession
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

META = {"example.com/x": {"level": 3}}
IN_BOTH_VERSIONS = pytest.mark.parametrize("version", [1, 2])
requirement = pytest.mark.requirement

FORM = {"name": v2.StringPropertySchema()}
MODEL = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)
TABLES = {
    1: (*methods1.TABLE.methods, *methods1.NES_METHODS, *methods1.DOCUMENT_METHODS),
    2: (*methods2.TABLE.methods, *methods2.NES_METHODS, *methods2.DOCUMENT_METHODS),
}
"""By version, the methods that are looked at; next edits have left the schema and are served."""
SET_MAIN = v2.SetProviderRequest(
    provider_id="main", api_type="openai", base_url="https://example.com", meta=META
)


class Both:
    """An agent, a client and a session, and what passes between them."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, dict[str, Any]]] = []
        self.client: ClientConnection
        self.session: ClientSession
        self.own: AgentSession
        """The session as the agent has it."""
        self.turn: Callable[[Turn], Awaitable[Any]] | None = None
        """What the agent does with a prompt."""

    def observe(self, direction: str, frame: Frame) -> None:
        self.frames.append((direction, json.loads(bytes(frame))))

    def metas_of(self, method: str) -> list[Any]:
        """Return the `_meta` of all messages with this method."""
        return [
            frame["params"].get("_meta")
            for _, frame in self.frames
            if frame.get("method") == method
        ]

    def result_metas(self, method: str) -> list[Any]:
        """Return the `_meta` of all results of requests with this method."""
        ids = [
            (direction, frame["id"])
            for direction, frame in self.frames
            if frame.get("method") == method
        ]
        back = {"outbound": "inbound", "inbound": "outbound"}
        return [
            frame["result"].get("_meta")
            for direction, frame in self.frames
            if "result" in frame and (back[direction], frame["id"]) in ids
        ]

    async def in_turn(self, do: Callable[[Turn], Awaitable[Any]]) -> None:
        """Make the agent do something in a turn."""
        self.turn = do
        result = await self.session.prompt("go")
        assert result.stop_reason == "end_turn"


class EditorState:
    def open_documents(self, session: ClientSession) -> list[v2.WorkspaceDocument]:
        return []

    def recent_documents(
        self, limit: int | None, session: ClientSession
    ) -> list[v2.WorkspaceDocument]:
        return []

    def active_document(self, session: ClientSession) -> v2.WorkspaceDocument | None:
        return None


async def suggest_nothing(session: ServedSession, question: Question) -> list[Proposal]:
    return []


def acting(both: Both, **options: Any) -> Agent:
    """Return an agent that can do everything."""
    features = AgentFeatures(fork=True, archive=True, status=True, title=True)
    agent = Agent("actor", features=features, **options)
    Suggestions(agent, options=[MODEL]).suggest(suggest_nothing)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if both.turn is not None:
            await both.turn(turn)

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        both.own = session
        await session.set_config_options([MODEL])

    @agent.login("form", name="With a form")
    async def log_in(login: Login) -> None: ...

    @agent.logout
    async def log_out(connection: AgentConnection) -> None: ...

    @agent.auth_status
    async def auth_status(connection: AgentConnection) -> v2.AuthStatusResponse:
        return v2.AuthStatusResponse(state="authenticated")

    @agent.list_providers
    async def providers(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return [v2.ProviderInfo(provider_id="main", supported=["openai"], required=False)]

    @agent.set_provider
    async def change(request: v2.SetProviderRequest, connection: AgentConnection) -> None: ...

    @agent.disable_provider
    async def disable(provider_id: str, connection: AgentConnection) -> None: ...

    return agent


@asynccontextmanager
async def talking(
    version: int, directory: Path, *, agents: dict[str, Any] | None = None, **options: Any
) -> AsyncGenerator[Both]:
    """Connect an agent and a client that can do everything, and open a session."""
    both = Both()
    async with parley.connect(
        acting(both, **(agents or {})),
        directory,
        versions=(version,),
        observer=both.observe,
        permission=lambda request, session: "allow",
        elicit=lambda request, session: {"name": "Ada"},
        elicit_url=lambda request, session: "accept",
        editor=EditorState(),
        workspace=Workspace(),
        **options,
    ) as both.client:
        both.session = await both.client.new_session(meta=META)
        yield both


async def fork(both: Both) -> None:
    await both.client.fork_session(both.session.id, meta=META)


async def resume(both: Both) -> None:
    await both.session.close(meta=META)
    await both.client.resume_session(both.session.id, replay=False, meta=META)


async def load(both: Both) -> None:
    await both.session.close()
    await both.client.resume_session(both.session.id, meta=META)


async def list_sessions(both: Both) -> None:
    assert [each async for each in both.client.list_sessions(meta=META)]


async def archive(both: Both) -> None:
    await both.client.archive_session(both.session.id, meta=META)
    await both.client.unarchive_session(both.session.id, meta=META)


async def cancel(both: Both) -> None:
    async def wait(turn: Turn) -> None:
        await turn.say("waiting")
        await asyncio.Event().wait()

    both.turn = wait
    async for _ in (turn := both.session.prompt("go", meta=META)):
        await both.session.cancel(meta=META)
    assert (await turn).stop_reason == "cancelled"


async def cancel_parts(both: Both) -> None:
    is_shown = asyncio.Event()

    async def work(turn: Turn) -> None:
        async with turn.tool("Wait", is_cancellable=True):
            await asyncio.Event().wait()
        async with turn.terminal("sleep", is_cancellable=True):
            await asyncio.Event().wait()

    both.turn = work
    session = both.session
    turn = session.prompt("go")
    async for update in turn:
        if isinstance(update, v2.ToolCallUpdated) and update.status == "in_progress":
            await session.cancel_tool_call(update.tool_call_id, meta=META)
        if isinstance(update, v2.TerminalUpdate) and update.command:
            await session.cancel_terminal(update.terminal_id, meta=META)
            is_shown.set()
    assert is_shown.is_set()


async def send_update(both: Both) -> None:
    await both.in_turn(lambda turn: turn.update(v2.Notice(severity="info", title="x"), meta=META))


async def ask(both: Both) -> None:
    await both.in_turn(lambda turn: turn.ask_permission("May I?", meta=META))


async def elicit(both: Both) -> None:
    async def do(turn: Turn) -> None:
        await turn.elicit("Who?", FORM, meta=META)
        page = await turn.elicit_url("There", "https://example.com", meta=META)
        await page.complete(meta=META)

    await both.in_turn(do)


async def report(both: Both) -> None:
    status = v2.AuthStatusResponse(state="authenticated", meta=META)
    await both.own.connection.report_auth_status(status)
    await both.session.ask("go")  # what was said before has arrived


async def use_files(both: Both) -> None:
    async def do(turn: Turn) -> None:
        await turn.write_text_file("a.txt", "text", meta=META)
        await turn.read_text_file("a.txt", meta=META)

    await both.in_turn(do)


async def use_terminal(both: Both) -> None:
    async def do(turn: Turn) -> None:
        async with turn.run("true", meta=META) as terminal:
            await terminal.wait(meta=META)
            await terminal.output(meta=META)
            await terminal.kill(meta=META)
            await terminal.release(meta=META)

    await both.in_turn(do)


SUGGESTING = [
    *(f"nes/{verb}" for verb in ("start", "suggest", "accept", "reject", "close")),
    *(f"document/did{event}" for event in ("Open", "Change", "Close", "Save", "Focus")),
    "session/set_config_option",
]


async def use_suggestions(both: Both) -> None:
    start, end = Spot(0, 0), Spot(0, 1)
    document = Document("file:///a.py", "python", 1, "x")
    session = await NesSession.start(both.client, meta=META)
    await session.opened(document, meta=META)
    await session.changed(document, session.whole(document), meta=META)
    await session.focused(document, start, Span(start, end), meta=META)
    await session.saved(document.uri, meta=META)
    await session.suggest(document, start, meta=META)
    await session.set_config_option("loud", value=True, meta=META)
    await session.report_outcome("taken", "accepted", meta=META)
    await session.report_outcome("left", "ignored", meta=META)
    await session.closed(document.uri, meta=META)
    await session.close(meta=META)


async def use_editor(both: Both) -> None:
    async def do(turn: Turn) -> None:
        editor = turn.session.editor
        await editor.open_documents(meta=META)
        await editor.recent_documents(3, meta=META)
        await editor.active_document(meta=META)

    await both.in_turn(do)


Act: TypeAlias = Callable[[Both], Awaitable[Any]]
ACTS: dict[str, tuple[Act, list[str], list[str]]] = {
    # a name: what is done, the methods of version 1, those of version 2
    "new": (lambda both: asyncio.sleep(0), ["session/new"], ["session/new"]),
    "fork": (fork, ["session/fork"], ["session/fork"]),
    "resume": (resume, ["session/close", "session/resume"], ["session/close", "session/resume"]),
    "load": (load, ["session/load"], ["session/resume"]),
    "list": (list_sessions, ["session/list"], ["session/list"]),
    "delete": (
        lambda both: both.client.delete_session(both.session.id, meta=META),
        ["session/delete"],
        ["session/delete"],
    ),
    "archive": (
        archive,
        ["session/archive", "session/unarchive"],
        ["session/archive", "session/unarchive"],
    ),
    "status": (
        lambda both: both.client.session_status(both.session.id, meta=META),
        ["session/status"],
        ["session/status"],
    ),
    "title": (
        lambda both: both.client.set_session_title(both.session.id, "A title", meta=META),
        ["session/set_title"],
        ["session/set_title"],
    ),
    "option": (
        lambda both: both.session.set_config_option("loud", True, meta=META),
        ["session/set_config_option"],
        ["session/set_config_option"],
    ),
    "cancel": (cancel, ["session/prompt", "session/cancel"], ["session/prompt", "session/cancel"]),
    "login": (
        lambda both: both.client.login("form", meta=META),
        ["authenticate"],
        ["auth/login"],
    ),
    "logout": (lambda both: both.client.logout(meta=META), ["logout"], ["auth/logout"]),
    "auth status": (
        lambda both: both.client.auth_status(meta=META),
        ["auth/status"],
        ["auth/status"],
    ),
    "providers": (
        lambda both: both.client.list_providers(meta=META),
        ["providers/list"],
        ["providers/list"],
    ),
    "set provider": (
        lambda both: both.client.set_provider(SET_MAIN),
        ["providers/set"],
        ["providers/set"],
    ),
    "disable provider": (
        lambda both: both.client.disable_provider("main", meta=META),
        ["providers/disable"],
        ["providers/disable"],
    ),
    "parts": (cancel_parts, [], ["tool_call/cancel", "terminal/cancel"]),
    "update": (send_update, ["session/update"], ["session/update"]),
    "permission": (ask, ["session/request_permission"], ["session/request_permission"]),
    "elicitation": (
        elicit,
        ["elicitation/create", "elicitation/complete"],
        ["elicitation/create", "elicitation/complete"],
    ),
    "report": (report, ["auth/status_update"], ["auth/status_update"]),
    "files": (use_files, ["fs/write_text_file", "fs/read_text_file"], []),
    "terminal": (
        use_terminal,
        [f"terminal/{verb}" for verb in ("create", "wait_for_exit", "output", "kill", "release")],
        [],
    ),
    "suggestions": (use_suggestions, SUGGESTING, SUGGESTING),
    "editor": (
        use_editor,
        [f"workspace/{what}" for what in EditorState.__dict__ if what.endswith(("s", "t"))],
        [f"workspace/{what}" for what in EditorState.__dict__ if what.endswith(("s", "t"))],
    ),
}
ELSEWHERE = {
    "initialize": "`connect(meta=…)`, below",
    "$/cancel_request": "sent by the library when a task is cancelled",
    "mcp/message": "MCP's own params",
    "proxy/initialize": "between a conductor and a proxy alone",
    "proxy/successor": "likewise",
    "session/set_mode": "an option of the category `mode`, set by set_config_option",
}


@requirement("TR-META-06", "V1-EXT-01")
@IN_BOTH_VERSIONS
@pytest.mark.parametrize("name", ACTS)
async def test_a_verb_sets_the_meta_of_what_it_sends(
    name: str, version: int, tmp_path: Path
) -> None:
    act, *methods = ACTS[name]
    if not methods[version - 1]:
        pytest.skip("this version does not have it")
    async with talking(version, tmp_path) as both:
        await act(both)
    for method in methods[version - 1]:
        assert META in both.metas_of(method), method


@IN_BOTH_VERSIONS
def test_every_method_of_the_tables_has_a_verb_that_sets_its_meta(version: int) -> None:
    names = {each.name for each in TABLES[version]}
    shown = {method for _, *both in ACTS.values() for method in both[version - 1]}
    assert names - shown == ELSEWHERE.keys() & names


@requirement("TR-META-06")
@IN_BOTH_VERSIONS
async def test_initialize_carries_meta_both_ways(version: int) -> None:
    both = Both()
    agent = acting(both, meta={"example.com/back": 1})
    async with parley.connect(
        agent, versions=(version,), observer=both.observe, meta=META
    ) as client:
        assert client.meta == {"example.com/back": 1}
    assert both.metas_of("initialize") == [META]
    assert both.result_metas("initialize") == [{"example.com/back": 1}]


def test_every_public_verb_that_sends_takes_meta() -> None:
    verbs = {
        Turn: "update ask_permission elicit elicit_url read_text_file write_text_file run",
        AgentSession: "update ask_permission elicit elicit_url",
        AgentConnection: "elicit elicit_url",
        Login: "elicit elicit_url",
        UrlElicitation: "complete",
        ClientTerminal: "output wait kill release",
        Editor: "open_documents recent_documents active_document",
        ClientSession: "prompt ask cancel close set_config_option cancel_tool_call cancel_terminal",
        ClientConnection: (
            "list_sessions list_sessions_page delete_session archive_session unarchive_session "
            "session_status set_session_title login logout auth_status list_providers "
            "disable_provider"
        ),
        NesSession: "start opened changed closed saved focused suggest "
        "report_outcome set_config_option close",
    }
    for kind, names in verbs.items():
        for name in names.split():
            parameters = inspect.signature(getattr(kind, name)).parameters
            assert "meta" in parameters, f"{kind.__name__}.{name} takes no meta"
            assert parameters["meta"].kind is inspect.Parameter.KEYWORD_ONLY


def add(method: str, params: Any, result: Any) -> dict[str, Any]:
    """Return what the response to a method is marked with."""
    return {"example.com/method": method, "example.com/params": type(params).__name__}


def marked(metas: list[Any]) -> bool:
    return any(meta and "example.com/method" in meta for meta in metas)


@requirement("TR-META-06")
@IN_BOTH_VERSIONS
@pytest.mark.parametrize("name", ACTS)
async def test_a_function_sets_the_meta_of_every_response(
    name: str, version: int, tmp_path: Path
) -> None:
    act, *methods = ACTS[name]
    requests = {each.name for each in TABLES[version] if each.kind == "request"}
    requests &= set(methods[version - 1])
    if not requests:
        pytest.skip("notifications have no response")
    agents = {"response_meta": add}
    async with talking(version, tmp_path, agents=agents, response_meta=add) as both:
        await act(both)
    for method in requests:
        assert marked(both.result_metas(method)), method


@requirement("TR-META-06")
@IN_BOTH_VERSIONS
async def test_what_a_handler_sets_by_itself_counts_more(version: int, tmp_path: Path) -> None:
    def override(method: str, params: Any, result: Any) -> dict[str, Any] | None:
        return {"example.com/by": "function", "example.com/more": 1}

    async with talking(version, tmp_path, agents={"response_meta": override}) as both:

        async def do(turn: Turn) -> None:
            turn.response_meta = {"example.com/by": "turn"}

        both.turn = do
        result = await both.session.prompt("go")
    assert result.meta is not None
    assert result.meta["example.com/by"] == "turn"


@pytest.mark.parametrize("failing", ["raises", "nothing"])
async def test_a_function_that_fails_or_adds_nothing_changes_nothing(
    failing: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def add_none(method: str, params: Any, result: Any) -> dict[str, Any] | None:
        if failing == "raises":
            raise RuntimeError("no meta today")
        return None

    agents = {"response_meta": add_none}
    async with talking(2, tmp_path, agents=agents) as both:
        assert both.result_metas("session/new") == [None]
    assert ("response_meta failed for session/new" in caplog.text) == (failing == "raises")
