"""What is offered is served: a method of every capability, on every way from client to agent."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec import to_builtins
from tests.conformance.nes_agent import ScriptedEngine, insert
from tests.conformance.scripted_agents import with_providers
from tests.unit.gateway.agent_hosts import client as hosted_client
from tests.unit.gateway.agent_hosts import open_host

import parley
from parley.agent import Agent, AgentFeatures, Login, Turn
from parley.client import Connection, Remote, Session, Workspace
from parley.errors import MethodNotFound, RequestError
from parley.gateway import Access, serve
from parley.nes import Suggestions
from parley.nes.client import ENCODINGS, KINDS, shown_kinds
from parley.policy import Policy
from parley.proxy import Conductor, Proxy, builtin
from parley.schema import v2
from parley.session._v1_capabilities import client_to_v1

from .capability_calls import (
    CALLS,
    REFUSED,
    TABLES,
    TYPES,
    URI,
    Caller,
    is_explained,
    methods_of,
    offered_paths,
    paths_of,
)

FEATURES = AgentFeatures(
    fork=True,
    archive=True,
    status=True,
    title=True,
    additional_directories=True,
    system_prompt=True,
    system_prompt_override=True,
    image=True,
    audio=True,
    embedded_context=True,
    mcp_stdio=True,
    mcp_http=True,
    mcp_sse=True,
    mcp_acp=True,
)
ONLY_IN_VERSION_1 = ("fs/", "terminal/")
"""What a client of version 2 cannot offer to an agent of version 1."""
EVENTS = ["opened", "changed", "focused", "saved", "closed"]


class Everything:
    """An agent that offers all that there is, and calls all that its client offers."""

    def __init__(self, versions: tuple[int, ...]) -> None:
        self.engine = ScriptedEngine()
        self.engine.says(insert("x", uri=URI))
        self.called: dict[str, str] = {}
        """The methods of the client that were called, and their outcomes."""
        self.offered: set[str] = set()
        """What the client has offered."""
        self.agent = agent = Agent("everything", features=FEATURES, versions=versions)
        Suggestions(agent, self.engine)
        with_providers(agent)
        agent.prompt(self._reply)
        agent.open_session(self._open)

        @agent.set_config_option
        async def change(session: object, config_id: str, value: str | bool) -> None: ...

        @agent.login("key", name="Key")
        async def log_in(login: Login) -> None: ...

        @agent.logout
        async def log_out(connection: object) -> None: ...

        @agent.auth_status
        async def status(connection: object) -> v2.AuthStatusResponse:
            return v2.AuthStatusResponse(state="authenticated")

    async def _open(self, session: Any) -> None:
        quiet = v2.SessionConfigBoolean(config_id="quiet", name="Quiet", current_value=False)
        await session.set_config_options([quiet])

    async def _reply(self, turn: Turn) -> None:
        if turn.text == "call":
            await self._call(turn)
        await turn.say("done")

    async def _call(self, turn: Turn) -> None:
        """Call the methods that the client has offered, as they are on the wire."""
        adapter = turn.session._state.adapter
        version = adapter.version
        offers = adapter.client.to_v2() if version == 2 else client_to_v1(adapter.client)
        caller = Caller(adapter.peer, version, turn.session.cwd)
        caller.session = turn.session.id
        self.offered = set(offered_paths(to_builtins(offers)))
        self.called = await call_offered(caller, "client", self.offered)


async def call_offered(caller: Caller, to: str, offered: set[str]) -> dict[str, str]:
    """Call the methods of everything that is offered; return the outcomes by method."""
    wanted = {each.name: each for path in offered for each in methods_of(caller.version, to, path)}
    outcomes: dict[str, str] = {}
    for name in (each for each in CALLS if each in wanted):
        params = await CALLS[name](caller)
        if wanted[name].kind == "notification":
            await caller.notify(name, params)
            outcomes[name] = "sent"
            continue
        try:
            await caller.request(name, params)
            outcomes[name] = "served"
        except RequestError as error:
            is_reasonable = name in REFUSED and not isinstance(error, MethodNotFound)
            outcomes[name] = "refused" if is_reasonable else f"failed: {error!r} {error.data}"
    return outcomes


def failed(outcomes: dict[str, str]) -> dict[str, str]:
    return {name: each for name, each in outcomes.items() if each.startswith("failed")}


class Editor:
    """An editor that has one file open."""

    file = v2.WorkspaceDocument(uri=URI, language_id="python")

    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return [self.file]

    def recent_documents(self, limit: int | None, session: Session) -> list[v2.WorkspaceDocument]:
        return [self.file]

    def active_document(self, session: Session) -> v2.WorkspaceDocument:
        return self.file


def client_options(version: int) -> dict[str, Any]:
    """Return everything that a client can offer."""

    def allow(*_: object) -> str:
        return "allow"

    def permit(*_: object) -> bool:
        return True

    def fill(request: object, session: object) -> dict[str, Any]:
        return {"name": "Ada"}

    def visit(request: object, session: object) -> str:
        return "accept"

    return {
        "versions": (version,),
        "permission": allow,
        "elicit": fill,
        "elicit_url": visit,
        "workspace": Workspace(guard=permit),
        "editor": Editor(),
        "nes": shown_kinds(KINDS, ["format"]),
        "position_encodings": ENCODINGS,
    }


Options: TypeAlias = dict[str, Any]
Route: TypeAlias = Callable[[Agent, Path, Options], AbstractAsyncContextManager[Connection]]


def through(*make: Callable[[Path], Any]) -> Route:
    """Return the way through a chain of proxies."""

    def connect(
        agent: Agent, folder: Path, options: Options
    ) -> AbstractAsyncContextManager[Connection]:
        conductor = Conductor(*(each(folder) for each in make), agent=agent)
        return parley.connect(conductor, folder, **options)

    return connect


def direct(agent: Agent, folder: Path, options: Options) -> AbstractAsyncContextManager[Connection]:
    return parley.connect(agent, folder, **options)


def nested(agent: Agent, folder: Path, options: Options) -> AbstractAsyncContextManager[Connection]:
    inner = Conductor(builtin.redact("secret-word"), agent=agent)
    return parley.connect(Conductor(Proxy("outer"), agent=inner), folder, **options)


def gateway(scheme: str) -> Route:
    """Return the way over the network."""

    @asynccontextmanager
    async def connect(
        agent: Agent, folder: Path, options: Options
    ) -> AsyncGenerator[Connection, None]:
        token = secrets.token_urlsafe(32)
        async with serve(agent, "127.0.0.1:0", access=Access({token: "ann"})) as serving:
            url = serving.url.replace("http", scheme, 1)
            async with parley.connect(
                url, folder, remote=Remote(token=token), **options
            ) as connection:
                yield connection

    return connect


@asynccontextmanager
async def attached(
    agent: Agent, folder: Path, options: Options
) -> AsyncGenerator[Connection, None]:
    """Return a second client that is attached to a session of the first."""
    async with (
        open_host(agent) as hosted,
        hosted_client(hosted, **client_options(options["versions"][0])) as first,
        hosted_client(hosted, **options) as second,
    ):
        session = await first.new_session(folder)
        await session.ask("hello")
        await second.resume_session(session.id, folder)
        yield second


ROUTES: dict[str, Route] = {
    "direct": direct,
    "conductor": through(lambda folder: Proxy("one"), lambda folder: builtin.redact("secret-word")),
    "nested": nested,
    "http": gateway("http"),
    "ws": gateway("ws"),
    "attached": attached,
    "budget": through(lambda folder: builtin.budget(cost=1000)),
    "context": through(lambda folder: builtin.context()),
    "limits": through(lambda folder: builtin.limits(message_bytes=1_000_000)),
    "log": through(lambda folder: builtin.log(folder / "log.db")),
    "policy": through(lambda folder: builtin.policy(Policy())),
    "record": through(lambda folder: builtin.record(folder / "recorded.jsonl")),
    "redact": through(lambda folder: builtin.redact("secret-word")),
    "rename-paths": through(lambda folder: builtin.rename_paths(("/nowhere", "/elsewhere"))),
}
SAME = [(name, version, version) for name in ROUTES for version in (1, 2)]
OTHER = [("v1-v2", client, agent) for client in (1, 2) for agent in (1, 2)]


def test_every_builtin_proxy_is_on_a_way() -> None:
    """`replay` is missing: it offers what was recorded, and refuses what was not."""
    assert {*builtin.NAMES} - {"replay"} <= {*ROUTES, "v1-v2"}


@pytest.mark.parametrize(("version", "to"), TYPES, ids=lambda each: str(each))
def test_every_capability_has_a_method_or_a_reason(version: int, to: str) -> None:
    paths = paths_of(TYPES[version, to])
    assert [each for each in sorted(paths) if not is_explained(version, to, each)] == []


@pytest.mark.parametrize("version", TABLES)
def test_every_method_of_a_capability_is_called(version: int) -> None:
    methods = {each.name for each in TABLES[version].methods if each.capability is not None}
    assert sorted(methods - CALLS.keys()) == []


@pytest.mark.requirement("V1-NES-01", "V1-WS-01", "V1-WS-08")
@pytest.mark.parametrize(("way", "client", "agent"), [*SAME, *OTHER])
async def test_what_is_offered_is_served(way: str, client: int, agent: int, tmp_path: Path) -> None:
    everything = Everything((agent,) if way == "v1-v2" else (1, 2))
    route = ROUTES.get(way) or through(lambda folder: builtin.versions(agent=(agent,)))
    answers: list[dict[str, Any]] = []

    def see(direction: str, frame: bytes | bytearray) -> None:
        message = json.loads(frame)
        if direction == "inbound" and "protocolVersion" in (message.get("result") or {}):
            answers.append(message["result"])

    options = {**client_options(client), "observer": see}
    async with route(everything.agent, tmp_path, options) as connection:
        assert connection.version == client
        key = "agentCapabilities" if client == 1 else "capabilities"
        offered = set(offered_paths(answers[-1][key]))
        attached_to = next(iter(connection.sessions.values()), None)
        session = attached_to or await connection.new_session(tmp_path)
        caller = Caller(connection.peer, client, str(tmp_path))
        caller.session = session.id
        caller.nes = (await caller.request("nes/start", {}))["sessionId"]
        heard = everything.engine.predictor
        called = await call_offered(caller, "agent", offered)
        assert failed(called) == {}
        assert sorted(all_methods(client, "agent") - called.keys()) == []
        await caller.request("nes/close", {"sessionId": caller.nes})
        assert [each[0] for each in heard.events] == EVENTS
        assert [outcome for _, outcome in heard.outcomes] == ["accepted", "rejected"]
        assert await session.ask("call") == "done"
        assert failed(everything.called) == {}
        missing = all_methods(agent, "client") - everything.called.keys()
        assert {each for each in missing if not each.startswith(ONLY_IN_VERSION_1)} == set()
        assert bool(missing) is (client == 2 and agent == 1)


def all_methods(version: int, to: str) -> set[str]:
    """Return the methods of all capabilities that one side can offer."""
    methods = (each for each in TABLES[version].methods if each.capability is not None)
    return {each.name for each in methods if each.to == to}
