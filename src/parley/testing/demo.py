"""The demo agent: it needs no model, and always replies to a prompt in the same way.

It is meant for tests, for trying out a client, and for the first minute with Parley; `parley demo`
serves it on stdio. `HELP` lists the prompts that it understands. JSON in its replies is compact.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import msgspec

from parley import __version__
from parley.agent import Agent, AgentFeatures, SessionStore, Turn
from parley.errors import MethodNotFound, RequestError, Unsupported
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.version import SUPPORTED

__all__ = ["HELP", "demo_agent"]

Reply: TypeAlias = Callable[[Turn, str], Awaitable[None]]

YES_OR_NO = (
    v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
)


def _json(value: object) -> str:
    return encode(value).decode()


async def _fs(turn: Turn, path: str) -> None:
    text = await turn.read_text_file(path)
    await turn.write_text_file(f"{path}.out", text.upper())
    await turn.say(f"read:{text}")


async def _perm(turn: Turn, _: str) -> None:
    call = turn.tool("Do something that needs permission", raw_input={"harm": "none"})
    chosen = None
    async with call:
        chosen = await turn.ask_permission("May I?", tool=call, options=YES_OR_NO)
        await call.update(status="completed" if chosen == "yes" else "failed")
    outcome: v2.RequestPermissionOutcome = v2.CancelledPermissionOutcome()
    if chosen is not None:
        outcome = v2.SelectedPermissionOutcome(option_id=chosen)
    await turn.say(f"perm:{_json(outcome)}")


async def _term(turn: Turn, _: str) -> None:
    async with turn.run("echo", "hi") as terminal:
        exit = await terminal.wait()
        output = await terminal.output()
    await turn.say(f"term:{exit.exit_code}:{output.output}")


async def _elicit(turn: Turn, _: str) -> None:
    response = await turn.elicit("What is your name?", {"name": v2.StringPropertySchema()})
    await turn.say(f"elicit:{_json(response)}")


STEPS = ("Look around", "Make a plan", "Follow it")


async def _plan(turn: Turn, _: str) -> None:
    for done in range(len(STEPS) + 1):
        await turn.plan(STEPS, done=done)
    await turn.say("plan:done")


async def _tool(turn: Turn, _: str) -> None:
    async with turn.tool("Count to three", kind="think", raw_input={"to": 3}) as call:
        for number in ("one", "two", "three"):
            await call.add(number)
        await call.update(raw_output={"count": 3})
    await turn.say("tool:done")


async def _call(turn: Turn, text: str) -> None:
    """Call the client's first tool; the prompt has the arguments."""
    arguments = _json_object(text or "{}")
    if arguments is None:
        await turn.say('call: the arguments must be a JSON object, such as {"name": "Ada"}')
        return
    tools = await turn.session.mcp.list_tools()
    if not tools:
        await turn.say("call: there are no tools in this session")
        return
    tool = tools[0]
    async with turn.tool(f"Call {tool.name}", name=tool.name, raw_input=arguments) as call:
        result = await turn.session.mcp.call_tool(tool.name, arguments, server=tool.server)
        content = "".join(getattr(block, "text", f"[{block.type}]") for block in result.content)
        await call.add(content)
        if result.is_error:
            await call.update(status="failed")
    await turn.say(f"call:{content}")


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


async def _diff(turn: Turn, _: str) -> None:
    async with turn.tool("Edit demo.txt", kind="edit", locations=["demo.txt"]) as call:
        await call.diff("demo.txt", "Hello\nold world\n", "Hello\nnew world\n")
    await turn.say("diff:done")


async def _slow(turn: Turn, _: str) -> None:
    await turn.say("waiting to be cancelled")
    await asyncio.get_running_loop().create_future()


async def _flood(turn: Turn, count: str) -> None:
    for number in range(int(count) if count.isdecimal() else 1000):
        await turn.say(f"chunk {number}")


async def _ext(turn: Turn, _: str) -> None:
    result = await turn.session.connection.request("_demo/value", {})
    await turn.say(f"ext:{_json(result)}")


async def _boom(turn: Turn, _: str) -> None:
    raise RequestError("Boom", {"detail": 42}, code=-32050)


async def _commands(turn: Turn, _: str) -> None:
    await turn.session.set_commands(COMMANDS)
    await turn.say("commands:" + ",".join(each.name for each in COMMANDS))


async def _help(turn: Turn, _: str) -> None:
    await turn.say(HELP)


PROMPTS: dict[str, tuple[str, str, Reply]] = {
    "fs": ("fs PATH", "reads PATH, writes PATH.out in upper case", _fs),
    "perm": ("perm", "asks for permission", _perm),
    "term": ("term", "runs `echo hi` in the client's terminal", _term),
    "elicit": ("elicit", "asks for a name", _elicit),
    "plan": ("plan", "makes a plan and follows it", _plan),
    "tool": ("tool", "calls a tool", _tool),
    "call": ("call JSON", "calls your first tool with these arguments", _call),
    "diff": ("diff", "shows a file change", _diff),
    "slow": ("slow", "works until it is cancelled", _slow),
    "flood": ("flood N", "sends N chunks as fast as it can", _flood),
    "ext": ("ext", "calls the client's method `_demo/value`", _ext),
    "boom": ("boom", "fails with the error -32050", _boom),
    "crash": ("crash", "exits with code 3", _help),
    "commands": ("commands", "offers commands", _commands),
    "help": ("help", "shows this list", _help),
}
HELP = "\n".join(
    f"  {usage:<9} {what}"
    for usage, what in [*(row[:2] for row in PROMPTS.values()), ("…", "repeats what you say")]
)
"""The prompts that the agent understands, one per line."""
COMMANDS = [v2.Command(name=name, description=what) for name, (_, what, _) in PROMPTS.items()]


def demo_agent(
    *,
    crash: Callable[[int], Any] = os._exit,
    store: SessionStore | None = None,
    versions: Sequence[int] = SUPPORTED,
) -> Agent:
    """Return a demo agent.

    If the `mcp` package is installed, it accepts tools and MCP servers.

    Args:
        crash: Called with 3 for the prompt `crash`; by default, this ends the process.
        store: Where the agent keeps its sessions; without one, they are kept in memory.
        versions: The protocol versions that it speaks.
    """
    agent = Agent(
        "parley-demo",
        title="Parley's demo agent",
        version=__version__,
        features=AgentFeatures(fork=True),
        store=store,
        mcp=find_spec("mcp") is not None,
        versions=versions,
    )

    @agent.prompt
    async def reply(turn: Turn) -> None:
        word, _, rest = turn.text.strip().removeprefix("/").partition(" ")
        try:
            if word == "crash":
                crash(3)
            elif word in PROMPTS:
                await PROMPTS[word][2](turn, rest.strip())
            else:
                await turn.say(f"echo: {turn.text}")
        except (Unsupported, MethodNotFound) as missing:
            await turn.say(f"{word}: {missing}")

    return agent
