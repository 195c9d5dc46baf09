"""Agents that a prompt directs: its first word selects what the agent does in the turn.

`python scripted_agents.py NAME` serves one of `AGENTS` on stdin and stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from parley.agent import Agent, AgentConnection, AgentFeatures, AgentSession, Login, Turn
from parley.errors import AuthRequired, RequestError, Unsupported
from parley.schema import v2
from parley.schema._codec import encode

Scene = Callable[[Turn, str], Awaitable[v2.StopReason | None]]
SCENES: dict[str, Scene] = {}
CHOICES = [
    v2.PermissionOption(option_id="?odd id", name="Yes", kind="allow_once"),
    v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
]
NAME_FORM = {"name": v2.StringPropertySchema(title="Name", min_length=1)}


def scene(function: Scene) -> Scene:
    SCENES[function.__name__] = function
    return function


@scene
async def say(turn: Turn, words: str) -> None:
    for word in words.split():
        await turn.say(word)


@scene
async def think(turn: Turn, words: str) -> None:
    await turn.think(words)
    await turn.say("done")


@scene
async def tool(turn: Turn, words: str) -> None:
    async with turn.tool(
        "Read a", kind="read", name="read", locations=["/a", "sub/b"], raw_input={"path": "/a"}
    ) as call:
        await call.add("half")
        await call.diff("c", None, "new\n")
        await call.result({"lines": 1})


@scene
async def failing(turn: Turn, words: str) -> None:
    try:
        async with turn.tool("Fail"):
            raise ValueError("on purpose")
    except ValueError:
        await turn.say("went on")


@scene
async def plan(turn: Turn, words: str) -> None:
    def step(content: str, status: v2.PlanEntryStatus = "pending") -> v2.PlanEntry:
        return v2.PlanEntry(content=content, priority="high", status=status)

    await turn.plan([step("a"), step("b"), step("c")])
    await turn.plan([step("a", "completed"), step("b"), step("c"), "d"])


@scene
async def ask(turn: Turn, words: str) -> None:
    chosen = None
    async with turn.tool("Delete a", kind="delete") as call:
        chosen = await turn.ask_permission(tool=call, options=CHOICES)
        if chosen == "?odd id":
            await call.add("ran")
    await turn.say(f"chosen:{chosen}")


@scene
async def ask_twice(turn: Turn, words: str) -> None:
    await asyncio.gather(*(turn.ask_permission(title, options=CHOICES) for title in "AB"))


@scene
async def switch(turn: Turn, words: str) -> None:
    async with turn.tool("Switch", kind="switch_mode") as call:
        if await turn.ask_permission(tool=call, options=CHOICES) == "?odd id":
            await turn.session.set_config_options(options_of("code", "small"))


@scene
async def elicit(turn: Turn, words: str) -> None:
    try:
        response = await turn.elicit("Who?", NAME_FORM)
    except Unsupported:
        await turn.say("unsupported")
    else:
        await turn.say(encode(response).decode())


@scene
async def visit(turn: Turn, words: str) -> None:
    try:
        pages = [await turn.elicit_url("Go", "https://example.com/x") for _ in range(2)]
    except Unsupported:
        await turn.say("unsupported")
        return
    await turn.say(f"accepted:{pages[0].is_accepted}")
    for page in pages:
        await page.complete()


@scene
async def slow(turn: Turn, words: str) -> None:
    async with turn.tool("Wait"):
        await turn.say("begun")
        await asyncio.Event().wait()


@scene
async def stubborn(turn: Turn, words: str) -> None:
    try:
        await slow(turn, words)
    except asyncio.CancelledError:
        await turn.say("late")
        raise RuntimeError("aborted") from None


@scene
async def swallow(turn: Turn, words: str) -> v2.StopReason:
    try:
        await slow(turn, words)
    except asyncio.CancelledError:
        await turn.say("late")
    return "end_turn"


@scene
async def stop(turn: Turn, words: str) -> None:
    turn.stop(words)


@scene
async def boom(turn: Turn, words: str) -> None:
    raise RequestError("It went boom", {"detail": 42}, code=-32050)


@scene
async def crash(turn: Turn, words: str) -> None:
    raise RuntimeError("a secret of ours")


@scene
async def read(turn: Turn, path: str) -> None:
    try:
        await turn.say(await turn.read_text_file(path))
    except Unsupported:
        await turn.say("unsupported")


@scene
async def write(turn: Turn, path: str) -> None:
    try:
        await turn.write_text_file(path, "é\r\n")
        await turn.say("written")
    except Unsupported:
        await turn.say("unsupported")


@scene
async def run(turn: Turn, words: str) -> None:
    try:
        terminal = turn.run("sleep", "9", cwd=turn.session.cwd)
    except Unsupported:
        await turn.say("unsupported")
        return
    async with terminal, turn.tool("Run") as call:
        await call.show_terminal(terminal.id)
        await turn.say("begun")
        await terminal.wait()


@scene
async def report(turn: Turn, words: str) -> None:
    session = turn.session
    await session.usage(5, 9, v2.Cost(amount=0.5, currency="EUR"))
    await session.set_title("T")
    await session.notice("Look", severity="error")
    async with session.compaction() as compaction:
        await compaction.add("short")
    await session.set_commands([v2.Command(name="only", description="d")])
    await turn.say("reported")


@scene
async def own_terminal(turn: Turn, words: str) -> None:
    for part in ("one", "two"):
        async with turn.terminal(part) as terminal, turn.tool("T") as call:
            await call.show_terminal(terminal)
            await terminal.write(part)
            await terminal.exit(0)


@scene
async def where(turn: Turn, words: str) -> None:
    session = turn.session
    servers = [getattr(server, "name", "?") for server in session.mcp_servers]
    messages = [each.text for each in session.transcript.messages if each.role == "user"]
    facts = {
        "cwd": session.cwd,
        "roots": session.additional_directories,
        "servers": servers,
        "said": messages,
        "mode": session.option("mode"),
        "blocks": [type(block).__name__ for block in turn.prompt],
        "meta": turn.meta,
    }
    await turn.say(json.dumps(facts))


@scene
async def look(turn: Turn, name: str) -> None:
    try:
        seen = await getattr(turn.session.editor, name)()
    except Unsupported:
        await turn.say("unsupported")
    else:
        await turn.say(encode(seen).decode())


@scene
async def own_request(turn: Turn, words: str) -> None:
    connection = turn.session.connection
    await connection.notify("_example/told", {"a": 1})
    await turn.say(json.dumps(await connection.request("_example/value", {"b": 2})))


async def reply(turn: Turn) -> v2.StopReason | None:
    word, _, rest = turn.text.partition(" ")
    if word in SCENES:
        return await SCENES[word](turn, rest)
    await turn.say(f"echo: {turn.text}")
    return None


def options_of(mode: str, model: str) -> list[v2.SessionConfigOption]:
    def select(id: str, current: str, *values: str) -> v2.SessionConfigSelect:
        return v2.SessionConfigSelect(
            config_id=id,
            name=id,
            category=id if id in ("mode", "model") else "_effort",
            current_value=current,
            options=[v2.SessionConfigSelectOption(value=each, name=each) for each in values],
        )

    efforts = ("low",) if model == "small" else ("low", "high")
    return [
        select("mode", mode, "ask", "code"),
        select("model", model, "small", "large"),
        select("effort", "low", *efforts),
        v2.SessionConfigBoolean(config_id="fast", name="fast", current_value=True),
    ]


async def prepare(session: AgentSession) -> None:
    if not session.config_options:
        await session.set_config_options(options_of("ask", "small"))
    await session.set_commands(
        [v2.Command(name="plan", description="d", input=v2.TextCommandInput(hint="what"))]
    )


async def change(session: AgentSession, config_id: str, value: str | bool) -> None:
    mode, model = str(session.option("mode")), str(session.option("model"))
    if config_id == "model":
        await session.set_config_options(options_of(mode, model))


def full() -> Agent:
    """An agent that can do everything but take sound and pictures."""
    features = AgentFeatures(
        load=True,  # also where it is alone in its process, so that everything can be tried there
        resume=True,
        fork=True,
        title=True,
        additional_directories=True,
        embedded_context=True,
        mcp_stdio=True,
        meta={"example.com/x": {"level": 3}},
    )
    agent = Agent("actor", version="1.2", features=features, cancel_timeout=0.2)
    agent.prompt(reply)
    agent.open_session(prepare)
    agent.set_config_option(change)
    agent.request("_example/echo")(echo)
    with_providers(agent)
    return agent


async def echo(params: Any, connection: object) -> Any:
    return {"echo": params}


def bare() -> Agent:
    """An agent that replies to prompts."""
    agent = Agent("bare")
    agent.prompt(reply)
    return agent


def with_providers(agent: Agent) -> None:
    """Give an agent two providers; the first is required."""
    current: dict[str, v2.ProviderCurrentConfig | None] = {"main": None, "spare": None}

    async def list_providers(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return [
            v2.ProviderInfo(
                provider_id=id, supported=["openai"], required=id == "main", current=setup
            )
            for id, setup in current.items()
        ]

    async def set_provider(request: v2.SetProviderRequest, connection: AgentConnection) -> None:
        current[request.provider_id] = v2.ProviderCurrentConfig(
            api_type=request.api_type, base_url=request.base_url
        )

    async def disable_provider(id: str, connection: AgentConnection) -> None:
        current[id] = None

    agent.list_providers(list_providers)
    agent.set_provider(set_provider)
    agent.disable_provider(disable_provider)


def locked() -> Agent:
    """An agent that wants a login first."""
    agent = bare()
    state = {"is_open": False}

    @agent.open_session
    async def check(session: AgentSession) -> None:
        if not state["is_open"]:
            raise AuthRequired()

    @agent.login("key", name="Key")
    async def log_in(login: Login) -> None:
        if login.connection.client.form_elicitation:
            await login.elicit("Who?", NAME_FORM)
        state["is_open"] = True

    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        state["is_open"] = False

    agent.terminal_login("tty", name="Terminal", args=["--login"], env={"A": "1"})
    return agent


AGENTS: dict[str, Callable[[], Agent]] = {"full": full, "bare": bare, "locked": locked}

if __name__ == "__main__":
    AGENTS[sys.argv[1]]().run()
