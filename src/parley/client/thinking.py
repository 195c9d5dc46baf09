"""`think`: one prompt, tools, and an answer as text or as a value of a type.

The agent gives a value by calling a tool whose parameter has the type, so what does not fit is told
to it at once. One that uses no tools answers with JSON. Either way it is asked again if it gave
none, and then there is a `NoResult`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast, overload

from parley.errors import NoResult
from parley.schema import v2
from parley.transport.target import Target

from .connecting import ConnectOptions, connect
from .connection import Connection
from .opening import SessionOptions
from .session import Session
from .wanted import Wanted

__all__ = ["think"]

T = TypeVar("T")

TOOL = "give_result"
"""What the tool is called by which the agent gives a value."""
ATTEMPTS = 2
"""How often the agent is asked for a value."""

_BY_TOOL = f"When you know the result, give it by calling the tool {TOOL}."
_BY_JSON = "Answer with nothing but JSON that fits this JSON Schema:\n"


@overload
async def think(
    target: Target | Connection,
    prompt: str | v2.ContentBlock,
    *,
    cwd: str | Path = ".",
    result: None = None,
    **options: Unpack[ConnectOptions],
) -> str: ...
@overload
async def think(
    target: Target | Connection,
    prompt: str | v2.ContentBlock,
    *,
    cwd: str | Path = ".",
    result: type[T],
    **options: Unpack[ConnectOptions],
) -> T: ...
async def think(
    target: Target | Connection,
    prompt: str | v2.ContentBlock,
    *,
    cwd: str | Path = ".",
    result: type[T] | None = None,
    **options: Unpack[ConnectOptions],
) -> T | str:
    """Have an agent think about something, in a session of its own, and return what it says.

    Args:
        target: What `connect` takes, or a connection, which stays open.
        prompt: What to think about.
        cwd: Where it works.
        result: The type of the answer: a msgspec struct, a dataclass, a pydantic model, or anything
            else that is read from JSON. Text unless told otherwise.
        options: What `connect` takes, such as `tools`, `permission` and `policy`. Where the target
            is a connection, only `tools` and `mcp_servers`.

    Raises:
        NoResult: The agent gave nothing that fits the type.
        TypeError: The type cannot be an answer, or there is no such option.
        AcpError: What `connect` and `new_session` raise.
    """
    wanted = None if result is None else Wanted(result)
    async with _connection(target, cwd, options) as (connection, given):
        if wanted is None:
            session = await connection.new_session(cwd, **given)
            try:
                return await session.ask(prompt)
            finally:
                await _close(session)
        return await _ask_for(wanted, connection, cwd, given, prompt)


@asynccontextmanager
async def _connection(
    target: Target | Connection, cwd: str | Path, options: ConnectOptions
) -> AsyncGenerator[tuple[Connection, SessionOptions]]:
    """Yield a connection, and what sessions of it are still to be given."""
    if not isinstance(target, Connection):
        async with connect(target, cwd, **options) as connection:
            yield connection, {}
        return
    given: SessionOptions = {
        "tools": options.get("tools", ()),
        "mcp_servers": options.get("mcp_servers", ()),
    }
    if wrong := set(options) - set(given):
        raise TypeError(f"a connection that is open takes no {', '.join(sorted(wrong))}=")
    yield target, given


async def _ask_for(
    wanted: Wanted[T],
    connection: Connection,
    cwd: str | Path,
    given: SessionOptions,
    prompt: str | v2.ContentBlock,
) -> T:
    results: list[T] = []
    has_tool = _uses_tools(connection)
    if has_tool:
        tool = _tool(wanted, results)
        given = cast("SessionOptions", {**given, "tools": [*given.get("tools", ()), tool]})
    how = _BY_TOOL if has_tool else _BY_JSON + json.dumps(wanted.schema)
    session = await connection.new_session(cwd, **given)
    try:
        content = [prompt, how]
        for left in reversed(range(ATTEMPTS)):
            turn = await session.prompt(*content)
            if results:
                return results[-1]
            try:
                return wanted.find(turn.text)
            except ValueError as error:
                if left and turn.stop_reason == "end_turn":
                    content = [f"That is no result: {error}. {how}"]
                    continue
                raise NoResult(
                    f"the {connection.name} gave no result: {error}; "
                    f"its turn ended as {turn.stop_reason}",
                    text=turn.text,
                    stop_reason=turn.stop_reason,
                ) from error
        raise AssertionError("unreachable")
    finally:
        await _close(session)


def _uses_tools(connection: Connection) -> bool:
    """Tell whether the agent can be given a tool, and we have what that needs."""
    features = connection.features
    if not (features.mcp_acp or features.mcp_http or features.mcp_stdio):
        return False
    try:
        import mcp as _  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def _tool(wanted: Wanted[T], results: list[T]) -> Callable[..., Any]:
    """Return the tool by which the agent gives a value."""

    async def give_result(result: Any) -> str:
        """Give the result. Call it once, when the work is done."""
        results.append(result)
        return "The result is taken."

    give_result.__annotations__["result"] = wanted.type
    return give_result


async def _close(session: Session) -> None:
    """Close a session that nobody needs any more, where the agent can."""
    if session.connection.features.close and not session.is_closed:
        await session.close()
